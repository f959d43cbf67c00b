//! Twins: systems that are the same in every run, and one for each twin that is not.

use super::*;
use crate::system::engine::Engine;
use crate::system::{System, View};
use crate::trace::parse::parse;
use crate::zoo;
use plimsoll_engine::output::Output;
use plimsoll_engine::row::RowBatch;
use plimsoll_engine::time::ProcTime;
use plimsoll_engine::watermark::member::{Change, MemberState};

const IDLE: &str = "plan delay=0s watermark=partition idle=1min all_idle=flush
row p0 10:00:00 k=a v=1
row p1 10:05:00 k=a v=1
row p2 10:02:00 k=a v=1
batch
row p0 10:07:00 k=a v=1
batch
tick +10s
checkpoint
row p1 10:31:00 k=a v=1
row p0 10:32:00 k=a v=1
row p2 10:33:00 k=a v=1
batch
crash
row p1 10:01:00 k=a v=1
batch
end";

fn trace(text: &str) -> Trace {
    parse(text).expect(text).trace
}

fn engine(trace: &Trace) -> impl Fn(u64) -> Box<dyn System> {
    |seed| Box::new(Engine::new(trace, seed).expect("a plan without refusals"))
}

fn plant<'a>(name: &str, trace: &'a Trace) -> impl Fn(u64) -> Box<dyn System> + 'a {
    let plant = zoo::named(name).expect("a plant");
    move |seed| plant.system(trace, seed).expect("a plan without refusals")
}

#[test]
fn the_engine_is_the_same_in_every_run() {
    let trace = trace(IDLE);
    let make = engine(&trace);
    assert_eq!(hashers(&trace, &make, 7), Ok(None));
    assert_eq!(idle_order(&trace, &make, 7), Ok(None));
    for draw in 0..100 {
        assert_eq!(restart(&trace, &make, 7, draw * 11), Ok(None), "draw {draw}");
    }
}

#[test]
fn i30_sees_a_hasher_that_shows() {
    let text = IDLE.replace("10:02:00", "09:00:00");
    let trace = trace(&text);
    let make = plant("hash-order", &trace);
    let found = hashers(&trace, &make, 1).expect("covered");
    assert_eq!(found.map(|it| it.name), Some(HASHERS));
}

#[test]
fn i25_sees_a_restart_that_forgets() {
    let trace = trace(IDLE);
    for name in ["no-wm-ckpt", "ckpt-misses-buffer", "offset-state-skew"] {
        let make = plant(name, &trace);
        let found = (0..20).find_map(|draw| restart(&trace, &make, 7, draw * 13).expect("covered"));
        let found = found.unwrap_or_else(|| panic!("{name} survives"));
        assert_eq!(found.name, RESTART, "{name}");
        assert!(found.at.0 <= trace.items.len() as u64, "{}", found.evidence);
    }
}

/// Whoever was idle first leaves a mark on the candidate.
struct FirstIdle {
    engine: Engine,
    first: Option<PartitionId>,
}

impl System for FirstIdle {
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
        let view = self.engine.view(false);
        let mut idle = view.members.iter().filter(|it| it.state == MemberState::Idle);
        self.first = self.first.or(idle.next().map(|it| it.partition));
    }
    fn change(&mut self, id: ItemId, change: Change, at: ProcTime, out: &mut Output) {
        self.engine.change(id, change, at, out);
    }
    fn batch(&mut self, id: ItemId, out: &mut Output) {
        self.engine.batch(id, out);
    }
    fn end(&mut self, id: ItemId, out: &mut Output) {
        self.engine.end(id, out);
    }
    fn snapshot(&self) -> Vec<u8> {
        self.engine.snapshot()
    }
    fn restore(&mut self, snapshot: Option<&[u8]>) -> Result<(), String> {
        self.engine.restore(snapshot)
    }
    fn view(&self, deep: bool) -> View<'_> {
        let view = self.engine.view(deep);
        let mark = self.first.map_or(0, |it| i64::from(it.0));
        View { candidate: view.candidate + Span(mark), ..view }
    }
}

#[test]
fn i9_sees_who_fell_silent_first() {
    let calm: String = IDLE.lines().filter(|it| *it != "crash").collect::<Vec<_>>().join("\n");
    for text in [calm.clone(), calm.replace("plan ", "plan trigger=row ")] {
        let trace = trace(&text);
        let make = |seed| -> Box<dyn System> {
            let engine = Engine::new(&trace, seed).expect("a plan without refusals");
            Box::new(FirstIdle { engine, first: None })
        };
        let found = idle_order(&trace, &make, 7).expect("covered");
        assert_eq!(found.map(|it| it.name), Some(IDLE_ORDER));
    }
}

#[test]
fn i9_is_skipped_where_its_precondition_fails() {
    let plans = [
        ("plan", "an idle timeout"),
        ("plan watermark=partition idle=1min all_idle=hold", "all_idle=flush"),
        ("plan watermark=partition idle=1min trigger=once", "a trigger that goes on"),
        (
            "plan watermark=partition idle=1min",
            "two to six partitions, and a timeout of 2 ms or more",
        ),
    ];
    for (plan, missing) in plans {
        let trace = trace(plan);
        let skipped = idle_order(&trace, &engine(&trace), 7).expect_err(plan);
        assert_eq!(skipped, Skipped { name: IDLE_ORDER, missing });
    }
}
