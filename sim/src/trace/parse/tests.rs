//! Traces as people write them, and mistakes as people make them.

use super::*;
use crate::trace::Item;
use crate::trace::plan_text::draw::Draw;
use crate::trace::write::write;
use plimsoll_engine::plan::Effective;
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::levels::Steer;

const STORY: &str = "\
# 10:09:55 comes after 10:12:00 has closed its window: not counted, and nothing in the figure says so
plan window=tumbling(10min) delay=2min watermark=global effective=row late=event output=append
row p0 10:08:30 k=a v=1
row p0 10:12:00 k=a v=1
=> watermark 10:10:00
=> emit [10:00:00,10:10:00) k=a count=1
row p1 10:09:55 k=a v=1
=> late k=a 10:09:55 behind 10:10:00 (set by item 2); a delay of 2min5s would have kept it
";

fn check(text: &str, expected: &[&str]) {
    let broken = parse(text).expect_err(text);
    let errors: Vec<String> = broken.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, expected, "{text}");
}

/// One mistake in the line below `plan`.
fn check_line(line: &str, expected: &str) {
    check(&format!("plan\n{line}\n"), &[&format!("line 2, column {expected}")]);
}

#[test]
fn the_story_of_the_design_is_read() {
    let read = parse(STORY).expect(STORY);
    assert_eq!(read.head.len(), 1);
    assert_eq!(read.lines, [3, 4, 7]);
    let golden: Vec<(u64, usize)> = read.golden.iter().map(|it| (it.item.0, it.line)).collect();
    assert_eq!(golden, [(2, 5), (2, 6), (3, 8)]);
    assert_eq!(read.golden[1].text, "emit [10:00:00,10:10:00) k=a count=1");
    let trace = read.trace;
    assert_eq!(trace.plan.watermark.as_ref().map(|it| it.effective), Some(Effective::Row));
    let Item::Row(row) = trace.items[2] else { panic!("the third item is a row") };
    assert_eq!(row.partition, PartitionId(1));
    assert_eq!(trace.time(row), Some(EventTime(36_595_000)));
    assert_eq!(trace.cells(row), [Some(36_595_000), Some(0), Some(1)]);
    assert_eq!(trace.dictionary.text(0), Some("a"));
}

#[test]
fn a_missing_column_and_a_dash_are_null() {
    let read = parse("plan\nrow p0 - k=\"-\"\nrow p0 10:00:00 k=- v=-5\n").expect("a trace");
    let cells: Vec<Option<i64>> = vec![None, Some(0), None, Some(36_000_000), None, Some(-5)];
    assert_eq!(read.trace.cells, cells);
    assert_eq!(read.trace.dictionary.text(0), Some("-"));
}

#[test]
fn levels_are_steered_by_limits_and_pressure() {
    let text = "plan inputs=left,right\nlimit 10:00:00\nlimit none\npressure right/t1\n\
                pressure left/t0 off\n";
    let press = |input, task, on| Item::Steer(Steer::Press { input, task, on });
    let limit = |it| Item::Steer(Steer::Limit(it));
    let expected = [
        limit(EventTime(36_000_000)),
        limit(EventTime::MAX),
        press(1, 1, true),
        press(0, 0, false),
    ];
    assert_eq!(parse(text).expect(text).trace.items, expected);
    check_line("limit", "6: expected a time such as 10:08:30, found the end of the line");
    check_line("pressure p1", "10: expected a task such as t1, found `p1`");
    check_line("pressure t1 on", "13: expected `off` or nothing, found `on`");
}

#[test]
fn each_mistake_says_what_was_expected_where() {
    check_line(
        "rwo p0 10:00:00",
        "1: expected an item such as `row` or `tick`; the nearest is `row`, found `rwo`",
    );
    check_line("row q0 10:00:00", "5: expected a partition such as p0, found `q0`");
    check_line(
        "row p4294967296 10:00:00",
        "5: expected a partition such as p0, found `p4294967296`",
    );
    check_line(
        "row clicks/p0 10:00:00",
        "5: expected `input/` or nothing: a trace has one input, found `clicks/p0`",
    );
    check_line("row p0 10:61:00", "11: expected minutes from 00 to 59, found `61:00`");
    check_line("row p0", "7: expected a time such as 10:08:30, found the end of the line");
    check_line(
        "row p0 10:00:00 j=a",
        "17: expected a column of the plan; the nearest is `k`, found `j`",
    );
    check_line(
        "row p0 10:00:00 time=10:00:00",
        "17: expected no second time: it stands behind the partition, found `time=10:00:00`",
    );
    check_line("row p0 10:00:00 k=a k=b", "21: expected each column once, found `k=b`");
    check_line("row p0 10:00:00 a", "17: expected COLUMN=VALUE, found `a`");
    check_line("row p0 10:00:00 v=1.5", "19: expected an integer that fits 64 bits, found `1.5`");
    check_line("row p0 10:00:00 k=\"a", "19: expected a closing quote on this line, found `\"a`");
    check_line(
        "heartbeat p0 soon",
        "14: expected a time such as 10:08:30, 2018-02-08T20:23:00 or @1000, found `soon`",
    );
    check_line("tick", "5: expected a span such as +30s, found the end of the line");
    check_line(
        "tick -30s",
        "6: expected a span that is not negative: the clock never goes back, found `-30s`",
    );
    check_line("tick 30", "8: expected a unit: d, h, min, s or ms, found the end");
    check_line(
        "add p1 with_watermark",
        "8: expected `without_watermark` or `at_group`, found `with_watermark`",
    );
    check_line(
        "move p1",
        "8: expected `with_watermark`, `without_watermark` or `at_group`, found the end of the line",
    );
    check_line("crash hard", "7: expected `stale` or nothing, found `hard`");
    check_line("end now", "5: expected nothing more, found `now`");
    check_line(
        "=> watermark 10:00:00",
        "1: expected an item above what comes out of it, found `=> watermark 10:00:00`",
    );
    check_line("plan delay=1s", "1: expected an item: a trace has one plan, found `plan`");
    check_line(
        "plimsoll-trace 1",
        "1: expected the version once, above everything else, found `plimsoll-trace`",
    );
}

#[test]
fn mistakes_in_the_plan_say_what_was_expected_where() {
    check(
        "",
        &[
            "line 1, column 1: expected `plan ..`, the first line of every trace, found the end of the file",
        ],
    );
    check(
        "row p0 10:00:00\n",
        &["line 1, column 1: expected `plan ..`, the first line of every trace, found `row`"],
    );
    check(
        "plan dealy=2min\n",
        &["line 1, column 6: expected a key of the plan; the nearest is `delay`, found `dealy`"],
    );
    check(
        "plan a.toml b\n",
        &[
            "line 1, column 13: expected nothing more, found `b`",
            "line 1, column 6: expected a file with a plan, found `a.toml`: cannot be read here",
        ],
    );
    check(
        "plan delay\n",
        &["line 1, column 6: expected KEY=VALUE or the name of a .toml file, found `delay`"],
    );
    check("plan delay=1s late\n", &["line 1, column 15: expected KEY=VALUE, found `late`"]);
    check(
        "plan window=none agg=count delay=\n",
        &[
            "line 1, column 28: expected a span such as 10min, 2min5s or 250ms, found `delay=`",
            "line 1, column 18: expected a window: with `window=none` this has no meaning, found `agg=count`",
        ],
    );
    check(
        "plimsoll-trace 2\nwho knows\n",
        &["line 1, column 16: expected version 1, the only one that this build reads, found `2`"],
    );
    check(
        "plimsoll-trace\nplan\n",
        &[
            "line 1, column 15: expected version 1, the only one that this build reads, found the end",
        ],
    );
}

#[test]
fn all_mistakes_are_reported_and_what_is_before_them_is_good() {
    let text = "# story\nplan\nrow p0 10:00:00 k=a\n=> watermark 09:50:00\nrow p0 x k=a y=1\nprobe\n=> a\ntock +1s\n";
    check(
        text,
        &[
            "line 5, column 8: expected a time such as 10:08:30, 2018-02-08T20:23:00 or @1000, found `x`",
            "line 5, column 14: expected a column of the plan; the nearest is `k`, found `y`",
            "line 8, column 1: expected an item such as `row` or `tick`; the nearest is `tick`, found `tock`",
        ],
    );
    let good = parse(text).expect_err(text).good.expect("the plan was read");
    assert_eq!(
        (good.trace.items.len(), good.lines, good.head),
        (1, vec![3], vec!["story".to_owned()])
    );
    assert_eq!(good.golden.len(), 1);

    let many = "plan\n".to_owned() + &"oops\n".repeat(100);
    assert_eq!(parse(&many).expect_err("mistakes").errors.len(), ERRORS_MAX);
}

#[test]
fn without_a_plan_the_other_lines_are_judged_all_the_same() {
    check(
        "plan delay=x\nrow p0 10:00:00 no_such=1\ntick\n",
        &[
            "line 1, column 12: expected a span such as 10min, 2min5s or 250ms, found `x`",
            "line 3, column 5: expected a span such as +30s, found the end of the line",
        ],
    );
}

#[test]
fn a_plan_may_stand_in_a_file_of_its_own() {
    let text = "plan worlds/a.toml\nrow p0 10:00:00\n";
    let mut asked = Vec::new();
    let read = parse_with(text, &mut |name| {
        asked.push(name.to_owned());
        Ok("[plan]\ndelay = \"7s\"\n".to_owned())
    });
    let read = read.expect(text);
    assert_eq!(asked, ["worlds/a.toml"]);
    assert_eq!(read.plan_file.as_deref(), Some("worlds/a.toml"));
    assert_eq!(read.trace.plan.watermark.map(|it| it.delay.0), Some(7_000));

    let broken = parse_with(text, &mut |_| Ok("[plan]\n\ndelay = \"soon\"\n".to_owned()));
    assert_eq!(
        broken.expect_err(text).to_string(),
        "line 1, column 6: expected a span such as 10min, 2min5s or 250ms, \
         found `soon` in line 3 of `worlds/a.toml`"
    );
}

#[test]
fn bytes_that_are_no_text_are_a_mistake_with_a_place() {
    let bytes = b"plan\nrow p0 10:00:00 k=\xc3\xa4 v=\xff\nprobe\n";
    let broken = parse_bytes(bytes, &mut |_| Err(String::new())).expect_err("broken bytes");
    assert_eq!(
        broken.to_string(),
        "line 2, column 23: expected text in UTF-8, found the byte 0xff"
    );
    assert_eq!(broken.good.map(|it| it.trace.items.len()), Some(0));
    let first = parse_bytes(b"\xff", &mut |_| Err(String::new())).expect_err("broken bytes");
    assert_eq!(first.to_string(), "line 1, column 1: expected text in UTF-8, found the byte 0xff");
}

#[test]
fn hostile_bytes_never_panic() {
    let mut draw = Draw(5);
    let words: Vec<&[u8]> = vec![
        b"plan ",
        b"row ",
        b"p0 ",
        b"=> ",
        b"\"",
        b"\\",
        b"=",
        b"-",
        b"@",
        b"\n",
        b"\r",
        b"#",
        b"\xff",
        b"\xc3\xa4",
        b"\0",
        b"99999999999999999999",
        b"plimsoll-trace ",
        b" ",
        b"tick ",
        b".toml",
        b"2018-02-08 ",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"(",
        b",",
    ];
    let (mut whole, mut broken) = (0, 0);
    for round in 0..6_000 {
        let mut bytes = match round % 3 {
            0 => STORY.as_bytes().to_vec(),
            1 => write(&draw.trace(), &[]).into_bytes(),
            _ => Vec::new(),
        };
        for _ in 0..1 + draw.below(3) {
            let at = draw.below(bytes.len() as u64 + 1) as usize;
            match draw.below(4) {
                0 => drop(bytes.splice(
                    at..at,
                    words[draw.below(words.len() as u64) as usize].iter().copied(),
                )),
                1 => drop(bytes.drain(at..bytes.len().min(at + 1 + draw.below(9) as usize))),
                2 if at < bytes.len() => bytes[at] = draw.below(256) as u8,
                _ => bytes.truncate(at.max(bytes.len() / 2)),
            }
        }
        match parse_bytes(&bytes, &mut |_| Ok(String::new())) {
            Ok(read) => {
                assert_eq!(read.lines.len(), read.trace.items.len());
                let text = write(&read.trace, &read.head);
                let again = parse(&text).unwrap_or_else(|it| panic!("{it}\n{text}"));
                assert_eq!(again.trace, read.trace);
                whole += 1;
            }
            Err(it) => {
                assert!((1..=ERRORS_MAX + 1).contains(&it.errors.len()));
                assert!(it.errors.iter().all(|it| !it.to_string().contains('\n')), "{it}");
                if let Some(good) = it.good {
                    assert_eq!(good.lines.len(), good.trace.items.len());
                }
                broken += 1;
            }
        }
    }
    assert!(300 < whole && 300 < broken, "{whole} whole, {broken} broken");
}
