//! The envelope of a snapshot: magic, version, length, checksum, payload.
//!
//! ```text
//! offset 0   8 bytes   PLIMSNAP
//!        8   4 bytes   format version, little endian
//!       12   8 bytes   length of the payload, little endian
//!       20   4 bytes   CRC-32C of bytes 8..20 and of the payload, little endian
//!       24   ...       payload
//! ```
//!
//! Invariant: bytes that were cut, extended or changed anywhere are refused with the offset at which
//! it shows; they never become a state.

use thiserror::Error;

const MAGIC: &[u8; 8] = b"PLIMSNAP";
const HEAD: usize = 24;

/// Why a snapshot was refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SnapshotError {
    /// Shorter or longer than it says.
    #[error("offset {offset}: expected {expected} bytes in all, found {found}")]
    Length {
        /// Where the bytes end, or should have ended.
        offset: u64,
        /// Bytes expected.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// Does not begin as a snapshot does.
    #[error("offset {offset}: expected a snapshot, which begins with PLIMSNAP, found other bytes")]
    Magic {
        /// The first byte that differs.
        offset: u64,
    },
    /// Written by a later version.
    #[error("offset 8: expected snapshot version 1 to {newest}, found version {found}")]
    Version {
        /// The version found.
        found: u32,
        /// The newest version that this build reads.
        newest: u32,
    },
    /// The checksum does not fit.
    #[error(
        "offset 20: expected the checksum {expected:08x} of what follows, found {found:08x}: \
         some byte was changed"
    )]
    Checksum {
        /// Computed from the bytes.
        expected: u32,
        /// Written in the head.
        found: u32,
    },
    /// The payload is not what its version says.
    #[error("offset {offset}: expected {expected}, found something else ({found})")]
    Payload {
        /// Where reading stopped, or the beginning of the payload.
        offset: u64,
        /// What should stand there.
        expected: &'static str,
        /// What the decoder says.
        found: String,
    },
    /// It belongs to another query.
    #[error(
        "the snapshot was written under another plan ({what} differs); restore under the plan that \
         wrote it, or start anew"
    )]
    Plan {
        /// Which part differs.
        what: &'static str,
    },
}

/// Puts a payload into an envelope.
pub fn seal(version: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + payload.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    let sum = crc32c::crc32c_append(crc32c::crc32c(&bytes[8..20]), payload);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The version and the payload of an envelope.
///
/// # Errors
/// Everything that can be wrong with bytes, with its offset.
pub fn open(bytes: &[u8], newest: u32) -> Result<(u32, &[u8]), SnapshotError> {
    let found = bytes.len() as u64;
    if let Some(at) = MAGIC.iter().zip(bytes).position(|(want, is)| want != is) {
        return Err(SnapshotError::Magic { offset: at as u64 });
    }
    let Some((head, payload)) = bytes.split_at_checked(HEAD) else {
        return Err(SnapshotError::Length { offset: found, expected: HEAD as u64, found });
    };
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let version = word(8);
    let length = u64::from(word(12)) | u64::from(word(16)) << 32;
    let expected = length.saturating_add(HEAD as u64);
    let sum = crc32c::crc32c_append(crc32c::crc32c(&head[8..20]), payload);
    if version == 0 || newest < version {
        return Err(SnapshotError::Version { found: version, newest });
    }
    if expected != found {
        return Err(SnapshotError::Length { offset: found.min(expected), expected, found });
    }
    if sum != word(20) {
        return Err(SnapshotError::Checksum { expected: sum, found: word(20) });
    }
    Ok((version, payload))
}

/// Where the payload begins.
pub const PAYLOAD_AT: u64 = HEAD as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_opens() {
        assert_eq!(open(&seal(1, b"abc"), 1), Ok((1, &b"abc"[..])));
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_refused() {
        let good = seal(1, b"a payload of some bytes");
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(open(&bad, 1).is_err(), "byte {at} bit {bit}");
            }
            assert!(open(&good[..at], 1).is_err(), "cut at {at}");
        }
        let mut long = good.clone();
        long.push(0);
        let (expected, found) = (good.len() as u64, long.len() as u64);
        let offset = expected;
        assert_eq!(open(&long, 1), Err(SnapshotError::Length { offset, expected, found }));
    }

    #[test]
    fn a_later_version_says_which_are_read() {
        let error = open(&seal(9, b""), 1).expect_err("a future version");
        assert_eq!(
            error.to_string(),
            "offset 8: expected snapshot version 1 to 1, found version 9"
        );
    }
}
