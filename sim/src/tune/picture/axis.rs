//! Axes of whole pixels, by integers.
//!
//! Invariant: a larger value never stands before a smaller one.

/// Distances between marks on an axis of spans.
pub(super) const SPANS: [i64; 24] = [
    1,
    10,
    100,
    1_000,
    5_000,
    10_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    1_800_000,
    3_600_000,
    7_200_000,
    14_400_000,
    21_600_000,
    43_200_000,
    86_400_000,
    172_800_000,
    604_800_000,
    2_592_000_000,
    7_776_000_000,
    31_536_000_000,
    315_360_000_000,
];

/// Distances between marks on an axis of counts.
pub(super) const COUNTS: [i64; 25] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
];

/// log2 in 1,024ths, rounded down, of a positive number.
fn log2(value: i64) -> i64 {
    assert!(0 < value, "only positive numbers have a logarithm");
    let value = value as u64;
    let whole = value.ilog2();
    // 1 <= mantissa < 2, with 63 bits behind the point; squaring it doubles its logarithm.
    let mut mantissa = u128::from(value) << (63 - whole);
    let mut log = i64::from(whole);
    for _ in 0..10 {
        mantissa = (mantissa * mantissa) >> 63;
        log *= 2;
        if 1 << 64 <= mantissa {
            mantissa >>= 1;
            log += 1;
        }
    }
    log
}

/// A logarithmic axis.
pub(super) struct Log {
    low: i64,
    high: i64,
    from: i64,
    to: i64,
}

impl Log {
    /// Values from `low` to `high` at the pixels from `from` to `to`.
    pub(super) fn new(low: i64, high: i64, from: i64, to: i64) -> Self {
        assert!(0 < low, "a logarithmic axis has no zero");
        Self { low, high: high.max(low.saturating_mul(2)), from, to }
    }

    pub(super) fn contains(&self, value: i64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The pixel of a value; values outside stand at the ends.
    pub(super) fn place(&self, value: i64) -> i64 {
        let value = value.clamp(self.low, self.high);
        let (low, high) = (log2(self.low), log2(self.high));
        self.from + (self.to - self.from) * (log2(value) - low) / (high - low)
    }

    /// About `count` values, evenly spread over the axis, from end to end.
    pub(super) fn spread(&self, count: i64) -> Vec<i64> {
        let (low, high) = (log2(self.low), log2(self.high));
        let mut values = vec![self.low];
        for at in 1..=count {
            let log = low + (high - low) * at / count;
            let (mut below, mut above) = (self.low, self.high);
            while below < above {
                let middle = below + (above - below) / 2;
                if log2(middle) < log { below = middle + 1 } else { above = middle }
            }
            values.push(if at == count { self.high } else { below });
        }
        values.dedup();
        values
    }

    /// Round spans on this axis, not closer than a label is wide.
    pub(super) fn ticks(&self) -> Vec<i64> {
        let mut ticks: Vec<i64> = Vec::new();
        for tick in SPANS.into_iter().filter(|it| self.contains(*it)) {
            if ticks.last().is_none_or(|it| self.place(*it) + 44 <= self.place(tick)) {
                ticks.push(tick);
            }
        }
        ticks
    }
}

/// A linear axis.
pub(super) struct Linear {
    low: i64,
    high: i64,
    from: i64,
    to: i64,
}

impl Linear {
    /// Values from `low` to `high` at the pixels from `from` to `to`.
    pub(super) fn new(low: i64, high: i64, from: i64, to: i64) -> Self {
        Self { low, high: high.max(low.saturating_add(1)), from, to }
    }

    /// The pixel of a value.
    pub(super) fn place(&self, value: i64) -> i64 {
        let part = i128::from(value) - i128::from(self.low);
        let whole = i128::from(self.high) - i128::from(self.low);
        self.from + (i128::from(self.to - self.from) * part / whole) as i64
    }

    /// At most seven marks, at multiples of one of `distances`.
    pub(super) fn ticks(&self, distances: &[i64]) -> Vec<i64> {
        let range = self.high.saturating_sub(self.low);
        let fits = |it: &&i64| range / **it <= 6;
        let Some(distance) = distances.iter().find(fits) else {
            return vec![self.low, self.high];
        };
        let first = self.low.div_euclid(*distance) + i64::from(self.low.rem_euclid(*distance) != 0);
        (first..=self.high.div_euclid(*distance)).map(|it| it * distance).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_a_thousandth() {
        assert_eq!([log2(1), log2(2), log2(1 << 40)], [0, 1_024, 40_960]);
        assert_eq!(log2(10), 3_401); // 3.32193 x 1,024 = 3,401.66
        assert_eq!(log2(i64::MAX), 63 * 1_024 - 1);
    }

    #[test]
    fn an_axis_goes_from_end_to_end_and_never_back() {
        let axis = Log::new(3, 5_000, 100, 700);
        let values = axis.spread(50);
        assert_eq!((values[0], values[values.len() - 1]), (3, 5_000));
        assert!(
            values.windows(2).all(|it| it[0] < it[1] && axis.place(it[0]) <= axis.place(it[1]))
        );
        assert_eq!((axis.place(3), axis.place(5_000)), (100, 700));
        assert_eq!((axis.place(1), axis.place(9_000)), (100, 700));
    }

    #[test]
    fn marks_of_a_linear_axis_are_round_and_few() {
        let axis = Linear::new(-250, 1_230, 200, 100);
        assert_eq!(axis.ticks(&COUNTS), [0, 500, 1_000]);
        assert_eq!((axis.place(-250), axis.place(1_230)), (200, 100));
    }
}
