//! Lines of bytes, with their numbers and a limit on their length.
//!
//! Invariant: a line is never longer than [`Lines::LIMIT`], so that a stream without line breaks
//! cannot fill the memory.

use super::error::RecordingError;
use std::io::{BufRead, BufReader, Read};

/// Hands out lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    number: u64,
}

impl<R: Read> Lines<R> {
    /// Longest line that is read.
    pub(super) const LIMIT: u64 = 16 << 20;

    pub(super) fn new(source: R) -> Self {
        Self { source: BufReader::new(source), line: Vec::new(), number: 0 }
    }

    /// The next line that is not blank, without its end, and its number from 1.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, &[u8])>, RecordingError> {
        loop {
            self.line.clear();
            let mut source = self.source.by_ref().take(Self::LIMIT + 1);
            let read = source.read_until(b'\n', &mut self.line);
            let read = read.map_err(|why| RecordingError::Unreadable {
                line: self.number,
                why: why.to_string(),
            })?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if Self::LIMIT < self.line.len() as u64 {
                return Err(RecordingError::LineTooLong { line: self.number, limit: Self::LIMIT });
            }
            if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some((self.number, self.line.trim_ascii_end())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_without_line_breaks_is_refused_and_not_kept() {
        let mut lines = Lines::new(std::io::repeat(b'x'));
        let limit = Lines::<&[u8]>::LIMIT;
        assert_eq!(lines.next_line(), Err(RecordingError::LineTooLong { line: 1, limit }));
    }
}
