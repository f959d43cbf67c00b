//! The inputs of a flow, read and written.
//!
//! Invariant: every part of an input is used or refused, and an input that was read has a name of its
//! own.

use super::columns::{Columns, filter_text};
use crate::trace::plan_text::keys::{Wrong, wrong};
use crate::trace::plan_text::{nested, values};
use crate::trace::time_text::SpanText;
use plimsoll_engine::plan::WatermarkPlan;
use plimsoll_engine::plan::flow::{InputPlan, Judged, Mark};
use plimsoll_engine::row::{ColumnIx, PartitionId, Schema};

/// Inputs as they were read.
pub(in crate::trace::plan_text) struct Inputs {
    pub(in crate::trace::plan_text) inputs: Vec<InputPlan>,
    /// Whether an input has the plan's delay because it says none.
    pub(in crate::trace::plan_text) takes_delay: bool,
    /// Whether a watermark is on the plan's column because it names none.
    pub(in crate::trace::plan_text) takes_on: bool,
}

const INPUT: &str = "an input such as `left(5s)`: a name without `|+<>!` and what separates, then spans, \
                     `COLUMN:SPAN`, comparisons, `behind(COMPARISON)`, `judged(COLUMN)` or `none`";

/// Reads all inputs. `watermark` is the plan's, from which they take what they do not say.
pub(in crate::trace::plan_text) fn inputs(
    text: &str,
    columns: Columns<'_>,
    watermark: Option<&WatermarkPlan>,
) -> Result<Inputs, Vec<Wrong>> {
    let most = PartitionId::INPUT_MAX as usize + 1;
    let parts = nested::parts(text, ',').ok_or_else(|| vec![wrong("as many `)` as `(`", text)])?;
    if parts.is_empty() || most < parts.len() {
        return Err(vec![wrong(format!("from 1 to {most} inputs"), text)]);
    }
    let mut read = Inputs { inputs: Vec::new(), takes_delay: false, takes_on: false };
    let mut wrongs = Vec::new();
    for part in parts {
        match nested::call(part) {
            Some((name, _)) if read.inputs.iter().any(|it| it.name == name) => {
                wrongs.push(wrong("each input once", name));
            }
            Some((name, inner)) if values::is_flow_name(name) => {
                let name = name.to_owned();
                let mut input = InputPlan::of(name, Vec::new());
                read.input(inner.unwrap_or_default(), columns, watermark, &mut input, &mut wrongs);
                read.inputs.push(input);
            }
            _ => wrongs.push(wrong(INPUT, part)),
        }
    }
    if wrongs.is_empty() && watermark.is_some() && read.inputs.iter().all(|it| it.marks.is_empty())
    {
        wrongs.push(wrong("an input with a watermark, or `watermark=none`", text));
    }
    if wrongs.is_empty() { Ok(read) } else { Err(wrongs) }
}

impl Inputs {
    /// What stands between the parentheses of one.
    fn input(
        &mut self,
        inner: &str,
        columns: Columns<'_>,
        watermark: Option<&WatermarkPlan>,
        input: &mut InputPlan,
        wrongs: &mut Vec<Wrong>,
    ) {
        let mut none = false;
        for part in nested::parts(inner, ',').unwrap_or_default() {
            if part == "none" {
                none = true;
            } else if let Some(("behind", Some(inner))) = nested::call(part) {
                match columns.filter(inner) {
                    Ok(it) => input.behind.push(it),
                    Err(it) => wrongs.push(it),
                }
            } else if let Some(("judged", Some(inner))) = nested::call(part) {
                match judged(inner, columns) {
                    Ok(it) => input.judged = it,
                    Err(it) => wrongs.push(it),
                }
            } else if nested::first(part, &['<', '>', '=', '!']).is_some() {
                match columns.filter(part) {
                    Ok(it) => input.before.push(it),
                    Err(it) => wrongs.push(it),
                }
            } else if let Some(watermark) = watermark {
                match self.mark(part, columns, watermark.column) {
                    Ok(it) => input.marks.push(it),
                    Err(it) => wrongs.push(it),
                }
            } else {
                let expected = "no delay: with `watermark=none` no input has a watermark";
                wrongs.push(wrong(expected, part));
            }
        }
        if none && !input.marks.is_empty() {
            wrongs.push(wrong("either `none` or spans", inner));
        }
        if let Some(it) = watermark
            && !none
            && input.marks.is_empty()
        {
            self.takes_delay = true;
            self.takes_on = true;
            input.marks.push(Mark { column: it.column, delay: it.delay });
        }
    }

    /// `SPAN` or `COLUMN:SPAN`.
    fn mark(&mut self, text: &str, columns: Columns<'_>, on: ColumnIx) -> Result<Mark, Wrong> {
        let Some((name, span)) = text.split_once(':') else {
            self.takes_on = true;
            return Ok(Mark { column: on, delay: values::span(text)? });
        };
        Ok(Mark { column: columns.find(name.trim())?, delay: values::span(span.trim())? })
    }
}

/// `COLUMN`, or `none`.
fn judged(text: &str, columns: Columns<'_>) -> Result<Judged, Wrong> {
    match text.trim() {
        "none" => Ok(Judged::Nobody),
        name => columns.find(name).map(Judged::Column),
    }
}

/// The text of `inputs`; marks on `on` are written without their column.
pub(in crate::trace::plan_text) fn inputs_text(
    inputs: &[InputPlan],
    schema: &Schema,
    on: ColumnIx,
) -> String {
    let mark = |it: &Mark| {
        let delay = SpanText(it.delay);
        if it.column == on {
            delay.to_string()
        } else {
            format!("{}:{delay}", values::name(schema, it.column))
        }
    };
    let input = |it: &InputPlan| {
        let none = it.marks.is_empty().then(|| "none".to_owned());
        let marks = it.marks.iter().map(mark);
        let before = it.before.iter().map(|it| filter_text(schema, *it));
        let behind = it.behind.iter().map(|it| format!("behind({})", filter_text(schema, *it)));
        let judged = match it.judged {
            Judged::ItsTime => None,
            Judged::Column(it) => Some(format!("judged({})", values::name(schema, it))),
            Judged::Nobody => Some("judged(none)".to_owned()),
        };
        let parts = none.into_iter().chain(marks).chain(before).chain(behind).chain(judged);
        let parts: Vec<String> = parts.collect();
        format!("{}({})", it.name, parts.join(","))
    };
    inputs.iter().map(input).collect::<Vec<_>>().join(",")
}
