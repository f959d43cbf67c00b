use super::*;
use crate::trace::parse::parse;
use crate::trace::write::normalized;
use plimsoll_engine::plan::flow::{FollowUp, NullTime, StagePlan};
use plimsoll_engine::plan::{Effective, LateRule, Trigger};

fn trace(text: &str) -> Trace {
    parse(text).unwrap_or_else(|it| panic!("{text}: {it}")).trace
}

fn told(text: &str, names: &[&str]) -> Comparison {
    compare(&trace(text), names, Cuts::AsWritten).expect("names that are known")
}

fn fates(told: &Comparison, item: u64) -> Vec<String> {
    let row = told.rows.iter().find(|it| it.row.item == item).expect("a row that differs");
    row.fates.iter().map(ToString::to_string).collect()
}

/// Figures that differ, with what each wrote.
fn figures(told: &Comparison) -> Vec<(&str, Vec<Option<&str>>)> {
    let one = told.figures.iter().map(|it| {
        let written = it.written.iter().map(|it| it.as_ref().map(|it| it.values.as_str()));
        (it.figure.as_str(), written.collect())
    });
    one.collect()
}

/// w = 11 - 2 = 10:09 in the third batch; 10:08:50 is behind it, its window ends at 10:10.
const BEHIND: &str = "\
    plan window=tumbling(10min) delay=2min\n\
    row p0 10:08:30 k=a\n\
    row p0 10:11:00 k=a\n\
    batch\n\
    row p0 10:08:50 k=a\n\
    batch\n\
    row p0 10:22:00 k=a\n\
    batch\n\
    batch\n";

#[test]
fn a_row_has_a_fate_and_its_numbers_under_each_rule() {
    let told = told(BEHIND, &["seed", "spark-4", "flink"]);
    assert_eq!(
        fates(&told, 4),
        [
            "late, 10:08:50 < 10:09:00",
            "counted, window end 10:10:00 > 10:09:00",
            "counted, window end 10:10:00 > 10:09:00",
        ]
    );
    let window =
        ("[10:00:00,10:10:00) k=a", vec![Some("count=1"), Some("count=2"), Some("count=2")]);
    assert_eq!(figures(&told), [window]);
    let at: Vec<_> = told.times.iter().flat_map(|it| &it.written).flatten().collect();
    assert_eq!(at.iter().map(|it| it.items[0]).collect::<Vec<_>>(), [8, 7, 7]);
    assert_eq!(told.ran.iter().map(|it| it.rows_late).collect::<Vec<_>>(), [1, 0, 0]);
}

#[test]
fn where_nothing_differs_that_is_said_with_the_number_of_profiles() {
    let text = "plan window=tumbling(10min) delay=2min\nrow p0 10:01:00 k=a\nbatch\nend\n";
    let told = told(text, &["seed", "spark-compat", "kafka"]);
    assert!(told.nothing_differs(), "{told:?}");
    let text = told.text(false);
    assert!(text.contains("Nothing differs under 3 profiles: 1 rows"), "{text}");
}

#[test]
fn names_that_cannot_be_compared_are_errors_in_words() {
    let trace = trace(BEHIND);
    let error = |names: &[&str]| compare(&trace, names, Cuts::AsWritten).unwrap_err().to_string();
    let unknown = error(&["seed", "spork-4"]);
    assert!(unknown.starts_with("no profile is called spork-4; there are: trace, seed, spark-4"));
    assert_eq!(
        error(&["seed", "seed"]),
        "seed is named twice; a profile does not differ from itself"
    );
    assert_eq!(error(&["seed"]), "at least two profiles make a comparison");
}

#[test]
fn a_profile_that_cannot_carry_the_query_is_named_with_the_reason() {
    let fallback = "plan window=tumbling(10min) delay=2min watermark=partition idle=1min \
                    fallback=1h\nrow p0 10:01:00 k=a\nbatch\n";
    let told_of_fallback = told(fallback, &["seed", "flink", "kafka"]);
    assert_eq!(told_of_fallback.cannot[0].name, "flink");
    assert_eq!(told_of_fallback.ran.len(), 2);
    assert!(told_of_fallback.text(false).contains("flink cannot carry the query: its watermark"));
    let asof =
        "plan inputs=l(0s),r(0s) stages=asof(on=k,tolerance=10s)\nrow l/p0 10:00:00 k=a\nbatch\n";
    let told_of_asof = told(asof, &["seed", "spark-4"]);
    assert!(told_of_asof.cannot[0].reason.contains("no knob for this profile's t <= w"));
}

#[test]
fn what_a_profile_misses_is_repeated() {
    let told = told(BEHIND, &["seed", "risingwave"]);
    let text = told.text(false);
    assert!(text.contains("risingwave is unverified: a maximum per actor; "), "{text}");
    assert!(!text.contains("seed is unverified"), "{text}");
}

#[test]
fn sessions_that_touch_are_one_or_two_and_a_missing_one_is_missing() {
    let text = "\
        plan delay=0s stages=session(10s,key=k)\n\
        row p0 10:00:00 k=a\n\
        row p0 10:00:10 k=a\n\
        batch\n\
        end\n";
    let told = told(text, &["seed", "spark-4"]);
    assert_eq!(
        figures(&told),
        [
            ("[10:00:00,10:00:10) k=a", vec![Some("count=1"), None]),
            ("[10:00:00,10:00:20) k=a", vec![None, Some("count=2")]),
            ("[10:00:10,10:00:20) k=a", vec![Some("count=1"), None]),
        ]
    );
}

#[test]
fn a_pair_is_told_apart_from_a_row_without_a_partner() {
    let text = "\
        plan inputs=l(0s),r(0s) stages=join(left,on=k,from=0s,to=10s)\n\
        row l/p0 10:00:00 k=a\n\
        row l/p0 10:00:05 k=b\n\
        row r/p0 10:00:05 k=b\n\
        batch\n\
        row r/p0 10:00:05 k=b v=1\n\
        batch\n\
        end\n";
    // Spark: t <= w is late; the founding text: t < w is.
    let told = told(text, &["seed", "spark-4"]);
    assert_eq!(fates(&told, 5), ["counted, 10:00:05 >= 10:00:05", "late, 10:00:05 <= 10:00:05"]);
    let pair = figures(&told);
    assert_eq!(pair.len(), 1, "{pair:?}");
    assert_eq!(pair[0].1, [Some("written"), None]);
}

#[test]
fn a_restart_that_forgets_the_watermark_publishes_a_window_twice() {
    let text = "\
        plan window=tumbling(10s) delay=2s effective=row\n\
        row p0 10:00:01 k=a\n\
        row p0 10:00:12 k=a\n\
        probe\n\
        checkpoint\n\
        crash\n\
        row p0 10:00:02 k=a\n\
        probe\n\
        row p0 10:00:12 k=a\n\
        probe\n";
    let told = told(text, &["trace", "flink"]);
    assert_eq!(fates(&told, 6), ["late, 10:00:02 < 10:00:10", "counted, no watermark in force"]);
    let twice = ("[10:00:00,10:00:10) k=a", vec![Some("count=1"), Some("count=1 2 times")]);
    assert_eq!(figures(&told), [twice]);
    assert!(told.ran[1].notes[0].starts_with("a restart forgets the watermark"));
}

#[test]
fn a_row_that_no_batch_takes_waits() {
    let text = "plan window=tumbling(10s) delay=2s\nbatch\nrow p0 10:00:01 k=a\n";
    let told = told(text, &["seed", "jet"]);
    let jet = "counted, no watermark in force";
    assert_eq!(fates(&told, 2), ["waits, no batch has taken it", jet]);
    assert_eq!(told.ran[0].rows_other, 1);
}

#[test]
fn cuts_after_every_row_make_the_lag_of_batches_one_row() {
    let text = "\
        plan window=tumbling(10min) delay=2min effective=row\n\
        row p0 10:08:30 k=a\n\
        row p0 10:12:00 k=a\n\
        row p0 10:09:55 k=a\n";
    let trace = trace(text);
    let lost = |cuts| {
        let told = compare(&trace, &["trace", "seed"], cuts).expect("known");
        told.ran.iter().map(|it| it.rows_late).collect::<Vec<_>>()
    };
    assert_eq!((lost(Cuts::AsWritten), lost(Cuts::EachRow)), (vec![1, 0], vec![1, 1]));
}

#[test]
fn two_plans_that_differ_in_rules_alone_are_the_same_under_one_profile() {
    let plans = [
        BEHIND.to_owned(),
        "plan delay=1s stages=session(5s)|window(tumbling(1h))\n".to_owned(),
        "plan inputs=l(1s),r(2s) stages=join(full,on=k,from=-1s,to=1s)|dedup(l_k+l_time)\n"
            .to_owned(),
    ];
    for text in &plans {
        let plan = trace(text).plan;
        for (a, b) in profile::all().iter().flat_map(|a| profile::all().iter().map(move |b| (a, b)))
        {
            let Ok(first) = dress(&plan, a) else { continue };
            assert_eq!(dress(&first, b), dress(&plan, b), "{text} {} {}", a.name, b.name);
        }
    }
}

#[test]
fn a_profile_sets_every_knob_that_the_query_has_a_place_for_and_nothing_else() {
    let plan = trace(BEHIND).plan;
    let spark = profile::named("spark-4").expect("listed");
    let dressed = dress(&plan, spark).expect("Spark has windows");
    let flow = dressed.flow.as_ref().expect("a flow");
    let StagePlan::Window(window) = &flow.stages[0] else { panic!("{flow:?}") };
    let old = plan.operator.as_ref().expect("a window");
    assert_eq!((window.window, &window.keys), (old.window, &old.keys));
    assert_eq!((window.late, flow.follow_up), (LateRule::WindowEnd, FollowUp::WhenMoved));
    assert_eq!(flow.null_time, NullTime::Epoch);
    let watermark = dressed.watermark.as_ref().expect("there is one");
    assert_eq!((watermark.effective, watermark.initial.0), (Effective::BatchAfterNext, 0));
    assert_eq!(watermark.delay, plan.watermark.as_ref().expect("there is one").delay);
    let flink = profile::named("flink").expect("listed");
    let dressed = dress(&plan, flink).expect("Flink has windows");
    assert_eq!(dressed.trigger, Trigger::Row);
    assert!(dressed.flow.expect("a flow").levels.is_some());
}

#[test]
fn the_order_of_names_changes_columns_and_nothing_else() {
    let there = told(BEHIND, &["seed", "flink"]);
    let back = told(BEHIND, &["flink", "seed"]);
    let rows = |it: &Comparison| it.rows.iter().map(|it| it.row.clone()).collect::<Vec<_>>();
    assert_eq!(rows(&there), rows(&back));
    assert_eq!(there.rows[0].fates[0], back.rows[0].fates[1]);
    assert_eq!(there, told(BEHIND, &["seed", "flink"]), "the same again");
}

#[test]
fn a_page_is_a_page_and_counts_what_it_leaves_out() {
    let mut text = "plan window=tumbling(10s) delay=0s\n".to_owned();
    for second in 0..50 {
        text += &format!("row p0 10:00:{:02} k=a\nbatch\n", second / 2 * 2 + 1 - second % 2);
    }
    let trace = trace(&text);
    let names = ["seed", "spark-4", "flink", "kafka", "jet", "trace"];
    let told = compare(&trace, &names, Cuts::AsWritten).expect("known");
    let page = told.text(false);
    assert!(page.lines().count() <= 40, "{}:\n{page}", page.lines().count());
    assert!(page.contains(" more: --all shows them"), "{page}");
    assert!(!told.text(true).contains("--all"));
    assert_eq!(compare(&normalized(&trace), &names, Cuts::AsWritten).expect("known"), told);
}
