//! `plimsoll tune --plan`: what every delay of a plan would lose.
//!
//! Invariant: the loss of each delay is counted, not estimated; what cannot be counted is refused.

use super::Args;
use crate::console::Console;
use crate::exit::Exit;
use crate::recording::{broken_sentence, units_sentence};
use crate::run;
use anyhow::{Result, anyhow};
use plimsoll_engine::time::Span;
use plimsoll_sim::tune::flow::text::{delays_of, write};
use plimsoll_sim::tune::flow::{FlowTuner, FlowTuning};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;

/// Tunes a plan.
pub(super) fn run(args: &Args, plan: &Path, console: &mut Console) -> Result<Exit> {
    let query = run::plan::read(plan, console)?;
    let flow = query.checked.as_flow();
    let flow = flow.ok_or_else(|| anyhow!("{}: the plan has no windows", plan.display()))?;
    let mut tuner = FlowTuner::new(&flow)
        .map_err(|why| anyhow!("{} cannot be tuned: {why}", plan.display()))?;
    let all = vec![true; query.checked.schema.columns.len()];
    let used = if query.checked.flow.is_some() { &all } else { &query.used };
    let event = args.event_col.as_deref();
    let columns = run::columns(&args.recording, &query, &args.col, event, used)?;
    let mut rows = args.recording.open(&args.input, &columns)?;
    let (_, broken) = args.recording.each(&mut rows, |row| {
        tuner.observe(row);
        Ok(())
    })?;
    let taken = tuner.rows();
    let tuning = tuner.finish();
    if let Some(sentence) = units_sentence(&rows, &args.recording) {
        writeln!(console.err, "note: {sentence}")?;
    }
    if let Some(tuning) = &tuning {
        let delays = if args.delay.is_empty() { delays_of(tuning) } else { args.delay.clone() };
        if console.json {
            console.json(&answer(tuning, args.max_loss, &delays))?;
        } else {
            let mut text = String::new();
            write(tuning, args.max_loss, &delays, &mut text)?;
            console.out.write_all(text.as_bytes())?;
        }
    }
    if let Some(error) = &broken {
        writeln!(console.err, "error: {}", broken_sentence(&args.input, taken, error))?;
        return Ok(Exit::Usage);
    }
    if tuning.is_none() {
        let why = match taken {
            0 => "there is no row in it".to_owned(),
            _ => format!("none of its {taken} rows reaches a window or session of the plan"),
        };
        writeln!(console.err, "nothing ran: {}: {why}", args.input.display())?;
        return Ok(Exit::NothingRan);
    }
    Ok(Exit::Held)
}

fn answer(tuning: &FlowTuning, loss: u64, delays: &[Span]) -> Value {
    let counts = tuning.counts;
    let advised = |curve| FlowTuning::smallest_delay_for(curve, loss).map(|it| it.0);
    let lines = tuning.lines.iter().map(|it| {
        json!({
            "line": it.name,
            "planned_delay_ms": it.planned.0,
            "advised_delay_ms": advised(&it.curve),
        })
    });
    let delays = delays.iter().map(|delay| {
        let lines = tuning.lines.iter().map(|it| (it.name.clone(), json!(it.curve.lost(*delay))));
        json!({
            "delay_ms": delay.0,
            "rows_lost_if_of_all": tuning.common.lost(*delay),
            "rows_lost_if_of_one": lines.collect::<serde_json::Map<_, _>>(),
        })
    });
    let inputs = tuning
        .inputs
        .iter()
        .map(|it| json!({ "input": it.name, "rows": it.rows, "rows_judged": it.judged, "rows_lost": it.lost }));
    json!({
        "stage": tuning.stage,
        "rows": counts.rows,
        "rows_judged": counts.judged,
        "rows_lost_as_planned": counts.lost,
        "rows_filtered": counts.filtered,
        "rows_not_taken": counts.not_taken,
        "rows_time_out_of_range": counts.time_out_of_range,
        "advised_delay_ms": advised(&tuning.common),
        "inputs": inputs.collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
        "delays": delays.collect::<Vec<_>>(),
    })
}
