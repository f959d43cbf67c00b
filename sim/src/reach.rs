//! Rare states, counted: what a campaign has been to, and what it never reached.
//!
//! A world in which nothing rare happens proves little. Every site below is a state in which engines
//! have gone wrong, told apart from outside: by the trace, by what came out, and by the partitions
//! that the system shows. `sometimes!("rebalance while idle", ..)` marks it; a name that is not in the
//! list does not compile, and a site that nothing marks does not pass the tests.
//!
//! Invariant: a [`Reach`] depends on the observations only; merging is in any order the same.

mod sites;
mod watch;

pub use sites::SITES;
pub use watch::Watch;

/// A rare state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The name that reports use.
    pub name: &'static str,
    /// What it means.
    pub what: &'static str,
}

/// The sites that were reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reach(u128);

/// Position of a site in the list. Does not compile, in a constant, where there is none.
const fn position(name: &str) -> usize {
    let mut at = 0;
    while at < SITES.len() {
        if same(SITES[at].name, name) {
            return at;
        }
        at += 1;
    }
    panic!("no such site")
}

const fn same(one: &str, two: &str) -> bool {
    let (one, two) = (one.as_bytes(), two.as_bytes());
    let mut at = 0;
    while at < one.len() && at < two.len() && one[at] == two[at] {
        at += 1;
    }
    at == one.len() && at == two.len()
}

impl Reach {
    /// Takes in what another run reached.
    pub const fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether site number `at` was reached.
    #[inline]
    pub const fn has(self, at: usize) -> bool {
        self.0 >> at & 1 == 1
    }

    #[inline]
    const fn mark(&mut self, at: usize) {
        self.0 |= 1 << at;
    }

    /// How many sites were reached.
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The sites that were not.
    pub fn missing(self) -> impl Iterator<Item = &'static Site> {
        SITES.iter().enumerate().filter(move |it| !self.has(it.0)).map(|it| it.1)
    }
}

/// Marks a site where the condition holds; once it is marked the condition is not looked at.
macro_rules! sometimes {
    ($reach:expr, $name:literal, $when:expr) => {{
        const AT: usize = $crate::reach::position($name);
        if !$reach.has(AT) && $when {
            $reach.mark(AT);
        }
    }};
}
use sometimes;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_site_has_a_name_of_its_own_and_is_marked_somewhere() {
        let names: BTreeSet<_> = SITES.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), SITES.len());
        assert!(36 <= SITES.len() && SITES.len() <= 128);
        let watch = [include_str!("reach/watch.rs"), include_str!("reach/watch/flow.rs")].concat();
        for site in SITES {
            assert!(watch.contains(&format!("\"{}\"", site.name)), "nothing marks {}", site.name);
        }
    }

    #[test]
    fn what_one_run_reached_is_not_missing_after_a_merge() {
        let (mut one, mut two) = (Reach::default(), Reach::default());
        one.mark(3);
        two.mark(5);
        one.merge(two);
        assert_eq!(one.count(), 2);
        assert_eq!(one.missing().count(), SITES.len() - 2);
        assert!(one.missing().all(|it| ![SITES[3].name, SITES[5].name].contains(&it.name)));
    }
}
