//! From arrivals to items: the clock, the batches and the faults between them.
//!
//! Arrivals have instants; a trace's clock moves at ticks only. A tick goes to the last of a few arrivals
//! that lie close together, and then all of them arrive: none before its instant. A long silence is sometimes one tick and sometimes several, because
//! idleness is judged at ticks. Batches end after a drawn number of arrivals, sometimes with nothing
//! in them. Faults strike before any item.
//!
//! Invariant: items stand in the order of arrival, and nothing here looks at what a row says.

use super::spread::Spread;
use super::vary::flow::GAP;
use super::vary::{Drawn, Measure};
use super::{Scenario, World, bounds, heal};
use crate::entropy::{Entropy, Stream};
use crate::fault::Strikes;
use crate::model::{Arrival, Draft, What};
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::plan::flow::StagePlan;
use plimsoll_engine::plan::{Effective, Plan, Trigger, WindowSpec};
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
    /// The value once more, as so many parts of this length; 1 is no gap at all.
    Gap(i64),
}

/// More parts than this are no gap that a world can close.
const GAP_PARTS: i64 = 12;

/// A trace that is being laid out.
pub(super) struct Layout<'e> {
    pub(super) trace: Trace,
    /// The clock.
    pub(super) now: i64,
    /// Event time that the traffic covers.
    pub(super) span: i64,
    /// Distance of window starts, or what a world takes for it.
    pub(super) slide: i64,
    /// How many partitions were named.
    pub(super) partitions: u32,
    roles: Vec<Role>,
    spread: Spread,
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
    let measure = Measure { span, windows, scale, items };
    let Drawn { plan, speaking } = scenario.vary.draw(&scenario.plan, entropy, &measure);
    let spread = Spread::new(&plan, speaking);
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
        delays: bounds::delays(&plan, speaking),
        bounds: bounds::of(&plan),
        arrivals: Vec::new(),
    };
    scenario.models.iter().for_each(|it| it.apply(&mut draft, false));
    draft.sort();
    scenario.models.iter().for_each(|it| it.apply(&mut draft, true));
    let mut layout = Layout::new(plan, spread, &draft, items);
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
    let drawn = plan.operator.as_ref().map(|it| it.window);
    let of_flow = plan.flow.as_ref().and_then(|it| it.stages.iter().find_map(window));
    let drawn = drawn.or(of_flow).unwrap_or(none);
    if drawn.size.0 < 1 || drawn.slide.0 < 1 { none } else { drawn }
}

/// The windows of a stage.
fn window(stage: &StagePlan) -> Option<WindowSpec> {
    match stage {
        StagePlan::Window(it) => Some(it.window),
        StagePlan::Join(it) => it.window,
        _ => None,
    }
}

/// The largest event time that is not absurd.
fn last(draft: &Draft<'_>, now: i64) -> i64 {
    let horizon = now + draft.span;
    let times = draft.arrivals.iter().filter_map(|it| it.time).filter(|it| *it <= horizon);
    times.max().unwrap_or(now).max(draft.start)
}

fn roles(plan: &Plan, window: WindowSpec) -> Vec<Role> {
    let keys = plan.operator.as_ref().map_or(&[][..], |it| &it.keys);
    let role = |(n, it): (usize, &plimsoll_engine::row::ColumnSpec)| match it.kind {
        ColumnKind::Time => Role::Time,
        ColumnKind::Text => Role::Text,
        ColumnKind::Integer if keys.iter().any(|key| key.0 == n) => Role::Key,
        ColumnKind::Integer if plan.flow.is_some() && it.name == GAP => {
            Role::Gap((window.slide.0 / 6).max(1))
        }
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
    fn new(plan: Plan, spread: Spread, draft: &Draft<'_>, items: i64) -> Self {
        let roles = roles(&plan, draft.window);
        let room = draft.arrivals.len() + items as usize;
        Self {
            now: draft.start,
            span: draft.span,
            slide: draft.window.slide.0,
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
            spread,
        }
    }

    /// The longest gap that a row says.
    pub(super) fn gap_most(&self) -> Span {
        let part = self.roles.iter().find_map(|it| match it {
            Role::Gap(part) => Some(*part),
            _ => None,
        });
        Span(part.map_or(0, |it| it * GAP_PARTS))
    }

    /// Whether the watermark moves at probes.
    pub(super) fn probes(&self) -> bool {
        self.trace.plan.watermark.as_ref().is_some_and(|it| it.effective == Effective::Probe)
    }

    /// An item, after the fault that may strike before it.
    pub(super) fn item(&mut self, item: Item) {
        if let Some(fault) = self.strikes.as_mut().and_then(Strikes::strike) {
            self.trace.items.push(self.spread.item(fault));
        }
        self.trace.items.push(self.spread.item(item));
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
                        Role::Gap(part) => {
                            it.value.map(|it| (it.saturating_sub(1)).clamp(-1, GAP_PARTS) * part)
                        }
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
