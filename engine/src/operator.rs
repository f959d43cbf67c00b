//! (being written)
pub mod aggregate;
