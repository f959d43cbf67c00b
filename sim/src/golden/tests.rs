//! Stories whose lines are right, and files that are put right.

mod flow;

use super::*;
use crate::run::Run;
use crate::system::engine::Engine;
use crate::trace::parse::parse;
use plimsoll_engine::late::{InForce, LateCause, LateRow, Saving};
use plimsoll_engine::plan::{LatePolicy, LateRule};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::Span;

/// Runs a trace through the engine and writes down each item.
fn rendered(text: &str) -> Vec<Vec<String>> {
    let trace = parse(text).unwrap_or_else(|it| panic!("{it}\n{text}")).trace;
    let mut engine = Engine::new(&trace, 1).expect("the plan is right");
    let mut run = Run::new(&trace, &mut engine, false);
    let mut scribe = Scribe::new(&trace);
    let mut lines = Vec::new();
    while let Some(seen) = run.step() {
        lines.push(scribe.observe(&seen.expect("a run without violation")));
    }
    lines
}

/// The story says exactly what comes out.
fn check_story(text: &str) {
    let parsed = parse(text).unwrap_or_else(|it| panic!("{it}\n{text}"));
    let found = rendered(text);
    let mismatches: Vec<String> = check(&parsed, &found).iter().map(ToString::to_string).collect();
    assert!(mismatches.is_empty(), "{}\n\n{}", mismatches.join("\n"), bless(text, &found));
    assert_eq!(bless(text, &found), text);
}

const STORY: &str = "\
# 10:09:55 comes after 10:12:00 has closed its window: not counted, and nothing in the figure says so
plan window=tumbling(10min) delay=2min watermark=global effective=row late=event output=append
row p0 10:08:30 k=a v=1
=> watermark 10:06:30
row p0 10:12:00 k=a v=1
=> watermark 10:10:00
=> emit [10:00:00,10:10:00) k=a count=1
row p1 10:09:55 k=a v=1
=> late k=a 10:09:55 behind 10:10:00 (set by item 2); a delay of 2min5s would have kept it
";

#[test]
fn the_story_of_the_design_comes_out_as_it_is_told() {
    check_story(STORY);
}

#[test]
fn figures_are_sorted_and_exact() {
    check_story(
        "plan window=tumbling(10min) delay=0s agg=count,sum(v),avg(v),min(time),max(v)\n\
         row p0 10:05:00 k=\"b b\" v=3\n\
         row p0 10:04:00 k=a v=9223372036854775807\n\
         row p0 10:06:00 k=a v=9223372036854775807\n\
         row p0 10:01:00 v=-\n\
         row p0 10:20:00 k=c\n\
         batch\n\
         => watermark 10:20:00 (from the next batch)\n\
         batch\n\
         => emit [10:00:00,10:10:00) k=\"b b\" count=1 sum(v)=3 avg(v)=3/1 min(time)=10:05:00 max(v)=3\n\
         => emit [10:00:00,10:10:00) k=- count=1 sum(v)=- avg(v)=- min(time)=10:01:00 max(v)=-\n\
         => emit [10:00:00,10:10:00) k=a count=2 sum(v)=18446744073709551614 \
         avg(v)=18446744073709551614/2 min(time)=10:04:00 max(v)=9223372036854775807\n\
         end\n\
         => watermark +inf\n\
         => emit [10:20:00,10:30:00) k=c count=1 sum(v)=- avg(v)=- min(time)=10:20:00 max(v)=- \
         (end of input; known)\n",
    );
}

#[test]
fn a_batch_names_the_items_that_it_judges() {
    check_story(
        "plan window=tumbling(10min) delay=0s effective=batch_after_next guard=count(1d)\n\
         row p0 10:20:00 k=a\n\
         batch\n\
         => watermark 10:20:00 (evicts from the next batch, judges from the one after)\n\
         batch\n\
         row p0 10:01:00 k=a\n\
         row p0 - k=a\n\
         row p0 240:00:00 k=a\n\
         batch\n\
         => late item 4 k=a 10:01:00 behind 10:20:00 (set by item 1); a delay of 19min would have kept it\n\
         => no_time item 5\n\
         => guarded item 6: @864000000 is more than 1d ahead of the clock; counted, but the watermark stays\n\
         remove p7\n\
         batch\n\
         => ignored item 8: no such partition here\n",
    );
}

#[test]
fn silence_and_its_end_are_told() {
    check_story(
        "plan window=tumbling(10min) delay=0s watermark=partition idle=1min effective=row output=update\n\
         row p0 10:01:00 k=a\n\
         => watermark 10:01:00\n\
         => update [10:00:00,10:10:00) k=a count=1\n\
         row p1 10:00:00 k=a\n\
         => late k=a 10:00:00 behind 10:01:00 (set by item 1); a delay of 1min would have kept it\n\
         tick +1min\n\
         row p0 10:05:00 k=a\n\
         => update [10:00:00,10:10:00) k=a count=2\n\
         tick +1s\n\
         => idle p1\n\
         => watermark 10:05:00\n\
         row p1 10:06:00 k=a\n\
         => active p1\n\
         => update [10:00:00,10:10:00) k=a count=3\n",
    );
}

#[test]
fn sliding_windows_that_a_row_misses_are_counted() {
    check_story(
        "plan window=sliding(10min,5min) delay=0s effective=row late=window_end late_policy=side_output\n\
         row p0 10:15:00 k=a\n\
         => watermark 10:15:00\n\
         row p0 10:12:00 k=a\n\
         => late k=a 10:12:00: missed 1 of 2 windows, up to [10:05:00,10:15:00) which ended at or before \
         10:15:00 (set by item 1); a delay of 1ms would have kept it; to the side output\n\
         row p0 10:07:00 k=a\n\
         => late k=a 10:07:00: missed 2 of 2 windows, up to [10:05:00,10:15:00) which ended at or before \
         10:15:00 (set by item 1); a delay of 1ms would have kept one more window, 5min1ms all; \
         to the side output\n",
    );
}

fn late_line(rule: LateRule, in_force: InForce, saving: Saving) -> String {
    let trace = parse("plan key=\nrow p0 10:01:00\n").expect("a trace").trace;
    let late = LateRow {
        id: ItemId(1),
        partition: PartitionId(0),
        time: EventTime(36_060_000),
        rule,
        in_force,
        windows_lost: 1,
        windows_kept: 0,
        saving,
        cause: LateCause::Straggler,
        destination: LatePolicy::Drop,
    };
    fate::late(&trace, "", &late)
}

#[test]
fn each_rule_says_what_it_compared_and_what_would_have_helped() {
    let w = InForce { set_by: Some(ItemId(7)), ..InForce::initial(EventTime(36_600_000)) };
    let delay = Saving::Delay { smallest: Span(1), largest: Span(1) };
    let cases = [
        (
            late_line(LateRule::EventInclusive, w, delay),
            "late 10:01:00 at or behind 10:10:00 (set by item 7); a delay of 1ms would have kept it",
        ),
        (
            late_line(LateRule::Frame, w, delay),
            "late 10:01:00: its slide of 10:00:00 is before 10:10:00, the slide of 10:10:00 \
             (set by item 7); a delay of 1ms would have kept it",
        ),
        (
            late_line(LateRule::WindowEnd, w, delay),
            "late 10:01:00: window [10:00:00,10:10:00) ended at or before 10:10:00 (set by item 7); \
             a delay of 1ms would have kept it",
        ),
        (
            late_line(
                LateRule::Event,
                InForce { fallback: Some(Span::minutes(5)), ..w },
                Saving::Fallback { smallest: Span::minutes(6), largest: Span::minutes(6) },
            ),
            "late 10:01:00 behind 10:10:00 (the wall clock less 5min); a fallback of 6min would have \
             kept it",
        ),
        (
            late_line(LateRule::Event, InForce::initial(EventTime::MAX), Saving::Nothing),
            "late 10:01:00 behind +inf (the input had ended)",
        ),
        (
            late_line(LateRule::Event, InForce { set_by: None, ..w }, Saving::Nothing),
            "late 10:01:00 behind 10:10:00 (so from the start)",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_difference_is_shown_from_where_it_begins() {
    let wrong = STORY.replace("count=1", "count=2").replace("=> watermark 10:06:30\n", "");
    let parsed = parse(&wrong).expect("a trace");
    let found = check(&parsed, &rendered(&wrong));
    let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "line 3, item 1:\n+ => watermark 10:06:30",
            "line 6, item 2:\n  => watermark 10:10:00\n\
             - => emit [10:00:00,10:10:00) k=a count=2\n\
             + => emit [10:00:00,10:10:00) k=a count=1",
        ]
    );
    assert_eq!(bless(&wrong, &rendered(&wrong)), STORY);
}

#[test]
fn blessing_touches_golden_lines_only() {
    let lines = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let text = "\u{feff}# head\r\n\r\nplan  delay=1s\r\nrow p0  @1 # why\r\n# between\r\n  =>   old\r\n\
                # more\r\n=> older\r\nprobe\r\n=> gone\r\nprobe";
    let new = [lines(&["a", "b"]), lines(&[]), lines(&["c"])];
    let blessed = "\u{feff}# head\r\n\r\nplan  delay=1s\r\nrow p0  @1 # why\r\n# between\r\n=> a\r\n=> b\r\n\
                   # more\r\nprobe\r\nprobe\r\n=> c";
    assert_eq!(bless(text, &new), blessed);
    assert_eq!(bless(blessed, &new), blessed);
    assert_eq!(check(&parse(blessed).expect("a trace"), &new), []);

    let right = [lines(&["old", "older"]), lines(&["gone"]), lines(&[])];
    assert_eq!(bless(text, &right), text);
    assert_eq!(bless("", &[]), "");
}

#[test]
fn what_is_blessed_is_right() {
    use crate::trace::plan_text::draw::Draw;
    use crate::trace::write::write;
    let mut draw = Draw(9);
    for _ in 0..500 {
        let text = write(&draw.trace(), &[]);
        let items = parse(&text).expect("a trace").trace.items.len();
        let some = |draw: &mut Draw| -> Vec<Vec<String>> {
            let lines = |draw: &mut Draw| {
                (0..draw.below(3)).map(|_| format!("line {}", draw.below(3))).collect()
            };
            (0..items).map(|_| lines(draw)).collect()
        };
        let (first, second) = (some(&mut draw), some(&mut draw));
        let blessed = bless(&text, &first);
        assert_eq!(check(&parse(&blessed).expect("a trace"), &first), []);
        let again = bless(&blessed, &second);
        assert_eq!(check(&parse(&again).expect("a trace"), &second), []);
        assert_eq!(bless(&again, &vec![Vec::new(); items]), text);
    }
}
