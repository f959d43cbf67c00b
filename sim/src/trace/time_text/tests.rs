//! Times and spans as people write them.

use super::*;

fn check_time(text: &str, ms: i64) {
    assert_eq!(parse_time(text), Ok(EventTime(ms)), "{text}");
}

fn check_span(text: &str, ms: i64) {
    assert_eq!(parse_span(text), Ok(Span(ms)), "{text}");
}

fn check_error(found: Result<i64, TimeTextError>, at: usize, message: &str) {
    let error = found.expect_err(message);
    assert_eq!((error.at, error.to_string().as_str()), (at, message));
}

fn time_error(text: &str, at: usize, message: &str) {
    check_error(parse_time(text).map(|it| it.0), at, message);
}

fn span_error(text: &str, at: usize, message: &str) {
    check_error(parse_span(text).map(|it| it.0), at, message);
}

#[test]
fn times_are_read_as_people_write_them() {
    check_time("10:08:30", 36_510_000);
    check_time("-00:00:05.5", -5_500);
    check_time("1000:00:00", 3_600_000_000);
    check_time("@-12", -12);
    check_time("2018-02-08 20:23:00", 1_518_121_380_000);
    check_time("2018-02-08T20:23:00.25Z", 1_518_121_380_250);
    check_time("1969-12-31T23:59:59", -1_000);
    check_time("0000-01-01T00:00:00", -62_167_219_200_000);
    check_time("-inf", i64::MIN);
    check_time("@9223372036854775807", i64::MAX);
}

#[test]
fn times_are_printed_in_one_way() {
    let print = |ms| TimeText(EventTime(ms)).to_string();
    assert_eq!(print(36_510_000), "10:08:30");
    assert_eq!(print(-5_500), "-00:00:05.500");
    assert_eq!(print(100 * HOUR), "100:00:00");
    assert_eq!(print(100 * HOUR + 1), "@360000001");
    assert_eq!(print(1_518_121_380_000), "2018-02-08T20:23:00");
    assert_eq!(print(DATED.start), "2000-01-01T00:00:00");
    assert_eq!(print(DATED.end - 1), "2099-12-31T23:59:59.999");
    assert_eq!(print(DATED.end), "@4102444800000");
    assert_eq!(print(i64::MIN), "-inf");
    assert_eq!(print(i64::MAX), "+inf");
    assert_eq!(print(i64::MIN + 1), "@-9223372036854775807");
}

#[test]
fn spans_are_read_as_people_write_them() {
    check_span("10min", 600_000);
    check_span("10 minutes", 600_000);
    check_span("2 hours 5 minutes", 7_500_000);
    check_span("1h30m", 5_400_000);
    check_span("1.5h", 5_400_000);
    check_span("PT5M", 300_000);
    check_span("P1DT0.25S", 86_400_250);
    check_span("600s", 600_000);
    check_span("1d", 86_400_000);
    check_span("+30s", 30_000);
    check_span("-2 min", -120_000);
    check_span("0", 0);
}

#[test]
fn spans_are_printed_in_one_way() {
    let print = |ms| SpanText(Span(ms)).to_string();
    assert_eq!(print(0), "0s");
    assert_eq!(print(125_000), "2min5s");
    assert_eq!(print(2_400_000), "40min");
    assert_eq!(print(5_400_000), "1h30min");
    assert_eq!(print(4 * DAY), "4d");
    assert_eq!(print(-250), "-250ms");
    assert_eq!(print(i64::MIN), "-106751991167d7h12min55s808ms");
}

#[test]
fn every_number_survives_being_printed_and_read() {
    let mut numbers = vec![0, 1, -1, i64::MIN, i64::MAX, i64::MIN + 1, i64::MAX - 1];
    let mut state = 7u64;
    for round in 0..20_000u32 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.push((state as i64) >> (round % 64));
    }
    for ms in numbers {
        check_time(&TimeText(EventTime(ms)).to_string(), ms);
        check_span(&SpanText(Span(ms)).to_string(), ms);
    }
}

#[test]
fn a_text_that_is_no_time_says_what_was_expected_where() {
    time_error(
        "soon",
        0,
        "expected a time such as 10:08:30, 2018-02-08T20:23:00 or @1000, found `soon`",
    );
    time_error(
        "",
        0,
        "expected a time such as 10:08:30, 2018-02-08T20:23:00 or @1000, found the end",
    );
    time_error("10", 2, "expected `:` and the minutes, found the end");
    time_error("10:60:00", 3, "expected minutes from 00 to 59, found `60:00`");
    time_error("10:08", 5, "expected `:` and the seconds, found the end");
    time_error("10:08:7", 6, "expected seconds from 00 to 59, found `7`");
    time_error("10:08:07.1234", 9, "expected at most three digits of a second, found `1234`");
    time_error("10:08:07 PM", 8, "expected nothing more, found ` PM`");
    time_error("@", 1, "expected a number of milliseconds, found the end");
    time_error(
        "@99999999999999999999",
        1,
        "expected a number that fits 64 bits, found `99999999999999999999`",
    );
    time_error(
        "@9223372036854775808",
        0,
        "expected milliseconds that fit 64 bits, found `@9223372036854775808`",
    );
    time_error("2018-02-29T00:00:00", 8, "expected a day that this month has, found `29T00:00:00`");
    time_error("2018-13-01T00:00:00", 5, "expected a month from 01 to 12, found `13-01T00:00:00`");
    time_error("2018-02-08", 10, "expected a time of day such as T20:23:00, found the end");
    time_error("2018-02-08T24:00:00", 11, "expected hours from 00 to 23, found `24:00:00`");
}

#[test]
fn a_text_that_is_no_span_says_what_was_expected_where() {
    span_error("soon", 0, "expected a span such as 10min, 2min5s or 250ms, found `soon`");
    span_error("600", 3, "expected a unit: d, h, min, s or ms, found the end");
    span_error("1 month", 2, "expected a unit: d, h, min, s or ms, found `month`");
    span_error("0.5ms", 0, "expected a whole number of milliseconds, found `0.5ms`");
    span_error("1min 5", 6, "expected a unit: d, h, min, s or ms, found the end");
    span_error("P1M", 2, "expected D or W, or T before hours, minutes and seconds, found `M`");
    span_error("PT1D", 3, "expected H, M or S, found `D`");
    span_error("999999999999d", 0, "expected milliseconds that fit 64 bits, found `999999999999d`");
}
