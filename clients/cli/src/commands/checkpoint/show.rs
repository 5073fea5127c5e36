//! `longhaul checkpoint show`.

use clap::Args;
use longhaul_protocol::checkpoint::{
    CheckpointGet, CheckpointGetParams, CheckpointGetResult, View, ViewParams, ViewResult,
};

use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count};

/// Show the checkpoint of a thread: what an agent is told after a compaction
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul checkpoint show
  longhaul checkpoint show 0199a213 --max-tokens 500
  longhaul checkpoint show --as-of 1200       as it was after that seq
  longhaul checkpoint show --focus retries    lines about retries first
  longhaul checkpoint show --state | jq .plan")]
pub(crate) struct CheckpointShowArgs {
    /// Id of the thread, or a unique prefix
    thread: Option<String>,
    /// Maximum tokens of the text, at least 256
    #[arg(long, value_name = "N", value_parser = select::one_or_more, conflicts_with = "state")]
    max_tokens: Option<u64>,
    /// Show it as it was after this seq
    #[arg(long, value_name = "SEQ", value_parser = select::seq)]
    as_of: Option<u64>,
    /// Topic: lines about it are chosen first
    #[arg(long, value_name = "TEXT", conflicts_with = "state")]
    focus: Option<String>,
    /// Print the structured state as JSON
    #[arg(long)]
    state: bool,
}

pub(crate) async fn run(args: CheckpointShowArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = select::synced_thread(&client, args.thread.as_deref(), session).await?;
    let (thread_id, as_of) = (thread.thread_id, args.as_of);
    if args.state {
        let state = client.call::<CheckpointGet>(CheckpointGetParams { thread_id, as_of });
        return session.print(&while_waiting("reading the checkpoint", state).await?);
    }
    let (max_tokens, focus) = (args.max_tokens, args.focus);
    let params = ViewParams { thread_id, as_of, max_tokens, caps: None, focus };
    let view = while_waiting("reading the checkpoint", client.call::<View>(params)).await?;
    session.print(&view)?;
    session.note(&session.style.dim(&format!(
        "{} tokens, up to line {}",
        count(view.tokens),
        count(view.seq)
    )));
    Ok(())
}

impl Page for ViewResult {
    fn text(&self, _: &Style) -> String {
        self.text.trim_end().to_owned() + "\n"
    }
}

impl Page for CheckpointGetResult {
    fn text(&self, _: &Style) -> String {
        format!("{:#}\n", *self.checkpoint)
    }
}
