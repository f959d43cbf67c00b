use super::*;
use crate::trace::parse::parse;
use plimsoll_engine::time::EventTime;

fn trace(text: &str) -> Trace {
    parse(text).unwrap_or_else(|it| panic!("{it}")).trace
}

const STORY: &str = "plan window=tumbling(10min) delay=2min effective=row
row p0 10:08:30 k=a v=1
row p0 10:12:00 k=a v=1
row p1 10:09:55 k=a v=1
row p1 10:11:00 k=b v=1
";
const BATCHES: &str = "plan window=sliding(10min,5min) delay=2min watermark=partition idle=1min late=window_end effective=next_batch
row p0 10:08:30 k=a v=1
row p1 10:12:00 k=a v=1
batch
row p0 10:17:30 k=a v=1
batch
tick +30s
row p1 10:09:30 k=b v=1
row p1 10:04:30 k=b v=1
batch
";

#[test]
fn look() {
    let t = trace(STORY);
    for n in 1..=4 {
        eprintln!("{}", row(&t, ItemId(n)).unwrap());
    }
}

#[test]
fn a_late_row_leads_to_the_item_that_closed_its_window_and_to_the_delay_that_keeps_it() {
    has(
        &row_text(&story(), 3),
        &[
            "item 3 (`row p1 10:09:55 k=a v=1`): late.",
            "It missed [10:00:00,10:10:00), which item 2 (`row p0 10:12:00 k=a v=1`) closed.",
            "The watermark in force was 10:10:00: the largest time seen, 10:12:00, less the delay of 2min.",
            "item 2 (`row p0 10:12:00 k=a v=1`) set it.",
            "By the rule `event`: 10:09:55 is before 10:10:00.",
            "Kind of lateness: lagging partition",
            "Tried: with a delay of 2min5s it is counted into 1 of 1 windows.",
            "Tried: with a delay of 2min4s999ms it is counted into 0 of 1 windows.",
        ],
    );
}

#[test]
fn a_counted_row_says_how_much_delay_it_needs() {
    let text = row_text(&story(), 4);
    has(
        &text,
        &["counted.", "10:11:00 is not before 10:10:00", "It needs a delay of at least 1min."],
    );
    has(&text, &["with a delay of 59s999ms it is counted into 0 of 1 windows"]);
    has(&row_text(&story(), 1), &["No watermark was in force yet.", "It needs no delay at all."]);
}

#[test]
fn a_partly_late_row_of_a_batch_names_the_batch_that_made_the_watermark_count() {
    has(
        &row_text(&batches(), 7),
        &[
            "partly late",
            "It arrived when the clock stood at 00:00:30; item 9 (`batch`) judged it.",
            "It missed [10:00:00,10:10:00)",
            "It was counted into [10:05:00,10:15:00)",
            "the slowest partition's maximum, 10:12:00",
            "It was computed at item 5 (`batch`), and counts behind it.",
            "with a delay of 2min1ms it is counted into 2 of 2 windows",
            "with a delay of 2min it is counted into 1 of 2 windows",
        ],
    );
    has(&row_text(&batches(), 8), &["One of 2min1ms would have kept one window more."]);
}

#[test]
fn rows_with_other_fates_say_why() {
    let text = "plan window=tumbling(1s) delay=0s guard=reject(1s) trigger=batch effective=row
        row p0 - k=a
        row p0 00:00:09 k=a
        finish p1
        row p1 00:00:00 k=a
        finish p0
        row p0 00:00:00 k=a
        batch
        row p2 00:00:00 k=a";
    let trace = trace(text);
    has(&row_text(&trace, 1), &["no time", "null"]);
    has(&row_text(&trace, 2), &["guarded", "from the future"]);
    has(&row_text(&trace, 6), &["after finish"]);
    has(&row_text(&trace, 8), &["waits", "No step has taken it"]);
}

#[test]
fn the_wall_clock_is_named_where_it_made_a_row_late() {
    let text =
        "plan window=tumbling(1s) delay=0s watermark=partition idle=0s fallback=1s effective=row
        row p0 00:00:00 k=a
        tick +10s
        row p0 00:00:03 k=a";
    let text = row_text(&trace(text), 3);
    has(&text, &["the wall clock less 1s", "wall clock (the clock moved the watermark, not data)"]);
    has(&text, &["with a fallback of 7s it is counted into 1 of 1 windows"]);
    has(&text, &["with a fallback of 6s999ms it is counted into 0 of 1 windows"]);
}

#[test]
fn behind_the_first_watermark_of_the_plan_no_delay_helps() {
    let text = "plan delay=1min initial=00:00:10 effective=row
        row p0 00:00:09 k=a
        row p0 00:00:10 k=a";
    let trace = trace(text);
    has(&row_text(&trace, 1), &["00:00:10, the plan's first.", "No delay would have kept it."]);
    has(&row_text(&trace, 2), &["counted.", "It needs no delay at all."]);
}

#[test]
fn what_is_no_row_of_the_trace_is_an_error_with_what_was_found() {
    let error = |item| row(&batches(), ItemId(item)).unwrap_err().to_string();
    assert_eq!(error(3), "expected a row, found `batch` as item 3");
    assert_eq!(error(0), "expected an item from 1 to 9, found 0");
    assert_eq!(error(u64::MAX), format!("expected an item from 1 to 9, found {}", u64::MAX));
}

#[test]
fn a_window_lists_its_rows_and_a_later_drop_refutes_its_figure() {
    let text = window(&story(), EventTime(36_000_000), Some("a")).unwrap().to_string();
    has(
        &text,
        &[
            "item 3 (`row p1 10:09:55 k=a v=1`): lost, behind the watermark 10:10:00; a delay of 2min5s would have kept it",
            "2 rows: 1 counted, 1 lost.",
            "It closed at item 2",
            "emit a: count=1 at item 2",
            "It is refuted: item 3 came after it was written.",
        ],
    );
}

#[test]
fn a_figure_that_was_short_when_it_was_written_is_not_called_refuted() {
    let text = window(&batches(), EventTime(36_000_000), None).unwrap().to_string();
    has(&text, &["It was short when it was written: items 7, 8 had been dropped."]);
    // Item 8 missed an earlier window too; for this one less would have done.
    has(
        &text,
        &["`row p1 10:04:30 k=b v=1`): lost, behind the watermark 10:10:00; a delay of 2min1ms"],
    );
    assert!(!text.contains("refuted"), "{text}");
}

#[test]
fn what_is_known_of_a_figure_is_said() {
    let open = window(&story(), EventTime(36_600_000), None).unwrap().to_string();
    has(&open, &["It is open at the end of the trace.", "No figure of it has been written."]);
    let mut ended = story();
    ended.items.push(Item::End);
    let known = window(&ended, EventTime(36_600_000), Some("b")).unwrap().to_string();
    has(&known, &["the input ended.", "The figure is known"]);
    let guess = trace("plan delay=0s effective=row\nrow p0 00:01:00 k=a\nrow p0 00:10:00 k=a");
    let guess = window(&guess, EventTime(0), None).unwrap().to_string();
    has(&guess, &["a guess that no row in this trace refutes"]);
}

#[test]
fn a_window_or_key_that_is_not_there_is_answered_with_the_nearest() {
    let error = |start, key| window(&story(), EventTime(start), key).unwrap_err().to_string();
    let nearest = "no window starts at 10:10:00.001; the nearest starts are 10:10:00 and 10:20:00";
    assert_eq!(error(36_600_001, None), nearest);
    assert_eq!(
        error(36_600_000, Some("z")),
        "no row of this window has the key `z`; its keys are a, b"
    );
    assert!(!error(i64::MIN, None).is_empty() && !error(i64::MAX, None).is_empty());
}

#[test]
fn a_watermark_that_stands_still_names_who_holds_it_and_what_frees_it() {
    let text = "plan window=tumbling(10min) delay=1min watermark=partition effective=row
        row p0 00:05:00 k=a
        row p1 00:04:00 k=a
        tick +2min
        row p0 00:30:00 k=a
        tick +1min";
    let story = watermark(&trace(text)).unwrap();
    assert_eq!(story.held_by, Some(1));
    has(
        &story.to_string(),
        &[
            "The watermark is 00:04:00.",
            "That would be less: a watermark never goes back, and an item had moved it on.",
            "It last rose at item 1 (`row p0 00:05:00 k=a`).",
            "p1        00:04:00         active       3min       00:00:00  holds the watermark",
            "p1 holds it since item 2 (`row p1 00:04:00 k=a`).",
            "The earliest open window ends at 00:10:00.",
            "an idle timeout of at most 2min59s999ms: the watermark is 00:29:00 then.",
            "a row of p1 at 00:05:00.001 or later: the watermark is 00:04:00.001 then.",
            "a row of p1 at 00:11:00 or later (closes the window that ends at 00:10:00)",
        ],
    );
}

#[test]
fn without_a_watermark_and_after_the_end_there_is_nothing_to_free() {
    let none = watermark(&trace("plan watermark=none output=complete\nrow p0 00:00:01 k=a"));
    has(&none.unwrap().to_string(), &["The plan has no watermark"]);
    let ended = watermark(&trace("plan delay=1s\nrow p0 00:00:01 k=a\nend")).unwrap();
    has(&ended.to_string(), &["+inf: the input has ended"]);
    assert!(ended.remedies.is_empty());
}

/// Semantics M13: one pass says what every delay would drop.
#[test]
fn the_saving_delay_of_every_late_row_is_the_smallest_one() {
    let mut tried = 0;
    for seed in 0..120 {
        let world = default_world(seed).trace;
        let Some(plan) = &world.plan.watermark else { continue };
        if plan.fallback.is_some() || plan.initial.is_finite() {
            continue;
        }
        let Ok(history) = History::of_engine(&world, &mut |_| {}) else { continue };
        let late = history.fates.values().filter(|it| matches!(it.fate, Fate::Late(_)));
        for record in late.take(3) {
            let story = row(&world, record.id).unwrap();
            let Some((_, all)) = story.needs else { continue };
            let [enough, less] = story.trials[..] else { panic!("seed {seed}: {story}") };
            assert_eq!((enough.value, enough.kept), (all, enough.of), "seed {seed}: {story}");
            assert_eq!(less.value, all - Span(1));
            assert!(less.kept < less.of, "seed {seed}: {story}");
            tried += 1;
        }
    }
    eprintln!("{}", window(&t, EventTime(36_000_000), None).unwrap());
    eprintln!("{}", watermark(&t).unwrap());
}
