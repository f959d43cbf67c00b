//! One test binary: laws, recorded stories, mutants, determinism, snapshots of what users see, tidiness.
//!
//! Invariant: no test sleeps, none is ignored, none depends on another.

mod algebra;
mod binary;
mod command;
mod conformance;
mod determinism;
mod explain;
mod flows;
mod fuzz_inputs;
mod laws;
mod mutants;
mod snapshots;
mod stories;
mod tidy;
