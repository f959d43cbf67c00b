//! From the text of a scenario to the recipe.
//!
//! All mistakes are found in one pass, so that a tired person runs the command once. The hash is made
//! over the file's values in a canonical form: keys sorted, comments and spaces gone.
//!
//! Invariant: a text either is a scenario that makes a world from every seed, or has mistakes.

use super::Scenario;
use super::heal::Phases;
use super::reader::{Errors, Reader, ScenarioError, shown};
use super::vary::Vary;
use crate::entropy::stable_hash;
use crate::fault::Faults;
use crate::model::Placed;
use crate::plan_toml::plan_from_table;
use crate::trace::plan_text::{PlanText, plan_from_pairs};
use crate::trace::time_text::SpanText;
use plimsoll_engine::plan::check::check;
use plimsoll_engine::plan::problem::Problem;
use plimsoll_engine::plan::{Plan, Trigger};
use plimsoll_engine::time::{ProcTime, Span};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

const HOUR: i64 = 3_600_000;

/// No span of a world is longer, so that sums of some of them stay far from the ends of the line.
const LONGEST: i64 = 400 * 24 * HOUR;

/// The `[world]` table: how large.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Size {
    /// Items in all phases together, about.
    pub(super) items: [i64; 2],
    /// Event time that the traffic covers.
    pub(super) span: [i64; 2],
    /// Slides of the window in that time, where the seed draws the window.
    pub(super) windows: [i64; 2],
    /// Partitions.
    pub(super) partitions: [i64; 2],
    /// Keys.
    pub(super) keys: [i64; 2],
    /// What every span may be divided by.
    pub(super) units: Vec<i64>,
    /// Where event time and the clock may start.
    pub(super) starts: Vec<i64>,
}

impl Size {
    fn read(table: Option<Reader<'_>>, clock: ProcTime) -> Self {
        let mut read = Self {
            items: [50, 70],
            span: [3 * HOUR; 2],
            windows: [8, 20],
            partitions: [2, 4],
            keys: [2, 5],
            units: vec![1],
            starts: vec![clock.0],
        };
        let Some(mut table) = table else { return read };
        read.items = table.numbers("items", read.items, 1..=1_000_000);
        read.span = table.spans("span", read.span);
        if read.span[0] < 1_000 {
            table.errors.add(table.span.clone(), "a `span` of at least 1s", "a shorter one");
            read.span = [3 * HOUR; 2];
        }
        read.windows = table.numbers("windows", read.windows, 1..=10_000);
        read.partitions = table.numbers("partitions", read.partitions, 1..=64);
        read.keys = table.numbers("keys", read.keys, 1..=1_000_000);
        let unit = |it: &DeValue<'_>| {
            let it = it.as_integer()?.as_str().parse().ok()?;
            (1..=1_000_000).contains(&it).then_some(it)
        };
        let expected = "a number from 1 to 1000000 by which all spans are divided";
        read.units = table.list("divide_by", expected, unit).unwrap_or(read.units);
        read.starts = table.times("start").unwrap_or(read.starts);
        table.finish();
        read
    }
}

/// Reads a scenario.
pub(super) fn parse(text: &str) -> Result<Scenario, Vec<ScenarioError>> {
    let (root, syntax) = DeTable::parse_recoverable(text);
    if !syntax.is_empty() {
        let whole = 0..text.len();
        let error = |it: &toml::de::Error| ScenarioError {
            span: it.span().unwrap_or(whole.clone()),
            expected: "TOML".to_owned(),
            found: format!("something else: {}", it.message()),
        };
        return Err(syntax.iter().map(error).collect());
    }
    let errors = Errors::default();
    let mut table = Reader::new(root.get_ref(), root.span(), &errors);
    let name = table.text("name", "what this world is called");
    let look = table.text("look", "one sentence on what to look at");
    let PlanText { plan, clock, .. } = plan(table.table("plan"), &errors);
    if errors.0.borrow().is_empty() {
        judge(&plan, table.value("plan").map_or(0..0, toml::Spanned::span), &errors);
    }
    let vary = match table.table("vary") {
        Some(it) => Vary::read(it),
        None => Vary::read(Reader::new(&DeTable::new(), 0..0, &errors)),
    };
    let size = Size::read(table.table("world"), clock);
    let models = models(table.tables("model"), &errors);
    let faults = Faults::read(table.table("faults"));
    let phases = Phases::read(table.table("phases"));
    table.finish();
    let hash = stable_hash(canonical(root.get_ref()).as_bytes());
    let mut found = errors.0.into_inner();
    if found.is_empty() {
        return Ok(Scenario { name, look, plan, vary, size, models, faults, phases, hash });
    }
    found.sort_by_key(|it| (it.span.start, it.span.end));
    Err(found)
}

/// The plan, and where the clock starts.
fn plan(table: Option<Reader<'_>>, errors: &Errors) -> PlanText {
    // A world begins at ten, like the founding texts, where its plan does not say otherwise.
    let ten = ProcTime(10 * HOUR);
    let says_clock = table.as_ref().is_some_and(|it| it.has("clock"));
    let read = table.map_or_else(|| Ok(default_plan()), |it| plan_from_table(it.table));
    let mut read = read.unwrap_or_else(|mistakes| {
        for it in mistakes {
            errors.add(it.span, it.expected, it.found);
        }
        default_plan()
    });
    if !says_clock {
        read.clock = ten;
    }
    read
}

/// A world needs a plan that runs, and spans that fit into a world.
fn judge(plan: &Plan, place: Range<usize>, errors: &Errors) {
    for it in check(plan).into_iter().filter(Problem::is_refusal) {
        errors.add(place.clone(), format!("a plan that can run; {}", it.remedy), it.cause);
    }
    let window = plan.operator.as_ref().map(|it| it.window);
    let every = match plan.trigger {
        Trigger::Interval(every) => Some(every),
        Trigger::Row | Trigger::Batch | Trigger::Once | Trigger::AvailableNow(_) => None,
    };
    let spans = [
        ("window", window.map(|it| it.size.max(it.slide).max(Span(it.offset.0.saturating_abs())))),
        ("delay", plan.watermark.as_ref().map(|it| it.delay)),
        ("interval", every),
    ];
    for (what, span) in spans {
        if let Some(span) = span.filter(|it| it.0 > LONGEST) {
            let expected = format!("a {what} of at most {}", SpanText(Span(LONGEST)));
            errors.add(place.clone(), expected, SpanText(span).to_string());
        }
    }
}

fn default_plan() -> PlanText {
    plan_from_pairs([]).expect("no pairs are a plan")
}

fn models(tables: Vec<Reader<'_>>, errors: &Errors) -> Vec<Placed> {
    let read = RefCell::new(Vec::<Placed>::new());
    if tables.is_empty() {
        errors.add(0..0, "at least one `[[model]]`", "none: nothing would arrive");
    }
    for table in tables {
        let before = |name: &str| read.borrow().iter().filter(|it| it.name() == name).count();
        let placed = Placed::read(table, before);
        read.borrow_mut().extend(placed);
    }
    read.into_inner()
}

/// The values of a file, one a line, in the order of their keys.
fn canonical(table: &DeTable<'_>) -> String {
    let mut text = String::new();
    write_table(&mut text, "", table);
    text
}

fn write_table(text: &mut String, path: &str, table: &DeTable<'_>) {
    for (key, value) in table {
        write_value(text, &format!("{path}.{}", key.get_ref()), value.get_ref());
    }
}

fn write_value(text: &mut String, path: &str, value: &DeValue<'_>) {
    match value {
        DeValue::Table(it) => write_table(text, path, it),
        DeValue::Array(it) => {
            for (n, it) in it.iter().enumerate() {
                write_value(text, &format!("{path}.{n}"), it.get_ref());
            }
        }
        other => writeln!(text, "{path} = {}", shown(other)).expect("a String takes all text"),
    }
}
