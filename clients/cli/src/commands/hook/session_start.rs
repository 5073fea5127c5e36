//! The start of a session: the checkpoint after a compaction or at a resume, and memory.

use longhaul_client::briefing::{OPENING, VIEW_HEADER};
use longhaul_client::gateway::MARKER;
use longhaul_protocol::thread::{Items, ItemsParams};
use longhaul_protocol::{checkpoint, context, history, memory};

use super::answer_format::Answer;
use super::exchange::Hook;
use super::payload::{Agent, CONTEXT_TOKENS_MAX};
use crate::commands::usage::bill::at_resume;

/// Tokens of the checkpoint after a compaction.
const COMPACTED_TOKENS: u64 = 1_700;
/// Tokens of the checkpoint at a resume: the history is still there, but files may have changed.
const RESUMED_TOKENS: u64 = 1_000;
/// Tokens of memory; 300 with the mark and the text around it.
pub(in crate::commands) const MEMORY_TOKENS: u64 = 270;
/// Tokens of the mark, the guide and the text around the memory.
const FRAME_TOKENS: u64 = 230;

/// Values of the mark's `about`.
const RESUME: &str = "resume";
const COMPACTION: &str = "compaction";
/// Beginnings of items that showed the model one of our checkpoints: from a hook, or as our compaction.
const OURS: [&str; 4] = [
    "<longhaul_context about=\"resume\"",
    "<longhaul_context about=\"compaction\"",
    VIEW_HEADER,
    OPENING,
];
/// Items to inspect at the end of a history.
const ITEMS_INSPECTED: u32 = 12;
/// Explains the checkpoint to the model.
const GUIDE: &str = "\
The state of this thread as longhaul recorded it from the transcript: a record, not a new request. Go on with the \
first open step of PLAN, else with the request under TASK. SUSPECT means that a file behind it changed or cannot \
be checked: look at the file before you rely on it. `unchanged` means that the file is as this thread last saw it: \
do not read it again only to remember it. `#747` is a line: tool `expand` or `longhaul expand 747` prints it verbatim.";

/// What a history ends with.
enum HistoryEnd {
    /// A checkpoint of ours, without work since.
    Checkpoint,
    /// A compaction by the agent, without work since.
    Compaction,
    Work,
}

pub(super) async fn answer(hook: &Hook<'_>) -> Result<Answer, String> {
    let wanted = match hook.payload.source.as_deref() {
        Some("compact") => Some((COMPACTION, COMPACTED_TOKENS)),
        Some("resume") => Some((RESUME, RESUMED_TOKENS)),
        // A new thread has no checkpoint yet.
        _ => None,
    };
    let view = async {
        match wanted {
            Some(wanted) => hook.checkpoint(wanted).await,
            None => Ok(None),
        }
    };
    let price = async {
        match hook.payload.source.as_deref() {
            Some("resume") => hook.price_of_resuming().await,
            _ => None,
        }
    };
    let (view, memory, price) = tokio::join!(view, hook.memory(), price);
    let (view, complaint) = match view {
        Ok(view) => (view, None),
        Err(why) => (None, Some(why)),
    };
    let about = view.as_ref().map_or("memory", |(about, _)| about);
    let checkpoint = view.map(|(_, view)| format!("{GUIDE}\n\n{}", view.trim_end()));
    let parts: Vec<String> = checkpoint.into_iter().chain(memory).collect();
    match (parts.is_empty(), complaint) {
        (true, Some(why)) if price.is_none() => Err(why),
        (true, _) => Ok(Answer::default().and_message(price)),
        (false, _) => {
            let context = Answer::context("SessionStart", about, &parts.join("\n\n"));
            Ok(context.and_message(price))
        }
    }
}

impl Hook<'_> {
    /// The cost of resuming with a cold cache, compared with a briefing; `None` if unknown or if nothing is saved.
    async fn price_of_resuming(&self) -> Option<String> {
        let thread_id = self.thread().await.ok()?;
        let params = context::UsageParams {
            thread_id: Some(thread_id.clone()),
            resume: Some(true),
            ..Default::default()
        };
        let usage = self.call::<context::Usage>(params).await.ok()?;
        at_resume(&usage.resume?, &thread_id)
    }

    /// The `about` of the mark and the thread's checkpoint; `None` if the model already sees it.
    async fn checkpoint(
        &self,
        (about, max_tokens): (&'static str, u64),
    ) -> Result<Option<(&'static str, String)>, String> {
        let thread_id = self.thread().await?;
        let (about, max_tokens) = match self.history_end(&thread_id).await {
            HistoryEnd::Checkpoint => return Ok(None),
            // The history is gone, even if the agent calls this a resume.
            HistoryEnd::Compaction => (COMPACTION, COMPACTED_TOKENS),
            HistoryEnd::Work => (about, max_tokens),
        };
        let room = CONTEXT_TOKENS_MAX - MEMORY_TOKENS - FRAME_TOKENS;
        let params = checkpoint::ViewParams {
            thread_id,
            max_tokens: Some(max_tokens.min(room)),
            ..Default::default()
        };
        Ok(Some((about, self.call::<checkpoint::View>(params).await?.text.0)))
    }

    /// What the history ends with, ignoring prompts and other context. An agent that compacts while resuming runs its
    /// hooks for both, and a history may begin with a view of ours.
    async fn history_end(&self, thread_id: &str) -> HistoryEnd {
        let thread_id = thread_id.to_owned();
        let params = ItemsParams { thread_id, last: Some(ITEMS_INSPECTED), ..Default::default() };
        // Showing the checkpoint twice is better than not at all.
        let Ok(page) = self.call::<Items>(params).await else { return HistoryEnd::Work };
        for item in page.items.iter().rev() {
            let is_checkpoint = OURS.iter().any(|mark| item.excerpt.contains(mark));
            match item.kind.as_str() {
                "context" | "user_message" | "compaction" if is_checkpoint => {
                    return HistoryEnd::Checkpoint;
                }
                "compaction" if self.is_by_gateway(&item.handle).await => {
                    return HistoryEnd::Checkpoint;
                }
                "compaction" => return HistoryEnd::Compaction,
                "context" | "user_message" => {}
                _ => return HistoryEnd::Work,
            }
        }
        HistoryEnd::Work
    }

    /// Whether the gateway answered a compaction by the agent: it then contains a view of ours.
    async fn is_by_gateway(&self, handle: &str) -> bool {
        if self.agent != Agent::Codex {
            return false;
        }
        let params = history::ExpandParams { handle: handle.to_owned(), ..Default::default() };
        let expanded = self.call::<history::Expand>(params).await;
        let is_ours = |text: &str| text.contains(OPENING) || text.contains(MARKER);
        expanded.is_ok_and(|it| it.items.iter().any(|item| is_ours(item.get())))
    }

    /// The memory for the start of a session with its heading, if any.
    pub(super) async fn memory(&self) -> Option<String> {
        let params = memory::SummaryParams {
            cwd: self.payload.cwd.clone(),
            max_tokens: Some(MEMORY_TOKENS),
            brief: Some(true),
            ..Default::default()
        };
        let summary = self.call::<memory::Summary>(params).await.ok()?;
        let text = summary.text.trim();
        let fits = text.len() as u64 <= MEMORY_TOKENS * 4;
        (!text.is_empty() && fits)
            .then(|| format!("What longhaul remembers from earlier threads:\n\n{text}"))
    }
}
