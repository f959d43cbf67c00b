//! Stages, read.
//!
//! Each is judged with the columns that it is handed. A mistake in one leaves the columns of those
//! behind it unknown; their other mistakes are found all the same.
//!
//! Invariant: a stage that was read has used or refused every argument.

use super::args::Args;
use super::bounds::{self, BOUNDS};
use super::columns::Columns;
use super::{Rules, default_expiry, default_key, default_on, default_time, time_behind};
use crate::trace::nearest;
use crate::trace::plan_text::keys::{
    CARRY, HOLE, JOIN, LATE, LATE_POLICY, SESSION_LATE, SIDES, TOUCHING, Wrong, value, wrong,
};
use crate::trace::plan_text::{nested, values};
use plimsoll_engine::plan::flow::{
    AsOfPlan, Carry, CountPlan, DedupExpiry, DedupPlan, Gap, GlobalPlan, JoinPlan, PanePlan,
    SessionPlan, StagePlan, WindowStage,
};
use plimsoll_engine::plan::{Aggregate, LatePolicy, LateRule, WindowSpec};
use plimsoll_engine::row::{ColumnIx, Schema};
use plimsoll_engine::time::Span;

const STAGES: [&str; 11] = [
    "filter", "project", "rename", "compute", "window", "session", "global", "count", "dedup",
    "join", "asof",
];

/// Reads all stages. `handed` are the columns of the inputs, where they are known.
pub(in crate::trace::plan_text) fn stages(
    text: &str,
    handed: Option<&Schema>,
    rules: Rules<'_>,
) -> Result<Vec<StagePlan>, Vec<Wrong>> {
    let parts = nested::parts(text, '|').ok_or_else(|| vec![wrong("as many `)` as `(`", text)])?;
    let (mut stages, mut wrongs) = (Vec::new(), Vec::new());
    let mut handed = handed.cloned();
    let mut time = rules.on.to_owned();
    for (number, part) in (1..).zip(parts) {
        let reading = Reading { columns: Columns::new(handed.as_ref()), time: &time, rules };
        let (stage, found) = reading.stage(part);
        let is_read = found.is_empty();
        let place =
            |it: Wrong| Wrong { expected: format!("in stage {number} {}", it.expected), ..it };
        wrongs.extend(found.into_iter().map(place));
        let next = stage.filter(|_| is_read).and_then(|stage| {
            let next = handed.as_ref().map(|it| (stage.output(it), time_behind(&stage, it, &time)));
            stages.push(stage);
            next
        });
        handed = next.map(|(schema, name)| {
            time = name;
            schema
        });
    }
    if wrongs.is_empty() { Ok(stages) } else { Err(wrongs) }
}

/// What a stage is read with.
struct Reading<'a> {
    columns: Columns<'a>,
    /// What the time column is called here.
    time: &'a str,
    rules: Rules<'a>,
}

impl Reading<'_> {
    fn stage(&self, text: &str) -> (Option<StagePlan>, Vec<Wrong>) {
        let Some((word, inner)) = nested::call(text) else {
            let expected = "a stage such as `filter(v>=5)` or `window(tumbling(10min))`";
            return (None, vec![wrong(expected, text)]);
        };
        let inner = inner.unwrap_or_default();
        if word == "filter" {
            return match self.columns.filter(inner) {
                Ok(it) => (Some(StagePlan::Filter(it)), Vec::new()),
                Err(it) => (None, vec![it]),
            };
        }
        let mut args = Args::new(word, inner);
        let (stage, names): (_, &[&str]) = match word {
            "project" => (self.project(&mut args), &[]),
            "rename" => (self.rename(&mut args), &[]),
            "compute" => {
                let column = args.must("a column in `compute(COLUMN)`", |it| self.columns.find(it));
                (column.map(StagePlan::Compute), &[])
            }
            "window" => (
                self.window(&mut args),
                &[
                    "time",
                    "key",
                    "agg",
                    "late",
                    "late_policy",
                    "lateness",
                    "early",
                    "carry",
                    "hole",
                ],
            ),
            "session" => (
                self.session(&mut args),
                &["time", "key", "agg", "late", "late_policy", "touching", "max_span", "lateness"],
            ),
            "global" => (self.global(&mut args), &["key", "agg", "time", "late"]),
            "count" => (self.count(&mut args), &["time", "key", "agg"]),
            "dedup" => (self.dedup(&mut args), &["within", "at", "time", "late", "late_policy"]),
            "join" => (
                self.join(&mut args),
                &[
                    "on",
                    "time",
                    "from",
                    "after",
                    "to",
                    "before",
                    "window",
                    "left_if",
                    "right_if",
                    "late",
                    "grace",
                    "expiry",
                    "sides",
                    "late_policy",
                ],
            ),
            "asof" => (self.asof(&mut args), &["on", "time", "tolerance", "late_policy"]),
            other => {
                let expected = nearest::expected("a stage such as `window`", other, STAGES);
                return (None, vec![wrong(expected, other)]);
            }
        };
        let wrongs = args.done(names);
        debug_assert!(
            stage.is_some() || !wrongs.is_empty(),
            "a stage is missing without a mistake"
        );
        (stage, wrongs)
    }

    fn project(&self, args: &mut Args<'_>) -> Option<StagePlan> {
        let mut kept = Vec::new();
        while let Some(name) = args.next() {
            kept.extend(args.ok(self.columns.find(name)));
        }
        Some(StagePlan::Project(kept))
    }

    fn rename(&self, args: &mut Args<'_>) -> Option<StagePlan> {
        let column = args.must("two names in `rename(FROM,TO)`", |it| self.columns.find(it));
        let name = |it: &str| {
            let name = values::is_flow_name(it).then(|| it.to_owned());
            name.ok_or_else(|| wrong("a name without `|+<>!` and what separates", it))
        };
        let to = args.must("two names in `rename(FROM,TO)`", name);
        Some(StagePlan::Rename(column?, to?))
    }

    fn window(&self, args: &mut Args<'_>) -> Option<StagePlan> {
        let profile = self.rules.profile;
        let window = args.must("windows such as `tumbling(10min)`", spec);
        let time = self.time(args);
        let stage = WindowStage {
            time: time.unwrap_or(ColumnIx(0)),
            window: window.unwrap_or(super::super::read::WINDOW),
            keys: self.key(args),
            aggregates: self.agg(args),
            late: args.or("late", profile.late, |it| value(LATE, it)),
            late_policy: late_policy(args),
            lateness: args.or("lateness", Span::ZERO, values::span),
            panes: PanePlan {
                early_rows: args.maybe("early", rows),
                carry: args.or("carry", Carry::Accumulating, |it| value(CARRY, it)),
            },
            hole: args.or("hole", profile.hole, |it| value(HOLE, it)),
        };
        (window.is_some() && time.is_some()).then_some(StagePlan::Window(stage))
    }

    fn session(&self, args: &mut Args<'_>) -> Option<StagePlan> {
        let gap =
            args.must("a gap such as `5min` or `gap:COLUMN`", |it| match it.split_once(':') {
                Some(("gap", name)) => self.columns.find(name.trim()).map(Gap::Column),
                _ => values::span(it).map(Gap::Fixed),
            });
        let time = self.time(args);
        let (keys, aggregates) = (self.key(args), self.agg(args));
        let profile = self.rules.profile;
        let late = args.or("late", profile.session_late, |it| value(SESSION_LATE, it));
        let late_policy = late_policy(args);
        let touching = args.or("touching", profile.touching, |it| value(TOUCHING, it));
        let max_span = args.maybe("max_span", values::span);
        let lateness = args.or("lateness", Span::ZERO, values::span);
        let (time, gap) = (time?, gap?);
        Some(StagePlan::Session(SessionPlan {
            time,
            gap,
            keys,
            aggregates,
            late,
            late_policy,
            touching,
            max_span,
            lateness,
        }))
    }

    fn global(&self, args: &mut Args<'_>) -> Option<StagePlan> {
        let (keys, aggregates) = (self.key(args), self.agg(args));
        let time = args.maybe("time", |it| self.columns.find(it));
        let late = match time {
            Some(_) => args.or("late", self.rules.profile.late_bare, |it| value(LATE, it)),
            None => LateRule::Event,
        };
        if time.is_none() && args.maybe("late", |_| Ok(())).is_some() {
            args.wrongs.push(wrong("`time=COLUMN` with it: without it nothing is late", "late"));
        }
        let time = time.map(|it| (it, late));
        Some(StagePlan::Global(GlobalPlan { keys, aggregates, time }))
    }

    fn count(&self, args: &mut Args<'_>) -> Option<StagePlan> {
        let rows = args.must("a number of rows in `count(ROWS)`", rows);
        let time = self.time(args);
        let (keys, aggregates) = (self.key(args), self.agg(args));
        Some(StagePlan::Count(CountPlan { time: time?, keys, aggregates, rows: rows? }))
    }

    fn dedup(&self, args: &mut Args<'_>) -> Option<StagePlan> {
        let text = args.next().unwrap_or_default();
        let columns = args.ok(self.columns.list(text));
        let default = self.columns.known().and_then(|it| default_time(it, self.time));
        let time = args.or("time", default, |it| match it {
            "none" => Ok(None),
            name => self.columns.find(name).map(Some),
        });
        let within = args.maybe("within", values::span).map(DedupExpiry::After);
        let at = args.maybe("at", values::time).map(DedupExpiry::At);
        let within = within.or(at);
        let expiry = if args.next_is("with_time") {
            Some(DedupExpiry::WithItsTime)
        } else if args.next_is("never") {
            Some(DedupExpiry::Never)
        } else {
            None
        };
        if within.is_some() && expiry.is_some() {
            let expected = "one of `within=SPAN`, `at=TIME`, `with_time` and `never`";
            args.wrongs.push(wrong(expected, "two of them"));
        }
        let columns = columns?;
        let default = || default_expiry(&columns, time, self.rules.delay);
        let expiry = expiry.or(within).unwrap_or_else(default);
        let late = args.or("late", self.rules.profile.late_bare, |it| value(LATE, it));
        let late_policy = late_policy(args);
        Some(StagePlan::Dedup(DedupPlan { columns, time, late, expiry, late_policy }))
    }

    fn join(&self, args: &mut Args<'_>) -> Option<StagePlan> {
        let expected = "the kind of join: `inner`, `left`, `right`, `full`, `semi` or `anti`";
        let kind = args.must(expected, |it| value(JOIN, it));
        let on = self.on(args);
        let time = self.both_times(args);
        let rules = self.rules.profile.join;
        let bounds = args.all(&BOUNDS);
        let ranges = args.ok(bounds::ranges(&bounds)).unwrap_or_default();
        let plan = JoinPlan {
            kind: kind.unwrap_or(JOIN[0].1),
            on,
            time: time.unwrap_or([ColumnIx(0); 2]),
            ranges,
            window: args.maybe("window", spec),
            only_if: ["left_if", "right_if"]
                .map(|name| args.maybe(name, |it| self.columns.filter(it))),
            late: args.or("late", rules.late, |it| value(LATE, it)),
            grace: args.or("grace", rules.grace, values::span),
            expiry: args.or("expiry", rules.expiry, bounds::expiry),
            sides: args.or("sides", rules.sides, |it| value(SIDES, it)),
            late_policy: late_policy(args),
        };
        (kind.is_some() && time.is_some()).then_some(StagePlan::Join(plan))
    }

    fn asof(&self, args: &mut Args<'_>) -> Option<StagePlan> {
        let on = self.on(args);
        let time = self.both_times(args);
        let tolerance = args.maybe("tolerance", |it| values::span(it).map(Some));
        if tolerance.is_none() && args.wrongs.is_empty() {
            args.wrongs.push(wrong("`tolerance=SPAN`, how old the right row may be", "none of it"));
        }
        let outer = args.next_is("outer");
        let late_policy = late_policy(args);
        let tolerance = tolerance.flatten()?;
        Some(StagePlan::AsOf(AsOfPlan { on, time: time?, tolerance, outer, late_policy }))
    }

    /// The time column of a stage that needs one.
    fn time(&self, args: &mut Args<'_>) -> Option<ColumnIx> {
        self.both_times_of(args, |it| self.columns.find(it).map(|it| [it; 2])).map(|it| it[0])
    }

    fn both_times(&self, args: &mut Args<'_>) -> Option<[ColumnIx; 2]> {
        self.both_times_of(args, |it| self.columns.both(it))
    }

    fn both_times_of(
        &self,
        args: &mut Args<'_>,
        read: impl FnOnce(&str) -> Result<[ColumnIx; 2], Wrong>,
    ) -> Option<[ColumnIx; 2]> {
        let default = match self.columns.known() {
            Some(it) => default_time(it, self.time),
            None => Some(ColumnIx(0)),
        };
        let before = args.wrongs.len();
        let said = args.maybe("time", read);
        if said.is_none() && default.is_none() && args.wrongs.len() == before {
            let expected = "`time=COLUMN`: no column of kind `time` comes here";
            args.wrongs.push(wrong(expected, "none of it"));
        }
        said.or(default.map(|it| [it; 2]))
    }

    fn key(&self, args: &mut Args<'_>) -> Vec<ColumnIx> {
        let default = self.columns.known().map(default_key).unwrap_or_default();
        args.or("key", default, |it| self.columns.list(it))
    }

    fn agg(&self, args: &mut Args<'_>) -> Vec<Aggregate> {
        args.or("agg", vec![Aggregate::Count], |it| self.columns.aggregates(it))
    }

    fn on(&self, args: &mut Args<'_>) -> Vec<(ColumnIx, ColumnIx)> {
        let default = self.columns.known().map(default_on).unwrap_or_default();
        args.or("on", default, |it| self.columns.pairs(it))
    }
}

fn late_policy(args: &mut Args<'_>) -> LatePolicy {
    args.or("late_policy", LatePolicy::Drop, |it| value(LATE_POLICY, it))
}

/// Windows that are there.
fn spec(text: &str) -> Result<WindowSpec, Wrong> {
    let expected = "`tumbling(SIZE)`, `tumbling(SIZE,OFFSET)`, `sliding(SIZE,SLIDE)` or \
                    `sliding(SIZE,SLIDE,OFFSET)`";
    values::window(text)?.ok_or_else(|| wrong(expected, text))
}

fn rows(text: &str) -> Result<u64, Wrong> {
    text.parse().map_err(|_| wrong("a number of rows", text))
}
