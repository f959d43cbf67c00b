//! What is written is read back.

use super::*;
use crate::trace::parse::parse;
use crate::trace::plan_text::draw::Draw;

#[test]
fn every_trace_survives_being_written_and_read() {
    let mut draw = Draw(3);
    let head = ["origin: seed 7".to_owned(), String::new(), "two\nlines".to_owned()];
    for _ in 0..3_000 {
        let trace = draw.trace();
        let text = write(&trace, &head);
        let read = parse(&text).unwrap_or_else(|it| panic!("{it}\n{text}"));
        assert_eq!(read.trace, normalized(&trace), "{text}");
        assert_eq!(read.head, ["origin: seed 7", "", "two", "lines"]);
        assert_eq!(write(&read.trace, &read.head), text);
        assert_eq!(normalized(&read.trace), read.trace);
    }
}

#[test]
fn a_trace_is_written_in_one_way() {
    let text = "plimsoll-trace 1\n\
                # a story\n\
                plan window=tumbling(10min) delay=2min effective=row clock=00:00:05\n\
                row p0 10:08:30 k=a v=1\n\
                row p0 - k=\"a b\"\n\
                row p1 @-9223372036854775807\n\
                heartbeat p1 2018-02-08T20:23:00\n\
                tick +2min5s\n\
                probe\n\
                batch\n\
                add p2\n\
                add p3 at_group\n\
                remove p2\n\
                move p3 without_watermark\n\
                finish p3\n\
                checkpoint\n\
                crash\n\
                crash stale\n\
                end\n";
    let read = parse(text).expect(text);
    assert_eq!(write(&read.trace, &read.head), text);
    assert_eq!(item_text(&read.trace, &read.trace.items[1]), "row p0 - k=\"a b\"");
}

#[test]
fn the_order_of_words_and_the_way_of_writing_change_nothing() {
    let written = "plan delay=2min\nrow p0 10:00:00 k=a v=1\ntick +1min\nmove p0 with_watermark\n";
    let other = "\u{feff}plan  delay=\"2 minutes\"\r\n\r\n\trow input/p0 @36000000 v=1 k=\"a\" # why\r\n\
                 tick 60 s\r\nmove p0 with_watermark";
    assert_eq!(parse(written).map(|it| it.trace), parse(other).map(|it| it.trace));
}
