//! State on disk: what a run needs to go on.
//!
//! A directory holds `checkpoint.json` and the snapshot that it names. The snapshot is written first,
//! under a name of its own; then `checkpoint.json` is replaced in one step (a temporary file, synced,
//! renamed); then older snapshots go. A crash at any moment leaves the old checkpoint or the new one.
//!
//! Invariant: `checkpoint.json` names a snapshot that was written whole.

use anyhow::{Context as _, Result, bail};
use plimsoll_engine::row::Dictionary;
use plimsoll_sim::recording::Row;
use plimsoll_sim::recording::playback::Playback;
use plimsoll_sim::recording::tally::Tally;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

const NAME: &str = "checkpoint.json";
const VERSION: u32 = 1;

/// What a run needs to go on.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    pub(super) playback: Playback,
    /// The account so far; its rows are the offset to read on from.
    pub(super) tally: Tally,
    /// The last line that was taken.
    pub(super) line: u64,
    pub(super) prefix: Prefix,
    pub(super) texts: Dictionary,
    pub(super) partitions: Dictionary,
    pub(super) snapshot: Vec<u8>,
}

/// What `checkpoint.json` holds.
#[derive(Serialize, Deserialize)]
struct Index {
    version: u32,
    /// Over everything else here, with a 0 in this place.
    checksum: u64,
    snapshot: String,
    line: u64,
    prefix: Prefix,
    tally: Tally,
    playback: Playback,
    texts: Dictionary,
    partitions: Dictionary,
}

impl Index {
    /// With the checksum of what it holds.
    fn sealed(mut self) -> serde_json::Result<Self> {
        self.checksum = 0;
        let bytes = serde_json::to_vec(&self)?;
        self.checksum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Ok(self)
    }
}

/// A digest of the rows so far, to know them again (FNV-1a, 64 bits, over their values).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Prefix(u64);

impl Default for Prefix {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Prefix {
    /// Takes a row.
    pub(super) fn observe(&mut self, row: &Row) {
        let mut word = |it: u64| {
            for byte in it.to_le_bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        let mut cell = |it: Option<i64>| {
            word(u64::from(it.is_some()));
            word(it.unwrap_or(0) as u64);
        };
        cell(row.arrival.map(|it| it.0));
        cell(Some(i64::from(row.partition.0)));
        row.cells.iter().copied().for_each(cell);
    }
}

impl Checkpoint {
    /// What is there; `None` where nothing is.
    pub(super) fn load(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(NAME);
        let text = match fs::read(&path) {
            Ok(it) => it,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let index: Index = serde_json::from_slice(&text)
            .with_context(|| format!("{} is no checkpoint", path.display()))?;
        if index.version != VERSION {
            bail!(
                "{} is of version {}, and this build reads version {VERSION}",
                path.display(),
                index.version
            );
        }
        let written = index.checksum;
        let index = index.sealed()?;
        if index.checksum != written {
            bail!(
                "{} is damaged: expected the checksum {:016x} of what it holds, found {written:016x}",
                path.display(),
                index.checksum
            );
        }
        let snapshot = dir.join(&index.snapshot);
        let snapshot = fs::read(&snapshot).with_context(|| {
            format!("cannot read {}, which {} names", snapshot.display(), path.display())
        })?;
        Ok(Some(Self {
            playback: index.playback,
            tally: index.tally,
            line: index.line,
            prefix: index.prefix,
            texts: index.texts,
            partitions: index.partitions,
            snapshot,
        }))
    }

    /// Puts it in the place of what is there.
    pub(super) fn store(&self, dir: &Path) -> Result<()> {
        self.store_in(dir)
            .with_context(|| format!("cannot write the checkpoint in {}", dir.display()))
    }

    fn store_in(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        // Two files of the same name would be the same state.
        let name = format!("snapshot-{}-{}.bin", self.tally.rows, self.tally.steps);
        write_whole(dir, &name, &self.snapshot)?;
        let index = Index {
            version: VERSION,
            checksum: 0,
            snapshot: name.clone(),
            line: self.line,
            prefix: self.prefix,
            tally: self.tally,
            playback: self.playback,
            texts: self.texts.clone(),
            partitions: self.partitions.clone(),
        };
        let index = index.sealed()?;
        write_whole(dir, NAME, &serde_json::to_vec_pretty(&index)?)?;
        for entry in fs::read_dir(dir)? {
            let other = entry?.file_name();
            let text = other.to_string_lossy();
            if text.starts_with("snapshot-") && text != name.as_str() {
                fs::remove_file(dir.join(&other))?;
            }
        }
        Ok(())
    }
}

/// Writes a file in one step: nobody ever sees a part of it.
fn write_whole(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = dir.join(format!("{name}.tmp"));
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, dir.join(name))?;
    // Where a directory cannot be synced the rename is still in order.
    File::open(dir).and_then(|it| it.sync_all()).or(Ok(()))
}
