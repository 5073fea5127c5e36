//! How full a context window is: of a thread, of given items, or of a thread with items about to come.

pub mod bill;
pub mod resume;
pub(super) mod window_facts;

use std::path::Path;
use std::sync::Arc;

use longhaul_core::context::estimate;
use longhaul_core::context::usage::{self, Remark, Sizes};
use longhaul_core::context::window::{self, Window, WindowSources};
use longhaul_core::fold::{Fold, Gauge, Source};
use longhaul_core::item::breakdown::{Breakdown, ContextKind};
use longhaul_protocol::thread::ResumePrice;
use serde_json::Value;

use crate::agent_settings::AgentSettings;
use crate::clock::Clock;
use crate::config::Config;

use self::resume::ResumePrices;
use self::window_facts::WindowFacts;
use super::error::ServiceError;
use super::snapshot::Snapshots;

/// The window to measure, with values the caller knows better.
#[derive(Debug, Default)]
pub struct UsageQuery {
    pub thread_id: Option<String>,
    /// The thread as it was after this line.
    pub as_of: Option<u64>,
    /// Items about to be added to the thread, or a separate history.
    pub items: Option<Vec<Value>>,
    pub model: Option<String>,
    /// Tokens in the whole window.
    pub context_window: Option<u64>,
    /// Tokens at which to compact; 0 for never.
    pub auto_compact_limit: Option<u64>,
    pub resume: bool,
}

/// How full a window is, in tokens.
#[derive(Debug)]
pub struct Usage {
    pub thread_id: Option<String>,
    pub fold: Option<Arc<Fold>>,
    pub model: Option<String>,
    pub used: u64,
    pub used_origin: FillOrigin,
    /// The items by size.
    pub breakdown: Breakdown,
    /// Tokens of the items about to be added.
    pub incoming: Option<u64>,
    pub window: Window,
    /// What the next request costs, if asked for and known.
    pub resume: Option<ResumePrice>,
    pub remarks: Vec<Remark>,
}

/// Who counted the tokens that a window holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum FillOrigin {
    /// The provider, in the transcript; anything after its count is estimated.
    Provider,
    /// The running agent; anything after its count is estimated.
    RunningAgent,
    Estimate,
}

#[derive(Debug, Default)]
struct ItemWeights {
    breakdown: Breakdown,
    largest: u64,
}

pub struct Contexts {
    pub(super) windows: WindowFacts,
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) prices: ResumePrices,
    pub(super) clock: Clock,
}

impl Contexts {
    pub async fn usage(&self, query: UsageQuery) -> Result<Usage, ServiceError> {
        let given = match query.items {
            Some(items) => Some(tokio::task::spawn_blocking(move || weigh(&items)).await?),
            None => None,
        };
        let snapshot = match &query.thread_id {
            Some(thread_id) => Some(self.snapshots.of(thread_id, query.as_of).await?),
            None => None,
        };
        let fold = snapshot.as_ref().map(|snapshot| Arc::clone(&snapshot.fold));
        let model = query.model.or_else(|| fold.as_ref()?.head().model.clone());
        let known = self.windows.of(query.thread_id.as_deref(), fold.as_deref()).await?;
        let window = window::decide(&WindowSources {
            asked: query.context_window,
            limit_asked: query.auto_compact_limit,
            ..known.sources(fold.as_deref(), model.as_deref())
        });
        let given = given.unwrap_or_default();
        let (used, used_origin) = match &fold {
            Some(fold) => fill(fold, known.gauge.as_ref()),
            None => (given.breakdown.total(), FillOrigin::Estimate),
        };
        let (breakdown, largest, incoming) = match &fold {
            Some(fold) => {
                let visible = fold.visible();
                let largest = visible.largest().map_or(0, |(_, tokens)| tokens).max(given.largest);
                let incoming = given.breakdown.total();
                (*visible.breakdown(), largest, (incoming > 0).then_some(incoming))
            }
            None => (given.breakdown, given.largest, None),
        };
        let sizes = Sizes {
            used,
            incoming: incoming.unwrap_or(0),
            largest,
            fixed: breakdown.get(ContextKind::InitialContext)
                + fold.as_ref().map_or(0, |fold| fold.meter().overhead()),
        };
        let source = fold.as_ref().map(|fold| fold.head().source);
        let remarks = usage::remarks(&sizes, &window, source);
        let priced = snapshot.as_ref().filter(|_| query.resume && query.as_of.is_none());
        let resume = priced.and_then(|snapshot| self.prices.of(snapshot));
        Ok(Usage {
            thread_id: query.thread_id,
            fold,
            model,
            used,
            used_origin,
            breakdown,
            incoming,
            window,
            resume,
            remarks,
        })
    }

    /// Stores what a running agent reports about a thread's window: its size, and the tokens in it.
    pub async fn report(
        &self,
        thread_id: &str,
        reported: (Option<u64>, Option<u64>),
    ) -> Result<(), ServiceError> {
        let Some(fold) = self.snapshots.fold(thread_id).await? else { return Ok(()) };
        let now_ms = self.clock.now_ms();
        let Some(gauge) = Gauge::of(&fold, reported, now_ms) else { return Ok(()) };
        let body = serde_json::to_string(&gauge).map_err(ServiceError::undecodable("gauge"))?;
        Ok(self.windows.gauges.set(thread_id, now_ms, &body).await?)
    }
}

/// Tokens in a thread's window, and who counted them. The agent's number is that of its last request, without
/// the answer, so a higher one from the provider counts instead.
fn fill(fold: &Fold, gauge: Option<&Gauge>) -> (u64, FillOrigin) {
    let counted = match fold.meter().report() {
        Some(_) => FillOrigin::Provider,
        None => FillOrigin::Estimate,
    };
    match gauge.and_then(|gauge| gauge.fill_now(fold)) {
        Some(fill) if counted == FillOrigin::Estimate || fill > fold.used() => {
            (fill, FillOrigin::RunningAgent)
        }
        _ => (fold.used(), counted),
    }
}

fn weigh(items: &[Value]) -> ItemWeights {
    let mut given = ItemWeights::default();
    for text in items.iter().map(Value::to_string) {
        let breakdown = estimate::of_items([text.as_str()]);
        given.largest = given.largest.max(breakdown.total());
        given.breakdown.add(&breakdown);
    }
    given
}

/// The window settings of the agent of `source`.
pub(super) async fn agent_settings(
    config: &Config,
    source: Source,
) -> Result<AgentSettings, ServiceError> {
    let read: fn(&Path) -> AgentSettings = match source {
        Source::Codex => AgentSettings::of_codex,
        Source::Claude => AgentSettings::of_claude,
        _ => return Ok(AgentSettings::default()),
    };
    let home = config.home(source).to_owned();
    Ok(tokio::task::spawn_blocking(move || read(&home)).await?)
}

#[cfg(test)]
mod tests;
