//! How traffic models make rows: each field of a row from a stream of its own.
//!
//! Invariant: the i-th row takes the i-th draw of each stream, so a change of one field's range moves
//! no other field.

use crate::entropy::Stream;
use crate::model::{Arrival, Draft};

/// Makes `count` rows; `when` places the i-th of them.
pub(super) fn rows(
    draft: &mut Draft<'_>,
    name: &str,
    count: u64,
    when: impl Fn(&mut Stream<'_>, u64) -> i64,
) {
    let entropy = draft.entropy;
    let mut times = entropy.field(name, "time");
    let mut partitions = entropy.field(name, "partition");
    let mut keys = entropy.field(name, "key");
    let mut values = entropy.field(name, "value");
    draft.arrivals.reserve(count as usize + count as usize / 2);
    for row in 0..count {
        let time = when(&mut times, row);
        let partition = draft.partition(&mut partitions);
        let key = keys.below(u64::from(draft.keys)) as u32;
        draft.arrivals.push(Arrival::row(partition, time, key, value(&mut values)));
    }
}

/// A value: small, so that a person can add it up.
pub(super) fn value(values: &mut Stream<'_>) -> i64 {
    1 + values.below(9) as i64
}
