//! Bytes as a recorded vector of a real engine: they are read, or refused with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{bodies, found};

fuzz_target!(init: found::let_panics_be_caught(), |bytes: &[u8]| {
    found::report("vector", bodies::vector(bytes));
});
