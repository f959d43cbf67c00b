//! State: what is kept between a row's arrival and its window's end.
//!
//! Groups of one slice of time live in one [`table`]; tables are kept by slice ([`slices`]), so that
//! closing a window drops whole tables. A group is a run of words laid out once per plan
//! ([`layout`]): the key, then one accumulator per aggregate. How values go into the accumulators is
//! in [`fold`].
//!
//! Invariant: (window, key) state exists from the first admitted row until its eviction.

pub mod fold;
pub mod layout;
pub mod slices;
pub mod table;
