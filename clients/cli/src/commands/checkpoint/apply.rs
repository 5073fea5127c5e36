//! `longhaul checkpoint apply`.

use std::path::PathBuf;

use clap::Args;
use longhaul_protocol::checkpoint::{Apply, ApplyParams, Update};
use serde::Serialize;
use serde_json::Value;

use crate::commands::context::input;
use crate::failure::{Failure, REFUSED, USAGE};
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, counted};

/// Record a plan, decisions or facts in the checkpoint of a thread
///
/// The daemon checks each update: its evidence must be in the thread, and it may state facts, not instructions to
/// an agent. The first rejected update ends the command; those before it are kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul checkpoint apply updates.json
  echo '{\"kind\":\"fact\",\"key\":\"port\",\"value\":\"5433\",
    \"evidence\":{\"source\":\"user\",\"ref\":\"5\"}}' | longhaul checkpoint apply -

The file contains one update or a list; protocol/PROTOCOL.md describes the three kinds.")]
pub(crate) struct ApplyArgs {
    /// JSON file with the updates; - reads standard input
    file: PathBuf,
    /// Id of the thread, or a unique prefix [default: the newest of this folder or project]
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
}

#[derive(Debug, Serialize)]
struct ApplyPage {
    thread_id: String,
    accepted: usize,
    seq: u64,
}

pub(crate) async fn run(args: ApplyArgs, session: &Session) -> Result<(), Failure> {
    let text = input::read(Some(&args.file))?;
    let given: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::new(USAGE, format!("the updates are not JSON: {error}")))?;
    let updates = Update::read_all(given).map_err(|wrong| {
        let hint = "an update is a plan, a decision or a fact: see protocol/PROTOCOL.md";
        Failure::new(USAGE, wrong).with_hint(hint)
    })?;
    let client = session.connect().await?;
    let example = "longhaul checkpoint apply FILE --thread THREAD";
    let thread = select::thread_to_change(&client, args.thread.as_deref(), example).await?;
    select::catch_up(&client, &thread, session).await;
    let (total, thread_id) = (updates.len(), thread.thread_id);
    let mut applied = ApplyPage { thread_id: thread_id.clone(), accepted: 0, seq: 0 };
    for (at, update) in updates.into_iter().enumerate() {
        let name = format!("update {} of {total} ({})", at + 1, update.label());
        let params = ApplyParams { thread_id: thread_id.clone(), update, expected_seq: None };
        let result = client.call::<Apply>(params).await?;
        if !result.accepted {
            let why = result.reason.unwrap_or_default();
            let mut hint = result.hint.unwrap_or_default();
            if at > 0 {
                hint.push_str(&format!("; {} before it kept", counted(at as u64, "update")));
            }
            return Err(
                Failure::new(REFUSED, format!("{name} was rejected: {why}")).with_hint(hint)
            );
        }
        (applied.accepted, applied.seq) = (at + 1, result.seq);
    }
    session.print(&applied)
}

impl Page for ApplyPage {
    fn text(&self, _: &Style) -> String {
        let kept = counted(self.accepted as u64, "update");
        format!("{kept} applied to the checkpoint of {}\n", self.thread_id)
    }
}
