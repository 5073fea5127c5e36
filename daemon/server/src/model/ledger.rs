//! What was spent: checked before a request is sent, written before, corrected after.

use std::sync::{Mutex, PoisonError};

use longhaul_core::model::budget::{self, Budget, Spending};
use longhaul_core::model::{Answer, Fault, FaultKind, Usage};
use longhaul_core::tokens;
use longhaul_store::{Store, StoreError, UsageRow};
use serde::{Deserialize, Serialize};

use super::Call;
use crate::clock::Clock;

/// What a request is for; the ledger keeps them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Purpose {
    /// A summary, or a provider's own compaction.
    Compaction,
    /// Memory out of one thread.
    Extraction,
    Consolidation,
    /// A judgment of the policy.
    Judgment,
    /// Signs in an agent's words.
    Signs,
}

#[derive(Debug)]
pub(super) struct Ledger {
    store: Store,
    clock: Clock,
    budget: Mutex<Budget>,
    /// One request at a time is checked and written, or two could take the same last place.
    opening: tokio::sync::Mutex<()>,
    /// The last day that was looked at and what it had, for those who may not wait for the store.
    known: Mutex<(i64, Spending)>,
    /// The last request that was not sent because of a bound: when, and which bound in words.
    refused: Mutex<Option<(i64, String)>>,
}

/// A request that is under way.
#[derive(Debug)]
pub(super) struct OpenRequest {
    row: UsageRow,
    input: u64,
}

/// An answer as it is kept.
#[derive(Serialize, Deserialize)]
struct StoredAnswer {
    text: String,
    items: Vec<Box<serde_json::value::RawValue>>,
}

impl Ledger {
    pub(super) fn new(store: Store, clock: Clock, budget: Budget) -> Self {
        let (known, refused) = (Mutex::default(), Mutex::default());
        let budget = Mutex::new(budget);
        Self { store, clock, budget, opening: tokio::sync::Mutex::default(), known, refused }
    }

    /// Replaces what may be spent.
    pub(super) fn bound(&self, budget: Budget) {
        *self.budget.lock().unwrap_or_else(PoisonError::into_inner) = budget;
        self.note_refused(None);
    }

    /// What may be spent.
    pub(super) fn budget(&self) -> Budget {
        *self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was spent today, as last seen.
    pub(super) fn known_today(&self) -> Spending {
        let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_today = known.0 == budget::day_of(self.clock.now_ms());
        if is_today { known.1 } else { Spending::default() }
    }

    /// The bound that last kept a request of today from being sent, in words; another budget forgets it.
    pub(super) fn refused_today(&self) -> Option<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let today = budget::day_of(self.clock.now_ms());
        refused.filter(|(at_ms, _)| budget::day_of(*at_ms) == today).map(|(_, bound)| bound)
    }

    fn note_refused(&self, refused: Option<(i64, String)>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    /// What was spent today, out of the store.
    pub(super) async fn today(&self) -> Result<Spending, StoreError> {
        let day = budget::day_of(self.clock.now_ms());
        let rows = self.store.usage_since(day).await?;
        let spent = rows.iter().fold(Spending::default(), |sum, row| Spending {
            requests: sum.requests.saturating_add_signed(row.requests),
            tokens: sum.tokens.saturating_add_signed(row.input.saturating_add(row.output)),
            output_tokens: sum.output_tokens.saturating_add_signed(row.output),
        });
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = (day, spent);
        Ok(spent)
    }

    /// Checks the budgets and writes the request down, its whole input as spent. When the accounts
    /// cannot be read or written nothing is sent: no bill without a record.
    pub(super) async fn open(
        &self,
        call: &Call<'_>,
        job: Spending,
        input: u64,
    ) -> Result<OpenRequest, Fault> {
        let unkept = |error: StoreError| {
            Fault::new(FaultKind::BudgetSpent, &format!("the accounts cannot be kept: {error}"))
        };
        let _one_at_a_time = self.opening.lock().await;
        let now_ms = self.clock.now_ms();
        let today = self.today().await.map_err(unkept)?;
        let budget = *self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(fault) = budget::check(&budget, (today, job), input, now_ms) {
            self.note_refused(Some((now_ms, fault.detail.clone())));
            return Err(fault);
        }
        let row = UsageRow {
            day: budget::day_of(now_ms),
            provider: call.provider.to_owned(),
            model: call.ask.model.to_owned(),
            purpose: call.purpose.into_str().to_owned(),
            requests: 1,
            input: input.cast_signed(),
            ..UsageRow::default()
        };
        self.store.usage_add(&row).await.map_err(unkept)?;
        Ok(OpenRequest { row, input })
    }

    /// Corrects an entry by what came of the request, and returns what it cost. Where the provider says
    /// nothing the estimate stays, unless it has surely not read the input.
    pub(super) async fn close(
        &self,
        entry: &OpenRequest,
        result: &Result<Answer, Fault>,
    ) -> Spending {
        let (input, cached_input, output) = match result {
            Ok(answer) => {
                let Usage { input, cached_input, output } = answer.usage;
                let said = |count: u64, estimate: u64| if count > 0 { count } else { estimate };
                (
                    said(input, entry.input),
                    cached_input,
                    said(output, tokens::of_text(&answer.text)),
                )
            }
            Err(fault) => (if fault.kind.is_billed() { entry.input } else { 0 }, 0, 0),
        };
        let correction = UsageRow {
            requests: 0,
            failures: i64::from(result.is_err()),
            input: input.cast_signed() - entry.input.cast_signed(),
            cached_input: cached_input.cast_signed(),
            output: output.cast_signed(),
            ..entry.row.clone()
        };
        if let Err(error) = self.store.usage_add(&correction).await {
            tracing::warn!(%error, "what a request cost could not be noted");
        }
        // For whoever asks next; a store that cannot be read has complained already.
        drop(self.today().await);
        Spending { requests: 1, tokens: input.saturating_add(output), output_tokens: output }
    }

    /// The answer an earlier run was given. One that cannot be read is none.
    pub(super) async fn kept_answer(&self, digest: &str) -> Option<Answer> {
        let body = self.store.answer_get(digest).await.ok()??;
        let kept: StoredAnswer = serde_json::from_slice(&body).ok()?;
        Some(Answer { text: kept.text, items: kept.items, usage: Usage::default() })
    }

    /// Forgets an answer; where it cannot, the next run is given it again.
    pub(super) async fn forget_answer(&self, digest: &str) {
        if let Err(error) = self.store.answer_delete(digest).await {
            tracing::warn!(%error, "an answer could not be forgotten");
        }
    }

    /// Keeps an answer; without it the next run pays again, which is no failure of this one.
    pub(super) async fn keep_answer(&self, digest: &str, answer: &Answer) {
        let kept = StoredAnswer { text: answer.text.clone(), items: answer.items.clone() };
        let Ok(body) = serde_json::to_vec(&kept) else { return };
        let now_ms = self.clock.now_ms();
        if let Err(error) = self.store.answer_put(digest, now_ms, &body).await {
            tracing::warn!(%error, "an answer could not be kept");
        }
    }
}
