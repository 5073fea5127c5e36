//! `longhaul continue`.

use std::path::Path;

use clap::Args;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::ErrorKind;
use longhaul_protocol::thread::{
    CheckedTree, Continue, ContinueParams, ContinueResult, ThreadSummary,
};

use crate::commands::compact::{CompactionArgs, follow};
use crate::commands::receipt::summary;
use crate::commands::usage::bill::cold;
use crate::failure::Failure;
use crate::progress::while_waiting_with;
use crate::select;
use crate::session::{Page, Session};
use crate::shell;
use crate::style::{Style, counted};

/// Continue a thread in a new one of Codex or Claude Code, from a compacted history
///
/// Writes a new transcript to the agent's folder and prints the command that resumes it. The old thread is not
/// changed, and longhaul expand brings back any part of it. A thread continues in its own agent unless --to names
/// the other one; threads of Gemini CLI, OpenCode and editors continue in Codex.
///
/// Without THREAD, continues the newest thread of this folder or its project. A continuation that was not resumed yet
/// does not count, so running the command twice continues the same thread.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul continue                      the newest thread of this folder
  longhaul continue 0199a213 --max-tokens 4000
  longhaul continue --to claude          in Claude Code, not its own agent
  $(longhaul continue --command-only)    and resume it at once")]
pub(crate) struct ContinueArgs {
    /// Id of the thread, or a unique prefix
    thread: Option<String>,
    /// The agent that continues it, such as codex or claude
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    #[command(flatten)]
    how: CompactionArgs,
    /// Print only the command that resumes it
    #[arg(long)]
    command_only: bool,
}

pub(crate) async fn run(args: ContinueArgs, session: &Session) -> Result<(), Failure> {
    let templates = args.how.templates()?;
    let client = session.connect().await?;
    let example = "longhaul continue THREAD";
    let thread = select::thread_to_change(&client, args.thread.as_deref(), example).await?;
    if args.how.as_of.is_none() {
        select::catch_up(&client, &thread, session).await;
    }
    let params = ContinueParams {
        thread_id: thread.thread_id.clone(),
        to: args.to,
        as_of: args.how.as_of,
        strategy: Some(args.how.strategy),
        max_tokens: args.how.max_tokens,
        deadline_ms: args.how.deadline_ms(),
        templates,
    };
    let events = follow(&client, thread.thread_id).await;
    let result = while_waiting_with("compacting", events, client.call::<Continue>(params)).await?;
    let folder = thread.cwd.filter(|folder| is_elsewhere(folder));
    session.print(&ContinuePage { result, folder, command_only: args.command_only })
}

/// Whether it exists and is not the current folder.
fn is_elsewhere(folder: &str) -> bool {
    let folder = Path::new(folder);
    folder.is_dir() && std::env::current_dir().is_ok_and(|here| here != folder)
}

/// Continues a blocked thread without a model.
pub(crate) async fn rescue(
    client: &Client,
    thread: ThreadSummary,
    to: Option<String>,
    session: &Session,
) -> Result<(), Failure> {
    let params = ContinueParams { thread_id: thread.thread_id.clone(), to, ..Default::default() };
    let events = follow(client, thread.thread_id.clone()).await;
    let called = while_waiting_with("compacting", events, client.call::<Continue>(params)).await;
    let result = called.map_err(|error| still_open(error, &thread))?;
    let folder = thread.cwd.filter(|folder| is_elsewhere(folder));
    session.print(&ContinuePage { result, folder, command_only: false })
}

/// A blocked thread ends no turn, so if its agent still has it open, the person must close it.
fn still_open(error: ClientError, thread: &ThreadSummary) -> Failure {
    let others = match &error {
        ClientError::Refused(wire) if wire.kind() == ErrorKind::ThreadBusy => {
            let detail = wire.data.as_ref().and_then(|data| data.detail.as_ref());
            let agents = detail.and_then(|detail| detail.get("agents")?.as_array());
            let names = agents.into_iter().flatten().filter_map(|agent| agent.as_str());
            names.collect::<Vec<_>>().join(" or --to ")
        }
        _ => return error.into(),
    };
    let id = &thread.thread_id;
    let mut hint =
        format!("close the session in its agent (/quit) and run longhaul rescue {id} again");
    if !others.is_empty() {
        hint += &format!("; or leave it open and run longhaul rescue {id} --to {others}");
    }
    Failure::from(error).with_hint(hint)
}

#[derive(serde::Serialize)]
struct ContinuePage {
    #[serde(flatten)]
    result: ContinueResult,
    /// Folder to resume it in, if not this one: agents look for threads in the folder they start in.
    #[serde(skip)]
    folder: Option<String>,
    #[serde(skip)]
    command_only: bool,
}

impl Page for ContinuePage {
    fn text(&self, style: &Style) -> String {
        let command = self.result.command.join(" ");
        // A shell runs the output of `$(…)` as one command, so no `cd` and `&&`.
        if self.command_only {
            return command + "\n";
        }
        let command = match &self.folder {
            Some(folder) => format!("cd {} && {command}", shell::quoted(Path::new(folder))),
            None => command,
        };
        let path = style.dim(&format!("written to {}\n", style.path(&self.result.path)));
        let next = format!("\nresume it:\n  {}\n", style.bold(&command));
        let cold = self.result.resume.as_ref().filter(|resume| resume.is_cold).map(cold);
        let cold = cold.map(|words| style.warn(&words)).unwrap_or_default();
        let checked = self.result.checked.as_ref().map(|tree| checked(tree, style));
        let compacted = summary(&self.result.compaction, style);
        [cold, compacted, checked.unwrap_or_default(), path, next].concat()
    }
}

/// How much of the working tree matches the thread's knowledge, and the names of the mismatches.
fn checked(tree: &CheckedTree, style: &Style) -> String {
    let files = |count: u64| counted(count, "file");
    let named = |names: &[String]| names.join(", ");
    let mut parts = vec![format!("{} unchanged", files(tree.unchanged))];
    let of = |names: &[String], what: &str| {
        (!names.is_empty()).then(|| style.warn(&format!("{what}: {}", named(names))))
    };
    parts.extend(of(&tree.changed, "changed since"));
    parts.extend(of(&tree.gone, "gone"));
    parts.extend((tree.unverified > 0).then(|| format!("{} not checked", files(tree.unverified))));
    let facts = tree.facts_valid + tree.facts_suspect.len() as u64;
    parts.extend((facts > 0).then(|| format!("{} of {facts} facts hold", tree.facts_valid)));
    parts.extend(of(&tree.facts_suspect, "do not hold"));
    style.wrap(&format!("working tree: {}\n", parts.join("; ")), 14)
}

#[cfg(test)]
mod tests {
    use super::is_elsewhere;

    #[test]
    fn missing_folders_are_not_entered() {
        let here = std::env::current_dir().unwrap();
        assert!(!is_elsewhere("D:/code/app") && !is_elsewhere("/no/such/folder"));
        assert!(!is_elsewhere(here.to_str().unwrap()));
        assert!(is_elsewhere("/"));
    }
}
