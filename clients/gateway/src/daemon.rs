//! Requests the view from the daemon, within a time that the user does not notice.

use std::path::PathBuf;
use std::time::Duration;

use longhaul_client::briefing::{Briefing, BriefingRequest, LIMIT_MS};
use longhaul_client::{Client, ClientError, ConnectOptions};
use longhaul_protocol::thread::{Items, ItemsParams, Sync, SyncParams};
use longhaul_protocol::{ErrorKind, context, history};
use tokio::time::timeout;

use crate::compaction_request::CompactionRequest;
use crate::fingerprint::Fingerprint;

/// Items at the end of a thread among which the newest one of a request must be.
const ITEMS_LOOKED_AT: u32 = 16;
/// Milliseconds between two checks of a transcript whose last line is not there yet.
const LOOK_AGAIN_MS: u64 = 20;

pub(crate) struct Daemon {
    socket: Option<PathBuf>,
}

impl Daemon {
    pub(crate) const fn new(socket: Option<PathBuf>) -> Self {
        Self { socket }
    }

    /// The briefing of the thread, or why there is none.
    pub(crate) async fn briefing(&self, request: &CompactionRequest) -> Result<Briefing, String> {
        let limit = Duration::from_millis(LIMIT_MS);
        match timeout(limit, self.answer(request)).await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => Err(format!("the daemon was not ready within {LIMIT_MS} ms")),
        }
    }

    /// A connection whose calls may each take `limit_ms`.
    pub(crate) async fn connect(&self, limit_ms: u64) -> Result<Client, ClientError> {
        let options = ConnectOptions::new("longhaul-gateway", env!("CARGO_PKG_VERSION"))
            .connect_timeout_ms(LIMIT_MS)
            .request_timeout_ms(limit_ms);
        let options = match &self.socket {
            Some(path) => options.socket(path),
            None => options,
        };
        Client::connect(options).await
    }

    async fn answer(&self, request: &CompactionRequest) -> Result<Briefing, ClientError> {
        let client = self.connect(LIMIT_MS).await?;
        let mut looks = tokio::time::interval(Duration::from_millis(LOOK_AGAIN_MS));
        loop {
            looks.tick().await;
            if has_read(&client, &request.thread_id, &request.newest).await? {
                break;
            }
        }
        let thread_id = Some(request.thread_id.clone());
        let usage = context::UsageParams { thread_id, ..Default::default() };
        // Without it the view gets the minimum budget.
        let usage = client.call::<context::Usage>(usage).await.ok();
        let window = usage.filter(|usage| usage.window.is_known).map(|usage| usage.window.tokens);
        let wanted = BriefingRequest {
            thread_id: &request.thread_id,
            window,
            trigger: request.trigger,
            phase: request.phase,
            focus: None,
        };
        Briefing::make(&client, &wanted).await
    }
}

/// Whether the daemon has read the transcript up to the item that the agent sends as its newest.
pub(crate) async fn has_read(
    client: &Client,
    thread_id: &str,
    newest: &Fingerprint,
) -> Result<bool, ClientError> {
    let thread_id = thread_id.to_owned();
    let sync = SyncParams { thread_id: Some(thread_id.clone()), ..Default::default() };
    match client.call::<Sync>(sync).await {
        // A transcript starts with the first turn, so it may not exist yet.
        Err(ClientError::Refused(error)) if error.kind() == ErrorKind::ThreadNotFound => {
            return Ok(false);
        }
        synced => synced?,
    };
    let page = ItemsParams { thread_id, last: Some(ITEMS_LOOKED_AT), ..Default::default() };
    let page = client.call::<Items>(page).await?;
    for item in page.items.iter().rev().filter(|item| newest.is_of_kind(&item.kind)) {
        let handle = item.handle.clone();
        let expand = history::ExpandParams { handle, ..Default::default() };
        let expanded = client.call::<history::Expand>(expand).await?;
        if expanded.items.iter().any(|raw| Fingerprint::of(raw).as_ref() == Some(newest)) {
            return Ok(true);
        }
    }
    Ok(false)
}
