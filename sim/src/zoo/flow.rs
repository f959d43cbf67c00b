//! Plants in flows: joins, sessions, dedup, panes, several inputs and stages.
//!
//! Those at the seam change what came out, never what the engine keeps.
//!
//! Invariant: on a plain plan every one of them does nothing.

use crate::system::engine::Engine;
use crate::zoo::fault::Fault;
use crate::zoo::{Build, Plant};
use plimsoll_engine::output::{EmissionKind, EmissionNote, Fate, Output};
use plimsoll_engine::plan::Plan;
use plimsoll_engine::plan::flow::{
    Chain, DedupExpiry, Flow, FollowUp, JoinKind, JoinPlan, NullTime, Policy, SessionLate,
    SessionPlan, Sides, StagePlan, Touching,
};
use plimsoll_engine::plan::levels::PausedIdle;
use plimsoll_engine::row::RowBatch;
use plimsoll_engine::time::{EventTime, Span};

/// Wrong flows.
pub const PLANTS: &[Plant] = &[
    rule(
        "join-leaves-at-bound",
        &["FLINK-33524"],
        "a stored row leaves when the watermark has reached its bound, not when it has passed it",
        &["I16", "I17", "I23", "I42", "I41"],
        |it| on_join(it, |it| it.expiry.at_bound = !it.expiry.at_bound),
    ),
    rule(
        "join-wrong-side",
        &["FELDERA-387302835", "SPARK-58904"],
        "rows are judged and removed by the watermark of the wrong side",
        &["I16", "I17", "I23", "I42", "I41"],
        |it| {
            on_join(it, |it| {
                it.sides = match it.sides {
                    Sides::Own => Sides::Combined,
                    Sides::Combined => Sides::Own,
                };
            });
        },
    ),
    rule(
        "join-bounds-swapped",
        &["KAFKA-13721", "KAFKA-15417"],
        "how far back and how far ahead a join looks are swapped",
        &["I15", "I16", "I41"],
        |it| {
            on_join(it, |it| {
                for range in &mut it.ranges {
                    let (lower, upper) = (range.lower, range.upper);
                    let other = |it: plimsoll_engine::plan::flow::Edge| {
                        let at = Span(it.at.0.saturating_neg());
                        plimsoll_engine::plan::flow::Edge { at, ..it }
                    };
                    (range.lower, range.upper) = (upper.map(other), lower.map(other));
                }
            });
        },
    ),
    rule(
        "join-grace-twice",
        &["KAFKA-8289"],
        "a row may be a millisecond further behind than it should",
        &["I42"],
        |it| on_join(it, |it| it.grace = it.grace + Span(1)),
    ),
    rule(
        "session-touch",
        &["KAFKA-8289"],
        "sessions that touch are one where they are two, and the other way round",
        &["I41", "I42"],
        |it| {
            on_session(it, |it| {
                it.touching = match it.touching {
                    Touching::Apart => Touching::Merge,
                    Touching::Merge => Touching::Apart,
                };
            });
        },
    ),
    rule(
        "session-late-proto",
        &[],
        "a session's rows are judged by where their own stretch ends instead of by their time",
        &["I11", "I42"],
        |it| {
            on_session(it, |it| {
                it.late = match it.late {
                    SessionLate::Event => SessionLate::Proto,
                    SessionLate::Proto | SessionLate::Merged => SessionLate::Event,
                };
            });
        },
    ),
    rule(
        "lateness-ignored",
        &["LAMINAR-184a"],
        "allowed lateness is not allowed",
        &["I42", "I41", "I22", "I23"],
        |it| {
            on_stages(it, |it| match it {
                StagePlan::Window(it) => it.lateness = Span::ZERO,
                StagePlan::Session(it) => it.lateness = Span::ZERO,
                _ => {}
            });
        },
    ),
    rule(
        "dedup-never-forgets",
        &["FLINK-16581", "SPARK-19932"],
        "what was seen once is remembered for ever",
        &["I23", "I42"],
        |it| {
            on_stages(it, |it| {
                if let StagePlan::Dedup(it) = it {
                    it.expiry = DedupExpiry::Never;
                }
            });
        },
    ),
    rule(
        "dedup-forgets-early",
        &[],
        "what was seen once is forgotten a millisecond too early",
        &["I42", "I41", "I23"],
        |it| {
            on_stages(it, |it| {
                if let StagePlan::Dedup(it) = it
                    && let DedupExpiry::After(delay) = it.expiry
                {
                    it.expiry = DedupExpiry::After(Span((delay.0 - 1).max(0)));
                }
            });
        },
    ),
    rule(
        "policy-other",
        &["SPARK-58904"],
        "the largest watermark of the inputs where the smallest is due, and the other way round",
        &["I7", "I43"],
        |it| {
            it.policy = match it.policy {
                Policy::Min => Policy::Max,
                Policy::Max => Policy::Min,
            };
        },
    ),
    rule(
        "input-unwatched",
        &["SPARK-23702"],
        "of several watermarks only that of the first input counts",
        &["I7", "I43"],
        |it| it.inputs.iter_mut().skip(1).for_each(|it| it.marks.clear()),
    ),
    rule(
        "chain-same",
        &["SPARK-40925", "SPARK-28074"],
        "what one stage writes is judged by the next with the value that made it write",
        &["I24", "I42"],
        |it| it.chain = Chain::Same,
    ),
    rule(
        "no-follow-up",
        &["SPARK-24157"],
        "no step follows a batch that moved the watermark",
        &["I43", "I41", "I42"],
        |it| it.follow_up = FollowUp::Never,
    ),
    rule(
        "null-time",
        &["FELDERA-NULL-late"],
        "a null event time counts as 1970 where it counts for nothing, and the other way round",
        &["I43", "I42", "I23"],
        |it| {
            it.null_time = match it.null_time {
                NullTime::Nowhere => NullTime::Epoch,
                NullTime::Epoch => NullTime::Nowhere,
            };
        },
    ),
    rule(
        "no-hindsight",
        &[],
        "nobody says that a published row has been contradicted",
        &["I35", "I42"],
        |it| it.hindsight = Span::ZERO,
    ),
    rule(
        "paused-idle-stays",
        &["FLINK-40093"],
        "a partition that falls idle while it waits for others is never read again",
        &["L6"],
        |it| {
            if let Some(levels) = &mut it.levels {
                levels.rules.paused_idle = PausedIdle::Stays;
            }
        },
    ),
    rule("count-one-more", &[], "a window of n rows takes n + 1", &["I41"], |it| {
        on_stages(it, |it| {
            if let StagePlan::Count(it) = it {
                it.rows += 1;
            }
        });
    }),
    seam(
        "pair-lost",
        &["SPARK-38684"],
        "every third pair is not written",
        &["I16", "I41"],
        |_, out, n| {
            keep(out, |out, row| out.emissions.notes[row].kind != EmissionKind::Row || third(n));
        },
    ),
    seam(
        "pair-twice",
        &["SPARK-38684"],
        "every third pair is written twice",
        &["I15", "I41"],
        |_, out, n| {
            let twice = |out: &Output, row: usize| {
                out.emissions.notes[row].kind == EmissionKind::Row && !third(n)
            };
            repeat(out, twice);
        },
    ),
    seam(
        "null-row-lost",
        &["KAFKA-14862", "KAFKA-15417"],
        "rows without a partner are not written",
        &["I17", "I41"],
        |_, out, _| keep(out, |out, row| out.emissions.notes[row].kind != EmissionKind::Unmatched),
    ),
    seam(
        "null-row-twice",
        &["SPARK-38684"],
        "rows without a partner are written twice",
        &["I17", "I41"],
        |_, out, _| {
            repeat(out, |out, row| out.emissions.notes[row].kind == EmissionKind::Unmatched);
        },
    ),
    seam(
        "null-row-early",
        &["KAFKA-10847"],
        "a row that finds a partner has been written without one before",
        &["I18", "I17", "I41"],
        |engine, out, _| null_rows_first(engine, out),
    ),
    seam(
        "session-in-parts",
        &["LAMINAR-79"],
        "the first half of every third session is written as a session of its own before it",
        &["I11", "I41"],
        halves_first,
    ),
    seam(
        "handover-lost",
        &[],
        "a stage says that it was handed one row less than the stage before has written",
        &["I24"],
        |_, out, _| {
            let behind = out.stages.iter_mut().filter(|it| 0 < it.stage);
            behind.for_each(|it| it.rows_in = it.rows_in.saturating_sub(1));
        },
    ),
    seam(
        "stage-ahead",
        &["FLINK-8158"],
        "a later stage removes by a watermark that is one millisecond ahead of the stage before",
        &["I24", "I43", "I42"],
        |_, out, _| {
            let behind = out.stages.iter_mut().filter(|it| 0 < it.stage);
            behind.for_each(|it| it.evict[0] = it.evict[0] + Span(1));
        },
    ),
    seam(
        "retraction-lost",
        &["MZ-30977"],
        "a pane is replaced and not taken back",
        &["I21", "I41"],
        |_, out, _| keep(out, |out, row| out.emissions.notes[row].kind != EmissionKind::Retraction),
    ),
    seam(
        "pane-first",
        &[],
        "every pane says that it is the first",
        &["I22", "I41"],
        |_, out, _| {
            out.emissions.notes.iter_mut().for_each(|it| it.pane = 0);
        },
    ),
    seam(
        "duplicate-silent",
        &["SPARK-38549"],
        "a duplicate leaves no record",
        &["I42"],
        |_, out, _| out.records.retain(|it| !matches!(it.fate, Fate::Duplicate { .. })),
    ),
    seam(
        "group-lost",
        &["FLINK-4589"],
        "every third group is not written when it leaves",
        &["I41", "I22", "I21"],
        |_, out, n| {
            keep(out, |out, row| out.emissions.notes[row].kind != EmissionKind::OnTime || third(n));
        },
    ),
];

const fn rule(
    name: &'static str,
    modelled_on: &'static [&'static str],
    what: &'static str,
    killed_by: &'static [&'static str],
    change: fn(&mut Flow),
) -> Plant {
    Plant { name, modelled_on, what, killed_by, build: Build::Flow(change) }
}

const fn seam(
    name: &'static str,
    modelled_on: &'static [&'static str],
    what: &'static str,
    killed_by: &'static [&'static str],
    change: fn(&Engine, &mut Output, &mut u64),
) -> Plant {
    Plant { name, modelled_on, what, killed_by, build: Build::Emissions(change) }
}

fn on_stages(flow: &mut Flow, change: impl FnMut(&mut StagePlan)) {
    flow.stages.iter_mut().for_each(change);
}

fn on_join(flow: &mut Flow, mut change: impl FnMut(&mut JoinPlan)) {
    on_stages(flow, |it| {
        if let StagePlan::Join(it) = it {
            change(it);
        }
    });
}

fn on_session(flow: &mut Flow, mut change: impl FnMut(&mut SessionPlan)) {
    on_stages(flow, |it| {
        if let StagePlan::Session(it) = it {
            change(it);
        }
    });
}

/// Counts on; false for every third.
fn third(n: &mut u64) -> bool {
    *n += 1;
    !n.is_multiple_of(3)
}

/// Writes only the rows that are kept.
fn keep(out: &mut Output, mut keeps: impl FnMut(&Output, usize) -> bool) {
    copies(out, |out, row| usize::from(keeps(out, row)));
}

/// Writes some rows twice.
fn repeat(out: &mut Output, mut twice: impl FnMut(&Output, usize) -> bool) {
    copies(out, |out, row| 1 + usize::from(twice(out, row)));
}

fn copies(out: &mut Output, mut times: impl FnMut(&Output, usize) -> usize) {
    let mut rows = RowBatch::new(out.emissions.rows.columns.len());
    let mut notes = Vec::new();
    for row in 0..out.emissions.notes.len() {
        for _ in 0..times(out, row) {
            rows.extend_from(&out.emissions.rows, row..row + 1);
            notes.push(out.emissions.notes[row]);
        }
    }
    (out.emissions.rows, out.emissions.notes) = (rows, notes);
}

/// Each pair of an outer join that is the whole flow comes after null rows of its halves, where
/// rows of that side get any.
fn null_rows_first(engine: &Engine, out: &mut Output) {
    let Some([StagePlan::Join(join)]) = engine.job().plan().flow.as_ref().map(|it| &it.stages[..])
    else {
        return;
    };
    let owed = match join.kind {
        JoinKind::Left => [true, false],
        JoinKind::Right => [false, true],
        JoinKind::Full => [true, true],
        JoinKind::Inner | JoinKind::Semi | JoinKind::Anti => return,
    };
    let columns = out.emissions.rows.columns.len();
    let written = std::mem::replace(&mut out.emissions.rows, RowBatch::new(columns));
    let notes = std::mem::take(&mut out.emissions.notes);
    for (row, note) in notes.into_iter().enumerate() {
        for side in (0..2).filter(|it| owed[*it] && note.kind == EmissionKind::Row) {
            let own = (columns / 2 * side)..(columns / 2 * (side + 1));
            let cell = |at: usize| written.columns[at].get(row).filter(|_| own.contains(&at));
            let cells: Vec<_> = (0..columns).map(cell).collect();
            let (id, partition) = (written.ids[row], written.partitions[row]);
            out.emissions.rows.push(id, partition, written.arrivals[row], &cells);
            out.emissions.notes.push(EmissionNote { kind: EmissionKind::Unmatched, ..note });
        }
        out.emissions.rows.extend_from(&written, row..row + 1);
        out.emissions.notes.push(note);
    }
}

/// Sessions whose rows were not all merged.
fn halves_first(engine: &Engine, out: &mut Output, n: &mut u64) {
    let flow = engine.job().plan().flow.as_ref();
    let Some(StagePlan::Session(_)) = flow.and_then(|it| it.stages.last()) else { return };
    let mut halves = Vec::new();
    repeat(out, |out, row| {
        let cell = |column: usize| out.emissions.rows.columns[column].get(row);
        let length = cell(0).zip(cell(1)).map_or(0, |(start, end)| end.saturating_sub(start));
        let on_time = out.emissions.notes[row].kind == EmissionKind::OnTime;
        let twice = on_time && 1 < length && !third(n);
        halves.extend(twice.then_some(row + halves.len()));
        twice
    });
    for row in halves {
        let columns = &mut out.emissions.rows.columns;
        let start = columns[0].values[row];
        let end = start + (columns[1].values[row] - start) / 2;
        (columns[1].values[row], columns[2].values[row]) = (end, end - 1);
        out.emissions.notes[row].time = EventTime(end - 1);
    }
}

/// What comes out of a flow, changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Emitted {
    change: fn(&Engine, &mut Output, &mut u64),
    count: u64,
}

impl Emitted {
    pub(super) const fn new(change: fn(&Engine, &mut Output, &mut u64)) -> Self {
        Self { change, count: 0 }
    }
}

impl Fault for Emitted {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn after(&mut self, engine: &Engine, out: &mut Output) {
        (self.change)(engine, out, &mut self.count);
    }
}

/// The plan with a changed flow.
pub(super) fn changed(plan: &mut Plan, change: fn(&mut Flow)) {
    if let Some(flow) = &mut plan.flow {
        change(flow);
    }
}
