//! One run of a hook: the agent's payload, and calls to the daemon until the deadline.

use std::time::Duration;

use longhaul_client::{Client, ClientError, ConnectOptions};
use longhaul_protocol::Method;
use longhaul_protocol::policy::{Step, StepEvent, StepParams, StepResult};
use longhaul_protocol::thread::{Sync, SyncParams};
use tokio::time::{Instant, timeout_at};

use super::payload::{Agent, Payload};
use crate::session::Session;

/// Milliseconds to wait for the newest lines of the transcript; without them the checkpoint is slightly older.
const SYNC_MS: u64 = 60;

#[derive(Clone, Copy)]
pub(super) struct Hook<'a> {
    pub(super) agent: Agent,
    pub(super) payload: &'a Payload,
    pub(super) client: &'a Client,
    pub(super) session: &'a Session,
    /// Deadline of calls to the daemon.
    pub(super) until: Instant,
}

impl Hook<'_> {
    /// The thread, after reading its transcript as far as time allows.
    pub(super) async fn thread(&self) -> Result<String, String> {
        let named = self.payload.session_id.clone();
        let Some(path) = self.payload.transcript_path.clone() else {
            return named.ok_or_else(|| "the payload names no thread".to_owned());
        };
        let sync = SyncParams { path: Some(path), timeout_ms: Some(SYNC_MS), ..Default::default() };
        match (self.call::<Sync>(sync).await, named) {
            (Ok(synced), _) => Ok(synced.thread_id),
            (Err(_), Some(named)) => Ok(named),
            (Err(why), None) => Err(why),
        }
    }

    /// Reports an event to the policy. The daemon knows agent, model and window from the transcript.
    pub(super) async fn step(
        &self,
        thread_id: String,
        event: StepEvent,
    ) -> Result<StepResult, String> {
        let params =
            StepParams { thread_id, event, agent: None, model: None, context_window: None };
        self.call::<Step>(params).await
    }

    /// Whether the daemon's time is up. The client's own limit is the same, in whole milliseconds.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() + Duration::from_millis(2) >= self.until
    }

    pub(super) async fn call<M: Method>(&self, params: M::Params) -> Result<M::Result, String> {
        match timeout_at(self.until, self.client.call::<M>(params)).await {
            Ok(answer) => answer.map_err(|error| one_line(&error)),
            Err(_) => Err("the daemon did not answer in time".to_owned()),
        }
    }
}

/// A connection whose calls may each take `limit_ms`.
pub(super) async fn connect(options: ConnectOptions, limit_ms: u64) -> Result<Client, String> {
    let options = options.connect_timeout_ms(limit_ms).request_timeout_ms(limit_ms);
    Client::connect(options).await.map_err(|error| one_line(&error))
}

/// An error with its hint, on one line.
pub(super) fn one_line(error: &ClientError) -> String {
    let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
    format!("{error}{hint}")
}
