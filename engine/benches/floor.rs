//! Against the floor: what the engine costs over the least that the same work can cost.
//!
//! Times on shared cores mean little, ratios in the same run mean much: repetitions of both sides
//! alternate and the median is taken, in nanoseconds of CPU time per row. What comes out is checked
//! to the last figure first: a fast wrong answer is worth nothing.
//!
//!     cargo bench -p plimsoll-engine --bench floor -- [--rows N] [--reps N] [--flows] [--query Q4] [--floor LIMIT] [FILE..]
//!
//! Without files the workload is drawn here, over 100, 10,000 and 1,000,000 keys, and sessions, a join
//! and dedup (Q3 to Q5) are run as flows beside loops written by hand; `--flows` runs only these and
//! `--query` only those whose names begin so. `--floor` names a program that prints
//! `NAME | FILE | .. | cpu ns/ev med X ..` per variant, run beside.
//!
//! Invariant: both sides give the same digest.
#![expect(clippy::print_stdout, reason = "a bench reports to whoever started it")]
#![expect(clippy::float_arithmetic, reason = "the workload's definition and printed ratios")]

mod floor {
    pub(crate) mod engine;
    pub(crate) mod flows;
    pub(crate) mod limit;
    pub(crate) mod operator;
    pub(crate) mod query;
    pub(crate) mod workload;
}

use floor::limit::{self, Digest};
use floor::workload::Workload;
use floor::{engine, flows, operator, query};
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::{AllIdle, GeneratorPlan, IdlePlan, LateRule, Plan, Rejoin};
use plimsoll_engine::row::RowBatch;
use plimsoll_engine::time::Span;
use std::time::Instant;

fn main() {
    let mut rows = 1_000_000;
    let mut reps = 5;
    let mut program = None;
    let mut files = Vec::new();
    let mut only_flows = false;
    let mut wanted = String::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        let number = |it: String| it.parse().unwrap_or_else(|_| panic!("{word} needs a number"));
        match &word[..] {
            "--bench" => {}
            "--rows" => rows = number(next()),
            "--reps" => reps = number(next()),
            "--floor" => program = Some(next()),
            "--flows" => only_flows = true,
            "--query" => (only_flows, wanted) = (true, next()),
            flag if flag.starts_with('-') => panic!("no option {flag}; see the head of floor.rs"),
            _ => files.push(word),
        }
    }
    let drawn = files.is_empty();
    let workloads: Box<dyn Iterator<Item = (Workload, Option<String>)>> = if files.is_empty() {
        Box::new(
            [100, 10_000, 1_000_000].into_iter().map(move |it| (Workload::draw(rows, it), None)),
        )
    } else {
        Box::new(files.into_iter().map(|it| match Workload::read(&it) {
            Ok(workload) => (workload, Some(it)),
            Err(error) => panic!("{error}"),
        }))
    };
    if drawn {
        compare_flows(rows, reps as usize, &wanted);
    }
    if only_flows {
        return;
    }
    for (workload, file) in workloads {
        compare(&workload, reps as usize);
        if let (Some(program), Some(file)) = (&program, &file) {
            beside(program, file, reps as usize);
        }
    }
}

/// One side of a comparison.
struct Side<'a> {
    name: &'static str,
    run: Box<dyn Fn() -> Digest + 'a>,
    /// What it gave the first time.
    digest: Option<Digest>,
    /// Nanoseconds per row, one per repetition.
    times: Vec<f64>,
}

impl<'a> Side<'a> {
    fn new(name: &'static str, run: impl Fn() -> Digest + 'a) -> Self {
        Self { name, run: Box::new(run), digest: None, times: Vec::new() }
    }

    fn median(&mut self) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[self.times.len() / 2]
    }
}

/// One query.
struct Query<'a> {
    name: &'static str,
    /// The ratio of the last side to the first that is wanted.
    most: f64,
    /// All sides give the same figures.
    same: bool,
    sides: Vec<Side<'a>>,
}

/// The figures of the full workload that must come out exactly: query, fingerprint, late rows, windows.
const EXACT: [(&str, &str, u64, u64); 3] = [
    ("Q1 tumbling 5 min", "e9a3bf313e20bbb2", 16_269, 712_472),
    ("Q1 under the window rule", "e9a3bf313e20bbb2", 12_946, 712_488),
    ("Q2 sliding 10 min by 1 min", "e9a3bf313e20bbb2", 16_269, 3_677_929),
];

fn checked(plan: &Plan) -> CheckedPlan {
    match CheckedPlan::new(plan.clone()) {
        Ok((plan, _)) => plan,
        Err(problems) => panic!("the bench's plan is refused: {problems:?}"),
    }
}

fn compare(workload: &Workload, reps: usize) {
    let fingerprint = format!("{:016x}", workload.fingerprint());
    println!("{}: {} rows, fingerprint {fingerprint}", workload.name, workload.len());
    let batches = query::batches(workload);
    let minutes = Span::minutes;
    let tumbling = query::plan(minutes(5), minutes(5), LateRule::Event);
    let by_window = query::plan(minutes(5), minutes(5), LateRule::WindowEnd);
    let sliding = query::plan(minutes(10), minutes(1), LateRule::Event);
    let mut by_partition = tumbling.clone();
    if let Some(watermark) = &mut by_partition.watermark {
        let idle = IdlePlan { timeout: minutes(2), rejoin: Rejoin::Hold, all_idle: AllIdle::Flush };
        watermark.generator = GeneratorPlan::PartitionMin { idle: Some(idle) };
    }
    let jobs = [&tumbling, &by_window, &sliding, &by_partition].map(checked);
    let queries = [
        Query {
            name: EXACT[0].0,
            most: 3.0,
            same: true,
            sides: vec![
                Side::new("limit", || limit::tumbling(workload, false)),
                Side::new("operator", || operator::run(&tumbling, &batches)),
                Side::new("engine", || engine::run(&jobs[0], &batches, false)),
            ],
        },
        Query {
            name: EXACT[1].0,
            most: 3.0,
            same: true,
            sides: vec![
                Side::new("limit", || limit::tumbling(workload, true)),
                Side::new("operator", || operator::run(&by_window, &batches)),
                Side::new("engine", || engine::run(&jobs[1], &batches, false)),
            ],
        },
        Query {
            name: EXACT[2].0,
            most: 2.0,
            same: true,
            sides: vec![
                Side::new("limit", || limit::sliding(workload)),
                Side::new("operator", || operator::run(&sliding, &batches)),
                Side::new("engine", || engine::run(&jobs[2], &batches, false)),
            ],
        },
        Query {
            name: "Q1 minimum of partitions",
            most: 2.0,
            same: false,
            sides: vec![
                Side::new("one maximum", || engine::run(&jobs[0], &batches, false)),
                Side::new("minimum with idleness", || engine::run(&jobs[3], &batches, true)),
            ],
        },
    ];
    for query in queries {
        run(query, &fingerprint, workload.len(), reps);
    }
}

/// One query that is a flow.
struct FlowQuery<'a> {
    name: &'static str,
    workload: &'a Workload,
    plan: Plan,
    /// Start, key, count and sum of a row that came out.
    take: fn(&RowBatch, usize) -> (i64, u32, u64, i64),
    /// The loop written by hand, for a delay.
    floor: fn(&Workload, i64) -> Digest,
}

/// Q3 to Q5: sessions, a join and dedup, as flows; those whose names begin with `wanted`.
fn compare_flows(rows: u64, reps: usize, wanted: &str) {
    let delay = limit::DELAY;
    let sessions = Workload::draw(rows, 10_000);
    let (joined, repeated) = (Workload::draw_join(rows), Workload::draw_dedup(rows));
    let floors = [
        FlowQuery {
            name: "Q3 sessions, gap 5 min",
            workload: &sessions,
            plan: flows::sessions(),
            take: flows::session_of,
            floor: |it, delay| limit::flows::sessions(it, delay),
        },
        FlowQuery {
            name: "Q4 clicks within 1 h",
            workload: &joined,
            plan: flows::join(),
            take: flows::pair_of,
            floor: |it, _| limit::flows::join(it),
        },
        FlowQuery {
            name: "Q5 first sight of an id",
            workload: &repeated,
            plan: flows::dedup(),
            take: flows::first_of,
            floor: |it, delay| limit::flows::dedup(it, delay),
        },
    ];
    for FlowQuery { name, workload, plan, take, floor } in floors {
        if !name.starts_with(wanted) {
            continue;
        }
        let fingerprint = format!("{:016x}", workload.fingerprint());
        println!("{}: {} rows, fingerprint {fingerprint}", workload.name, workload.len());
        let batches = flows::batches(workload);
        let job = checked(&plan);
        let (_, peak) = flows::run(&job, &batches, take);
        let query = Query {
            name,
            most: 10.0,
            same: true,
            sides: vec![
                Side::new("limit", || floor(workload, delay)),
                Side::new("engine", || flows::run(&job, &batches, take).0),
            ],
        };
        run(query, &fingerprint, workload.len(), reps);
        let per_row = peak as f64 / workload.len() as f64;
        println!("    state: {peak} rows at most, {per_row:.3} per row read");
    }
}

fn run(mut query: Query<'_>, fingerprint: &str, rows: usize, reps: usize) {
    for rep in 0..=reps {
        for side in &mut query.sides {
            let (found, time) = cpu_time(&side.run);
            // The first repetition warms the caches and the allocator.
            if 0 < rep {
                side.times.push(time / rows as f64);
            }
            let expected = *side.digest.get_or_insert(found);
            assert_eq!(found, expected, "{}: two runs of {} differ", query.name, side.name);
        }
    }
    println!("  {}", query.name);
    let first = query.sides[0].digest.unwrap_or_default();
    let floor = query.sides[0].median();
    let mut ratio = 1.0;
    for side in &mut query.sides {
        let found = side.digest.unwrap_or_default();
        if query.same {
            assert_eq!(found, first, "{}: {} counts otherwise", query.name, side.name);
        }
        let exact = EXACT.iter().find(|it| it.0 == query.name && it.1 == fingerprint);
        if let Some((_, _, late, windows)) = exact {
            assert_eq!((found.late, found.windows), (*late, *windows), "{}", query.name);
        }
        let time = side.median();
        ratio = time / floor;
        let Digest { windows, late, .. } = found;
        println!(
            "    {:<22} {time:>6.1} ns/row  ratio {ratio:.2}  {windows} windows, {late} late",
            side.name
        );
    }
    let verdict = if ratio <= query.most { "held" } else { "MISSED" };
    println!("    wanted: a ratio of {:.1} at most: {verdict}", query.most);
}

/// Nanoseconds of CPU time of a call; of wall time where the system does not say.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn cpu_time(run: &dyn Fn() -> Digest) -> (Digest, f64) {
    let cpu = || -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    let (before, wall) = (cpu(), Instant::now());
    let digest = std::hint::black_box(run());
    let wall = wall.elapsed().as_nanos() as f64;
    match (before, cpu()) {
        (Some(before), Some(after)) if before < after => (digest, after - before),
        _ => (digest, wall),
    }
}

/// Runs the floor's own program on the same file and prints what it says, beside our medians.
fn beside(program: &str, file: &str, reps: usize) {
    for query in ["q1", "q2"] {
        let reps = reps.to_string();
        match std::process::Command::new(program).args([query, file, &reps]).output() {
            Ok(output) => {
                for line in String::from_utf8_lossy(&output.stdout).lines() {
                    let name = line.split(" | ").next().unwrap_or_default();
                    let time = line.split("cpu ns/ev med ").nth(1).unwrap_or("?");
                    println!("    {name:<40} {} ns/row", time.split(' ').next().unwrap_or("?"));
                }
            }
            Err(error) => println!("    {program}: {error}"),
        }
    }
}
