//! tests
mod algebra;
mod laws;
mod tidy;
