//! `longhaul checkpoint export`.

use std::path::PathBuf;

use clap::Args;
use longhaul_protocol::checkpoint::{CheckpointGet, CheckpointGetParams, CheckpointV1};

use crate::failure::{CONFIG, Failure};
use crate::progress::while_waiting;
use crate::select;
use crate::session::Session;

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
    /// Write to this file instead of standard output
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
    std::fs::write(&path, text).map_err(|error| {
        Failure::new(CONFIG, format!("cannot write {}: {error}", path.display()))
    })?;
    session.note(&format!("written to {}", path.display()));
    Ok(())
}
