//! When to retry a failed request.

use super::Fault;

/// Maximum tries of one request, including the first.
pub const TRIES_MAX: u32 = 5;

/// Wait before the second try; doubled for each further one. Codex waits 200 ms × 2ⁿ ± 10 %.
const FIRST_MS: u64 = 200;

/// Longest wait unless the provider asks for more.
const LONGEST_MS: u64 = 20_000;

/// Milliseconds to wait before the next try after `tries` tries, or `None` to give up: the fault is
/// permanent, the tries are used up, or the provider asks for more than the remaining `left_ms`.
///
/// `chance` in 0..1 spreads clients that failed together: the wait is 90 to 110 % of the rule's, and at
/// least what the provider asks for.
pub fn wait_ms(fault: &Fault, tries: u32, left_ms: u64, chance: f64) -> Option<u64> {
    if !fault.kind.is_transient() || tries == 0 || tries >= TRIES_MAX {
        return None;
    }
    let rule = FIRST_MS.saturating_mul(1 << (tries - 1).min(16)).min(LONGEST_MS);
    let spread = 0.9 + 0.2 * chance.clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "at most LONGEST_MS × 1.1"
    )]
    let own = (rule as f64 * spread) as u64;
    let wait = own.max(fault.retry_after_ms.unwrap_or(0));
    (wait < left_ms).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::super::FaultKind;
    use super::*;

    #[test]
    fn waits_double_respect_the_provider_and_end() {
        let mut fault = Fault::new(FaultKind::Unavailable, "x");
        let waits: Vec<_> = (1..=5).map(|tries| wait_ms(&fault, tries, 60_000, 0.5)).collect();
        assert_eq!(waits, [Some(200), Some(400), Some(800), Some(1_600), None]);
        assert_eq!(wait_ms(&fault, 1, 60_000, 0.0), Some(180));
        fault.retry_after_ms = Some(3_000);
        assert_eq!(wait_ms(&fault, 1, 60_000, 0.5), Some(3_000));
        assert_eq!(wait_ms(&fault, 1, 2_000, 0.5), None, "too little time left");
        assert_eq!(wait_ms(&fault, 1, 3_000, 0.5), None, "none would be left for the request");
        assert_eq!(wait_ms(&fault, 1, 3_001, 0.5), Some(3_000));
        let overflow = Fault::new(FaultKind::ContextOverflow, "x");
        assert_eq!(wait_ms(&overflow, 1, 60_000, 0.5), None, "the same request fails again");
    }
}
