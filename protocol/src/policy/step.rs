//! `policy/step`: events in, effects out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use super::{Decision, Watcher};
use crate::text::Block;

/// `policy/step`: reports an event to the thread's watcher; the caller carries out the effects.
///
/// # Errors
/// `thread_not_found`, `checkpoint_not_found`; `invalid_params` for a sign of an unknown name.
pub struct Step;

/// What happened to which thread.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyStepParams")]
pub struct StepParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// What the client saw.
    pub event: StepEvent,
    /// Name of the agent: names its scratch file.
    pub agent: Option<String>,
    /// Name of the model; absent: as the transcript says.
    pub model: Option<String>,
    /// Tokens of its whole window; absent: as configuration, transcript or table say.
    pub context_window: Option<u64>,
}

/// What can happen.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "PolicyStepEvent")]
pub enum StepEvent {
    /// A turn ended, including turns of the watcher's own messages.
    TurnEnded {
        /// The agent's last words; absent: as the transcript says.
        message: Option<String>,
        /// Boundaries that the client saw and the transcript does not contain: `commit`,
        /// `plan_checkpoint`, `plan_update`, `pr_checkpoint`, `agent_done`, `topic_shift`,
        /// `concluding_thought`; absent: none.
        boundaries: Option<Vec<String>>,
        /// The client can only notify the person, so nothing is started; absent: false.
        notify_only: Option<bool>,
        /// The client can only compact now and notify the person: it sends the agent no message and holds back none of the
        /// user's. It answers `compact` with `compaction_ended`; absent: false.
        compact_only: Option<bool>,
    },
    /// A model call ended and the turn continues.
    MidTurn {
        /// As in `turn_ended`.
        boundaries: Option<Vec<String>>,
        /// As in `turn_ended`. Nothing happens unless `policy.mid_turn` is set; absent: false.
        compact_only: Option<bool>,
    },
    /// The client's judge answered.
    Judged {
        /// `request_id` of the effect `ask_judgment`.
        request_id: String,
        /// Its answer; absent if it had none.
        should_compact: Option<bool>,
        /// The cause in a sentence, for the log.
        reason: Option<String>,
    },
    /// The history was compacted, by anyone.
    Compacted {
        /// Tokens afterwards; absent: as the transcript says.
        tokens_after: Option<u64>,
        /// The compaction is a separate turn that has not ended yet; absent: no.
        turn_end_follows: Option<bool>,
    },
    /// The requested step failed: the compaction, or the message to the agent before it. If the transcript has the
    /// compaction nevertheless, it counts as made.
    CompactionFailed {
        /// The cause in a sentence, for the log.
        reason: String,
    },
    /// The compaction requested after `turn_ended` or `mid_turn` with `compact_only` ended; does not affect sequences of other
    /// clients.
    CompactionEnded {
        /// Tokens afterwards; absent: as the transcript says.
        tokens_after: Option<u64>,
        /// Why it was not made; absent: it was.
        reason: Option<String>,
    },
    /// The user wrote a message that is not sent yet.
    UserMessage {
        /// Whether it is for the user's shell, not the agent; absent: no.
        is_shell: Option<bool>,
        /// Whether the handoff may be prepended to its text; absent: false.
        accepts_prefix: Option<bool>,
    },
    /// The client starts again or lost an answer: it gets the pending effects again.
    Resume {},
    /// Time has passed.
    Tick {},
    /// The sequence is cancelled.
    Cancel {},
}

/// What to do next.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyStepResult")]
pub struct StepResult {
    /// Id of the thread.
    pub thread_id: String,
    /// Where the watcher is now.
    pub watcher: Watcher,
    /// What to do, in order.
    pub effects: Vec<Effect>,
    /// The decision, if one was made.
    pub decision: Option<Decision>,
}

/// Something to do; its name says which fields it has.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyEffect")]
pub struct Effect {
    /// `notify` and `warn` (`text`: show it to the person); `ask_judgment` (`request_id`, `instructions`,
    /// `prompt`, `schema`, `trigger`: ask, and answer with `judged`); `request_scratch` and
    /// `request_packet` (`prompt`: give the agent this message, and report when its turn has ended);
    /// `compact` (`packet`, `trigger`: compact, with the packet in the view); `inject_handoff`
    /// (`text`: give the agent this message); `hold_message`; `release_message` (`prefix?`).
    pub effect: String,
    /// What to show the person or to give the agent.
    pub text: Option<Block<String>>,
    /// A message for the agent, or the question for a judge.
    pub prompt: Option<Block<String>>,
    /// System instructions for the judge.
    pub instructions: Option<Block<String>>,
    /// The JSON Schema of the judge's answer.
    pub schema: Option<Value>,
    /// Names the question in the event `judged`.
    pub request_id: Option<String>,
    /// The agent's notes for after the compaction.
    pub packet: Option<Block<String>>,
    /// Prepend it to the user's message.
    pub prefix: Option<Block<String>>,
    /// The reason, for the compaction's record.
    pub trigger: Option<Trigger>,
}

/// Why a compaction is made.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyTrigger")]
pub struct Trigger {
    /// How urgent it was.
    pub tier: String,
    /// Percent of the window that was left.
    pub percent_remaining: u64,
    /// All boundaries, including those read from the agent's words.
    pub boundaries: Vec<String>,
    /// Tokens in the window.
    pub used: u64,
    /// Number of the turn, from 1.
    pub turn: u64,
    /// `turn_end` or `mid_turn`.
    pub point: String,
    /// `watcher` or `agent`.
    pub packet_author: String,
    /// Id of the decision in `policy/log`; absent: it was not logged.
    pub decision_id: Option<String>,
}
