//! Jobs whose watermark goes through levels: rows that wait, what resumes them, restarts in between.
//!
//! Invariant: a row that waits is read once.

use crate::job::Job;
use crate::output::{Fate, IgnoredWhy, Output};
use crate::plan::check::CheckedPlan;
use crate::plan::check::testing::sound;
use crate::plan::flow::{Flow, HoleRule, InputPlan, Mark, PanePlan, StagePlan, WindowStage};
use crate::plan::levels::{AlignmentPlan, LevelsPlan, Limit, Sampling};
use crate::plan::{
    Aggregate, Effective, LatePolicy, LateRule, Plan, Trigger, WatermarkPlan, WindowSpec,
};
use crate::profile;
use crate::row::{ColumnIx, ItemId, PartitionId, RowBatch};
use crate::snapshot::RestoreRules;
use crate::time::{EventTime, ProcTime, Span};
use crate::watermark::levels::Steer;
use crate::watermark::member::Change;

const TS: ColumnIx = ColumnIx(0);

/// Windows of 10 over one input, no delay, limits of alignment as they are announced.
fn plan() -> CheckedPlan {
    let rules = profile::named("flink").and_then(|it| it.levels).expect("it has levels");
    let size = Span(10);
    let window = WindowStage {
        time: TS,
        window: WindowSpec { size, slide: size, offset: Span::ZERO },
        keys: Vec::new(),
        aggregates: vec![Aggregate::Count],
        late: LateRule::WindowEnd,
        late_policy: LatePolicy::Drop,
        lateness: Span::ZERO,
        panes: PanePlan::TOTALS,
        hole: HoleRule::NoWindow,
    };
    let marks = vec![Mark { column: TS, delay: Span::ZERO }];
    let input = InputPlan::of("in".to_owned(), marks);
    let mut flow = Flow::of(vec![input], vec![StagePlan::Window(window)]);
    let (update, sampling, limit) = (Span(5), Sampling::Newest, Limit::Announced);
    flow.levels = Some(LevelsPlan {
        tasks: vec![1],
        rules,
        idle_timeout: Some(Span(30)),
        emission: Some(Span(5)),
        alignment: Some(AlignmentPlan { update, sampling, limit }),
    });
    let sound = sound();
    let effective = Effective::Probe;
    let watermark = sound.watermark.map(|it| WatermarkPlan { column: TS, effective, ..it });
    let plan = Plan { operator: None, watermark, flow: Some(flow), trigger: Trigger::Row, ..sound };
    CheckedPlan::new(plan).expect("sound").0
}

struct Story {
    job: Job,
    out: Output,
    items: u64,
}

impl Story {
    fn new() -> Self {
        let plan = plan();
        let out = Output::new(&plan);
        Self { job: Job::new(plan, ProcTime(0), 0), out, items: 0 }
    }

    fn item(&mut self) -> ItemId {
        self.items += 1;
        ItemId(self.items)
    }

    fn row(&mut self, partition: u32, time: i64) {
        let id = self.item();
        let columns = self.job.plan().schema.columns.len();
        let mut row = RowBatch::new(columns);
        let cells: Vec<_> = (0..columns).map(|it| (it == 0).then_some(time)).collect();
        row.push(id, PartitionId::of(0, 0, partition), self.job.now(), &cells);
        self.job.arrive(&row, &mut self.out);
    }

    fn wait(&mut self, span: i64) {
        let (id, to) = (self.item(), self.job.now() + Span(span));
        self.job.tick(id, to, &mut self.out);
    }

    fn limit(&mut self, limit: EventTime) {
        let id = self.item();
        self.job.steer(id, Steer::Limit(limit), &mut self.out);
    }

    fn finish(&mut self, partition: u32) {
        let (id, at) = (self.item(), self.job.now());
        let change = Change::Finish(PartitionId::of(0, 0, partition));
        self.job.change(id, change, at, &mut self.out);
    }

    /// Starts and counts of the windows written since the last call.
    fn written(&mut self) -> Vec<(i64, i64)> {
        let rows = &self.out.emissions.rows;
        let found = (0..rows.len())
            .map(|it| (rows.columns[0].values[it], rows.columns[3].values[it]))
            .collect();
        self.out.clear();
        found
    }

    fn restarted(&self) -> Self {
        let bytes = self.job.snapshot();
        let job = Job::restore(plan(), &bytes, 7, RestoreRules::EXACT).expect("whole");
        Self { out: Output::new(job.plan()), job, items: self.items }
    }
}

/// Partition 0 at 5, partition 1 far ahead and paused, with rows at 41, 42 and its end waiting.
fn paused() -> Story {
    let mut story = Story::new();
    story.limit(EventTime(20));
    story.row(0, 5);
    story.row(1, 35);
    story.wait(5);
    assert_eq!(story.written(), []);
    story.row(1, 41);
    story.row(1, 42);
    story.finish(1);
    story
}

#[test]
fn rows_of_a_paused_partition_are_read_in_the_step_that_resumes_it() {
    let mut story = paused();
    assert!(story.out.records.is_empty(), "they have no fate yet");
    assert_eq!(story.job.groups(), 2);
    story.limit(EventTime(50));
    assert_eq!(story.job.groups(), 3);
    story.row(0, 60);
    story.wait(5);
    assert_eq!(story.written(), [(0, 1), (30, 1), (40, 2)], "its end was behind its rows");
}

#[test]
fn the_end_of_the_input_reads_what_waits() {
    let mut story = paused();
    let id = story.item();
    story.job.end(id, &mut story.out);
    assert_eq!(story.written(), [(0, 1), (30, 1), (40, 2)]);
    assert_eq!(story.job.groups(), 0);
}

#[test]
fn a_restart_in_between_changes_nothing() {
    let mut story = paused();
    let mut restarted = story.restarted();
    for it in [&mut story, &mut restarted] {
        it.row(0, 12);
        it.wait(23);
        it.limit(EventTime(50));
        it.row(0, 60);
        it.wait(40);
    }
    assert_eq!(story.job.watermark(), EventTime(60), "silence counts on");
    let written = story.written();
    assert_eq!(written, restarted.written());
    assert_eq!(written.len(), 4);
    assert_eq!(story.job.snapshot(), restarted.job.snapshot());
}

#[test]
fn an_emission_that_falls_due_within_a_tick_closes_windows() {
    let mut story = Story::new();
    story.row(0, 5);
    story.row(0, 25);
    story.wait(12);
    assert_eq!(story.written(), [(0, 1)]);
    story.row(0, 7);
    let late = story.out.records.iter().filter(|it| matches!(it.fate, Fate::Late(_)));
    assert_eq!(late.count(), 1);
}

#[test]
fn steering_without_levels_is_ignored_and_says_so() {
    let plan = CheckedPlan::new(sound()).expect("sound").0;
    let mut out = Output::new(&plan);
    let mut job = Job::new(plan, ProcTime(0), 0);
    job.steer(ItemId(1), Steer::Limit(EventTime(5)), &mut out);
    assert_eq!(out.ignored.iter().map(|it| it.why).collect::<Vec<_>>(), [IgnoredWhy::NoLevels]);
    let mut story = Story::new();
    let id = story.item();
    story.job.steer(id, Steer::Press { input: 0, task: 9, on: true }, &mut story.out);
    assert_eq!(story.out.ignored[0].why, IgnoredWhy::NoSuchTask);
}
