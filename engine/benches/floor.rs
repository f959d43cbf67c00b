//! Against the floor: what the engine costs over the least that the same work can cost.
//!
//! Times on shared cores mean little, ratios in the same run mean much: repetitions of both sides
//! alternate and the median is taken, in nanoseconds of CPU time per row. What comes out is checked
//! to the last figure first: a fast wrong answer is worth nothing.
//!
//!     cargo bench -p plimsoll-engine --bench floor -- [--rows N] [--reps N] [--floor LIMIT] [FILE..]
//!
//! Without files the workload is drawn here, over 100, 10,000 and 1,000,000 keys. `--floor` names a
//! program that prints `NAME | FILE | .. | cpu ns/ev med X ..` per variant, run beside.
//!
//! Invariant: both sides give the same digest.
#![expect(clippy::print_stdout, reason = "a bench reports to whoever started it")]
#![expect(clippy::float_arithmetic, reason = "the workload's definition and printed ratios")]

mod floor {
    pub(crate) mod limit;
    pub(crate) mod operator;
    pub(crate) mod workload;
}

use floor::limit::{self, Digest};
use floor::operator;
use floor::workload::Workload;
use plimsoll_engine::plan::LateRule;
use plimsoll_engine::time::Span;
use std::time::Instant;

fn main() {
    let mut rows = 1_000_000;
    let mut reps = 5;
    let mut program = None;
    let mut files = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        let number = |it: String| it.parse().unwrap_or_else(|_| panic!("{word} needs a number"));
        match &word[..] {
            "--bench" => {}
            "--rows" => rows = number(next()),
            "--reps" => reps = number(next()),
            "--floor" => program = Some(next()),
            flag if flag.starts_with('-') => panic!("no option {flag}; see the head of floor.rs"),
            _ => files.push(word),
        }
    }
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
    for (workload, file) in workloads {
        compare(&workload, reps as usize);
        if let (Some(program), Some(file)) = (&program, &file) {
            beside(program, file, reps as usize);
        }
    }
}

/// One query, one side.
struct Side<'a> {
    name: &'static str,
    run: Box<dyn Fn() -> Digest + 'a>,
    /// Nanoseconds per row, one per repetition.
    times: Vec<f64>,
}

impl<'a> Side<'a> {
    fn new(name: &'static str, run: impl Fn() -> Digest + 'a) -> Self {
        Self { name, run: Box::new(run), times: Vec::new() }
    }

    fn median(&mut self) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[self.times.len() / 2]
    }
}

fn compare(workload: &Workload, reps: usize) {
    println!(
        "{}: {} rows, fingerprint {:016x}",
        workload.name,
        workload.len(),
        workload.fingerprint()
    );
    let batches = operator::batches(workload);
    let minutes = Span::minutes;
    let plan = operator::plan;
    let tumbling = plan(minutes(5), minutes(5), LateRule::Event);
    let by_window = plan(minutes(5), minutes(5), LateRule::WindowEnd);
    let sliding = plan(minutes(10), minutes(1), LateRule::Event);
    let queries = [
        (
            "Q1 tumbling 5 min",
            3.0,
            Side::new("limit", || limit::tumbling(workload, false)),
            Side::new("operator", || operator::run(&tumbling, &batches)),
        ),
        (
            "Q1 window rule",
            3.0,
            Side::new("limit", || limit::tumbling(workload, true)),
            Side::new("operator", || operator::run(&by_window, &batches)),
        ),
        (
            "Q2 sliding 10 min by 1 min",
            2.0,
            Side::new("limit", || limit::sliding(workload)),
            Side::new("operator", || operator::run(&sliding, &batches)),
        ),
    ];
    for (query, most, mut floor, mut ours) in queries {
        let mut digest = None;
        for rep in 0..=reps {
            for side in [&mut floor, &mut ours] {
                let (found, time) = cpu_time(&side.run);
                // The first repetition warms the caches and the allocator.
                if 0 < rep {
                    side.times.push(time / workload.len() as f64);
                }
                let expected = *digest.get_or_insert(found);
                assert_eq!(found, expected, "{query}: {} counts otherwise", side.name);
            }
        }
        let (floor, ours) = (floor.median(), ours.median());
        let Digest { windows, late, .. } = digest.unwrap_or_default();
        println!(
            "  {query}: operator {ours:.1} ns/row, limit {floor:.1} ns/row, ratio {:.2} (at most {most:.0}); {windows} windows, {late} late",
            ours / floor
        );
    }
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

/// Runs the floor's own program on the same file and prints what it says.
fn beside(program: &str, file: &str, reps: usize) {
    for query in ["q1", "q2"] {
        let run =
            std::process::Command::new(program).args([query, file, &reps.to_string()]).output();
        match run {
            Ok(output) => {
                for line in String::from_utf8_lossy(&output.stdout).lines() {
                    let name = line.split(" | ").next().unwrap_or_default();
                    let time =
                        line.split("cpu ns/ev med ").nth(1).and_then(|it| it.split(' ').next());
                    println!("  {program} {name}: {} ns/row", time.unwrap_or("?"));
                }
            }
            Err(error) => println!("  {program}: {error}"),
        }
    }
}
