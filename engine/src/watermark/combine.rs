//! One candidate from many members: the minimum over those that count.
//!
//! First match (semantics 2.2): nobody there, the candidate holds; somebody active and aligned, the
//! minimum of their maxima; all finished, plus infinity; somebody idle, the largest real maximum of
//! the idle and the finished (`flush`, whatever the order in which they went idle: FLINK-38454) or
//! nothing (`hold`); otherwise the candidate holds. A finished member gives its last real maximum to
//! a flush, never plus infinity (FLINK-38477).
//!
//! Invariant: the candidate depends on the members and on the candidate before, on nothing else; an
//! active, aligned member cannot vanish from the minimum by merely not reporting (I7).

use crate::plan::AllIdle;
use crate::row::ItemId;
use crate::time::EventTime;
use crate::watermark::member::{Member, MemberState};

/// Lets unaligned members in again that have caught up: with what the others make of it, or, where
/// nobody else counts, with the last candidate.
pub fn align(members: &mut [Member], last: EventTime) {
    if members.iter().all(|it| it.aligned) {
        return;
    }
    let others = members.iter().filter(|it| it.counts()).map(|it| it.max).min();
    let bar = others.unwrap_or(last);
    for member in members {
        if member.state == MemberState::Active && !member.aligned && bar <= member.max {
            member.aligned = true;
        }
    }
}

/// The candidate, and the item that showed it where a member's maximum is the candidate.
pub fn candidate(
    members: &[Member],
    all_idle: AllIdle,
    last: EventTime,
) -> (EventTime, Option<ItemId>) {
    let holds = (last, None);
    let mut slowest: Option<&Member> = None;
    let (mut idle, mut finished) = (false, true);
    let mut furthest: Option<&Member> = None;
    for member in members {
        if member.counts() && slowest.is_none_or(|it| member.max < it.max) {
            slowest = Some(member);
        }
        idle |= member.state == MemberState::Idle;
        finished &= member.state == MemberState::Finished;
        let heard = member.state != MemberState::Active && member.max.is_finite();
        if heard && furthest.is_none_or(|it| it.max < member.max) {
            furthest = Some(member);
        }
    }
    if let Some(it) = slowest {
        return (it.max, it.max_set_by);
    }
    if members.is_empty() {
        return holds;
    }
    if finished {
        return (EventTime::MAX, None);
    }
    match (idle, all_idle) {
        (true, AllIdle::Flush) => furthest.map_or(holds, |it| (it.max, it.max_set_by)),
        (true, AllIdle::Hold) | (false, _) => holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::PartitionId;
    use crate::time::ProcTime;

    fn member(number: u32, max: i64, state: MemberState) -> Member {
        Member { max: EventTime(max), state, ..Member::new(PartitionId(number), ProcTime(0)) }
    }

    fn of(members: &[Member]) -> i64 {
        candidate(members, AllIdle::Flush, EventTime(7)).0.0
    }

    #[test]
    fn the_slowest_active_partition_speaks_for_all() {
        use MemberState::{Active, Idle};
        assert_eq!(of(&[member(0, 100, Active), member(1, 20, Active)]), 20);
        assert_eq!(of(&[member(0, 100, Active), member(1, 20, Idle)]), 100);
    }

    #[test]
    fn when_nobody_is_left_the_furthest_real_maximum_counts() {
        use MemberState::{Finished, Idle};
        assert_eq!(of(&[member(0, 100, Idle), member(1, 20, Finished)]), 100);
        assert_eq!(of(&[member(0, 10, Idle), member(1, 20, Finished)]), 20);
        assert_eq!(of(&[member(0, i64::MIN, Idle)]), 7);
        assert_eq!(of(&[member(0, 10, Finished)]), i64::MAX);
        assert_eq!(of(&[]), 7);
    }

    #[test]
    fn an_unaligned_partition_counts_once_it_has_caught_up() {
        let mut members = [member(0, 100, MemberState::Active), member(1, 20, MemberState::Active)];
        members[1].aligned = false;
        align(&mut members, EventTime(50));
        assert_eq!(of(&members), 100);
        members[1].max = EventTime(100);
        align(&mut members, EventTime(50));
        assert!(members[1].aligned);
    }
}
