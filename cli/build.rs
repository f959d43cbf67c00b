//! Tells the command which commit it was built from.
//!
//! A failure is reproduced with its seed *and* its commit, so the version names both. Built from a
//! tarball, or inside somebody else's repository, the commit is `unknown`: never a wrong one.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let commit = commit().unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=PLIMSOLL_COMMIT={commit}");
    println!("cargo::rerun-if-changed=build.rs");
    // A new commit moves the reflog; a new branch moves HEAD.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|it| is_file(it)) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

fn commit() -> Option<String> {
    // Cargo runs this in the package, one level below the top of the project.
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    let ours = Path::new("..").canonicalize().ok()?;
    if top == ours { git(&["rev-parse", "HEAD"]) } else { None }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

fn is_file(path: &str) -> bool {
    Path::new(path).is_file()
}
