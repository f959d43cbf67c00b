//! Files that the user names.
//!
//! What cannot be read is said in one sentence with the name as it was given: that it is missing,
//! that it is a directory, that it is not UTF-8 and where.
//!
//! Invariant: an error names the file and what to do about it.

use anyhow::{Context as _, Result, bail};
use std::fs;
use std::io;
use std::path::Path;

/// A text file, whole, and its name for reports.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The name as it was given.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) text: String,
}

/// Reads a text file.
pub(crate) fn read_text(path: &Path) -> Result<Source> {
    let name = path.display().to_string();
    let bytes = read(path)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source { name, text }),
        Err(error) => bail!(
            "{name} is not text: the byte at offset {} is not UTF-8",
            error.utf8_error().valid_up_to()
        ),
    }
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    must_be_a_file(path)?;
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A file, or anything that reads like one (a pipe, a device); not a directory.
pub(crate) fn must_be_a_file(path: &Path) -> Result<()> {
    let name = path.display();
    match fs::metadata(path) {
        Ok(it) if it.is_dir() => bail!("{name} is a directory; name a file in it"),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("there is no file {name}")
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {name}")),
    }
}
