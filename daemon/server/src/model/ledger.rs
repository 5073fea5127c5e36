//! The ledger of spending: checked and written before a request is sent, corrected after.

use std::sync::{Mutex, PoisonError};

use longhaul_core::model::budget::{self, Budget, Spending};
use longhaul_core::model::{Answer, Fault, FaultKind, Usage};
use longhaul_core::tokens;
use longhaul_store::{ModelTable, StoreError, UsageRow};
use serde::{Deserialize, Serialize};

use super::Call;
use crate::clock::Clock;

/// The purpose of a request, by which the ledger accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Purpose {
    /// A summary, or a provider's own compaction.
    Compaction,
    /// The memory of one thread.
    Extraction,
    Consolidation,
    /// A judgment of the policy.
    Judgment,
    /// Signs in an agent's words.
    Signs,
}

#[derive(Debug)]
pub(super) struct Ledger {
    models: ModelTable,
    clock: Clock,
    budget: Mutex<Budget>,
    /// Serializes checking and writing, or two requests could use the same rest of a budget.
    opening: tokio::sync::Mutex<()>,
    /// The last day read from the store and its spending, for callers that cannot wait for the store.
    known: Mutex<(i64, Spending)>,
    /// The last request rejected by a bound: when, and the bound in words.
    refused: Mutex<Option<(i64, String)>>,
}

/// The entry of an unfinished request.
#[derive(Debug)]
pub(super) struct OpenRequest {
    row: UsageRow,
    input: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredAnswer {
    text: String,
    items: Vec<Box<serde_json::value::RawValue>>,
}

impl Ledger {
    pub(super) fn new(models: ModelTable, clock: Clock, budget: Budget) -> Self {
        let (known, refused) = (Mutex::default(), Mutex::default());
        let budget = Mutex::new(budget);
        Self { models, clock, budget, opening: tokio::sync::Mutex::default(), known, refused }
    }

    pub(super) fn bound(&self, budget: Budget) {
        *self.budget.lock().unwrap_or_else(PoisonError::into_inner) = budget;
        self.note_refused(None);
    }

    pub(super) fn budget(&self) -> Budget {
        *self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Today's spending, as last read.
    pub(super) fn known_today(&self) -> Spending {
        let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_today = known.0 == budget::day_of(self.clock.now_ms());
        if is_today { known.1 } else { Spending::default() }
    }

    /// The bound that last rejected a request today, in words; a new budget resets it.
    pub(super) fn refused_today(&self) -> Option<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let today = budget::day_of(self.clock.now_ms());
        refused.filter(|(at_ms, _)| budget::day_of(*at_ms) == today).map(|(_, bound)| bound)
    }

    fn note_refused(&self, refused: Option<(i64, String)>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    /// Today's spending from the store.
    pub(super) async fn today(&self) -> Result<Spending, StoreError> {
        let day = budget::day_of(self.clock.now_ms());
        let rows = self.models.usage_since(day).await?;
        let spent = rows.iter().fold(Spending::default(), |sum, row| Spending {
            requests: sum.requests.saturating_add_signed(row.requests),
            tokens: sum.tokens.saturating_add_signed(row.input.saturating_add(row.output)),
            output_tokens: sum.output_tokens.saturating_add_signed(row.output),
        });
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = (day, spent);
        Ok(spent)
    }

    /// Checks the budgets and writes an entry with the whole input as spent. If the ledger cannot be read or written,
    /// nothing is sent: there is no cost without a record.
    pub(super) async fn open(
        &self,
        call: &Call<'_>,
        job: Spending,
        input: u64,
    ) -> Result<OpenRequest, Fault> {
        let unwritable = |error: StoreError| {
            Fault::new(
                FaultKind::BudgetSpent,
                &format!("the ledger of spending cannot be written: {error}"),
            )
        };
        let _one_at_a_time = self.opening.lock().await;
        let now_ms = self.clock.now_ms();
        let today = self.today().await.map_err(unwritable)?;
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
        self.models.usage_add(&row).await.map_err(unwritable)?;
        Ok(OpenRequest { row, input })
    }

    /// Corrects an entry by the outcome of the request, and returns the cost. Without numbers from the provider the
    /// estimate stays, unless the provider certainly did not read the input. A request that reached nobody does not count
    /// for the day; it does for its job, which must end.
    pub(super) async fn close(
        &self,
        entry: &OpenRequest,
        result: &Result<Answer, Fault>,
    ) -> Spending {
        let (input, cached_input, output) = match result {
            Ok(answer) => {
                let Usage { input, cached_input, output } = answer.usage;
                let reported = |count: u64, estimate: u64| if count > 0 { count } else { estimate };
                (
                    reported(input, entry.input),
                    cached_input,
                    reported(output, tokens::of_text(&answer.text)),
                )
            }
            Err(fault) => (if fault.kind.is_billed() { entry.input } else { 0 }, 0, 0),
        };
        let was_sent = !matches!(result, Err(fault) if fault.kind == FaultKind::Unreachable);
        let correction = UsageRow {
            requests: if was_sent { 0 } else { -1 },
            failures: i64::from(result.is_err()),
            input: input.cast_signed() - entry.input.cast_signed(),
            cached_input: cached_input.cast_signed(),
            output: output.cast_signed(),
            ..entry.row.clone()
        };
        if let Err(error) = self.models.usage_add(&correction).await {
            tracing::warn!(%error, "cannot record the cost of a request");
        }
        // Refreshes the cached spending; a store that cannot be read was already reported.
        drop(self.today().await);
        Spending { requests: 1, tokens: input.saturating_add(output), output_tokens: output }
    }

    /// The stored answer of an earlier run; an unreadable one counts as none.
    pub(super) async fn kept_answer(&self, digest: &str) -> Option<Answer> {
        let body = self.models.answer_get(digest).await.ok()??;
        let kept: StoredAnswer = serde_json::from_slice(&body).ok()?;
        Some(Answer { text: kept.text, items: kept.items, usage: Usage::default() })
    }

    /// Deletes a stored answer; if that fails, the next run gets it again.
    pub(super) async fn forget_answer(&self, digest: &str) {
        if let Err(error) = self.models.answer_delete(digest).await {
            tracing::warn!(%error, "cannot delete a stored answer");
        }
    }

    /// The erasures so far.
    pub(super) fn erasures(&self) -> u64 {
        self.models.erasures()
    }

    /// Stores an answer to a request with this digest, whose text was gathered after this many erasures. If that fails, only
    /// the next run pays again.
    pub(super) async fn keep_answer(&self, digest: (&str, u64), answer: &Answer) {
        let kept = StoredAnswer { text: answer.text.clone(), items: answer.items.clone() };
        let Ok(body) = serde_json::to_vec(&kept) else { return };
        let now_ms = self.clock.now_ms();
        if let Err(error) = self.models.answer_put(digest, now_ms, &body).await {
            tracing::warn!(%error, "cannot store an answer");
        }
    }
}
