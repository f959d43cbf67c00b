//! Stories of liveness: the engine lives, and a system that keeps or closes windows wrongly does not.

use super::*;
use crate::system::engine::Engine;
use crate::system::{System, View};
use crate::trace::parse::parse;
use crate::zoo;
use plimsoll_engine::output::Output;
use plimsoll_engine::row::{PartitionId, RowBatch};
use plimsoll_engine::time::ProcTime;
use plimsoll_engine::watermark::member::Change;

const ITEMS: &str = "
row p0 10:00:00 k=a v=1
row p1 10:05:00 k=a v=1
batch
row p0 10:07:00 k=a v=1
tick +10s
finish p2
row p1 10:31:00 k=a v=1
tick +3min
batch
row p0 -00:31:00 k=a v=1
add p3";

fn trace(plan: &str) -> Trace {
    parse(&format!("{plan}{ITEMS}")).expect(plan).trace
}

fn story(plan: &str, draw: u64) -> Result<&'static str, &'static str> {
    let trace = trace(plan);
    continuation(&trace, trace.items.len(), draw).map(|it| it.name)
}

fn live(plan: &str, draw: u64) {
    let trace = trace(plan);
    let make = |seed| -> Box<dyn System> { Box::new(Engine::new(&trace, seed).expect(plan)) };
    for cut in 1..=trace.items.len() {
        let found = check(&trace, cut, &make, 1, draw);
        assert_eq!(found, Ok(None), "{plan}, after {cut} items");
    }
}

const PARTITION: &str = "watermark=partition idle=1min";

#[test]
fn the_plan_decides_which_story_is_told() {
    let partition = format!("plan {PARTITION}");
    assert_eq!(story("plan", 0), Ok(ADVANCES));
    assert_eq!(story("plan", 1), Ok(FROZEN));
    assert_eq!(story(&partition, 0), Ok(ADVANCES));
    assert_eq!(story(&partition, 1), Ok(IDLES));
    assert_eq!(story(&format!("{partition} fallback=5min"), 2), Ok(WALL));
    assert_eq!(story("plan output=complete", 0), Err("append or update mode"));
    assert_eq!(story("plan trigger=once", 0), Err("a trigger that goes on"));
}

#[test]
fn the_engine_lives_in_every_story_under_every_trigger() {
    let triggers = ["", "trigger=row", "trigger=interval(1min)", "trigger=interval(15min)"];
    let effects = ["row", "next_batch", "batch_after_next"];
    let plans = ["", PARTITION, "watermark=partition idle=1min fallback=5min rejoin=catch_up"];
    for trigger in triggers {
        for effective in effects {
            for plan in plans {
                for guard in ["", "guard=reject(10min)"] {
                    let plan = format!("plan {plan} {trigger} effective={effective} {guard}");
                    (0..3).for_each(|draw| live(&plan, draw));
                }
            }
        }
    }
}

#[test]
fn l4_sees_a_clock_that_closes_windows() {
    let text = "plan effective=row trigger=row\nrow p0 10:00:00 k=a v=1";
    let trace = parse(text).expect(text).trace;
    let plant = zoo::named("close-by-wallclock").expect("a plant");
    let make = |seed| plant.system(&trace, seed).expect("a plan without refusals");
    let found = check(&trace, 1, &make, 1, 1).expect("covered").expect("the clock went on");
    assert_eq!((found.name, found.at.0), (FROZEN, 1));
}

/// Shows a window that never closes, or closes only at the end, or closes all but at the end.
struct Keeps {
    engine: Engine,
    until_end: bool,
    ended: bool,
}

impl System for Keeps {
    fn arrive(&mut self, rows: &RowBatch, out: &mut Output) {
        self.engine.arrive(rows, out);
    }
    fn heartbeat(
        &mut self,
        id: ItemId,
        partition: PartitionId,
        time: EventTime,
        at: ProcTime,
        out: &mut Output,
    ) {
        self.engine.heartbeat(id, partition, time, at, out);
    }
    fn tick(&mut self, id: ItemId, now: ProcTime, out: &mut Output) {
        self.engine.tick(id, now, out);
    }
    fn change(&mut self, id: ItemId, change: Change, at: ProcTime, out: &mut Output) {
        self.engine.change(id, change, at, out);
    }
    fn batch(&mut self, id: ItemId, out: &mut Output) {
        self.engine.batch(id, out);
    }
    fn end(&mut self, id: ItemId, out: &mut Output) {
        self.engine.end(id, out);
        self.ended = true;
    }
    fn snapshot(&self) -> Vec<u8> {
        self.engine.snapshot()
    }
    fn restore(&mut self, snapshot: Option<&[u8]>) -> Result<(), String> {
        self.engine.restore(snapshot)
    }
    fn view(&self, deep: bool) -> View<'_> {
        let view = self.engine.view(deep);
        if self.ended == self.until_end { view } else { View { groups: Some(1), ..view } }
    }
}

#[test]
fn a_window_that_stays_is_seen_in_its_story_and_one_that_outlives_the_end_in_l5() {
    let stories = [
        ("plan".to_owned(), 0, ADVANCES),
        (format!("plan {PARTITION}"), 1, IDLES),
        (format!("plan {PARTITION} fallback=5min"), 2, WALL),
    ];
    for (plan, draw, name) in stories {
        for (until_end, expected) in [(true, name), (false, ENDS)] {
            let trace = trace(&plan);
            let make = |seed| -> Box<dyn System> {
                let engine = Engine::new(&trace, seed).expect("a plan without refusals");
                Box::new(Keeps { engine, until_end, ended: false })
            };
            let found = check(&trace, 4, &make, 1, draw).expect("covered").expect("it stays");
            assert_eq!(found.name, expected, "{}", found.evidence);
        }
    }
}
