//! What happens to a watcher, and what it wants done.

use serde::{Deserialize, Serialize};

use super::Trigger;
use crate::policy::decide::{Baseline, Situation};
use crate::policy::judgment::Judgment;

/// What happens to a watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    TurnEnded(Situation),
    /// A turn ended, and who says so can tell the person of it and do nothing else. Nothing is begun, and what
    /// others see through goes on.
    TurnSeen(Situation),
    /// A model call ended and the turn goes on.
    MidTurn(Situation),
    /// A judge answered; `None`: it could not.
    Judged {
        request_id: String,
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
    Tick,
    /// Somebody takes the sequence back.
    Cancel,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    Notify {
        text: String,
    },
    /// Tell the person that something went less than well.
    Warn {
        text: String,
    },
    /// Ask a judge; the answer is the event `judged`.
    AskJudgment {
        request_id: String,
        /// Why it is asked.
        trigger: Trigger,
    },
    /// Give the agent this message, and tell when its turn has ended.
    RequestScratch {
        prompt: String,
    },
    /// Give the agent this message; its answer is the packet.
    RequestPacket {
        prompt: String,
    },
    Compact {
        /// Why, for the compaction's record.
        trigger: Trigger,
        /// Goes into the compacted view.
        packet: String,
    },
    /// Give the agent this message.
    InjectHandoff {
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
