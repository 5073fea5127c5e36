//! Tools for threads: their calls and answers.

use std::time::Duration;

use longhaul_printable as printable;
use longhaul_protocol::history::{Expand, ExpandParams};
use longhaul_protocol::thread::{
    CheckedTree, Continue, ContinueParams, Search, SearchHit, SearchParams, Sync, SyncParams,
    ThreadList, ThreadListParams,
};
use longhaul_protocol::{checkpoint, context};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::daemon::Daemon;
use crate::fault::Fault;
use crate::memory::here;

/// Tokens of a search's answer.
const SEARCH_TOKENS: u64 = 2_500;
/// Default number of hits.
const SEARCH_HITS: u32 = 8;
/// Default tokens of a checkpoint.
const VIEW_TOKENS: u64 = 4_000;
/// Maximum bytes of items per call.
const EXPAND_BYTES: u64 = 24 * 1024;
/// Interval and number of attempts to find a thread of this folder.
const NEWEST_ATTEMPT_MS: u64 = 200;
const NEWEST_ATTEMPTS: u32 = 5;
/// Threads to inspect for the newest that someone worked in.
const NEWEST_INSPECTED: u32 = 20;
/// Milliseconds to wait for the newest lines of a transcript.
const SYNC_MS: u64 = 1_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ViewArgs {
    /// Default: this thread.
    thread_id: Option<String>,
    /// Maximum tokens of the text, at least 256. Default: 4000.
    max_tokens: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UsageArgs {
    /// Default: this thread.
    thread_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExpandArgs {
    /// A handle from a checkpoint, a receipt or a search; #747 is an item of the thread.
    handle: String,
    /// Id, or a prefix of it, of the thread of a handle without a thread. Default: this thread.
    thread_id: Option<String>,
    /// The cursor of an incomplete answer, to continue it.
    cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ApplyArgs {
    /// Default: this thread.
    thread_id: Option<String>,
    /// Applied in order. Each is accepted or rejected as a whole.
    #[schemars(with = "Vec<checkpoint::Update>")]
    updates: serde_json::Value,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ContinueArgs {
    /// Default: this thread.
    pub(crate) thread_id: Option<String>,
    /// The agent to continue in: codex or claude. Default: the thread's own agent if it is one of them, else codex.
    pub(crate) to: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SearchArgs {
    /// Words, names, paths, parts of an error message, or a question. Items with all words come first.
    query: String,
    /// Absolute path of a folder of the project, to search only threads of exactly this folder. Default: the project.
    cwd: Option<String>,
    /// Maximum number of hits. Default: 8.
    limit: Option<u32>,
}

pub(crate) async fn view(
    daemon: &Daemon,
    args: ViewArgs,
    caller: Option<String>,
) -> Result<String, Fault> {
    let params = checkpoint::ViewParams {
        thread_id: thread(daemon, args.thread_id.or(caller)).await?,
        max_tokens: args.max_tokens.or(Some(VIEW_TOKENS)),
        ..Default::default()
    };
    Ok(daemon.call::<checkpoint::View>(params).await?.text.0)
}

/// Starts a new thread of an agent with a briefing of another, and returns the command that resumes it.
pub(crate) async fn hand_over(
    daemon: &Daemon,
    args: ContinueArgs,
    caller: Option<String>,
) -> Result<String, Fault> {
    let thread_id = thread(daemon, args.thread_id.or(caller)).await?;
    let params = ContinueParams { thread_id, to: args.to, ..Default::default() };
    let continued = daemon.call_once::<Continue>(params).await?;
    let tokens = continued.compaction.tokens;
    let checked = continued.checked.as_ref().map(checked).unwrap_or_default();
    Ok(format!(
        "Thread {} is ready: a briefing of {} tokens replaces {}. Tell the user to run, in the folder of this \
         project:\n{}\n{checked}",
        continued.thread_id,
        tokens.after,
        tokens.before,
        continued.command.join(" "),
    ))
}

/// Differences between the working tree and the thread's knowledge.
fn checked(tree: &CheckedTree) -> String {
    let CheckedTree { unchanged, changed, gone, unverified, facts_suspect, .. } = tree;
    let named = |what: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!(" {what}: {}.", names.join(", ")),
    };
    format!(
        "Working tree: {unchanged} files unchanged, {unverified} not checked.{}{}{}\n",
        named("Changed since", changed),
        named("Gone", gone),
        named("SUSPECT facts", facts_suspect),
    )
}

/// Records updates in order; the first rejected one ends the call.
pub(crate) async fn apply(
    daemon: &Daemon,
    args: ApplyArgs,
    caller: Option<String>,
) -> Result<String, Fault> {
    let unread = |wrong: String| {
        Fault::new(
            "invalid_params",
            wrong,
            "an update is a plan, a decision or a fact; see the schema",
        )
    };
    let updates = checkpoint::Update::read_all(args.updates).map_err(unread)?;
    let thread_id = thread(daemon, args.thread_id.or(caller)).await?;
    let count = updates.len();
    for (at, update) in updates.into_iter().enumerate() {
        let name = format!("update {} of {count} ({})", at + 1, update.label());
        let params =
            checkpoint::ApplyParams { thread_id: thread_id.clone(), update, expected_seq: None };
        let result = daemon.call_once::<checkpoint::Apply>(params).await?;
        if !result.accepted {
            let why = result.reason.unwrap_or_default();
            let hint = result.hint.unwrap_or_default();
            return Err(Fault::new(
                "update_rejected",
                format!("{name} was rejected: {why}. {at} before it were kept."),
                &hint,
            ));
        }
    }
    Ok(format!("Recorded {count} updates in the checkpoint of thread {thread_id}."))
}

pub(crate) async fn usage(
    daemon: &Daemon,
    args: UsageArgs,
    caller: Option<String>,
) -> Result<String, Fault> {
    let thread_id = thread(daemon, args.thread_id.or(caller)).await?;
    let params = context::UsageParams { thread_id: Some(thread_id.clone()), ..Default::default() };
    let usage = daemon.call::<context::Usage>(params).await?;
    let (used, window) = (usage.tokens.used, usage.window);
    let trigger = match window.trigger {
        Some(trigger) => {
            let left = trigger.saturating_sub(used);
            format!("It is compacted at about {trigger} tokens; {left} are left.")
        }
        None if window.is_known => "It is not compacted automatically.".to_owned(),
        None => "The size of its window is unknown.".to_owned(),
    };
    let mut kinds: Vec<(&String, &u64)> = usage.by_kind.iter().collect();
    kinds.sort_by(|one, other| other.1.cmp(one.1));
    let kinds: Vec<String> =
        kinds.iter().map(|(kind, tokens)| format!("{kind} {tokens}")).collect();
    let warnings: String = usage.warnings.iter().map(|it| format!("\n{}", it.message)).collect();
    let of = match window.percent_used {
        Some(percent) => format!("{used} of {} usable tokens ({percent} %)", window.effective),
        None => format!("{used} tokens"),
    };
    Ok(format!(
        "Thread {thread_id} uses {of}. {trigger}\nWhat fills it: {}.{warnings}",
        kinds.join(", ")
    ))
}

pub(crate) async fn expand(
    daemon: &Daemon,
    args: ExpandArgs,
    caller: Option<String>,
) -> Result<String, Fault> {
    let params = ExpandParams {
        thread_id: match args.thread_id.or(caller) {
            Some(named) => Some(named),
            None => last_here(daemon).await?,
        },
        handle: args.handle,
        cursor: args.cursor,
        max_bytes: Some(EXPAND_BYTES),
    };
    let page = daemon.call::<Expand>(params).await?;
    let mut text: String =
        page.items.iter().map(|item| printable::json(item.get()).into_owned() + "\n").collect();
    if let Some(cursor) = page.next_cursor {
        text.push_str(&format!("There is more; call again with cursor {cursor}\n"));
    }
    Ok(text)
}

pub(crate) async fn search(daemon: &Daemon, args: SearchArgs) -> Result<String, Fault> {
    let params = SearchParams {
        query: args.query,
        cwd: args.cwd,
        limit: args.limit.or(Some(SEARCH_HITS)),
        max_tokens: Some(SEARCH_TOKENS),
        ..Default::default()
    };
    let found = daemon.call::<Search>(params).await?;
    if found.hits.is_empty() {
        return Ok("Nothing found. Try fewer words.".to_owned());
    }
    Ok(found.hits.iter().map(hit).collect::<Vec<_>>().join("\n\n"))
}

fn hit(hit: &SearchHit) -> String {
    let title = hit.title.as_ref().map_or_else(String::new, |title| format!(" \"{title}\""));
    let cwd = hit.cwd.as_ref().map_or_else(String::new, |cwd| format!(" in {cwd}"));
    format!(
        "[{}] {} of thread {}{title}{cwd}\n{}",
        hit.handle,
        hit.kind,
        hit.thread_id,
        hit.text.trim_end()
    )
}

/// The named thread, else the newest of this folder, synced to its end within a short time.
async fn thread(daemon: &Daemon, named: Option<String>) -> Result<String, Fault> {
    let thread_id = match named {
        Some(named) => named,
        None => newest(daemon).await?,
    };
    let sync = SyncParams {
        thread_id: Some(thread_id.clone()),
        timeout_ms: Some(SYNC_MS),
        ..Default::default()
    };
    // A stale answer is better than none; the next call reports a thread that does not exist.
    drop(daemon.call::<Sync>(sync).await);
    Ok(thread_id)
}

/// The newest thread of this folder. Retries, since a daemon that just started may not have read it yet.
async fn newest(daemon: &Daemon) -> Result<String, Fault> {
    let mut attempts = tokio::time::interval(Duration::from_millis(NEWEST_ATTEMPT_MS));
    for _ in 0..NEWEST_ATTEMPTS {
        attempts.tick().await;
        if let Some(thread_id) = last_here(daemon).await? {
            return Ok(thread_id);
        }
    }
    let here = here().unwrap_or_else(|| "this folder".to_owned());
    Err(Fault::new(
        "thread_not_found",
        format!("no thread has worked in {here} yet"),
        "name one by thread_id; thread_search finds them",
    ))
}

/// The last updated thread of this folder, if any: not a continuation that nobody has resumed.
async fn last_here(daemon: &Daemon) -> Result<Option<String>, Fault> {
    let limit = Some(NEWEST_INSPECTED);
    let params = ThreadListParams { cwd: here(), limit, ..Default::default() };
    let mut threads = daemon.call::<ThreadList>(params).await?.threads.into_iter();
    Ok(threads.find(|thread| !thread.unresumed).map(|thread| thread.thread_id))
}
