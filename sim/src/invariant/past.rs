//! What a run has shown so far, kept beside the system for the checks to compare with.
//!
//! The trace says which rows a step takes, who is there and who is silent; the *records* of the
//! system say what became of each row. From both follow the rows that every window should hold. Where
//! the oracle recomputes what must happen, this takes the system at its word and sees whether its
//! words fit together: records and figures, figures and counters, this step and the one before.
//!
//! Facts are worked out step by step, also where one item causes several steps, so that a figure is
//! compared with what was true when it was written.
//!
//! Invariant: nothing behind the current item is looked at, and broken output never panics here.

mod facts;
pub mod grid;
pub mod open;
pub mod roster;
mod scope;

pub use facts::{FiringFacts, StepFacts, TakenRow};
pub use scope::Scope;
pub(super) use scope::fold_key;

use super::Observation;
use super::flow::past::FlowPast;
use crate::trace::{Item, Trace};
use open::{Closed, Windows};
use plimsoll_engine::output::{Fate, Firing, StepKind};
use plimsoll_engine::plan::Trigger;
use plimsoll_engine::plan::restore::{Memory, RestoreRules};
use plimsoll_engine::row::ItemId;
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::window::Window;
use roster::Roster;

/// Longer traces are not followed down to their keys.
const KEYS_UP_TO: usize = 2_000;

/// The past of a run, and what is new of it; see the [module documentation](self).
#[derive(Debug)]
pub struct Past {
    /// What the plan says.
    pub scope: Scope,
    /// The clock.
    pub now: ProcTime,
    /// Whether the query had ended or stopped before the item.
    pub was_stopped: bool,
    /// Whether it has by now.
    pub stopped: bool,
    /// Who is there.
    pub roster: Roster,
    /// Whether the item ended somebody's idleness.
    pub woke: bool,
    /// What the item lost, if it is a restart.
    pub lost: RestoreRules,
    /// Rows and others that wait for a step, with their arrival.
    queue: Vec<(u32, ProcTime)>,
    /// How many of them were taken by the item's steps.
    taken: usize,
    /// The rows that the item's steps took, in order; and one that came after the stop.
    pub rows: Vec<TakenRow>,
    /// The item's steps.
    pub steps: Vec<StepFacts>,
    /// The item's firings, as in its output.
    pub firings: Vec<FiringFacts>,
    /// Windows that the item's steps counted rows into, with the rows in them after that step, and
    /// the position of the step.
    pub touched: Vec<(usize, Window, u64)>,
    /// A record that names no row of the item, or one that has a record already.
    pub stray: Option<ItemId>,
    /// Largest event time that may move a watermark.
    pub seen: EventTime,
    /// Largest event time from the future.
    pub guarded: EventTime,
    /// The highest value that evicted in any step before the item at hand.
    pub frontier: EventTime,
    /// The last step at whose end somebody was idle.
    pub last_idle: Option<u64>,
    /// The rows of a flow, where they are followed.
    pub flow: Option<FlowPast>,
    windows: Option<Windows>,
    touches: Vec<(Window, u64)>,
}

impl Past {
    /// Before the first item.
    pub fn new(trace: &Trace) -> Self {
        let scope = Scope::new(trace);
        let keyless = scope.keys.is_empty();
        let follow = keyless || trace.items.len() <= KEYS_UP_TO;
        Self {
            now: trace.clock,
            was_stopped: false,
            stopped: false,
            roster: Roster::new(scope.idle.map(|it| it.timeout)),
            woke: false,
            lost: RestoreRules::EXACT,
            queue: Vec::new(),
            taken: 0,
            rows: Vec::new(),
            steps: Vec::new(),
            firings: Vec::new(),
            touched: Vec::new(),
            stray: None,
            seen: EventTime::MIN,
            guarded: EventTime::MIN,
            frontier: EventTime::MIN,
            last_idle: None,
            windows: scope.grid.map(|it| Windows::new(it, follow)),
            touches: Vec::new(),
            flow: scope.flow.as_ref().filter(|it| it.short).map(|_| FlowPast::default()),
            scope,
        }
    }

    /// Takes notice of an item and of what came out because of it.
    pub fn observe(&mut self, seen: &Observation<'_>) {
        self.rows.clear();
        self.steps.clear();
        self.firings.clear();
        self.touched.clear();
        self.stray = None;
        self.woke = false;
        self.was_stopped = self.stopped;
        if let Some(flow) = &mut self.flow {
            flow.observe(seen, self.stopped);
        }
        self.lost = match *seen.item {
            Item::Restart(rules) if !self.stopped => rules,
            _ => RestoreRules::EXACT,
        };
        if self.lost != RestoreRules::EXACT {
            self.forget();
        }
        self.arrive(seen);
        if !seen.output.steps.is_empty() {
            self.take(seen);
        }
        if !seen.output.records.is_empty() {
            self.read_records(seen);
        }
        self.follow(seen);
        self.stop(seen.item);
    }

    /// Rows and others that wait for a step.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// (window, key) groups that the records account for, where they are followed.
    pub fn groups(&self) -> Option<u64> {
        self.windows.as_ref().and_then(Windows::groups)
    }

    /// Windows with state, by the records.
    pub fn windows_with_state(&self) -> usize {
        self.windows.as_ref().map_or(0, Windows::with_state)
    }

    /// The rows that a step took.
    #[inline]
    pub fn rows_of(&self, step: &StepFacts) -> &[TakenRow] {
        &self.rows[step.rows.0 as usize..step.rows.1 as usize]
    }

    /// Whether a restart at this very item lost the watermark.
    pub fn watermark_lost(&self) -> bool {
        self.lost.watermark == Memory::Lost
    }

    /// Whether a restart at this very item lost the content of open windows.
    pub fn windows_lost(&self) -> bool {
        self.lost.windows == Memory::Lost
    }

    /// A restart: what it lost is as before the first row. The largest times stay where the watermark
    /// does, since they justify it.
    fn forget(&mut self) {
        let Self { lost, now, .. } = *self;
        if lost.idleness == Memory::Lost {
            self.roster.restart(now);
        }
        if let Some(windows) = &mut self.windows {
            if lost.windows == Memory::Lost {
                windows.forget_rows();
            }
            if lost.ledger == Memory::Lost {
                windows.forget_losses();
            }
            if lost.watermark == Memory::Lost {
                windows.begin_anew();
            }
        }
        if lost.watermark == Memory::Lost {
            self.frontier = EventTime::MIN;
            if lost.maxima == Memory::Lost {
                self.seen = EventTime::MIN;
            }
        }
    }

    fn arrive(&mut self, seen: &Observation<'_>) {
        let number = (seen.id.0 - 1) as u32;
        match *seen.item {
            Item::Tick(span) => {
                self.now = self.now.max(self.now + span);
                if !self.stopped {
                    self.roster.tick(self.now);
                }
            }
            Item::Probe if !self.stopped => self.roster.tick(self.now),
            Item::Row(row) => {
                if self.stopped {
                    let time = self.scope.time(seen.trace, row);
                    self.rows.push(TakenRow::new(seen.id, row.partition, self.now, time, false));
                } else {
                    self.woke = self.roster.hear(row.partition, self.now);
                    self.queue.push((number, self.now));
                }
            }
            Item::Heartbeat { partition, .. } if !self.stopped => {
                self.woke = self.roster.hear(partition, self.now);
                self.queue.push((number, self.now));
            }
            Item::Add { .. } | Item::Remove(_) | Item::Move { .. } | Item::Finish(_)
                if !self.stopped =>
            {
                self.queue.push((number, self.now));
            }
            _ => {}
        }
    }

    /// Which part of the queue each step took.
    fn take(&mut self, seen: &Observation<'_>) {
        let steps = &seen.output.steps;
        let mut queue = std::mem::take(&mut self.queue);
        let most = match seen.trace.plan.trigger {
            Trigger::AvailableNow(rows) => rows.max(1),
            Trigger::Row | Trigger::Batch | Trigger::Interval(_) | Trigger::Once => u64::MAX,
        };
        let mut from = 0;
        for (position, record) in steps.iter().enumerate() {
            let mut facts = StepFacts { rows: (self.rows.len() as u32, 0), ..StepFacts::default() };
            if record.kind == StepKind::End && matches!(seen.item, Item::End) {
                self.roster.finish_all();
                facts.all_finished = true;
            } else {
                let last = steps[position + 1..].iter().all(|it| it.kind == StepKind::End);
                let mut rows = 0;
                while from < queue.len() {
                    let (number, at) = queue[from];
                    let item = &seen.trace.items[number as usize];
                    let is_row = matches!(item, Item::Row(_));
                    if !last && rows == most {
                        break;
                    }
                    rows += u64::from(is_row);
                    facts.others += u64::from(!is_row);
                    self.take_one(seen.trace, number, at, &mut facts);
                    from += 1;
                }
            }
            facts.all_finished |= self.roster.all_finished();
            facts.idle = self.roster.some_idle();
            facts.rows.1 = self.rows.len() as u32;
            facts.seen = self.seen;
            self.steps.push(facts);
        }
        self.taken = from;
        queue.drain(..from);
        self.queue = queue;
    }

    #[inline]
    fn take_one(&mut self, trace: &Trace, number: u32, at: ProcTime, facts: &mut StepFacts) {
        let item = &trace.items[number as usize];
        let finished = self.roster.take(item, at);
        let time = match *item {
            Item::Row(row) => {
                let time = self.scope.time(trace, row);
                let id = ItemId(u64::from(number) + 1);
                self.rows.push(TakenRow::new(id, row.partition, at, time, finished));
                time
            }
            Item::Heartbeat { time, .. } => Some(time),
            _ => None,
        };
        if self.scope.per_item {
            facts.all_finished |= self.roster.all_finished();
        }
        let Some(time) = time.filter(|it| it.is_legal() && !finished) else { return };
        if self.scope.from_the_future(time, at) {
            self.guarded = self.guarded.max(time);
        } else {
            self.seen = self.seen.max(time);
        }
    }

    /// Which row each record is about. Rows stand in the order of their numbers.
    fn read_records(&mut self, seen: &Observation<'_>) {
        for (position, record) in seen.output.records.iter().enumerate() {
            let row = match self.rows.binary_search_by_key(&record.id, |it| it.id) {
                Ok(row) if self.rows[row].record.is_none() => &mut self.rows[row],
                Ok(_) | Err(_) => {
                    self.stray = self.stray.or(Some(record.id));
                    continue;
                }
            };
            row.record = Some(position as u32);
            (row.lost, row.counts) = match record.fate {
                Fate::Late(late) => (late.windows_lost, 0 < late.windows_kept),
                Fate::CountedNotAdvancing => (0, true),
                Fate::Guarded
                | Fate::NoTime
                | Fate::TimeOutOfRange
                | Fate::NoWindow
                | Fate::AfterFinish
                | Fate::NotApplicable
                | Fate::Filtered
                | Fate::Duplicate { .. }
                | Fate::NoGap => (0, false),
            };
        }
    }

    /// Windows, step by step, with the firings between.
    fn follow(&mut self, seen: &Observation<'_>) {
        let mut firings = seen.output.firings.iter().peekable();
        if self.steps.is_empty() && firings.peek().is_none() {
            return;
        }
        for position in 0..self.steps.len() {
            let record = &seen.output.steps[position];
            self.steps[position].frontier = self.frontier;
            let (from, to) = self.steps[position].rows;
            for row in from as usize..to as usize {
                self.count(seen, row, record.step);
            }
            let last = position + 1 == self.steps.len();
            while let Some(firing) = firings.next_if(|it| last || it.step <= record.step) {
                let facts = self.firing(firing, position);
                self.firings.push(facts);
            }
            self.finish_step(position, record.step, record.kind, record.evict);
        }
        for firing in firings {
            let facts = self.firing(firing, usize::MAX);
            self.firings.push(facts);
        }
    }

    #[inline]
    fn count(&mut self, seen: &Observation<'_>, row: usize, step: u64) {
        let Some(windows) = &mut self.windows else { return };
        let TakenRow { id, time, lost, counts, record, .. } = self.rows[row];
        let Some(time) = time.filter(|it| it.is_legal()) else { return };
        let grid = windows.grid();
        let of = grid.starts(time);
        self.rows[row].windows = of.count;
        if counts && lost < of.count {
            let first = grid.end(grid.start(of, lost));
            self.rows[row].first_end = first;
            self.rows[row].last_end = grid.end(of.last);
            let key = if windows.groups().is_some() { self.scope.key(seen, id) } else { 0 };
            windows.count(of, lost, step, key);
        }
        let late = record.map(|it| seen.output.records[it as usize].fate);
        let Some(Fate::Late(late)) = late else { return };
        for n in 0..lost.min(of.count) {
            let start = windows.grid().start(of, n);
            let end = windows.grid().end(start);
            // Where the watermark takes effect per row, a window may have closed in this very step.
            let closed = self.scope.per_item && end <= late.in_force.watermark;
            if self.frontier < end && !closed {
                windows.lose(start);
            }
        }
    }

    fn firing(&mut self, firing: &Firing, position: usize) -> FiringFacts {
        let mut facts = FiringFacts {
            step: position,
            rows: self.scope.count.map(|it| rows_in(firing, it)),
            last_idle: self.last_idle,
            ..FiringFacts::default()
        };
        let Some(windows) = &mut self.windows else { return facts };
        facts.off_grid = !windows.grid().holds(firing.window);
        if facts.off_grid {
            return facts;
        }
        if let Some(open) = windows.get(firing.window.start.0) {
            facts.counted = open.counted;
            facts.dropped = open.dropped;
            facts.opened = (0 < open.counted).then_some(open.opened);
            facts.again = open.written == Some(firing.step);
            open.written = Some(firing.step);
        }
        facts
    }

    fn finish_step(&mut self, position: usize, step: u64, kind: StepKind, evict: EventTime) {
        let facts = &mut self.steps[position];
        if facts.idle {
            self.last_idle = Some(step);
        }
        let Some(windows) = &mut self.windows else { return };
        self.touches.clear();
        windows.take_touched(&mut self.touches);
        self.touched.extend(self.touches.iter().map(|it| (position, it.0, it.1)));
        let Some(evict) = self.scope.evicts(kind, evict) else { return };
        while let Some(closed) = windows.close(evict) {
            let Closed { written, .. } = closed;
            facts.closed += 1;
            if facts.unwritten.is_none() && written != Some(step) {
                facts.unwritten = Some(closed);
            }
        }
        self.frontier = self.frontier.max(evict);
    }

    fn stop(&mut self, item: &Item) {
        self.stopped |= match self.scope.trigger {
            Trigger::Row | Trigger::Batch | Trigger::Interval(_) => matches!(item, Item::End),
            Trigger::Once | Trigger::AvailableNow(_) => matches!(item, Item::End | Item::Batch),
        };
    }
}

/// Rows in a firing, by its count.
fn rows_in(firing: &Firing, count: usize) -> u64 {
    let groups = &firing.groups;
    let values = (0..groups.len()).map(|group| groups.value(group, count));
    let counts = values.map(|it| match it {
        Value::Int(rows) => rows as u64,
        Value::Null | Value::Wide(_) | Value::Avg { .. } => 0,
    });
    counts.fold(0, u64::wrapping_add)
}
