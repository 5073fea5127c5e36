//! `longhaul compact`: compact a thread and show the result.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use futures_util::{Stream, stream};
use longhaul_client::Client;
use longhaul_protocol::compaction::{
    Preview, PreviewParams, Run, RunParams, RunResult, Start, StartResult, Strategy,
    TemplateOverrides,
};
use longhaul_protocol::event::EventKind;
use serde::Serialize;
use serde_json::Value;

use crate::commands::follow::subscribe;
use crate::commands::receipt::{account, summary};
use crate::failure::{Failure, USAGE};
use crate::progress::while_waiting_with;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, tokens};

/// Compact a thread into a short view to continue from, with a receipt of what was left out
///
/// Without --install the transcript is not changed. Nothing is lost: longhaul expand prints what a handle of the
/// receipt stands for, and longhaul undo returns the old history.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compact                             the newest thread of this folder
  longhaul compact 0199a213 --max-tokens 2000
  longhaul compact --focus 'the migration'     lines about it first
  longhaul compact --view-only > handoff.md    only the text
  longhaul compact --preview                   the result, not recorded
  longhaul compact --diff                      what happened to each item
  longhaul compact --background                with a slow model
  longhaul compact --prompt ask.md             use your own prompt once
  longhaul compact 0199a213 --install          replace the history (thread open)
  longhaul compact --json | jq '.receipt.dropped[0].handle'")]
pub(crate) struct CompactArgs {
    /// Id of the thread, or a unique prefix
    thread: Option<String>,
    #[command(flatten)]
    how: CompactionArgs,
    /// Topic: lines about it are chosen first
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,
    /// Replace the thread's history with the result; only for threads of longhaul thread open
    #[arg(long, conflicts_with = "as_of")]
    install: bool,
    /// Show the result without recording it or asking a model
    #[arg(long, conflicts_with_all = ["install", "view_only", "diff", "background", "prompt", "deadline"])]
    preview: bool,
    /// Print only the view
    #[arg(long)]
    view_only: bool,
    /// Also list what was kept, shortened and dropped, each with its handle
    #[arg(long, conflicts_with = "view_only")]
    diff: bool,
    /// Run as a background job; longhaul job why shows its state
    #[arg(long, conflicts_with_all = ["view_only", "diff"])]
    background: bool,
}

/// How to compact, for `compact` and `continue`.
#[derive(Debug, Args)]
pub(crate) struct CompactionArgs {
    /// Maximum tokens of the result: the view, what introduces it, and your last request
    #[arg(long, value_name = "N", value_parser = select::one_or_more)]
    pub(crate) max_tokens: Option<u64>,
    /// How to compact
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = strategy())]
    pub(crate) strategy: Strategy,
    /// Compact the thread as it was after this seq
    #[arg(long, value_name = "SEQ", value_parser = select::seq)]
    pub(crate) as_of: Option<u64>,
    /// Seconds to wait for a model before using the checkpoint
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<u64>,
    /// File with the summary prompt to use instead of the configured one
    #[arg(long, value_name = "FILE")]
    prompt: Option<PathBuf>,
}

impl CompactionArgs {
    pub(crate) fn deadline_ms(&self) -> Option<u64> {
        self.deadline.map(|seconds| seconds.saturating_mul(1_000))
    }

    /// Reads the file of `--prompt`.
    pub(crate) fn templates(&self) -> Result<Option<TemplateOverrides>, Failure> {
        let Some(file) = &self.prompt else { return Ok(None) };
        let text = std::fs::read_to_string(file).map_err(|error| {
            Failure::new(USAGE, format!("cannot read {}: {error}", file.display())).with_hint(
                "longhaul compaction templates --seed writes the built-in prompt to a file to edit",
            )
        })?;
        Ok(Some(TemplateOverrides { summary_prompt: Some(text), ..Default::default() }))
    }
}

/// Parses a strategy's name, as on the wire.
fn strategy() -> impl TypedValueParser<Value = Strategy> {
    let names = [
        ("auto", "The best one configured"),
        ("checkpoint", "The recorded checkpoint; needs no model and cannot fail"),
        ("summary", "A summary written by a model"),
        ("hybrid", "A summary and the checkpoint"),
        ("remote", "The provider's own compaction"),
    ];
    PossibleValuesParser::new(names.map(|(name, help)| PossibleValue::new(name).help(help)))
        .try_map(|name| serde_json::from_value(name.into()))
}

pub(crate) async fn run(args: CompactArgs, session: &Session) -> Result<(), Failure> {
    let templates = args.how.templates()?;
    let client = session.connect().await?;
    let named = args.thread.as_deref();
    let thread = match args.install {
        true => {
            select::thread_to_change(&client, named, "longhaul compact THREAD --install").await?
        }
        false => select::thread(&client, named, session).await?,
    };
    if args.how.as_of.is_none() {
        select::catch_up(&client, &thread, session).await;
    }
    if args.preview {
        let params = PreviewParams {
            thread_id: thread.thread_id,
            strategy: Some(args.how.strategy),
            max_tokens: args.how.max_tokens,
            as_of: args.how.as_of,
            focus: args.focus,
            ..Default::default()
        };
        return session.print(&client.call::<Preview>(params).await?);
    }
    let params = RunParams {
        thread_id: Some(thread.thread_id.clone()),
        deadline_ms: args.how.deadline_ms(),
        strategy: Some(args.how.strategy),
        max_tokens: args.how.max_tokens,
        as_of: args.how.as_of,
        install: args.install.then_some(true),
        focus: args.focus,
        templates,
        ..Default::default()
    };
    if args.background {
        return session.print(&client.call::<Start>(params).await?);
    }
    let events = follow(&client, thread.thread_id).await;
    let result = while_waiting_with("compacting", events, client.call::<Run>(params)).await?;
    session.print(&CompactPage { result, view_only: args.view_only, diff: args.diff })
}

/// Streams progress texts of a compaction that asks a model.
pub(crate) async fn follow(
    client: &Client,
    thread_id: String,
) -> Option<impl Stream<Item = String>> {
    let subscription = subscribe(client, &[EventKind::CompactionProgress]).await.ok()?;
    Some(stream::unfold((subscription, thread_id), |(mut subscription, thread_id)| async move {
        loop {
            let event = subscription.next().await?;
            if event.data["thread_id"] == thread_id.as_str() {
                return Some((step(&event.data), (subscription, thread_id)));
            }
        }
    }))
}

/// Describes a progress event.
fn step(data: &Value) -> String {
    let strategy = data["strategy"].as_str().unwrap_or("a model");
    let written = data["tokens"].as_u64().unwrap_or(0);
    let percent = data["percent"].as_u64().unwrap_or(0);
    match data["stage"].as_str() {
        Some("reading") => format!("{strategy}: reading the history"),
        Some("asking") => format!("{strategy}: the model is reading it"),
        Some("checking") => format!("{strategy}: checking the summary"),
        _ => format!("{strategy}: the model is writing, {} tokens, {percent} %", tokens(written)),
    }
}

impl Page for StartResult {
    fn text(&self, style: &Style) -> String {
        let begun = style.bold(&format!("{} started\n", self.compaction_id));
        let next = format!(
            "progress:  longhaul job why {}\nwhen done: longhaul compaction show {}\n",
            self.job, self.compaction_id
        );
        begun + &style.dim(&next)
    }
}

#[derive(Serialize)]
struct CompactPage {
    #[serde(flatten)]
    result: RunResult,
    #[serde(skip)]
    view_only: bool,
    #[serde(skip)]
    diff: bool,
}

impl Page for CompactPage {
    fn text(&self, style: &Style) -> String {
        let view = self.result.view.trim_end().to_owned() + "\n";
        if self.view_only {
            return view;
        }
        let diff = match self.diff {
            true => account(&self.result.receipt, usize::MAX, style),
            false => String::new(),
        };
        format!("{view}\n{}{diff}", summary(&self.result, style))
    }
}
