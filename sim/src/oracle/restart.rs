//! What a restart forgets: each part becomes what it was before the first row, and nothing else moves.
//!
//! Readings. The queue stands as it is: what waits has been read again, and its arrivals are no
//! activity after the restart, where every silence begins. The same items wait under the same numbers
//! and instants. What a partition has sent is counted on. A window that had closed took its ledger
//! with it: born again, it begins without losses. The periods of a trigger are counted on from the
//! start of the clock. Of a query that has stopped nothing is forgotten any more.
//!
//! Invariant: a restart that loses nothing changes nothing. Source: *Restart* in [`crate::trace`].

use super::Oracle;
use plimsoll_engine::plan::restore::{Memory, RestoreRules};

impl Oracle {
    /// Stops and starts between two steps.
    pub(super) fn restart(&mut self, rules: RestoreRules) {
        self.members.forget(rules, self.now);
        if rules.watermark == Memory::Lost {
            self.members.starts_anew();
            self.watermark.starts_anew();
        }
        let Some(figures) = &mut self.figures else { return };
        if rules.windows == Memory::Lost {
            figures.forget_open();
        }
        if rules.ledger == Memory::Lost {
            figures.forget_dropped();
        } else if rules.watermark == Memory::Lost {
            figures.forget_dropped_for_closed();
        }
    }
}
