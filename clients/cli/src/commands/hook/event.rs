//! Handles the events: calls the daemon and builds the answer.

use longhaul_client::ClientError;
use longhaul_protocol::{ErrorKind, compaction, context, memory, policy};

use super::act;
use super::answer_format::Answer;
use super::compact::words;
use super::exchange::{Hook, one_line};
use super::payload::{Agent, Event};
use super::session_start;
use crate::commands::install::setup;

/// Percentage of the compaction limit at which to warn the agent.
const NEARLY_FULL_PERCENT: u64 = 85;

pub(super) async fn answer(event: Event, hook: &Hook<'_>) -> Result<Answer, String> {
    match event {
        Event::SessionStart => session_start::answer(hook).await,
        Event::UserPromptSubmit => prompt(hook).await,
        Event::PreCompact => pre_compact(hook).await,
        // Only makes the daemon read the newest lines.
        Event::PostCompact => hook.thread().await.map(|_| Answer::default()),
        Event::Stop => stop(hook).await,
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
    /// The policy's advice at the end of a turn, if any.
    async fn advice(&self, thread_id: String, last_words: &str) -> Result<Option<String>, String> {
        let message = (!last_words.is_empty()).then(|| last_words.to_owned());
        let (boundaries, notify_only, compact_only) = (None, Some(true), None);
        let event = policy::StepEvent::TurnEnded { message, boundaries, notify_only, compact_only };
        let stepped = match self.step(thread_id.clone(), event).await {
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
}
