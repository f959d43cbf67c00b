//! Nothing: the tests are one binary, `main.rs`.
//!
//! Invariant: no code here.
