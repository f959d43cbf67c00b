//! Plans as people write them, and every plan back again.

mod flow;

use super::draw::Draw;
use super::*;
use plimsoll_engine::plan::*;

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
    let print = |line: &str| print(&read(line).expect(line));
    assert_eq!(
        print("profile=flink idle=2min"),
        "window=tumbling(10min) delay=0s watermark=partition idle=2min rejoin=catch_up \
         late=window_end"
    );
    assert_eq!(
        print("watermark=global profile=flink late=event"),
        "window=tumbling(10min) delay=0s"
    );
    assert_eq!(
        print("profile=spark-4"),
        "window=tumbling(10min) delay=0s initial=00:00:00 effective=batch_after_next \
         late=window_end"
    );
    check_errors(
        "profile=fink",
        &["profile: expected the name of a profile; the nearest is `flink`, found `fink`"],
    );
}

#[test]
fn all_mistakes_are_reported_at_once() {
    check_errors(
        "dealy=5min window=hopping(1h) delay=soon late=never",
        &[
            "dealy: expected a key of the plan; the nearest is `delay`, found `dealy`",
            "delay: expected a span such as 10min, 2min5s or 250ms, found `soon`",
            "window: expected `tumbling(SIZE)`, `tumbling(SIZE,OFFSET)`, \
             `sliding(SIZE,SLIDE)`, `sliding(SIZE,SLIDE,OFFSET)` or `none`, found `hopping(1h)`",
            "late: expected `event`, `event_inclusive`, `window_end` or `frame`, found `never`",
        ],
    );
}

#[test]
fn each_mistake_says_what_was_expected() {
    let cases = [
        ("delay=1s delay=2s", "delay: expected each key once, found `delay=2s`"),
        ("watermark=max", "watermark: expected `global`, `partition` or `none`, found `max`"),
        (
            "idle=5min",
            "idle: expected `watermark=partition` with it: one global maximum knows no idleness, found `idle=5min`",
        ),
        (
            "watermark=partition rejoin=hold",
            "rejoin: expected `idle=SPAN` with it: nothing is ever idle here, found `rejoin=hold`",
        ),
        (
            "watermark=none delay=1s",
            "delay: expected a watermark: with `watermark=none` this has no meaning, found `delay=1s`",
        ),
        (
            "window=none agg=count",
            "agg: expected a window: with `window=none` this has no meaning, found `agg=count`",
        ),
        (
            "fallback=1h fallback_always=1h",
            "fallback_always: expected either this or `fallback`, not both, found `fallback_always=1h`",
        ),
        (
            "guard=drop(1s)",
            "guard: expected `reject(SPAN)`, `count(SPAN)`, `accept(SPAN)` or `none`, found `drop(1s)`",
        ),
        ("guard=count(x)", "guard: expected a span such as 10min, 2min5s or 250ms, found `x`"),
        (
            "trigger=often",
            "trigger: expected `row`, `batch`, `interval(SPAN)`, `once` or `available_now(ROWS)`, found `often`",
        ),
        (
            "trigger=available_now(-1)",
            "trigger: expected a number of rows in `available_now(ROWS)`, found `-1`",
        ),
        ("initial=0", "initial: expected `:` and the minutes, found the end"),
        (
            "columns=k:text",
            "columns: expected at least one column of kind `time`: every row has an event time, found `k:text`",
        ),
        ("columns=t:time,t:int", "columns: expected each column once, found `t`"),
        (
            "columns=t:date",
            "columns: expected `t:KIND` with a kind that is `int`, `time` or `text`, found `t:date`",
        ),
        (
            "columns=a=b:time",
            "columns: expected `NAME:KIND` with a name without blanks and `,;:=()\"#`, found `a=b:time`",
        ),
        ("on=tim", "on: expected a column of the input; the nearest is `time`, found `tim`"),
        ("key=x", "key: expected a column of the input; the nearest is `k`, found `x`"),
        ("window_on=a(b", "window_on: expected the name of a column, found `a(b`"),
        (
            "agg=median(v)",
            "agg: expected `count`, `count(COLUMN)`, `sum(COLUMN)`, `min(COLUMN)`, \
             `max(COLUMN)` \
             or `avg(COLUMN)`, found `median(v)`",
        ),
        (
            "lineage=rename(a)",
            "lineage: expected `rename(FROM,TO)`, `project(COLUMN,..)` or \
             `compute(COLUMN)`, with `;` between them, found `rename(a)`",
        ),
    ];
    for (line, message) in cases {
        let errors = read(line).expect_err(line);
        assert!(errors.iter().any(|it| it.to_string() == message), "{line}: {errors:#?}");
    }
}

#[test]
fn every_plan_survives_being_written_and_read() {
    let mut draw = Draw(1);
    for _ in 0..3_000 {
        let profile = &plimsoll_engine::profile::all()[0];
        let text = PlanText { plan: draw.plan(), clock: ProcTime(draw.number()), profile };
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
        "tumblingsprojectcountagg(),;:=-0159.@TZ min|+<>!\u{e9}\u{0}".chars().collect();
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
