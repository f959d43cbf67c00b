//! The seam: what a system under test must offer. Ours first, anybody's next.
//!
//! The harness hands over arrivals, ticks and changes; the system answers with an
//! [`Output`] and shows itself read-only. A planted bug is a system that wraps or replaces
//! the engine here; the engine itself knows of none.

pub mod engine;

use plimsoll_engine::flow::source::Sources;
use plimsoll_engine::output::{Ignored, IgnoredWhy, Output};
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::row::{ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::{Change, Member};

/// A stream engine as the harness sees it. Meaning of every call: [`crate::trace`].
pub trait System {
    /// Rows arrive, each at its own instant.
    fn arrive(&mut self, rows: &RowBatch, out: &mut Output);
    /// A heartbeat arrives.
    fn heartbeat(
        &mut self,
        id: ItemId,
        partition: PartitionId,
        time: EventTime,
        at: ProcTime,
        out: &mut Output,
    );
    /// The clock has moved to `now`.
    fn tick(&mut self, id: ItemId, now: ProcTime, out: &mut Output);
    /// Partitions change.
    fn change(&mut self, id: ItemId, change: Change, at: ProcTime, out: &mut Output);
    /// A limit of alignment is announced, or a task is (no longer) kept from writing. A system
    /// without levels of combination ignores it.
    fn steer(&mut self, id: ItemId, _steer: Steer, out: &mut Output) {
        out.ignored.push(Ignored { id, why: IgnoredWhy::NoLevels });
    }
    /// A batch ends.
    fn batch(&mut self, id: ItemId, out: &mut Output);
    /// The input ends.
    fn end(&mut self, id: ItemId, out: &mut Output);
    /// Everything that a restart needs.
    fn snapshot(&self) -> Vec<u8>;
    /// Becomes what the snapshot says; `None` is a start from nothing.
    ///
    /// # Errors
    /// The sentence of a snapshot that cannot be read.
    fn restore(&mut self, snapshot: Option<&[u8]>) -> Result<(), String>;
    /// Stops between two steps and starts from what it saved there. `rules` say what this engine is
    /// known to forget; who cannot be told what to forget just restarts. What waited for a step is
    /// handed over again.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    fn restart(&mut self, _rules: RestoreRules) -> Result<(), String> {
        let saved = self.snapshot();
        self.restore(Some(&saved))
    }
    /// A read-only look. `deep` asks also for what costs a walk over the state.
    fn view(&self, deep: bool) -> View<'_>;
}

/// Makes a fresh system for one and the same plan; the argument is the seed of its hashers.
pub type Make<'a> = dyn Fn(u64) -> Box<dyn System> + 'a;

/// What invariants may see of a system besides its output.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The clock.
    pub now: ProcTime,
    /// Steps done.
    pub steps: u64,
    /// Partitions, in order of their numbers.
    pub members: &'a [Member],
    /// The candidate c after the last step.
    pub candidate: EventTime,
    /// Its running maximum c*.
    pub candidate_max: EventTime,
    /// The watermark after the last step.
    pub watermark: EventTime,
    /// Rows and heartbeats that wait for a step.
    pub arrivals_queued: u64,
    /// (window, key) groups held; `None` where the system does not say at this moment.
    pub groups: Option<u64>,
    /// End of the earliest window that has state.
    pub oldest_end: Option<EventTime>,
    /// Whether the query has ended or stopped.
    pub stopped: bool,
    /// Partitions that are not read because they are too far ahead of others, or their task is kept
    /// from writing.
    pub paused: u64,
    /// The watermarks of the inputs of a flow, where the system shows them.
    pub sources: Option<&'a Sources>,
}
