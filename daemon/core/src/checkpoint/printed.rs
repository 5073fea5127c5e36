//! What a call printed: where it stands, and what reading it again costs.
//!
//! A view shows the price behind the line's number (`#412 1.3k`), so that an agent can decide whether
//! the whole is worth its tokens before it asks for it: `<thread>#<line>` is the handle.

use serde::{Deserialize, Serialize};

/// An answer in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    pub seq: u64,
    /// Its size in tokens (bytes/4).
    pub tokens: u64,
}

/// Tokens from which an answer is long enough to be named: a shorter one is as cheap to make again.
const LONG_TOKENS: u64 = 500;

impl Printed {
    /// Whether a view names it.
    pub fn is_long(self) -> bool {
        self.tokens >= LONG_TOKENS
    }

    /// The handle without its thread, and the price: `#412 1.3k`. Prices are rounded down.
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
    fn prices_are_short() {
        for (tokens, words) in
            [(7, "#412 7"), (999, "#412 999"), (1_399, "#412 1.3k"), (23_900, "#412 23k")]
        {
            assert_eq!(Printed { seq: 412, tokens }.words(), words);
        }
    }
}
