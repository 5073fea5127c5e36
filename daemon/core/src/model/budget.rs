//! What may be spent on models, and whether one more request fits.

use serde::{Deserialize, Serialize};

use super::{Fault, FaultKind};

/// Bounds of what is spent; `None` is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// Requests of one UTC day.
    pub requests_per_day: Option<u64>,
    /// Tokens of one UTC day, input and answers together.
    pub tokens_per_day: Option<u64>,
    /// Requests of one job, such as one compaction.
    pub requests_per_job: Option<u64>,
    /// Tokens of one job.
    pub tokens_per_job: Option<u64>,
}

/// What was spent in some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Requests, failed ones included: some providers bill them.
    pub requests: u64,
    /// Tokens.
    pub tokens: u64,
}

const DAY_MS: i64 = 86_400_000;

/// The UTC day of a moment: days since 1970.
#[must_use]
pub fn day_of(now_ms: i64) -> i64 {
    now_ms.div_euclid(DAY_MS)
}

/// Whether a request of `input_tokens` (an estimate) may be sent after what was spent today and by
/// this job.
///
/// # Errors
/// [`FaultKind::BudgetSpent`], naming the bound; for a bound of the day with the time until the next.
pub fn check(
    budget: &Budget,
    (today, job): (Spent, Spent),
    input_tokens: u64,
    now_ms: i64,
) -> Result<(), Fault> {
    let over = |bound: Option<u64>, spent: u64, more: u64| {
        bound.filter(|bound| spent.saturating_add(more) > *bound)
    };
    let bounds = [
        ("requests_per_day", over(budget.requests_per_day, today.requests, 1), true),
        ("tokens_per_day", over(budget.tokens_per_day, today.tokens, input_tokens), true),
        ("requests_per_job", over(budget.requests_per_job, job.requests, 1), false),
        ("tokens_per_job", over(budget.tokens_per_job, job.tokens, input_tokens), false),
    ];
    for (name, crossed, daily) in bounds {
        let Some(bound) = crossed else { continue };
        let mut fault = Fault::new(
            FaultKind::BudgetSpent,
            &format!("budget.{name} = {bound} would be crossed"),
        );
        let until_tomorrow = DAY_MS - now_ms.rem_euclid(DAY_MS);
        fault.retry_after_ms = daily.then_some(until_tomorrow.unsigned_abs());
        return Err(fault);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bound_that_would_be_crossed_is_named() {
        let budget = Budget {
            requests_per_day: Some(2),
            tokens_per_day: Some(1_000),
            requests_per_job: Some(2),
            tokens_per_job: Some(500),
        };
        let spent = |requests, tokens| Spent { requests, tokens };
        let name = |today, job, tokens| {
            let fault = check(&budget, (today, job), tokens, 1_000).err();
            fault.map(|fault| (fault.detail, fault.retry_after_ms))
        };
        let none = Spent::default();
        assert_eq!(name(none, none, 500), None);
        let tomorrow = Some(86_399_000);
        let said = |text: &str, wait| Some((format!("budget.{text} would be crossed"), wait));
        assert_eq!(name(spent(2, 0), none, 1), said("requests_per_day = 2", tomorrow));
        assert_eq!(name(spent(1, 900), none, 101), said("tokens_per_day = 1000", tomorrow));
        assert_eq!(name(none, spent(2, 0), 1), said("requests_per_job = 2", None));
        assert_eq!(name(none, spent(0, 400), 101), said("tokens_per_job = 500", None));
        assert!(check(&Budget::default(), (spent(9, 9), none), u64::MAX, 0).is_ok());
        assert_eq!((day_of(-1), day_of(0), day_of(86_400_000)), (-1, 0, 1));
    }
}
