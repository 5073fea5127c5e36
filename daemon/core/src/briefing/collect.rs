//! The folded state: collects evidence line by line.

mod calls;
mod edits;
mod printed_diff;
mod read;
mod request;
mod words;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::answer;
use super::chain::Chain;
use super::checks::{Commands, FailedCommand, Failure};
use super::effects::Effects;
use super::evidence::EvidenceLines;
use super::file_edit::FileEdit;
use super::finished::FinishedCommand;
use super::git;
use super::lines;
use super::outcome;
use super::tasks::TaskList;
use crate::paths;
use crate::rollout::output::TestCounts;
use crate::rollout::shell::{self, Joint};
use crate::step::CommandOutcome;
use crate::text;

pub(super) use words::{THOUGHT, report_strength};

/// Maximum turns whose outcome is kept.
const TURNS_MAX: usize = 512;

/// Group of a report that another agent wrote.
pub(super) const ANOTHER_AGENT: &str = "another agent";

/// Opens the folder of a command.
pub(super) const IN: &str = "(in ";

/// Opens a quotation of what a short answer refers to.
pub(super) const ANSWERS: &str = "(in answer to: ";

/// Opens what the person chose or typed in a dialog.
pub(super) const CHOSE: &str = "(in a dialog: ";

/// Opens the name of the template that was sent with typed words.
pub(super) const WITH: &str = "(sent with the template: ";

/// Opens the line of a template that was sent without typed words.
pub(super) const TEMPLATE: &str = "(prompt template: ";

/// Maximum earlier requests kept as typed, and bytes of each.
const EARLIER_MAX: usize = 8;
const EARLIER_BYTES: usize = 4 * 1_024;

/// Maximum bytes of a command to inspect.
const COMMAND_BYTES: usize = 1_024;

/// The folded evidence of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Briefing {
    /// Number of the current turn, from 1; 0 before the first.
    turn: u32,
    /// The latest turns, newest last.
    turns: VecDeque<TurnRecord>,
    pub(super) requests: EvidenceLines,
    pub(super) template: EvidenceLines,
    template_name: String,
    /// The template is a role that the agent plays until the person ends it.
    pub(super) is_role: bool,
    /// The latest message as typed; a template is represented by its name.
    active: ActiveRequest,
    /// Earlier requests, newest last: a rollback returns to one of them.
    earlier: VecDeque<ActiveRequest>,
    pub(super) reports: EvidenceLines,
    pub(super) remarks: EvidenceLines,
    pub(super) documents: EvidenceLines,
    pub(super) rules: EvidenceLines,
    /// The steps of the workflow that was read last.
    pub(super) workflow: EvidenceLines,
    pub(super) added: EvidenceLines,
    /// The agent's words since its last call.
    pending_words: Vec<(u64, String)>,
    pub(super) effects: Effects,
    pub(super) commands: Commands,
    pub(super) tasks: TaskList,
    /// Calls without a result, or that still run.
    pub(super) running: VecDeque<RunningCall>,
    /// Agents in the background that have not reported.
    pub(super) background: VecDeque<RecentCall>,
    /// The last refused edit, until its file is edited or the person types.
    pub(super) refused: Option<(u64, FileEdit)>,
    /// The agent's last calls and their outcomes, newest last.
    pub(super) actions: VecDeque<RecentCall>,
    /// Output of the last commands and reads, newest last.
    pub(super) outputs: VecDeque<SeenOutput>,
    /// What came of older commands, with the command as group and `exit 0` as heading if that is known.
    pub(super) results: EvidenceLines,
    /// The agent's last stated intention in its thoughts, until it speaks or acts.
    pub(super) intention: Option<(u64, String)>,
    /// The last line that the agent said before a call of the running turn.
    pub(super) said_last: Option<(u64, String)>,
    /// Skills that the agent invoked by name.
    skills: VecDeque<String>,
    /// Digests of the lines of earlier messages, to recognize templates.
    seen_lines: VecDeque<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TurnRecord {
    pub number: u32,
    pub outcome: TurnOutcome,
}

/// A request as typed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ActiveRequest {
    pub seq: u64,
    pub text: String,
}

/// How a turn proceeded after its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The turn is running, or ended without a message from the agent.
    Open,
    /// The agent's message is the last entry.
    Answered,
    /// The person stopped it.
    Interrupted,
}

/// A call without its result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct RunningCall {
    pub seq: u64,
    pub call_id: String,
    pub what: String,
    /// What its inline programs are for.
    pub summary: String,
    /// A sub-agent made it: it is none of the thread's last actions.
    pub is_aside: bool,
    /// Program of the main command; empty for a tool.
    pub program: String,
    /// Files it changes if it succeeds.
    pub edits: Vec<FileEdit>,
    /// Files that it changes in a way that is not understood, if it succeeds.
    pub outdated: Vec<String>,
    /// Headings of the temporary files that it writes anew if it succeeds, see [`written_to`].
    pub rewrites: Vec<String>,
    /// It returned an answer but still runs.
    pub is_known_running: bool,
    /// The session by which it is polled.
    pub session: Option<String>,
    /// Its output so far.
    pub printed: String,
}

/// A call of the current turn, or one that started an agent in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecentCall {
    pub seq: u64,
    pub call_id: String,
    pub text: String,
}

/// Output of a call. Redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SeenOutput {
    pub seq: u64,
    pub turn: u32,
    pub what: String,
    pub text: String,
    /// A failure or a check, whose outcome has a section of its own.
    pub has_own_section: bool,
    /// It ended with exit code 0.
    pub is_success: bool,
    /// Only git printed it.
    pub is_of_git: bool,
}

/// A finished command. Redacted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandRun<'a> {
    /// Line of the transcript that records its end.
    pub seq: u64,
    pub call_id: &'a str,
    pub script: &'a str,
    /// The folder it starts in: elsewhere, it describes another tree.
    pub from: Option<&'a str>,
    /// Program of the main command, without wrappers.
    pub program: &'a str,
    /// It only inspects files, git or the machine.
    pub is_look: bool,
    /// It ran outside the agent's sandbox.
    pub is_unconfined: bool,
    pub outcome: CommandOutcome,
    pub counts: Option<TestCounts>,
    /// Without escape sequences.
    pub printed: &'a str,
}

impl Briefing {
    pub(super) fn record_command(&mut self, run: CommandRun<'_>, folder: Option<&str>) {
        let (script, folder_of_git) = git::without_options(without_cd(run.script));
        let entered = || shell::folder_of_last("git", &shell::commands(&script));
        let goes_on = script.contains("cd ") && script.contains("git ");
        let folder_of_git = folder_of_git.or_else(|| goes_on.then(entered).flatten());
        let from = folder_of_git.map(|named| paths::absolute(&named, run.from));
        let place = place_of(from.as_deref().or(run.from), folder);
        let command = lines::tidy(&script, folder, COMMAND_BYTES);
        let has_options = script.len() < without_cd(run.script).len();
        let typed = has_options.then(|| lines::tidy(without_cd(run.script), folder, COMMAND_BYTES));
        let chain = Chain::of(&command);
        let finished = FinishedCommand {
            seq: run.seq,
            turn: self.turn,
            command: &command,
            typed: typed.as_deref().unwrap_or(&command),
            class: chain.class(),
            chain,
            program: run.program,
            is_look: run.is_look,
            is_unconfined: run.is_unconfined,
            outcome: run.outcome,
            counts: run.counts,
            printed: run.printed,
            place: &place,
        };
        let is_silent = run.is_look && run.printed.trim().is_empty();
        let nothing = if is_silent { ", printed nothing" } else { "" };
        self.end_action(run.call_id, &format!("{}{nothing}", outcome::of_line(&finished)));
        self.commands.finish(&finished);
    }

    /// Adds its outcome to a recent call.
    pub(super) fn end_action(&mut self, call_id: &str, outcome: &str) {
        let mut recent = self.actions.iter_mut().rev();
        if let Some(action) = recent.find(|action| action.call_id == call_id) {
            action.text.push_str(&format!(" → {outcome}"));
        }
    }

    /// Ends the turn; the agent finished or the person interrupted it.
    pub(super) fn end_turn(&mut self, is_interrupted: bool, folder: Option<&str>) {
        (self.intention, self.said_last) = (None, None);
        let spoke = !self.pending_words.is_empty();
        self.flush_report(folder);
        if let Some(turn) = self.turns.back_mut() {
            if is_interrupted {
                turn.outcome = TurnOutcome::Interrupted;
            } else if spoke && turn.outcome == TurnOutcome::Open {
                turn.outcome = TurnOutcome::Answered;
            }
        }
    }

    /// Removes the messages of the last turns. Their edits and commands remain.
    pub(super) fn roll_back(&mut self, turns: u64, folder: Option<&str>) {
        self.flush_report(folder);
        let turns = u32::try_from(turns).unwrap_or(u32::MAX);
        if turns == 0 {
            return;
        }
        (self.intention, self.said_last, self.refused) = (None, None, None);
        let kept = self.turn.saturating_sub(turns);
        for lines in [&mut self.requests, &mut self.reports, &mut self.remarks, &mut self.template]
        {
            lines.retain(|line| line.turn <= kept);
        }
        self.turns.retain(|turn| turn.number <= kept);
        self.turn = kept;
        let back = usize::try_from(turns).unwrap_or(usize::MAX).saturating_sub(1);
        self.earlier.truncate(self.earlier.len().saturating_sub(back));
        self.active = self.earlier.pop_back().unwrap_or_default();
    }

    /// Whether a command of git named the branch.
    pub fn has_branch(&self) -> bool {
        self.commands.git.branch().is_some()
    }

    /// The number of the current turn.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// How a turn proceeded; one that is no longer kept counts as answered.
    pub fn outcome(&self, turn: u32) -> TurnOutcome {
        let known = self.turns.iter().rev().find(|known| known.number == turn);
        known.map_or(TurnOutcome::Answered, |known| known.outcome)
    }

    /// Whether the agent answered in a later turn.
    pub(super) fn is_answered_after(&self, turn: u32) -> bool {
        let mut later = self.turns.iter().filter(|known| known.number > turn);
        later.any(|known| known.outcome == TurnOutcome::Answered)
    }

    /// The latest failures, newest last.
    pub fn failures(&self) -> impl Iterator<Item = Failure<'_>> {
        self.commands.failures.iter().map(FailedCommand::summary)
    }

    /// Seq and text of the last request.
    pub(super) fn active(&self) -> (u64, &str) {
        (self.active.seq, &self.active.text)
    }

    /// The request that an answer goes on with, or the one before if nothing was said of it yet.
    pub(super) fn before_active(&self) -> Option<&ActiveRequest> {
        if answer::only_answers(&self.active.text) {
            let says_more =
                |it: &&ActiveRequest| !it.text.is_empty() && !answer::only_answers(&it.text);
            return self.earlier.iter().rev().find(says_more);
        }
        let before = self.turn.saturating_sub(1);
        let is_open =
            self.outcome(before) != TurnOutcome::Answered && !self.is_answered_after(before);
        self.earlier.back().filter(|_| is_open)
    }

    /// The transcript line of the request before the active one; 0 if there is none.
    pub(super) fn request_before(&self) -> u64 {
        self.earlier.back().map_or(0, |it| it.seq)
    }

    pub(super) fn template_name(&self) -> &str {
        &self.template_name
    }
}

/// The folder to display, if it is outside the thread's folder or a worktree in it.
fn place_of(from: Option<&str>, folder: Option<&str>) -> String {
    let (Some(from), Some(folder)) = (from, folder) else { return String::new() };
    let below = from.strip_prefix(folder.trim_end_matches('/'));
    // A sibling's name may begin with that of the folder.
    match below.filter(|below| below.is_empty() || below.starts_with('/')) {
        Some(below) if !below.contains("worktree") => String::new(),
        _ => lines::tidy(from, Some(folder), 120),
    }
}

/// A script without its leading `cd`.
fn without_cd(script: &str) -> &str {
    let script = script.trim();
    if !script.starts_with("cd ") {
        return script;
    }
    match shell::parts(script).as_slice() {
        [first, next, ..] if first.after == Some(Joint::And) => &script[next.at..],
        _ => script,
    }
}

/// The heading of a text that was written to a temporary file, short enough to be kept whole.
pub(super) fn written_to(path: &str) -> String {
    format!("wrote to hand on in {}", text::cut_middle(path, 80))
}
