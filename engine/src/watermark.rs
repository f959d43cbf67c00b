//! Watermarks: how far event time is believed complete.
//!
//! Members ([`member`], one per partition) notice rows; one combiner ([`combine`]) makes a candidate
//! c of them; the delay is taken off and the result is clamped: w = max(w, c - d). A wall clock may
//! add to it, a guard may keep future times away ([`guard`]). When a value counts is decided in one
//! file ([`effective`]), when silence counts in another ([`idle`]).
//!
//! Nothing that a system can observe tells it that a window is finished: it decides.
//!
//! Invariant: a watermark never decreases. Source: semantics section 2.

pub mod combine;
pub mod effective;
pub mod generator;
pub mod guard;
pub mod idle;
pub mod levels;
pub mod member;
