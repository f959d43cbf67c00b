//! Recorded vectors: what a real engine did with a query and its rows, as one JSON file each.
//!
//! A vector is believed over every text: a profile is worth something only as far as it does what the
//! vectors of its engine say. The readers are pure functions of bytes and know one format per engine,
//! told apart by `engine.name`; the formats are those of the README beside the vectors. Nothing that a
//! reader does not know is skipped: an unknown field, engine or version is an error with its place,
//! since a rule that is read past is a rule that is not checked.
//!
//! Invariant: any bytes give a vector or a list of errors that is not empty; none makes a reader panic.

pub mod flink;
mod json;
pub mod spark;

pub use json::{Errors, Node, Object};

use serde_json::Value;
use thiserror::Error;

/// An engine whose recordings can be read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Engine {
    /// Apache Spark, Structured Streaming.
    Spark,
    /// Apache Flink, DataStream operators.
    Flink,
}

/// Each engine with the name and the version that its vectors carry.
const ENGINES: [(Engine, &str, &str); 2] = [
    (Engine::Spark, "apache-spark-structured-streaming", "4.3.0"),
    (Engine::Flink, "flink", "2.3.0"),
];

impl Engine {
    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Spark => "spark",
            Self::Flink => "flink",
        }
    }
}

/// A recorded vector of one of the engines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Vector {
    /// Recorded from Apache Spark.
    Spark(Box<spark::SparkVector>),
    /// Recorded from Apache Flink.
    Flink(Box<flink::FlinkVector>),
}

impl Vector {
    /// The name that the vector gives itself.
    pub fn name(&self) -> &str {
        match self {
            Self::Spark(it) => &it.name,
            Self::Flink(it) => &it.name,
        }
    }

    /// The engine that gave the answers.
    pub fn engine(&self) -> Engine {
        match self {
            Self::Spark(_) => Engine::Spark,
            Self::Flink(_) => Engine::Flink,
        }
    }

    /// What kind of operator it is about, as its format says.
    pub fn kind(&self) -> &str {
        match self {
            Self::Spark(it) => it.query.operator.kind(),
            Self::Flink(it) => it.query.operator.kind(),
        }
    }
}

/// Something in a file that is no vector of a known format.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{place}: expected {expected}, found {found}")]
pub struct VectorError {
    /// A path into the JSON such as `steps[3].batch.left[0].ts`, or a line and column where the text
    /// is no JSON.
    pub place: String,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// Reads one vector.
///
/// # Errors
/// All that is wrong with it, at least one error.
pub fn read(bytes: &[u8]) -> Result<Vector, Vec<VectorError>> {
    let value = json::parse(bytes)?;
    let mut errors = Errors::default();
    let vector = engine(&value, &mut errors).and_then(|engine| match engine {
        Engine::Spark => {
            spark::read(Node::root(&value), &mut errors).map(|it| Vector::Spark(Box::new(it)))
        }
        Engine::Flink => {
            flink::read(Node::root(&value), &mut errors).map(|it| Vector::Flink(Box::new(it)))
        }
    });
    errors.settle(vector)
}

/// Whose vector it is, which says how the rest is read.
fn engine(value: &Value, errors: &mut Errors) -> Option<Engine> {
    let mut vector = Node::root(value).object(errors)?;
    let mut engine = vector.require("engine", errors)?.object(errors)?;
    let name = engine.require("name", errors);
    let version = engine.require("version", errors);
    engine.finish(errors);
    let (name, version) = (name?, version?);
    let text = name.text(errors)?;
    let Some((engine, _, known)) = ENGINES.iter().find(|it| it.1 == text) else {
        let names: Vec<String> = ENGINES.iter().map(|it| format!("\"{}\"", it.1)).collect();
        errors.unexpected(&name, names.join(" or "));
        return None;
    };
    if version.text(errors)? != *known {
        errors.unexpected(&version, format!("\"{known}\""));
        return None;
    }
    Some(*engine)
}

/// A vector does something, and its records stand under the numbers of their steps.
fn in_order(steps: usize, records: impl Iterator<Item = usize>, errors: &mut Errors) {
    if steps == 0 {
        errors.push("steps", "at least one step", "none");
    }
    for (ix, step) in records.enumerate().filter(|it| it.0 != it.1) {
        errors.push(&format!("expect[{ix}].step"), ix.to_string(), step.to_string());
    }
}

/// What a comparison of a run with its vector says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Everything that is worth matching is the same.
    Agreed(Agreement),
    /// Something is not.
    Disagreed(Box<Disagreement>),
    /// The vector asks for something that cannot be run here; the reason.
    NotRun(String),
}

/// Runs the query of a vector here and lays what it did beside what the vector says.
pub fn judge(vector: &Vector) -> Outcome {
    let compared = match vector {
        Vector::Spark(it) => spark::run(it).map(|found| spark::compare(it, &found)),
        Vector::Flink(it) => flink::run(it).map(|found| flink::compare(it, &found)),
    };
    match compared {
        Ok(Ok(it)) => Outcome::Agreed(it),
        Ok(Err(it)) => Outcome::Disagreed(it),
        Err(why) => Outcome::NotRun(why),
    }
}

/// How much was compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// Steps of the vector that were run and compared; none where the query was refused, as it should.
    pub steps: usize,
}

/// The first place at which a run and its vector differ.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "{}{what}: expected {expected}, found {found} ({rule})",
    .step.map_or(String::new(), |it| format!("step {it}, "))
)]
pub struct Disagreement {
    /// The step of the vector, from 0; none where the query itself is judged otherwise.
    pub step: Option<usize>,
    /// What was compared, such as `watermark_ms of batch 3`.
    pub what: String,
    /// What the vector says.
    pub expected: String,
    /// What the run gave.
    pub found: String,
    /// The rule that decides, with its source, such as `spark-rules 3: window end <= L`.
    pub rule: &'static str,
    /// The whole step as the vector has it, line by line, to be printed side by side.
    pub expected_step: Vec<String>,
    /// The whole step as it was found.
    pub found_step: Vec<String>,
}
