//! Bytes as a world's `.toml`: what is accepted makes a world that holds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{bodies, found};

fuzz_target!(init: found::let_panics_be_caught(), |bytes: &[u8]| {
    found::report("scenario", bodies::scenario(bytes));
});
