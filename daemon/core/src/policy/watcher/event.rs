//! What happens to a watcher, and what it wants done.

use serde::{Deserialize, Serialize};

use super::Trigger;
use crate::policy::decide::{Baseline, Situation};
use crate::policy::judgment::Judgment;

/// What happens to a watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A turn ended.
    TurnEnded(Situation),
    /// A turn ended, and who says so can tell the person of it and do nothing else. Nothing is begun, and what
    /// others see through goes on.
    TurnSeen(Situation),
    /// A model call ended and the turn goes on.
    MidTurn(Situation),
    /// A judge answered; `None`: it could not.
    Judged {
        /// The question.
        request_id: String,
        /// The answer.
        judgment: Option<Judgment>,
    },
    /// The history was compacted, by whomever.
    Compacted {
        /// Tokens that are left.
        tokens_after: u64,
        /// The compaction is a turn of its own whose end is still to come.
        turn_end_follows: bool,
    },
    /// The compaction that was asked for failed.
    CompactionFailed {
        /// Why.
        reason: String,
    },
    /// The user wrote a message that was not sent yet.
    UserMessage {
        /// It is a command for the user's shell, not for the agent.
        is_shell: bool,
        /// The handoff may be put before its words.
        takes_prefix: bool,
    },
    /// A client begins anew, and knows of nothing it was asked for.
    Resume {
        /// The thread's newest compaction, as its transcript tells.
        compacted: Option<Baseline>,
    },
    /// Time went on.
    Tick,
    /// Somebody takes the sequence back.
    Cancel,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Tell the person.
    Notify {
        /// In words.
        text: String,
    },
    /// Tell the person that something went less than well.
    Warn {
        /// In words.
        text: String,
    },
    /// Ask a judge; the answer is the event `judged`.
    AskJudgment {
        /// Names the question.
        request_id: String,
        /// Why it is asked.
        trigger: Trigger,
    },
    /// Give the agent this message, and tell when its turn has ended.
    RequestScratch {
        /// The message.
        prompt: String,
    },
    /// Give the agent this message; its answer is the packet.
    RequestPacket {
        /// The message.
        prompt: String,
    },
    /// Compact.
    Compact {
        /// Why, for the compaction's record.
        trigger: Trigger,
        /// Goes into the compacted view.
        packet: String,
    },
    /// Give the agent this message.
    InjectHandoff {
        /// The message.
        text: String,
    },
    /// Keep the user's message back.
    HoldMessage,
    /// Send the user's message.
    ReleaseMessage {
        /// Before its words, where the client said that this is welcome.
        prefix: Option<String>,
    },
}
