//! Handles the events: calls the daemon and builds the answer.

use std::time::Duration;

use longhaul_client::briefing::OPENING;
use longhaul_client::gateway::MARKER;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::thread::{Items, ItemsParams, Sync, SyncParams};
use longhaul_protocol::{
    ErrorKind, Method, checkpoint, compaction, context, history, memory, policy,
};
use tokio::time::{Instant, timeout_at};

use super::act;
use super::answer::Answer;
use super::compact::words;
use super::payload::{Agent, Event, Payload};
use crate::commands::install::setup;
use crate::commands::usage::bill::at_resume;
use crate::session::Session;

/// Milliseconds to wait for the newest lines of the transcript; without them the checkpoint is slightly older.
const SYNC_MS: u64 = 60;
/// Tokens of the checkpoint after a compaction.
const COMPACTED_TOKENS: u64 = 1_700;
/// Tokens of the checkpoint at a resume: the history is still there, but files may have changed.
const RESUMED_TOKENS: u64 = 1_000;
/// Tokens of memory; 300 with the mark and the text around it.
const MEMORY_TOKENS: u64 = 270;
/// Tokens of the mark, the guide and the text around the memory.
const FRAME_TOKENS: u64 = 230;
/// Percentage of the compaction limit at which to warn the agent.
const NEARLY_FULL_PERCENT: u64 = 85;

/// Values of the mark's `about`.
const RESUME: &str = "resume";
const COMPACTION: &str = "compaction";
/// Beginnings of items that showed the model one of our checkpoints: from a hook, or as our compaction.
const OURS: [&str; 4] = [
    "<longhaul_context about=\"resume\"",
    "<longhaul_context about=\"compaction\"",
    "[SESSION_CHECKPOINT v1]",
    OPENING,
];
/// Items to inspect at the end of a history.
const ITEMS_INSPECTED: u32 = 12;
/// Explains the checkpoint to the model.
const GUIDE: &str = "\
The state of this thread as longhaul recorded it from the transcript: a record, not a new request. Go on with the \
first open step of PLAN, else with the request under TASK. SUSPECT means that a file behind it changed or cannot \
be checked: look at the file before you rely on it. `unchanged` means that the file is as this thread last saw it: \
do not read it again only to remember it. `#747` brings that line back word for word (tool `expand`, or: longhaul \
expand 747).";

/// What a history ends with.
enum HistoryEnd {
    /// A checkpoint of ours, without work since.
    Checkpoint,
    /// A compaction by the agent, without work since.
    Compaction,
    Work,
}

#[derive(Clone, Copy)]
pub(super) struct Hook<'a> {
    pub(super) agent: Agent,
    pub(super) payload: &'a Payload,
    pub(super) client: &'a Client,
    pub(super) session: &'a Session,
    /// Deadline of calls to the daemon.
    pub(super) until: Instant,
}

pub(super) async fn answer(event: Event, hook: &Hook<'_>) -> Result<Answer, String> {
    match event {
        Event::SessionStart => session_start(hook).await,
        Event::UserPromptSubmit => prompt(hook).await,
        Event::PreCompact => pre_compact(hook).await,
        // Only makes the daemon read the newest lines.
        Event::PostCompact => hook.thread().await.map(|_| Answer::default()),
        Event::Stop => stop(hook).await,
    }
}

async fn session_start(hook: &Hook<'_>) -> Result<Answer, String> {
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
    let memory =
        memory.map(|text| format!("What longhaul remembers from earlier threads:\n\n{text}"));
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

/// Asks the agent to write down its decisions when the window is nearly full.
async fn prompt(hook: &Hook<'_>) -> Result<Answer, String> {
    let params =
        context::UsageParams { thread_id: Some(hook.thread().await?), ..Default::default() };
    let usage = hook.call::<context::Usage>(params).await?;
    let (used, window) = (usage.tokens.used, usage.window);
    // Do not warn if the window is only a guess.
    let trigger = window.trigger.filter(|trigger| *trigger > 0 && window.is_known);
    let Some(trigger) = trigger else {
        return Ok(Answer::default());
    };
    if used.saturating_mul(100) < trigger.saturating_mul(NEARLY_FULL_PERCENT) {
        return Ok(Answer::default());
    }
    let text = format!(
        "The context window holds {used} of {} tokens and is compacted at about {trigger}. Finish the step at \
         hand; say decisions and open steps in words, so that the checkpoint holds them.",
        window.tokens
    );
    Ok(Answer::context("UserPromptSubmit", "window", &text))
}

/// Records the state with a receipt before the agent replaces its history.
async fn pre_compact(hook: &Hook<'_>) -> Result<Answer, String> {
    let (trigger, phase) = match hook.payload.trigger.as_deref() {
        Some("manual") => (compaction::Trigger::Manual, compaction::Phase::Standalone),
        _ => (compaction::Trigger::Auto, compaction::Phase::PreTurn),
    };
    let params = compaction::RunParams {
        thread_id: Some(hook.thread().await?),
        strategy: Some(compaction::Strategy::Checkpoint),
        phase: Some(phase),
        trigger: Some(trigger),
        // The plugin or gateway will make the same compaction again; both share one record.
        agent_step: Some(compaction::AgentStep::Announced),
        focus: words(hook.payload.instructions.as_deref()).map(str::to_owned),
        ..Default::default()
    };
    let made = match hook.client.call::<compaction::Run>(params).await {
        Ok(made) => made,
        Err(ClientError::Refused(error)) if error.kind() == ErrorKind::NotWorthwhile => {
            return Ok(Answer::default());
        }
        Err(error) => return Err(one_line(&error)),
    };
    let left_out = made.receipt.totals.dropped.items + made.receipt.totals.shortened.items;
    Ok(Answer::message(format!(
        "longhaul kept the state before the compaction ({} -> {} tokens). {left_out} items can be brought back: \
         longhaul compaction show {}",
        made.tokens.before, made.tokens.after, made.compaction_id
    )))
}

/// Counts which memory the answer used, since used memory ranks first. Also tells the person when the policy
/// recommends a compaction, which no hook can make.
async fn stop(hook: &Hook<'_>) -> Result<Answer, String> {
    let thread_id = hook.thread().await?;
    let last_words = hook.payload.last_assistant_message.as_deref().unwrap_or_default();
    let cite = async {
        if last_words.is_empty() {
            return Ok(());
        }
        let params =
            memory::CiteParams { answer: Some(last_words.to_owned()), ..Default::default() };
        hook.call::<memory::Cite>(params).await.map(drop)
    };
    let (cited, advice) = tokio::join!(cite, hook.advice(thread_id, last_words));
    match (advice, cited) {
        (Ok(Some(text)), _) => Ok(Answer::message(text)),
        (Ok(None), Ok(())) => Ok(Answer::default()),
        (Err(why), _) | (_, Err(why)) => Err(why),
    }
}

impl Hook<'_> {
    /// The thread, after reading its transcript as far as time allows.
    async fn thread(&self) -> Result<String, String> {
        let named = self.payload.session_id.clone();
        let Some(path) = self.payload.transcript_path.clone() else {
            return named.ok_or_else(|| "the payload names no thread".to_owned());
        };
        let sync = SyncParams { path: Some(path), timeout_ms: Some(SYNC_MS), ..Default::default() };
        match (self.call::<Sync>(sync).await, named) {
            (Ok(synced), _) => Ok(synced.thread_id),
            (Err(_), Some(named)) => Ok(named),
            (Err(why), None) => Err(why),
        }
    }

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

    /// The policy's advice at the end of a turn, if any.
    async fn advice(&self, thread_id: String, last_words: &str) -> Result<Option<String>, String> {
        let message = (!last_words.is_empty()).then(|| last_words.to_owned());
        let (boundaries, notify_only, compact_only) = (None, Some(true), None);
        let event = policy::StepEvent::TurnEnded { message, boundaries, notify_only, compact_only };
        let params = policy::StepParams {
            thread_id: thread_id.clone(),
            event,
            agent: None,
            model: None,
            context_window: None,
        };
        let stepped = match self.call::<policy::Step>(params).await {
            Ok(stepped) => stepped,
            // The daemon may have logged a decision that only the answer would have told of.
            Err(_) if self.is_late() && act::may(self) && act::start(self, &thread_id) => {
                return Ok(None);
            }
            Err(why) => return Err(why),
        };
        if stepped.watcher.mode == "auto" && self.agent == Agent::Claude && setup::has_plugin() {
            // The plugin compacts when the turn is over, or reports why it could not.
            return Ok(None);
        }
        if act::can(self, &stepped).await && act::start(self, &stepped.thread_id) {
            return Ok(None);
        }
        let texts: Vec<String> =
            stepped.effects.into_iter().filter_map(|done| Some(done.text?.0)).collect();
        Ok((!texts.is_empty()).then(|| format!("longhaul: {} (/compact)", texts.join("; "))))
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
        let room = self.agent.context_tokens_max() - MEMORY_TOKENS - FRAME_TOKENS;
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

    /// The memory for the start of a session, if any.
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
        (!text.is_empty() && fits).then(|| text.to_owned())
    }

    /// Whether the daemon's time is up. The client's own limit is the same, in whole milliseconds.
    fn is_late(&self) -> bool {
        Instant::now() + Duration::from_millis(2) >= self.until
    }

    pub(super) async fn call<M: Method>(&self, params: M::Params) -> Result<M::Result, String> {
        match timeout_at(self.until, self.client.call::<M>(params)).await {
            Ok(answer) => answer.map_err(|error| one_line(&error)),
            Err(_) => Err(format!("{} took too long", M::NAME)),
        }
    }
}

/// An error with its hint, on one line.
pub(super) fn one_line(error: &ClientError) -> String {
    let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
    format!("{error}{hint}")
}
