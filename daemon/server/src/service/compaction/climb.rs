//! Going down the ladder until a rung has made a replacement that holds.
//!
//! The checkpoint rung is last, asks nobody and needs no item of the history, so there is always an
//! end, and with no model configured nothing above it costs anything.

use std::collections::BTreeMap;
use std::time::Duration;

use longhaul_core::compaction::ladder::{self, Offer, Skip, Strategy};
use longhaul_core::compaction::worth;
use longhaul_core::compaction::{assemble, receipt::Fate};
use longhaul_core::model::budget::Spent;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::ask::{Asking, Left};
use super::gather::Gathered;
use super::{Request, Rung, checkpoint};
use crate::jobs::Owner;
use crate::model::{ModelChoice, Remote};
use crate::service::history::Opaque;
use crate::service::{ServiceError, Services};

/// What a rung made.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) strategy: Strategy,
    pub(super) history: Vec<Value>,
    pub(super) view: String,
    /// What became of the items of single lines that did not simply go.
    pub(super) fates: BTreeMap<u64, Fate>,
    pub(super) redacted: u64,
}

/// The way down.
pub(super) struct Climbed {
    pub(super) made: Made,
    pub(super) ladder: Vec<Rung>,
    pub(super) spent: Spent,
}

/// Who may stop a compaction, and who is told how far it is.
pub struct Watch<'a> {
    /// Stops asking a model; the checkpoint is made all the same.
    pub cancel: &'a CancellationToken,
    /// Told the rung and the tokens a model has written on it.
    pub progress: &'a (dyn Fn(Strategy, u64) + Sync),
    /// The job that makes it, where one does: what is made is stored only while it owns its claim.
    pub owner: Option<&'a Owner>,
}

impl Services {
    pub(super) async fn climb(
        &self,
        request: &Request,
        gathered: &Gathered,
        watch: &Watch<'_>,
    ) -> Result<Climbed, ServiceError> {
        let started = self.deps.clock.elapsed();
        let choice = self.choice(request);
        let remote = choice.as_ref().map_or(Remote::No, |choice| self.remote_of(choice));
        let offer = Offer { model: choice.is_some(), remote: remote != Remote::No };
        let rungs = ladder::rungs(request.strategy, offer);
        let deadline_ms = request.deadline_ms.unwrap_or(ladder::DEADLINE_MS);
        let elapsed_ms = || self.ms_since(started);
        let (mut out, mut spent) = (Vec::new(), Spent::default());
        for (index, (strategy, skip)) in rungs.iter().copied().enumerate() {
            let begun_ms = elapsed_ms();
            let below = rungs[index + 1..].iter().filter(|rung| rung.0.asks() && rung.1.is_none());
            let left_ms = deadline_ms.saturating_sub(begun_ms);
            let time = ladder::rung_ms(left_ms, below.count() as u64).map(Duration::from_millis);
            let skip = skip.or((strategy.asks() && time.is_none()).then_some(Skip::NoTime));
            if let Some(skip) = skip {
                out.push(Rung::skipped(strategy, skip.name()));
                continue;
            }
            let (Some(choice), Some(time), true) = (&choice, time, strategy.asks()) else { break };
            // Only its own provider can read what a provider has compacted.
            let opaque = if strategy == Strategy::Remote { Opaque::AsIs } else { Opaque::StandIn };
            let Some((seqs, items)) = self.original_items(gathered, opaque).await? else {
                out.push(Rung::skipped(strategy, "history_too_large"));
                continue;
            };
            (watch.progress)(strategy, 0);
            let progress = |tokens| (watch.progress)(strategy, tokens);
            let mut asking = Asking {
                models: &self.models,
                choice,
                request,
                gathered,
                seqs,
                items,
                cancel: watch.cancel,
                progress: &progress,
                spent,
            };
            let made = match strategy {
                Strategy::Remote => asking.remote(remote, time).await,
                _ => asking.summary(strategy, time).await,
            };
            spent = asking.spent;
            let took_ms = elapsed_ms().saturating_sub(begun_ms);
            match made.and_then(|made| holds(made, gathered)) {
                Ok(made) => {
                    out.push(Rung::used(strategy, took_ms));
                    return Ok(Climbed { made, ladder: out, spent });
                }
                Err(Left(reason)) => out.push(Rung::failed(strategy, reason, took_ms)),
            }
        }
        let begun_ms = elapsed_ms();
        let made = checkpoint(request, gathered);
        out.push(Rung::used(Strategy::Checkpoint, elapsed_ms().saturating_sub(begun_ms)));
        Ok(Climbed { made, ladder: out, spent })
    }

    pub(super) fn ms_since(&self, started: Duration) -> u64 {
        let since = self.deps.clock.elapsed().saturating_sub(started);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// The model to ask: the configured one, or the caller's of a configured provider.
    fn choice(&self, request: &Request) -> Option<ModelChoice> {
        let settings = self.models.settings();
        let default = settings.default.clone();
        let Some(wanted) = &request.model else { return default };
        let known = settings.providers.contains_key(&wanted.provider);
        let base = default.filter(|default| default.provider == wanted.provider);
        match (known, base) {
            (true, Some(base)) => Some(ModelChoice { model: wanted.name.clone(), ..base }),
            (true, None) => Some(ModelChoice::plain(&wanted.provider, &wanted.name)),
            (false, _) => settings.default.clone(),
        }
    }

    fn remote_of(&self, choice: &ModelChoice) -> Remote {
        let settings = self.models.settings();
        settings.providers.get(&choice.provider).map_or(Remote::No, |provider| provider.remote)
    }
}

/// A model's replacement is held against the history like any other; one that does not hold is a
/// reason to go on.
fn holds(made: Made, gathered: &Gathered) -> Result<Made, Left> {
    let before = gathered.fold.visible().tokens();
    let after = assemble::estimate(&made.history);
    let request = gathered.kept.as_ref().map(|kept| &kept.item);
    match worth::check(&made.history, request, (before, after)) {
        Ok(()) => Ok(made),
        Err(flaw) => Err(Left(flaw.name().to_owned())),
    }
}
