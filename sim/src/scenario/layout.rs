//! From arrivals to items: the clock, the batches and the faults between them.
//!
//! Arrivals have instants; a trace's clock moves at ticks only. A tick goes to the last of a few arrivals
//! that lie close together, and then all of them arrive: none before its instant. A long silence is sometimes one tick and sometimes several, because
//! idleness is judged at ticks. Batches end after a drawn number of arrivals, sometimes with nothing
//! in them. Faults strike before any item.
//!
//! Invariant: items stand in the order of arrival, and nothing here looks at what a row says.

use super::vary::Measure;
use super::{Scenario, World, heal};
use crate::entropy::{Entropy, Stream};
use crate::fault::Strikes;
use crate::model::{Arrival, Draft, What};
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::plan::{Plan, Trigger, WindowSpec};
use plimsoll_engine::row::{ColumnKind, Dictionary, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::member::Adoption;

/// What a column of a row holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Time,
    Key,
    Text,
    Value,
}

/// A trace that is being laid out.
pub(super) struct Layout<'e> {
    pub(super) trace: Trace,
    /// The clock.
    pub(super) now: i64,
    /// Event time that the traffic covers.
    pub(super) span: i64,
    /// How many partitions were named.
    pub(super) partitions: u32,
    roles: Vec<Role>,
    /// The code of each key's text, or -1; text codes are given out in the order of first sight.
    codes: Vec<i64>,
    strikes: Option<Strikes<'e>>,
}

/// Makes a world.
pub(super) fn world(scenario: &Scenario, entropy: &Entropy<'_>) -> World {
    let size = &scenario.size;
    // Lengths first: a short tape must still make a world.
    let items = entropy.field("world", "items").range(size.items[0], size.items[1]);
    let mut shape = entropy.field("world", "shape");
    let windows = shape.range(size.windows[0], size.windows[1]);
    let partitions = shape.range(size.partitions[0], size.partitions[1]);
    let keys = shape.range(size.keys[0], size.keys[1]);
    let scale = *shape.choose(&size.units);
    let start = *shape.choose(&size.starts);
    let span = (shape.range(size.span[0], size.span[1]) / scale).max(windows);
    let plan =
        scenario.vary.draw(&scenario.plan, entropy, &Measure { span, windows, scale, items });
    let mut pace = entropy.stream("pace");
    let batch = pace.range(2, 6);
    let rows = rows(items - scenario.phases.cost(partitions, plan.trigger), batch, plan.trigger);
    let mut draft = Draft {
        entropy,
        start,
        span,
        scale,
        rows: rows as u64,
        partitions: partitions as u32,
        keys: keys as u32,
        window: grid(&plan, span, windows),
        delay: plan.watermark.as_ref().map_or(0, |it| it.delay.0),
        arrivals: Vec::new(),
    };
    scenario.models.iter().for_each(|it| it.apply(&mut draft, false));
    draft.sort();
    scenario.models.iter().for_each(|it| it.apply(&mut draft, true));
    let mut layout = Layout::new(plan, &draft, items);
    layout.strikes = Some(scenario.faults.draw(entropy, draft.partitions));
    layout.chaos(&draft, &mut pace, batch);
    let chaos_len = layout.trace.items.len();
    layout.partitions = layout.strikes.take().map_or(draft.partitions, |it| it.partitions);
    let last = last(&draft, layout.now);
    heal::heal(&mut layout, &scenario.phases, entropy, last);
    World { trace: layout.trace, chaos_len }
}

/// How many rows make this many items of chaos, with their ticks and batches.
fn rows(items: i64, batch: i64, trigger: Trigger) -> i64 {
    let batches = if trigger == Trigger::Batch { 100 / batch } else { 0 };
    (items * 100 / (100 + 28 + batches + 8)).max(8)
}

/// The windows that models aim at.
fn grid(plan: &Plan, span: i64, windows: i64) -> WindowSpec {
    let slide = Span((span / windows).max(1));
    let none = WindowSpec { size: slide, slide, offset: Span::ZERO };
    let drawn = plan.operator.as_ref().map_or(none, |it| it.window);
    if drawn.size.0 < 1 || drawn.slide.0 < 1 { none } else { drawn }
}

/// The largest event time that is not absurd.
fn last(draft: &Draft<'_>, now: i64) -> i64 {
    let horizon = now + draft.span;
    let times = draft.arrivals.iter().filter_map(|it| it.time).filter(|it| *it <= horizon);
    times.max().unwrap_or(now).max(draft.start)
}

fn roles(plan: &Plan) -> Vec<Role> {
    let keys = plan.operator.as_ref().map_or(&[][..], |it| &it.keys);
    let role = |(n, it): (usize, &plimsoll_engine::row::ColumnSpec)| match it.kind {
        ColumnKind::Time => Role::Time,
        ColumnKind::Text => Role::Text,
        ColumnKind::Integer if keys.iter().any(|key| key.0 == n) => Role::Key,
        ColumnKind::Integer => Role::Value,
    };
    plan.schema.columns.iter().enumerate().map(role).collect()
}

/// The text of a key: a to z, then k26 and so on.
fn text(key: u32) -> String {
    match u8::try_from(key) {
        Ok(it @ 0..26) => char::from(b'a' + it).to_string(),
        _ => format!("k{key}"),
    }
}

impl<'e> Layout<'e> {
    fn new(plan: Plan, draft: &Draft<'_>, items: i64) -> Self {
        let roles = roles(&plan);
        let room = draft.arrivals.len() + items as usize;
        Self {
            now: draft.start,
            span: draft.span,
            partitions: draft.partitions,
            codes: vec![-1; draft.keys as usize + 2],
            strikes: None,
            trace: Trace {
                clock: ProcTime(draft.start),
                dictionary: Dictionary::default(),
                items: Vec::with_capacity(room),
                cells: Vec::with_capacity(room * roles.len()),
                plan,
            },
            roles,
        }
    }

    /// An item, after the fault that may strike before it.
    pub(super) fn item(&mut self, item: Item) {
        if let Some(fault) = self.strikes.as_mut().and_then(Strikes::strike) {
            self.trace.items.push(fault);
        }
        self.trace.items.push(item);
    }

    /// The clock moves.
    pub(super) fn tick(&mut self, by: i64) {
        self.now += by;
        self.item(Item::Tick(Span(by)));
    }

    /// Something arrives.
    pub(super) fn arrive(&mut self, it: &Arrival) {
        let partition = PartitionId(it.partition);
        match it.what {
            What::Row => {
                let cells = u32::try_from(self.trace.cells.len()).expect("fewer than 2^32 cells");
                for n in 0..self.roles.len() {
                    let cell = match self.roles[n] {
                        Role::Time => it.time,
                        Role::Key => it.key.map(i64::from),
                        Role::Text => it.key.map(|key| self.code(key)),
                        Role::Value => it.value,
                    };
                    self.trace.cells.push(cell);
                }
                self.item(Item::Row(RowItem { partition, cells }));
            }
            What::Heartbeat => {
                let time = EventTime(it.time.unwrap_or(self.now));
                self.item(Item::Heartbeat { partition, time });
            }
            What::Move(adoption) => self.item(Item::Move { partition, adoption }),
        }
    }

    fn code(&mut self, key: u32) -> i64 {
        let place = &mut self.codes[key as usize];
        if *place < 0 {
            *place = self.trace.dictionary.code(&text(key));
        }
        *place
    }

    fn chaos(&mut self, draft: &Draft<'_>, pace: &mut Stream<'_>, batch: i64) {
        if pace.chance(300) {
            let adoption = Adoption::WithoutWatermark;
            for partition in (0..draft.partitions).map(PartitionId) {
                self.item(Item::Add { partition, adoption });
            }
        }
        let rows = draft.arrivals.len().max(1) as i64;
        let quantum = (draft.span * 6 / rows).max(1);
        let mut left = batch;
        for (n, it) in draft.arrivals.iter().enumerate() {
            if it.at > self.now {
                let until = it.at + quantum - pace.range(0, quantum);
                let group = draft.arrivals[n..].iter().take_while(|it| it.at <= until);
                let to = group.last().map_or(it.at, |it| it.at);
                self.pass(to - self.now, quantum, pace);
            }
            self.arrive(it);
            left -= 1;
            if left <= 0 && self.trace.plan.trigger == Trigger::Batch {
                left = pace.range(1, 2 * batch - 1);
                self.item(Item::Batch);
                if pace.chance(60) {
                    self.item(Item::Batch);
                }
            }
        }
    }

    /// Time passes until the next arrival.
    fn pass(&mut self, gap: i64, quantum: i64, pace: &mut Stream<'_>) {
        let mut left = gap;
        if gap / 3 > quantum && pace.chance(600) {
            for _ in 0..pace.range(1, 2) {
                let part = pace.range(1, left / 2);
                self.tick(part);
                left -= part;
                if self.trace.plan.trigger == Trigger::Batch && pace.chance(500) {
                    self.item(Item::Batch);
                }
            }
        }
        self.tick(left);
    }
}
