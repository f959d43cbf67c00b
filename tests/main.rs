//! tests
mod tidy;
