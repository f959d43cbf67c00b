//! Which rules of the plan a seed may draw, and how.
//!
//! A world file fixes a plan; its `[vary]` table frees knobs of it, each to `"any"` value or to a list
//! of words; `everything = true` frees all knobs but those in `except`. Every knob has a stream of its own. Spans are drawn
//! relative to the world: windows so that the world holds as many as it says, everything else in
//! parts of a window. A world without a closed window or a late row would test nothing.
//!
//! A world of flows names their families; then the plan's windows and lineage give way to what a
//! family draws ([`flow`]).
//!
//! Invariant: a knob that is not freed is as in the plan, divided by the world's unit.

pub(super) mod flow;
mod parts;

use super::reader::Reader;
use crate::entropy::Entropy;
use flow::{FLOW, Family};
use plimsoll_engine::plan::{
    AllIdle, Effective, Fallback, GeneratorPlan, Guard, GuardAction, IdlePlan, LatePolicy,
    LateRule, OutputMode, Plan, Rejoin, Sink, Trigger, WatermarkPlan, WindowSpec,
};
use plimsoll_engine::time::{EventTime, Span};
use toml::de::DeValue;

/// The words of a knob with their weights; the first is the simplest.
type Words<T> = &'static [(&'static str, u32, T)];

/// The freed values of a knob; none where it is not freed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Knob<T>(Vec<(u32, T)>);

impl<T: Copy> Knob<T> {
    fn read(table: &mut Reader<'_>, free: &Free, key: &'static str, words: Words<T>) -> Self {
        let all = || words.iter().map(|it| (it.1, it.2)).collect();
        if free.everything && !table.has(key) && !free.except.iter().any(|it| it == key) {
            return Self(all());
        }
        let known: Vec<&str> = words.iter().map(|it| it.0).collect();
        let expected = format!("`any`, or a list of `{}`", known.join("`, `"));
        let choices = |it: &DeValue<'_>| {
            let text = it.as_str()?;
            let all = words.iter().filter(|it| text == "any" || it.0 == text);
            let found: Vec<_> = all.map(|it| (it.1, it.2)).collect();
            (!found.is_empty()).then_some(found)
        };
        Self(table.list(key, &expected, choices).unwrap_or_default().concat())
    }

    /// A value, where the knob is freed.
    fn draw(&self, entropy: &Entropy<'_>, key: &str) -> Option<T> {
        (!self.0.is_empty()).then(|| entropy.field("plan", key).weighted(&self.0))
    }
}

/// Which knobs are freed without being named.
struct Free {
    everything: bool,
    except: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Tumbling,
    Sliding,
    Uneven,
    Holes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Global,
    Partition,
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Begin {
    Row,
    Batch,
    Interval,
    Once,
    AvailableNow,
}

const WINDOW: Words<Shape> = &[
    ("tumbling", 54, Shape::Tumbling),
    ("sliding", 26, Shape::Sliding),
    ("uneven", 13, Shape::Uneven),
    ("holes", 7, Shape::Holes),
];
/// In eighths of a slide.
const DELAY: Words<i64> = &[("zero", 12, 0), ("short", 44, 3), ("window", 30, 8), ("long", 14, 20)];
const WATERMARK: Words<Source> = &[
    ("global", 45, Source::Global),
    ("partition", 53, Source::Partition),
    ("none", 2, Source::None),
];
const IDLE: Words<bool> = &[("some", 70, true), ("none", 30, false)];
const REJOIN: Words<Rejoin> = &[("hold", 50, Rejoin::Hold), ("catch_up", 50, Rejoin::CatchUp)];
const ALL_IDLE: Words<AllIdle> = &[("flush", 50, AllIdle::Flush), ("hold", 50, AllIdle::Hold)];
const FALLBACK: Words<Option<bool>> =
    &[("none", 82, None), ("idle", 12, Some(false)), ("always", 6, Some(true))];
const GUARD: Words<Option<GuardAction>> = &[
    ("none", 82, None),
    ("reject", 7, Some(GuardAction::Reject)),
    ("count", 7, Some(GuardAction::CountButNotAdvance)),
    ("accept", 4, Some(GuardAction::Accept)),
];
const INITIAL: Words<EventTime> = &[("lowest", 90, EventTime::MIN), ("zero", 10, EventTime(0))];
const EFFECTIVE: Words<Effective> = &[
    ("row", 34, Effective::Row),
    ("next_batch", 36, Effective::NextBatch),
    ("batch_after_next", 30, Effective::BatchAfterNext),
];
const LATE: Words<LateRule> = &[
    ("event", 38, LateRule::Event),
    ("window_end", 30, LateRule::WindowEnd),
    ("event_inclusive", 16, LateRule::EventInclusive),
    ("frame", 16, LateRule::Frame),
];
const LATE_POLICY: Words<LatePolicy> =
    &[("drop", 60, LatePolicy::Drop), ("side_output", 40, LatePolicy::SideOutput)];
const OUTPUT: Words<OutputMode> = &[
    ("append", 66, OutputMode::Append),
    ("update", 26, OutputMode::Update),
    ("complete", 8, OutputMode::Complete),
];
const TRIGGER: Words<Begin> = &[
    ("batch", 58, Begin::Batch),
    ("row", 18, Begin::Row),
    ("interval", 19, Begin::Interval),
    ("available_now", 3, Begin::AvailableNow),
    ("once", 2, Begin::Once),
];
const KEYED: Words<bool> = &[("keys", 88, true), ("none", 12, false)];
/// How many of the aggregates of the full list; 0 is the plan's own.
const AGGREGATES: Words<usize> =
    &[("own", 40, 0), ("two", 25, 2), ("three", 15, 3), ("all", 20, 6)];

/// The keys of all knobs.
const KNOBS: [&str; 16] = [
    "window",
    "delay",
    "watermark",
    "idle",
    "rejoin",
    "all_idle",
    "fallback",
    "guard",
    "initial",
    "effective",
    "late",
    "late_policy",
    "output",
    "trigger",
    "key",
    "agg",
];

/// What a seed may draw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Vary {
    window: Knob<Shape>,
    delay: Knob<i64>,
    watermark: Knob<Source>,
    idle: Knob<bool>,
    rejoin: Knob<Rejoin>,
    all_idle: Knob<AllIdle>,
    fallback: Knob<Option<bool>>,
    guard: Knob<Option<GuardAction>>,
    initial: Knob<EventTime>,
    effective: Knob<Effective>,
    late: Knob<LateRule>,
    late_policy: Knob<LatePolicy>,
    output: Knob<OutputMode>,
    trigger: Knob<Begin>,
    keys: Knob<bool>,
    aggregates: Knob<usize>,
    flow: Knob<Family>,
}

/// A plan that was drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Drawn {
    /// The plan.
    pub(super) plan: Plan,
    /// How many of its inputs, the first ones, say anything; `None` for a plain plan.
    pub(super) speaking: Option<u32>,
}

/// What the plan is drawn for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Measure {
    /// Event time that the world covers.
    pub(super) span: i64,
    /// How many slides it shall cover.
    pub(super) windows: i64,
    /// What spans are divided by.
    pub(super) scale: i64,
    /// How many items there will be.
    pub(super) items: i64,
}

impl Vary {
    /// Reads the `[vary]` table.
    pub(super) fn read(mut table: Reader<'_>) -> Self {
        let known =
            |it: &DeValue<'_>| it.as_str().filter(|it| KNOBS.contains(it)).map(str::to_owned);
        let free = Free {
            everything: table.flag("everything"),
            except: table.list("except", "the name of a knob", known).unwrap_or_default(),
        };
        // A flow is no rule of a plain plan: who wants one says so.
        let named = Free { everything: false, except: Vec::new() };
        let it = &mut table;
        let read = Self {
            window: Knob::read(it, &free, "window", WINDOW),
            delay: Knob::read(it, &free, "delay", DELAY),
            watermark: Knob::read(it, &free, "watermark", WATERMARK),
            idle: Knob::read(it, &free, "idle", IDLE),
            rejoin: Knob::read(it, &free, "rejoin", REJOIN),
            all_idle: Knob::read(it, &free, "all_idle", ALL_IDLE),
            fallback: Knob::read(it, &free, "fallback", FALLBACK),
            guard: Knob::read(it, &free, "guard", GUARD),
            initial: Knob::read(it, &free, "initial", INITIAL),
            effective: Knob::read(it, &free, "effective", EFFECTIVE),
            late: Knob::read(it, &free, "late", LATE),
            late_policy: Knob::read(it, &free, "late_policy", LATE_POLICY),
            output: Knob::read(it, &free, "output", OUTPUT),
            trigger: Knob::read(it, &free, "trigger", TRIGGER),
            keys: Knob::read(it, &free, "key", KEYED),
            aggregates: Knob::read(it, &free, "agg", AGGREGATES),
            flow: Knob::read(it, &named, "flow", FLOW),
        };
        table.finish();
        read
    }

    /// Draws a plan.
    pub(super) fn draw(&self, fixed: &Plan, entropy: &Entropy<'_>, of: &Measure) -> Drawn {
        let mut plan = fixed.clone();
        parts::scale(&mut plan, of.scale);
        if let Some(family) = self.flow.draw(entropy, "flow") {
            return self.draw_flow(family, plan, entropy, of);
        }
        if let Some(operator) = &mut plan.operator {
            if let Some(shape) = self.window.draw(entropy, "window") {
                operator.window = parts::window(shape, entropy, of);
            }
            set(&mut operator.late, self.late.draw(entropy, "late"));
            set(&mut operator.late_policy, self.late_policy.draw(entropy, "late_policy"));
            let WindowSpec { size, slide, .. } = operator.window;
            if operator.late == LateRule::Frame && size.0 % slide.0 != 0 {
                // Rule F is defined on whole slides only.
                operator.late = LateRule::WindowEnd;
            }
            if self.keys.draw(entropy, "key") == Some(false) {
                operator.keys.clear();
            }
            if let Some(count @ 1..) = self.aggregates.draw(entropy, "agg") {
                operator.aggregates = parts::aggregates(&plan.schema, count, entropy);
            }
        }
        let slide = plan.operator.as_ref().map_or(of.span / of.windows, |it| it.window.slide.0);
        self.draw_watermark(&mut plan, entropy, slide);
        let mut output = self.output.draw(entropy, "output");
        if plan.watermark.is_none() && output.unwrap_or(plan.output) == OutputMode::Append {
            // Append could write nothing without a watermark.
            output = Some(OutputMode::Update);
        }
        if let Some(output) = output {
            plan.output = output;
            plan.sink = if output == OutputMode::Append { Sink::Append } else { Sink::Keyed };
        }
        if let Some(begin) = self.trigger.draw(entropy, "trigger") {
            plan.trigger = self.trigger_of(begin, &plan, entropy, slide, of);
        }
        let speaking = plan.flow.as_ref().map(|it| it.inputs.len() as u32);
        Drawn { plan, speaking }
    }

    fn draw_flow(
        &self,
        family: Family,
        mut plan: Plan,
        entropy: &Entropy<'_>,
        of: &Measure,
    ) -> Drawn {
        let slide = (of.span / of.windows).max(1);
        self.draw_watermark(&mut plan, entropy, slide);
        if let Some(begin) = self.trigger.draw(entropy, "trigger") {
            plan.trigger = self.trigger_of(begin, &plan, entropy, slide, of);
        }
        let mode = self.output.draw(entropy, "output").unwrap_or(plan.output);
        let speaking = flow::draw(family, &mut plan, mode, entropy, of);
        Drawn { plan, speaking: Some(speaking) }
    }

    fn draw_watermark(&self, plan: &mut Plan, entropy: &Entropy<'_>, slide: i64) {
        let source = self.watermark.draw(entropy, "watermark");
        if source == Some(Source::None) {
            plan.watermark = None;
        }
        let Some(watermark) = &mut plan.watermark else { return };
        match source {
            Some(Source::Global) => watermark.generator = GeneratorPlan::GlobalMax,
            Some(Source::Partition) => {
                watermark.generator = GeneratorPlan::PartitionMin { idle: own_idle(watermark) };
            }
            Some(Source::None) | None => {}
        }
        self.draw_idle(watermark, entropy, slide);
        if let Some(eighths) = self.delay.draw(entropy, "delay") {
            watermark.delay = Span(slide * eighths / 8);
        }
        if let Some(fallback) = self.fallback.draw(entropy, "fallback") {
            watermark.fallback = fallback.map(|always| {
                let extra = *entropy.field("plan", "behind").choose(&[2, 1, 4, 0]);
                Fallback { behind: watermark.delay + Span(slide * extra), always }
            });
        }
        if let Some(guard) = self.guard.draw(entropy, "guard") {
            watermark.guard = guard.map(|action| {
                let half_slides = *entropy.field("plan", "ahead").choose(&[2, 1, 4, 0]);
                Guard { ahead: Span(slide * half_slides / 2), action }
            });
        }
        set(&mut watermark.initial, self.initial.draw(entropy, "initial"));
        set(&mut watermark.effective, self.effective.draw(entropy, "effective"));
    }

    fn draw_idle(&self, watermark: &mut WatermarkPlan, entropy: &Entropy<'_>, slide: i64) {
        let GeneratorPlan::PartitionMin { idle } = &mut watermark.generator else { return };
        match self.idle.draw(entropy, "idle") {
            Some(true) => {
                let halves = *entropy.field("plan", "timeout").choose(&[2, 1, 3, 4]);
                let (rejoin, all_idle) =
                    idle.map_or((Rejoin::Hold, AllIdle::Flush), |it| (it.rejoin, it.all_idle));
                let timeout = Span((slide * halves / 2).max(1));
                *idle = Some(IdlePlan { timeout, rejoin, all_idle });
            }
            Some(false) => *idle = None,
            None => {}
        }
        if let Some(idle) = idle {
            set(&mut idle.rejoin, self.rejoin.draw(entropy, "rejoin"));
            set(&mut idle.all_idle, self.all_idle.draw(entropy, "all_idle"));
        }
    }

    fn trigger_of(
        &self,
        begin: Begin,
        plan: &Plan,
        entropy: &Entropy<'_>,
        slide: i64,
        of: &Measure,
    ) -> Trigger {
        let per_row = plan.watermark.as_ref().map(|it| it.effective) == Some(Effective::Row);
        let mut own = entropy.field("plan", "trigger_size");
        let row_is_free = self.trigger.0.iter().any(|it| it.1 == Begin::Row);
        if per_row && row_is_free && own.chance(600) {
            // A watermark that counts per row is at home where each row is a step.
            return Trigger::Row;
        }
        match begin {
            Begin::Row => Trigger::Row,
            Begin::Batch => Trigger::Batch,
            Begin::Interval => Trigger::Interval(Span((slide * own.range(1, 4) / 2).max(1))),
            Begin::Once => Trigger::Once,
            Begin::AvailableNow => Trigger::AvailableNow(own.range(1, of.items / 8 + 2) as u64),
        }
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn own_idle(watermark: &WatermarkPlan) -> Option<IdlePlan> {
    match watermark.generator {
        GeneratorPlan::PartitionMin { idle } => idle,
        GeneratorPlan::GlobalMax => None,
    }
}
