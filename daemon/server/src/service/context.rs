//! How full a context window is: of a thread, of given items, or of a thread with items about to come.

pub mod bill;
pub mod resume;

use std::path::Path;
use std::sync::{Arc, Mutex};

use longhaul_core::context::estimate;
use longhaul_core::context::usage::{self, Remark, Sizes};
use longhaul_core::context::window::{self, Window, WindowSources};
use longhaul_core::fold::{Fold, Source};
use longhaul_core::item::breakdown::{Breakdown, ContextKind};
use longhaul_store::Store;
use serde_json::Value;

use crate::agent_settings::AgentSettings;
use crate::clock::Clock;
use crate::config::{Config, Live, Origin};

use super::error::ServiceError;
use super::snapshot::Snapshots;

/// Whose window, and what the asker knows about it better than we do.
#[derive(Debug, Default)]
pub struct UsageQuery {
    pub thread_id: Option<String>,
    /// The thread as it was after this line.
    pub as_of: Option<u64>,
    /// Items: about to be added to the thread, or a history of their own.
    pub items: Option<Vec<Value>>,
    pub model: Option<String>,
    /// Tokens of its whole window.
    pub context_window: Option<u64>,
    /// Tokens at which to compact, 0 for never.
    pub auto_compact_limit: Option<u64>,
}

/// How full a window is; sizes in tokens.
#[derive(Debug)]
pub struct Usage {
    pub thread_id: Option<String>,
    /// What is known of it.
    pub fold: Option<Arc<Fold>>,
    pub model: Option<String>,
    pub used: u64,
    /// The items by their size.
    pub breakdown: Breakdown,
    /// The items about to be added.
    pub incoming: Option<u64>,
    pub window: Window,
    /// What to know about it.
    pub remarks: Vec<Remark>,
}

#[derive(Debug, Default)]
struct ItemWeights {
    breakdown: Breakdown,
    largest: u64,
}

/// How full the windows of threads are.
pub struct Contexts {
    store: Store,
    snapshots: Arc<Snapshots>,
    config: Live,
    clock: Clock,
    /// What `of_agents` read last.
    agents: Mutex<Option<bill::AgentsKnown>>,
}

impl Contexts {
    #[must_use]
    pub fn new((store, snapshots, config, clock): (Store, Arc<Snapshots>, Live, Clock)) -> Self {
        Self { store, snapshots, config, clock, agents: Mutex::default() }
    }

    /// Answers how full a window is.
    ///
    /// # Errors
    /// There is no such thread, it holds nothing, or reading failed.
    pub async fn usage(&self, query: UsageQuery) -> Result<Usage, ServiceError> {
        let given = match query.items {
            Some(items) => Some(tokio::task::spawn_blocking(move || weigh(&items)).await?),
            None => None,
        };
        let fold = match &query.thread_id {
            Some(thread_id) => Some(self.snapshots.of(thread_id, query.as_of).await?.fold),
            None => None,
        };
        let model = query.model.or_else(|| fold.as_ref()?.head().model.clone());
        let config = self.config.now();
        let percent = &config.context.auto_compact_percent;
        let source = fold.as_ref().map(|fold| fold.head().source);
        let agent = match &fold {
            Some(fold) => agent_settings(&config, fold.head().source).await?,
            None => AgentSettings::default(),
        };
        let window = window::decide(&WindowSources {
            model: model.as_deref(),
            asked: query.context_window,
            configured: config.window_of(source, model.as_deref()),
            stated: fold.as_ref().and_then(|fold| fold.meter().window()),
            filled: fold.as_ref().and_then(|fold| fold.meter().filled()),
            agent_compacted_at: fold.as_ref().and_then(|fold| fold.meter().agent_compacted_at()),
            limit_asked: query.auto_compact_limit,
            agent_window: agent.window,
            agent_limit: agent.limit,
            percent_configured: (percent.origin != Origin::Default).then_some(**percent),
        });
        let given = given.unwrap_or_default();
        let (used, breakdown, largest, incoming) = match &fold {
            Some(fold) => {
                let visible = fold.visible();
                let largest = visible.largest().map_or(0, |(_, tokens)| tokens).max(given.largest);
                let incoming = given.breakdown.total();
                (fold.used(), *visible.breakdown(), largest, (incoming > 0).then_some(incoming))
            }
            None => (given.breakdown.total(), given.breakdown, given.largest, None),
        };
        let sizes = Sizes {
            used,
            incoming: incoming.unwrap_or(0),
            largest,
            fixed: breakdown.get(ContextKind::InitialContext)
                + fold.as_ref().map_or(0, |fold| fold.meter().overhead()),
        };
        let remarks = usage::remarks(&sizes, &window);
        let thread_id = query.thread_id;
        Ok(Usage { thread_id, fold, model, used, breakdown, incoming, window, remarks })
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

/// What the settings of the agent of `source` say of windows.
///
/// # Errors
/// The task that reads them died.
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
