//! Token estimates by size: four bytes a token.
//!
//! Same rules as Codex, so that budgets agree with the agent's own.

pub(crate) mod image;

pub const BYTES_PER_TOKEN: u64 = 4;

/// Bytes counted for an inline image instead of its base64 text.
pub const IMAGE_BYTES: u64 = 7_373;

/// Bytes by which an encrypted payload shrinks to its text: `len × 3/4 − 650`.
const ENCRYPTED_OVERHEAD_BYTES: u64 = 650;

/// Estimates the tokens of `bytes` bytes of text, rounded up.
pub fn of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

pub fn of_text(text: &str) -> u64 {
    of_bytes(text.len() as u64)
}

/// Bytes that fit into `tokens` tokens.
pub fn bytes_of(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
}

/// Estimates an encrypted payload (reasoning, opaque compaction) of `chars` base64 characters.
pub fn of_encrypted(chars: u64) -> u64 {
    of_bytes((chars.saturating_mul(3) / 4).saturating_sub(ENCRYPTED_OVERHEAD_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_round_up_and_budgets_round_trip() {
        for (bytes, tokens) in [(0, 0), (1, 1), (4, 1), (5, 2), (4_000_000, 1_000_000)] {
            assert_eq!(of_bytes(bytes), tokens, "{bytes} bytes");
        }
        assert_eq!(bytes_of(1_000), 4_000);
        assert_eq!(bytes_of(u64::MAX), usize::MAX);
    }

    #[test]
    fn short_encrypted_payloads_cost_nothing() {
        assert_eq!(of_encrypted(866), 0);
        assert_eq!(of_encrypted(10_000), (7_500 - 650) / 4 + 1);
    }
}
