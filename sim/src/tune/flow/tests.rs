use super::*;
use crate::explain::History;
use crate::trace::Trace;
use crate::trace::parse::parse;
use plimsoll_engine::output::Fate;
use plimsoll_engine::row::{ColumnKind, Dictionary};
use plimsoll_engine::time::ProcTime;

fn plan(text: &str) -> Plan {
    parse(&format!("plan {text}\n")).unwrap_or_else(|it| panic!("{it}")).trace.plan
}

/// Rows of an input each, out of order by up to a minute, some without a time.
fn rows(plan: &Plan, seed: u64) -> Vec<Row> {
    let inputs = plan.flow.as_ref().map_or(1, |it| it.inputs.len()) as u64;
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    (0..140)
        .map(|at| {
            let input = draw(inputs) as u32;
            // One input runs behind the other.
            let base = at * 2_000 - i64::from(input) * 15_000;
            let mut time = Some(base - draw(60_000) as i64);
            if draw(20) == 0 {
                time = None;
            }
            let cell = |kind: ColumnKind, draw: &mut dyn FnMut(u64) -> u64| match kind {
                ColumnKind::Time => time,
                ColumnKind::Integer | ColumnKind::Text => Some(draw(4) as i64),
            };
            let columns = &plan.schema.columns;
            let cells = columns.iter().map(|it| cell(it.kind, &mut draw)).collect();
            let partition = PartitionId::of(input, 0, draw(3) as u32);
            let line = at as u64 + 1;
            Row { line, time: time.map(EventTime), arrival: None, partition, cells }
        })
        .collect()
}

/// How many rows the engine loses under a plan.
fn lost(plan: &Plan, rows: &[Row]) -> u64 {
    let mut dictionary = Dictionary::default();
    (0..4).for_each(|it| {
        dictionary.code(&format!("t{it}"));
    });
    let mut trace = Trace {
        plan: plan.clone(),
        clock: ProcTime(0),
        dictionary,
        items: Vec::new(),
        cells: Vec::new(),
    };
    rows.iter().for_each(|it| trace.push_row(it.partition, &it.cells));
    trace.items.push(crate::trace::Item::Probe);
    let history = History::of_engine(&trace, &mut |_| {}).unwrap_or_else(|it| panic!("{it:?}"));
    let late = |it: &&plimsoll_engine::output::RowRecord| matches!(it.fate, Fate::Late(late) if late.windows_kept == 0);
    history.fates.values().filter(late).count() as u64
}

fn with_delays(plan: &Plan, delay: impl Fn(usize, Span) -> Span) -> Plan {
    let mut changed = plan.clone();
    let flow = changed.flow.as_mut().expect("a flow");
    let marks = flow.inputs.iter_mut().flat_map(|it| &mut it.marks);
    for (at, mark) in marks.enumerate() {
        mark.delay = delay(at, mark.delay);
    }
    let first = flow.inputs.iter().flat_map(|it| &it.marks).next().copied();
    changed.watermark.as_mut().expect("a watermark").delay = first.expect("a mark").delay;
    changed
}

const PLANS: [&str; 9] = [
    "delay=3s effective=row trigger=row stages=session(5s)",
    "delay=3s effective=row trigger=row stages=session(5s,late=proto,lateness=2s)",
    "inputs=a(4s),b(20s) effective=row trigger=row stages=window(tumbling(10s))",
    "inputs=a(4s),b(20s) policy=max effective=row trigger=row stages=session(3s)",
    "inputs=a(4s),b(none) effective=row trigger=row stages=window(sliding(10s,5s),late=window_end,lateness=3s)",
    "inputs=a(10s),b(0s) watermark=partition effective=row trigger=row stages=window(tumbling(10s),late=frame)",
    "inputs=a(4s,v>0),b(2s) effective=row trigger=row stages=filter(v<3)|session(5s,late=proto)",
    "inputs=a(4s),b(2s),c(9s) effective=row trigger=row stages=project(k,time)|window(tumbling(10s))|window(tumbling(1min),agg=sum(count))",
    "inputs=a(4s,t2:9s),b(2s) columns=time:time,k:text,t2:time policy=max effective=row trigger=row stages=window(tumbling(10s),time=t2)",
];

/// M13 over several inputs.
#[test]
fn the_loss_at_every_delay_is_what_the_engine_loses_there() {
    let mut lost_somewhere = 0;
    for (number, text) in PLANS.iter().enumerate() {
        let plan = plan(text);
        let Ok(_) = FlowTuner::new(&plan) else { panic!("{text}") };
        for seed in 0..4 {
            let rows = rows(&plan, seed * 9 + number as u64 + 1);
            let mut tuner = FlowTuner::new(&plan).unwrap();
            rows.iter().for_each(|it| tuner.observe(it));
            let tuning = tuner.finish().expect("rows were judged");
            assert_eq!(tuning.counts.lost, lost(&plan, &rows), "{text}, seed {seed}");
            for delay in [0, 1, 2_500, 9_000, 15_000, 31_000, 62_000].map(Span) {
                let found = lost(&with_delays(&plan, |_, _| delay), &rows);
                assert_eq!(
                    tuning.common.lost(delay),
                    found,
                    "{text}, seed {seed}, all at {delay:?}"
                );
                for (line, it) in tuning.lines.iter().enumerate() {
                    let one = |at, planned| if at == line { delay } else { planned };
                    let found = lost(&with_delays(&plan, one), &rows);
                    let name = format!("{text}, seed {seed}, {} at {delay:?}", it.name);
                    assert_eq!(it.curve.lost(delay), found, "{name}");
                    lost_somewhere += found;
                }
            }
        }
    }
    assert!(1_000 < lost_somewhere, "{lost_somewhere} rows");
}

#[test]
fn what_depends_on_more_than_the_delay_is_refused_with_a_reason() {
    let refused = [
        ("delay=0s effective=row stages=session(5s,late=merged)", "depends on the delay"),
        ("inputs=a(0s),b(0s) stages=join(inner,from=0s,to=1s)", "is a join"),
        ("delay=0s stages=dedup(k+time)", "drops duplicates"),
        (
            "delay=0s output=update sink=keyed stages=global()",
            "neither windows of time nor sessions",
        ),
        ("delay=0s stages=filter(v<1)", "nothing is late"),
        ("profile=flink delay=0s stages=window(tumbling(1s)) levels=", "levels"),
        ("delay=0s watermark=partition idle=1s stages=session(1s)", "reads the clock"),
        ("delay=0s fallback=1s stages=session(1s)", "reads the clock"),
        ("delay=0s output=complete sink=keyed stages=window(tumbling(1s))", "nothing is late"),
    ];
    for (text, wanted) in refused {
        let found = FlowTuner::new(&plan(text)).map(|_| ()).expect_err(text);
        assert!(found.contains(wanted), "{text}: {found}");
    }
}

#[test]
fn a_delay_that_cannot_help_is_said_to() {
    let plan = plan("inputs=a(0s),b(0s) policy=max effective=row stages=session(1s)");
    let mut tuner = FlowTuner::new(&plan).unwrap();
    for (line, (input, time)) in (1..).zip([(0, 50_000), (1, 50_000), (0, 10_000)]) {
        let mut cells = vec![None; plan.schema.columns.len()];
        cells[0] = Some(time);
        let partition = PartitionId::of(input, 0, 0);
        tuner.observe(&Row { line, time: Some(EventTime(time)), arrival: None, partition, cells });
    }
    let tuning = tuner.finish().unwrap();
    let mut text = String::new();
    text::write(&tuning, 100, &text::delays_of(&tuning), &mut text).unwrap();
    for wanted in [
        "policy=max: the fastest watermark counts",
        "One delay for all inputs: 40s is the smallest that loses at most 0.1 %",
        "The delay of a, the others as planned: no delay loses at most 0.1 %; the others lose more.",
    ] {
        assert!(text.contains(wanted), "no `{wanted}` in\n{text}");
    }
}
