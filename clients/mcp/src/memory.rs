//! Tools for memory: their calls and answers.

use longhaul_protocol::memory;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::daemon::Daemon;
use crate::fault::Fault;

/// Tokens of a search's answer.
const SEARCH_TOKENS: u64 = 2_500;
const SUMMARY_TOKENS: u64 = 5_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SearchArgs {
    /// Words, names, paths or parts of an error message; a few are better than a sentence.
    query: String,
    /// Absolute path of a project to search only its memory. Default: the current folder.
    cwd: Option<String>,
    /// Maximum number of hits.
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ReadArgs {
    /// A path from a search or the summary.
    path: String,
    /// First line. Default: 1.
    line: Option<u64>,
    /// Maximum number of lines.
    max_lines: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NoteArgs {
    /// One fact, preference or working command, in one or two sentences that a later session can understand.
    text: String,
}

pub(crate) async fn search(daemon: &Daemon, args: SearchArgs) -> Result<String, Fault> {
    let params = memory::SearchParams {
        query: args.query,
        cwd: args.cwd.or_else(here),
        limit: args.limit,
        max_tokens: Some(SEARCH_TOKENS),
    };
    let hits = daemon.call::<memory::Search>(params).await?.hits;
    if hits.is_empty() {
        return Ok("Nothing in memory matches. thread_search searches the transcripts.".into());
    }
    Ok(hits.iter().map(hit).collect::<Vec<_>>().join("\n\n"))
}

fn hit(hit: &memory::Hit) -> String {
    let thread = hit.thread_id.as_ref().map_or_else(String::new, |id| format!(", thread {id}"));
    let memory::Hit { path, line_start, line_end, text, .. } = hit;
    format!("{path}:{line_start}-{line_end}{thread}\n{}", text.trim_end())
}

pub(crate) async fn read(daemon: &Daemon, args: ReadArgs) -> Result<String, Fault> {
    let ReadArgs { path, line, max_lines } = args;
    let params = memory::ReadParams { path, line, max_lines, max_tokens: None };
    Ok(daemon.call::<memory::Read>(params).await?.text.0)
}

pub(crate) async fn note(daemon: &Daemon, args: NoteArgs) -> Result<String, Fault> {
    // For the project the agent works in.
    let origin = Some(memory::Origin::Agent);
    let params = memory::AddNoteParams { text: args.text, cwd: here(), origin };
    let note = daemon.call_once::<memory::AddNote>(params).await?;
    let scope = note.project.map_or_else(String::new, |project| format!(" for {project}"));
    let wait =
        if note.pending { " The user can confirm it: `longhaul memory review`." } else { "" };
    Ok(format!("Noted{scope}: {}{wait}", note.text))
}

/// The memory summary for the start of a session.
pub(crate) async fn summary(daemon: &Daemon) -> Result<String, Fault> {
    let params = memory::SummaryParams {
        cwd: here(),
        max_tokens: Some(SUMMARY_TOKENS),
        ..Default::default()
    };
    let text = daemon.call::<memory::Summary>(params).await?.text.0;
    Ok(match text.trim() {
        "" => "Memory has nothing about this project yet.".to_owned(),
        _ => text,
    })
}

/// The agent's working folder: agents start their servers in it.
pub(crate) fn here() -> Option<String> {
    std::env::current_dir().ok().and_then(|path| path.into_os_string().into_string().ok())
}
