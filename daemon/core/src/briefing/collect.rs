//! The folded state: evidence as it comes in, line after line.

use std::collections::{HashSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::checks::{self, Commands, Finished};
use super::effects::Effects;
use super::evidence::{Line, Lines};
use super::kinds::Kind;
use super::lines::{self, Shape};
use super::tasks::TaskList;
use super::{documents, prompt};
use crate::digest::Digest128;
use crate::rollout::output::TestCounts;
use crate::rollout::shell::Class;
use crate::step::CommandOutcome;
use crate::{limits, text};

/// Turns whose outcome is kept.
const TURNS_MAX: usize = 512;

/// Bytes of what the agent said last that wait for the turn's end: a report, or words on the way.
const PENDING_WORDS_BYTES: usize = 24 * 1_024;

/// Lines of earlier messages that are known again, so that a template is told from typed words.
const SEEN_LINES_MAX: usize = 1_024;

/// Opens what a short answer refers to.
pub(super) const ANSWERS: &str = "(answers: ";

/// Calls without an answer that are kept.
const RUNNING_MAX: usize = 16;

/// Bytes of a typed message up to which it is quoted as one piece.
const WHOLE_REQUEST_BYTES: usize = 500;

/// What is known of a thread for a briefing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Briefing {
    /// Number of the current turn, from 1; 0 before the first.
    turn: u32,
    /// Seq and outcome of the last turns, newest last.
    turns: VecDeque<Turn>,
    pub(super) requests: Lines,
    pub(super) template: Lines,
    template_name: String,
    /// What the person typed last, as typed; a template is named.
    active: String,
    active_seq: u64,
    pub(super) reports: Lines,
    pub(super) remarks: Lines,
    pub(super) documents: Lines,
    pub(super) added: Lines,
    /// What the agent said since its last call.
    pending_words: Vec<(u64, String)>,
    pub(super) effects: Effects,
    pub(super) commands: Commands,
    pub(super) tasks: TaskList,
    /// Calls that were not answered yet, or that still run.
    pub(super) running: VecDeque<Running>,
    /// What the agent did last, newest last: the call, and what came of it.
    pub(super) actions: VecDeque<Action>,
    /// Digests of the lines of earlier messages.
    seen_lines: VecDeque<u32>,
}

/// A turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Turn {
    pub number: u32,
    pub outcome: Outcome,
}

/// How a turn went on after the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// It runs, or ended without a word of the agent.
    Open,
    /// The agent spoke last.
    Answered,
    /// The person stopped it.
    Interrupted,
}

/// A call without its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Running {
    pub seq: u64,
    pub call_id: String,
    pub what: String,
    /// Program of the command that matters; empty for a tool.
    pub program: String,
    /// Files it changes, if it works.
    pub edits: Vec<Edit>,
    /// It was answered, and runs on.
    pub is_known_running: bool,
}

/// A call of the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Action {
    pub call_id: String,
    pub text: String,
}

/// A change of one file. Redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edit {
    /// Below the thread's folder if it is there.
    pub path: String,
    pub added: String,
    pub removed: String,
    /// The added lines are all of the file.
    pub is_whole: bool,
    pub is_deleted: bool,
}

/// A finished command. Redacted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    /// Line of the transcript that tells its end.
    pub seq: u64,
    pub call_id: &'a str,
    pub script: &'a str,
    /// Program of the command that matters, wrappers left out.
    pub program: &'a str,
    pub outcome: CommandOutcome,
    pub counts: Option<TestCounts>,
    /// Escapes removed.
    pub printed: &'a str,
}

impl Briefing {
    /// A message of the person's begins a turn.
    pub(super) fn request(&mut self, seq: u64, message: &str, folder: Option<&str>) {
        self.end_turn(false, folder);
        let digests: Vec<u32> = message
            .lines()
            .map(str::trim)
            .filter(|line| line.len() >= prompt::REPEATED_BYTES_MIN)
            .map(digest)
            .collect();
        let was_seen = |line: &str| self.seen_lines.contains(&digest(line));
        let parsed = prompt::parse(message, was_seen);
        let (typed, name) = (parsed.typed, parsed.name);
        let template = parsed.template.map(str::to_owned);
        self.turn += 1;
        if self.turns.len() >= TURNS_MAX {
            self.turns.pop_front();
        }
        self.turns.push_back(Turn { number: self.turn, outcome: Outcome::Open });
        let last_report: Vec<String> = self.last_report();
        let active =
            if typed.is_empty() { format!("(prompt template: {name})") } else { typed.clone() };
        self.active = text::cut_middle(&active, limits::REQUEST_BYTES).into_owned();
        self.active_seq = seq;
        self.typed(seq, if typed.is_empty() { &name } else { &typed }, typed.is_empty(), folder);
        let report: Vec<&str> = last_report.iter().map(String::as_str).collect();
        for answered in prompt::answered(&typed, &report) {
            let text = format!("{ANSWERS}{})", text::one_line_cut(&answered, 260));
            self.push(Kind::Request, seq, 60, ("", ""), text);
        }
        if let Some(template) = template {
            self.read_template(seq, &name, &template, folder);
        }
        self.seen_lines.extend(digests);
        while self.seen_lines.len() > SEEN_LINES_MAX {
            self.seen_lines.pop_front();
        }
        self.actions.clear();
    }

    fn typed(&mut self, seq: u64, words: &str, is_template: bool, folder: Option<&str>) {
        if is_template {
            return self.push(
                Kind::Request,
                seq,
                45,
                ("", ""),
                format!("(prompt template: {words})"),
            );
        }
        if words.len() <= WHOLE_REQUEST_BYTES {
            let strength = if words.len() > 30 { 100 } else { 50 };
            return self.push(
                Kind::Request,
                seq,
                strength,
                ("", ""),
                text::one_line(words).into_owned(),
            );
        }
        let words = text::cut_middle(words, limits::REQUEST_BYTES);
        let mut is_first = true;
        lines::split(&words, |spoken| {
            let line = lines::tidy(spoken.text, folder, 400);
            let strength = match () {
                () if is_first => 110,
                () if is_data(&line) => 12,
                () if prompt::is_limit(&line) => 75,
                () => 40,
            };
            is_first = false;
            push(
                &mut self.requests,
                Kind::Request,
                (seq, self.turn),
                strength,
                ("", spoken.heading),
                line,
            );
        });
    }

    fn read_template(&mut self, seq: u64, name: &str, template: &str, folder: Option<&str>) {
        self.template.clear();
        name.clone_into(&mut self.template_name);
        let mut seen = 0;
        lines::split(text::prefix(template, 48 * 1_024), |spoken| {
            if let Some(strength) = prompt::step_strength(&spoken)
                && seen < 60
            {
                seen += 1;
                let line = lines::tidy(spoken.text, folder, 220);
                push(
                    &mut self.template,
                    Kind::Template,
                    (seq, self.turn),
                    strength,
                    ("", spoken.heading),
                    line,
                );
            }
        });
    }

    /// Words of the agent: the report of the turn, unless a call follows.
    pub(super) fn words(&mut self, seq: u64, message: &str) {
        if message.trim().is_empty() {
            return;
        }
        let kept: usize = self.pending_words.iter().map(|(_, words)| words.len()).sum();
        if kept < PENDING_WORDS_BYTES {
            let words = text::cut_middle(message, PENDING_WORDS_BYTES / 2).into_owned();
            self.pending_words.push((seq, words));
        }
    }

    /// A summary also stands before its compaction as ordinary words: those were not said to the person.
    pub(super) fn forget_words(&mut self, summary: &str) {
        self.pending_words.retain(|(_, words)| !summary.contains(text::prefix(words, 80)));
    }

    /// What another agent reported, or a summary that a model wrote of earlier work.
    pub(super) fn hear(&mut self, seq: u64, heading: &str, message: &str, folder: Option<&str>) {
        let message = text::cut_middle(message, PENDING_WORDS_BYTES / 2);
        lines::split(&message, |spoken| {
            let strength = if spoken.shape == Shape::Item { 100 } else { 70 };
            let line = lines::tidy(spoken.text, folder, 260);
            push(&mut self.remarks, Kind::Remark, (seq, self.turn), strength, ("", heading), line);
        });
    }

    /// The agent calls a tool: what it said before was said on the way.
    pub(super) fn call(&mut self, running: Running, folder: Option<&str>) {
        self.flush_remarks(folder);
        if let Some(turn) = self.turns.back_mut() {
            turn.outcome = Outcome::Open;
        }
        if self.running.len() >= RUNNING_MAX {
            self.running.pop_front();
        }
        let what = lines::tidy(&running.what, folder, 160);
        if self.actions.len() >= 4 {
            self.actions.pop_front();
        }
        let call_id = running.call_id.clone();
        self.actions.push_back(Action { call_id, text: what.clone() });
        self.running.push_back(Running { what, ..running });
    }

    /// A call has its result; one that runs on stays, and is given as it was.
    pub(super) fn answered(&mut self, call_id: &str, runs_on: bool) -> Option<Running> {
        let index = self.running.iter().rposition(|running| running.call_id == call_id)?;
        if runs_on {
            let running = self.running.get_mut(index)?;
            running.is_known_running = true;
            return Some(running.clone());
        }
        self.running.remove(index)
    }

    /// A command ended.
    pub(super) fn ran(&mut self, run: Run<'_>, folder: Option<&str>) {
        let command = lines::tidy(without_entering(head(run.script)), folder, 400);
        let finished = Finished {
            seq: run.seq,
            turn: self.turn,
            command: &command,
            program: run.program,
            class: Class::of(&command),
            outcome: run.outcome,
            counts: run.counts,
            printed: run.printed,
        };
        let action = self.actions.iter_mut().rev().find(|action| action.call_id == run.call_id);
        if let Some(action) = action {
            action.text.push_str(&format!(" → {}", checks::result(&finished)));
        }
        self.commands.finish(finished);
    }

    /// A file was read.
    pub(super) fn read(&mut self, seq: u64, path: &str, printed: &str) {
        self.tasks.read(seq, path, printed.lines());
        if !documents::is_document(path) {
            return;
        }
        // What tells an agent how to work, rather than what is built, matters less.
        let is_manual =
            path.starts_with('/') || path.contains("SKILL") || path.contains("template");
        let (turn, lines) = (self.turn, &mut self.documents);
        documents::passages(path, printed, |passage| {
            let strength = if is_manual { passage.strength / 2 } else { passage.strength };
            let text = lines::tidy(&passage.text, None, 240);
            push(lines, Kind::Document, (seq, turn), strength, (path, &passage.heading), text);
        });
    }

    /// A file was changed, as line `seq` tells.
    pub(super) fn edited(&mut self, seq: u64, edit: &Edit) {
        let at = (seq, self.turn);
        self.tasks.read(seq, &edit.path, edit.added.lines());
        // What a later edit took out or wrote over does not hold any more.
        let removed: HashSet<String> =
            edit.removed.lines().map(|line| lines::tidy(line, None, 260)).collect();
        let is_gone =
            |line: &Line| edit.is_whole || edit.is_deleted || removed.contains(&line.text);
        self.added.retain(|line| line.group != edit.path || !is_gone(line));
        let effect = self.effects.record(at, &edit.path, &edit.added, &edit.removed);
        effect.is_deleted = edit.is_deleted;
        let added = &mut self.added;
        effect.read(&edit.path, &edit.added, |heading, text, strength| {
            let text = lines::tidy(&text, None, 260);
            push(added, Kind::Added, at, strength, (&edit.path, heading), text);
        });
    }

    /// The turn ended, by itself or by the person.
    pub(super) fn end_turn(&mut self, is_interrupted: bool, folder: Option<&str>) {
        let spoke = !self.pending_words.is_empty();
        self.flush_report(folder);
        if let Some(turn) = self.turns.back_mut() {
            if is_interrupted {
                turn.outcome = Outcome::Interrupted;
            } else if spoke && turn.outcome == Outcome::Open {
                turn.outcome = Outcome::Answered;
            }
        }
    }

    /// The person took back the last turns: what was said in them is void. What was done stays done.
    pub(super) fn roll_back(&mut self, turns: u64, folder: Option<&str>) {
        self.flush_report(folder);
        let turns = u32::try_from(turns).unwrap_or(u32::MAX);
        let kept = self.turn.saturating_sub(turns);
        for lines in [&mut self.requests, &mut self.reports, &mut self.remarks, &mut self.template]
        {
            lines.retain(|line| line.turn <= kept);
        }
        self.turns.retain(|turn| turn.number <= kept);
        self.turn = kept;
        let last = self
            .requests
            .iter()
            .filter(|line| line.turn == kept && !line.text.starts_with(ANSWERS));
        let last: Vec<&str> = last.map(|line| line.text.as_str()).collect();
        self.active = last.join("\n");
        self.active_seq = self.requests.iter().next_back().map_or(0, |line| line.seq);
    }

    /// The number of the current turn.
    pub(super) fn turn(&self) -> u32 {
        self.turn
    }

    pub(super) fn outcome(&self, turn: u32) -> Outcome {
        let known = self.turns.iter().rev().find(|known| known.number == turn);
        known.map_or(Outcome::Answered, |known| known.outcome)
    }

    /// Line and words of the last request.
    pub(super) fn active(&self) -> (u64, &str) {
        (self.active_seq, &self.active)
    }

    pub(super) fn template_name(&self) -> &str {
        &self.template_name
    }

    /// What the agent said since its last call, which is the report of a turn that ended or is about to.
    pub(super) fn pending_words(&self) -> impl Iterator<Item = (u64, &str)> {
        self.pending_words.iter().map(|(seq, words)| (*seq, words.as_str()))
    }

    fn last_report(&self) -> Vec<String> {
        let Some(turn) = self.reports.iter().next_back().map(|line| line.turn) else {
            return Vec::new();
        };
        let of = self.reports.iter().filter(|line| line.turn == turn);
        of.map(|line| line.text.clone()).collect()
    }

    fn flush_report(&mut self, folder: Option<&str>) {
        let turn = self.turn;
        for (seq, words) in std::mem::take(&mut self.pending_words) {
            let mut is_first = true;
            lines::split(&words, |spoken| {
                let strength = report_strength(spoken.shape, is_first, spoken.text);
                is_first = false;
                let line = lines::tidy(spoken.text, folder, 420);
                push(
                    &mut self.reports,
                    Kind::Report,
                    (seq, turn),
                    strength,
                    ("", spoken.heading),
                    line,
                );
            });
        }
    }

    fn flush_remarks(&mut self, folder: Option<&str>) {
        let turn = self.turn;
        for (seq, words) in std::mem::take(&mut self.pending_words) {
            lines::split(&words, |spoken| {
                let line = lines::tidy(spoken.text, folder, 260);
                push(&mut self.remarks, Kind::Remark, (seq, turn), 100, ("", ""), line);
            });
        }
    }

    fn push(&mut self, kind: Kind, seq: u64, strength: u16, place: (&str, &str), text: String) {
        let at = (seq, self.turn);
        let lines = match kind {
            Kind::Request => &mut self.requests,
            _ => &mut self.remarks,
        };
        push(lines, kind, at, strength, place, text);
    }
}

/// Items and bold words carry results; the first line says what the message is about; code rarely says anything.
pub(super) fn report_strength(shape: Shape, is_first: bool, text: &str) -> u16 {
    match shape {
        Shape::Code => 40,
        Shape::Item | Shape::Row => 110,
        Shape::Prose if is_first || text.contains("**") => 110,
        Shape::Prose => 75,
    }
}

fn push(
    lines: &mut Lines,
    kind: Kind,
    (seq, turn): (u64, u32),
    strength: u16,
    (group, heading): (&str, &str),
    text: String,
) {
    if text.is_empty() {
        return;
    }
    let heading = text::cut_words(heading, 80).into_owned();
    let line = Line { seq, turn, strength, group: group.to_owned(), heading, text };
    lines.push(line, kind.rule().bytes_max);
}

/// A quarter of the line's digest is enough to know it again.
fn digest(line: &str) -> u32 {
    u32::try_from(Digest128::of(line.as_bytes()).0 >> 96).unwrap_or_default()
}

/// Whether a line was pasted from data or code rather than typed.
fn is_data(line: &str) -> bool {
    line.starts_with(['"', '{', '}', '[', ']', '<'])
        || line.ends_with(['{', ';', ','])
        || line.contains("\": ")
}

/// A script without the body of a here-document.
fn head(script: &str) -> &str {
    match script.split_once('\n') {
        Some((first, _)) if first.contains("<<") => first,
        _ => script,
    }
}

/// A script without the entering of a folder at its beginning.
fn without_entering(script: &str) -> &str {
    let script = script.trim();
    match script.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
        Some((folder, rest)) if !folder.contains(';') => rest.trim_start(),
        _ => script,
    }
}
