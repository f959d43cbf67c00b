//! Progress of long work, on standard error; nothing where that is no terminal.
//!
//! Invariant: results never depend on it.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar that says what is being done, how far it is and how long it may take.
pub(crate) fn bar(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{prefix} [{bar:32}] {pos}/{len} {msg} ({eta})");
    if let Ok(style) = style {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
