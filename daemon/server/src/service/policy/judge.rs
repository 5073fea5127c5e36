//! Asks a judge: builds its question and asks the configured model.

use longhaul_core::fold::Fold;
use longhaul_core::model::Schema;
use longhaul_core::policy::judgment::{self, Judgment};
use longhaul_core::policy::watcher::{Effect, Trigger};
use longhaul_core::template::{self, Kind, Texts};
use longhaul_core::text;

use super::adviser::{Adviser, Brief};
use super::thread_state::ThreadState;
use crate::model::Purpose;

/// Maximum tokens of a judge's answer.
const ANSWER_TOKENS: u64 = 1_000;

/// Maximum bytes of the conversation's end shown to a judge.
const EXCERPT_BYTES: usize = 6_000;

#[derive(Debug, Clone)]
pub struct StepEffect {
    pub effect: Effect,
    /// The judge's instructions and question.
    pub question: Option<(String, String)>,
}

/// Adds the question to an effect that asks one.
pub(super) fn step_effect(effect: Effect, state: &ThreadState, texts: &Texts) -> StepEffect {
    let question = match &effect {
        Effect::AskJudgment { trigger, .. } => {
            let places =
                [("thread_id", state.thread_id.as_str()), ("tier", trigger.tier.into_str())];
            let kind = judgment::text_of(trigger.tier);
            let instructions = template::fill(texts.get(kind), &places);
            Some((instructions, context(trigger, state, texts)))
        }
        _ => None,
    };
    StepEffect { effect, question }
}

fn context(trigger: &Trigger, state: &ThreadState, texts: &Texts) -> String {
    let names: Vec<_> = trigger.boundaries.iter().map(|boundary| boundary.into_str()).collect();
    let (percent, turn) = (trigger.percent_remaining.to_string(), trigger.turn.to_string());
    let (used, window) = (trigger.used.to_string(), state.window.tokens.to_string());
    let values = [
        ("tier", trigger.tier.into_str()),
        ("percent_remaining", &percent),
        ("boundaries", &names.join(", ")),
        ("last_agent_message", trigger.message.as_deref().unwrap_or("(none)")),
        ("repository", trigger.repository.as_deref().unwrap_or("(not inspected)")),
        ("transcript_excerpt", &excerpt(&state.fold)),
        ("thread_id", &state.thread_id),
        ("turn", &turn),
        ("used_tokens", &used),
        ("window_tokens", &window),
    ];
    template::fill(texts.get(Kind::JudgmentContext), &values)
}

/// The current request, the plan and the agent's latest words from the checkpoint, which were redacted when folded.
fn excerpt(fold: &Fold) -> String {
    let state = fold.checkpoint();
    let mut lines = Vec::new();
    if let Some(request) = state.requests.active() {
        lines.push(format!("user: {}", text::cut(&request.text, EXCERPT_BYTES / 3)));
    }
    let open = state.plan.open().map(|step| format!("open step: {}", step.text));
    lines.extend(open.take(8));
    let words = state.briefing.latest_words().join("\n");
    if !words.is_empty() {
        lines.push(format!("assistant: {}", text::cut_middle(&words, EXCERPT_BYTES / 2)));
    }
    text::cut(&lines.join("\n"), EXCERPT_BYTES).into_owned()
}

/// Asks the configured model; `None` if there is none, or it cannot answer.
pub(super) async fn judge(adviser: &Adviser, step: &StepEffect) -> Option<Judgment> {
    let (instructions, question) = step.question.as_ref()?;
    let brief = Brief {
        purpose: Purpose::Judgment,
        instructions,
        words: question,
        schema: Schema { name: "judgment".to_owned(), schema: judgment::schema() },
        tokens_max: ANSWER_TOKENS,
    };
    judgment::parse(&adviser.ask(brief).await?)
}
