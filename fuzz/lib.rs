//! What the fuzz targets share: their bodies, and what becomes of a finding.
//!
//! The targets themselves are a few lines each, because what a fuzzer compiles nobody else compiles;
//! everything that can be wrong is in [`bodies`], which the tests of the house compile and replay too.

pub mod bodies;
pub mod found;
