//! `longhaul checkpoint export`.

use std::path::PathBuf;

use clap::Args;
use longhaul_protocol::checkpoint::{CheckpointGet, CheckpointGetParams, CheckpointV1};
use serde::Serialize;

use crate::failure::{CONFIG, Failure};
use crate::progress::while_waiting;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, bytes};

/// Write the checkpoint of a thread as checkpoint_v1.json
///
/// protocol/schema/checkpoint_v1.schema.json describes the format: task, plan, decisions, facts, files and
/// commands, each with its evidence.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul checkpoint export | jq .plan
  longhaul checkpoint export 0199a213 --output checkpoint_v1.json")]
pub(crate) struct ExportArgs {
    /// Id of the thread, or a unique prefix
    thread: Option<String>,
    /// Write to this file instead of standard output, in place of one that is there
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) async fn run(args: ExportArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = select::synced_thread(&client, args.thread.as_deref(), session).await?;
    let params = CheckpointGetParams { thread_id: thread.thread_id, as_of: None };
    let state =
        while_waiting("reading the checkpoint", client.call::<CheckpointGet>(params)).await?;
    let checkpoint = CheckpointV1::read(state.checkpoint.0)?;
    let text = match session.is_json {
        true => serde_json::to_string(&checkpoint)?,
        false => serde_json::to_string_pretty(&checkpoint)?,
    } + "\n";
    let Some(path) = args.output else { return session.print_json(&text) };
    let replaced = path.exists();
    std::fs::write(&path, &text).map_err(|error| {
        Failure::new(CONFIG, format!("cannot write {}: {error}", path.display()))
    })?;
    session.print(&WrittenPage { path, bytes: text.len() as u64, replaced })
}

/// What was written, and whether there was a file.
#[derive(Serialize)]
struct WrittenPage {
    path: PathBuf,
    bytes: u64,
    replaced: bool,
}

impl Page for WrittenPage {
    fn text(&self, style: &Style) -> String {
        let path = style.path(&self.path.display().to_string());
        let instead = if self.replaced { ", in place of the file that was there" } else { "" };
        format!("{} written to {path}{instead}\n", bytes(self.bytes))
    }
}
