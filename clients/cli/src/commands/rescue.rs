//! `longhaul rescue`: continues blocked threads in new ones.

use clap::Args;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::thread::{BlockedCause, ThreadList, ThreadListParams, ThreadSummary};
use serde::Serialize;

use crate::commands::continuation;
use crate::failure::{Failure, USAGE};
use crate::select::{self, short_len};
use crate::session::{Page, Session};
use crate::style::{Style, counted};

/// Maximum threads to list.
const LISTED: u32 = 50;

/// Continue a blocked thread: its window is full, or its agent could not compact it
///
/// A thread is blocked if it ends with the same "context is full" error twice in a row, or with a failed compaction
/// by its agent. It continues in a new thread that starts from a briefing, as with longhaul continue; no model is
/// asked. Without THREAD, continues the only blocked thread, or lists them if there are several.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul rescue                       the only blocked thread, or a list
  longhaul rescue 0199a213 --to codex
  longhaul rescue --json                the blocked threads, or the new one")]
pub(crate) struct RescueArgs {
    /// Id of the thread, or a unique prefix
    thread: Option<String>,
    /// The agent that continues it, such as codex or claude
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
}

pub(crate) async fn run(args: RescueArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = match &args.thread {
        Some(named) => {
            let thread = select::thread(&client, Some(named), session).await?;
            if thread.blocked.is_none() {
                let message = format!("thread {} is not blocked", thread.thread_id);
                let hint = format!("longhaul continue {} works on any thread", thread.thread_id);
                return Err(Failure::new(USAGE, message).with_hint(hint));
            }
            thread
        }
        None => match <[ThreadSummary; 1]>::try_from(blocked(&client).await?) {
            Ok([thread]) => thread,
            Err(blocked) => return session.print(&BlockedPage { blocked }),
        },
    };
    continuation::rescue(&client, thread, args.to, session).await
}

/// Blocked threads that no other continues, newest first.
pub(crate) async fn blocked(client: &Client) -> Result<Vec<ThreadSummary>, ClientError> {
    let params =
        ThreadListParams { blocked: Some(true), limit: Some(LISTED), ..Default::default() };
    let mut threads = client.call::<ThreadList>(params).await?.threads;
    threads.retain(|thread| thread.blocked.is_some());
    Ok(threads)
}

/// Describes blocked threads in one line; `None` if there are none.
pub(crate) fn describe(threads: &[ThreadSummary]) -> Option<String> {
    let first = threads.first()?;
    let is_or_are = if threads.len() == 1 { "is" } else { "are" };
    let count = counted(threads.len() as u64, "thread");
    Some(format!("{count} {is_or_are} blocked: {}", cause(first)))
}

fn cause(thread: &ThreadSummary) -> String {
    match thread.blocked {
        Some(blocked) if blocked.cause == BlockedCause::ContextFull => {
            format!(
                "its last {} did not fit the window",
                counted(blocked.failures.into(), "request")
            )
        }
        Some(blocked) if blocked.cause == BlockedCause::Compaction => {
            "its agent could not compact it".to_owned()
        }
        _ => "its newest turns failed".to_owned(),
    }
}

#[derive(Serialize)]
struct BlockedPage {
    blocked: Vec<ThreadSummary>,
}

impl Page for BlockedPage {
    fn text(&self, style: &Style) -> String {
        if self.blocked.is_empty() {
            let none = "No thread is blocked, or another continues it already: longhaul thread list marks those that \
                        are not resumed. longhaul continue continues any thread.\n";
            return style.wrap(none, 0);
        }
        let id_chars = short_len(self.blocked.iter().map(|thread| thread.thread_id.as_str()));
        let row = |thread: &ThreadSummary| {
            vec![
                thread.thread_id.chars().take(id_chars).collect(),
                style.ago(thread.updated_at),
                cause(thread),
                thread.title.clone().unwrap_or_default().replace('\n', " "),
            ]
        };
        let rows = self.blocked.iter().map(row).collect();
        let table = style.table(&["thread", "updated", "blocked", "title"], rows);
        format!("{table}\ncontinue one of them: {}\n", style.bold("longhaul rescue THREAD"))
    }
}
