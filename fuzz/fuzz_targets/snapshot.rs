//! Bytes as a snapshot: refused with an error, or a job that goes on.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{bodies, found};

fuzz_target!(init: found::let_panics_be_caught(), |bytes: &[u8]| {
    found::report("snapshot", bodies::snapshot(bytes));
});
