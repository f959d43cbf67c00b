//! Partitions as text: `p3`, `left/p3`, `p3@t1`.
//!
//! A plain plan has one input and one task: there a partition is its number, all 32 bits of it, and
//! `input/` may stand before it. A flow says which of its inputs a partition belongs to, unless it has
//! only one, and which task reads it, unless it is the first.
//!
//! Invariant: what is printed is read back as the very same partition, where its input exists.

use super::Trace;
use super::nearest;
use super::words::shown;
use plimsoll_engine::plan::Plan;
use plimsoll_engine::plan::flow::{Flow, InputPlan};
use plimsoll_engine::row::PartitionId;
use std::fmt;

/// The name of the single input of a plain plan.
const INPUT: &str = "input";

/// A partition as traces and reports print it.
#[derive(Clone, Copy, Debug)]
pub struct PartitionText<'a> {
    inputs: &'a [InputPlan],
    partition: PartitionId,
}

impl<'a> PartitionText<'a> {
    /// Under a plan.
    pub fn new(plan: &'a Plan, partition: PartitionId) -> Self {
        Self { inputs: plan.flow.as_ref().map_or(&[], |it| &it.inputs), partition }
    }
}

impl Trace {
    /// A partition as this trace prints it.
    pub fn partition_text(&self, partition: PartitionId) -> PartitionText<'_> {
        PartitionText::new(&self.plan, partition)
    }
}

impl fmt::Display for PartitionText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let it = self.partition;
        if self.inputs.is_empty() {
            return write!(f, "p{}", it.0);
        }
        match self.inputs.get(it.input()) {
            Some(_) if self.inputs.len() == 1 => {}
            Some(input) => write!(f, "{}/", input.name)?,
            None => write!(f, "?{}/", it.input())?,
        }
        write!(f, "p{}", it.number())?;
        if it.task() == 0 { Ok(()) } else { write!(f, "@t{}", it.task()) }
    }
}

/// A task as traces print it: `t1`, `left/t1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskText<'a> {
    inputs: &'a [InputPlan],
    input: usize,
    task: usize,
}

impl<'a> TaskText<'a> {
    /// Under a plan.
    pub(crate) fn new(plan: &'a Plan, input: usize, task: usize) -> Self {
        Self { inputs: plan.flow.as_ref().map_or(&[], |it| &it.inputs), input, task }
    }
}

impl fmt::Display for TaskText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.inputs.get(self.input) {
            Some(_) if self.inputs.len() == 1 => {}
            None if self.inputs.is_empty() && self.input == 0 => {}
            Some(input) => write!(f, "{}/", input.name)?,
            None => write!(f, "?{}/", self.input)?,
        }
        write!(f, "t{}", self.task)
    }
}

/// What was expected and what was found instead.
pub(super) type PartitionError = (String, String);

/// Reads a task: its input and its number there.
pub(super) fn parse_task(
    plan: Option<&Plan>,
    text: &str,
) -> Result<(usize, usize), PartitionError> {
    let (input, name) = match text.rsplit_once('/') {
        Some((input, name)) => (Some(input), name),
        None => (None, text),
    };
    let task = number(name, 't', "a task such as t1", PartitionId::TASK_MAX)? as usize;
    let Some(flow) = plan.and_then(|it| it.flow.as_ref()) else {
        return match input {
            None | Some(INPUT) => Ok((0, task)),
            Some(_) => Err(("a task such as t1".to_owned(), shown(text))),
        };
    };
    Ok((input_of(flow, input, text, "a task", "t0")?, task))
}

/// The position of an input that is named, or need not be.
fn input_of(
    flow: &Flow,
    input: Option<&str>,
    text: &str,
    what: &str,
    example: &str,
) -> Result<usize, PartitionError> {
    let names = || flow.inputs.iter().map(|it| it.name.as_str());
    match input {
        None if flow.inputs.len() == 1 => Ok(0),
        None => {
            let first = names().next().unwrap_or(INPUT);
            Err((format!("an input and {what} such as {first}/{example}"), shown(text)))
        }
        Some(input) => names().position(|it| it == input).ok_or_else(|| {
            let all = names().map(|it| format!("`{it}/`")).collect::<Vec<_>>().join(", ");
            (
                nearest::expected(&format!("an input of the plan: {all}"), input, names()),
                shown(text),
            )
        }),
    }
}

/// Reads a partition. Without a plan its input is taken as it is.
pub(super) fn parse(plan: Option<&Plan>, text: &str) -> Result<PartitionId, PartitionError> {
    let (input, name) = match text.rsplit_once('/') {
        Some((input, name)) => (Some(input), name),
        None => (None, text),
    };
    let Some(flow) = plan.and_then(|it| it.flow.as_ref()) else {
        return match (plan, input) {
            (Some(_), Some(it)) if it != INPUT => {
                Err(("`input/` or nothing: a trace has one input".to_owned(), shown(text)))
            }
            (None, _) if name.contains("@t") => tasked(name).map(|_| PartitionId(0)),
            _ => number(name, 'p', "a partition such as p0", u32::MAX).map(PartitionId),
        };
    };
    let at = input_of(flow, input, text, "a partition", "p0")?;
    let at = u32::try_from(at).expect("at most sixteen inputs");
    tasked(name).map(|(task, number)| PartitionId::of(at, task, number))
}

/// `p3@t1` or `p3`: task and number.
fn tasked(name: &str) -> Result<(u32, u32), PartitionError> {
    let (name, task) = match name.split_once('@') {
        Some((name, task)) => {
            (name, number(task, 't', "a task such as @t1", PartitionId::TASK_MAX)?)
        }
        None => (name, 0),
    };
    Ok((task, number(name, 'p', "a partition such as p0", PartitionId::NUMBER_MAX)?))
}

fn number(text: &str, letter: char, expected: &str, most: u32) -> Result<u32, PartitionError> {
    let digits = text.strip_prefix(letter).filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
    let number = digits.filter(|it| !it.is_empty()).map(|it| it.parse::<u32>().ok());
    match number {
        Some(Some(it)) if it <= most => Ok(it),
        Some(_) if most < u32::MAX => {
            Err((format!("{expected}, up to {letter}{most}"), shown(text)))
        }
        _ => Err((expected.to_owned(), shown(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::plan_text::plan_from_pairs;

    fn plan(key: &str, value: &str) -> Plan {
        plan_from_pairs([(key, value)]).expect(value).plan
    }

    /// Read and printed the same.
    fn check(plan: &Plan, text: &str, partition: PartitionId) {
        assert_eq!(parse(Some(plan), text), Ok(partition), "{text}");
        assert_eq!(PartitionText::new(plan, partition).to_string(), text);
    }

    fn check_error(plan: &Plan, text: &str, message: &str) {
        let (expected, found) = parse(Some(plan), text).expect_err(text);
        assert_eq!(format!("expected {expected}, found {found}"), message);
    }

    #[test]
    fn a_plain_plan_knows_numbers_only() {
        let plan = plan("delay", "1s");
        check(&plan, "p4294967295", PartitionId(u32::MAX));
        assert_eq!(parse(Some(&plan), "input/p7"), Ok(PartitionId(7)));
        check_error(&plan, "p0@t1", "expected a partition such as p0, found `p0@t1`");
        check_error(&plan, "p", "expected a partition such as p0, found `p`");
        check_error(&plan, "p+1", "expected a partition such as p0, found `p+1`");
    }

    #[test]
    fn a_flow_of_one_input_says_only_the_task() {
        let plan = plan("stages", "");
        check(&plan, "p3", PartitionId::of(0, 0, 3));
        check(&plan, "p1048575@t255", PartitionId::of(0, 255, 1_048_575));
        assert_eq!(parse(Some(&plan), "in/p3@t0"), Ok(PartitionId(3)));
        check_error(
            &plan,
            "p1048576",
            "expected a partition such as p0, up to p1048575, found `p1048576`",
        );
        check_error(&plan, "p0@t256", "expected a task such as @t1, up to t255, found `t256`");
        check_error(&plan, "p0@1", "expected a task such as @t1, found `1`");
    }

    #[test]
    fn a_task_is_named_like_a_partition() {
        for (key, value, text, task) in [
            ("delay", "1s", "t7", (0, 7)),
            ("stages", "", "t255", (0, 255)),
            ("inputs", "left,a/b", "a/b/t1", (1, 1)),
        ] {
            let plan = plan(key, value);
            assert_eq!(parse_task(Some(&plan), text), Ok(task), "{text}");
            assert_eq!(TaskText::new(&plan, task.0, task.1).to_string(), text);
        }
        let plan = plan("inputs", "left,right");
        let (expected, found) = parse_task(Some(&plan), "t1").expect_err("no input");
        let message = format!("expected {expected}, found {found}");
        assert_eq!(message, "expected an input and a task such as left/t0, found `t1`");
    }

    #[test]
    fn a_flow_of_several_inputs_names_them() {
        let plan = plan("inputs", "left,a/b");
        check(&plan, "left/p3", PartitionId::of(0, 0, 3));
        check(&plan, "a/b/p3@t1", PartitionId::of(1, 1, 3));
        check_error(&plan, "p3", "expected an input and a partition such as left/p0, found `p3`");
        check_error(
            &plan,
            "lift/p3",
            "expected an input of the plan: `left/`, `a/b/`; the nearest is `left`, found `lift/p3`",
        );
        let nobodys = PartitionId::of(9, 0, 1);
        assert_eq!(PartitionText::new(&plan, nobodys).to_string(), "?9/p1");
    }
}
