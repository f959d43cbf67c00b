//! Idleness: after a stretch of silence a partition is left out.
//!
//! That is a bet, not a proof: a source with nothing to send and a dead network fall equally silent
//! (founding text S7). A partition is idle at an instant iff it has been silent for strictly longer
//! than the timeout, judged at ticks only; any row or heartbeat, late or not, ends the silence at
//! its arrival (semantics 14).
//!
//! Invariant: a partition that is not silent for longer than the timeout is never idle (I37); a
//! finished one never becomes idle or active again.

use crate::plan::{IdlePlan, Rejoin};
use crate::time::{EventTime, ProcTime};
use crate::watermark::member::{Member, MemberState};

/// Judges every member at a tick. True where one fell idle.
pub fn judge(members: &mut [Member], plan: IdlePlan, now: ProcTime) -> bool {
    let mut fell = false;
    for member in members {
        let silent = plan.timeout < now.since(member.last_activity);
        if member.state == MemberState::Active && silent {
            member.state = MemberState::Idle;
            // Whether it has caught up is asked anew when it returns.
            member.aligned = true;
            fell = true;
        }
    }
    fell
}

/// Something arrived from a member. True where that ended its idleness.
///
/// Under `catch_up` a member that returns behind the candidate counts only once it has caught up.
#[inline]
pub fn hear(member: &mut Member, rejoin: Rejoin, candidate: EventTime, at: ProcTime) -> bool {
    // What was heard before is no news: it may be read again after a restart.
    if member.state == MemberState::Finished || at <= member.last_activity {
        return false;
    }
    member.last_activity = at;
    let wakes = member.state == MemberState::Idle;
    if wakes {
        member.state = MemberState::Active;
        if rejoin == Rejoin::CatchUp && member.max < candidate {
            member.aligned = false;
        }
    }
    wakes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::AllIdle;
    use crate::row::PartitionId;
    use crate::time::Span;

    const PLAN: IdlePlan =
        IdlePlan { timeout: Span(60), rejoin: Rejoin::CatchUp, all_idle: AllIdle::Flush };

    #[test]
    fn idleness_is_strict_and_ends_at_the_first_arrival() {
        let mut members = [Member::new(PartitionId(0), ProcTime(0))];
        assert!(!judge(&mut members, PLAN, ProcTime(60)));
        assert!(judge(&mut members, PLAN, ProcTime(61)));
        assert!(hear(&mut members[0], PLAN.rejoin, EventTime(5), ProcTime(61)));
        assert_eq!((members[0].state, members[0].aligned), (MemberState::Active, false));
    }

    #[test]
    fn a_finished_partition_stays_finished() {
        let mut members = [Member::new(PartitionId(0), ProcTime(0))];
        members[0].state = MemberState::Finished;
        assert!(!judge(&mut members, PLAN, ProcTime(1_000)));
        assert!(!hear(&mut members[0], PLAN.rejoin, EventTime(5), ProcTime(1_000)));
        assert_eq!(members[0].state, MemberState::Finished);
    }
}
