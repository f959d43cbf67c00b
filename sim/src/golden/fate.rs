//! Rows that were not simply counted, as lines that say why.
//!
//! A late row's line names what was compared, which differs from rule to rule (semantics 3), who set
//! the watermark, and the smallest change of a setting that would have kept the row.
//!
//! Invariant: one line per record; whatever a record says, it has a line.

use super::figure;
use super::judge::Judge;
use crate::trace::time_text::{SpanText, TimeText};
use crate::trace::{Item, Trace};
use plimsoll_engine::late::{LateRow, Saving};
use plimsoll_engine::output::{Fate, IgnoredWhy};
use plimsoll_engine::plan::LatePolicy;
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::{EventTime, Span};

/// The cells of a row of the trace.
fn cells(trace: &Trace, id: ItemId) -> Option<&[Option<i64>]> {
    match trace.items.get(usize::try_from(id.0.checked_sub(1)?).ok()?)? {
        Item::Row(row) => Some(trace.cells(*row)),
        _ => None,
    }
}

/// The line of a late row; `who` names its item where it is another than the one at hand.
pub(super) fn late(trace: &Trace, who: &str, late: &LateRow) -> String {
    let judge = Judge::of(trace, late);
    let (cells, keys) = (cells(trace, late.id), &judge.keys);
    let key = match cells {
        Some(cells) => figure::key(trace, keys, |i| cells.get(keys[i].0).copied().flatten()),
        None => String::new(),
    };
    let destination = match late.destination {
        LatePolicy::Drop => "",
        LatePolicy::SideOutput => "; to the side output",
    };
    format!(
        "late{who}{key} {}{}{}{}{destination}",
        TimeText(late.time),
        judge.compared(late, cells),
        set_by(late),
        saving(late.saving)
    )
}

/// What a stage of a flow compared with the watermark, such as ` behind 10:10:00`. `cells` are those of
/// the row as the stage has them.
pub(crate) fn compared(
    trace: &Trace,
    stage: usize,
    side: usize,
    row: &LateRow,
    cells: &[Option<i64>],
) -> String {
    Judge::at(trace, stage, side, cells.len()).compared(row, Some(cells))
}

/// Where the watermark that judged comes from.
fn set_by(late: &LateRow) -> String {
    let it = &late.in_force;
    match (it.fallback, it.set_by) {
        _ if it.watermark == EventTime::MAX => " (the input had ended)".to_owned(),
        (Some(behind), _) => format!(" (the wall clock less {})", SpanText(behind)),
        (None, Some(item)) => format!(" (set by item {})", item.0),
        (None, None) => " (so from the start)".to_owned(),
    }
}

fn saving(saving: Saving) -> String {
    let (what, smallest, largest) = match saving {
        Saving::Nothing => return String::new(),
        Saving::Delay { smallest, largest } => ("delay", smallest, largest),
        Saving::Fallback { smallest, largest } => ("fallback", smallest, largest),
    };
    if smallest == largest {
        format!("; a {what} of {} would have kept it", SpanText(smallest))
    } else {
        let (one, all) = (SpanText(smallest), SpanText(largest));
        format!("; a {what} of {one} would have kept one more window, {all} all")
    }
}

/// The line of a row with another fate.
pub(super) fn not_counted(trace: &Trace, who: &str, id: ItemId, fate: &Fate) -> String {
    let time = cells(trace, id).and_then(|it| it.get(trace.time_column()).copied().flatten());
    let time = time.map_or_else(|| "-".to_owned(), |it| TimeText(EventTime(it)).to_string());
    let guarded = |what: &str| {
        let guard = trace.plan.watermark.as_ref().and_then(|it| it.guard);
        let ahead = guard.map_or(Span::ZERO, |it| it.ahead);
        format!("guarded{who}: {time} is more than {} ahead of the clock; {what}", SpanText(ahead))
    };
    match fate {
        Fate::Late(it) => late(trace, who, it),
        Fate::CountedNotAdvancing => guarded("counted, but the watermark stays"),
        Fate::Guarded => guarded("not counted"),
        Fate::NoTime => format!("no_time{who}"),
        Fate::TimeOutOfRange => format!("out of range{who} {time}"),
        Fate::NoWindow => format!("no window{who} holds {time}"),
        Fate::AfterFinish => format!("ignored{who}: {}", IgnoredWhy::PartitionFinished.sentence()),
        Fate::NotApplicable => format!("ignored{who}: {}", IgnoredWhy::QueryStopped.sentence()),
        Fate::Filtered => format!("filtered{who}"),
        Fate::Duplicate { of } => format!("duplicate{who} of item {}", of.0),
        Fate::NoGap => format!("no_gap{who}"),
    }
}
