//! The answer for a plan as text.
//!
//! Invariant: every figure is computed by integers, so that two machines print the same text.

use super::FlowTuning;
use crate::trace::time_text::SpanText;
use crate::tune::curve::Curve;
use crate::tune::delays;
use crate::tune::text::{count_text, percent, share_text};
use plimsoll_engine::plan::flow::Policy;
use plimsoll_engine::time::Span;
use std::fmt::{self, Write};

/// All that there is to say; `loss` is the share that may be lost, per 100,000.
pub fn write(tuning: &FlowTuning, loss: u64, delays: &[Span], to: &mut impl Write) -> fmt::Result {
    let counts = tuning.counts;
    write!(
        to,
        "Stage {} judged {} of {} rows",
        tuning.stage,
        count_text(counts.judged),
        count_text(counts.rows)
    )?;
    let mut left = Vec::new();
    for (count, what) in [
        (counts.filtered, "filtered"),
        (counts.not_taken, "without a time, a gap or a window"),
        (counts.time_out_of_range, "out of range"),
    ] {
        if count != 0 {
            left.push(format!("{} {what}", count_text(count)));
        }
    }
    if left.is_empty() {
        writeln!(to, ".")?
    } else {
        writeln!(to, " ({}).", left.join(", "))?
    }
    writeln!(
        to,
        "As planned {} of them are lost ({}).",
        count_text(counts.lost),
        percent(counts.lost, counts.judged)
    )?;
    if 1 < tuning.inputs.len() {
        inputs(tuning, to)?;
    }
    writeln!(to)?;
    table(tuning, delays, to)?;
    writeln!(to)?;
    advice(tuning, loss, to)?;
    writeln!(
        to,
        "Rows are judged one by one, as with effective=row; batches judge later and lose a little less."
    )
}

/// The delays of a table: round ones up to the one that loses nothing that can be saved.
pub fn delays_of(tuning: &FlowTuning) -> Vec<Span> {
    let largest = tuning.largest();
    let mut all: Vec<Span> = std::iter::once(Span::ZERO)
        .chain(delays::round(largest))
        .chain(tuning.lines.iter().map(|it| it.planned))
        .chain([largest])
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn inputs(tuning: &FlowTuning, to: &mut impl Write) -> fmt::Result {
    let which = match tuning.policy {
        Policy::Min => "min: the slowest watermark counts",
        Policy::Max => "max: the fastest watermark counts",
    };
    writeln!(to, "policy={which}")?;
    let width = tuning.inputs.iter().map(|it| it.name.len()).max().unwrap_or(0).max(5);
    writeln!(to, "  {:<width$}  {:>10}  {:>10}  as planned", "input", "rows", "lost")?;
    for it in &tuning.inputs {
        let delays = tuning
            .lines
            .iter()
            .filter(|line| line.name == it.name || line.name.starts_with(&format!("{}.", it.name)));
        let delays: Vec<_> = delays.map(|it| SpanText(it.planned).to_string()).collect();
        let delays = match delays.as_slice() {
            [] => "no watermark".to_owned(),
            some => format!("delay {}", some.join(", ")),
        };
        let (rows, lost) = (count_text(it.rows), count_text(it.lost));
        writeln!(to, "  {:<width$}  {rows:>10}  {lost:>10}  {delays}", it.name)?;
    }
    Ok(())
}

fn table(tuning: &FlowTuning, delays: &[Span], to: &mut impl Write) -> fmt::Result {
    let one = tuning.lines.len() == 1;
    let mut heads = vec![if one { "rows lost".to_owned() } else { "all inputs".to_owned() }];
    let mut curves: Vec<&Curve> = vec![&tuning.common];
    if !one {
        writeln!(
            to,
            "Rows lost if this is the delay of all inputs, or of one, the others as planned:"
        )?;
        heads.extend(tuning.lines.iter().map(|it| it.name.clone()));
        curves.extend(tuning.lines.iter().map(|it| &it.curve));
    }
    let cell = |curve: &Curve, delay: Span| {
        let lost = curve.lost(delay);
        format!("{} {:>9}", count_text(lost), percent(lost, curve.rows()))
    };
    let mut lines: Vec<Vec<String>> = vec![["delay".to_owned()].into_iter().chain(heads).collect()];
    for delay in delays {
        let cells = curves.iter().map(|it| cell(it, *delay));
        lines.push([SpanText(*delay).to_string()].into_iter().chain(cells).collect());
    }
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|at| lines.iter().map(|it| it[at].chars().count()).max().unwrap_or(0))
        .collect();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        writeln!(to, "{}", cells.collect::<Vec<_>>().join("  "))?;
    }
    Ok(())
}

fn advice(tuning: &FlowTuning, loss: u64, to: &mut impl Write) -> fmt::Result {
    let share = share_text(loss, 100_000);
    let told = |curve: &Curve, what: &str, to: &mut dyn Write| -> fmt::Result {
        match FlowTuning::smallest_delay_for(curve, loss) {
            Some(delay) => {
                let (delay_text, lost) = (SpanText(delay), curve.lost(delay));
                let (lost, rows) = (count_text(lost), count_text(curve.rows()));
                writeln!(
                    to,
                    "{what}: {delay_text} is the smallest that loses at most {share}; it loses {lost} of {rows} rows."
                )
            }
            None => writeln!(to, "{what}: no delay loses at most {share}; the others lose more."),
        }
    };
    if let [_] = tuning.lines.as_slice() {
        return told(&tuning.common, "The delay", to);
    }
    told(&tuning.common, "One delay for all inputs", to)?;
    for it in &tuning.lines {
        told(&it.curve, &format!("The delay of {}, the others as planned", it.name), to)?;
    }
    Ok(())
}
