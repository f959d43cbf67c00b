//! Bytes as the draws of an embedded world: nothing in it breaks an invariant.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{bodies, found};

fuzz_target!(init: found::let_panics_be_caught(), |bytes: &[u8]| {
    found::report("simulate", bodies::simulate(bytes));
});
