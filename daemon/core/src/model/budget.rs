//! Checks requests against budgets.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use super::{Fault, FaultKind};
use crate::limits::DAY_MS;

/// Spending limits; `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Budget {
    pub requests_per_day: Option<u64>,
    /// Tokens per UTC day, input and output together.
    pub tokens_per_day: Option<u64>,
    /// Requests per job, such as one compaction.
    pub requests_per_job: Option<u64>,
    pub tokens_per_job: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spending {
    /// Requests, including failed ones: some providers bill them.
    pub requests: u64,
    pub tokens: u64,
    /// The part of `tokens` in answers.
    #[serde(default)]
    pub output_tokens: u64,
}

impl Add for Spending {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(more.requests),
            tokens: self.tokens.saturating_add(more.tokens),
            output_tokens: self.output_tokens.saturating_add(more.output_tokens),
        }
    }
}

/// UTC day as days since 1970.
pub fn day_of(now_ms: i64) -> i64 {
    now_ms.div_euclid(DAY_MS)
}

/// Checks whether a request of `input_tokens` (an estimate) fits the budgets, given the spending of today
/// and of this job.
///
/// # Errors
/// [`FaultKind::BudgetSpent`] naming the limit; for a daily limit, with the time until the next day.
pub fn check(
    budget: &Budget,
    (today, job): (Spending, Spending),
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
    for (name, exceeded, daily) in bounds {
        let Some(bound) = exceeded else { continue };
        let mut fault = Fault::new(
            FaultKind::BudgetSpent,
            &format!("budget.{name} = {bound} would be exceeded"),
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
    fn the_first_exceeded_limit_is_named() {
        let budget = Budget {
            requests_per_day: Some(2),
            tokens_per_day: Some(1_000),
            requests_per_job: Some(2),
            tokens_per_job: Some(500),
        };
        let spent = |requests, tokens| Spending { requests, tokens, output_tokens: 0 };
        let name = |today, job, tokens| {
            let fault = check(&budget, (today, job), tokens, 1_000).err();
            fault.map(|fault| (fault.detail, fault.retry_after_ms))
        };
        let none = Spending::default();
        assert_eq!(name(none, none, 500), None);
        let tomorrow = Some(86_399_000);
        let exceeded = |text: &str, wait| Some((format!("budget.{text} would be exceeded"), wait));
        assert_eq!(name(spent(2, 0), none, 1), exceeded("requests_per_day = 2", tomorrow));
        assert_eq!(name(spent(1, 900), none, 101), exceeded("tokens_per_day = 1000", tomorrow));
        assert_eq!(name(none, spent(2, 0), 1), exceeded("requests_per_job = 2", None));
        assert_eq!(name(none, spent(0, 400), 101), exceeded("tokens_per_job = 500", None));
        assert!(check(&Budget::default(), (spent(9, 9), none), u64::MAX, 0).is_ok());
        assert_eq!((day_of(-1), day_of(0), day_of(86_400_000)), (-1, 0, 1));
    }
}
