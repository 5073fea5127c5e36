//! Inputs and outputs of the watcher.

use serde::{Deserialize, Serialize};

use super::Trigger;
use crate::policy::decide::{Baseline, Situation};
use crate::policy::judgment::Judgment;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    TurnEnded(Situation),
    /// A turn ended, reported by a client that can only notify the person. Starts nothing and does not affect
    /// the sequences of other clients.
    TurnSeen(Situation),
    /// A turn ended, reported by a client that can compact now and notify the person, and nothing else: it
    /// sends the agent no message and holds none of the user's.
    TurnEndedCompactOnly(Situation),
    /// A model call ended and the turn continues.
    MidTurn(Situation),
    /// The same, reported by a client that can compact now and notify the person, and nothing else. Counts only
    /// with [`super::super::settings::Policy::mid_turn`].
    MidTurnCompactOnly(Situation),
    /// A judge answered; `None` if it failed.
    Judged {
        request_id: String,
        judgment: Option<Judgment>,
    },
    /// The history was compacted, by anyone.
    Compacted {
        tokens_after: u64,
        /// The compaction is its own turn, which has not ended yet.
        turn_end_follows: bool,
    },
    /// A request could not be carried out: the compaction, or the message to the agent before it.
    CompactionFailed {
        reason: String,
        /// The newest compaction in the thread's transcript, which may be the requested one.
        compacted: Option<Baseline>,
    },
    /// The compaction requested after [`Event::TurnEndedCompactOnly`] or [`Event::MidTurnCompactOnly`] ended. Ends no other client's sequence.
    CompactOnlyEnded {
        /// Tokens left, or why it was not made.
        made: Result<u64, String>,
    },
    /// The user wrote a message that is not sent yet.
    UserMessage {
        /// It is a command for the user's shell, not for the agent.
        is_shell: bool,
        /// The handoff may precede its text.
        takes_prefix: bool,
    },
    /// A client reconnects without knowledge of pending requests.
    Resume {
        /// The newest compaction in the thread's transcript.
        compacted: Option<Baseline>,
    },
    Tick,
    Cancel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    Notify {
        text: String,
    },
    Warn {
        text: String,
    },
    /// Ask a judge; the answer is the event `judged`.
    AskJudgment {
        request_id: String,
        trigger: Trigger,
    },
    /// Send the agent this message and report the end of its turn.
    RequestScratch {
        prompt: String,
    },
    /// Send the agent this message; its answer is the packet.
    RequestPacket {
        prompt: String,
    },
    Compact {
        /// Cause, for the compaction's record.
        trigger: Trigger,
        /// Packet for the compacted view.
        packet: String,
    },
    /// Send the agent this message.
    InjectHandoff {
        text: String,
    },
    HoldMessage,
    ReleaseMessage {
        /// Prefix to its text, if the client accepts one.
        prefix: Option<String>,
    },
}
