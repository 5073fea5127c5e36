//! Tools for threads: their calls and answers.

use std::time::Duration;

use longhaul_printable as printable;
use longhaul_protocol::history::{Expand, ExpandParams};
use longhaul_protocol::thread::{
    CheckedTree, Continue, ContinueParams, List, ListParams, Search, SearchHit, SearchParams, Sync,
    SyncParams,
};
use longhaul_protocol::{checkpoint, context};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::fault::Fault;
use crate::link::Link;
use crate::memory::here;

/// Tokens of a search's answer.
const SEARCH_TOKENS: u64 = 2_500;
/// Default number of hits.
const SEARCH_HITS: u32 = 8;
/// Default tokens of a checkpoint.
const VIEW_TOKENS: u64 = 2_000;
/// Bytes of items returned at once: an amount that does not overwhelm a model.
const EXPAND_BYTES: u64 = 24 * 1024;
/// Milliseconds between two attempts to find a thread of this folder, and their number.
const NEWEST_ATTEMPT_MS: u64 = 200;
const NEWEST_ATTEMPTS: u32 = 5;
/// Milliseconds of the wait for the newest lines of a transcript.
const SYNC_MS: u64 = 1_000;

/// A thread, and how much of it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ViewArgs {
    /// Absent: this thread.
    thread_id: Option<String>,
    /// Tokens of the text at most; absent: 2000.
    max_tokens: Option<u64>,
}

/// A thread.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UsageArgs {
    /// Absent: this thread.
    thread_id: Option<String>,
}

/// A handle.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExpandArgs {
    /// As a checkpoint, a receipt or a search names it; #747 is an item of the thread.
    handle: String,
    /// The thread of a handle that names none, or the beginning of its id. Absent: this thread.
    thread_id: Option<String>,
    /// Continues where an answer that was cut off ended.
    cursor: Option<String>,
}

/// What to record.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ApplyArgs {
    /// Absent: this thread.
    thread_id: Option<String>,
    /// In order. Each is kept or refused as a whole.
    #[schemars(with = "Vec<checkpoint::Update>")]
    updates: serde_json::Value,
}

/// Where to go on.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ContinueArgs {
    /// Absent: this thread.
    pub(crate) thread_id: Option<String>,
    /// The agent that goes on: codex or claude. Absent: the thread's own where it is one of them, else codex.
    pub(crate) to: Option<String>,
}

/// Words to look for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SearchArgs {
    /// Words, names, paths, parts of an error message, or a question. What has all words comes first.
    query: String,
    /// Only threads that worked in exactly this folder of the project, an absolute path. Absent: the whole project.
    cwd: Option<String>,
    /// Hits at most; absent: 8.
    limit: Option<u32>,
}

impl ViewArgs {
    /// For the calling thread, unless another is named.
    pub(crate) fn of(self, caller: Option<String>) -> Self {
        Self { thread_id: self.thread_id.or(caller), ..self }
    }
}

impl ApplyArgs {
    /// For the calling thread, unless another is named.
    pub(crate) fn of(self, caller: Option<String>) -> Self {
        Self { thread_id: self.thread_id.or(caller), ..self }
    }
}

impl ExpandArgs {
    /// For the calling thread, unless another is named.
    pub(crate) fn of(self, caller: Option<String>) -> Self {
        Self { thread_id: self.thread_id.or(caller), ..self }
    }
}

impl ContinueArgs {
    /// For the calling thread, unless another is named.
    pub(crate) fn of(self, caller: Option<String>) -> Self {
        Self { thread_id: self.thread_id.or(caller), ..self }
    }
}

impl UsageArgs {
    /// For the calling thread, unless another is named.
    pub(crate) fn of(self, caller: Option<String>) -> Self {
        Self { thread_id: self.thread_id.or(caller) }
    }
}

pub(crate) async fn view(link: &Link, args: ViewArgs) -> Result<String, Fault> {
    let params = checkpoint::ViewParams {
        thread_id: thread(link, args.thread_id).await?,
        max_tokens: args.max_tokens.or(Some(VIEW_TOKENS)),
        ..Default::default()
    };
    Ok(link.call::<checkpoint::View>(params).await?.text.0)
}

/// Starts a new thread of an agent with a briefing of another, and says how to resume it.
pub(crate) async fn go_on(link: &Link, args: ContinueArgs) -> Result<String, Fault> {
    let thread_id = thread(link, args.thread_id).await?;
    let params = ContinueParams { thread_id, to: args.to, ..Default::default() };
    let begun = link.call_once::<Continue>(params).await?;
    let tokens = begun.compaction.tokens;
    let checked = begun.checked.as_ref().map(checked).unwrap_or_default();
    Ok(format!(
        "Thread {} is ready: a briefing of {} tokens in place of {}. Tell the user to run, in the folder of this \
         project:\n{}\n{checked}",
        begun.thread_id,
        tokens.after,
        tokens.before,
        begun.command.join(" "),
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
        "Checked just now: {unchanged} files are as the thread left them, {unverified} could not be seen.{}{}{}\n",
        named("Changed since", changed),
        named("Gone", gone),
        named("SUSPECT facts", facts_suspect),
    )
}

/// Records updates in order; the first rejected one ends the call.
pub(crate) async fn apply(link: &Link, args: ApplyArgs) -> Result<String, Fault> {
    let unread = |wrong: String| {
        Fault::new(
            "invalid_params",
            wrong,
            "an update is a plan, a decision or a fact, as the schema says",
        )
    };
    let updates = checkpoint::Update::read_all(args.updates).map_err(unread)?;
    let thread_id = thread(link, args.thread_id).await?;
    let count = updates.len();
    for (at, update) in updates.into_iter().enumerate() {
        let name = format!("operation {} of {count} ({})", at + 1, update.label());
        let params =
            checkpoint::ApplyParams { thread_id: thread_id.clone(), update, expected_seq: None };
        let result = link.call_once::<checkpoint::Apply>(params).await?;
        if !result.accepted {
            let why = result.reason.unwrap_or_default();
            let hint = result.hint.unwrap_or_default();
            return Err(Fault::new(
                "update_rejected",
                format!("{name} was refused: {why}. {at} before it were kept."),
                &hint,
            ));
        }
    }
    Ok(format!("Recorded {count} in the checkpoint of thread {thread_id}."))
}

pub(crate) async fn usage(link: &Link, args: UsageArgs) -> Result<String, Fault> {
    let thread_id = thread(link, args.thread_id).await?;
    let params = context::UsageParams { thread_id: Some(thread_id.clone()), ..Default::default() };
    let usage = link.call::<context::Usage>(params).await?;
    let (used, window) = (usage.tokens.used, usage.window);
    let trigger = match window.trigger {
        Some(trigger) => {
            let left = trigger.saturating_sub(used);
            format!("It is compacted at about {trigger} tokens, {left} from now.")
        }
        None if window.is_known => "It is not compacted by itself.".to_owned(),
        None => "How large its window is, is not known.".to_owned(),
    };
    let mut kinds: Vec<(&String, &u64)> = usage.by_kind.iter().collect();
    kinds.sort_by(|one, other| other.1.cmp(one.1));
    let kinds: Vec<String> =
        kinds.iter().map(|(kind, tokens)| format!("{kind} {tokens}")).collect();
    let warnings: String = usage.warnings.iter().map(|it| format!("\n{}", it.message)).collect();
    let of = match window.percent_used {
        Some(percent) => format!("{used} of {} tokens ({percent} %)", window.tokens),
        None => format!("{used} tokens"),
    };
    Ok(format!(
        "Thread {thread_id} uses {of}. {trigger}\nWhat fills it: {}.{warnings}",
        kinds.join(", ")
    ))
}

pub(crate) async fn expand(link: &Link, args: ExpandArgs) -> Result<String, Fault> {
    let params = ExpandParams {
        thread_id: match args.thread_id {
            Some(named) => Some(named),
            None => last_here(link).await?,
        },
        handle: args.handle,
        cursor: args.cursor,
        max_bytes: Some(EXPAND_BYTES),
    };
    let found = link.call::<Expand>(params).await?;
    let mut text: String =
        found.items.iter().map(|item| printable::json(item.get()).into_owned() + "\n").collect();
    if let Some(cursor) = found.next_cursor {
        text.push_str(&format!("There is more; call again with cursor {cursor}\n"));
    }
    Ok(text)
}

pub(crate) async fn search(link: &Link, args: SearchArgs) -> Result<String, Fault> {
    let params = SearchParams {
        query: args.query,
        cwd: args.cwd,
        limit: args.limit.or(Some(SEARCH_HITS)),
        max_tokens: Some(SEARCH_TOKENS),
        ..Default::default()
    };
    let found = link.call::<Search>(params).await?;
    if found.hits.is_empty() {
        return Ok("Nothing was found. Fewer words find more.".to_owned());
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
async fn thread(link: &Link, named: Option<String>) -> Result<String, Fault> {
    let thread_id = match named {
        Some(named) => named,
        None => newest(link).await?,
    };
    let sync = SyncParams {
        thread_id: Some(thread_id.clone()),
        timeout_ms: Some(SYNC_MS),
        ..Default::default()
    };
    // A stale answer is better than none; the next call reports a thread that does not exist.
    drop(link.call::<Sync>(sync).await);
    Ok(thread_id)
}

/// The newest thread of this folder. A daemon that just started may not have read it yet.
async fn newest(link: &Link) -> Result<String, Fault> {
    let mut attempts = tokio::time::interval(Duration::from_millis(NEWEST_ATTEMPT_MS));
    for _ in 0..NEWEST_ATTEMPTS {
        attempts.tick().await;
        if let Some(thread_id) = last_here(link).await? {
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

/// The last updated thread of this folder, if any.
async fn last_here(link: &Link) -> Result<Option<String>, Fault> {
    let params = ListParams { cwd: here(), limit: Some(1), ..Default::default() };
    let threads = link.call::<List>(params).await?.threads;
    Ok(threads.into_iter().next().map(|thread| thread.thread_id))
}
