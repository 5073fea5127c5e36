//! What a property takes from its input besides the text.

use std::io::{self, Read};

use longhaul_core::digest::Digest128;

/// Numbers that follow from the input, and from nothing else.
pub(crate) struct Dice(u128);

impl Dice {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Digest128::of(bytes).0)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u128;
        let number = self.0 % end;
        self.0 = Digest128::of(&self.0.to_be_bytes()).0;
        usize::try_from(number).unwrap()
    }
}

/// Gives at most `step` bytes a read.
pub(crate) struct Drip<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) step: usize,
}

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.len().min(self.step).min(into.len());
        let (now, later) = self.bytes.split_at(count);
        into[..count].copy_from_slice(now);
        self.bytes = later;
        Ok(count)
    }
}
