//! `longhaul compact`: compact a thread and show what came of it.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use futures_util::{Stream, stream};
use longhaul_client::Client;
use longhaul_protocol::compaction::{
    List, ListParams, OwnTexts, Run, RunParams, RunResult, Start, StartResult, Strategy, Total,
    Undo, UndoParams,
};
use longhaul_protocol::event::{EventKind, SubscribeParams};
use longhaul_protocol::limit::PAGE_ROWS_MAX;
use serde::Serialize;
use serde_json::Value;

use crate::commands::compaction::account;
use crate::failure::{Failure, SAID_NO, USAGE};
use crate::progress::{while_told, while_waiting};
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count, counted, duration, tokens};

/// Compact a thread: a short view to go on from, and a receipt of what was left out
///
/// The thread's own transcript is not changed. What was left out stays within reach: every entry of the
/// receipt has a handle for longhaul expand, and longhaul undo gives the old history back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compact                                 the newest thread of this folder
  longhaul compact 0199a213 --max-tokens 2000
  longhaul compact --view-only > handoff.md        only the text
  longhaul compact --diff                          what became of each item
  longhaul compact --background                    with a slow model
  longhaul compact --prompt ask.md                 ask the model in your own words, this once
  longhaul compact --undo                          take the last one back; again: the one before
  longhaul compact --json | jq '.receipt.dropped[0].handle'")]
pub(crate) struct CompactArgs {
    /// The thread, or the beginning of its id
    thread: Option<String>,
    /// Tokens the view may have; never exceeded
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// How to compact
    #[arg(long, value_name = "NAME", default_value = "auto")]
    strategy: StrategyName,
    /// As the thread was after the item of this seq
    #[arg(long, value_name = "SEQ")]
    as_of: Option<u64>,
    /// Seconds a model may take; the checkpoint is there by then in any case
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<u64>,
    /// A file with what the model is asked for a summary, instead of the text in force
    #[arg(long, value_name = "FILE")]
    prompt: Option<PathBuf>,
    /// Print the view and nothing else
    #[arg(long)]
    view_only: bool,
    /// Also list what was kept, shortened and dropped, each with its handle
    #[arg(long, conflicts_with = "view_only")]
    diff: bool,
    /// Begin it as a job and do not wait: longhaul job why tells how it is
    #[arg(long, conflicts_with_all = ["view_only", "diff"])]
    background: bool,
    /// List the compactions of the thread instead
    #[arg(long, conflicts_with_all = ["undo", "background", "diff", "view_only"])]
    list: bool,
    /// Take the last compaction of the thread back instead
    #[arg(long, conflicts_with_all = ["background", "diff", "view_only"])]
    undo: bool,
}

/// How to compact.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum StrategyName {
    /// The best that is configured
    Auto,
    /// From the folded checkpoint: no model, cannot fail
    Checkpoint,
    /// A summary written by a model
    Summary,
    /// A summary and the checkpoint
    Hybrid,
    /// The provider's own compaction
    Remote,
}

impl From<StrategyName> for Strategy {
    fn from(name: StrategyName) -> Self {
        match name {
            StrategyName::Auto => Self::Auto,
            StrategyName::Checkpoint => Self::Checkpoint,
            StrategyName::Summary => Self::Summary,
            StrategyName::Hybrid => Self::Hybrid,
            StrategyName::Remote => Self::Remote,
        }
    }
}

pub(crate) async fn run(args: CompactArgs, session: &Session) -> Result<(), Failure> {
    let templates = own_prompt(args.prompt.as_deref())?;
    let client = session.connect().await?;
    let thread = select::thread(&client, args.thread.as_deref()).await?;
    if args.as_of.is_none() {
        select::catch_up(&client, &thread, session).await;
    }
    if args.list || args.undo {
        return earlier(&args, &thread.thread_id, &client, session).await;
    }
    let params = RunParams {
        thread_id: Some(thread.thread_id.clone()),
        deadline_ms: args.deadline.map(|seconds| seconds.saturating_mul(1_000)),
        strategy: Some(args.strategy.into()),
        max_tokens: args.max_tokens,
        as_of: args.as_of,
        templates,
        ..Default::default()
    };
    if args.background {
        return session.print(&client.call::<Start>(params).await?);
    }
    let events = follow(&client, thread.thread_id).await;
    let result = while_told("compacting", events, client.call::<Run>(params)).await?;
    session.print(&CompactPage { result, view_only: args.view_only, diff: args.diff })
}

/// The text of `--prompt`.
pub(crate) fn own_prompt(file: Option<&Path>) -> Result<Option<OwnTexts>, Failure> {
    let Some(file) = file else { return Ok(None) };
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::new(USAGE, format!("cannot read {}: {error}", file.display())).with_hint(
            "longhaul compaction templates --seed writes the built-in one, to begin from",
        )
    })?;
    Ok(Some(OwnTexts { summary_prompt: Some(text), ..Default::default() }))
}

/// Words for each step of a thread's compaction that asks a model; without them the wait is a silent one.
pub(crate) async fn follow(
    client: &Client,
    thread_id: String,
) -> Option<impl Stream<Item = String>> {
    let kinds = vec![EventKind::CompactionProgress];
    let params = SubscribeParams { kinds: Some(kinds), since_seq: None };
    let subscription = client.subscribe(params).await.ok()?;
    Some(stream::unfold((subscription, thread_id), |(mut subscription, thread_id)| async move {
        loop {
            let event = subscription.next().await?;
            if event.data["thread_id"] == thread_id.as_str() {
                return Some((step(&event.data), (subscription, thread_id)));
            }
        }
    }))
}

/// A step of a compaction in words.
fn step(data: &Value) -> String {
    let strategy = data["strategy"].as_str().unwrap_or("a model");
    let written = data["tokens"].as_u64().unwrap_or(0);
    let percent = data["percent"].as_u64().unwrap_or(0);
    match data["stage"].as_str() {
        Some("reading") => format!("{strategy}: reading the history"),
        Some("asking") => format!("{strategy}: the model reads it"),
        Some("checking") => format!("{strategy}: checking what it wrote"),
        _ => format!("{strategy}: the model writes, {} tokens, {percent} %", tokens(written)),
    }
}

/// The list of a thread's compactions, or the undoing of the last one.
async fn earlier(
    args: &CompactArgs,
    thread_id: &str,
    client: &Client,
    session: &Session,
) -> Result<(), Failure> {
    let limit = if args.undo { PAGE_ROWS_MAX } else { 20 };
    let params =
        ListParams { thread_id: Some(thread_id.to_owned()), limit: Some(limit), cursor: None };
    let made = client.call::<List>(params).await?;
    if args.list {
        return session.print(&made);
    }
    let never = if made.compactions.is_empty() { "was never compacted" } else { "is as it was" };
    // One that was taken back already is not the last one any more: twice takes two back.
    let standing = made.compactions.into_iter().find(|made| made.undone_at.is_none());
    let last = standing.ok_or_else(|| Failure::new(SAID_NO, format!("this thread {never}")))?;
    let params = UndoParams { compaction_id: last.compaction_id };
    let undo = client.call::<Undo>(params);
    session.print(&while_waiting("reading the old history", undo).await?)
}

impl Page for StartResult {
    fn text(&self, style: &Style) -> String {
        let begun = style.bold(&format!("{} is begun\n", self.compaction_id));
        let next = format!(
            "how it is: longhaul job why {}\nwhen done: longhaul compaction show {}\n",
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

/// Sizes, the receipt in three lines, and what to do next.
pub(crate) fn summary(result: &RunResult, style: &Style) -> String {
    let (before, after) = (result.tokens.before, result.tokens.after);
    let saved = match before {
        0 => String::new(),
        _ => format!(" ({} %)", (u128::from(after) * 100).div_ceil(u128::from(before))),
    };
    let took: u64 = result.ladder.iter().map(|rung| rung.duration_ms).sum();
    let heading = format!(
        "{} tokens became {}{saved}, {} strategy, {}\n",
        tokens(before),
        tokens(after),
        result.strategy_used.name(),
        duration(took)
    );
    let (receipt, totals) = (&result.receipt, &result.receipt.totals);
    let rows = [
        ("kept", totals.kept, receipt.kept.first()),
        ("shortened", totals.shortened, receipt.shortened.first()),
        ("dropped", totals.dropped, receipt.dropped.first()),
    ];
    let row =
        |(name, total, first): (&str, Total, Option<&longhaul_protocol::compaction::Entry>)| {
            let handle = first.map_or_else(|| "-".to_owned(), |entry| entry.handle.clone());
            vec![name.to_owned(), count(total.items), tokens(total.tokens), handle]
        };
    let table = style.table(&["", ">items", ">tokens", "first handle"], rows.map(row).to_vec());
    [style.bold(&heading), table, remarks(result, style), next_steps(result, style)].concat()
}

fn remarks(result: &RunResult, style: &Style) -> String {
    let left = result.ladder.iter().filter_map(|rung| {
        let reason = rung.reason.as_deref()?;
        Some(format!("{} left out: {}\n", rung.strategy.name(), in_words(reason)))
    });
    let cost = (result.cost.requests > 0).then(|| {
        let requests = counted(result.cost.requests, "request");
        format!("{requests} to a model, {} tokens\n", tokens(result.cost.tokens))
    });
    let redacted = match result.receipt.redacted {
        0 => None,
        secrets => Some(format!("{} replaced\n", counted(secrets, "secret"))),
    };
    let warnings = result.warnings.iter().map(|warning| format!("warning: {}\n", warning.message));
    left.chain(cost).chain(redacted).chain(warnings).map(|line| style.warn(&line)).collect()
}

/// Why a rung was left, for people; most names say it themselves.
fn in_words(reason: &str) -> String {
    let words = match reason {
        "blank_summary" => "the model wrote nothing",
        "foreign_summary" => "what the model wrote is not about this thread",
        "inflated_summary" => "what the model wrote is hardly shorter than the thread",
        "over_ceiling" => "it would have left the window more than half full",
        "not_worthwhile" => "it would have saved too little",
        "unauthorized" => "the model's key is missing or refused",
        "unreachable" => "nobody answers at the model's address",
        "not_found" => "its provider knows no such model or address",
        "stream_cut" => "the model's answer broke off",
        "timeout" => "the model took too long",
        "incomplete" => "the model's answer reached its bound of tokens",
        "rate_limited" => "the model's provider asks to wait",
        "unavailable" => "the model's provider is overloaded or broken",
        "context_overflow" => "it does not fit into the model's window",
        "budget_spent" => "a budget is spent, longhaul status says which",
        _ => return reason.replace('_', " "),
    };
    words.to_owned()
}

fn next_steps(result: &RunResult, style: &Style) -> String {
    let expand = result.receipt.dropped.first().map_or_else(String::new, |entry| {
        format!("bring back: longhaul expand {}\n", entry.handle)
    });
    let is_kept = !result.warnings.iter().any(|warning| warning.kind == "not_kept");
    let undo = format!("undo:       longhaul undo {}\n", result.compaction_id);
    style.dim(&(expand + if is_kept { &undo } else { "" }))
}
