//! Refers to the output of a call: its position, and the cost of reading it again.
//!
//! A view shows the cost after the line's number (`#412 1.3k`), so that an agent can decide whether the
//! complete output is worth its tokens before requesting it by its handle, `<thread>#<line>`.

use serde::{Deserialize, Serialize};

/// An output in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRef {
    pub seq: u64,
    /// Its size in tokens (bytes/4).
    pub tokens: u64,
}

/// Minimum tokens to show a handle: a shorter output is as cheap to produce again.
const LONG_TOKENS: u64 = 500;

impl OutputRef {
    /// Whether a view shows its handle.
    pub fn is_long(self) -> bool {
        self.tokens >= LONG_TOKENS
    }

    /// The handle without its thread, and the cost, rounded down: `#412 1.3k`.
    pub fn words(self) -> String {
        let Self { seq, tokens } = self;
        match tokens {
            0..1_000 => format!("#{seq} {tokens}"),
            1_000..10_000 => format!("#{seq} {}.{}k", tokens / 1_000, tokens % 1_000 / 100),
            _ => format!("#{seq} {}k", tokens / 1_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_short() {
        for (tokens, words) in
            [(7, "#412 7"), (999, "#412 999"), (1_399, "#412 1.3k"), (23_900, "#412 23k")]
        {
            assert_eq!(OutputRef { seq: 412, tokens }.words(), words);
        }
    }
}
