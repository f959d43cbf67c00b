//! The trace: the concrete arrivals, ticks and faults of one run, as plain data.
//!
//! A recording from production, a fuzz input, a shrunk failure and a hand-written story are all just
//! a trace. Every subsequence of a trace is a valid trace: an item that makes no sense where it
//! stands is ignored, counted and named. Nothing draws while a trace runs.
//!
//! # What the items mean
//!
//! This is the law for plain plans, and for flows where
//! [their own](plimsoll_engine::plan::flow) says nothing else. In a flow a partition belongs to an
//! input and is read by a task ([`partition`]).
//!
//! *Clock.* It starts at `plan.clock` (processing time; 0 unless said) and moves at ticks only.
//!
//! *Arrival.* Rows and heartbeats arrive at the current instant. Arrival is activity: the silence of
//! an existing, unfinished partition ends at once, an idle one becomes active at once. Everything
//! else waits in a queue, in order, until a step takes it: judging and counting rows, moving a
//! partition's maximum, `add`, `remove`, `move`, `finish`. A partition is added when a row or a
//! heartbeat that is taken from the queue first names it (its last activity is that item's arrival,
//! or for `add` the instant at which the item stood).
//!
//! *When a step begins* (`trigger`).
//! - `row`: every queued item is a step at once; a row is a `Data` step of one row, any other item a
//!   `Probe` step. A tick is a `Probe` step too.
//! - `batch`: a `batch` item takes the whole queue in one step: `Data` where it holds a row, `Empty`
//!   where it holds none.
//! - `interval(P)`: at a tick, when the number of whole P since the start of the clock has grown since
//!   the last tick, one step (never several) takes the whole queue: `Data` or `Empty`. Other ticks
//!   and `batch` items begin none (`batch` is then ignored and counted).
//! - `once`: the first `batch` or `end` item takes the whole queue in one step; then the query has
//!   stopped, nothing fires at the stop, later rows are not applicable, later other items ignored.
//! - `available_now(N)`: the same, in as many steps as needed, each ending after its N-th row (the
//!   items behind the last row belong to the last step); at least one step.
//! - `end` (under `row`, `batch`, `interval`): one step takes what is queued (none if nothing is),
//!   then every partition that is not finished is finished, then one `End` step closes everything.
//!   After it the query has stopped.
//! - A tick first moves the clock, then judges idleness, then asks the trigger.
//! - `probe` is a tick of no length.
//!
//! *Inside a step*, with L the plan's `effective`:
//! - `row`: queued items one after the other. A row is judged by the w in force, applied, then seen by
//!   the generator; then c and w are computed anew and windows with end <= w close, before the next
//!   item. (late = w before the row, evict = w after it.) A step without items (a tick) just computes
//!   c and w anew and closes.
//! - `next_batch`: all rows are judged by the w computed at the end of the step before and windows
//!   with end <= that same w close after the rows; then c and w are computed anew, once, from all
//!   items of the step. `batch_after_next`: lateness is judged by the w before that one.
//! - The numbers of steps count `Data`, `Empty`, `Probe` and `End` steps alike, and so does the lag.
//! - An `End` step judges nothing, has evict = +inf whatever L is, and leaves c = w = +inf.
//! - Idleness (semantics 14) changes members at ticks; c is computed at the ends of steps only.
//!
//! *Which fate a row has*, first match: query stopped (`NotApplicable`), partition finished
//! (`AfterFinish`, not activity), time null (`NoTime`), time out of range (`TimeOutOfRange`), from
//! the future (`guard=reject`: `Guarded`), in no window (`NoWindow`), late, counted. Rows of the kinds
//! null, out of range and guarded (reject or count) do not move any maximum; all others do, late ones
//! included. From the future: time > the row's arrival instant + `ahead`. A heartbeat out of range or
//! from the future (under `reject` and `count`) is ignored and counted; its partition is added all
//! the same and its arrival was activity.
//!
//! *Generator.* semantics 2, with these readings. G1: c is the maximum over all rows that count for it,
//! whatever happens to partitions afterwards; c = +inf once at least one partition exists and all are
//! finished. G2, first match: no partition at all: c holds; some partition is active and aligned: the
//! minimum of their m; all finished: +inf; some idle: flush = the largest finite m of idle and
//! finished ones (holds where none is finite), hold = c holds; else c holds. "c holds" = the value
//! of the step before. c* is the running maximum of c. w = max(w, c - d, and with a fallback whose
//! condition is met now - f); w starts at `initial`. A finished partition never becomes idle or
//! active again. The fallback's condition: `always`, or at least one partition exists and every
//! partition that is not finished is idle and at least one is idle.
//! Rejoin `catch_up`: a partition that becomes active again while m_p < c (the value of the last
//! step) is unaligned until, at the end of a step, m_p >= the c computed without it, or >= the last c
//! where nobody else counts; `hold`: it counts at once.
//! `add p` / `move p`: `with_watermark` (move only): nothing changes. `without_watermark`: m_p = -inf,
//! active, last activity = arrival of the item, unaligned if rejoin=catch_up and c > -inf. `at_group`:
//! the same, but m_p = c* where that is finite. `remove p`: the partition is gone; named again, it is new.
//! `finish p`: its last m_p stays for the flush. On a partition that is not there (`remove`, `finish`,
//! `move`), is there already (`add`), or is finished (`finish`, `move`, heartbeat): ignored, counted.
//!
//! *Levels.* What is combined and when: [their own law](plimsoll_engine::plan::levels). `probe` is an
//! emission. `limit T` announces T as the limit of alignment (`limit none`: no limit), `pressure t1`
//! stops the clock by which the silence of a task and its partitions is counted, until `pressure t1 off`;
//! where there are no levels, both are ignored and counted. Every item but a tick is one step. Of a tick
//! each instant at which an emission or a sample falls due is a step (the emission comes first), and so
//! is its end; those of a kind that has found nothing new since anything changed are left out, except
//! the first emission at which somebody has been silent for too long. New is: a line, a combination, who
//! is idle or waits, a sample; where silence is counted also that somebody was heard, or that an emission
//! is the first that found nothing new of him.
//! A row of a paused partition or of a blocked task waits in its source: it names its partition, and has
//! no fate before the step that reads it. That is the one that resumes its partition, or the `End` step,
//! in which nobody is judged. What a step resumes is read behind its emission or sample, item by item,
//! each judged by the W in force then, and what leaves by that W leaves behind the last. A step of a row
//! that waits has the bounds of a probe. A heartbeat waits like a row, unless it is ignored; `finish`
//! waits where something of its partition does, and from then on the partition is finished for all that
//! comes; `add`, `move` and `remove` do not wait, `remove` takes back a `finish` that waits, and rows
//! that wait then do so until their partition is there again.
//!
//! *Output.* Append: (window, key) once, when closed. Update: at the end of each step of any kind the
//! groups changed in it, also those evicted in that very step; eviction writes nothing else.
//! Complete: all groups at each `Data`, `Empty` and `End` step; no row is late, nothing is evicted, also
//! not at the end. In any mode an item that came after `Data` was counted is written at most once
//! per step and (window, key).
//!
//! *Faults.* `checkpoint` takes a snapshot between steps; what is queued is not in it. `crash` goes back
//! to the last checkpoint (`crash stale`: to the one before; to the start where there is none) and
//! reads on from its offsets with no downtime: the items since then happen again with their logged
//! instants and batch boundaries, so that nothing that comes out may differ. Both are invisible to the
//! oracle.
//!
//! *Restart.* `restart` stops the process between two steps and starts it from what it saved there, with
//! no downtime; what is queued is read again at its instants of arrival, after what is forgotten has
//! been, and is no activity after the restart. Alone it changes nothing. Once the query has stopped it
//! changes nothing whatever it loses, and is not counted as ignored. `restart lost=A+B` says what this
//! engine does not bring back ([`RestoreRules`]; a profile's name stands for its own: `restart like=flink`):
//! - `watermark`: every w is `initial` again; c and c* are -inf; what is in force for lateness and
//!   eviction, at every stage and side, is as before the first row. So no window is closed: one that was
//!   written is born again, with the rows that come now and without losses; what had left stays gone, and
//!   hindsight goes on from it. The number of steps goes on, and so do the periods of a trigger. With
//!   levels, every level starts anew: nobody has said anything, announced limits and pressure are
//!   gone, whoever had ended is back, and intervals count from here.
//! - `maxima`: every m_p is -inf, of whoever finished too, and so is what a global maximum has seen. In
//!   a flow the mark of each input then starts anew (its c, c* and own w), while W stays where it is. A
//!   side that has a line of its own is judged and removed from by what is in force until the next step
//!   has computed it anew; then the line may have fallen, and what removed last with it.
//! - `idleness`: whoever is not finished is active and aligned, and its silence begins now.
//! - `windows`: no stage keeps anything: open groups, waiting rows, remembered ids, published sessions.
//!   What was dropped for a window that is still open is the ledger's, and stands on the next figure.
//! - `ledger`: rows lost for windows that are still open are not counted in their figures' notes.
//!
//! c and w are computed anew at the next step, as after any change.

pub(crate) mod nearest;
pub mod parse;
pub mod partition;
pub mod plan_text;
pub(crate) mod restart;
pub mod time_text;
pub(crate) mod words;
pub mod write;

use plimsoll_engine::plan::Plan;
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::row::{Dictionary, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime, Span};

/// A whole run as data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The query and its rules.
    pub plan: Plan,
    /// Where the clock starts.
    pub clock: ProcTime,
    /// The texts behind the codes of text columns.
    pub dictionary: Dictionary,
    /// The items, in order. Item number n of reports is `items[n - 1]`.
    pub items: Vec<Item>,
    /// Cells of all rows; see [`RowItem`].
    pub cells: Vec<Option<i64>>,
}

/// One line of a trace that is not a comment and not a golden line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// A row arrives.
    Row(RowItem),
    /// A partition says that it has come as far as this; no row.
    Heartbeat {
        /// Who.
        partition: PartitionId,
        /// How far.
        time: EventTime,
    },
    /// The clock moves; never backwards.
    Tick(Span),
    /// A tick of no length.
    Probe,
    /// A batch ends.
    Batch,
    /// A partition appears.
    Add {
        /// Who.
        partition: PartitionId,
        /// With `WithoutWatermark` or `AtGroup`.
        adoption: plimsoll_engine::watermark::member::Adoption,
    },
    /// A partition is taken away.
    Remove(PartitionId),
    /// A partition moves to another owner.
    Move {
        /// Who.
        partition: PartitionId,
        /// What travels with it.
        adoption: plimsoll_engine::watermark::member::Adoption,
    },
    /// A partition will send nothing more.
    Finish(PartitionId),
    /// A limit of alignment is announced, or a task is (no longer) kept from writing.
    Steer(plimsoll_engine::watermark::levels::Steer),
    /// A snapshot is taken.
    Checkpoint,
    /// The process dies and comes back.
    Crash {
        /// The last snapshot cannot be read; the one before is used.
        stale: bool,
    },
    /// The process is stopped and started, and forgets what these rules say.
    Restart(RestoreRules),
    /// The input ends.
    End,
}

/// A row of a trace: small and `Copy`; its cells are in [`Trace::cells`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowItem {
    /// Where it comes from.
    pub partition: PartitionId,
    /// Position of its first cell; one cell per column of the schema follows.
    pub cells: u32,
}

impl Item {
    /// The partition that it is about.
    pub const fn partition(&self) -> Option<PartitionId> {
        match *self {
            Self::Row(row) => Some(row.partition),
            Self::Heartbeat { partition, .. }
            | Self::Add { partition, .. }
            | Self::Remove(partition)
            | Self::Move { partition, .. }
            | Self::Finish(partition) => Some(partition),
            Self::Tick(_)
            | Self::Probe
            | Self::Batch
            | Self::Steer(_)
            | Self::Checkpoint
            | Self::Crash { .. }
            | Self::Restart(_)
            | Self::End => None,
        }
    }

    /// Whether it is a restart that does not bring everything back.
    pub fn forgets(&self) -> bool {
        matches!(self, Self::Restart(rules) if *rules != RestoreRules::EXACT)
    }

    /// The same, to be given another number.
    pub const fn partition_mut(&mut self) -> Option<&mut PartitionId> {
        match self {
            Self::Row(row) => Some(&mut row.partition),
            Self::Heartbeat { partition, .. }
            | Self::Add { partition, .. }
            | Self::Remove(partition)
            | Self::Move { partition, .. }
            | Self::Finish(partition) => Some(partition),
            Self::Tick(_)
            | Self::Probe
            | Self::Batch
            | Self::Steer(_)
            | Self::Checkpoint
            | Self::Crash { .. }
            | Self::Restart(_)
            | Self::End => None,
        }
    }
}

impl Trace {
    /// The cells of a row, one per column of the schema.
    #[inline]
    pub fn cells(&self, row: RowItem) -> &[Option<i64>] {
        let from = row.cells as usize;
        &self.cells[from..from + self.plan.schema.columns.len()]
    }

    /// The event time of a row under the plan's watermark column, or its first time column.
    #[inline]
    pub fn time(&self, row: RowItem) -> Option<EventTime> {
        self.cells(row)[self.time_column()].map(EventTime)
    }

    /// Position of the event-time column.
    #[inline]
    pub fn time_column(&self) -> usize {
        use plimsoll_engine::row::ColumnKind;
        match &self.plan.watermark {
            Some(it) => it.column.0,
            None => {
                let mut columns = self.plan.schema.columns.iter();
                columns.position(|it| it.kind == ColumnKind::Time).unwrap_or(0)
            }
        }
    }

    /// Appends a row with these cells.
    pub fn push_row(&mut self, partition: PartitionId, cells: &[Option<i64>]) {
        assert_eq!(cells.len(), self.plan.schema.columns.len(), "one cell per column");
        let at = u32::try_from(self.cells.len()).expect("fewer than 2^32 cells");
        self.cells.extend_from_slice(cells);
        self.items.push(Item::Row(RowItem { partition, cells: at }));
    }
}
