//! What a campaign prints: the sums, then each kind of failure, shrunk and told.
//!
//! Invariant: at most 25 lines a failure.

use super::campaign::{Campaign, percent};
use crate::console::Console;
use crate::exit;
use crate::failure;
use crate::subject::{self, Worlds};
use anyhow::Result;
use plimsoll_sim::invariant::Violation;
use plimsoll_sim::reach::SITES;
use plimsoll_sim::report::Origin;
use plimsoll_sim::zoo::Plant;
use serde_json::json;
use std::io::Write as _;
use std::path::Path;

/// The sums.
pub(super) fn summary(campaign: &Campaign, twice: bool, console: &mut Console) -> Result<()> {
    let it = campaign;
    let missing: Vec<&str> = it.reach.missing().map(|it| it.name).collect();
    if console.json {
        return Ok(console.json(&json!({
            "schema": "plimsoll.campaign/1",
            "seeds": it.seeds, "refused": it.refused, "failed": it.failed(),
            "items": it.items, "rows": it.rows, "steps": it.steps,
            "closing_plans": it.closing, "closed_five_windows": it.closed_five,
            "had_late_row": it.had_late, "had_fault": it.had_fault, "vacuous": it.vacuous,
            "twins_every": 16, "liveness_every": 4,
            "reached": it.reach.count(), "sites": SITES.len(), "never_reached": missing,
            "skipped": it.skipped.iter().map(|(name, (seeds, why))| json!({
                "check": name, "seeds": seeds, "missing": why,
            })).collect::<Vec<_>>(),
            "failures": it.failures.iter().map(|(name, (seeds, first, _))| json!({
                "invariant": name, "seeds": seeds, "first_seed": first,
            })).collect::<Vec<_>>(),
            "worlds": it.worlds, "digest": format!("{:016x}", it.digest),
        }))?);
    }
    let out = &mut console.out;
    let ran = it.ran();
    writeln!(out, "{ran} seeds, {} items, {} rows, {} steps", it.items, it.rows, it.steps)?;
    if 0 < it.refused {
        writeln!(out, "  {} more seeds drew a plan that is refused", it.refused)?;
    }
    let five = percent(it.closed_five, it.closing);
    writeln!(
        out,
        "  {five} closed at least five windows (of {} plans that close any)",
        it.closing
    )?;
    writeln!(out, "  {} had a late row", percent(it.had_late, ran))?;
    writeln!(out, "  {} had a fault", percent(it.had_fault, ran))?;
    let vacuous = percent(it.vacuous, ran);
    writeln!(out, "  {vacuous} were vacuous: no window closed, nothing late, no fault")?;
    writeln!(
        out,
        "  related runs (twins: restart, hasher, order of idling) on 1 seed in 16, liveness on 1 in 4"
    )?;
    writeln!(out, "  {} of {} rare states reached", it.reach.count(), SITES.len())?;
    if !missing.is_empty() {
        writeln!(out, "  never reached: {}", missing.join(", "))?;
    }
    for (name, (seeds, why)) in &it.skipped {
        if *seeds == ran {
            writeln!(out, "  never checked: {name} (needs {why})")?;
        }
    }
    if twice {
        writeln!(out, "  every seed ran twice, with the same result")?;
    }
    writeln!(out, "  digest {:016x}", it.digest)?;
    if it.failures.is_empty() && 0 < ran {
        writeln!(out, "all invariants held")?;
    }
    for (name, (seeds, first, _)) in &it.failures {
        let seeds = if *seeds == 1 { "1 seed".to_owned() } else { format!("{seeds} seeds") };
        writeln!(out, "{seeds} broke {name}, the first of them {first}")?;
    }
    Ok(())
}

/// The first failure of its name.
pub(super) fn failure(
    seed: u64,
    violation: &Violation,
    worlds: &Worlds,
    plant: Option<&'static Plant>,
    folder: &Path,
    console: &mut Console,
) -> Result<()> {
    let drawn = worlds.draw(seed);
    let trace = drawn.world.trace;
    let options = subject::options(seed, drawn.world.chaos_len);
    let path = folder.join(format!("seed-{seed}.trace"));
    let whole = folder.join(format!("seed-{seed}.whole.trace"));
    let mut origin = Origin {
        seed: Some(seed),
        scenario: drawn.file,
        scenario_hash: Some(drawn.hash),
        artefact: Some(path.display().to_string()),
        ..subject::origin(plant)
    };
    let mut written = failure::write_trace(&whole, &trace, violation, &origin);
    let bar = crate::progress::bar("shrinking");
    let small = failure::shrunk(&trace, violation, plant, options, &mut |now| {
        bar.set_length(now.limit);
        bar.set_position(now.executions);
    });
    bar.finish_and_clear();
    origin.items_before = Some(trace.items.len());
    origin.whole = Some(whole.display().to_string());
    let (small, violation) = match small {
        Some(it) => (it.trace, it.violation),
        None => (trace, violation.clone()),
    };
    if written.is_ok() {
        written = failure::write_trace(&path, &small, &violation, &origin);
    }
    if let Err(error) = written {
        // A finding is worth more than its file: it is told all the same, and its seed repeats it.
        writeln!(console.err, "{}", exit::sentence(&error))?;
        (origin.artefact, origin.whole) = (None, None);
    }
    let report = failure::report(&small, &violation, plant, options, origin, true);
    failure::print(&report, console)
}
