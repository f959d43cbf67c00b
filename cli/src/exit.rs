//! How the command ends.
//!
//! A mistake of the user or of the world (a wrong argument, an unreadable file, a full disk) is an
//! error with a sentence and code 2. A mistake of ours is a panic and code 70. A finding is neither:
//! it is a result, and code 1. A reader that has seen enough closes the pipe (`| head`), and then
//! the command ends quietly with code 0.
//!
//! Code 130 is never returned from here: an interrupt ends the process by its signal, which shells
//! report as 128 + 2. What was written until then stays, checkpoints and artefacts are written whole
//! or not at all.
//!
//! Invariant: nothing else in the command ends the process.

use crate::diagnose::Diagnosis;
use std::io;
use std::process::ExitCode;

/// Version and commit, as every failure repeats them.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("PLIMSOLL_COMMIT"), ")");

/// The exit codes that the command returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Everything held.
    Held,
    /// A violation was found.
    Violation,
    /// Wrong usage, or input that cannot be read.
    Usage,
    /// Nothing ran: no seed, no file, no row.
    NothingRan,
    /// A bug in the harness itself.
    Bug,
}

impl Exit {
    /// All of them.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 5] =
        [Self::Held, Self::Violation, Self::Usage, Self::NothingRan, Self::Bug];

    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Violation => 1,
            Self::Usage => 2,
            Self::NothingRan => 3,
            Self::Bug => 70,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error as it is printed: what was shown in its source already, as it is.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Diagnosis>() {
        Some(shown) => shown.to_string(),
        None => format!("error: {error:#}"),
    }
}

/// Whether an error only says that nobody reads any more.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|it| it.downcast_ref::<io::Error>())
        .any(|it| it.kind() == io::ErrorKind::BrokenPipe)
}

std::thread_local! {
    /// Whether a panic on this thread is somebody's finding and not ours.
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Does something in which a panic of the system under test is a finding: the hook keeps silent.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let before = QUIET.replace(true);
    let done = work();
    QUIET.set(before);
    done
}

/// A panic is ours: says so, with what a report of it needs.
pub(crate) fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if QUIET.get() {
            return;
        }
        let payload = panic.payload();
        let what = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(text), _) => text,
            (None, Some(text)) => text.as_str(),
            (None, None) => "no message",
        };
        let at = panic.location().map_or_else(String::new, |it| format!(" at {it}"));
        let command: Vec<_> =
            std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect();
        let mut stderr = io::stderr().lock();
        let text = format!(
            "plimsoll {VERSION}: a bug in the harness, not in your input{at}: {what}\n  \
             please report it with this command: {}\n",
            command.join(" ")
        );
        // Where standard error is closed nobody is left to be told.
        let _ = io::Write::write_all(&mut stderr, text.as_bytes());
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn a_closed_pipe_is_recognised_under_its_explanations() {
        let closed = Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe));
        let explained = closed.context("writing the report").expect_err("an error");
        assert!(is_closed_pipe(&explained));
        assert!(!is_closed_pipe(&anyhow::anyhow!("broken pipe")));
    }
}
