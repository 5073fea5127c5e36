//! What each compaction of a transcript cost, and the work after it.
//!
//! # Theory of operation
//! *Tokens.* Claude Code reports what was in the window. Codex counts the request of a compaction as any other: the
//! count belongs to it where the answer it counts is the summary itself, that is, where the newest words of the model
//! end the compaction's message. Versions whose counts come before their answers write no answer there.
//! Nothing else is taken for its count.
//!
//! *Time* is what the harness reports; where it reports none, the time between the lines around the request, if the
//! line before is one after which the agent asks its model at once.
//!
//! *After it*, until the next one, calls are counted up to the first edit, and files that were read before and are read
//! again.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::bounded::push_bounded;
use crate::checkpoint::Checkpoint;
use crate::checkpoint::files::FileState;
use crate::digest::Digest128;
use crate::rollout::shell::Use;
use crate::rollout::{Compacted, CompactionReport, Usage, contextual};
use crate::step::{Action, At, NewCall, Step};
use crate::{limits, paths};

/// Lines after a compaction in which the harness may still report it.
const REPORT_LINES: u64 = 16;

/// Tokens of a request to a model, as its provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTokens {
    pub input: u64,
    /// `None` where only the size of the request is recorded.
    pub output: Option<u64>,
}

/// One compaction, as the transcript records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionBill {
    pub seq: u64,
    /// Unix milliseconds; 0 unknown.
    pub at_ms: i64,
    /// A view of ours took the place of the history; else the agent compacted by itself.
    pub is_ours: bool,
    /// Tokens in the window before.
    pub tokens_before: u64,
    /// Of the agent's request for it, where they are recorded.
    pub tokens: Option<RequestTokens>,
    pub duration_ms: Option<u64>,
    pub after: WorkAfterCompaction,
}

/// The work after a compaction, until the next one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkAfterCompaction {
    /// Calls of tools until the first edit, or until now.
    pub actions: u64,
    pub has_edited: bool,
    /// Files read again that had been read before.
    pub reread: u64,
    /// The first of them, as the agent wrote them.
    pub reread_paths: Vec<String>,
}

/// The costs of a thread's compactions. Bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompactionCosts {
    compactions: VecDeque<CompactionBill>,
    /// The newest text of the model, if only its token count follows.
    last_text: Option<LastText>,
    /// The provider's newest count.
    counted: Option<Counted>,
    /// Time of the newest line.
    last_ms: i64,
    /// The agent asks its model next, without waiting for a person.
    awaits: bool,
    /// Reported ahead of the compaction.
    announced: Option<CompactionReport>,
    /// How long the provider keeps what it cached of the newest request.
    cache_lifetime_ms: Option<u64>,
}

/// Text of the model; a summary appears as one before its compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct LastText {
    bytes: usize,
    digest: Digest128,
    seq: u64,
    request_ms: Option<i64>,
}

/// A count that differs from the one before; the harness repeats them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Counted {
    input: u64,
    total: u64,
    seq: u64,
    request_ms: Option<i64>,
    /// No call was made since.
    is_last: bool,
}

impl CompactionCosts {
    /// The newest compactions, oldest first, at most [`limits::COMPACTION_POINTS`].
    pub fn compactions(&self) -> impl DoubleEndedIterator<Item = &CompactionBill> {
        self.compactions.iter()
    }

    /// How long the provider keeps what it cached of the newest request, if the transcript records it.
    pub fn cache_lifetime_ms(&self) -> Option<u64> {
        self.cache_lifetime_ms
    }

    /// Whether the newest compaction is on that line.
    pub(super) fn is_of(&self, seq: u64) -> bool {
        self.compactions.back().is_some_and(|newest| newest.seq == seq)
    }

    /// The agent sends another request to its model.
    pub(super) fn awaits(&mut self) {
        self.awaits = true;
    }

    /// A line was taken in.
    pub(super) fn note_line(&mut self, at: At) {
        if at.ms > 0 {
            self.last_ms = at.ms;
        }
    }

    /// Takes in the next step; `state` is the checkpoint before it.
    pub(super) fn step(&mut self, at: At, step: &Step<'_>, state: &Checkpoint) {
        match step {
            Step::Said(words) => {
                let (bytes, digest) = words.digest();
                self.last_text =
                    Some(LastText { bytes, digest, seq: at.seq, request_ms: self.request_ms() });
                self.awaits = false;
            }
            Step::Called(called) => {
                (self.last_text, self.awaits) = (None, false);
                if let Some(counted) = &mut self.counted {
                    counted.is_last = false;
                }
                self.note_call(called, state);
            }
            Step::Ran { script, .. } => self.note_call(script, state),
            Step::FilesChanged(_) => self.edited(),
            Step::Asked { .. } | Step::Answered(_) => self.awaits = true,
            Step::TurnComplete | Step::TurnInterrupted => self.awaits = false,
            Step::Reported(_)
            | Step::Thought(_)
            | Step::Instructed(_)
            | Step::RolledBack { .. }
            | Step::Compacted(_) => {}
        }
    }

    pub(super) fn reported(&mut self, at: At, usage: &Usage) {
        self.cache_lifetime_ms = usage.cache_lifetime_ms.or(self.cache_lifetime_ms);
        if let Some(report) = usage.compaction {
            let newest = self.compactions.back_mut();
            match newest.filter(|newest| newest.seq + REPORT_LINES >= at.seq) {
                Some(newest) if report.tokens_before.is_none() => {
                    newest.duration_ms = report.duration_ms.or(newest.duration_ms);
                }
                _ => self.announced = report.tokens_before.map(|_| report),
            }
        }
        let (Some(input), Some(total)) = (usage.input_tokens, usage.total_tokens) else { return };
        if self.counted.is_some_and(|known| (known.input, known.total) == (input, total)) {
            return;
        }
        let request_ms = self.request_ms();
        self.counted = Some(Counted { input, total, seq: at.seq, request_ms, is_last: true });
    }

    /// The history was replaced; `tokens_before` were in the window. `is_early`: counts come before their answers.
    pub(super) fn compacted(
        &mut self,
        at: At,
        compacted: &Compacted<'_>,
        tokens_before: u64,
        is_early: bool,
    ) {
        let message = &*compacted.message;
        let is_ours = compacted.is_sealed_view || contextual::is_left_by_us(message);
        let summary = self.last_text.take().filter(|text| text.ends(message));
        let counted = self.counted.filter(|counted| match summary {
            Some(text) => counted.seq > text.seq || is_early && counted.is_last,
            None => is_early && counted.is_last && !message.is_empty(),
        });
        let announced = self.announced.take();
        let request_ms = match (summary, counted) {
            (Some(text), _) => text.request_ms,
            (None, Some(counted)) => counted.request_ms,
            (None, None) => self.request_ms(),
        };
        let measured =
            request_ms.and_then(|request_ms| u64::try_from(at.ms.checked_sub(request_ms)?).ok());
        let reported = announced.and_then(|report| report.duration_ms);
        let tokens = counted.map(|counted| RequestTokens {
            input: counted.input,
            output: Some(counted.total.saturating_sub(counted.input)),
        });
        let announced = announced.and_then(|report| report.tokens_before);
        let announced = announced.map(|input| RequestTokens { input, output: None });
        let bill = CompactionBill {
            seq: at.seq,
            at_ms: at.ms,
            is_ours,
            tokens_before: announced.map_or(tokens_before, |known| known.input),
            tokens: tokens.or(announced).filter(|_| !is_ours),
            duration_ms: reported.or(measured),
            after: WorkAfterCompaction::default(),
        };
        push_bounded(&mut self.compactions, bill, limits::COMPACTION_POINTS);
        self.counted = None;
        self.awaits = true;
    }

    /// Time of the request to the model, if the newest line is what it answers.
    fn request_ms(&self) -> Option<i64> {
        Some(self.last_ms).filter(|ms| self.awaits && *ms > 0)
    }

    fn note_call(&mut self, NewCall { call, action }: &NewCall, state: &Checkpoint) {
        if call.is_aside || matches!(action, Action::Poll) {
            return;
        }
        let Some(newest) = self.compactions.back_mut() else { return };
        let mut reads = Vec::new();
        let mut edits = matches!(action, Action::Patch(changes) if !changes.is_empty());
        match action {
            Action::View { path } => reads.push(path),
            Action::Script(script) => {
                let read = script.uses.iter().filter(|it| it.used == Use::Read);
                reads.extend(read.map(|it| &it.path));
                edits = script.uses.iter().any(|it| FileState::from(it.used).is_change());
            }
            _ => {}
        }
        newest.reread(&reads, call.starts_in(state.cwd.as_deref()).as_deref(), state);
        match edits {
            true => self.edited(),
            false if !newest.after.has_edited => newest.after.actions += 1,
            false => {}
        }
    }

    fn edited(&mut self) {
        if let Some(newest) = self.compactions.back_mut() {
            newest.after.has_edited = true;
        }
    }
}

impl CompactionBill {
    fn reread(&mut self, paths: &[&String], folder: Option<&str>, state: &Checkpoint) {
        let mut keys: Vec<String> = Vec::new();
        for path in paths {
            let key = paths::absolute(path, folder);
            let read = state.files.get(&key).and_then(|file| file.read_seq);
            // What was read since is in the window already.
            if read.is_none_or(|read| read >= self.seq) || keys.contains(&key) {
                continue;
            }
            keys.push(key);
            self.after.reread += 1;
            if self.after.reread_paths.len() < limits::REREAD_NAMES {
                self.after.reread_paths.push((*path).clone());
            }
        }
    }
}

impl LastText {
    fn ends(&self, message: &str) -> bool {
        let message = message.trim_end();
        let summary = message.len().checked_sub(self.bytes).and_then(|at| message.get(at..));
        summary.is_some_and(|summary| Digest128::of(summary.as_bytes()) == self.digest)
    }
}

#[cfg(test)]
mod tests;
