//! The batch result of a flow: every stage over all rows at once, without any watermark.
//!
//! Written anew from semantics 4 to 7, by definition and without regard to cost, so that it shares
//! nothing with the engine's stages.
//!
//! Invariant: rows are in the order in which they arrived until a stage groups them.

use plimsoll_engine::plan::Aggregate;
use plimsoll_engine::plan::flow::{
    AsOfPlan, CountPlan, DedupPlan, Gap, GlobalPlan, JoinKind, JoinPlan, SessionPlan, StagePlan,
    Touching, WindowStage,
};
use plimsoll_engine::row::ColumnIx;
use plimsoll_sim::trace::{Item, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// A row.
type Cells = Vec<Option<i64>>;

/// All rows that come out, sorted.
pub(super) fn rows(trace: &Trace) -> Vec<Cells> {
    let flow = trace.plan.flow.as_ref().expect("a flow");
    let mut sides = [Vec::new(), Vec::new()];
    for item in &trace.items {
        if let Item::Row(row) = item
            && trace.time(*row).is_none_or(|it| it.is_legal())
        {
            let side = if flow.joins() { row.partition.input() } else { 0 };
            sides[side].push(trace.cells(*row).to_vec());
        }
    }
    let [mut rows, right] = sides;
    for stage in &flow.stages {
        rows = of_stage(stage, rows, &right);
    }
    rows.sort();
    rows
}

fn of_stage(stage: &StagePlan, rows: Vec<Cells>, right: &[Cells]) -> Vec<Cells> {
    match stage {
        StagePlan::Filter(filter) => {
            rows.into_iter().filter(|it| filter.keeps(it[filter.column.0])).collect()
        }
        StagePlan::Project(kept) => {
            rows.iter().map(|row| kept.iter().map(|it| row[it.0]).collect()).collect()
        }
        StagePlan::Rename(..) | StagePlan::Compute(_) => rows,
        StagePlan::Window(it) => windows(it, &rows),
        StagePlan::Session(it) => sessions(it, &rows),
        StagePlan::Global(it) => groups(it, &rows),
        StagePlan::Count(it) => counts(it, &rows),
        StagePlan::Dedup(it) => firsts(it, rows),
        StagePlan::Join(it) => pairs(it, &rows, right),
        StagePlan::AsOf(it) => latest(it, &rows, right),
    }
}

fn key(columns: &[ColumnIx], row: &Cells) -> Cells {
    columns.iter().map(|it| row[it.0]).collect()
}

/// What aggregates make of rows.
fn figures(aggregates: &[Aggregate], rows: &[&Cells]) -> Cells {
    let mut cells = Vec::new();
    for aggregate in aggregates {
        let column = aggregate.column().map_or(0, |it| it.0);
        let values: Vec<i64> = rows.iter().filter_map(|it| it[column]).collect();
        let sum = (!values.is_empty()).then(|| values.iter().sum());
        match aggregate {
            Aggregate::Count => cells.push(Some(rows.len() as i64)),
            Aggregate::CountOf(_) => cells.push(Some(values.len() as i64)),
            Aggregate::Sum(_) => cells.push(sum),
            Aggregate::Min(_) => cells.push(values.iter().min().copied()),
            Aggregate::Max(_) => cells.push(values.iter().max().copied()),
            Aggregate::Avg(_) => cells.extend([sum, Some(values.len() as i64)]),
        }
    }
    cells
}

/// Start, end, time, key and figures.
fn written(start: i64, end: i64, key: &Cells, figures: Cells) -> Cells {
    [vec![Some(start), Some(end), Some(end - 1)], key.clone(), figures].concat()
}

fn windows(plan: &WindowStage, rows: &[Cells]) -> Vec<Cells> {
    let spec = plan.window;
    let mut groups: BTreeMap<(i64, Cells), Vec<&Cells>> = BTreeMap::new();
    for row in rows {
        let Some(time) = row[plan.time.0] else { continue };
        let starts = time - spec.size.0 + 1..=time;
        for start in starts.filter(|it| (it - spec.offset.0).rem_euclid(spec.slide.0) == 0) {
            groups.entry((start, key(&plan.keys, row))).or_default().push(row);
        }
    }
    let figure = |((start, key), rows): (&(i64, Cells), &Vec<&Cells>)| {
        written(*start, start + spec.size.0, key, figures(&plan.aggregates, rows))
    };
    groups.iter().map(figure).collect()
}

fn sessions(plan: &SessionPlan, rows: &[Cells]) -> Vec<Cells> {
    let mut by_key: BTreeMap<Cells, Vec<(i64, i64, &Cells)>> = BTreeMap::new();
    for row in rows {
        let gap = match plan.gap {
            Gap::Fixed(gap) => Some(gap.0),
            Gap::Column(column) => row[column.0],
        };
        let (Some(time), Some(gap)) = (row[plan.time.0], gap.filter(|it| 0 < *it)) else {
            continue;
        };
        by_key.entry(key(&plan.keys, row)).or_default().push((time, time + gap, row));
    }
    let mut all = Vec::new();
    for (key, mut stretches) in by_key {
        stretches.sort_by_key(|it| it.0);
        let mut open: Option<(i64, i64, Vec<&Cells>)> = None;
        for (start, end, row) in stretches {
            let meets =
                |until: i64| start < until || plan.touching == Touching::Merge && start == until;
            match &mut open {
                Some((_, until, rows)) if meets(*until) => {
                    *until = end.max(*until);
                    rows.push(row);
                }
                _ => all.extend(open.replace((start, end, vec![row])).map(|it| (key.clone(), it))),
            }
        }
        all.extend(open.map(|it| (key, it)));
    }
    let figure = |(key, (start, end, rows)): &(Cells, (i64, i64, Vec<&Cells>))| {
        written(*start, *end, key, figures(&plan.aggregates, rows))
    };
    all.iter().map(figure).collect()
}

fn groups(plan: &GlobalPlan, rows: &[Cells]) -> Vec<Cells> {
    let mut groups: BTreeMap<Cells, Vec<&Cells>> = BTreeMap::new();
    for row in rows {
        if plan.time.is_none_or(|(time, _)| row[time.0].is_some()) {
            groups.entry(key(&plan.keys, row)).or_default().push(row);
        }
    }
    let figure = |(key, rows): (&Cells, &Vec<&Cells>)| {
        [key.clone(), figures(&plan.aggregates, rows)].concat()
    };
    groups.iter().map(figure).collect()
}

fn counts(plan: &CountPlan, rows: &[Cells]) -> Vec<Cells> {
    let mut by_key: BTreeMap<Cells, Vec<&Cells>> = BTreeMap::new();
    for row in rows {
        by_key.entry(key(&plan.keys, row)).or_default().push(row);
    }
    let mut all = Vec::new();
    for (key, rows) in by_key {
        for rows in rows.chunks(plan.rows as usize) {
            let latest = rows.iter().filter_map(|it| it[plan.time.0]).max();
            all.push([key.clone(), figures(&plan.aggregates, rows), vec![latest]].concat());
        }
    }
    all
}

fn firsts(plan: &DedupPlan, mut rows: Vec<Cells>) -> Vec<Cells> {
    let mut seen = BTreeSet::new();
    let timed = |it: &Cells| plan.time.is_none_or(|time| it[time.0].is_some());
    rows.retain(|it| timed(it) && seen.insert(key(&plan.columns, it)));
    rows
}

/// Whether two rows are partners, as far as columns go.
fn equal(on: &[(ColumnIx, ColumnIx)], left: &Cells, right: &Cells) -> bool {
    on.iter().all(|(l, r)| left[l.0].is_some() && left[l.0] == right[r.0])
}

fn match_each_other(plan: &JoinPlan, left: &Cells, right: &Cells) -> bool {
    let (Some(l), Some(r)) = (left[plan.time[0].0], right[plan.time[1].0]) else { return false };
    let within = plan.ranges.iter().all(|it| {
        let above =
            it.lower.is_none_or(|it| if it.open { it.at.0 < r - l } else { it.at.0 <= r - l });
        let below =
            it.upper.is_none_or(|it| if it.open { r - l < it.at.0 } else { r - l <= it.at.0 });
        above && below
    });
    let window = |time: i64| plan.window.map(|it| (time - it.offset.0).div_euclid(it.size.0));
    let keeps =
        |side: usize, row: &Cells| plan.only_if[side].is_none_or(|it| it.keeps(row[it.column.0]));
    equal(&plan.on, left, right)
        && within
        && window(l) == window(r)
        && keeps(0, left)
        && keeps(1, right)
}

fn pairs(plan: &JoinPlan, left: &[Cells], right: &[Cells]) -> Vec<Cells> {
    let left: Vec<&Cells> = left.iter().filter(|it| it[plan.time[0].0].is_some()).collect();
    let right: Vec<&Cells> = right.iter().filter(|it| it[plan.time[1].0].is_some()).collect();
    let meet = |l: &Cells, r: &Cells| match_each_other(plan, l, r);
    let found = |l: &&&Cells| right.iter().any(|r| meet(l, r));
    let sought = |r: &&&Cells| left.iter().any(|l| meet(l, r));
    let (kind, mut all) = (plan.kind, Vec::new());
    match kind {
        JoinKind::Semi => return left.iter().filter(found).map(|it| it.to_vec()).collect(),
        JoinKind::Anti => {
            return left.iter().filter(|it| !found(it)).map(|it| it.to_vec()).collect();
        }
        JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => {}
    }
    for l in &left {
        let partners = right.iter().filter(|r| meet(l, r));
        all.extend(partners.map(|r| [&l[..], r].concat()));
    }
    if matches!(kind, JoinKind::Left | JoinKind::Full) {
        let alone = left.iter().filter(|it| !found(it));
        all.extend(alone.map(|l| [&l[..], &vec![None; l.len()]].concat()));
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        let alone = right.iter().filter(|it| !sought(it));
        all.extend(alone.map(|r| [&vec![None; r.len()], &r[..]].concat()));
    }
    all
}

fn latest(plan: &AsOfPlan, left: &[Cells], right: &[Cells]) -> Vec<Cells> {
    let mut all = Vec::new();
    for l in left {
        let Some(at) = l[plan.time[0].0] else { continue };
        let answers = right.iter().filter(|r| {
            let time = r[plan.time[1].0];
            let young = time.is_some_and(|it| at - plan.tolerance.0 <= it && it <= at);
            young && equal(&plan.on, l, r)
        });
        // Of equal times the last one.
        match answers.max_by_key(|it| it[plan.time[1].0]) {
            Some(r) => all.push([&l[..], r].concat()),
            None if plan.outer => all.push([&l[..], &vec![None; l.len()]].concat()),
            None => {}
        }
    }
    all
}
