//! Who is there, who has finished, and who is silent for too long: kept from the trace alone.
//!
//! Arrival is activity at once; a partition appears, finishes, moves or goes when a step takes the
//! item that says so; silence is judged at ticks. What a partition has shown is not kept here.
//!
//! Invariant: a finished partition is neither idle nor active again until it is taken away.
//! Source: semantics 14 and the documentation of [`crate::trace`].

use crate::trace::Item;
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::{ProcTime, Span};
use plimsoll_engine::watermark::member::{Adoption, MemberState};

/// All partitions, in order of their numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Roster {
    timeout: Option<Span>,
    seats: Vec<Seat>,
    idle: usize,
    finished: usize,
}

/// One partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// Who.
    pub partition: PartitionId,
    /// When it was last heard.
    pub heard: ProcTime,
    /// What follows from that.
    pub state: MemberState,
}

impl Roster {
    /// Nobody. `None` never takes silence for anything.
    pub const fn new(timeout: Option<Span>) -> Self {
        Self { timeout, seats: Vec::new(), idle: 0, finished: 0 }
    }

    /// Everybody.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// Whether somebody is idle.
    pub const fn some_idle(&self) -> bool {
        0 < self.idle
    }

    /// Whether somebody is idle and nobody active.
    pub const fn all_idle(&self) -> bool {
        0 < self.idle && self.idle + self.finished == self.seats.len()
    }

    /// Whether there is somebody and all have finished.
    pub const fn all_finished(&self) -> bool {
        0 < self.finished && self.finished == self.seats.len()
    }

    /// The seat of a partition.
    #[inline]
    pub fn seat(&self, partition: PartitionId) -> Option<&Seat> {
        self.place(partition).ok().map(|it| &self.seats[it])
    }

    #[inline]
    fn place(&self, partition: PartitionId) -> Result<usize, usize> {
        // Most often they are numbered from 0 without gaps.
        let guess = partition.0 as usize;
        if self.seats.get(guess).is_some_and(|it| it.partition == partition) {
            return Ok(guess);
        }
        self.seats.binary_search_by_key(&partition, |it| it.partition)
    }

    fn turn(&mut self, place: usize, state: MemberState) {
        let before = std::mem::replace(&mut self.seats[place].state, state);
        self.idle -= usize::from(before == MemberState::Idle);
        self.finished -= usize::from(before == MemberState::Finished);
        self.idle += usize::from(state == MemberState::Idle);
        self.finished += usize::from(state == MemberState::Finished);
    }

    /// Something arrives from a partition. True where that ended its idleness.
    #[inline]
    pub fn hear(&mut self, partition: PartitionId, now: ProcTime) -> bool {
        let Ok(place) = self.place(partition) else { return false };
        let state = self.seats[place].state;
        if state == MemberState::Finished {
            return false;
        }
        self.seats[place].heard = now;
        let woke = state == MemberState::Idle;
        if woke {
            self.turn(place, MemberState::Active);
        }
        woke
    }

    /// A tick judges silence.
    pub fn tick(&mut self, now: ProcTime) {
        let Some(timeout) = self.timeout else { return };
        for place in 0..self.seats.len() {
            let Seat { heard, state, .. } = self.seats[place];
            if state == MemberState::Active && timeout < now.since(heard) {
                self.turn(place, MemberState::Idle);
            }
        }
    }

    /// A restart that does not know who was silent: nobody who may still send is.
    pub fn restart(&mut self, now: ProcTime) {
        for place in 0..self.seats.len() {
            if self.seats[place].state != MemberState::Finished {
                self.seats[place].heard = now;
                self.turn(place, MemberState::Active);
            }
        }
    }

    fn place_or_new(&mut self, partition: PartitionId, heard: ProcTime) -> usize {
        self.place(partition).unwrap_or_else(|place| {
            let state = MemberState::Active;
            self.seats.insert(place, Seat { partition, heard, state });
            place
        })
    }

    /// A step takes an item that arrived at `at`. True where it is of a finished partition.
    #[inline]
    pub fn take(&mut self, item: &Item, at: ProcTime) -> bool {
        match *item {
            Item::Row(row) => self.name(row.partition, at),
            Item::Heartbeat { partition, .. } => self.name(partition, at),
            Item::Add { partition, .. } => {
                self.place_or_new(partition, at);
                false
            }
            Item::Move { partition, adoption } => {
                if adoption == Adoption::WithWatermark {
                    return false;
                }
                self.hear(partition, at);
                false
            }
            Item::Remove(partition) => {
                if let Ok(place) = self.place(partition) {
                    self.turn(place, MemberState::Active);
                    self.seats.remove(place);
                }
                false
            }
            Item::Finish(partition) => {
                if let Ok(place) = self.place(partition) {
                    self.turn(place, MemberState::Finished);
                }
                false
            }
            Item::Tick(_)
            | Item::Probe
            | Item::Batch
            | Item::Steer(_)
            | Item::Checkpoint
            | Item::Crash { .. }
            | Item::Restart(_)
            | Item::End => false,
        }
    }

    #[inline]
    fn name(&mut self, partition: PartitionId, at: ProcTime) -> bool {
        let place = self.place_or_new(partition, at);
        self.seats[place].state == MemberState::Finished
    }

    /// The input ends.
    pub fn finish_all(&mut self) {
        for place in 0..self.seats.len() {
            self.turn(place, MemberState::Finished);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: PartitionId = PartitionId(3);

    fn beat(roster: &mut Roster, at: i64) {
        let time = plimsoll_engine::time::EventTime(0);
        roster.hear(P, ProcTime(at));
        roster.take(&Item::Heartbeat { partition: P, time }, ProcTime(at));
    }

    #[test]
    fn silence_longer_than_the_timeout_is_idleness_and_the_next_arrival_ends_it() {
        let mut roster = Roster::new(Some(Span(60)));
        beat(&mut roster, 0);
        roster.tick(ProcTime(60));
        assert!(!roster.some_idle());
        roster.tick(ProcTime(61));
        assert!(roster.all_idle());
        assert!(roster.hear(P, ProcTime(61)));
        assert!(!roster.some_idle());
    }

    #[test]
    fn after_a_restart_silence_begins_anew_but_for_the_finished() {
        let mut roster = Roster::new(Some(Span(60)));
        beat(&mut roster, 0);
        roster.tick(ProcTime(61));
        roster.restart(ProcTime(61));
        assert!(!roster.some_idle());
        roster.tick(ProcTime(121));
        assert!(!roster.some_idle());
        roster.tick(ProcTime(122));
        assert!(roster.all_idle());
        roster.take(&Item::Finish(P), ProcTime(122));
        roster.restart(ProcTime(122));
        assert!(roster.all_finished());
    }

    #[test]
    fn a_finished_partition_stays_so_until_it_is_taken_away() {
        let mut roster = Roster::new(Some(Span(60)));
        beat(&mut roster, 0);
        roster.take(&Item::Finish(P), ProcTime(0));
        roster.tick(ProcTime(1_000));
        roster.hear(P, ProcTime(1_000));
        assert!(roster.all_finished());
        roster.take(&Item::Remove(P), ProcTime(1_000));
        beat(&mut roster, 1_000);
        assert!(!roster.all_finished());
        assert_eq!(roster.seats().len(), 1);
    }
}
