//! Compactions in the middle of a turn that the policy wants (`policy.mid_turn`).
//!
//! Codex compacts there only when its provider's count reaches its limit. So the gateway answers the next request of such
//! a turn itself: nothing was said, the turn goes on, the window is full. Codex then asks for a compaction, which is
//! answered as any other, and sends the request again.
//!
//! *Owns* the threads whose compaction is awaited, and until when the policy need not be asked. After a restart the
//! policy itself notices that the end was not reported.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::header::{HeaderMap, USER_AGENT};
use longhaul_client::{Client, ClientError};
use longhaul_protocol::context;
use longhaul_protocol::policy::{Step, StepEvent, StepParams, StepResult};
use longhaul_protocol::thread::{Sync, SyncParams};
use tokio::time::{Instant, timeout};

use crate::compaction_request::MidTurnRequest;
use crate::daemon::{Daemon, has_read};

/// The first minor version of Codex seen to continue a turn after such an answer.
const CODEX_MINOR: u32 = 169;
/// How long the agent waits for the policy's decision, a judge's included.
const DECISION_MS: u64 = 5_000;
const REPORT_MS: u64 = 300;
/// How long a policy is not asked again if it does not act in the middle of a turn, or did not answer.
const ASK_AGAIN: Duration = Duration::from_secs(30);
const AWAITED_MAX: usize = 64;

/// Why a compaction that was requested did not follow.
const NOT_ASKED: &str = "Codex did not compact (model_auto_compact_token_limit?)";

#[derive(Default)]
pub(crate) struct MidTurns {
    awaited: Mutex<HashSet<String>>,
    ask_after: Mutex<Option<Instant>>,
}

impl MidTurns {
    /// Decides whether the agent must compact before this request; if so, the size of the window to report as full.
    pub(crate) async fn decide_before_request(
        &self,
        daemon: &Daemon,
        of: &MidTurnRequest,
    ) -> Option<u64> {
        if lock(&self.awaited).remove(&of.thread_id) {
            report(daemon, &of.thread_id, Some(NOT_ASKED.to_owned())).await;
            return None;
        }
        if lock(&self.ask_after).is_some_and(|at| Instant::now() < at) {
            return None;
        }
        let limit = Duration::from_millis(DECISION_MS);
        let Ok(Ok(decision)) = timeout(limit, self.ask_policy(daemon, of)).await else {
            // The request goes to the provider, and those that follow must not wait as well.
            self.pause();
            return None;
        };
        let window = decision?;
        let mut awaited = lock(&self.awaited);
        if awaited.len() >= AWAITED_MAX {
            awaited.clear();
        }
        awaited.insert(of.thread_id.clone());
        Some(window)
    }

    fn pause(&self) {
        *lock(&self.ask_after) = Some(Instant::now() + ASK_AGAIN);
    }

    async fn ask_policy(
        &self,
        daemon: &Daemon,
        of: &MidTurnRequest,
    ) -> Result<Option<u64>, ClientError> {
        let client = daemon.connect(DECISION_MS).await?;
        let thread_id = Some(of.thread_id.clone());
        client
            .call::<Sync>(SyncParams { thread_id: thread_id.clone(), ..Default::default() })
            .await?;
        let event = StepEvent::MidTurn { boundaries: None, compact_only: Some(true) };
        let stepped = step(&client, &of.thread_id, event).await?;
        if !stepped.watcher.mid_turn || stepped.watcher.mode != "auto" {
            self.pause();
        }
        if !stepped.effects.iter().any(|effect| effect.effect == "compact") {
            return Ok(None);
        }
        // Otherwise Codex would ask for a compaction that its model has to make.
        let why = match has_read(&client, &of.thread_id, &of.newest).await {
            Ok(true) => {
                let usage = context::UsageParams { thread_id, ..Default::default() };
                let usage = client.call::<context::Usage>(usage).await?;
                if usage.window.is_known {
                    return Ok(Some(usage.window.tokens));
                }
                "the window is not known".to_owned()
            }
            Ok(false) => "the daemon has not read the transcript to its end".to_owned(),
            Err(error) => error.to_string(),
        };
        step(&client, &of.thread_id, ended(Some(why))).await?;
        Ok(None)
    }

    /// Reports the outcome of a compaction, if this thread's is awaited.
    pub(crate) async fn compacted(&self, daemon: &Daemon, thread_id: &str, left: Option<&str>) {
        if lock(&self.awaited).remove(thread_id) {
            let left = left.map(|why| format!("left to Codex: {why}"));
            report(daemon, thread_id, left).await;
        }
    }
}

/// Whether this version of Codex continues a turn after an answer that says so.
pub(crate) fn can_continue(headers: &HeaderMap) -> bool {
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let version = agent.split_once('/').filter(|(name, _)| name.starts_with("codex"));
    let mut parts = version.into_iter().flat_map(|(_, version)| version.split('.'));
    let mut number = || parts.next()?.parse::<u32>().ok();
    match (number(), number()) {
        (Some(0), Some(minor)) => minor >= CODEX_MINOR,
        (Some(_), Some(_)) => true,
        _ => false,
    }
}

/// Reports the end; the policy notices a lost report itself.
async fn report(daemon: &Daemon, thread_id: &str, reason: Option<String>) {
    let reported = async {
        let client = daemon.connect(REPORT_MS).await?;
        step(&client, thread_id, ended(reason)).await
    };
    drop(timeout(Duration::from_millis(REPORT_MS), reported).await);
}

const fn ended(reason: Option<String>) -> StepEvent {
    StepEvent::CompactionEnded { tokens_after: None, reason }
}

async fn step(
    client: &Client,
    thread_id: &str,
    event: StepEvent,
) -> Result<StepResult, ClientError> {
    let thread_id = thread_id.to_owned();
    let params = StepParams { thread_id, event, agent: None, model: None, context_window: None };
    client.call::<Step>(params).await
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn only_versions_that_continue_a_turn_get_such_an_answer() {
        let can = |agent: &'static str| {
            can_continue(&HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(agent))]))
        };
        for agent in ["codex_exec/0.169.0 (Debian)", "codex_cli_rs/0.170.1", "codex-tui/1.2.0 (x)"]
        {
            assert!(can(agent), "{agent}");
        }
        for agent in ["codex_exec/0.168.9 (Debian)", "curl/8.5.0", "codex", "codex/x.y", ""] {
            assert!(!can(agent), "{agent}");
        }
    }
}
