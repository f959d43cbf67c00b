//! Cases: a trace drawn from a seed, and smaller ones of it.
//!
//! The strategy draws a world of the embedded scenarios and makes it qualify for the law. The value
//! tree shrinks with the project's own shrinker: it walks over the traces that are one step simpler
//! and moves on to the first that breaks the law as well.
//!
//! Invariant: the draws of a law are the same on every run and every machine, and shrinking ends,
//! because every candidate is simpler than the trace that it is a candidate of.

use super::{Held, Law, No};
use plimsoll_sim::scenario::default_world;
use plimsoll_sim::shrink::candidates;
use plimsoll_sim::trace::write::write;
use plimsoll_sim::trace::{Item, Trace};
use proptest::num::u64::ANY;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Cases of each law.
const CASES: u32 = 96;

/// Small draws for the steps of a transformation (splitmix64).
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw(u64);

impl From<u64> for Draw {
    fn from(seed: u64) -> Self {
        Self(seed)
    }
}

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to and without `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        assert!(0 < n, "a draw from nothing");
        (self.next() % n as u64) as usize
    }

    /// One of these.
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// True once in so many draws.
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Another order, in place.
    pub(super) fn shuffle<T>(&mut self, all: &mut [T]) {
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i + 1));
        }
    }
}

/// A trace, and the seed of what the law draws.
#[derive(Clone)]
struct Case {
    seed: u64,
    draw: u64,
    trace: Trace,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let head = format!("world of seed {}, draws of the law from {}", self.seed, self.draw);
        let flow = self.trace.plan.flow.as_ref().map(|it| format!("{it:?}"));
        f.write_str(&write(&self.trace, &[head, flow.unwrap_or_default()]))
    }
}

/// A world of the embedded scenarios: one input, at most one window aggregation. Restarts that forget
/// are taken out: the laws speak of runs that remember.
pub(super) fn plain(seed: u64) -> Trace {
    let mut trace = default_world(seed).trace;
    trace.items.retain(|it| !it.forgets());
    trace
}

/// Worlds that were made to qualify.
#[derive(Debug)]
struct Worlds {
    world: fn(u64) -> Trace,
    prepare: fn(&mut Trace, &mut Draw),
}

impl Strategy for Worlds {
    type Tree = Tree;
    type Value = Case;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let seed = ANY.new_tree(runner)?.current();
        let draw = ANY.new_tree(runner)?.current();
        let mut trace = (self.world)(seed);
        (self.prepare)(&mut trace, &mut Draw(draw));
        Ok(Tree::new(Case { seed, draw, trace }))
    }
}

/// A case that fails, the simpler one that is tried now, and the next that are to be tried.
struct Tree {
    fails: Case,
    tried: Option<Trace>,
    next: std::vec::IntoIter<Trace>,
    /// How many simpler ones were made.
    made: usize,
}

/// So many simpler traces are made at once: all of a long trace's are more than memory holds.
const AT_ONCE: usize = 200;

impl Tree {
    fn new(case: Case) -> Self {
        Self { fails: case, tried: None, next: Vec::new().into_iter(), made: 0 }
    }
}

impl ValueTree for Tree {
    type Value = Case;

    fn current(&self) -> Case {
        match &self.tried {
            Some(trace) => Case { trace: trace.clone(), ..self.fails },
            None => self.fails.clone(),
        }
    }

    /// What is tried now fails too: from here on.
    fn simplify(&mut self) -> bool {
        if let Some(trace) = self.tried.take() {
            self.fails.trace = trace;
        }
        (self.next, self.made) = (Vec::new().into_iter(), 0);
        self.complicate()
    }

    /// What is tried now does not fail: the next one.
    fn complicate(&mut self) -> bool {
        if self.next.len() == 0 {
            let simpler = candidates(&self.fails.trace).skip(self.made).take(AT_ONCE);
            self.next = simpler.collect::<Vec<_>>().into_iter();
            self.made += self.next.len();
        }
        self.tried = self.next.next();
        self.tried.is_some()
    }
}

/// Gives each row cells of its own, in the order of the rows: where they stand names the row.
fn own_cells(trace: &Trace) -> Trace {
    let room = Vec::with_capacity(trace.items.len());
    let mut own = Trace { items: room, cells: Vec::new(), ..trace.clone() };
    for item in &trace.items {
        match item {
            Item::Row(row) => own.push_row(row.partition, trace.cells(*row)),
            other => own.items.push(*other),
        }
    }
    own
}

/// Bytes for the generator, from the name of the law.
fn seed_of(name: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (i, byte) in name.bytes().enumerate() {
        bytes[i % 32] ^= byte;
    }
    bytes
}

/// Whether a law is broken on one of the first so many worlds.
pub(super) fn breaks(law: &Law, worlds: u64) -> bool {
    (0..worlds).any(|seed| is_broken_on(law.world, law.prepare, law.holds, seed))
}

fn is_broken_on(
    world: fn(u64) -> Trace,
    prepare: fn(&mut Trace, &mut Draw),
    holds: fn(&Trace, &mut Draw) -> Held,
    seed: u64,
) -> bool {
    let mut draw = Draw(seed);
    let mut trace = world(seed);
    prepare(&mut trace, &mut draw);
    // A replay that differs is found by the run itself, not by a law.
    trace.items.retain(|it| !matches!(it, Item::Crash { .. }));
    matches!(holds(&own_cells(&trace), &mut Draw(!seed)), Err(No::Broken(_)))
}

/// Most worlds that are asked whether a precondition is needed.
const WORLDS: u64 = 400;

/// A precondition is needed: what the law says, asked without it of worlds that do not meet it, is
/// false of at least so many worlds.
pub(super) fn check_needed(
    world: fn(u64) -> Trace,
    unmeet: fn(&mut Trace, &mut Draw),
    says: fn(&Trace, &mut Draw) -> Held,
    at_least: usize,
) {
    let broken = (0..WORLDS).filter(|seed| is_broken_on(world, unmeet, says, *seed));
    let broken = broken.take(at_least).count();
    assert!(
        at_least <= broken,
        "only {broken} of {WORLDS} worlds show that the precondition is needed"
    );
}

/// Draws the cases of a law and fails with the smallest that breaks it.
pub(super) fn check(law: &Law) {
    let (covered, telling) = (Cell::new(0u32), Cell::new(0u32));
    let skipped = RefCell::new(BTreeMap::<&str, u32>::new());
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 4_000,
        max_shrink_time: 0,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed_of(law.name));
    let mut runner = TestRunner::new_with_rng(config, rng);
    let ran = runner.run(&Worlds { world: law.world, prepare: law.prepare }, |case| {
        // Other draws than those that prepared it.
        let mut draw = Draw(!case.draw);
        match (law.holds)(&own_cells(&case.trace), &mut draw) {
            Ok(tells) => {
                covered.set(covered.get() + 1);
                telling.set(telling.get() + u32::from(tells));
                Ok(())
            }
            Err(No::Uncovered(what)) => {
                *skipped.borrow_mut().entry(what).or_default() += 1;
                Ok(())
            }
            Err(No::Broken(why)) => Err(TestCaseError::fail(why)),
        }
    });
    match ran {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{}: {why}\n{case:?}", law.name),
        Err(TestError::Abort(why)) => panic!("{}: {why}", law.name),
    }
    let (covered, telling) = (covered.get(), telling.get());
    assert!(
        law.covered <= covered && law.telling <= telling,
        "{}: of {CASES} cases {covered} qualified ({} wanted) and {telling} told ({} wanted); \
         missing: {:?}",
        law.name,
        law.covered,
        law.telling,
        skipped.borrow(),
    );
}

#[test]
fn a_broken_law_is_shrunk_with_the_shrinker_of_traces() {
    let rows = |trace: &Trace| trace.items.iter().filter(|it| matches!(it, Item::Row(_))).count();
    let config = Config {
        cases: 1,
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed_of("three rows"));
    let mut runner = TestRunner::new_with_rng(config, rng);
    let ran = runner.run(&Worlds { world: plain, prepare: |_, _| {} }, |case| {
        let few = rows(&case.trace) < 3;
        if few { Ok(()) } else { Err(TestCaseError::fail("three rows or more")) }
    });
    let Err(TestError::Fail(_, case)) = ran else { panic!("{ran:?}") };
    assert_eq!((rows(&case.trace), case.trace.items.len()), (3, 3), "{case:?}");
}
