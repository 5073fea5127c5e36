//! `thread_rescue`: continues a thread that is blocked.

use longhaul_protocol::thread::{BlockedCause, ThreadList, ThreadListParams, ThreadSummary};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::daemon::Daemon;
use crate::fault::Fault;
use crate::threads::{self, ContinueArgs};

/// Maximum number of blocked threads to list.
const LISTED: u32 = 20;

/// Which thread to rescue.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RescueArgs {
    /// Default: the only blocked thread of this project.
    thread_id: Option<String>,
    /// The agent that continues it: codex or claude. Default: the thread's own agent if it is one of them, else codex.
    to: Option<String>,
}

/// Continues the blocked thread, or lists those to choose from.
pub(crate) async fn rescue(daemon: &Daemon, args: RescueArgs) -> Result<String, Fault> {
    let params =
        ThreadListParams { blocked: Some(true), limit: Some(LISTED), ..Default::default() };
    let mut blocked = daemon.call::<ThreadList>(params).await?.threads;
    if let Some(named) = &args.thread_id {
        blocked.retain(|thread| thread.thread_id.starts_with(named));
    }
    match (blocked.as_slice(), args.thread_id) {
        ([thread], _) => {
            let thread_id = Some(thread.thread_id.clone());
            threads::hand_over(daemon, ContinueArgs { thread_id, to: args.to }, None).await
        }
        ([], Some(named)) => Err(Fault::new(
            "thread_not_found",
            format!("no blocked thread of this project is called {named}"),
            "thread_continue continues a thread that is not blocked",
        )),
        ([], None) => Ok("No thread of this project is blocked.".to_owned()),
        (several, _) => Ok(list(several)),
    }
}

fn list(threads: &[ThreadSummary]) -> String {
    let lines = threads.iter().map(|thread| {
        let title = thread.title.as_deref().unwrap_or("no title");
        format!("{}: {}: {title}\n", thread.thread_id, cause(thread))
    });
    let lines: String = lines.collect();
    format!("Ask the user which one to continue, then call again with its thread_id:\n{lines}")
}

fn cause(thread: &ThreadSummary) -> &'static str {
    match thread.blocked.map(|blocked| blocked.cause) {
        Some(BlockedCause::ContextFull) => "its window is full",
        Some(BlockedCause::Compaction) => "its agent could not compact it",
        _ => "its newest turns failed",
    }
}
