//! The real command, as users start it.
//!
//! It is built here in the profile of these tests, because cargo builds the command of another
//! package for nobody; where it is fresh that takes no time. Each test runs it in a folder of its own,
//! so that what it prints names no path of this machine.
//!
//! Invariant: what is run was built from the sources that lie here.

use crate::tidy::root;
use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;

/// Where the command is.
pub(crate) fn path() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // TARGET/PROFILE/deps/plimsoll-HASH is this program.
        let tests = std::env::current_exe().expect("a program has a path");
        let profile = tests.ancestors().nth(2).expect("TARGET/PROFILE");
        let target = profile.parent().expect("TARGET");
        let mut cargo = process::Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--locked", "--package", "plimsoll-cli", "--target-dir"]);
        cargo.arg(target).current_dir(root());
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        let built = cargo.status().expect("cargo can be started");
        assert!(built.success(), "the command cannot be built");
        profile.join(format!("plimsoll{}", std::env::consts::EXE_SUFFIX))
    })
}

/// An empty folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("a folder of ours");
    }
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// The command in a folder.
pub(crate) fn plimsoll(folder: &Path) -> Command {
    let mut command = Command::new(path());
    command.current_dir(folder);
    command
}
