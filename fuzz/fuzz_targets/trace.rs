//! Bytes as a `.trace`: what is read is written, read again and judged.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{bodies, found};

fuzz_target!(init: found::let_panics_be_caught(), |bytes: &[u8]| {
    found::report("trace", bodies::trace(bytes));
});
