use super::watermark;
use crate::trace::parse::parse;

fn told(text: &str) -> String {
    let trace = parse(text).unwrap_or_else(|it| panic!("{it}")).trace;
    watermark(&trace).unwrap_or_else(|it| panic!("{it}")).to_string()
}

fn has(text: &str, wanted: &[&str]) {
    for it in wanted {
        assert!(text.contains(it), "no `{it}` in\n{text}");
    }
}

#[test]
fn an_input_that_never_spoke_holds_all_and_is_told_from_a_slow_one() {
    let text = "plan inputs=orders(5s),payments(1min) effective=row stages=session(10min)
        row orders/p0 10:00:00 k=a
        row orders/p0 10:20:00 k=b";
    has(
        &told(text),
        &[
            "There is no watermark yet.",
            "never heard  -         holds the watermark",
            "Nothing has ever been heard from payments",
            "a row of payments at 10:20:55 or later: the watermark is 10:19:55 then.",
            "policy=max (rows of the slower inputs are late then): the watermark is 10:19:55 then.",
        ],
    );
    let slow = format!("{text}\nrow payments/p0 10:02:00 k=c\nrow orders/p0 10:21:00 k=b");
    has(
        &told(&slow),
        &[
            "The watermark is 10:01:00.",
            "It last rose at item 3 (`row payments/p0 10:02:00 k=c`).",
            "payments holds it since item 1",
            "a row of payments at 10:21:55 or later: the watermark is 10:20:55 then.",
        ],
    );
}

#[test]
fn an_idle_input_still_holds_the_others_and_a_row_of_it_moves_it() {
    let text =
        "plan inputs=a(0s),b(0s) watermark=partition idle=30s effective=row stages=session(1s)
        row b/p0 00:00:02 k=a
        row a/long/p0 00:00:20 k=a";
    let text = text.replace("a/long/p0", "a/p1000000");
    let text = format!("{text}\nprobe\ntick +31s\nrow a/p1000000 00:00:30 k=a\nprobe");
    has(
        &told(&text),
        &[
            "idle         item 1    holds the watermark",
            "All that is left of b is idle.",
            "a row of b at 00:00:30 or later: the watermark is 00:00:30 then.",
            "  a/p1000000 00:00:30         active",
            "  b/p0       00:00:02         idle",
        ],
    );
}

#[test]
fn inputs_that_are_equally_far_hold_it_together() {
    let text = "plan inputs=a(0s),b(1s),c(none) effective=row stages=window(tumbling(1s))
        row a/p0 00:00:02 k=a
        row b/p0 00:00:03 k=a
        row c/p0 00:00:01 k=a";
    has(
        &told(text),
        &[
            "a and b hold it since item 2",
            "c         none: it has no say",
            "a row of a at 00:00:02.001 or later and a row of b at 00:00:03.001 or later",
        ],
    );
}

#[test]
fn a_stage_that_no_watermark_frees_is_named() {
    let text = "plan inputs=l(0s),r(none) output=update sink=keyed effective=row \
         stages=join(inner,from=0s,to=1s)|global(key=l_k)
        row l/p0 00:00:02 k=a
        row r/p0 00:00:02 k=a";
    has(
        &told(text),
        &[
            "holds 2 rows; the right side has no watermark: left rows are kept.",
            "holds 1 group; no time is among its keys; it is kept until the input ends.",
        ],
    );
}

#[test]
fn who_is_paused_by_alignment_is_told_with_what_resumes_it() {
    let text = "plan profile=flink delay=0s levels=align(1min) stages=window(tumbling(10min))
        limit 10:10:00
        row p0 10:05:00 k=a
        row p1 10:25:00 k=b
        probe
        row p1 10:26:00 k=b
        row p0 10:31:00 k=a
        probe";
    has(
        &told(text),
        &[
            "p1        10:25:00         paused",
            "Paused is who is further ahead than alignment allows",
            "no limit of alignment (`limit none`): the watermark is 10:26:00 then.",
        ],
    );
}
