//! Checks know what a restart has lost: it is no offence, and what comes after it is looked at all the
//! same.

use super::*;

/// Item 2 writes [10:00, 10:10); after the restart item 5 is counted into it and item 6 writes it again.
/// Item 8 is late for [10:10, 10:20), which item 9 writes.
const FLINK: &str = "plan delay=2min effective=row trigger=row
row p0 10:08:30 k=a v=1
row p0 10:12:00 k=a v=1
row p0 10:09:00 k=a v=1
restart like=flink
row p0 10:07:00 k=a v=1
row p0 10:18:00 k=a v=1
row p0 10:18:00 k=a v=1
row p0 10:11:00 k=a v=1
row p0 10:30:00 k=a v=1
end";

#[test]
fn a_watermark_may_fall_at_the_restart_that_loses_it_and_nowhere_else() {
    trips(watermark::MONOTONE, 6, FLINK, |_, shown| {
        if shown.call == 5 {
            shown.view.watermark = EventTime(0);
        }
    });
    let kept = FLINK.replace("like=flink", "lost=maxima+idleness");
    trips(watermark::MONOTONE, 5, &kept, |out, shown| {
        if shown.call == 4 {
            out.steps[0].watermark = EventTime::MIN;
        }
    });
}

#[test]
fn a_window_is_written_again_where_the_watermark_was_lost_and_only_there() {
    let mut written = None;
    let kept = FLINK.replace("like=flink", "lost=maxima+idleness");
    trips(closing::RESURRECTION, 5, &kept, |out, shown| {
        if shown.call == 4 {
            out.firings.extend(written.take());
        } else if shown.call == 2 {
            written = out.firings.first().cloned();
        }
    });
    trips(closing::FIRES, 6, FLINK, |out, shown| {
        if shown.call == 5 {
            out.firings.clear();
        }
    });
}

#[test]
fn figures_after_a_restart_count_what_came_since_and_what_it_kept() {
    for lost in ["", " lost=windows", " lost=windows+ledger", " lost=ledger"] {
        let text = FLINK.replace(" like=flink", lost);
        let mut kept = None;
        // The end writes one row; two or three came before.
        trips(conservation::CONSERVATION, 10, &text, |out, shown| {
            if shown.call == 8 {
                kept = out.firings.last().map(|it| it.groups.clone());
            } else if shown.call == 9 {
                out.firings[0].groups = kept.take().expect("the row before closed a window");
            }
        });
    }
    trips(note::DROPPED, 9, FLINK, |out, shown| {
        if shown.call == 8 {
            out.firings[0].note.rows_dropped += 1;
        }
    });
}

#[test]
fn what_a_restart_that_forgets_makes_false_is_not_asserted() {
    let names = ALL_COMES_BACK.iter().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(names.len(), ALL_COMES_BACK.len());
    assert!(ALL_COMES_BACK.iter().all(|it| super::names().any(|name| name == *it)));
    skipped(inert::DROPPED, &format!("{ROWS}\nrestart like=spark-4"));
}
