//! The static list of rare states.
//!
//! Invariant: at most 128, each with a name of its own; the order is the order of reports.

use super::Site;

const fn site(name: &'static str, what: &'static str) -> Site {
    Site { name, what }
}

/// All sites.
pub const SITES: &[Site] = &[
    // Silence.
    site("all partitions idle", "nobody is left in the minimum"),
    site("rejoin behind the candidate", "an idle partition returns with less than the others have"),
    site("rejoin lowers the candidate", "one that returns is counted at once and holds time back"),
    site("unaligned partition catches up", "one that returned is left out until it is as far"),
    site("window closed while a partition is idle", "its rows may still come"),
    site("idle partition on a figure", "the figure says that somebody was left out"),
    site("finish while idle", "somebody finishes while another, or itself, is silent"),
    // Partitions that change.
    site("rebalance while idle", "a partition is added, moved or taken away while one is idle"),
    site("rebalance with rows queued", "the same while rows wait for a step"),
    site("partition re-added after removal", "what it had shown must be forgotten"),
    site("move without watermark", "the new owner knows nothing of it"),
    site("move at group", "the new owner takes it to be as far as the others"),
    site("row after finish", "a row of a partition that had said its last word"),
    // The watermark.
    site("candidate falls", "the watermark must stand"),
    site("heartbeat moves the watermark", "no row, and yet time goes on"),
    site("wall clock moves the watermark", "no data justifies it"),
    site("guarded row", "a row from the future, rejected"),
    site("counted without advancing", "a row from the future, counted"),
    site("heartbeat from the future", "ignored under a guard"),
    site("watermark before any row", "a partition that shows nothing holds everybody back"),
    // Late rows.
    site("row exactly at the watermark", "on time under E, late under E2"),
    site("late by one millisecond", "the smallest lateness there is"),
    site("partly late row", "lost for its earlier windows, counted into the others"),
    site("late row in the first step", "nothing was in force before"),
    site("straggler", "behind its own partition too"),
    site("lagging partition makes a row late", "its own partition would have waited"),
    site("late by wall clock", "no delay would have saved it"),
    site("late after the end of input", "all had finished, and somebody came"),
    site("late row to the side output", "its payload is kept"),
    site("figure with dropped rows", "a figure that knows that it is too small"),
    site("step of late rows only", "must leave nothing behind"),
    // Windows.
    site("row exactly at a window end", "belongs to the window that starts there"),
    site("row in the last millisecond of a window", "belongs to the window that ends after it"),
    site("row in a hole", "between windows that do not touch"),
    site("negative window", "before the zero of time"),
    site("two windows closed in one step", "in the order of their ends"),
    site("window closed by an empty batch", "no row is needed to close"),
    site("window closed by end of input", "only the end could close it"),
    site("row into a window that closes in its step", "admitted, counted and written at once"),
    site("figure known to be complete", "nothing dropped, nobody left out, input ended"),
    // Values.
    site("sum left i64", "the sum needs 128 bits"),
    site("null key", "null is a key like others"),
    site("no event time", "counted apart, in no window"),
    site("time out of range", "rejected, whatever the rule"),
    site("time near the edge of the legal range", "arithmetic must not wrap"),
    // Steps.
    site("empty batch", "a trigger without rows"),
    site("tick over several intervals", "one step, not several"),
    site("several steps from one item", "a bounded batch, or the end with a queue"),
    site("row after the stop", "not applicable"),
    site("item ignored", "it made no sense where it stood"),
    // Restarts.
    site("crash with rows queued", "what waited must come again"),
    site("crash while idle", "silence must not be forgotten"),
    site("crash before any checkpoint", "back to the start"),
    site("stale crash", "the last checkpoint cannot be read"),
    site("two crashes in a row", "the second finds the state of the first"),
    site("crash between closing and the next row", "what was written must not be written again"),
    site("restart that forgets", "maxima, watermark, idleness or state, as engines do"),
    site("restart that forgets while windows are open", "their rows are judged anew"),
    site("restart with rows queued", "they are read again, after what is forgotten has been"),
    // Flows: sessions.
    site("session merged two sessions", "a row between two silences"),
    site("touching sessions", "one ends where the next begins, and both are written in one step"),
    site("session closed by span", "it had become too long"),
    site("session split", "a row overlaps a session that was published"),
    site("session updated", "a changed session, in update mode"),
    site("row without a gap", "it says no gap, or one that is none"),
    // Flows: dedup.
    site("duplicate", "seen before"),
    site("duplicate after expiry", "seen before, and forgotten"),
    // Flows: joins.
    site("pair found from the left", "the right row was stored"),
    site("pair found from the right", "the left row was stored"),
    site("unmatched row written", "nobody can come any more"),
    site("unmatched in a follow-up step", "in a step without data that follows another"),
    site("null row refuted", "the partner came, too late"),
    site("right row already evictable", "it may find partners and is not stored"),
    site("semi match on arrival", "a left row that has its answer at once"),
    site("anti row written", "a left row without a partner is the answer"),
    site("as-of without a partner", "no right row is old enough, or young enough"),
    site("null time in a join", "stored, and never matched"),
    site("crash while rows wait for partners", "they must wait on, matched or not"),
    // Flows: panes, counts, groups.
    site("early pane", "before the window ends"),
    site("late pane", "after it has ended"),
    site("retraction", "an earlier pane is taken back"),
    site("count window completed", "by its last row, not by the end"),
    site("group left by its own time", "one of its keys is the event time"),
    site("complete flow", "all groups of the last stage, every time"),
    // Flows: inputs and chains.
    site("filtered row", "nothing behind the filter sees it"),
    site("input that never spoke", "it holds the others back, or is not noticed"),
    site("max policy lost rows", "rows of the slower input, judged by the faster"),
    site("late row of an input without a watermark", "judged by the others"),
    site("two stages wrote in one step", "what one wrote another took at once"),
    site("chain of three", "a row has gone through three stages that keep something"),
    site("row late at a later stage", "judged by what its own stage was evicted with"),
    site("follow-up step", "a step without data, asked for by a stage"),
    // Flows: levels.
    site("paused partition", "too far ahead of others"),
    site("rows read after a pause", "judged when they are read"),
    site("late row under levels", "behind what partitions, tasks and inputs have come to"),
];
