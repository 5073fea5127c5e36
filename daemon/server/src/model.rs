//! Asks language models: the only place that opens a network connection, and only if a provider is configured.
//!
//! # Theory of operation
//! *State*: the HTTP client, the providers by name, and the ledger of spending.
//!
//! *Steps of one request.* Look for a stored answer to the same request; check the budgets; write the request into the
//! ledger as if its whole input were billed; send it and read the answer as it streams; correct the ledger by the
//! provider's numbers; store the answer. A temporary failure is retried within the caller's deadline; each try is
//! checked and counted separately.
//!
//! *A crash* before the ledger's entry: nothing was sent. After it: the entry remains, at worst too high. After the
//! answer is stored: the next run gets it without paying.
//!
//! *Cancelling* is dropping the future: it closes the connection, so the provider stops generating. Keys are read when
//! they are needed, and are in no log, error or ledger.

mod command;
mod http;
mod ledger;
mod listening;
mod provider;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use longhaul_core::context::window;
use longhaul_core::digest::Digest128;
use longhaul_core::model::budget::{Budget, Spending};
use longhaul_core::model::{Answer, Ask, Fault, FaultKind, backoff};
use longhaul_core::tokens;
use longhaul_store::ModelTable;

use crate::clock::Clock;

pub use ledger::Purpose;
pub use listening::SilentProvider;
pub use provider::{IDLE_TIMEOUT, KeySource, Kind, Provider, Remote, RemoteSetting};

use ledger::Ledger;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelSettings {
    pub providers: BTreeMap<String, Provider>,
    /// The default model; `None`: no model is asked.
    pub default: Option<ModelChoice>,
    pub by_task: BTreeMap<Task, ModelChoice>,
}

/// The purpose of a question to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Task {
    Summary,
    /// The judgments of a policy.
    Judge,
    /// Learnings of a thread.
    Extract,
    /// Edits of the files of memory.
    Consolidate,
}

impl ModelSettings {
    pub fn of(&self, task: Task) -> Option<ModelChoice> {
        self.by_task.get(&task).or(self.default.as_ref()).cloned()
    }

    /// The models in use, for people.
    pub fn choice_words(&self) -> String {
        let Some(default) = &self.default else { return "none".to_owned() };
        let own = self.by_task.iter();
        let own = own.map(|(task, choice)| format!("; {} {}", task.into_str(), choice.words()));
        default.words() + &own.collect::<String>()
    }

    /// Whether this provider is a program on this machine.
    pub fn is_program(&self, provider: &str) -> bool {
        self.providers.get(provider).is_some_and(|known| matches!(known.kind, Kind::Command(_)))
    }

    /// The names of the providers, for people; other settings may be secret.
    pub fn provider_words(&self) -> String {
        let names: Vec<&str> = self.providers.keys().map(String::as_str).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// Name of the provider in the configuration.
    pub provider: String,
    /// Its name at the provider.
    pub model: String,
    pub context_window: u64,
    pub effort: Option<String>,
    /// Maximum tokens of an answer.
    pub max_output_tokens: u64,
}

impl ModelChoice {
    fn words(&self) -> String {
        let effort = self.effort.as_ref().map(|effort| format!(" effort {effort}"));
        format!("{}/{}{}", self.provider, self.model, effort.unwrap_or_default())
    }

    /// A model with defaults for everything else.
    pub fn plain(provider: &str, model: &str) -> Self {
        let context_window = window_of(model);
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            context_window,
            effort: None,
            max_output_tokens: output_of(context_window),
        }
    }

    /// Another model of the same provider; `context_window` is the caller's value, if any.
    #[must_use]
    pub fn renamed(self, name: &str, effort: Option<&str>, context_window: Option<u64>) -> Self {
        let known = match self.model == name {
            true => self.context_window,
            false => window::of_model(name).unwrap_or(self.context_window),
        };
        let context_window = context_window.filter(|tokens| *tokens > 0).unwrap_or(known);
        Self {
            model: name.to_owned(),
            context_window,
            effort: effort.map(str::to_owned).or(self.effort),
            max_output_tokens: self.max_output_tokens.min(context_window / 2),
            ..self
        }
    }
}

/// Default window of a model that is not in the table: small enough for every local server in use.
pub const WINDOW_DEFAULT: u64 = 32_000;

pub fn window_of(model: &str) -> u64 {
    window::of_model(model).unwrap_or(WINDOW_DEFAULT)
}

/// Default tokens of an answer; a summary is far shorter. A small window leaves it a quarter, so that the question fits.
pub fn output_of(context_window: u64) -> u64 {
    8_000.min(context_window / 4)
}

#[derive(Debug)]
pub struct Models {
    settings: RwLock<Arc<ModelSettings>>,
    client: OnceLock<reqwest::Client>,
    ledger: Ledger,
    clock: Clock,
}

/// One request, its purpose and its deadline.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub provider: &'a str,
    pub ask: Ask<'a>,
    pub purpose: Purpose,
    /// [`Models::erasures`] before the text was gathered.
    pub erasures: u64,
    /// Spent by the same job until now.
    pub job: Spending,
    /// Time for all tries together.
    pub deadline: Duration,
}

/// An answer, with the cost of all tries.
#[derive(Debug, Clone)]
pub struct PaidAnswer {
    pub answer: Answer,
    /// What was spent; nothing for a stored answer.
    pub spent: Spending,
    /// The key of the stored answer.
    pub digest: String,
}

/// A failed request, with the cost of all tries.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{fault}")]
pub struct FailedCall {
    pub fault: Fault,
    pub spent: Spending,
}

/// A call with the state shared by its tries.
#[derive(Clone, Copy)]
struct PreparedCall<'a> {
    provider: &'a Provider,
    call: &'a Call<'a>,
    body: &'a [u8],
    progress: &'a (dyn Fn(&str) + Sync),
}

impl Models {
    /// Asks by `settings` and keeps its ledger in this table.
    pub fn new(settings: ModelSettings, budget: Budget, ledger: ModelTable, clock: Clock) -> Self {
        let ledger = Ledger::new(ledger, clock.clone(), budget);
        Self { settings: RwLock::new(Arc::new(settings)), client: OnceLock::new(), ledger, clock }
    }

    pub fn settings(&self) -> Arc<ModelSettings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the configuration for later requests.
    pub fn configure(&self, settings: ModelSettings, budget: Budget) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        self.ledger.bound(budget);
    }

    pub fn budget(&self) -> Budget {
        self.ledger.budget()
    }

    /// What this process knows to be spent today, for all purposes.
    pub fn spent_today(&self) -> Spending {
        self.ledger.known_today()
    }

    /// The bound of the budget that last rejected a request today, in words.
    pub fn refused_today(&self) -> Option<String> {
        self.ledger.refused_today()
    }

    /// The providers in use that should be on this machine and are not.
    pub async fn silent_providers(&self) -> Vec<SilentProvider> {
        listening::silent(&self.settings()).await
    }

    /// Loads today's spending of earlier runs.
    pub async fn recall_spent(&self) -> Result<(), longhaul_store::StoreError> {
        self.ledger.today().await.map(drop)
    }

    /// The erasures so far; see [`Call::erasures`].
    pub fn erasures(&self) -> u64 {
        self.ledger.erasures()
    }

    /// Asks, and calls `progress` with the text of the answer as it arrives.
    ///
    /// # Errors
    /// [`FailedCall`] after the last try, with [`FaultKind::NotFound`] for a provider that is not configured.
    pub async fn ask(
        &self,
        call: Call<'_>,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<PaidAnswer, FailedCall> {
        let mut spent = Spending::default();
        let failed = |fault, spent| FailedCall { fault, spent };
        let settings = self.settings();
        let Some(provider) = settings.providers.get(call.provider) else {
            let fault = Fault::new(FaultKind::NotFound, "this provider is not configured");
            return Err(failed(fault, spent));
        };
        let body = provider.body(&call.ask);
        let request = PreparedCall { provider, call: &call, body: &body, progress };
        let digest = digest_of(call.provider, &body);
        if let Some(answer) = self.ledger.kept_answer(&digest).await {
            return Ok(PaidAnswer { answer, spent, digest });
        }
        let started = self.clock.elapsed();
        let (mut tries, mut before) = (0, None);
        loop {
            let elapsed = self.clock.elapsed().saturating_sub(started);
            let left = call.deadline.saturating_sub(elapsed);
            tries += 1;
            let result = self.attempt(request, left, call.job + spent).await;
            let (cost, result) = match result {
                Ok((answer, cost)) => (cost, Ok(answer)),
                Err((fault, cost)) => (cost, Err(fault)),
            };
            spent = spent + cost;
            let fault = match result {
                Ok(answer) => {
                    let answer = answer.redacted();
                    self.ledger.keep_answer((&digest, call.erasures), &answer).await;
                    return Ok(PaidAnswer { answer, spent, digest });
                }
                // The reason for the retry is more useful than its timeout.
                Err(fault) if fault.kind == FaultKind::Timeout => {
                    return Err(failed(before.unwrap_or(fault), spent));
                }
                Err(fault) => fault,
            };
            let elapsed = self.clock.elapsed().saturating_sub(started);
            let left = call.deadline.saturating_sub(elapsed);
            let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
            let wait_ms = backoff::wait_ms(&fault, tries, left_ms, self.clock.chance());
            let Some(wait_ms) = wait_ms else { return Err(failed(fault, spent)) };
            tracing::info!(provider = call.provider, %fault, wait_ms, "asking a model again");
            before = Some(fault);
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        }
    }

    /// Deletes a useless stored answer, so that the same request is sent again.
    pub async fn forget(&self, digest: &str) {
        self.ledger.forget_answer(digest).await;
    }

    /// One try, with its cost.
    async fn attempt(
        &self,
        request: PreparedCall<'_>,
        left: Duration,
        job: Spending,
    ) -> Result<(Answer, Spending), (Fault, Spending)> {
        let PreparedCall { provider, call, body, progress } = request;
        let input = tokens::of_bytes(body.len() as u64);
        let entry = self
            .ledger
            .open(call, job, input)
            .await
            .map_err(|fault| (fault, Spending::default()))?;
        let send = async {
            match &provider.kind {
                Kind::Http(wire) => {
                    let client = self.client()?;
                    let form = (*wire, call.ask.endpoint);
                    http::attempt(client, provider, form, body.to_vec(), progress).await
                }
                Kind::Command(argv) => command::attempt(argv, body).await,
            }
        };
        let late =
            || Fault::new(FaultKind::Timeout, "the answer was not complete before the deadline");
        let result = tokio::time::timeout(left, send).await.unwrap_or_else(|_| Err(late()));
        let cost = self.ledger.close(&entry, &result).await;
        match result {
            Ok(answer) => Ok((answer, cost)),
            Err(fault) => Err((fault, cost)),
        }
    }

    /// The HTTP client, created on first use: most users need none.
    fn client(&self) -> Result<&reqwest::Client, Fault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = http::client()?;
        Ok(self.client.get_or_init(|| client))
    }
}

fn digest_of(provider: &str, body: &[u8]) -> String {
    let mut all = Vec::with_capacity(provider.len() + 1 + body.len());
    all.extend_from_slice(provider.as_bytes());
    all.push(0);
    all.extend_from_slice(body);
    Digest128::of(&all).to_string()
}

#[cfg(test)]
mod tests;
