//! Quantiles of plain lateness and of latencies.
//!
//! Between two values the quantile is interpolated (the default of numpy, R's type 7), rounded down to
//! a millisecond: whoever compares with a notebook finds the same figures.
//!
//! Invariant: integers only; a quantile never leaves the range of the values.

/// Values in ascending order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sorted(Vec<i64>);

impl Sorted {
    /// Sorts.
    pub fn new(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        Self(values)
    }

    /// How many values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The largest value.
    pub fn max(&self) -> Option<i64> {
        self.0.last().copied()
    }

    /// The quantile at `permille` of the way from the smallest value to the largest.
    pub fn quantile(&self, permille: u32) -> Option<i64> {
        assert!(permille <= 1_000, "a quantile lies between the ends");
        let last = self.0.len().checked_sub(1)? as u128;
        let place = last * u128::from(permille);
        let (at, part) = ((place / 1_000) as usize, (place % 1_000) as i128);
        let (low, high) = (self.0[at], self.0[(at + 1).min(last as usize)]);
        let between = (i128::from(high) - i128::from(low)) * part;
        Some((i128::from(low) + between.div_euclid(1_000)) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated_and_rounded_down() {
        let sorted = Sorted::new(vec![40, -10, 20, 30]);
        assert_eq!(sorted.quantile(0), Some(-10));
        assert_eq!(sorted.quantile(100), Some(-1));
        assert_eq!(sorted.quantile(500), Some(25));
        assert_eq!(sorted.quantile(1_000), Some(40));
        assert_eq!(Sorted::default().quantile(500), None);
        assert_eq!(Sorted::new(vec![i64::MIN, i64::MAX]).quantile(500), Some(-1));
    }
}
