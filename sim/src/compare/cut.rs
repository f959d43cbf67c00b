//! Where engines look at the watermark: the same items for all of them.
//!
//! A trace has been written for one trigger and is run under several. `batch` items end batches; where
//! there are none, a tick or a probe does, and the end of the trace. Engines that take each row at
//! once and look at the watermark when asked are asked at probes and batches, at ticks too where the
//! trace has no probe, and where there is none of these, at the end of the trace. `EachRow` cuts after every row instead: every row is a
//! batch, and is followed by a probe.
//!
//! A restart forgets what the rules say, whatever the trace does; a crash is one at its place, and what
//! came since the checkpoint is not read again. Under the trace's own rules both stay as they are.
//!
//! A plan that cuts its batches by itself (`interval`, `once`, `available_now`) goes on doing so.
//!
//! Invariant: nothing is left out, and every item knows the item of the trace that it stands for.

use crate::trace::{Item, Trace};
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::plan::{Plan, Trigger};
use plimsoll_engine::row::ItemId;

/// Where batches end and probes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cuts {
    /// Where the trace has them.
    AsWritten,
    /// After every row.
    EachRow,
}

/// A trace made ready for one set of rules.
pub(super) struct Cut {
    /// The trace that runs.
    pub(super) trace: Trace,
    /// For every item of it the number of the item that it stands for.
    origins: Vec<u64>,
}

impl Cut {
    /// The item of the original trace.
    pub(super) fn origin(&self, id: ItemId) -> u64 {
        let at = usize::try_from(id.0).ok().and_then(|it| it.checked_sub(1));
        at.and_then(|it| self.origins.get(it)).copied().unwrap_or(id.0)
    }
}

fn is_batch(item: &Item) -> bool {
    matches!(item, Item::Batch)
}

const fn is_instant(item: &Item) -> bool {
    matches!(item, Item::Tick(_) | Item::Probe)
}

/// A trace under another plan, cut for its trigger; `restore` is what a restart brings back, where
/// that is not for the trace to say.
pub(super) fn cut(trace: &Trace, mut plan: Plan, restore: Option<RestoreRules>, cuts: Cuts) -> Cut {
    let each_row = cuts == Cuts::EachRow;
    if each_row && plan.trigger != Trigger::Row {
        plan.trigger = Trigger::Batch;
    }
    let per_row = plan.trigger == Trigger::Row;
    // What is put in, where something is.
    let mark = if per_row { Item::Probe } else { Item::Batch };
    let own = !matches!(plan.trigger, Trigger::Row | Trigger::Batch);
    let by_instants = !per_row && !own && !each_row && !trace.items.iter().any(is_batch);
    let mut items = Vec::with_capacity(trace.items.len());
    let mut origins = Vec::with_capacity(trace.items.len());
    // Levels are probed when asked, or at intervals of their own; a tick does not ask by itself.
    let levels = plan.flow.as_ref().and_then(|it| it.levels.as_ref());
    let probes = trace.items.iter().any(|it| matches!(it, Item::Probe));
    let asks = per_row && !probes && levels.is_some_and(|it| it.emission.is_none());
    // Whether rows wait for a cut.
    let mut open = false;
    for (item, number) in trace.items.iter().zip(1..) {
        let stands = match item {
            Item::Batch if per_row || each_row => Item::Probe,
            Item::Restart(_) | Item::Crash { .. } => restore.map_or(*item, Item::Restart),
            other => *other,
        };
        items.push(stands);
        origins.push(number);
        open = match item {
            Item::Row(_) => true,
            Item::Tick(_) | Item::Probe | Item::Batch | Item::End => false,
            _ => open,
        };
        let after = match item {
            Item::Row(_) => each_row,
            Item::Tick(_) => by_instants || asks,
            Item::Probe => by_instants,
            _ => false,
        };
        if after {
            items.push(mark);
            origins.push(number);
        }
    }
    let never_asked = per_row && !trace.items.iter().any(|it| is_batch(it) || is_instant(it));
    if open && !each_row && (by_instants || never_asked) {
        items.push(mark);
        origins.push(trace.items.len() as u64);
    }
    Cut { trace: Trace { plan, items, ..trace.clone() }, origins }
}

/// How a trace is cut, as a sentence.
pub(super) fn sentence(trace: &Trace, cuts: Cuts) -> String {
    let batches = trace.items.iter().any(is_batch);
    let instants = trace.items.iter().any(is_instant);
    let probes = trace.items.iter().any(|it| matches!(it, Item::Probe));
    match (cuts, trace.plan.trigger) {
        (Cuts::EachRow, _) => "Every row is a batch of its own and is followed by a probe.",
        (Cuts::AsWritten, Trigger::Interval(_) | Trigger::Once | Trigger::AvailableNow(_)) => {
            "Batches end as the plan's trigger says; ticks, probes and `batch` items are probes."
        }
        (Cuts::AsWritten, _) if batches && probes => {
            "Batches end at `batch` items; these and `probe` items are probes."
        }
        (Cuts::AsWritten, _) if batches => {
            "Batches end at `batch` items; these and ticks are probes."
        }
        (Cuts::AsWritten, _) if probes => {
            "The trace has no `batch` item: batches end at ticks, probes and the end of the trace."
        }
        (Cuts::AsWritten, _) if instants => {
            "The trace has no `batch` item: batches end at ticks, which are probes too, and at the \
             end of the trace."
        }
        (Cuts::AsWritten, _) => {
            "The trace has neither `batch` items nor ticks: all of it is one batch, with one probe \
             at its end (--each-row cuts after every row)."
        }
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::parse::parse;
    use crate::trace::write::item_text;

    /// The items after the cut, rows as their keys alone.
    fn items(text: &str, trigger: Trigger, cuts: Cuts) -> String {
        let trace = parse(&format!("plan window=none delay=0s\n{text}")).expect("a trace").trace;
        let plan = Plan { trigger, ..trace.plan.clone() };
        let cut = cut(&trace, plan, None, cuts);
        let word = |(item, at): (&Item, u64)| {
            let text = item_text(&cut.trace, item);
            let word = if matches!(item, Item::Row(_)) { "row" } else { text.as_str() };
            format!("{}:{word}", cut.origin(ItemId(at)))
        };
        cut.trace.items.iter().zip(1..).map(word).collect::<Vec<_>>().join(" ")
    }

    const ROW: &str = "row p0 10:00:00 k=a\n";

    #[test]
    fn batch_items_end_batches_and_are_probes_where_rows_are_taken_at_once() {
        let text = format!("{ROW}tick +1s\n{ROW}batch\n{ROW}");
        let batch = items(&text, Trigger::Batch, Cuts::AsWritten);
        assert_eq!(batch, "1:row 2:tick +1s 3:row 4:batch 5:row");
        let row = items(&text, Trigger::Row, Cuts::AsWritten);
        assert_eq!(row, "1:row 2:tick +1s 3:row 4:probe 5:row");
    }

    #[test]
    fn without_batch_items_ticks_and_the_end_of_the_trace_end_batches() {
        let text = format!("{ROW}tick +1s\n{ROW}");
        let batch = items(&text, Trigger::Batch, Cuts::AsWritten);
        assert_eq!(batch, "1:row 2:tick +1s 2:batch 3:row 3:batch");
        assert_eq!(items(&text, Trigger::Row, Cuts::AsWritten), "1:row 2:tick +1s 3:row");
        assert_eq!(items(ROW, Trigger::Row, Cuts::AsWritten), "1:row 1:probe");
        assert_eq!(items(&format!("{ROW}end"), Trigger::Batch, Cuts::AsWritten), "1:row 2:end");
    }

    #[test]
    fn each_row_is_a_batch_and_is_followed_by_a_probe() {
        let text = format!("{ROW}{ROW}batch\n");
        let batch = items(&text, Trigger::Once, Cuts::EachRow);
        assert_eq!(batch, "1:row 1:batch 2:row 2:batch 3:probe");
        let row = items(&text, Trigger::Row, Cuts::EachRow);
        assert_eq!(row, "1:row 1:probe 2:row 2:probe 3:probe");
    }

    #[test]
    fn a_trigger_that_cuts_by_itself_goes_on_doing_so() {
        let text = format!("{ROW}batch\n{ROW}");
        let once = items(&text, Trigger::Once, Cuts::AsWritten);
        assert_eq!(once, "1:row 2:batch 3:row");
    }
}
