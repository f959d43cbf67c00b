//! The plain query and the flow that is equal to it tell the same story.
//!
//! The plain query has a fast path of its own; what a flow of one window stage does is another program.
//! Where the two differ, one of them is wrong.
//!
//! Invariant: figures, fates and watermarks agree after every item of every story.

use crate::tidy::root;
use plimsoll_engine::output::{Fate, FiringKind, Output};
use plimsoll_engine::plan::Plan;
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::EventTime;
use plimsoll_sim::run::Run;
use plimsoll_sim::system::engine::Engine;
use plimsoll_sim::trace::Trace;
use plimsoll_sim::trace::parse::parse;
use std::fs;

/// One figure: kind, start and end of its window, key, values.
type Figure = (String, Vec<Option<i64>>);

/// What came out of one item: figures, fates, the watermark and how much is held.
type Moment = (Vec<Figure>, Vec<(u64, String)>, EventTime, Option<u64>);

fn figures_of_firings(plan: &Plan, output: &Output) -> Vec<Figure> {
    let operator = plan.operator.as_ref();
    let mut figures = Vec::new();
    for firing in &output.firings {
        let operator = operator.expect("a query that fires has windows");
        for group in 0..firing.groups.len() {
            let mut cells = vec![Some(firing.window.start.0), Some(firing.window.end.0)];
            cells.extend((0..operator.keys.len()).map(|it| firing.groups.key(group, it)));
            for it in 0..operator.aggregates.len() {
                match firing.groups.value(group, it) {
                    Value::Null => cells.push(None),
                    Value::Int(it) => cells.push(Some(it)),
                    Value::Wide(_) => cells.push(Some(i64::MAX)),
                    Value::Avg { sum, count } => {
                        cells.push(i64::try_from(sum).ok());
                        cells.push(i64::try_from(count).ok());
                    }
                }
            }
            let kind = match firing.kind {
                FiringKind::OnTime => "on_time",
                FiringKind::Update => "update",
                FiringKind::Complete => "complete",
            };
            figures.push((kind.to_owned(), cells));
        }
    }
    figures.sort();
    figures
}

/// The same of a flow whose last stage is a window; `window_time` is left out.
fn figures_of_emissions(output: &Output) -> Vec<Figure> {
    let rows = &output.emissions.rows;
    let figure = |row: usize| {
        let mut columns: Vec<_> = rows.columns.iter().map(|it| it.get(row)).collect();
        columns.remove(2);
        (output.emissions.notes[row].kind.word().to_owned(), columns)
    };
    let mut figures: Vec<Figure> = (0..rows.len()).map(figure).collect();
    figures.sort();
    figures
}

fn fates(output: &Output) -> Vec<(u64, String)> {
    let fate = |it: &Fate| match it {
        Fate::Late(late) => {
            let w = late.in_force.watermark.0;
            format!(
                "{:?} {} {} {w} {:?}",
                late.rule, late.windows_lost, late.windows_kept, late.saving
            )
        }
        other => format!("{other:?}"),
    };
    let mut fates: Vec<_> = output.records.iter().map(|it| (it.id.0, fate(&it.fate))).collect();
    fates.sort();
    fates
}

/// What comes out of each item.
fn moments(trace: &Trace) -> Vec<Moment> {
    let mut engine = Engine::new(trace, 0).unwrap_or_else(|it| panic!("refused: {it:?}"));
    let mut run = Run::new(trace, &mut engine, false);
    let mut moments = Vec::new();
    while let Some(seen) = run.step() {
        let seen = seen.unwrap_or_else(|it| panic!("{} at {}: {}", it.name, it.at.0, it.evidence));
        let figures = match (&trace.plan.flow, &trace.plan.operator) {
            (Some(_), _) => figures_of_emissions(seen.output),
            (None, _) => figures_of_firings(&trace.plan, seen.output),
        };
        moments.push((figures, fates(seen.output), seen.view.watermark, seen.view.groups));
    }
    moments
}

#[test]
fn a_plain_story_is_told_alike_by_its_flow() {
    let mut told = 0;
    let mut wrongs = Vec::new();
    for folder in ["scenarios/semantics", "scenarios/regressions"] {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of traces");
        let mut paths: Vec<_> = entries.map(|it| it.expect("readable").path()).collect();
        paths.retain(|it| it.extension().is_some_and(|it| it == "trace"));
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().display().to_string();
            let text = fs::read_to_string(&path).expect("a readable trace");
            let plain = parse(&text).unwrap_or_else(|it| panic!("{name}: {it}")).trace;
            if plain.plan.operator.is_none() {
                continue;
            }
            let plan = plain.plan.as_flow().unwrap_or_else(|| panic!("{name}: no flow"));
            let flow = Trace { plan, ..plain.clone() };
            let (plain, flow) = (moments(&plain), moments(&flow));
            told += 1;
            for (at, (plain, flow)) in plain.iter().zip(&flow).enumerate() {
                if plain != flow {
                    wrongs.push(format!(
                        "{name}, item {}:\n  plain {plain:?}\n  flow  {flow:?}",
                        at + 1
                    ));
                    break;
                }
            }
        }
    }
    assert!(60 < told, "only {told} plain stories: some are lost");
    assert!(wrongs.is_empty(), "{} of {told}:\n{}", wrongs.len(), wrongs.join("\n"));
}
