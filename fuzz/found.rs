//! What becomes of a finding: a `.trace` beside the fuzzer's own artefact, and an end.
//!
//! The bytes that a fuzzer keeps mean something only to the generator of that day. The trace means
//! the same for ever, and `plimsoll replay`, `shrink` and `explain` read it.
//!
//! Invariant: a finding that has a trace leaves the trace on the disk before the process ends.

use crate::bodies::Finding;
use plimsoll_sim::entropy::stable_hash;
use std::fs;
use std::path::Path;

/// Gives panics back to those who catch them.
///
/// The fuzzer ends the process in the panic hook, before anybody can catch; then a panic of the
/// engine would be no violation with an item and a trace. One that nobody catches still ends the
/// process: the fuzzer catches it last and aborts.
pub fn let_panics_be_caught() {
    drop(std::panic::take_hook());
}

/// Ends the process where something was found.
///
/// # Panics
/// That is its purpose: this is how a fuzzer is told.
pub fn report(target: &str, found: Result<(), Finding>) {
    let Err(Finding { message, trace }) = found else { return };
    let Some(trace) = trace else { panic!("{message}") };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(target);
    let path = folder.join(format!("{:016x}.trace", stable_hash(trace.as_bytes())));
    match fs::create_dir_all(&folder).and_then(|()| fs::write(&path, &trace)) {
        Ok(()) => panic!("{message}\nto see it again: plimsoll replay {}", path.display()),
        Err(error) => panic!("{message}\n{} cannot be written: {error}\n{trace}", path.display()),
    }
}
