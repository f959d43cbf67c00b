//! What became of a row and why: the rule that judged it and the numbers that it compared.
//!
//! The first stage that keeps state judges a row. Its times are found in the row's own cells through
//! the stateless stages before it, and are set beside the bound that judged: `10:09:55 < 10:10:00`.
//!
//! Invariant: what is said of a late row is true of the numbers that stand there, and the opposite is
//! true of those of a counted one.

use crate::trace::time_text::{SpanText, TimeText};
use plimsoll_engine::late::{LateRow, Saving};
use plimsoll_engine::output::{Fate, Output};
use plimsoll_engine::plan::flow::{Flow, Gap, GlobalPlan, SessionLate, SessionPlan, StagePlan};
use plimsoll_engine::plan::{LateRule, Plan, WindowSpec};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::assign::Assigner;
use serde::Serialize;
use std::fmt;

/// What became of a row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RowFate {
    /// In a word or two: `counted`, `late`, `partly late`, `waits`, and so on.
    pub fate: String,
    /// What was compared, such as `10:09:55 < 10:10:00`; may be empty.
    pub because: String,
    /// The watermark that judged it, where one was in force.
    pub watermark: Option<EventTime>,
    /// How many windows it was lost for and how many it was counted into, where it is late.
    pub windows: Option<(u32, u32)>,
}

impl RowFate {
    pub(super) fn simple(fate: &str, because: &str) -> Self {
        Self { fate: fate.to_owned(), because: because.to_owned(), watermark: None, windows: None }
    }

    /// No step has taken it.
    pub(super) fn waits() -> Self {
        Self::simple("waits", "no batch has taken it")
    }

    /// Whether two rows met the same fate, for whatever reason.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.fate, self.windows) == (&other.fate, other.windows)
    }
}

impl fmt::Display for RowFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fate)?;
        if self.because.is_empty() { Ok(()) } else { write!(f, ", {}", self.because) }
    }
}

/// The stage that judges rows, and how its columns are found in a row.
pub(super) struct Why {
    /// Position and plan of the first stage that keeps state.
    stage: Option<(usize, StagePlan)>,
    /// The input's column of each of its columns.
    columns: Vec<usize>,
    joins: bool,
}

impl Why {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut columns: Vec<usize> = (0..plan.schema.columns.len()).collect();
        let stages = plan.flow.iter().flat_map(|it| &it.stages);
        let mut stage = None;
        for (at, it) in stages.enumerate() {
            match it {
                StagePlan::Project(kept) => {
                    columns = kept.iter().filter_map(|it| columns.get(it.0).copied()).collect();
                }
                it if it.is_stateless() => {}
                it => {
                    stage = Some((at, it.clone()));
                    break;
                }
            }
        }
        Self { stage, columns, joins: plan.flow.as_ref().is_some_and(Flow::joins) }
    }

    /// What judged the rows of each side in a step.
    pub(super) fn bounds(&self, output: &Output, step: u64) -> Option<[EventTime; 2]> {
        let (at, _) = self.stage.as_ref()?;
        let mut stages = output.stages.iter();
        stages.find(|it| (it.step, it.stage) == (step, *at)).map(|it| it.late)
    }

    /// What became of a row.
    pub(super) fn fate(
        &self,
        partition: PartitionId,
        cells: &[Option<i64>],
        fate: Option<Fate>,
        bounds: [EventTime; 2],
        origin: &dyn Fn(ItemId) -> u64,
    ) -> RowFate {
        let side = if self.joins { partition.input().min(1) } else { 0 };
        let row = Row { why: self, cells, side, w: bounds[side] };
        match fate {
            None => row.counted(""),
            Some(Fate::CountedNotAdvancing) => row.counted("the watermark stays"),
            Some(Fate::Late(it)) => Row { w: it.in_force.watermark, ..row }.late(&it),
            Some(Fate::Guarded) => RowFate::simple("guarded", "its time is from the future"),
            Some(Fate::NoTime) => RowFate::simple("no time", "its event time is null"),
            Some(Fate::TimeOutOfRange) => RowFate::simple("out of range", ""),
            Some(Fate::NoWindow) => RowFate::simple("no window", "it lies in a hole"),
            Some(Fate::AfterFinish) => RowFate::simple("ignored", "its partition had finished"),
            Some(Fate::NotApplicable) => RowFate::simple("not applicable", "no such input"),
            Some(Fate::Filtered) => RowFate::simple("filtered", ""),
            Some(Fate::Duplicate { of }) => {
                RowFate::simple("duplicate", &format!("of item {}", origin(of)))
            }
            Some(Fate::NoGap) => RowFate::simple("no gap", "its session gap is not positive"),
        }
    }
}

/// A row and the watermark that judged it.
#[derive(Clone, Copy)]
struct Row<'a> {
    why: &'a Why,
    cells: &'a [Option<i64>],
    side: usize,
    w: EventTime,
}

/// `09:55 + 1min`, without what is zero.
fn plus(what: impl fmt::Display, span: Span) -> String {
    if span == Span::ZERO { what.to_string() } else { format!("{what} + {}", SpanText(span)) }
}

impl Row<'_> {
    fn cell(&self, column: usize) -> Option<i64> {
        self.cells.get(*self.why.columns.get(column)?).copied().flatten()
    }

    fn time(&self) -> Option<EventTime> {
        let (_, stage) = self.why.stage.as_ref()?;
        self.cell(stage.times()[self.side]?.0).map(EventTime)
    }

    fn counted(&self, and: &str) -> RowFate {
        let because = match self.time() {
            Some(_) if self.w == EventTime::MIN => Some("no watermark in force".to_owned()),
            _ => self.compared(None),
        };
        let because = because.into_iter().chain((!and.is_empty()).then(|| and.to_owned()));
        let because = because.collect::<Vec<_>>().join("; ");
        let in_force = self.w != EventTime::MIN && self.time().is_some();
        let watermark = in_force.then_some(self.w);
        RowFate { watermark, ..RowFate::simple("counted", &because) }
    }

    fn late(&self, late: &LateRow) -> RowFate {
        let fate = if late.windows_kept == 0 { "late" } else { "partly late" };
        let because = self.compared(Some(late)).unwrap_or_default();
        RowFate {
            watermark: Some(self.w),
            windows: Some((late.windows_lost, late.windows_kept)),
            ..RowFate::simple(fate, &because)
        }
    }

    /// The rule with its numbers; of a late row as it was lost, else as it was kept.
    fn compared(&self, late: Option<&LateRow>) -> Option<String> {
        let time = self.time()?;
        let (_, stage) = self.why.stage.as_ref()?;
        Some(match stage {
            StagePlan::Window(it) => self.rule(it.late, time, it.lateness, Some(it.window), late),
            StagePlan::Session(it) => self.session(it, time, late),
            StagePlan::Global(GlobalPlan { time: Some((_, rule)), .. }) => {
                self.rule(*rule, time, Span::ZERO, None, late)
            }
            StagePlan::Dedup(it) => self.rule(it.late, time, Span::ZERO, None, late),
            StagePlan::Join(it) => self.rule(it.late, time, it.grace, it.window, late),
            StagePlan::AsOf(_) => self.rule(LateRule::Event, time, Span::ZERO, None, late),
            _ => return None,
        })
    }

    fn rule(
        &self,
        rule: LateRule,
        time: EventTime,
        grace: Span,
        window: Option<WindowSpec>,
        late: Option<&LateRow>,
    ) -> String {
        let (t, w) = (TimeText(time), TimeText(self.w));
        let grid = window.filter(|it| Span::ZERO < it.size && Span::ZERO < it.slide);
        let is = |late_sign: &str, kept_sign: &str, what: String| {
            let sign = if late.is_some() { late_sign } else { kept_sign };
            format!("{what} {sign} {w}")
        };
        match (rule, grid.map(Assigner::new)) {
            (LateRule::Event, _) | (_, None) if rule != LateRule::EventInclusive => {
                is("<", ">=", plus(t, grace))
            }
            (LateRule::EventInclusive, _) => is("<=", ">", plus(t, grace)),
            (LateRule::Frame, Some(grid)) if self.w.is_finite() => {
                let (row, mark) = (grid.frame(time), grid.frame(self.w));
                let sign = if late.is_some() { "<" } else { ">=" };
                format!("slide {} {sign} {}, that of {w}", TimeText(row), TimeText(mark))
            }
            (_, Some(grid)) => {
                let lost = late.map_or(0, |it| it.windows_lost as usize);
                let mut windows = grid.windows(time);
                let decides = windows.nth(lost.saturating_sub(1)).map(|it| TimeText(it.end));
                let end = decides.map_or_else(|| "-".to_owned(), |it| plus(it, grace));
                let many = match late {
                    Some(it) if 1 < it.windows_lost + it.windows_kept => {
                        let all = it.windows_lost + it.windows_kept;
                        format!("{} of {all} windows, up to ", it.windows_lost)
                    }
                    _ => String::new(),
                };
                is("<=", ">", format!("{many}window end {end}"))
            }
            (_, None) => is("<", ">=", plus(t, grace)),
        }
    }

    fn session(&self, plan: &SessionPlan, time: EventTime, late: Option<&LateRow>) -> String {
        let gap = match plan.gap {
            Gap::Fixed(it) => Some(it),
            Gap::Column(it) => self.cell(it.0).map(Span),
        };
        let end = gap.map_or(time, |it| time + it);
        let w = TimeText(self.w);
        match plan.late {
            SessionLate::Event => self.rule(LateRule::Event, time, plan.lateness, None, late),
            SessionLate::Proto => {
                let sign = if late.is_some() { "<=" } else { ">" };
                format!("its own end {} {sign} {w}", plus(TimeText(end), plan.lateness))
            }
            SessionLate::Merged => match late {
                Some(late) => {
                    // What would have saved it tells the end of what it was merged with.
                    let end = match late.saving {
                        Saving::Delay { largest, .. } => {
                            late.in_force.candidate - largest + Span(1) - plan.lateness
                        }
                        _ => end,
                    };
                    format!("session end {} <= {w}", plus(TimeText(end), plan.lateness))
                }
                None if self.w < end + plan.lateness => {
                    format!("session end at least {} > {w}", plus(TimeText(end), plan.lateness))
                }
                None => format!(
                    "its own end {} <= {w}, but it touches a session that ends later",
                    plus(TimeText(end), plan.lateness)
                ),
            },
        }
    }
}
