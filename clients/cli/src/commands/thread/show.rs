//! `longhaul thread show`.

use clap::Args;
use longhaul_protocol::thread::{
    ThreadFile, ThreadGet, ThreadGetParams, ThreadGetResult, ThreadKind, ThreadSummary,
};

use crate::failure::Failure;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, bytes, count, odd_lines, tokens};

/// Show one thread and its files
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul thread show              the newest thread of this folder
  longhaul thread show 0199a213")]
pub(crate) struct ThreadShowArgs {
    /// Id of the thread, or a unique prefix
    thread: Option<String>,
}

pub(crate) async fn run(args: ThreadShowArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = select::thread(&client, args.thread.as_deref(), session).await?;
    session.print(&client.call::<ThreadGet>(ThreadGetParams { thread_id: thread.thread_id }).await?)
}

impl Page for ThreadGetResult {
    fn text(&self, style: &Style) -> String {
        let thread = &self.thread;
        let heading = thread.title.as_deref().unwrap_or("(no request yet)");
        let mut fields = vec![
            ("thread", thread.thread_id.clone()),
            ("source", origin(thread)),
            ("folder", thread.cwd.as_deref().map_or_else(|| "-".into(), |cwd| style.path(cwd))),
            ("began", style.ago(thread.created_at)),
            ("updated", style.ago(thread.updated_at)),
            ("history", format!("{} items, {} tokens", count(thread.items), tokens(thread.tokens))),
            ("compacted", compacted(thread)),
            ("transcript", lines(thread)),
            ("checkpoint", format!("up to line {}", count(self.checkpoint_seq))),
        ];
        let optional = [
            ("model", &thread.model),
            ("branch", &thread.git_branch),
            ("continues", &thread.continues),
            ("sub-agent of", &thread.parent_thread_id),
            ("forked from", &thread.forked_from),
        ];
        let present = optional.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        fields.extend(present);
        fields.extend(resume(thread).map(|command| ("resume it", command)));
        let files = self.files.iter().map(|file| row(file, style)).collect();
        let table = style.table(&["file", ">size", ">read", ""], files);
        let heading = style.bold(&style.wrap(&format!("{heading}\n"), 0));
        format!("{heading}{}\n{table}", style.fields(&fields))
    }
}

/// The command that resumes a continuation that nobody has resumed.
fn resume(thread: &ThreadSummary) -> Option<String> {
    let command = match thread.source.as_str() {
        "codex" => "codex resume",
        "claude" => "claude --resume",
        _ => return None,
    };
    thread.unresumed.then(|| format!("{command} {}", thread.thread_id))
}

/// Compactions of the agent. The first of a continuation is its beginning, which longhaul wrote.
fn compacted(thread: &ThreadSummary) -> String {
    if thread.unresumed {
        return "by longhaul, to continue another thread; not resumed yet".to_owned();
    }
    let is_ours = thread.continues.is_some() && thread.forked_from.is_none();
    match thread.compactions.saturating_sub(is_ours.into()) {
        0 => "never by its agent".to_owned(),
        1 => "once by its agent".to_owned(),
        times => format!("{} times by its agent", count(times)),
    }
}

fn origin(thread: &ThreadSummary) -> String {
    let kind = match thread.kind {
        ThreadKind::Interactive => "interactive",
        ThreadKind::Exec => "one request",
        ThreadKind::Subagent => "sub-agent",
        ThreadKind::Other => "other",
    };
    let version =
        thread.cli_version.iter().map(|version| format!(" {version}")).collect::<String>();
    let archived = if thread.archived { ", archived" } else { "" };
    format!("{}{version}, {kind}{archived}", thread.source)
}

fn lines(thread: &ThreadSummary) -> String {
    let odd = odd_lines(thread.malformed, thread.oversized, thread.unknown);
    format!("{} lines{odd}, {}", count(thread.lines), bytes(thread.bytes))
}

fn row(file: &ThreadFile, style: &Style) -> Vec<String> {
    let percent = match file.bytes {
        0 => 100,
        bytes => u128::from(file.offset) * 100 / u128::from(bytes),
    };
    let gone = match (file.gone, file.archived_bytes) {
        (false, _) => None,
        (true, Some(_)) => Some("gone, read from the archive"),
        (true, None) => Some("gone"),
    };
    let marks: Vec<&str> = file.current.then_some("current").into_iter().chain(gone).collect();
    vec![style.path(&file.path), bytes(file.bytes), format!("{percent} %"), marks.join(", ")]
}
