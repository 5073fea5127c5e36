//! The outcome of a call and its output.

use std::borrow::Cow;
use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use super::{At, Call};
use crate::redact::redact;
use crate::rollout::output::{self, TestCounts, ToolOutput};
use crate::rollout::tool;
use crate::{text, tokens};

/// Bytes of a tool's output to inspect: everything that an agent's own limit of 10,000 tokens lets through.
pub const PRINTED_BYTES: usize = 48 * 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutcome {
    /// No answer yet, or none that states an exit status.
    Unknown,
    /// Runs in the background.
    Running,
    Exit(i64),
    /// It failed; the exit status is unknown.
    Failed,
    Refused,
}

#[derive(Debug)]
pub struct CallResult<'a> {
    /// The answered call; for a poll, the command that it polls.
    pub call: Cow<'a, Call>,
    pub outcome: CommandOutcome,
    pub seq: u64,
    /// It says first that the call made its changes: see [`Call::has_changed`].
    pub has_changed: bool,
    /// The session by which the command is polled while it runs.
    pub session: Option<String>,
    /// Tokens of the answer; `None` for a report of the harness, which has no output.
    pub tokens: Option<u64>,
    text: Cow<'a, str>,
    printed: OnceCell<String>,
    tests: OnceCell<Option<TestCounts>>,
}

impl<'a> CallResult<'a> {
    pub(super) fn of(
        at: At,
        call: Cow<'a, Call>,
        (raw, answer): (&str, ToolOutput<'a>),
        outcome: CommandOutcome,
    ) -> Self {
        Self {
            has_changed: call.has_changed(outcome),
            call,
            outcome,
            seq: at.seq,
            session: None,
            tokens: Some(tokens::of_text(raw)),
            text: answer.text,
            printed: OnceCell::new(),
            tests: OnceCell::new(),
        }
    }

    pub(super) fn report(at: At, call: Call, exit_code: Option<i64>) -> Self {
        // A negative status is the harness's own: it stopped a command that was still running.
        let exit_code = exit_code.filter(|code| *code >= 0);
        let outcome = exit_code.map_or(CommandOutcome::Unknown, CommandOutcome::Exit);
        let answer = ("", ToolOutput::default());
        Self { tokens: None, ..Self::of(at, Cow::Owned(call), answer, outcome) }
    }

    /// The output, redacted, without terminal escapes, at most about `PRINTED_BYTES`.
    pub fn printed(&self) -> &str {
        self.printed.get_or_init(|| {
            let window = text::cut_middle(&self.text, PRINTED_BYTES);
            redact(&text::without_escapes(&window)).text.into_owned()
        })
    }

    /// The counts of the last summary of a test runner in the output.
    pub fn tests(&self) -> Option<TestCounts> {
        *self.tests.get_or_init(|| output::test_counts(self.printed()))
    }

    /// Id of the plan step that the call created.
    pub fn step_id(&self) -> Option<&str> {
        tool::step_id(&self.text)
    }
}

impl CommandOutcome {
    pub(super) fn of(answer: &ToolOutput<'_>, reported: Option<i64>) -> Self {
        match (answer.refused, answer.running, answer.exit_code.or(reported)) {
            (true, ..) => Self::Refused,
            _ if answer.failed => Self::Failed,
            (_, true, _) => Self::Running,
            (_, _, Some(code)) => Self::Exit(code),
            (false, false, None) => Self::Unknown,
        }
    }

    /// Whether the command is known to have failed.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Exit(code) => code != 0,
            Self::Failed | Self::Refused => true,
            Self::Unknown | Self::Running => false,
        }
    }

    /// The outcome as shown in views; empty if unknown.
    pub fn words(self) -> String {
        match self {
            Self::Unknown => String::new(),
            Self::Running => "running".into(),
            Self::Exit(code) => format!("exit {code}"),
            Self::Failed => "failed".into(),
            Self::Refused => "refused".into(),
        }
    }
}
