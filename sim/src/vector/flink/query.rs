//! The query of a vector: how the watermark is made, which partitions there are, one operator.
//!
//! Invariant: the subtasks of all inputs together have each of the partitions exactly once; a join has
//! two inputs, everything else one; intervals, sizes, slides and gaps are positive.

use super::super::{Errors, Node, Object};

/// A query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// How the watermark is made.
    pub watermark: Watermark,
    /// How many partitions there are at the start.
    pub partitions: u32,
    /// The inputs, in order; of a join the left one first.
    pub inputs: Vec<Input>,
    /// What is computed.
    pub operator: Operator,
}

/// How the watermark is made: one generator per partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watermark {
    /// The allowance; 0 for monotonous timestamps.
    pub delay: i64,
    /// After which silence a partition is idle.
    pub idle_timeout: Option<i64>,
    /// At multiples of what it is emitted, besides the steps that say so.
    pub auto_interval: Option<i64>,
    /// Who waits for whom.
    pub alignment: Option<Alignment>,
}

/// Who waits for whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alignment {
    /// How far ahead of the slowest is too far; the limits of a script are announced by its steps.
    pub drift: i64,
    /// How often samples are taken.
    pub update: i64,
    /// How many samples back the limit is compared with; 0: the newest value.
    pub buffer: u32,
}

/// An input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The partitions of each of its subtasks.
    pub subtasks: Vec<Vec<u32>>,
}

/// What is computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operator {
    /// Windows or sessions per key.
    Aggregation(Aggregation),
    /// Pairs of rows of two inputs.
    Join(Join),
}

/// Windows or sessions per key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aggregation {
    /// The windows.
    pub windows: Windows,
    /// The allowed lateness.
    pub lateness: i64,
    /// What becomes of late rows.
    pub late: Late,
    /// What is computed.
    pub functions: Vec<Function>,
}

/// Windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Windows {
    /// `k * slide + offset`, of this size; tumbling where both are the same.
    Fixed {
        /// Length.
        size: i64,
        /// Distance of starts.
        slide: i64,
        /// Shift of the grid.
        offset: i64,
    },
    /// Sessions.
    Session {
        /// The silence that ends one.
        gap: i64,
    },
}

/// What becomes of late rows; they are listed in both cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Late {
    /// Counted and let go.
    Drop,
    /// Written to a side output.
    SideOutput,
}

/// An aggregate over `v`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// Rows.
    Count,
    /// Sum.
    Sum,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

/// Each aggregate with its name in queries and results.
pub(super) const FUNCTIONS: [(&str, Function); 4] = [
    ("count", Function::Count),
    ("sum", Function::Sum),
    ("min", Function::Min),
    ("max", Function::Max),
];

/// left.ts + lower <= right.ts <= left.ts + upper, and equal keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// Lower bound.
    pub lower: i64,
    /// Upper bound.
    pub upper: i64,
    /// Whether the lower bound itself is inside.
    pub lower_inclusive: bool,
    /// Whether the upper bound itself is inside.
    pub upper_inclusive: bool,
    /// What becomes of late rows.
    pub late: Late,
}

impl Operator {
    /// What kind of operator it is, as the format says.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Aggregation(Aggregation { windows: Windows::Fixed { .. }, .. }) => {
                "window_aggregate"
            }
            Self::Aggregation(Aggregation { windows: Windows::Session { .. }, .. }) => {
                "session_aggregate"
            }
            Self::Join(_) => "interval_join",
        }
    }
}

pub(super) fn read(node: &Node<'_>, errors: &mut Errors) -> Option<Query> {
    let mut query = node.object(errors)?;
    let watermark = query.require("watermark", errors).and_then(|it| watermark(&it, errors));
    let partitions = query.require("partitions", errors).and_then(|it| number(&it, errors));
    let inputs = query.take("inputs");
    let operator = query.require("operator", errors).and_then(|it| operator(&it, errors));
    query.finish(errors);
    let (partitions, operator) = (partitions?, operator?);
    let inputs = match &inputs {
        Some(it) => self::inputs(it, errors)?,
        None => {
            vec![Input { name: "in".to_owned(), subtasks: vec![(0..partitions).collect()] }]
        }
    };
    let query = Query { watermark: watermark?, partitions, inputs, operator };
    fits(&query, node, errors).then_some(query)
}

fn fits(query: &Query, node: &Node<'_>, errors: &mut Errors) -> bool {
    let names: Vec<&str> = query.inputs.iter().map(|it| it.name.as_str()).collect();
    let (wanted, fit) = match query.operator {
        Operator::Join(_) => ("left and right", names == ["left", "right"]),
        Operator::Aggregation(_) => ("one input", names.len() == 1),
    };
    let place = |name| format!("{}.{name}", node.place());
    if !fit {
        errors.push(&place("inputs"), wanted, format!("{names:?}"));
    }
    let mut all: Vec<u32> = query.inputs.iter().flat_map(|it| it.subtasks.concat()).collect();
    all.sort_unstable();
    let whole = all.iter().copied().eq(0..query.partitions);
    if !whole {
        let wanted = format!("each of {} partitions once", query.partitions);
        errors.push(&place("inputs"), wanted, format!("{all:?}"));
    }
    fit && whole
}

/// A number of a partition or of a subtask; a row of four digits is more than any vector has.
pub(super) fn number(node: &Node<'_>, errors: &mut Errors) -> Option<u32> {
    let number = u32::try_from(node.count(errors)?).ok().filter(|it| *it < 200);
    if number.is_none() {
        errors.unexpected(node, "a number below 200");
    }
    number
}

fn inputs(node: &Node<'_>, errors: &mut Errors) -> Option<Vec<Input>> {
    let mut inputs = Vec::new();
    for (name, subtasks) in node.object(errors)?.entries() {
        let subtasks = subtasks.each(errors, |it, errors| it.each(errors, number))?;
        inputs.push(Input { name: name.to_owned(), subtasks });
    }
    Some(inputs)
}

fn watermark(node: &Node<'_>, errors: &mut Errors) -> Option<Watermark> {
    let mut watermark = node.object(errors)?;
    let kinds = [("bounded_out_of_orderness", true), ("monotonous", false)];
    let bounded = watermark.require("kind", errors)?.word(&kinds, errors)?;
    let delay = if bounded { at_least(&mut watermark, "delay_ms", 0, errors) } else { Some(0) };
    watermark.require("per", errors)?.word(&[("partition", ())], errors)?;
    let idle_timeout = nullable(&mut watermark, "idle_timeout_ms", errors);
    let auto_interval = nullable(&mut watermark, "auto_interval_ms", errors);
    let alignment = match watermark.take("alignment_drift_ms") {
        None => Some(None),
        Some(drift) => {
            let drift = drift.integer(errors);
            let update = at_least(&mut watermark, "alignment_update_ms", 1, errors);
            let buffer = watermark.require("alignment_buffer", errors);
            let buffer = buffer.and_then(|it| number(&it, errors));
            let read = drift.zip(update).zip(buffer);
            read.map(|((drift, update), buffer)| Some(Alignment { drift, update, buffer }))
        }
    };
    watermark.finish(errors);
    Some(Watermark {
        delay: delay?,
        idle_timeout: idle_timeout?,
        auto_interval: auto_interval?,
        alignment: alignment?,
    })
}

/// A span of at least so much.
fn at_least(
    object: &mut Object<'_>,
    name: &'static str,
    least: i64,
    errors: &mut Errors,
) -> Option<i64> {
    let node = object.require(name, errors)?;
    let span = node.integer(errors)?;
    if span < least {
        errors.unexpected(&node, format!("at least {least}"));
    }
    (least <= span).then_some(span)
}

/// A positive span or null.
fn nullable(
    object: &mut Object<'_>,
    name: &'static str,
    errors: &mut Errors,
) -> Option<Option<i64>> {
    let node = object.require(name, errors)?;
    if node.value().is_null() {
        return Some(None);
    }
    let span = node.integer(errors)?;
    if span < 1 {
        errors.unexpected(&node, "a positive span or null");
    }
    (1 <= span).then_some(Some(span))
}

#[derive(Clone, Copy)]
enum Kind {
    Window,
    Session,
    Join,
}

const KINDS: [(&str, Kind); 3] = [
    ("window_aggregate", Kind::Window),
    ("session_aggregate", Kind::Session),
    ("interval_join", Kind::Join),
];

fn operator(node: &Node<'_>, errors: &mut Errors) -> Option<Operator> {
    let mut operator = node.object(errors)?;
    let kind = operator.require("kind", errors)?.word(&KINDS, errors)?;
    let late = [("drop", Late::Drop), ("side_output", Late::SideOutput)];
    let late = operator.require("late", errors).and_then(|it| it.word(&late, errors));
    let read = match kind {
        Kind::Join => join(&mut operator, late, errors).map(Operator::Join),
        Kind::Window | Kind::Session => {
            let sessions = matches!(kind, Kind::Session);
            let windows = operator.require("window", errors);
            let windows = windows.and_then(|it| self::windows(&it, sessions, errors));
            let lateness = at_least(&mut operator, "allowed_lateness_ms", 0, errors);
            let functions = operator.require("aggregates", errors);
            let functions =
                functions.and_then(|it| it.each(errors, |it, errors| it.word(&FUNCTIONS, errors)));
            match (windows, lateness, late, functions) {
                (Some(windows), Some(lateness), Some(late), Some(functions)) => {
                    let it = Aggregation { windows, lateness, late, functions };
                    Some(Operator::Aggregation(it))
                }
                _ => None,
            }
        }
    };
    operator.finish(errors);
    read
}

fn windows(node: &Node<'_>, sessions: bool, errors: &mut Errors) -> Option<Windows> {
    let mut windows = node.object(errors)?;
    let kinds: &[(&str, bool)] =
        if sessions { &[("session", false)] } else { &[("tumbling", false), ("sliding", true)] };
    let slides = windows.require("kind", errors)?.word(kinds, errors)?;
    let read = if sessions {
        at_least(&mut windows, "gap_ms", 1, errors).map(|gap| Windows::Session { gap })
    } else {
        let size = at_least(&mut windows, "size_ms", 1, errors);
        let slide = if slides { at_least(&mut windows, "slide_ms", 1, errors) } else { size };
        let offset = windows.require("offset_ms", errors).and_then(|it| it.integer(errors));
        size.zip(slide).zip(offset).map(|((size, slide), offset)| Windows::Fixed {
            size,
            slide,
            offset,
        })
    };
    windows.finish(errors);
    read
}

fn join(operator: &mut Object<'_>, late: Option<Late>, errors: &mut Errors) -> Option<Join> {
    let mut bound = |name, errors: &mut Errors| operator.require(name, errors)?.integer(errors);
    let (lower, upper) = (bound("lower_ms", errors), bound("upper_ms", errors));
    let mut inclusive = |name, errors: &mut Errors| operator.require(name, errors)?.flag(errors);
    let lower_inclusive = inclusive("lower_inclusive", errors);
    let upper_inclusive = inclusive("upper_inclusive", errors);
    Some(Join {
        lower: lower?,
        upper: upper?,
        lower_inclusive: lower_inclusive?,
        upper_inclusive: upper_inclusive?,
        late: late?,
    })
}
