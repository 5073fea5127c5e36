//! Going down the ladder until a rung has made a replacement that holds.
//!
//! The checkpoint rung is last, asks nobody and needs no item of the history, so there is always an
//! end, and with no model configured nothing above it costs anything.

use std::collections::BTreeMap;
use std::time::Duration;

use longhaul_core::compaction::ladder::{self, Offer, Skip, Strategy};
use longhaul_core::compaction::receipt::Fate;
use longhaul_core::compaction::worth;
use longhaul_core::model::FaultKind;
use longhaul_core::model::budget::Spending;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::ask::{Asking, Left};
use super::gather::Gathered;
use super::wording::{TextUsed, Wording};
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
    /// The texts it was made with.
    pub(super) texts: Vec<TextUsed>,
}

/// The way down.
pub(super) struct Climbed {
    pub(super) made: Made,
    pub(super) ladder: Vec<Rung>,
    pub(super) spent: Spending,
}

/// A rung that asks a model, and all it is tried with.
#[derive(Clone, Copy)]
struct RungUp<'a> {
    strategy: Strategy,
    choice: &'a ModelChoice,
    remote: Remote,
    request: &'a Request,
    gathered: &'a Gathered,
    wording: &'a Wording,
    left: &'a (dyn Fn() -> Duration + Sync),
}

/// The history is more than any model reads.
const HISTORY_TOO_LARGE: &str = "history_too_large";

/// Who may stop a compaction, and who is told how far it is.
pub struct Watch<'a> {
    /// Stops asking a model; the checkpoint is made all the same.
    pub cancel: &'a CancellationToken,
    /// Told how far it is.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// The job that makes it, where one does: what is made is stored only while it owns its claim.
    pub owner: Option<&'a Owner>,
}

/// How far a rung is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The rung.
    pub strategy: Strategy,
    /// What is done on it.
    pub stage: Stage,
    /// Tokens a model has written.
    pub tokens: u64,
    /// The same in parts of a hundred of what there is room for, below 100 until it is done.
    pub percent: u64,
}

/// What is done on a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The history is read for a model.
    Reading,
    /// A model was asked and has not begun to answer.
    Asking,
    /// A model writes.
    Writing,
    /// What it wrote is held against the history.
    Checking,
}

impl Stage {
    /// Stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Asking => "asking",
            Self::Writing => "writing",
            Self::Checking => "checking",
        }
    }
}

impl Progress {
    fn new(strategy: Strategy, stage: Stage, tokens: u64, room: u64) -> Self {
        let percent = match stage {
            Stage::Reading | Stage::Asking => 0,
            Stage::Writing => (tokens * 100 / room.max(1)).min(98),
            Stage::Checking => 99,
        };
        Self { strategy, stage, tokens, percent }
    }
}

impl Services {
    pub(super) async fn climb(
        &self,
        request: &Request,
        gathered: &Gathered,
        wording: &Wording,
        watch: &Watch<'_>,
    ) -> Result<Climbed, ServiceError> {
        let started = self.deps.clock.elapsed();
        let choice = self.choice(request);
        let remote = choice.as_ref().map_or(Remote::No, |choice| self.remote_of(choice));
        let offer = Offer { model: choice.is_some(), remote: remote != Remote::No };
        let rungs = ladder::rungs(request.strategy, offer);
        let deadline_ms = request.deadline_ms.unwrap_or(ladder::DEADLINE_MS);
        let (mut out, mut spent) = (Vec::new(), Spending::default());
        for (index, (strategy, skip)) in rungs.iter().copied().enumerate() {
            let begun_ms = self.ms_since(started);
            let below = rungs[index + 1..].iter().filter(|rung| rung.0.asks() && rung.1.is_none());
            let left_ms = deadline_ms.saturating_sub(begun_ms);
            let time = ladder::rung_ms(left_ms, below.count() as u64);
            let skip = skip.or((strategy.asks() && time.is_none()).then_some(Skip::NoTime));
            if let Some(skip) = skip {
                out.push(Rung::skipped(strategy, skip.name()));
                continue;
            }
            let (Some(choice), Some(time_ms), true) = (&choice, time, strategy.asks()) else {
                break;
            };
            let until_ms = begun_ms + time_ms;
            let left = || Duration::from_millis(until_ms.saturating_sub(self.ms_since(started)));
            let rung = RungUp { strategy, choice, remote, request, gathered, wording, left: &left };
            let (made, cost) = self.try_rung(rung, spent, watch).await?;
            spent = cost;
            let took_ms = self.ms_since(started).saturating_sub(begun_ms);
            match made {
                Ok(made) => {
                    out.push(Rung::used(strategy, took_ms));
                    return Ok(Climbed { made, ladder: out, spent });
                }
                Err(Left(reason)) if reason == HISTORY_TOO_LARGE => {
                    out.push(Rung::skipped(strategy, HISTORY_TOO_LARGE));
                }
                Err(Left(reason)) => out.push(Rung::failed(strategy, reason, took_ms)),
            }
        }
        let begun_ms = self.ms_since(started);
        let made = checkpoint(request, gathered, wording);
        let took_ms = self.ms_since(started).saturating_sub(begun_ms);
        out.push(Rung::used(Strategy::Checkpoint, took_ms));
        Ok(Climbed { made, ladder: out, spent })
    }

    /// Tries one rung that asks a model; returns what it made or why it is left, and what was spent by
    /// then.
    async fn try_rung(
        &self,
        rung: RungUp<'_>,
        spent: Spending,
        watch: &Watch<'_>,
    ) -> Result<(Result<Made, Left>, Spending), ServiceError> {
        let RungUp { strategy, choice, remote, request, gathered, wording, left } = rung;
        let room = gathered.view_tokens(request);
        let progress =
            |stage, tokens| (watch.progress)(Progress::new(strategy, stage, tokens, room));
        progress(Stage::Reading, 0);
        // Only its own provider can read what a provider has compacted.
        let opaque = if strategy == Strategy::Remote { Opaque::AsIs } else { Opaque::StandIn };
        let read = tokio::time::timeout(left(), self.original_items(gathered, opaque)).await;
        let (seqs, items) = match read {
            Ok(items) => match items? {
                Some(items) => items,
                None => return Ok((Err(Left::named(HISTORY_TOO_LARGE)), spent)),
            },
            Err(_) => return Ok((Err(Left::named(FaultKind::Timeout.name())), spent)),
        };
        let mut asking = Asking {
            models: &self.models,
            choice,
            request,
            gathered,
            wording,
            seqs,
            items,
            cancel: watch.cancel,
            progress: &progress,
            left,
            spent,
            asked: String::new(),
        };
        let made = match strategy {
            Strategy::Remote => asking.remote(remote).await,
            _ => asking.summary(strategy).await,
        };
        let spent = asking.spent;
        progress(Stage::Checking, 0);
        Ok((made.and_then(|made| holds(made, gathered)), spent))
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
            (true, Some(base)) => {
                let effort = wanted.effort.clone().or_else(|| base.effort.clone());
                Some(ModelChoice { model: wanted.name.clone(), effort, ..base })
            }
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
    let request = gathered.kept.as_ref().map(|kept| &kept.item);
    match worth::check(&made.history, request, gathered.sizes(&made.history)) {
        Ok(()) => Ok(made),
        Err(flaw) => Err(Left::named(flaw.name())),
    }
}
