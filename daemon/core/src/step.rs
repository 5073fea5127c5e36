//! Converts the entries of a transcript, in order, to typed steps.
//!
//! # Theory of operation
//!
//! The checkpoint, the signs of a phase's end and memory ask the same questions of every line: who wrote this
//! text, what does this call do, how did it end. This module answers them once; its users fold over [`Step`]s,
//! pair no calls with answers and get redacted text. `briefing::collect` keeps what a view shows of a running
//! call, because a view is rendered from the checkpoint alone. `memory::input::rows` quotes a call's arguments
//! and redacts them. What a step does not say of a command line is read with [`crate::rollout::shell`], the
//! only lexer.
//!
//! *One call, one answer.* A call waits in a bounded queue until it is answered. A command that is still
//! running after its first answer stays in the queue under the session that the answer names: a poll of that
//! session is not a separate call, and the output of the poll belongs to the command. The harness may report
//! the same outcome again, before or after the answer; the first report counts, so nothing is counted twice.
//! Commands and changes that have no call, as in code that runs tools, are separate steps.
//!
//! *Redacted once.* Text leaves this module redacted and cut to its window: [`SCRIPT_BYTES`] of a script,
//! `words::WORDS_BYTES` of a message, `answer::PRINTED_BYTES` of a tool's output. Expensive values that are not
//! always needed are computed on demand.
//!
//! *Part of the fold.* The stepper is saved with the fold, so a transcript may be cut between any two lines.
//! Its size is bounded by [`limits::PENDING_CALLS`] and [`limits::PENDING_BYTES`]: the oldest calls are dropped
//! first, and the answer to a dropped call is ignored.
//!
//! [`SCRIPT_BYTES`]: crate::rollout::shell::SCRIPT_BYTES

mod answer;
mod banner;
mod branches;
mod call;
mod origin;
mod pending;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::redact::redact;
use crate::rollout::patch::FileOp;
use crate::rollout::tool;
use crate::rollout::{Body, Entry, Item, Role, between_agents, contextual};
use crate::thread::Source;
use branches::Branches;
use pending::Pending;

/// Milliseconds in which Claude Code rewrites a history that our plugin restored; the person is slower than
/// that.
const RESTORED_WRITTEN_MS: i64 = 100;

pub use answer::{CallResult, CommandOutcome};
pub use call::{Action, Call, Change, ChangeKind, NewCall, Script, Work, one_line_of};
pub use origin::{Caller, Origin, RequestOrigin};
pub use words::Words;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct At {
    pub seq: u64,
    /// Unix milliseconds; 0 if unknown.
    pub ms: i64,
}

#[derive(Debug)]
pub enum Step<'a> {
    /// A turn begins with a request of the person, of another agent or of a program.
    Asked {
        words: Words<'a>,
        origin: Origin,
    },
    Said(Words<'a>),
    /// The agent's reasoning, which the person need not have seen.
    Thought(Words<'a>),
    /// The harness gave the agent the text of a command or skill to follow.
    Instructed(Words<'a>),
    /// Another agent reports through the harness.
    Reported(Words<'a>),
    Called(NewCall),
    /// A call was answered, or a running command printed more output.
    Answered(CallResult<'a>),
    /// A command without a call ended.
    Ran {
        script: NewCall,
        /// Its exit status, if stated.
        exit_code: Option<i64>,
    },
    /// Files were changed, and no answer will report it.
    FilesChanged(Vec<Change>),
    TurnComplete,
    TurnInterrupted,
    /// The person took back the last turns.
    RolledBack {
        turns: u64,
    },
    /// The agent compacted its history; the summary is empty if it is encrypted.
    Compacted(Words<'a>),
}

/// Converts entries to steps. Bounded for any transcript.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Stepper {
    pending: Pending,
    branches: Branches,
    requests: RequestOrigin,
    /// Folder of the agent's shell, if the transcript has it.
    folder: Option<String>,
    /// Time at which a briefing of ours replaced the history. Claude Code writes the messages that it keeps
    /// after the briefing again, with their original time.
    briefed_ms: i64,
}

impl Stepper {
    /// The state before the first line of a transcript.
    pub fn of(source: Source) -> Self {
        Self { requests: RequestOrigin::of(source), ..Self::default() }
    }

    /// The step of an entry; `None` for identity, settings, counters and what a harness put into the history.
    pub fn step<'a>(&'a mut self, at: At, entry: &'a Entry<'_>) -> Option<Step<'a>> {
        if self.is_repeated(at) {
            return None;
        }
        match &entry.body {
            Body::Item(item, _) => self.item(at, item, false),
            Body::Aside(item) => self.item(at, item, true),
            Body::Folder { path } => {
                self.enter_folder(path);
                None
            }
            Body::Branch { parent } => {
                let turns = self.branches.record_parent(parent.as_deref());
                (turns > 0).then(|| self.roll_back(turns))
            }
            Body::Instructions { text } => Some(Step::Instructed(Words::of(&**text))),
            Body::RolledBack { turns } => Some(self.roll_back(*turns)),
            Body::TurnComplete => Some(Step::TurnComplete),
            Body::TurnAborted => Some(Step::TurnInterrupted),
            Body::Compacted(compacted) => {
                Some(Step::Compacted(self.compacted(at, &compacted.message)))
            }
            Body::FilesChanged { call_id, success, changes } => {
                self.files_changed(call_id, *success, changes)
            }
            Body::CommandDone { call_id, command, exit_code } => {
                self.command_done(at, call_id, (command, *exit_code))
            }
            Body::Meta(meta) => {
                self.requests.narrow(meta);
                None
            }
            Body::Settings(_)
            | Body::OnBranch { .. }
            | Body::CompactionUndone { .. }
            | Body::Title { .. }
            | Body::TurnFailed(_)
            | Body::Usage(_)
            | Body::Passed
            | Body::Unknown
            | Body::Malformed => None,
        }
    }

    /// Whether a line repeats a message that was kept after a briefing of ours.
    pub fn is_repeated(&self, at: At) -> bool {
        at.ms > 0 && at.ms < self.briefed_ms
    }

    /// The new content of a compaction: none if it is a briefing of ours.
    fn compacted<'a>(&mut self, at: At, message: &'a str) -> Words<'a> {
        let is_ours = contextual::is_briefing(message);
        let is_briefed = is_ours || contextual::is_summary_of_ours(message);
        let is_restored = contextual::is_restored(message);
        self.briefed_ms = match is_restored {
            true => at.ms.saturating_add(RESTORED_WRITTEN_MS),
            false if is_briefed => at.ms,
            false => 0,
        };
        Words::of(if is_ours || is_restored { "" } else { message })
    }

    /// Ignores a call: neither it nor its answer becomes a step.
    pub fn ignore_call(&mut self, call_id: &str) {
        self.pending.settle(call_id);
    }

    /// Prepares for a history that another program continues: its shell starts in the thread's folder.
    pub fn change_agent(&mut self) {
        self.branches = Branches::default();
        self.folder = None;
    }

    /// Prepares for a history that replaces everything before.
    pub fn begin_history(&mut self) {
        self.branches = Branches::default();
    }

    /// Restores the state `known`, but keeps the path of requests.
    pub fn restore(&mut self, known: Stepper) {
        let branches = std::mem::take(&mut self.branches);
        *self = Self { branches, ..known };
    }

    fn item<'a>(&'a mut self, at: At, item: &'a Item<'_>, is_aside: bool) -> Option<Step<'a>> {
        match item {
            Item::Message { role: Role::User, text, .. } => match contextual::request(text) {
                Some(request) => Some(self.begin_request(Words::of(request), self.requests.get())),
                None => contextual::is_report(text).then(|| Step::Reported(Words::of(&**text))),
            },
            Item::Message { role: Role::Assistant, text, .. } => {
                if let Some(request) = between_agents::request(text)
                    && let Some(request) = Words::of(request).narrowed(contextual::request)
                {
                    return Some(self.begin_request(request, Origin::AGENT));
                }
                (!text.trim().is_empty()).then(|| Step::Said(Words::of(&**text)))
            }
            Item::Message { role: Role::Developer, text, .. } => {
                match between_agents::team_order(text) {
                    Some(order) => Some(self.begin_request(Words::of(order), Origin::AGENT)),
                    None => contextual::is_report(text).then(|| Step::Reported(Words::of(&**text))),
                }
            }
            Item::Call(call) => Some(Step::Called(self.call(at, call, is_aside))),
            Item::Output { call_id, text, .. } => {
                self.pending.answer(at, call_id, text).map(Step::Answered)
            }
            Item::Reasoning { text, .. } => {
                (!text.is_empty()).then(|| Step::Thought(Words::of(&**text)))
            }
            Item::Opaque { .. } | Item::Other { .. } | Item::Invisible => None,
        }
    }

    fn begin_request<'a>(&mut self, words: Words<'a>, origin: Origin) -> Step<'a> {
        self.branches.begin_turn();
        Step::Asked { words, origin }
    }

    fn roll_back(&mut self, turns: u64) -> Step<'static> {
        self.branches.roll_back(turns);
        Step::RolledBack { turns }
    }

    fn enter_folder(&mut self, folder: &str) {
        let fits = folder.len() <= limits::PATH_BYTES;
        if self.folder.as_deref() != Some(folder).filter(|_| fits) {
            self.folder = fits.then(|| redact(folder).text.into_owned());
        }
    }

    fn call(&mut self, at: At, call: &tool::Call<'_>, is_aside: bool) -> NewCall {
        let mut called = NewCall::of(at, call, self.folder.as_deref());
        called.call.is_aside = is_aside;
        if let Some(poll) = tool::poll(call)
            && self.pending.poll(&poll, &called.call.id)
        {
            called.action = Action::Poll;
        } else if called.needs_answer() {
            self.pending.push(called.call.clone());
        } else {
            self.pending.settle(&called.call.id);
        }
        called
    }

    fn files_changed<'a>(
        &mut self,
        call_id: &str,
        success: bool,
        changes: &[FileOp],
    ) -> Option<Step<'a>> {
        if self.pending.is_settled(call_id) {
            return None;
        }
        let changes = match self.pending.take_changes(call_id) {
            // The answer will report the same changes: leave it none to apply.
            Some(changes) => changes,
            None => {
                self.pending.note_settled(call_id);
                changes.iter().map(Change::reported).collect()
            }
        };
        success.then_some(Step::FilesChanged(changes))
    }

    fn command_done(
        &mut self,
        at: At,
        call_id: &str,
        (script, exit_code): (&str, Option<i64>),
    ) -> Option<Step<'_>> {
        if self.pending.is_settled(call_id) {
            return None;
        }
        if self.pending.is_waiting(call_id) {
            return self.pending.reported(at, call_id, exit_code).map(Step::Answered);
        }
        self.pending.note_settled(call_id);
        if script.is_empty() {
            return None;
        }
        let script = NewCall::script(at, call_id, script, self.folder.as_deref());
        Some(Step::Ran { script, exit_code })
    }
}

impl Step<'_> {
    /// The redacted beginning of a call or of its output, for an excerpt.
    pub fn excerpt(&self) -> Option<String> {
        match self {
            Step::Called(called) => called.needs_answer().then(|| called.call.what.clone()),
            Step::Answered(answered) => {
                let printed = answered.printed();
                Some(crate::text::prefix(printed, limits::EXCERPT_BYTES * 4).to_owned())
            }
            _ => None,
        }
    }
}
