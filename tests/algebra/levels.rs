//! One level of combination, whatever its members tell.
//!
//! Invariant: all rules of a level are drawn.

use super::law;
use plimsoll_engine::plan::Rejoin;
use plimsoll_engine::plan::levels::{LevelAllIdle, LevelPlan, Waking};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::levels::combiner::{Combiner, News, Promise};

/// What a member tells, as quickcheck draws it: who, what, and which watermark.
type Told = Vec<(u8, u8, i16)>;

const MEMBERS: usize = 3;

fn plan(rules: u8) -> LevelPlan {
    LevelPlan {
        rejoin: [Rejoin::Hold, Rejoin::CatchUp][usize::from(rules % 2)],
        all_idle: [LevelAllIdle::Flush, LevelAllIdle::FlushIfLast, LevelAllIdle::Hold]
            [usize::from(rules / 2 % 3)],
        waking: [Waking::AtOnce, Waking::WithProgress][usize::from(rules / 6 % 2)],
    }
}

/// The watermark after each thing that was told; members stand in this order.
fn combined(told: &Told, plan: LevelPlan, place: impl Fn(usize) -> usize) -> Vec<EventTime> {
    let mut level = Combiner::new(false);
    (0..MEMBERS).for_each(|_| level.add(plan));
    let mut all = Vec::new();
    for (who, what, watermark) in told {
        let watermark = EventTime(i64::from(*watermark));
        let news = match what % 4 {
            0 => News::Idle,
            1 => News::Awake,
            _ => News::Watermark(Promise { watermark, set_by: None }),
        };
        level.hear(place(usize::from(*who) % MEMBERS), news, plan);
        level.combine(plan);
        all.push(level.promise().watermark);
    }
    all
}

#[test]
fn a_level_never_falls_whatever_its_members_tell() {
    fn rises(told: Told, rules: u8) -> bool {
        combined(&told, plan(rules), |it| it).is_sorted()
    }
    law(rises as fn(Told, u8) -> bool);
}

#[test]
fn the_order_in_which_members_stand_does_not_change_a_level() {
    fn free(told: Told, rules: u8, turn: usize) -> bool {
        let plan = plan(rules);
        let turned = combined(&told, plan, |it| (it + turn % MEMBERS) % MEMBERS);
        combined(&told, plan, |it| it) == turned
    }
    law(free as fn(Told, u8, usize) -> bool);
}

#[test]
fn where_nobody_is_silent_a_level_is_the_smallest_of_all_that_its_members_have_reached() {
    fn least(told: Told, rules: u8) -> bool {
        let told: Told = told.into_iter().map(|(who, _, w)| (who, 2, w)).collect();
        let mut reached = [EventTime::MIN; MEMBERS];
        let by_definition = told.iter().map(|(who, _, watermark)| {
            let it = &mut reached[usize::from(*who) % MEMBERS];
            *it = (*it).max(EventTime(i64::from(*watermark)));
            reached.into_iter().min().unwrap_or(EventTime::MIN)
        });
        let by_definition: Vec<EventTime> = by_definition.collect();
        by_definition == combined(&told, plan(rules), |it| it)
    }
    law(least as fn(Told, u8) -> bool);
}
