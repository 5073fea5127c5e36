//! Calls that wait for their answer, and calls that have been answered.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::banner::Banner;
use super::call::{Change, Work, short_id};
use super::{At, Call, CallResult, CommandOutcome};
use crate::bounded::push_bounded;
use crate::limits;
use crate::rollout::output;
use crate::rollout::shell;
use crate::rollout::tool::Poll;

/// Calls whose outcome is not known yet. Bounded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Pending {
    waiting: VecDeque<WaitingCall>,
    /// Calls whose outcome is known: the harness may report them again.
    settled: VecDeque<String>,
    banner: Banner,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WaitingCall {
    call: Call,
    /// Id of the call whose answer is awaited: the call's own, or that of the last poll; `None` while the
    /// command runs and no poll is pending.
    awaits: Option<String>,
    session: Option<String>,
    /// An answer said that it made its changes.
    has_changed: bool,
    /// Status that the harness reported before the answer came.
    exit_code: Option<i64>,
    /// The last poll stopped the command.
    is_stopped: bool,
}

impl Pending {
    pub(super) fn push(&mut self, call: Call) {
        let awaits = Some(call.id.clone());
        let waiting = WaitingCall {
            call,
            awaits,
            session: None,
            has_changed: false,
            exit_code: None,
            is_stopped: false,
        };
        self.waiting.push_back(waiting);
        while self.waiting.len() > limits::PENDING_CALLS
            || self.waiting.len() > 1 && self.bytes() > limits::PENDING_BYTES
        {
            self.waiting.pop_front();
        }
    }

    /// Binds a poll to its command; returns false if the command is unknown.
    pub(super) fn poll(&mut self, poll: &Poll, call_id: &str) -> bool {
        let is_it = |waiting: &&mut WaitingCall| waiting.session.as_ref() == Some(&poll.session);
        let Some(waiting) = self.waiting.iter_mut().rev().find(is_it) else { return false };
        waiting.awaits = Some(call_id.to_owned());
        waiting.is_stopped = poll.stops;
        true
    }

    /// The answer to a waiting call; `None` if the call is unknown or was dropped as too old.
    pub(super) fn answer<'a>(
        &'a mut self,
        at: At,
        call_id: &str,
        raw: &'a str,
    ) -> Option<CallResult<'a>> {
        let call_id = short_id(call_id);
        let is_it = |waiting: &WaitingCall| waiting.awaits.as_deref() == Some(call_id);
        let index = self.waiting.iter().rposition(is_it)?;
        let waiting = self.waiting.get_mut(index)?;
        let is_poll = waiting.call.id != call_id;
        let mut answer = if is_poll { output::read_poll(raw) } else { output::read(raw) };
        if !is_poll {
            let has_failed = CommandOutcome::of(&answer, waiting.exit_code).is_failure();
            answer.text = self.banner.strip((&waiting.call, has_failed), answer.text);
        }
        let outcome = match CommandOutcome::of(&answer, waiting.exit_code) {
            // The poll was refused; the command is still running.
            CommandOutcome::Refused if is_poll => {
                waiting.awaits = None;
                return None;
            }
            _ if is_poll && waiting.is_stopped => CommandOutcome::Unknown,
            CommandOutcome::Exit(0) if is_fatal(&answer.text, &waiting.call) => {
                CommandOutcome::Failed
            }
            outcome => outcome,
        };
        let has_changed_before = waiting.has_changed;
        let (call, session) = if outcome == CommandOutcome::Running {
            waiting.awaits = None;
            waiting.has_changed = true;
            waiting.session =
                answer.session.map(short_id).map(str::to_owned).or(waiting.session.take());
            let session = waiting.session.clone();
            (Cow::Borrowed(&self.waiting.get(index)?.call), session)
        } else {
            let call = self.waiting.remove(index)?.call;
            self.settle(&call.id);
            (Cow::Owned(call), None)
        };
        let mut result = CallResult::of(at, call, (raw, answer), outcome);
        result.session = session;
        result.has_changed &= !has_changed_before;
        Some(result)
    }

    /// Handles a harness's report that a waiting call ended. If the answer is still to come, it has more
    /// detail, and the report only supplies the exit status.
    pub(super) fn reported<'a>(
        &mut self,
        at: At,
        call_id: &str,
        exit_code: Option<i64>,
    ) -> Option<CallResult<'a>> {
        let index = self.position(call_id)?;
        let waiting = self.waiting.get_mut(index)?;
        if waiting.awaits.is_some() {
            waiting.exit_code = exit_code;
            return None;
        }
        let WaitingCall { call, has_changed, .. } = self.waiting.remove(index)?;
        self.settle(&call.id);
        let mut result = CallResult::report(at, call, exit_code);
        result.has_changed &= !has_changed;
        Some(result)
    }

    /// Takes the changes that a waiting patch will make.
    pub(super) fn take_changes(&mut self, call_id: &str) -> Option<Vec<Change>> {
        let index = self.position(call_id)?;
        match &mut self.waiting.get_mut(index)?.call.work {
            Work::Patch(changes) => Some(std::mem::take(changes)),
            _ => None,
        }
    }

    pub(super) fn is_waiting(&self, call_id: &str) -> bool {
        self.position(call_id).is_some()
    }

    pub(super) fn is_settled(&self, call_id: &str) -> bool {
        let call_id = short_id(call_id);
        self.settled.iter().any(|settled| settled == call_id)
    }

    /// Records that a call's outcome is known or does not matter.
    pub(super) fn settle(&mut self, call_id: &str) {
        let id = short_id(call_id);
        self.waiting.retain(|waiting| waiting.call.id != id);
        self.note_settled(call_id);
    }

    /// Records that later reports of the call are to be ignored.
    pub(super) fn note_settled(&mut self, call_id: &str) {
        let call_id = short_id(call_id);
        push_bounded(&mut self.settled, call_id.to_owned(), limits::PENDING_CALLS);
    }

    fn position(&self, call_id: &str) -> Option<usize> {
        let call_id = short_id(call_id);
        self.waiting.iter().rposition(|waiting| waiting.call.id == call_id)
    }

    fn bytes(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.call.bytes()).sum()
    }
}

/// Whether git failed and a filter of its output did not: `git ls-remote | sed` ends with the exit code of `sed`.
fn is_fatal(printed: &str, call: &Call) -> bool {
    printed.trim_start().starts_with("fatal: ")
        && shell::commands(&call.what).last().is_some_and(|command| command.is_piped)
}

#[cfg(test)]
mod tests;
