//! What the tests of stages that join or compare rows are driven with.
//!
//! Rows have four columns: time, key, their own number (by which a written row is known again), and
//! an extra value for conditions. Random numbers are SplitMix64: the same on every machine.
//!
//! Invariant: the id of a row is its number.

use crate::operator::stage::{Handed, Pass, StageOutput};
use crate::output::{EmissionKind, EmissionNote};
use crate::plan::OutputMode;
use crate::row::{ColumnIx, ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime};

pub(crate) const TIME: ColumnIx = ColumnIx(0);
pub(crate) const KEY: ColumnIx = ColumnIx(1);
pub(crate) const EXTRA: ColumnIx = ColumnIx(3);

/// A row of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) number: u64,
    pub(crate) side: usize,
    pub(crate) time: Option<i64>,
    pub(crate) key: Option<i64>,
    pub(crate) extra: i64,
}

/// A row of a side with a number, a time and a key.
pub(crate) const fn row(side: usize, number: u64, time: i64, key: i64) -> Row {
    Row { number, side, time: Some(time), key: Some(key), extra: 0 }
}

/// The rows of one side, in order.
pub(crate) fn batch(rows: &[Row], side: usize) -> RowBatch {
    let mut batch = RowBatch::new(4);
    for it in rows.iter().filter(|it| it.side == side) {
        let cells = [it.time, it.key, Some(it.number as i64), Some(it.extra)];
        batch.push(ItemId(it.number), PartitionId(side as u32), ProcTime(0), &cells);
    }
    batch
}

/// One pass over rows. Joins write 8 columns, semi and anti joins and dedups 4.
pub(crate) fn pass(
    columns: usize,
    rows: &[Row],
    late: [EventTime; 2],
    evict: [EventTime; 2],
    step: impl FnOnce(&Pass<'_>, &mut StageOutput),
) -> StageOutput {
    let mut out = StageOutput::new(columns);
    let sides = [batch(rows, 0), batch(rows, 1)];
    let pass = Pass {
        step: 7,
        sides: [0, 1].map(|it| Some(Handed::all(&sides[it]))),
        late,
        evict,
        mode: OutputMode::Append,
        triggered: true,
        cause: ItemId(u64::MAX),
    };
    step(&pass, &mut out);
    assert_eq!(out.rows.len(), out.notes.len(), "one note per row");
    out
}

/// What was written: the numbers of the left and of the right row, and the note.
pub(crate) fn written(
    out: &StageOutput,
) -> impl Iterator<Item = ([Option<u64>; 2], EmissionNote)> + '_ {
    (0..out.rows.len()).map(|row| {
        let number = |column: usize| {
            out.rows.columns.get(column).and_then(|it| it.get(row)).map(|it| it as u64)
        };
        ([number(2), number(6)], out.notes[row])
    })
}

/// What was written, in words: `3+4` for a pair, `3+` and `+4` for one that is unmatched, `3` for a row.
pub(crate) fn words(out: &StageOutput) -> String {
    let word = |(numbers, note): ([Option<u64>; 2], EmissionNote)| {
        let of = |it: Option<u64>| it.map_or_else(String::new, |it| it.to_string());
        let wide = out.rows.columns.len() == 8;
        let plus = if wide || note.kind == EmissionKind::Unmatched { "+" } else { "" };
        format!("{}{plus}{}", of(numbers[0]), of(numbers[1]))
    };
    written(out).map(word).collect::<Vec<_>>().join(" ")
}

/// Random numbers.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number from `from` to `to`, both included.
    pub(crate) fn within(&mut self, from: i64, to: i64) -> i64 {
        from + (self.next() % (to - from + 1) as u64) as i64
    }

    /// True once in `n` times.
    pub(crate) fn once_in(&mut self, n: i64) -> bool {
        self.within(1, n) == 1
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.within(0, of.len() as i64 - 1) as usize]
    }
}
