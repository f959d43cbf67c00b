//! Reads one item from its line.
//!
//! Invariant: what is returned is a whole item; otherwise a mistake was reported, or there is no plan
//! and the columns of a row cannot be judged.

use super::Reading;
use crate::trace::nearest;
use crate::trace::partition;
use crate::trace::restart;
use crate::trace::time_text::{TimeTextError, parse_span, parse_time};
use crate::trace::words::{Value, Word, shown};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::row::{ColumnKind, Dictionary, PartitionId};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::Adoption;
use std::borrow::Cow;

const ITEMS: [&str; 15] = [
    "row",
    "heartbeat",
    "tick",
    "probe",
    "batch",
    "add",
    "move",
    "remove",
    "finish",
    "limit",
    "pressure",
    "checkpoint",
    "crash",
    "restart",
    "end",
];

/// What a line says.
pub(super) enum Read {
    /// An item without cells.
    Item(Item),
    /// A row and its cells.
    Row(PartitionId, Vec<Option<i64>>),
}

/// Reads the item on the current line.
pub(super) fn read(reading: &mut Reading<'_>) -> Option<Read> {
    let words = reading.words();
    let (word, rest) = words.split_first()?;
    let end = reading.text.trim_end().len();
    let mut line = Rest { reading, words: rest, end };
    let item = match word.raw {
        "row" => return line.row(),
        "heartbeat" => {
            let partition = line.partition();
            let time = line.time();
            Item::Heartbeat { partition: partition?, time: time? }
        }
        "tick" => Item::Tick(line.tick()?),
        "probe" => Item::Probe,
        "batch" => Item::Batch,
        "add" => {
            let words = [
                ("without_watermark", Adoption::WithoutWatermark),
                ("at_group", Adoption::AtGroup),
            ];
            let partition = line.partition();
            let adoption = match line.words {
                [] => Some(Adoption::WithoutWatermark),
                _ => line.one_of(&words, "`without_watermark` or `at_group`"),
            };
            Item::Add { partition: partition?, adoption: adoption? }
        }
        "move" => {
            let words = [
                ("with_watermark", Adoption::WithWatermark),
                ("without_watermark", Adoption::WithoutWatermark),
                ("at_group", Adoption::AtGroup),
            ];
            let partition = line.partition();
            let expected = "`with_watermark`, `without_watermark` or `at_group`";
            let adoption = line.one_of(&words, expected);
            Item::Move { partition: partition?, adoption: adoption? }
        }
        "remove" => Item::Remove(line.partition()?),
        "finish" => Item::Finish(line.partition()?),
        "limit" => {
            let none = matches!(line.words, [Word { raw: "none", .. }]);
            if none {
                line.words = &[];
            }
            let limit = if none { Some(EventTime::MAX) } else { line.time() };
            Item::Steer(Steer::Limit(limit?))
        }
        "pressure" => {
            let task = line.task();
            let off = !line.words.is_empty();
            if off {
                line.one_of(&[("off", ())], "`off` or nothing")?;
            }
            let (input, task) = task?;
            Item::Steer(Steer::Press { input, task, on: !off })
        }
        "checkpoint" => Item::Checkpoint,
        "crash" => {
            let stale = !line.words.is_empty();
            if stale {
                line.one_of(&[("stale", ())], "`stale` or nothing")?;
            }
            Item::Crash { stale }
        }
        "restart" => match line.words {
            [] => Item::Restart(RestoreRules::EXACT),
            _ => {
                let word = line.take("lost=.. or like=..")?;
                match restart::parse(word.raw) {
                    Ok(rules) => Item::Restart(rules),
                    Err((expected, found)) => {
                        line.reading.error(word.at, expected, found);
                        return None;
                    }
                }
            }
        },
        "end" => Item::End,
        other => {
            let expected = nearest::expected("an item such as `row` or `tick`", other, ITEMS);
            line.reading.error(word.at, expected, shown(other));
            return None;
        }
    };
    let before = line.reading.errors.len();
    line.reading.nothing_more(line.words);
    (line.reading.errors.len() == before).then_some(Read::Item(item))
}

/// The words of a line that have not been read yet.
struct Rest<'r, 'a, 'w> {
    reading: &'r mut Reading<'a>,
    words: &'w [Word<'a>],
    /// Where the line ends.
    end: usize,
}

impl<'a> Rest<'_, 'a, '_> {
    fn take(&mut self, expected: &'static str) -> Option<Word<'a>> {
        let Some((first, rest)) = self.words.split_first() else {
            self.reading.error(self.end, expected, "the end of the line".to_owned());
            return None;
        };
        self.words = rest;
        Some(*first)
    }

    fn one_of<T: Copy>(&mut self, words: &[(&str, T)], expected: &'static str) -> Option<T> {
        let word = self.take(expected)?;
        let found = words.iter().find(|it| it.0 == word.raw);
        if found.is_none() {
            self.reading.error(word.at, expected, shown(word.raw));
        }
        found.map(|it| it.1)
    }

    fn partition(&mut self) -> Option<PartitionId> {
        let word = self.take("a partition such as p0")?;
        let plan = self.reading.trace.as_ref().map(|it| &it.plan);
        match partition::parse(plan, word.raw) {
            Ok(it) => Some(it),
            Err((expected, found)) => {
                self.reading.error(word.at, expected, found);
                None
            }
        }
    }

    fn task(&mut self) -> Option<(usize, usize)> {
        let word = self.take("a task such as t1")?;
        let plan = self.reading.trace.as_ref().map(|it| &it.plan);
        match partition::parse_task(plan, word.raw) {
            Ok(it) => Some(it),
            Err((expected, found)) => {
                self.reading.error(word.at, expected, found);
                None
            }
        }
    }

    /// A time that may be two words: a date and a clock.
    fn time_word(&mut self) -> Option<(usize, Cow<'a, str>)> {
        let word = self.take("a time such as 10:08:30")?;
        let bytes = word.raw.as_bytes();
        let is_date = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
        if is_date
            && let Some((clock, rest)) = self.words.split_first()
            && clock.raw.contains(':')
            && !clock.raw.contains('=')
        {
            self.words = rest;
            return Some((word.at, Cow::Owned(format!("{} {}", word.raw, clock.raw))));
        }
        Some((word.at, Cow::Borrowed(word.raw)))
    }

    fn time(&mut self) -> Option<EventTime> {
        let (at, text) = self.time_word()?;
        parse_time(&text).map_err(|it| self.time_error(at, it)).ok()
    }

    fn time_error(&mut self, at: usize, error: TimeTextError) {
        self.reading.error(at + error.at, error.expected, error.found);
    }

    fn tick(&mut self) -> Option<Span> {
        let first = self.take("a span such as +30s")?;
        let last = *self.words.last().unwrap_or(&first);
        self.words = &[];
        let text = &self.reading.text[first.at..last.at + last.raw.len()];
        match parse_span(text) {
            Ok(span) if Span::ZERO <= span => Some(span),
            Ok(_) => {
                let expected = "a span that is not negative: the clock never goes back";
                self.reading.error(first.at, expected, shown(text));
                None
            }
            Err(it) => {
                self.time_error(first.at, it);
                None
            }
        }
    }

    fn row(&mut self) -> Option<Read> {
        let before = self.reading.errors.len();
        let partition = self.partition();
        let time = self.time_word().and_then(|(at, text)| {
            if text == "-" {
                return Some(None);
            }
            parse_time(&text).map(|it| Some(it.0)).map_err(|it| self.time_error(at, it)).ok()
        });
        // Borrowed apart from the place where mistakes are written.
        let mut trace = self.reading.trace.take();
        let cells = match &mut trace {
            Some(trace) => self.cells(trace, time),
            None => None,
        };
        self.reading.trace = trace;
        let whole = self.reading.errors.len() == before;
        if whole { Some(Read::Row(partition?, cells?)) } else { None }
    }

    fn cells(&mut self, trace: &mut Trace, time: Option<Option<i64>>) -> Option<Vec<Option<i64>>> {
        let at = trace.time_column();
        let Trace { plan, dictionary, cells: arena, .. } = trace;
        let columns = &plan.schema.columns;
        let mut values: Vec<Option<Value<'a>>> = vec![None; columns.len()];
        for word in self.words {
            let Some((name, value)) = word.pair() else {
                self.reading.error(word.at, "COLUMN=VALUE", shown(word.raw));
                continue;
            };
            let Some(column) = plan.schema.position(name) else {
                let names = columns.iter().map(|it| it.name.as_str());
                let expected = nearest::expected("a column of the plan", name, names);
                self.reading.error(word.at, expected, shown(name));
                continue;
            };
            if column.0 == at || values[column.0].is_some() {
                let expected = if column.0 == at {
                    "no second time: it stands behind the partition"
                } else {
                    "each column once"
                };
                self.reading.error(word.at, expected, shown(word.raw));
                continue;
            }
            match value.value() {
                Ok(it) => values[column.0] = Some(it),
                Err(it) => self.reading.word_error(it),
            }
        }
        if u32::try_from(arena.len() + columns.len()).is_err() {
            let expected = "fewer than 2^32 cells in a trace";
            self.reading.error(self.end, expected, "more".to_owned());
            return None;
        }
        // In the order of the schema, so that the order of the words changes no code.
        let mut cells = Vec::with_capacity(columns.len());
        for (i, column) in columns.iter().enumerate() {
            cells.push(match &values[i] {
                _ if i == at => time.flatten(),
                None => None,
                Some(value) if value.is_null() => None,
                Some(value) => self.cell(column.kind, value, dictionary),
            });
        }
        Some(cells)
    }

    /// A value that is not null; `None` is a mistake that was reported.
    fn cell(
        &mut self,
        kind: ColumnKind,
        value: &Value<'_>,
        dictionary: &mut Dictionary,
    ) -> Option<i64> {
        match kind {
            ColumnKind::Text => Some(dictionary.code(&value.text)),
            ColumnKind::Time => match parse_time(&value.text) {
                Ok(it) => Some(it.0),
                Err(it) => {
                    self.reading.error(value.at, it.expected, it.found);
                    None
                }
            },
            ColumnKind::Integer => match value.text.parse() {
                Ok(it) => Some(it),
                Err(_) => {
                    let expected = "an integer that fits 64 bits";
                    self.reading.error(value.at, expected, shown(&value.text));
                    None
                }
            },
        }
    }
}
