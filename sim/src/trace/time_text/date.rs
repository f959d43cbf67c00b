//! Days and dates of the proleptic Gregorian calendar, in UTC.
//!
//! The world repeats every 400 years (146,097 days), so one era is enough arithmetic. Years start in
//! March here, which puts the leap day at the end and makes the length of months a straight line.
//!
//! Invariant: `date(days(y, m, d)) == (y, m, d)` for every valid date from year 0000 to 9999.

/// Days in 400 years.
const ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Days since 1970-01-01 of a valid date.
pub(super) const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA + year * 365 + year / 4 - year / 100 + day_of_year - EPOCH
}

/// The date, as (year, month, day), so many days after 1970-01-01.
pub(super) const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let era = days.div_euclid(ERA);
    let day = days.rem_euclid(ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + if month <= 2 { 1 } else { 0 }, month, day)
}

/// How many days a month has.
pub(super) const fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_counts_every_day_once() {
        let mut expected = days(0, 1, 1);
        for year in 0..=9_999 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    assert_eq!(days(year, month, day), expected, "{year}-{month}-{day}");
                    assert_eq!(date(expected), (year, month, day));
                    expected += 1;
                }
            }
        }
    }

    #[test]
    fn known_days_stand_where_everybody_has_them() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(1969, 12, 31), -1);
        assert_eq!(days(2000, 3, 1), 11_017);
        assert_eq!(days(2018, 2, 8), 17_570);
    }
}
