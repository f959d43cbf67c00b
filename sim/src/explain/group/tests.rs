use super::cut::{Held, How, Kind, cut};
use super::seen::Seen;
use super::*;
use crate::scenario::flow_world;
use crate::trace::parse::parse;
use plimsoll_engine::output::EmissionKind;
use plimsoll_engine::plan::Aggregate;
use plimsoll_engine::plan::flow::{Carry, SessionLate};

fn trace(text: &str) -> Trace {
    parse(text).unwrap_or_else(|it| panic!("{it}")).trace
}

fn told(text: &str, at: Option<i64>, key: Option<&str>) -> String {
    let asked = Asked { at: at.map(EventTime), key, stage: None };
    groups(&trace(text), asked).unwrap_or_else(|it| panic!("{it}")).to_string()
}

fn has(text: &str, wanted: &[&str]) {
    for it in wanted {
        assert!(text.contains(it), "no `{it}` in\n{text}");
    }
}

#[test]
fn a_row_between_two_sessions_makes_one_of_them() {
    let text = "plan delay=10s effective=row stages=session(5s)
        row p0 00:00:00 k=a
        row p0 00:00:08 k=a
        row p0 00:00:04 k=a
        row p0 00:00:23 k=b";
    has(
        &told(text, Some(4_000), Some("a")),
        &[
            "Session [00:00:00,00:00:13), key a:",
            "item 3 (`row p0 00:00:04 k=a`): counted, made one of [00:00:00,00:00:05) and [00:00:08,00:00:13)",
            "It closed at item 4 (`row p0 00:00:23 k=b`), with the watermark at 00:00:13",
        ],
    );
    has(
        &told(text, None, Some("b")),
        &[
            "It closes at a watermark of 00:00:28; it is 00:00:13.",
            "Tried: a row at 00:00:38 or later closes it.",
        ],
    );
}

#[test]
fn an_input_that_never_spoke_is_named_with_what_would_free_the_window() {
    let text = "plan inputs=a(0s),b(2s) effective=row stages=window(tumbling(10s))
        row a/p0 00:00:01 k=a
        row a/p0 00:00:20 k=a";
    has(
        &told(text, Some(0), None),
        &[
            "It closes at a watermark of 00:00:10; there is none yet.",
            "b holds it: nothing has ever been heard from it.",
            "Tried: a row of b at 00:00:12 or later closes it.",
        ],
    );
}

#[test]
fn a_window_join_shows_both_sides_and_their_pairs() {
    let text = "plan inputs=l(0s),r(0s) effective=row stages=join(inner,window=tumbling(10s))
        row l/p0 00:00:01 k=a v=1
        row r/p0 00:00:02 k=a v=2
        row r/p0 00:00:03 k=b v=3
        row l/p0 00:00:30 k=a v=4
        row r/p0 00:00:30 k=a v=5
        row r/p0 00:00:04 k=a v=6";
    has(
        &told(text, Some(0), Some("a")),
        &[
            "item 1 (`row l/p0 00:00:01 k=a v=1`): counted",
            "item 6 (`row r/p0 00:00:04 k=a v=6`): lost",
            "3 rows: 2 counted, 1 lost.",
            "emit l_time=00:00:01 l_k=a l_v=1 r_time=00:00:02 r_k=a r_v=2 at item 2",
            "It closed at item 5",
        ],
    );
}

#[test]
fn behind_a_join_the_side_that_was_behind_is_named() {
    let text = "plan inputs=l(0s),r(1min) effective=row \
         stages=join(left,from=0s,to=5min)|window(tumbling(10min),time=l_time,key=l_k)
        row l/p0 10:01:00 k=a v=1
        row r/p0 10:02:00 k=a v=1
        row l/p0 10:20:00 k=b v=1
        row r/p0 10:17:00 k=a v=1
        row l/p0 10:03:00 k=a v=1";
    has(
        &told(text, Some(36_000_000), None),
        &[
            "written at item 2 (`row r/p0 10:02:00 k=a v=1`): counted",
            "with the watermark at 10:16:00: data moved the watermark past its end.",
            "Of that 10:11:00 reached this stage.",
            "r had held it; its line is 10:17:00 of item 4, less its delay of 1min.",
            "At that time l was at 10:20:00.",
            "An earlier stage had lost item 5",
        ],
    );
}

#[test]
fn a_group_with_a_time_among_its_keys_closes_and_one_without_does_not() {
    let by_time = "plan delay=0s effective=row stages=global(key=time+k,time=time)
        row p0 00:00:01 k=a
        row p0 00:00:01 k=a
        row p0 00:00:05 k=a
        row p0 00:00:01 k=a";
    has(
        &told(by_time, Some(1_000), None),
        &[
            "Group of 00:00:01",
            "3 rows: 2 counted, 1 lost.",
            "It closed at item 3",
            "It is refuted",
        ],
    );
    let by_key = "plan delay=0s effective=row output=update sink=keyed stages=global(key=k)
        row p0 00:00:01 k=a
        row p0 00:00:05 k=a";
    has(
        &told(by_key, None, Some("a")),
        &["Group, key a:", "no watermark closes it: it is kept until the input ends", "update k=a"],
    );
}

#[test]
fn rows_that_never_reach_the_stage_are_told_apart() {
    let text = "plan inputs=in(0s,v>=0) trigger=batch stages=filter(v<100)|window(tumbling(10s))
        row p0 00:00:01 k=a v=1
        row p0 00:00:02 k=a v=-1
        row p0 00:00:03 k=a v=100
        batch
        row p0 00:00:04 k=a v=1";
    has(
        &told(text, Some(0), None),
        &["item 2 (`row p0 00:00:02 k=a v=-1`): filtered", "v=100`): filtered", "v=1`): waits"],
    );
}

/// Where the count stands among the cells of a figure.
fn count_cell(plan: &StagePlan) -> Option<usize> {
    let (head, aggregates) = match plan {
        StagePlan::Window(it) => (3 + it.keys.len(), &it.aggregates),
        StagePlan::Session(it) => (3 + it.keys.len(), &it.aggregates),
        StagePlan::Count(it) => (it.keys.len(), &it.aggregates),
        StagePlan::Global(it) => (it.keys.len(), &it.aggregates),
        _ => return None,
    };
    let at = aggregates.iter().position(|it| *it == Aggregate::Count)?;
    let wide = aggregates[..at].iter().filter(|it| matches!(it, Aggregate::Avg(_))).count();
    Some(head + at + wide)
}

/// The pass of the last row that merged sessions.
fn last_merge(held: &Held, seen: &Seen) -> Option<usize> {
    let joined = held.rows.iter().filter(|it| matches!(it.how, How::Joined(_)));
    joined.map(|it| seen.rows[it.row].pass).max()
}

#[test]
fn the_rows_of_a_group_are_as_many_as_its_figure_counts() {
    let (mut figures, mut kinds) = (0, [0; 4]);
    for seed in 0..220 {
        let world = flow_world(seed).trace;
        let Some(flow) = &world.plan.flow else { continue };
        if CheckedPlan::new(world.plan.clone()).is_err() {
            continue;
        }
        for (at, plan) in flow.stages.iter().enumerate().filter(|it| has_groups(it.1)) {
            let discards =
                matches!(plan, StagePlan::Window(it) if it.panes.carry == Carry::Discarding);
            let Some(cell) = count_cell(plan).filter(|_| !discards) else { continue };
            let seen = Seen::of(&world, at).unwrap();
            let held = cut(plan, world.plan.output, &seen, None);
            let told: usize = held.iter().map(|it| it.written.len()).sum();
            assert!(told <= seen.written.len(), "seed {seed}: a figure is told twice");
            for it in &held {
                let mut last = it.written.iter().map(|it| &seen.written[*it]);
                let Some(last) = last.rfind(|it| it.note.kind != EmissionKind::Retraction) else {
                    continue;
                };
                if last_merge(it, &seen).is_some_and(|merge| last.pass < merge) {
                    continue;
                }
                // A window may live again behind a restart that forgot the watermark.
                let lateness = match plan {
                    StagePlan::Window(it) => it.lateness,
                    _ => Span::ZERO,
                };
                let leaves = it.due.filter(|_| it.kind != Kind::Session).map(|it| it + lateness);
                let is_of = |row: &&cut::Part| {
                    let from = seen.rows[row.row].pass;
                    let left = |end| seen.removes(1, end, from..last.pass);
                    let lost = seen.restarts.iter().any(|it| from < it.0 && it.0 <= last.pass);
                    from <= last.pass && !lost && !leaves.is_some_and(left)
                };
                let counted = it.rows.iter().filter(|it| it.how != How::Lost);
                let counted = counted.filter(is_of).count();
                let name = format!("seed {seed}, stage {}, figure {:?}", at + 1, last.cells);
                assert_eq!(last.cells[cell], Some(counted as i64), "{name}");
                figures += 1;
                kinds[match it.kind {
                    Kind::Window => 0,
                    Kind::Session => 1,
                    Kind::Count(_) => 2,
                    Kind::Group => 3,
                }] += 1;
            }
        }
    }
    assert!(500 < figures, "{figures} figures");
    assert!(kinds.iter().all(|it| 0 < *it), "each kind of group: {kinds:?}");
}

/// Semantics M13 in flows: the delay that a row is said to need is the smallest one.
#[test]
fn the_delay_that_is_said_to_keep_a_row_keeps_it_and_a_millisecond_less_does_not() {
    let mut tried = 0;
    for seed in 0..160 {
        let world = flow_world(seed).trace;
        let Some(flow) = &world.plan.flow else { continue };
        let Some(watermark) = &world.plan.watermark else { continue };
        // What a session is late for depends on what came before, and a paused partition on W.
        let merged =
            |it: &StagePlan| matches!(it, StagePlan::Session(it) if it.late == SessionLate::Merged);
        if flow.policy == plimsoll_engine::plan::flow::Policy::Max
            || flow.levels.is_some()
            || watermark.fallback.is_some()
            || watermark.initial.is_finite()
            || flow.stages.iter().any(merged)
        {
            continue;
        }
        let Some(first) = flow.stages.iter().position(|it| !it.is_stateless()) else { continue };
        let asked = Asked { stage: Some(first + 1), ..Asked::default() };
        let Ok(story) = groups(&world, asked) else { continue };
        for group in story.groups.iter().filter(|it| !it.tried.is_empty()).take(4) {
            let name = format!("seed {seed}\n{group}");
            assert_eq!(group.tried[0].kept, group.tried[0].of, "{name}");
            assert!(group.tried.get(1).is_none_or(|it| it.kept < it.of), "{name}");
            tried += 1;
        }
    }
    assert!(20 < tried, "{tried} groups");
}

#[test]
fn every_group_of_every_world_has_a_story() {
    let mut told = 0;
    for seed in 0..60 {
        let world = flow_world(seed).trace;
        let stages = world.plan.flow.as_ref().map_or(0, |it| it.stages.len());
        for stage in 1..=stages {
            let asked = Asked { stage: Some(stage), ..Asked::default() };
            if let Ok(story) = groups(&world, asked) {
                assert!(!story.to_string().is_empty());
                told += story.groups.len();
            }
        }
        if let Ok(story) = crate::explain::watermark(&world) {
            assert!(!story.to_string().is_empty());
        }
    }
    assert!(200 < told, "{told} groups");
}
