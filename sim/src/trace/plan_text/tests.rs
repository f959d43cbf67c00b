//! Plans as people write them, and every plan back again.

use super::*;
use plimsoll_engine::plan::*;
use plimsoll_engine::row::{ColumnIx, ColumnKind, ColumnSpec, Schema};
use plimsoll_engine::time::{EventTime, Span};

/// Reads pairs as they stand on a line without quotes.
fn read(line: &str) -> Result<PlanText, Vec<PlanTextError>> {
    plan_from_pairs(line.split_whitespace().map(|it| it.split_once('=').expect("a pair")))
}

fn print(read: &PlanText) -> String {
    let pairs = pairs_of(&read.plan, read.clock);
    pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// The line is canonical: it is printed exactly as it was read.
fn check_canonical(line: &str) {
    assert_eq!(print(&read(line).expect(line)), line);
}

fn check_errors(line: &str, expected: &[&str]) {
    let errors = read(line).expect_err(line);
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{line}");
}

#[test]
fn what_is_not_said_is_as_in_the_founding_texts() {
    let default = read("").expect("no pairs are a plan");
    assert_eq!(print(&default), "window=tumbling(10min) delay=10min");
    assert_eq!(default.plan.operator.as_ref().map(|it| it.time.as_str()), Some("time"));
    assert_eq!(default.plan.trigger, Trigger::Batch);
    assert_eq!(read("effective=row").map(|it| it.plan.trigger), Ok(Trigger::Row));
    assert_eq!(read("profile=seed watermark=global late=event output=append"), Ok(default));
}

#[test]
fn every_key_is_read_and_written() {
    check_canonical("window=sliding(10min,1min,-5s) delay=2min effective=row");
    check_canonical("window=tumbling(1h,15min) delay=-5s output=update sink=keyed trigger=once");
    check_canonical("window=none delay=10min trigger=interval(1min)");
    check_canonical("window=none watermark=none output=complete trigger=available_now(100)");
    check_canonical(
        "window=tumbling(1d) delay=0s watermark=partition idle=5min rejoin=catch_up all_idle=hold \
         fallback=1h guard=count(1min) initial=00:00:00 effective=batch_after_next late=window_end \
         late_policy=side_output sink=log clock=2018-02-08T20:23:00",
    );
    check_canonical("window=tumbling(10min) delay=10min fallback_always=30min guard=accept(0s)");
    check_canonical(
        "window=tumbling(10min) delay=10min columns=seen:time,at:time,k:text,n:int on=at \
         window_on=seen key=n,k agg=count,sum(n),min(n),max(at),avg(n),count(k) \
         lineage=rename(at,when);project(when,k);compute(seen)",
    );
    check_canonical("window=tumbling(10min) delay=10min key= agg=");
}

#[test]
fn windows_follow_their_column_through_renames() {
    let time = |line| read(line).map(|it| it.plan.operator.map(|it| it.time));
    assert_eq!(time("lineage=rename(time,a);rename(a,b)"), Ok(Some("b".to_owned())));
    assert_eq!(time("lineage=compute(time)"), Ok(Some("time".to_owned())));
}

#[test]
fn a_profile_stands_between_the_defaults_and_what_is_said() {
    let pairs = [("watermark", "partition"), ("idle", "1min"), ("late", "window_end")];
    let profiles = [SEED, Profile { name: "flink", pairs: &pairs }];
    let with = |given: &[(&'static str, &'static str)]| {
        plan_from_pairs_with(given.iter().copied(), &profiles).map(|it| print(&it))
    };
    assert_eq!(
        with(&[("profile", "flink"), ("idle", "2min")]).as_deref(),
        Ok("window=tumbling(10min) delay=10min watermark=partition idle=2min late=window_end")
    );
    assert_eq!(
        with(&[("watermark", "global"), ("profile", "flink")]).as_deref(),
        Ok("window=tumbling(10min) delay=10min late=window_end")
    );
    assert_eq!(
        with(&[("idle", "none"), ("profile", "flink")]).as_deref(),
        Ok("window=tumbling(10min) delay=10min watermark=partition late=window_end")
    );
    check_errors("profile=fink", &["`profile=fink`: expected the name of a profile: `seed`"]);
}

#[test]
fn all_mistakes_are_reported_at_once() {
    check_errors(
        "dealy=5min window=hopping(1h) delay=soon late=never",
        &[
            "`dealy=5min`: expected a key of the plan; the nearest is `delay`",
            "`delay=soon`: expected a span such as 10min, 2min5s or 250ms, found `soon`",
            "`window=hopping(1h)`: expected `tumbling(SIZE)`, `tumbling(SIZE,OFFSET)`, \
             `sliding(SIZE,SLIDE)`, `sliding(SIZE,SLIDE,OFFSET)` or `none`",
            "`late=never`: expected `event`, `event_inclusive`, `window_end` or `frame`",
        ],
    );
}

#[test]
fn each_mistake_says_what_was_expected() {
    let cases = [
        ("delay=1s delay=2s", "`delay=2s`: expected each key once"),
        ("watermark=max", "`watermark=max`: expected `global`, `partition` or `none`"),
        (
            "idle=5min",
            "`idle=5min`: expected `watermark=partition` with it: one global maximum knows no idleness",
        ),
        (
            "watermark=partition rejoin=hold",
            "`rejoin=hold`: expected `idle=SPAN` with it: nothing is ever idle here",
        ),
        (
            "watermark=none delay=1s",
            "`delay=1s`: expected a watermark: with `watermark=none` this has no meaning",
        ),
        (
            "window=none agg=count",
            "`agg=count`: expected a window: with `window=none` this has no meaning",
        ),
        (
            "fallback=1h fallback_always=1h",
            "`fallback_always=1h`: expected either this or `fallback`, not both",
        ),
        (
            "guard=drop(1s)",
            "`guard=drop(1s)`: expected `reject(SPAN)`, `count(SPAN)`, `accept(SPAN)` or `none`",
        ),
        (
            "guard=count(x)",
            "`guard=count(x)`: expected a span such as 10min, 2min5s or 250ms, found `x`",
        ),
        (
            "trigger=often",
            "`trigger=often`: expected `row`, `batch`, `interval(SPAN)`, `once` or `available_now(ROWS)`",
        ),
        (
            "trigger=available_now(-1)",
            "`trigger=available_now(-1)`: expected a number of rows in `available_now(N)`, found `-1`",
        ),
        ("initial=0", "`initial=0`: expected `:` and the minutes, found the end"),
        (
            "columns=k:text",
            "`columns=k:text`: expected at least one column of kind `time`: every row has an event time",
        ),
        (
            "columns=t:time,t:int",
            "`columns=t:time,t:int`: expected each column once, found `t` twice",
        ),
        (
            "columns=t:date",
            "`columns=t:date`: expected `t:KIND` with a kind that is `int`, `time` or `text`, found `t:date`",
        ),
        (
            "columns=a=b:time",
            "`columns=a=b:time`: expected `NAME:KIND` with a name without blanks and `,;:=()\"#`, found `a=b:time`",
        ),
        ("on=tim", "`on=tim`: expected a column of the input; the nearest is `time`, found `tim`"),
        ("key=x", "`key=x`: expected a column of the input; the nearest is `k`, found `x`"),
        ("window_on=a(b", "`window_on=a(b`: expected the name of a column, found `a(b`"),
        (
            "agg=median(v)",
            "`agg=median(v)`: expected `count`, `count(COLUMN)`, `sum(COLUMN)`, `min(COLUMN)`, \
             `max(COLUMN)` or `avg(COLUMN)`, found `median(v)`",
        ),
        (
            "lineage=rename(a)",
            "`lineage=rename(a)`: expected `rename(FROM,TO)`, `project(COLUMN,..)` or \
             `compute(COLUMN)`, `;` between them, found `rename(a)`",
        ),
    ];
    for (line, message) in cases {
        let errors = read(line).expect_err(line);
        assert!(errors.iter().any(|it| it.to_string() == message), "{line}: {errors:#?}");
    }
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn of<T: Copy>(&mut self, words: keys::Words<T>) -> T {
        words[self.below(words.len() as u64) as usize].1
    }

    fn span(&mut self) -> Span {
        Span(self.below(1 << 31) as i64 - (1 << 30))
    }

    fn maybe<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| draw(self))
    }

    fn schema(&mut self) -> Schema {
        let mut columns = vec![ColumnSpec { name: "t".to_owned(), kind: ColumnKind::Time }];
        for name in ["k", "v", "größe", "a.b/c-d"].into_iter().take(self.below(5) as usize) {
            columns.push(ColumnSpec { name: name.to_owned(), kind: self.of(keys::KIND) });
        }
        Schema { columns }
    }

    fn column(&mut self, schema: &Schema) -> ColumnIx {
        ColumnIx(self.below(schema.columns.len() as u64) as usize)
    }

    fn plan(&mut self) -> Plan {
        let schema = self.schema();
        let watermark = self.maybe(|it| WatermarkPlan {
            column: it.column(&schema),
            delay: it.span(),
            generator: match it.below(3) {
                0 => GeneratorPlan::GlobalMax,
                _ => GeneratorPlan::PartitionMin {
                    idle: it.maybe(|it| IdlePlan {
                        timeout: it.span(),
                        rejoin: it.of(keys::REJOIN),
                        all_idle: it.of(keys::ALL_IDLE),
                    }),
                },
            },
            effective: it.of(keys::EFFECTIVE),
            fallback: it.maybe(|it| Fallback { behind: it.span(), always: it.below(2) == 0 }),
            guard: it.maybe(|it| Guard { ahead: it.span(), action: it.of(keys::GUARD) }),
            initial: EventTime([i64::MIN, 0, i64_of(it)][it.below(3) as usize]),
        });
        let operator = self.maybe(|it| WindowPlan {
            time: ["t", "k", "other"][it.below(3) as usize].to_owned(),
            window: WindowSpec { size: it.span(), slide: it.span(), offset: it.span() },
            keys: (0..it.below(3)).map(|_| it.column(&schema)).collect(),
            aggregates: (0..it.below(4))
                .map(|_| {
                    let of = it.column(&schema);
                    [
                        Aggregate::Count,
                        Aggregate::CountOf(of),
                        Aggregate::Sum(of),
                        Aggregate::Min(of),
                        Aggregate::Max(of),
                        Aggregate::Avg(of),
                    ][it.below(6) as usize]
                })
                .collect(),
            late: it.of(keys::LATE),
            late_policy: it.of(keys::LATE_POLICY),
        });
        let lineage = (0..self.below(3))
            .map(|_| match self.below(3) {
                0 => LineageStep::Rename { from: "t".to_owned(), to: "k".to_owned() },
                1 => LineageStep::Project(
                    ["t", "v"].map(str::to_owned)[..self.below(3) as usize].to_vec(),
                ),
                _ => LineageStep::Compute("t".to_owned()),
            })
            .collect();
        let trigger = match self.below(5) {
            0 => Trigger::Row,
            1 => Trigger::Batch,
            2 => Trigger::Once,
            3 => Trigger::Interval(self.span()),
            _ => Trigger::AvailableNow(self.below(100)),
        };
        let (output, sink) = (self.of(keys::OUTPUT), self.of(keys::SINK));
        Plan { schema, watermark, lineage, operator, output, sink, trigger }
    }
}

fn i64_of(draw: &mut Draw) -> i64 {
    (draw.below(1 << 31) as i64) << draw.below(32)
}

#[test]
fn every_plan_survives_being_written_and_read() {
    let mut draw = Draw(1);
    for _ in 0..3_000 {
        let text = PlanText { plan: draw.plan(), clock: ProcTime(i64_of(&mut draw)) };
        let pairs = pairs_of(&text.plan, text.clock);
        assert!(pairs.iter().all(|(key, value)| KEYS.contains(key) && !value.contains(' ')));
        let read = plan_from_pairs(pairs.iter().map(|(key, value)| (*key, value.as_str())));
        assert_eq!(read.as_ref(), Ok(&text), "{}", print(&text));
        assert_eq!(pairs_of(&text.plan, text.clock), pairs);
    }
}

#[test]
fn hostile_values_are_errors_or_plans_and_never_a_panic() {
    let mut draw = Draw(2);
    let alphabet: Vec<char> =
        "tumblingsprojectcountagg(),;:=-0159.@TZ min\u{e9}\u{0}".chars().collect();
    for _ in 0..5_000 {
        let key = KEYS[draw.below(KEYS.len() as u64) as usize];
        let value: String = (0..draw.below(12))
            .map(|_| alphabet[draw.below(alphabet.len() as u64) as usize])
            .collect();
        if let Ok(text) = plan_from_pairs([(key, value.as_str())]) {
            let pairs = pairs_of(&text.plan, text.clock);
            let again = plan_from_pairs(pairs.iter().map(|(key, value)| (*key, value.as_str())));
            assert_eq!(again, Ok(text), "{key}={value}");
        }
    }
}
