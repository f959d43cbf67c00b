//! Flows as people write them.

use super::*;
use plimsoll_engine::plan::flow::*;
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::Span;

fn flow(line: &str) -> Flow {
    read(line).unwrap_or_else(|it| panic!("{line}: {it:#?}")).plan.flow.expect(line)
}

fn check_error(line: &str, message: &str) {
    check_errors(line, &[message]);
}

#[test]
fn inputs_have_watermarks_of_their_own() {
    let line = "inputs=left(5s),right(5s,ts2:10s,v>=5),other(none) policy=max \
                columns=ts:time,k:text,v:int,ts2:time stages=";
    check_canonical(line);
    let flow = flow(line);
    let marks = |it: usize| {
        let marks = flow.inputs[it].marks.iter();
        marks.map(|it| (it.column.0, it.delay.0)).collect::<Vec<_>>()
    };
    assert_eq!(
        (marks(0), marks(1), marks(2)),
        (vec![(0, 5_000)], vec![(0, 5_000), (3, 10_000)], vec![])
    );
    assert_eq!(flow.policy, Policy::Max);
    let filter = Filter { column: ColumnIx(2), compare: Compare::AtLeast, value: 5 };
    assert_eq!(flow.inputs[1].before, [filter]);
}

#[test]
fn an_input_has_filters_behind_its_watermark_and_a_column_that_judges_its_rows() {
    let line = "inputs=left(5s,v=1,behind(v>=5)),right(5s,judged(none)) pairs=v<=v+k!=k \
                stages=join(inner,to=1h,sides=either)|dedup(l_k,at=@7)";
    let flow = flow(line);
    let filter = Filter { column: ColumnIx(2), compare: Compare::AtLeast, value: 5 };
    assert_eq!((flow.inputs[0].before.len(), &flow.inputs[0].behind[..]), (1, &[filter][..]));
    assert_eq!((flow.inputs[0].judged, flow.inputs[1].judged), (Judged::ItsTime, Judged::Nobody));
    assert_eq!(flow.pairs.len(), 2);
    let again = print(&read(line).expect(line));
    assert_eq!(print(&read(&again).expect(&again)), again);
    let judged = "inputs=a(5s,judged(time)),b(5s) stages=join(inner,to=1h)";
    assert_eq!(self::flow(judged).inputs[0].judged, Judged::Column(ColumnIx(0)));
}

#[test]
fn an_input_that_says_no_delay_has_the_one_of_the_plan() {
    let print = |line: &str| print(&read(line).expect(line));
    assert_eq!(print("stages= delay=5s"), "delay=5s stages=");
    assert_eq!(print("inputs=in(5s)"), "delay=5s stages=");
    assert_eq!(print("inputs=a,b(v=1) delay=7s"), "inputs=a(7s),b(7s,v=1) stages=");
    assert_eq!(print("policy=max"), "delay=10min policy=max stages=");
    assert_eq!(
        print("inputs=a(ts2:1s),b(2s) columns=ts:time,ts2:time on=ts"),
        "inputs=a(1s),b(ts:2s) columns=ts:time,ts2:time on=ts2 stages="
    );
    assert_eq!(print("watermark=none stages=dedup(k)"), "watermark=none stages=dedup(k)");
    assert_eq!(
        print("watermark=none inputs=a,b(none)"),
        "inputs=a(none),b(none) watermark=none stages="
    );
}

#[test]
fn every_stage_is_read_and_written() {
    let canonical = [
        "filter(v>=5)",
        "filter(time<10:00:00)|filter(v!=-3)|filter(v=0)",
        "project(v,time)|rename(time,at)|compute(v)|window(tumbling(1h))",
        "window(sliding(10min,1min),key=k+v,agg=count+sum(v)+avg(v)+min(time),late=window_end,\
         late_policy=side_output,lateness=1min,early=3,carry=retracting)",
        "session(5min,key=v,agg=max(v),late=merged,touching=merge,max_span=1h,lateness=30s)",
        "session(gap:v,late=proto)",
        "global(key=k+time,time=time,late=event_inclusive)",
        "count(3,agg=sum(v))",
        "dedup(k)|dedup(k+time)|dedup(k,within=5s)|dedup(k+time,never,late=event_inclusive)",
        "dedup(k,with_time)|dedup(v,time=none)",
        "join(left,from=-10min,to=5min,late=window_end,grace=1s,expiry=at_bound+own_time,sides=combined)",
        "join(inner,on=k+v:k,after=0s,before=1min,left_if=v>1,right_if=v<=2)",
        "join(full,on=,window=tumbling(10min),expiry=none)",
        "join(semi,from=-1s,from=0s,to=5s,before=9s)",
        "join(anti,from=none,from=1s,to=none,to=2s)",
        "asof(tolerance=10s,outer)|filter(r_v>0)",
        "window(tumbling(10min),agg=sum(v))|window(tumbling(1h),agg=sum(sum(v)))|filter(sum(sum(v))>3)",
        "join(inner,from=0s,to=1h)|window(tumbling(1h),agg=count+sum(r_v))|count(2,key=window_end)",
    ];
    for stages in canonical {
        check_canonical(&format!("delay=10min stages={stages}"));
    }
    check_canonical(
        "inputs=a(1s),b(none) effective=probe chain=same follow_up=when_moved null_time=epoch \
         hindsight=1h output=update stages=window(tumbling(1min)) clock=10:00:00",
    );
}

#[test]
fn the_time_column_is_followed() {
    let times = |line: &str| -> Vec<usize> {
        let flow = flow(line);
        let time = |it: &StagePlan| match it {
            StagePlan::Window(it) => Some(it.time.0),
            StagePlan::Session(it) => Some(it.time.0),
            _ => None,
        };
        flow.stages.iter().filter_map(time).collect()
    };
    let of = "columns=a:time,time:time,k:text on=time";
    assert_eq!(times(&format!("{of} stages=rename(time,b)|window(tumbling(1h))")), [1]);
    // Behind the first window the end - 1, which is the third column.
    assert_eq!(times(&format!("{of} stages=window(tumbling(1h))|session(1h)")), [1, 2]);
    // Behind a join the left side's.
    assert_eq!(times(&format!("{of} stages=join(inner,time=time:a)|session(1h)")), [1]);
    // Without it the first that is there.
    assert_eq!(times(&format!("{of} stages=project(k,a)|session(1h)")), [1]);
}

#[test]
fn defaults_come_from_the_profile_where_it_has_them() {
    let print = |line: &str| print(&read(line).expect(line));
    assert_eq!(
        print("profile=spark-4 stages=window(tumbling(10min))"),
        "delay=0s initial=00:00:00 effective=batch_after_next follow_up=when_moved null_time=epoch \
         stages=window(tumbling(10min),late=window_end)"
    );
    assert_eq!(
        print(
            "profile=spark-4 follow_up=never null_time=nowhere initial=-inf effective=row \
             inputs=a,b stages=join(left,to=1h)|session(5min)|dedup(l_k)",
        ),
        "inputs=a(0s),b(0s) effective=row stages=join(left,to=1h,late=event_inclusive,\
         expiry=loosest,sides=both)|session(5min,late=proto,touching=merge)|\
         dedup(l_k,late=event_inclusive)"
    );
    assert_eq!(
        print("profile=flink stages= levels="),
        "delay=0s watermark=partition effective=probe stages= levels=anchor=first_quiet_probe,\
         emptied=frozen,idle_end=unheard,paused_idle=stays,partitions(waking=with_progress),\
         tasks(rejoin=catch_up,all_idle=flush_if_last)"
    );
    assert_eq!(
        read("profile=flink").map(|it| it.plan.watermark.map(|it| it.effective)),
        Ok(Some(Effective::NextBatch))
    );
}

#[test]
fn levels_are_read_and_written() {
    for levels in [
        "",
        "count=2+1,idle=5s,emission=200ms",
        "partitions(rejoin=catch_up),tasks(all_idle=flush_if_last),inputs(waking=with_progress)",
        "align(1s)",
        "align(1s,sampling=oldest(3),limit=drift(5s))",
    ] {
        check_canonical(&format!("inputs=a(1s),b(1s) effective=probe stages= levels={levels}"));
    }
    check_errors(
        "stages= levels=cout=2,align(soon,limit=high),tasks,inputs(rejoin=no)",
        &[
            "levels: expected a span such as 10min, 2min5s or 250ms, found `soon`",
            "levels: expected `announced` or `drift(SPAN)`, found `high`",
            "levels: expected `partitions(..)`, `tasks(..)`, `inputs(..)`, `align(PERIOD,..)` or an \
             argument such as `idle=5s`, found `tasks`",
            "levels: expected `hold` or `catch_up`, found `no`",
            "levels: expected an argument of `levels`; the nearest is `count`, found `cout`",
        ],
    );
}

#[test]
fn blanks_around_parts_do_not_matter() {
    let spaced = plan_from_pairs([(
        "stages",
        " filter( v >= 5 ) | window( tumbling( 1h ) , key = k + v , agg = count + sum( v ) ) ",
    )]);
    let dense = read("stages=filter(v>=5)|window(tumbling(1h),key=k+v,agg=count+sum(v))");
    assert_eq!(spaced, dense);
}

#[test]
fn all_mistakes_of_a_flow_are_reported_at_once() {
    check_errors(
        "inputs=a(x:5s),a,b(none,5s),(1s) policy=most stages=windw(1h)|filter(x>1)|\
         dedup(k,within=5s,never)|join(outer,fro=1s,on=q) chain=none",
        &[
            "inputs: expected a column that is there; the nearest is `k`, found `x`",
            "inputs: expected each input once, found `a`",
            "inputs: expected either `none` or spans, found `none,5s`",
            "inputs: expected an input such as `left(5s)`: a name without `|+<>!` and what separates, \
             then spans, `COLUMN:SPAN`, comparisons, `behind(COMPARISON)`, `judged(COLUMN)` or `none`, found `(1s)`",
            "stages: expected in stage 1 a stage such as `window`; the nearest is `window`, found `windw`",
            "stages: expected in stage 3 one of `within=SPAN`, `at=TIME`, `with_time` and `never`, found `two of them`",
            "stages: expected in stage 4 `inner`, `left`, `right`, `full`, `semi` or `anti`, found `outer`",
            "stages: expected in stage 4 an argument of `join`; the nearest is `from`, found `fro`",
            "policy: expected `min` or `max`, found `most`",
            "chain: expected `previous` or `same`, found `none`",
        ],
    );
}

#[test]
fn each_mistake_of_a_flow_says_what_was_expected() {
    let cases = [
        (
            "stages=filter(v) window=none key=k",
            "window: expected it inside of a stage: in a flow each stage says it for itself, found `window=none`",
        ),
        (
            "effective=probe",
            "effective: expected `stages` with it: only a flow has probes, found `effective=probe`",
        ),
        (
            "stages=filter(v~1)",
            "stages: expected in stage 1 a comparison such as `v>=5`, with `<`, `<=`, `=`, `!=`, `>=` or `>`, found `v~1`",
        ),
        (
            "stages=filter(v>x)",
            "stages: expected in stage 1 an integer that fits 64 bits, found `x`",
        ),
        ("stages=filter(time>5)", "stages: expected in stage 1 `:` and the minutes, found the end"),
        (
            "stages=window()",
            "stages: expected in stage 1 windows such as `tumbling(10min)`, found `window`",
        ),
        (
            "stages=window(none)",
            "stages: expected in stage 1 `tumbling(SIZE)`, `tumbling(SIZE,OFFSET)`, `sliding(SIZE,SLIDE)` or `sliding(SIZE,SLIDE,OFFSET)`, found `none`",
        ),
        (
            "stages=window(tumbling(1h),key=k,key=v)",
            "stages: expected in stage 1 each argument once, found `key=v`",
        ),
        (
            "stages=window(tumbling(1h),k)",
            "stages: expected in stage 1 nothing more by place in `window`, found `k`",
        ),
        (
            "stages=window(tumbling(1h)",
            "stages: expected as many `)` as `(`, found `window(tumbling(1h)`",
        ),
        (
            "stages=window(tumbling(1h)))",
            "stages: expected as many `)` as `(`, found `window(tumbling(1h)))`",
        ),
        (
            "stages=filter(v>1)|",
            "stages: expected in stage 2 a stage such as `window`; the nearest is `join`, found the end",
        ),
        (
            "stages=session(soon)",
            "stages: expected in stage 1 a span such as 10min, 2min5s or 250ms, found `soon`",
        ),
        (
            "stages=session(gap:x)",
            "stages: expected in stage 1 a column that is there; the nearest is `k`, found `x`",
        ),
        (
            "stages=global(late=event)",
            "stages: expected in stage 1 `time=COLUMN` with it: without it nothing is late, found `late`",
        ),
        ("stages=count(few)", "stages: expected in stage 1 a number of rows, found `few`"),
        (
            "stages=join(inner,expiry=soon)",
            "stages: expected in stage 1 `exact`, `none`, or of `at_bound`, `with_grace`, `own_time` or `loosest` some with `+` between them, found `soon`",
        ),
        (
            "stages=asof(on=k)",
            "stages: expected in stage 1 `tolerance=SPAN`, how old the right row may be, found `none of it`",
        ),
        (
            "stages=project(v)|window(tumbling(1h))",
            "stages: expected in stage 2 `time=COLUMN`: no column of kind `time` comes here, found `none of it`",
        ),
        (
            "stages=rename(v,a+b)",
            "stages: expected in stage 1 a name without `|+<>!` and what separates, found `a+b`",
        ),
        ("inputs=", "inputs: expected from 1 to 16 inputs, found the end"),
        (
            "inputs=a(none)",
            "inputs: expected an input with a watermark, or `watermark=none`, found `a(none)`",
        ),
        (
            "inputs=a(1s) watermark=none",
            "inputs: expected no delay: with `watermark=none` no input has a watermark, found `1s`",
        ),
        (
            "inputs=a(1s) delay=2s",
            "delay: expected no such key: every input says its own, found `delay=2s`",
        ),
        (
            "columns=t:time,a+b:int stages=",
            "columns: expected a name without `|+<>!` in a flow, whose values have more parts, found `a+b`",
        ),
        (
            "hindsight=long",
            "hindsight: expected a span such as 10min, 2min5s or 250ms, found `long`",
        ),
    ];
    for (line, message) in cases {
        let errors = read(line).expect_err(line);
        assert!(errors.iter().any(|it| it.to_string() == message), "{line}: {errors:#?}");
    }
    let many = (0..17).map(|it| format!("i{it}")).collect::<Vec<_>>().join(",");
    check_error(
        &format!("inputs={many}"),
        "inputs: expected from 1 to 16 inputs, found `i0,i1,i2,i3,i4,i5,i6,i7,i8,i9,i10,i11,i1..`",
    );
}

#[test]
fn a_column_that_nobody_can_write_may_stand_in_a_plain_plan() {
    check_canonical("window=tumbling(10min) delay=10min columns=t:time,a+b:int,none:text key=a+b");
}

#[test]
fn bounds_are_ranges_in_order() {
    let ranges = |line: &str| match &flow(&format!("stages=join(inner,{line})")).stages[0] {
        StagePlan::Join(it) => it.ranges.clone(),
        other => panic!("{other:?}"),
    };
    let edge = |at: i64, open: bool| Some(Edge { at: Span::seconds(at), open });
    assert_eq!(
        ranges("from=1s,before=2s"),
        [Range { lower: edge(1, false), upper: edge(2, true) }]
    );
    assert_eq!(
        ranges("to=1s,after=2s,from=3s"),
        [
            Range { lower: None, upper: edge(1, false) },
            Range { lower: edge(2, true), upper: None },
            Range { lower: edge(3, false), upper: None },
        ]
    );
}
