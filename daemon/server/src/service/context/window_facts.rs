//! The facts that decide how large a thread's window is, gathered in one place for all callers.

use std::sync::Arc;

use longhaul_core::context::window::WindowSources;
use longhaul_core::fold::{Fold, Gauge};
use longhaul_core::policy::settings::Mode;
use longhaul_store::GaugeTable;

use super::agent_settings;
use crate::agent_settings::AgentSettings;
use crate::config::{Config, Live, Origin};
use crate::service::error::ServiceError;

/// What is known about a window besides the transcript.
pub(in crate::service) struct KnownWindow {
    config: Arc<Config>,
    pub(in crate::service) agent: AgentSettings,
    /// The running agent's newest report.
    pub(in crate::service) gauge: Option<Gauge>,
}

#[derive(Clone)]
pub struct WindowFacts {
    pub(in crate::service) gauges: GaugeTable,
    pub(in crate::service) config: Live,
}

impl WindowFacts {
    /// Gathers the facts for a thread, or for items that belong to none.
    pub(in crate::service) async fn of(
        &self,
        thread_id: Option<&str>,
        fold: Option<&Fold>,
    ) -> Result<KnownWindow, ServiceError> {
        let config = self.config.now();
        let gauge = match thread_id {
            // A report that another version stored in another form is ignored: the next turn brings a new one.
            Some(thread_id) => {
                let stored = self.gauges.get(thread_id).await?;
                stored.and_then(|body| serde_json::from_str(&body).ok())
            }
            None => None,
        };
        let agent = match fold {
            Some(fold) => agent_settings(&config, fold.head().source).await?,
            None => AgentSettings::default(),
        };
        Ok(KnownWindow { config, agent, gauge })
    }
}

impl KnownWindow {
    /// Input for `window::decide`.
    pub(in crate::service) fn sources<'a>(
        &'a self,
        fold: Option<&Fold>,
        model: Option<&'a str>,
    ) -> WindowSources<'a> {
        let meter = fold.map(Fold::meter);
        let source = fold.map(|fold| fold.head().source);
        let percent = &self.config.context.auto_compact_percent;
        let policy = &self.config.policies.active;
        // Such a policy makes the agent compact by itself long before its limit.
        let shows_limit = !(policy.mid_turn && policy.mode == Mode::Auto);
        WindowSources {
            model,
            asked: None,
            configured: self.config.window_of(source, model),
            reported: self.gauge.as_ref().and_then(|gauge| gauge.window_of(model)),
            stated: meter.and_then(|meter| meter.window()),
            filled: meter.and_then(|meter| meter.filled()),
            agent_compacted_at: meter
                .and_then(|meter| meter.agent_compacted_at())
                .filter(|_| shows_limit),
            agent_window: self.agent.window,
            limit_asked: None,
            percent_configured: (percent.origin != Origin::Default).then_some(**percent),
            agent_limit: self.agent.limit,
        }
    }
}
