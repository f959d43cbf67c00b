//! Each rule on columns: a plan that trips it, and the nearest one that does not.

use crate::plan::check::testing::{codes, operator, sound, watermark};
use crate::plan::check::{CheckedPlan, MAX_KEYS};
use crate::plan::{Aggregate, LineageStep, OutputMode, Plan, Sink};
use crate::row::{ColumnIx, ColumnKind, ColumnSpec};

fn lineage(steps: &[LineageStep]) -> Vec<&'static str> {
    codes(|it| it.lineage = steps.to_vec())
}

fn rename(from: &str, to: &str) -> LineageStep {
    LineageStep::Rename { from: from.into(), to: to.into() }
}

fn project(names: &[&str]) -> LineageStep {
    LineageStep::Project(names.iter().map(|it| (*it).to_owned()).collect())
}

fn compute(name: &str) -> LineageStep {
    LineageStep::Compute(name.into())
}

/// Update mode into a sink that takes it.
fn update(plan: &mut Plan) {
    plan.output = OutputMode::Update;
    plan.sink = Sink::Keyed;
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let extra = |name: &str| ColumnSpec { name: name.into(), kind: ColumnKind::Integer };
    assert_eq!(codes(|it| it.schema.columns.push(extra("v"))), ["P011"]);
    assert_eq!(codes(|it| it.schema.columns.extend([extra("v"), extra("v")])), ["P011"]);
    assert_eq!(codes(|it| it.schema.columns.push(extra("w"))), [""; 0]);
}

#[test]
fn the_watermark_is_computed_from_a_time_column_that_exists() {
    assert_eq!(codes(|it| watermark(it).column = ColumnIx(4)), ["P012"]);
    assert_eq!(codes(|it| watermark(it).column = ColumnIx(2)), ["P013", "P021"]);
    let on_seen = codes(|it| {
        watermark(it).column = ColumnIx(3);
        operator(it).time = "seen".into();
    });
    assert_eq!(on_seen, [""; 0]);
}

#[test]
fn lineage_steps_name_columns_that_are_there() {
    assert_eq!(lineage(&[rename("nobody", "x")]), ["P014"]);
    assert_eq!(lineage(&[project(&["ts", "k", "v", "nobody"])]), ["P014"]);
    assert_eq!(lineage(&[rename("seen", "v")]), ["P015"]);
    assert_eq!(lineage(&[rename("seen", "seen")]), [""; 0]);
    assert_eq!(lineage(&[rename("seen", "x"), project(&["x", "ts", "k", "v"])]), [""; 0]);
}

#[test]
fn windows_are_cut_on_a_time_column_that_reaches_the_operator() {
    assert_eq!(codes(|it| operator(it).time = "when".into()), ["P016"]);
    assert_eq!(codes(|it| operator(it).time = "v".into()), ["P017", "P021"]);
    let computed = |it: &mut Plan| {
        it.lineage = vec![compute("hour")];
        operator(it).time = "hour".into();
    };
    assert_eq!(codes(computed), ["P018"]);
}

#[test]
fn a_rename_keeps_the_link_and_the_old_name_is_gone() {
    let renamed = |it: &mut Plan| {
        it.lineage = vec![rename("ts", "at")];
        operator(it).time = "at".into();
    };
    assert_eq!(codes(renamed), [""; 0]);
    let mut plan = sound();
    renamed(&mut plan);
    let (checked, _) = CheckedPlan::new(plan).expect("sound");
    assert_eq!((checked.window_column(), checked.linked()), (Some(ColumnIx(0)), true));

    let mut plan = sound();
    plan.lineage = vec![rename("ts", "at")];
    let problems = CheckedPlan::new(plan).expect_err("the old name finds nothing");
    assert_eq!(problems[0].code.number(), "P016");
    assert!(problems[0].remedy.contains("`at`"), "{}", problems[0]);
}

#[test]
fn a_projection_that_drops_the_column_breaks_the_link() {
    assert_eq!(lineage(&[project(&["k", "v"])]), ["P019"]);
    assert_eq!(lineage(&[project(&["k", "v", "ts"])]), [""; 0]);
}

#[test]
fn computing_the_column_anew_breaks_the_link() {
    assert_eq!(lineage(&[compute("ts")]), ["P020"]);
    assert_eq!(lineage(&[compute("seen")]), [""; 0]);
    let in_update_mode = |it: &mut Plan| {
        update(it);
        it.lineage = vec![compute("ts")];
    };
    assert_eq!(codes(in_update_mode), ["P102"]);
    let mut plan = sound();
    in_update_mode(&mut plan);
    let (checked, _) = CheckedPlan::new(plan).expect("only warned");
    assert_eq!((checked.window_column(), checked.linked()), (Some(ColumnIx(0)), false));
}

#[test]
fn windows_on_another_column_than_the_watermark_are_refused_in_append_mode_only() {
    assert_eq!(codes(|it| operator(it).time = "seen".into()), ["P021"]);
    let in_update_mode = codes(|it| {
        update(it);
        operator(it).time = "seen".into();
    });
    assert_eq!(in_update_mode, ["P102"]);
    assert_eq!(codes(update), [""; 0]);
}

#[test]
fn append_mode_needs_a_watermark() {
    assert_eq!(codes(|it| it.watermark = None), ["P022"]);
    let without_state = |it: &mut Plan| (it.watermark, it.operator) = (None, None);
    assert_eq!(codes(without_state), [""; 0]);
}

#[test]
fn complete_mode_needs_something_to_be_complete_about() {
    let complete = |it: &mut Plan| {
        (it.output, it.sink) = (OutputMode::Complete, Sink::Keyed);
        (it.watermark, it.operator) = (None, None);
    };
    assert_eq!(codes(complete), ["P023"]);
    let with_operator = codes(|it| (it.output, it.sink) = (OutputMode::Complete, Sink::Keyed));
    assert_eq!(with_operator, ["P103"]);
}

#[test]
fn keys_are_columns_that_reach_the_operator_each_once() {
    assert_eq!(codes(|it| operator(it).keys = vec![ColumnIx(7)]), ["P024"]);
    assert_eq!(lineage(&[project(&["ts", "v"])]), ["P024"]);
    assert_eq!(lineage(&[compute("k")]), ["P024"]);
    assert_eq!(codes(|it| operator(it).keys = vec![ColumnIx(1); 3]), ["P025"]);
    assert_eq!(codes(|it| operator(it).keys = vec![ColumnIx(1), ColumnIx(2)]), [""; 0]);
    assert_eq!(codes(|it| operator(it).keys.clear()), [""; 0]);
}

#[test]
fn at_most_thirty_two_columns_make_a_key() {
    let grouped_by = |count: usize| {
        codes(|it| {
            let names = (0..count).map(|n| format!("k{n}"));
            let columns = names.map(|name| ColumnSpec { name, kind: ColumnKind::Integer });
            it.schema.columns.extend(columns);
            operator(it).keys = (4..4 + count).map(ColumnIx).collect();
        })
    };
    assert_eq!(grouped_by(MAX_KEYS + 1), ["P026"]);
    assert_eq!(grouped_by(MAX_KEYS), [""; 0]);
}

#[test]
fn aggregates_read_columns_that_reach_the_operator_each_once() {
    let of = |aggregates: &[Aggregate]| codes(|it| operator(it).aggregates = aggregates.to_vec());
    assert_eq!(of(&[Aggregate::Min(ColumnIx(8))]), ["P027"]);
    assert_eq!(lineage(&[project(&["ts", "k"])]), ["P027"]);
    let sum = Aggregate::Sum(ColumnIx(2));
    assert_eq!(of(&[sum, sum, Aggregate::Count, sum]), ["P029"]);
    assert_eq!(of(&[sum, Aggregate::Avg(ColumnIx(2)), Aggregate::CountOf(ColumnIx(2))]), [""; 0]);
}

#[test]
fn an_aggregate_means_something_for_the_kind_of_its_column() {
    let of = |aggregate| codes(|it| operator(it).aggregates = vec![aggregate]);
    let (text, time) = (ColumnIx(1), ColumnIx(3));
    for aggregate in [Aggregate::Sum(text), Aggregate::Avg(text), Aggregate::Min(text)] {
        assert_eq!(of(aggregate), ["P028"], "{aggregate:?}");
    }
    for aggregate in [Aggregate::Sum(time), Aggregate::Avg(time)] {
        assert_eq!(of(aggregate), ["P028"], "{aggregate:?}");
    }
    for aggregate in [Aggregate::Max(time), Aggregate::CountOf(text), Aggregate::CountOf(time)] {
        assert_eq!(of(aggregate), [""; 0], "{aggregate:?}");
    }
}
