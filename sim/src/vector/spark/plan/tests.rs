//! Queries become plans with the rules of Spark.

use super::*;
use crate::vector::spark::{Gap, Join, JoinType, Operator};
use plimsoll_engine::plan::flow::StagePlan;
use plimsoll_engine::plan::problem::spark::Moment;

fn query(operator: Operator, inputs: &[&str]) -> Query {
    let input = |name: &&str| Input {
        name: (*name).to_owned(),
        delay: Some(5000),
        column: "ts".to_owned(),
        further: Vec::new(),
        extra_columns: Vec::new(),
        filter: None,
    };
    Query {
        inputs: inputs.iter().map(input).collect(),
        operator,
        output_mode: OutputMode::Append,
        watermark_policy: Policy::Min,
        no_data_batches: true,
        state_partitions: 1,
        engine_conf: Vec::new(),
    }
}

fn join(kind: JoinType, residual: Option<&str>) -> Operator {
    Operator::Join(Join {
        kind,
        on: Some("k".to_owned()),
        lower: Some(0),
        upper: Some(10_000),
        lower_open: false,
        upper_open: false,
        on_time: false,
        window: None,
        keep_times: false,
        residual: residual.map(str::to_owned),
    })
}

fn flow(query: &Query) -> Flow {
    let mapped = map(query).expect("it runs");
    mapped.plan.flow.clone().expect("a flow")
}

#[test]
fn a_filter_on_another_column_is_moved_below_the_watermark_and_one_on_the_time_is_not() {
    let filtered = |column: &str| {
        let mut query = query(Operator::Passthrough, &["in"]);
        let column = column.to_owned();
        query.inputs[0].filter =
            Some(super::super::Filter { column, op: Comparator::Lt, value: Against::Number(5) });
        flow(&query)
    };
    let filters = |it: &str| {
        let flow = filtered(it);
        [flow.inputs[0].before.len(), flow.inputs[0].behind.len(), flow.stages.len()]
    };
    assert_eq!((filters("v"), filters("ts")), ([1, 0, 0], [0, 1, 0]));
}

#[test]
fn null_keys_are_filtered_before_the_watermark_on_sides_that_are_never_written_alone() {
    let before = |kind| {
        let flow = flow(&query(join(kind, None), &["left", "right"]));
        [0, 1].map(|it| flow.inputs[it].before.len())
    };
    assert_eq!(before(JoinType::Inner), [1, 1]);
    assert_eq!(before(JoinType::LeftOuter), [0, 1]);
    assert_eq!(before(JoinType::RightOuter), [1, 0]);
    assert_eq!(before(JoinType::FullOuter), [0, 0]);
    assert_eq!(before(JoinType::LeftSemi), [1, 1]);
}

#[test]
fn a_condition_on_an_outer_side_decides_at_once_and_on_an_inner_side_before_the_watermark() {
    let left = flow(&query(join(JoinType::LeftOuter, Some("l_v > 1")), &["left", "right"]));
    let StagePlan::Join(plan) = &left.stages[0] else { panic!("a join: {left:?}") };
    assert_eq!(plan.only_if[0].map(|it| it.value), Some(1));
    let right = flow(&query(join(JoinType::LeftOuter, Some("r_v > 1")), &["left", "right"]));
    assert_eq!(right.inputs[1].before.len(), 2);
    let text = map(&query(join(JoinType::Inner, Some("l_v + r_v > 1")), &["left", "right"]));
    assert!(matches!(text, Err(Unmapped::Foreign(_))), "{text:?}");
}

#[test]
fn one_setting_selects_the_other_profile_and_no_other_is_known() {
    let mut query = query(Operator::Passthrough, &["in"]);
    query.engine_conf = vec![(ONE_WATERMARK.to_owned(), "false".to_owned())];
    assert_eq!(map(&query).expect("it runs").profile.name, "spark-compat");
    query.engine_conf = vec![("spark.some.setting".to_owned(), "1".to_owned())];
    assert!(matches!(map(&query), Err(Unmapped::Foreign(_))));
}

#[test]
fn the_earliest_refusal_is_the_one_that_spark_gives() {
    let mut session = query(
        Operator::Session { gap: Gap::Fixed(1), keys: Vec::new(), aggs: Vec::new() },
        &["in"],
    );
    let fails = map(&session).expect("it starts").fails.expect("it fails");
    assert_eq!(fails.moment, Some(Moment::FirstBatch));
    session.inputs[0].delay = Some(-1);
    let Err(Unmapped::Refused(refused)) = map(&session) else { panic!("refused") };
    assert_eq!(refused.moment, Some(Moment::Building));
}
