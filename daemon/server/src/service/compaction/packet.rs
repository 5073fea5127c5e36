//! Data that a watcher adds to its compaction: the reason, and the agent's packet.
//!
//! A compaction of a thread whose watcher is waiting for one counts as the watcher's. The stored watcher decides
//! that, so it is the right thread's, survives a restart, and is deleted with the state.

use std::sync::Arc;

use longhaul_core::compaction::assemble;
use longhaul_core::policy::settings::Author;
use longhaul_core::policy::watcher::{Phase, Trigger};
use longhaul_core::{text, tokens};
use longhaul_store::PolicyTable;
use serde_json::Value;

use super::replacement::Replacement;
use super::request::{ModelRef, Request};
use crate::clock::Clock;
use crate::config::Live;
use crate::model::Models;
use crate::service::policy::watcher_of;

/// Maximum tokens of a packet in a view; with a limit from the caller, a third of it.
const PACKET_TOKENS: u64 = 3_000;

const HEADING: &str = "[PACKET] Written by the agent just before the compaction:";

#[derive(Debug, Clone)]
pub(super) struct PolicyCause {
    pub(super) trigger: Trigger,
    pub(super) decision_id: Option<i64>,
    /// The packet with its heading; `None` for a packet of our own, which adds nothing to the view.
    section: Option<String>,
}

pub struct Packets {
    pub(in crate::service) policies: PolicyTable,
    pub(in crate::service) models: Arc<Models>,
    pub(in crate::service) config: Live,
    pub(in crate::service) clock: Clock,
}

impl Packets {
    /// The watcher's cause, if the watcher waits for a compaction of this thread. Room for the packet is taken
    /// from the caller's limit.
    pub(super) async fn cause(
        &self,
        thread_id: Option<&str>,
        request: &mut Request,
    ) -> Option<PolicyCause> {
        let thread_id = thread_id?;
        let stored = match self.policies.watcher_get(thread_id).await {
            Ok(stored) => stored?,
            Err(error) => {
                tracing::warn!(%error, "cannot read a watcher: compacting without its packet");
                return None;
            }
        };
        let Phase::Compacting { trigger, packet, since_ms, .. } = watcher_of(Some(&stored)).phase
        else {
            return None;
        };
        let (config, settings) = (self.config.now(), self.models.settings());
        // The state of a watcher that gets no more events stays in the store: ignore an old packet.
        let waited = self.clock.now_ms().abs_diff(since_ms);
        if waited >= config.policies.active.wait_ms.unsigned_abs() {
            return None;
        }
        let choice = settings.default.as_ref().filter(|_| request.model.is_none());
        let policy = &config.policies.active;
        let (model, effort) = (&policy.compaction_model, &policy.compaction_effort);
        if let Some(choice) = choice.filter(|_| model.is_some() || effort.is_some()) {
            let name = model.as_ref().unwrap_or(&choice.model).clone();
            let (provider, effort) = (choice.provider.clone(), effort.clone());
            request.model =
                Some(ModelRef { provider: Some(provider), name, effort, context_window: None });
        }
        let most = request.max_tokens.map_or(PACKET_TOKENS, |most| (most / 3).min(PACKET_TOKENS));
        let room = tokens::bytes_of(most).saturating_sub(HEADING.len() + 3);
        let is_of_agent = trigger.packet_author == Author::Agent && room > HEADING.len();
        let section = is_of_agent.then(|| {
            format!("{HEADING}\n{}\n\n", text::prefix(&text::cut_middle(packet.trim(), room), room))
        });
        if let (Some(section), Some(most)) = (&section, &mut request.max_tokens) {
            *most = most.saturating_sub(assemble::estimate([&item_of(section)]));
        }
        let decision_id = self.policies.decision_of_turn(thread_id, trigger.turn).await;
        Some(PolicyCause { trigger, decision_id: decision_id.unwrap_or_default(), section })
    }
}

fn item_of(section: &str) -> Value {
    assemble::message("user", section.trim_end())
}

impl PolicyCause {
    /// Puts the packet before the view, in the text and in the replacement.
    pub(super) fn add_packet(&self, replacement: &mut Replacement) {
        let Some(section) = &self.section else { return };
        let item = item_of(section);
        let is_view = |item: &Value| {
            item["content"][0]["text"].as_str().is_some_and(|text| text.contains(&replacement.view))
        };
        let at = replacement.history.iter().position(is_view).unwrap_or(0);
        replacement.history.insert(at, item);
        replacement.view.insert_str(0, section);
    }
}
