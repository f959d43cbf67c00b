//! (being written)
pub mod envelope;
