//! Places: every integer of a trace that can be varied, with a name that a reader knows.
//!
//! The shrinker lowers what stands at a place; the explanation of a failure varies it and says what
//! must be exactly so. While windows are tumbling, size and slide are one place.
//!
//! Invariant: `set` changes what `get` reads and nothing else that is in the list.

mod flow;

use crate::trace::time_text::{SpanText, TimeText};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::{GeneratorPlan, Trigger};
use plimsoll_engine::row::ColumnKind;
use plimsoll_engine::time::{EventTime, ProcTime, Span};

/// Where an integer stands in a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// The window's size; with it its slide, while the two are equal.
    Size,
    /// The distance between window starts.
    Slide,
    /// The shift of the window grid.
    Offset,
    /// The delay; in a flow that of the first watermark.
    Delay,
    /// The idle timeout.
    Idle,
    /// How far the fallback is behind the clock.
    Behind,
    /// How far ahead of the clock the guard lets pass.
    Ahead,
    /// The first watermark, where it is not minus infinity.
    Initial,
    /// The length of the trigger's interval.
    Interval,
    /// The rows of a bounded step.
    RowsPerStep,
    /// Where the clock starts.
    Clock,
    /// A number of a flow.
    Flow {
        /// Which, in the order of its plan.
        at: usize,
        /// The smallest value that makes sense there.
        least: i64,
        /// Whether it is a span.
        is_span: bool,
    },
    /// A cell of a row: item (from 0) and column.
    Cell {
        /// Position of the row among the items.
        item: usize,
        /// Position of the column.
        column: usize,
    },
    /// The time of a heartbeat.
    Heartbeat(usize),
    /// The length of a tick.
    Tick(usize),
}

const OF_PLAN: [Place; 11] = [
    Place::Size,
    Place::Slide,
    Place::Offset,
    Place::Delay,
    Place::Idle,
    Place::Behind,
    Place::Ahead,
    Place::Initial,
    Place::Interval,
    Place::RowsPerStep,
    Place::Clock,
];

impl Place {
    /// All places of a trace: the plan's, then those of the items in order.
    pub fn all(trace: &Trace) -> impl Iterator<Item = Self> + '_ {
        let columns = trace.plan.schema.columns.len();
        let items = trace.items.iter().enumerate().flat_map(move |(item, it)| {
            let (cells, other) = match it {
                Item::Row(_) => (columns, None),
                Item::Heartbeat { .. } => (0, Some(Self::Heartbeat(item))),
                Item::Tick(_) => (0, Some(Self::Tick(item))),
                _ => (0, None),
            };
            (0..cells).map(move |column| Self::Cell { item, column }).chain(other)
        });
        let flow = trace.plan.flow.as_ref().map(flow::numbers).unwrap_or_default();
        let flow = flow.into_iter().enumerate().filter(|(_, it)| it.value.is_some());
        let flow = flow.map(|(at, it)| Self::Flow { at, least: it.least, is_span: it.is_span });
        OF_PLAN.into_iter().filter(|it| it.is_there(trace)).chain(flow).chain(items)
    }

    fn is_there(self, trace: &Trace) -> bool {
        if self == Self::Slide {
            let window = trace.plan.operator.as_ref().map(|it| it.window);
            return window.is_some_and(|it| it.size != it.slide);
        }
        self.get(trace).is_some()
    }

    /// What stands there; `None` is a null cell, or a rule that the plan does not have.
    pub fn get(self, trace: &Trace) -> Option<i64> {
        let window = trace.plan.operator.as_ref().map(|it| it.window);
        let watermark = trace.plan.watermark.as_ref();
        match self {
            Self::Size => window.map(|it| it.size.0),
            Self::Slide => window.map(|it| it.slide.0),
            Self::Offset => window.map(|it| it.offset.0),
            Self::Delay => watermark.map(|it| it.delay.0),
            Self::Idle => match watermark?.generator {
                GeneratorPlan::PartitionMin { idle } => idle.map(|it| it.timeout.0),
                GeneratorPlan::GlobalMax => None,
            },
            Self::Behind => watermark?.fallback.map(|it| it.behind.0),
            Self::Ahead => watermark?.guard.map(|it| it.ahead.0),
            Self::Initial => {
                watermark.map(|it| it.initial).filter(|it| it.is_finite()).map(|it| it.0)
            }
            Self::Interval => match trace.plan.trigger {
                Trigger::Interval(it) => Some(it.0),
                _ => None,
            },
            Self::RowsPerStep => match trace.plan.trigger {
                Trigger::AvailableNow(it) => Some(i64::try_from(it).unwrap_or(i64::MAX)),
                _ => None,
            },
            Self::Clock => Some(trace.clock.0),
            Self::Flow { at, .. } => {
                flow::numbers(trace.plan.flow.as_ref()?).into_iter().nth(at)?.value
            }
            Self::Cell { item, column } => match trace.items.get(item)? {
                Item::Row(row) => trace.cells(*row)[column],
                _ => None,
            },
            Self::Heartbeat(item) => match trace.items.get(item)? {
                Item::Heartbeat { time, .. } => Some(time.0),
                _ => None,
            },
            Self::Tick(item) => match trace.items.get(item)? {
                Item::Tick(span) => Some(span.0),
                _ => None,
            },
        }
    }

    /// The smallest value that makes sense there.
    pub const fn least(self) -> i64 {
        match self {
            Self::Size | Self::Slide | Self::Interval | Self::RowsPerStep => 1,
            Self::Delay | Self::Idle | Self::Behind | Self::Ahead | Self::Tick(_) => 0,
            Self::Flow { least, .. } => least,
            Self::Offset | Self::Initial | Self::Clock | Self::Cell { .. } | Self::Heartbeat(_) => {
                i64::MIN
            }
        }
    }

    /// Whether it is a time or a span; other integers are plain values.
    pub fn is_time(self, trace: &Trace) -> bool {
        match self {
            Self::RowsPerStep => false,
            Self::Flow { is_span, .. } => is_span,
            Self::Cell { column, .. } => trace.plan.schema.columns[column].kind == ColumnKind::Time,
            _ => true,
        }
    }

    /// Whether it is a point in event time.
    pub fn is_event_time(self, trace: &Trace) -> bool {
        match self {
            Self::Heartbeat(_) | Self::Initial => true,
            Self::Cell { .. } => self.is_time(trace),
            _ => false,
        }
    }

    /// Whether it is the code of a text.
    pub fn is_text(self, trace: &Trace) -> bool {
        match self {
            Self::Cell { column, .. } => trace.plan.schema.columns[column].kind == ColumnKind::Text,
            _ => false,
        }
    }

    /// Puts a value there. Where the plan has no such rule, nothing happens.
    pub fn set(self, trace: &mut Trace, value: i64) {
        let window = trace.plan.operator.as_mut().map(|it| &mut it.window);
        let watermark = trace.plan.watermark.as_mut();
        match self {
            Self::Size => {
                if let Some(it) = window {
                    if it.size == it.slide {
                        it.slide = Span(value);
                    }
                    it.size = Span(value);
                }
            }
            Self::Slide => window.into_iter().for_each(|it| it.slide = Span(value)),
            Self::Offset => window.into_iter().for_each(|it| it.offset = Span(value)),
            Self::Delay => {
                watermark.into_iter().for_each(|it| it.delay = Span(value));
                let inputs = trace.plan.flow.iter_mut().flat_map(|it| &mut it.inputs);
                let first = inputs.flat_map(|it| &mut it.marks).next();
                first.into_iter().for_each(|it| it.delay = Span(value));
            }
            Self::Idle => {
                if let Some(it) = watermark
                    && let GeneratorPlan::PartitionMin { idle: Some(idle) } = &mut it.generator
                {
                    idle.timeout = Span(value);
                }
            }
            Self::Behind => {
                let fallback = watermark.and_then(|it| it.fallback.as_mut());
                fallback.into_iter().for_each(|it| it.behind = Span(value));
            }
            Self::Ahead => {
                let guard = watermark.and_then(|it| it.guard.as_mut());
                guard.into_iter().for_each(|it| it.ahead = Span(value));
            }
            Self::Initial => watermark.into_iter().for_each(|it| it.initial = EventTime(value)),
            Self::Interval => {
                if let Trigger::Interval(it) = &mut trace.plan.trigger {
                    *it = Span(value);
                }
            }
            Self::RowsPerStep => {
                if let Trigger::AvailableNow(it) = &mut trace.plan.trigger {
                    *it = value.unsigned_abs();
                }
            }
            Self::Clock => trace.clock = ProcTime(value),
            Self::Flow { at, .. } => {
                trace.plan.flow.iter_mut().for_each(|it| flow::set(it, at, value));
            }
            Self::Cell { item, column } => {
                if let Some(Item::Row(row)) = trace.items.get(item) {
                    let at = row.cells as usize + column;
                    trace.cells[at] = Some(value);
                }
            }
            Self::Heartbeat(item) => {
                if let Some(Item::Heartbeat { time, .. }) = trace.items.get_mut(item) {
                    *time = EventTime(value);
                }
            }
            Self::Tick(item) => {
                if let Some(Item::Tick(it)) = trace.items.get_mut(item) {
                    *it = Span(value);
                }
            }
        }
    }

    /// The trace with another value there.
    pub fn with(self, trace: &Trace, value: i64) -> Trace {
        let mut changed = trace.clone();
        self.set(&mut changed, value);
        changed
    }

    /// What a reader calls it.
    pub fn name(self, trace: &Trace) -> String {
        match self {
            Self::Size => "the window's size".to_owned(),
            Self::Slide => "the window's slide".to_owned(),
            Self::Offset => "the window's offset".to_owned(),
            Self::Delay => "the delay".to_owned(),
            Self::Idle => "the idle timeout".to_owned(),
            Self::Behind => "the fallback's distance".to_owned(),
            Self::Ahead => "the guard's distance".to_owned(),
            Self::Initial => "the first watermark".to_owned(),
            Self::Interval => "the trigger's interval".to_owned(),
            Self::RowsPerStep => "the rows of a step".to_owned(),
            Self::Clock => "the start of the clock".to_owned(),
            Self::Flow { at, .. } => {
                let mut numbers = trace.plan.flow.as_ref().map(flow::numbers).unwrap_or_default();
                numbers.get_mut(at).map(|it| std::mem::take(&mut it.name)).unwrap_or_default()
            }
            Self::Cell { item, column } => {
                let column = &trace.plan.schema.columns[column];
                match column.kind {
                    ColumnKind::Time => format!("the time of item {}", item + 1),
                    ColumnKind::Integer | ColumnKind::Text => {
                        format!("{} of item {}", column.name, item + 1)
                    }
                }
            }
            Self::Heartbeat(item) => format!("the time of item {}", item + 1),
            Self::Tick(item) => format!("the tick of item {}", item + 1),
        }
    }

    /// How a value there is written.
    pub fn text(self, trace: &Trace, value: i64) -> String {
        if self.is_event_time(trace) || self == Self::Clock {
            TimeText(EventTime(value)).to_string()
        } else if self.is_time(trace) {
            SpanText(Span(value)).to_string()
        } else if self.is_text(trace) {
            trace.dictionary.text(value).map_or_else(|| value.to_string(), str::to_owned)
        } else {
            value.to_string()
        }
    }
}
