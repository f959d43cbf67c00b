//! The state as plain data, for snapshots.
//!
//! Groups are written as their words, in order of arrival; the index is not: it is built again under
//! the new seed. What comes back may be damaged or hostile, so that everything is checked which the
//! operator later relies on.
//!
//! Invariant: equal state gives equal bytes, whatever the hasher's seed; `load(save)` goes on as if
//! nothing had happened.

use super::WindowAggregate;
use crate::plan::{Aggregate, OutputMode, Plan};
use crate::state::layout::{CHANGED, Groups, Layout, STAMP};
use crate::time::EventTime;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The state of a [`WindowAggregate`] as plain data.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AggregateState {
    /// The highest value that evicted so far.
    pub evicted: EventTime,
    /// Words per group, so that a state of another plan is noticed.
    pub stride: u32,
    /// The open slices in order of time.
    pub parts: Vec<PartState>,
}

/// The groups of one slice.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PartState {
    /// Where the slice starts.
    pub start: EventTime,
    /// The groups count in windows that end later than this.
    pub from: EventTime,
    /// The step of the first row.
    pub opened: u64,
    /// The words of all groups, in order of arrival.
    pub words: Vec<i64>,
    /// Sums that have left i64, by group and word; the word itself is 0.
    pub wide: Vec<(u32, u32, i128)>,
}

/// More than any true sum: 2^63 rows of 2^63 each.
const WIDEST: i128 = 1 << 126;

impl WindowAggregate {
    /// Everything that a restart needs.
    pub fn save(&self) -> AggregateState {
        let layout = &self.slices.layout;
        let parts = self.slices.iter().map(|part| {
            let groups = &part.table.groups;
            let mut words = groups.all().to_vec();
            let mut wide = Vec::new();
            for (group, at) in groups.side.keys() {
                let sum = groups.sum(*group as usize, *at as usize);
                let word = i64::try_from(sum);
                words[*group as usize * layout.stride() + *at as usize] = word.unwrap_or(0);
                if word.is_err() {
                    wide.push((*group, *at, sum));
                }
            }
            let (start, from, opened) = (part.slice.start, part.from, part.opened);
            PartState { start, from, opened, words, wide }
        });
        AggregateState {
            evicted: self.evicted,
            stride: layout.stride() as u32,
            parts: parts.collect(),
        }
    }

    /// The operator of a checked plan with a saved state.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the state.
    pub fn load(plan: &Plan, hash_seed: u64, state: &AggregateState) -> Result<Self, String> {
        let mut it = Self::new(plan, hash_seed);
        let layout = Arc::clone(&it.slices.layout);
        let stride = layout.stride();
        if state.stride as usize != stride {
            let found = state.stride;
            return Err(format!(
                "the saved groups have {found} words each, this plan's have {stride}"
            ));
        }
        if it.mode == OutputMode::Complete && state.evicted != EventTime::MIN {
            return Err("a saved state of complete mode says that windows were evicted".to_owned());
        }
        it.evicted = state.evicted;
        let mut last = None;
        for part in &state.parts {
            let name = (part.start, part.from);
            let at = part.start.0;
            if last.is_some_and(|last| name <= last) {
                return Err(format!("the saved slice at {at} is out of order"));
            }
            last = Some(name);
            it.check_slice(part)?;
            let groups = read_groups(part, &layout, it.mode)?;
            it.slices.step = part.opened;
            let number = it.slices.open(part.start, part.from);
            let open = it.slices.part_mut(number);
            let changed = groups.iter().enumerate();
            open.changed = changed
                .filter(|(_, words)| words[layout.stamp()] & CHANGED != 0)
                .map(|(group, _)| group as u32)
                .collect();
            if !open.changed.is_empty() {
                it.slices.changed.insert(name);
            }
            if !it.slices.part_mut(number).table.fill(groups) {
                return Err(format!("the saved slice at {at} holds a key twice"));
            }
        }
        Ok(it)
    }

    /// Whether the plan's grid has this slice, and it is open.
    fn check_slice(&self, part: &PartState) -> Result<(), String> {
        let assigner = &self.slices.assigner;
        let (start, at) = (part.start, part.start.0);
        // The slice of a legal time starts at most one slide below the legal range.
        if !(-2 * EventTime::LEGAL..=EventTime::LEGAL).contains(&at) {
            return Err(format!("the saved slice at {at} is outside the legal range of times"));
        }
        let slice = assigner.slice(start);
        if slice.start != start
            || slice.end.0 <= -EventTime::LEGAL
            || assigner.window_count(start) == 0
        {
            return Err(format!("this plan has no slice that starts at {at}"));
        }
        let last_end = assigner.window_from(assigner.frame(start)).end;
        if last_end <= self.evicted {
            return Err(format!("the saved slice at {at} belongs to windows that were closed"));
        }
        let first_end = assigner.windows(start).next().map(|it| it.end);
        if part.from != EventTime::MIN && (Some(part.from) < first_end || last_end <= part.from) {
            return Err(format!("the saved slice at {at} has a part that no window can have"));
        }
        Ok(())
    }
}

/// Reads and checks the groups of a slice.
fn read_groups(part: &PartState, layout: &Arc<Layout>, mode: OutputMode) -> Result<Groups, String> {
    let at = part.start.0;
    let stride = layout.stride();
    if part.words.is_empty() || !part.words.len().is_multiple_of(stride) {
        return Err(format!("the saved slice at {at} does not hold whole groups"));
    }
    let mut groups = Groups::new(Arc::clone(layout));
    groups.words.clone_from(&part.words);
    groups.len = part.words.len() / stride;
    for (number, words) in groups.iter().enumerate() {
        if !is_group(words, layout, mode) {
            return Err(format!("group {number} of the saved slice at {at} makes no sense"));
        }
    }
    for (group, word, sum) in &part.wide {
        let known = (*group as usize) < groups.len()
            && layout.accumulators.iter().any(|it| {
                it.at == *word as usize
                    && matches!(it.aggregate, Aggregate::Sum(_) | Aggregate::Avg(_))
            });
        if !known
            || groups.of(*group as usize)[*word as usize] != 0
            || i64::try_from(*sum).is_ok()
            || *sum < -WIDEST
            || WIDEST < *sum
            || groups.side.insert((*group, *word), *sum).is_some()
        {
            return Err(format!("a wide sum of the saved slice at {at} makes no sense"));
        }
    }
    Ok(groups)
}

/// Whether these words can be a group: only known flags, nothing where nothing can be.
fn is_group(words: &[i64], layout: &Layout, mode: OutputMode) -> bool {
    let first = layout.stamp();
    let last = layout.accumulators.first().map_or(layout.stride(), |it| it.at);
    let mut unknown: Vec<i64> = words[first..last].to_vec();
    unknown[0] &= !STAMP;
    if mode == OutputMode::Update {
        unknown[0] &= !CHANGED;
    }
    let mut sound = true;
    for column in 0..layout.keys.len() {
        let null = layout.null_key(column);
        unknown[null.word - first] &= !null.bit;
        sound &= words[null.word] & null.bit == 0 || words[column] == 0;
    }
    for it in &layout.accumulators {
        sound &= match it.aggregate {
            Aggregate::Count => 1 <= words[it.at],
            Aggregate::CountOf(_) => 0 <= words[it.at],
            Aggregate::Avg(_) => 0 < words[it.at + 1] || words[it.at..it.at + 2] == [0, 0],
            Aggregate::Sum(_) | Aggregate::Min(_) | Aggregate::Max(_) => {
                unknown[it.none.word - first] &= !it.none.bit;
                words[it.none.word] & it.none.bit == 0 || words[it.at] == layout.initial[it.at]
            }
        };
    }
    sound && unknown.iter().all(|it| *it == 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{all_aggregates, batch, plan, some_rows};
    use super::*;
    use crate::operator::LateBound;
    use crate::plan::LateRule;
    use crate::state::layout::Value;

    fn some_plan(mode: OutputMode) -> Plan {
        plan((10, 4, 1), &[1, 2], all_aggregates(), LateRule::WindowEnd, mode)
    }

    fn saved(plan: &Plan) -> AggregateState {
        let mut it = WindowAggregate::new(plan, 5);
        let rows = batch(&some_rows(400));
        it.apply(&rows, 0..400, &[], LateBound::Same(EventTime(3)), 4, &mut Vec::new());
        it.evict(EventTime(0), &mut Vec::new(), &mut Vec::new());
        it.save()
    }

    #[test]
    fn a_broken_state_is_refused_with_a_sentence() {
        let plan = some_plan(OutputMode::Append);
        let sound = saved(&plan);
        assert!(WindowAggregate::load(&plan, 1, &sound).is_ok());
        let part = sound.parts.iter().position(|it| !it.wide.is_empty()).expect("a wide sum");
        let check = |what: &str, damage: &dyn Fn(&mut AggregateState)| {
            let mut broken = sound.clone();
            damage(&mut broken);
            let said = WindowAggregate::load(&plan, 1, &broken).err();
            assert!(said.as_ref().is_some_and(|it| it.contains(what)), "{what}: {said:?}");
        };
        check("words each", &|it| it.stride += 1);
        check("out of order", &|it| it.parts.swap(0, 1));
        check("out of order", &|it| it.parts[1] = it.parts[0].clone());
        check("outside the legal range", &|it| it.parts[0].start = EventTime(i64::MIN));
        check("no slice that starts", &|it| it.parts[0].start.0 += 1);
        check("were closed", &|it| it.evicted = EventTime::MAX);
        check("no window can have", &|it| it.parts.last_mut().expect("parts").from.0 = 1 << 60);
        check("whole groups", &|it| it.parts[0].words.clear());
        check("whole groups", &|it| it.parts[0].words.truncate(7));
        check("makes no sense", &|it| it.parts[0].words[2] |= 1 << 62);
        check("makes no sense", &|it| it.parts[0].words[2] |= CHANGED);
        check("makes no sense", &|it| it.parts[0].words[3] = 0);
        check("a key twice", &|it| {
            let all = it.parts[0].words.clone();
            it.parts[0].words.extend(all);
        });
        check("a wide sum", &|it| it.parts[part].wide[0].0 = u32::MAX);
        check("a wide sum", &|it| it.parts[part].wide[0].1 = 3);
        check("a wide sum", &|it| it.parts[part].wide[0].2 = 5);
        check("a wide sum", &|it| it.parts[part].wide[0].2 = i128::MAX);
        check("a wide sum", &|it| {
            let again = it.parts[part].wide[0];
            it.parts[part].wide.push(again);
        });
        let complete = some_plan(OutputMode::Complete);
        assert!(WindowAggregate::load(&complete, 1, &sound).is_err());
    }

    #[test]
    fn whatever_is_loaded_can_be_worked_with() {
        let plan = some_plan(OutputMode::Update);
        let sound = postcard::to_allocvec(&saved(&plan)).expect("plain data");
        let rows = batch(&some_rows(40));
        let mut loaded = 0;
        for (at, byte) in (0..sound.len()).flat_map(|at| [0, 1, 127, 255].map(|it| (at, it))) {
            let mut bytes = sound.clone();
            bytes[at] ^= byte;
            let Ok(state) = postcard::from_bytes::<AggregateState>(&bytes) else { continue };
            let Ok(mut it) = WindowAggregate::load(&plan, 1, &state) else { continue };
            assert_eq!(it.save(), state);
            loaded += 1;
            let bound = LateBound::Same(EventTime::MIN);
            it.apply(&rows, 0..40, &[], bound, 4, &mut Vec::new());
            let mut out = Vec::new();
            it.emit(&mut Vec::new(), &mut out);
            it.evict(EventTime::MAX, &mut Vec::new(), &mut out);
            for closing in &out {
                for group in 0..closing.groups.len() {
                    assert_ne!(closing.groups.value(group, 0), Value::Null);
                }
            }
            assert_eq!((it.groups(), it.oldest_end()), (0, None));
        }
        assert!(sound.len() < loaded, "hardly any damaged state was loaded");
    }
}
