//! The lines of each section, with their rank. None of them knows the budget, but the request's.

use std::collections::HashSet;

use super::super::commands::Command;
use super::super::files::{File, FileState};
use super::super::plan::StepState;
use super::super::printed::Printed;
use super::super::requests::{Outcome, Request};
use super::super::semantic::{Dependency, Evidence, Update};
use super::super::staleness::{self, Standing};
use super::draft::{Line, Place};
use super::{HEADER, Scene, ViewCaps};
use crate::limits;
use crate::rollout::shell::Class;
use crate::text::{cut, cut_chars, cut_middle, one_line};

/// Bytes of a command shown only to say where names are from.
const SOURCE_BYTES: usize = 28;

/// The header, most telling form first.
pub(super) fn header(scene: &Scene<'_>) -> Vec<String> {
    let mut forms = Vec::new();
    let cwd = scene.state.cwd.as_deref().filter(|cwd| cwd.len() <= limits::PATH_BYTES);
    match (scene.thread_id, cwd) {
        (Some(thread), Some(cwd)) => forms.push(format!("{HEADER}\nthread={thread} cwd={cwd}")),
        (Some(thread), None) => forms.push(format!("{HEADER}\nthread={thread}")),
        (None, Some(cwd)) => forms.push(format!("{HEADER}\ncwd={cwd}")),
        (None, None) => {}
    }
    forms.push(HEADER.to_owned());
    forms
}

/// The request being worked on: verbatim up to `bytes`, a longer one without its middle in
/// `cut_bytes`.
pub(super) fn task(scene: &Scene<'_>, bytes: usize, cut_bytes: usize) -> Vec<Line> {
    let Some(active) = scene.state.requests.active() else { return Vec::new() };
    let mark = match active.outcome {
        Outcome::Open => "",
        Outcome::Answered => "(answered; wait for what is asked next) ",
        Outcome::Interrupted => "(interrupted by the user) ",
    };
    let mark = if mark.len() * 3 > bytes { "" } else { mark };
    let fixed = mark.len() + "- ".len();
    let is_whole = active.text.len() + fixed <= bytes;
    let room = if is_whole { bytes } else { bytes.min(cut_bytes) };
    let text = cut_middle(&active.text, room.saturating_sub(fixed));
    vec![Line::new(0, format!("- {mark}{text}"))]
}

/// Earlier requests, newest ranked first, in the order they were made.
pub(super) fn earlier(scene: &Scene<'_>) -> Vec<Line> {
    let line = |(age, request): (usize, &Request)| {
        let mark = match request.outcome {
            Outcome::Answered => "done",
            Outcome::Interrupted => "interrupted",
            Outcome::Open => "left",
        };
        Line::new(age as u64, format!("- [{mark}] {}", cut(&one_line(&request.text), 140)))
    };
    let mut lines: Vec<Line> = scene.state.requests.earlier().enumerate().map(line).collect();
    lines.reverse();
    lines
}

/// Files that were changed, newest first. When their lines would take more than `bytes`, counts and
/// hashes are left out; what became of each is not.
pub(super) fn changed(scene: &Scene<'_>, bytes: usize) -> Vec<Line> {
    let all = scene.state.files.newest();
    let changed = all.into_iter().filter(|(_, file)| file.state.is_change());
    let lines = |words: fn(&Scene<'_>, &str, &File) -> String| -> Vec<Line> {
        let line = |(age, (key, file)): (usize, (&str, &File))| {
            let text = format!("- {} ({})", shown_path(scene, key, file), words(scene, key, file));
            Line::at(age as u64, Place::File(key.to_owned()), text)
        };
        changed.clone().enumerate().map(line).collect()
    };
    let full = lines(file_words);
    let is_short = full.iter().map(|line| line.text.len() + 1).sum::<usize>() <= bytes;
    if is_short { full } else { lines(brief_words) }
}

/// Bytes that the line of [`more_changed`] takes at most.
pub(super) const MORE_BYTES: usize = 64;

/// Stands for changed files that have no room.
pub(super) fn more_changed(files: usize) -> Line {
    Line::new(0, format!("- {files} more changed before these; checkpoint/get lists them"))
}

/// State, count, hash and standing of a file.
pub(super) fn file_words(scene: &Scene<'_>, key: &str, file: &File) -> String {
    let mut words = file.state.word().to_owned();
    if file.changes > 1 {
        words.push_str(&format!(" {}x", file.changes));
    }
    if let Some(hash) = &file.hash {
        words.push_str(&format!(", hash={}", hash.short()));
    }
    words + standing_words(scene, key, file)
}

fn brief_words(scene: &Scene<'_>, key: &str, file: &File) -> String {
    file.state.word().to_owned() + standing_words(scene, key, file)
}

fn standing(scene: &Scene<'_>, key: &str, file: &File) -> Standing {
    let expected = file.state != FileState::Deleted;
    staleness::standing(file.hash.as_ref(), expected, scene.disk.get(key))
}

fn price_words(printed: Option<Printed>, priced: bool) -> String {
    match printed.filter(|printed| priced && printed.is_long()) {
        Some(printed) => format!(", {}", printed.words()),
        None => String::new(),
    }
}

fn standing_words(scene: &Scene<'_>, key: &str, file: &File) -> &'static str {
    match standing(scene, key, file) {
        Standing::Changed => ", changed on disk since",
        Standing::Gone => ", gone from disk",
        Standing::Unchanged | Standing::Unverified => "",
    }
}

/// Plan steps in order; open ones rank before done ones, the last done first.
pub(super) fn plan(scene: &Scene<'_>, caps: &ViewCaps) -> Vec<Line> {
    let mut steps: Vec<(String, String, StepState)> = Vec::new();
    match &scene.semantics.plan {
        Some((seq, proposed, done)) if *seq >= scene.state.plan.seq => {
            steps.extend(proposed.iter().map(|step| {
                let is_done = done.get(&step.id).copied().unwrap_or(false);
                let state = if is_done { StepState::Done } else { StepState::Open };
                (step.id.clone(), step.text.clone(), state)
            }));
        }
        _ => {
            let own = scene.state.plan.steps.iter();
            steps.extend(own.map(|step| (step.id.clone(), step.text.clone(), step.state)));
        }
    }
    let done_total = steps.iter().filter(|step| step.2 == StepState::Done).count();
    let (mut open, mut done) = (0, 0);
    let mut lines = Vec::new();
    for (index, (id, text, state)) in steps.iter().enumerate() {
        let text = cut_chars(text, caps.max_value_chars);
        let (mark, note, rank) = match state {
            StepState::Done => {
                done += 1;
                if done_total - done >= caps.max_done_plan_steps {
                    continue;
                }
                ("x", "", 1_000 - index as u64)
            }
            StepState::InProgress | StepState::Open => {
                open += 1;
                if open > caps.max_open_plan_steps {
                    continue;
                }
                let is_current = *state == StepState::InProgress;
                (" ", if is_current { ", in progress" } else { "" }, index as u64)
            }
        };
        lines.push(Line::new(rank, format!("- [{mark}] {text} (id={id}{note})")));
    }
    lines
}

/// Facts whose files changed or cannot be seen.
pub(super) fn facts_suspect(scene: &Scene<'_>, caps: &ViewCaps) -> Vec<Line> {
    facts(scene, caps, false, caps.max_facts_suspect)
}

/// Facts that hold.
pub(super) fn facts_valid(scene: &Scene<'_>, caps: &ViewCaps) -> Vec<Line> {
    facts(scene, caps, true, caps.max_facts_valid)
}

fn facts(scene: &Scene<'_>, caps: &ViewCaps, valid: bool, most: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (key, (seq, update)) in &scene.semantics.facts {
        let Update::Fact { value, evidence, depends_on, .. } = update else { continue };
        let suspect = depends_on.iter().find(|dep| !dependency_holds(scene, dep));
        if suspect.is_none() != valid || lines.len() >= most {
            continue;
        }
        let value = cut_chars(value, caps.max_value_chars);
        let why = match suspect {
            Some(dep) => format!("why=SUSPECT dep={}", dep.uri),
            None => format!("evidence={} deps={}", evidence_words(evidence), depends_on.len()),
        };
        let newest_first = u64::MAX - seq;
        lines.push(Line::new(newest_first, format!("- {key}: {value} ({why})")));
    }
    lines
}

/// A dependency holds if its content is known, then and now, and the same (document 002 §7).
pub fn dependency_holds(scene: &Scene<'_>, dependency: &Dependency) -> bool {
    let key = super::super::files::key(&dependency.uri, scene.state.cwd.as_deref());
    let now = scene.disk.get(&key).map(|disk| &disk.now);
    match (now, &dependency.hash) {
        (Some(staleness::Now::Content(now)), Some(then)) => now == then,
        _ => false,
    }
}

/// Decisions that stand, newest ranked first, in the order they were made.
pub(super) fn decisions(scene: &Scene<'_>, caps: &ViewCaps) -> Vec<Line> {
    let all = &scene.semantics.decisions;
    let skipped = all.len().saturating_sub(caps.max_decisions);
    let mut lines = Vec::new();
    for (seq, update) in &all[skipped..] {
        let Update::Decision { decision_id, decision, rationale, supersedes, evidence, .. } =
            update
        else {
            continue;
        };
        let decision = cut_chars(decision, caps.max_value_chars);
        let rationale = cut_chars(rationale, caps.max_value_chars);
        let supersedes =
            supersedes.as_ref().map(|id| format!(" supersedes={id}")).unwrap_or_default();
        let evidence = evidence_words(evidence);
        let text = format!(
            "- {decision} — {rationale} (id={decision_id}{supersedes} evidence={evidence})"
        );
        lines.push(Line::new(u64::MAX - seq, text));
    }
    lines
}

fn evidence_words(evidence: &Evidence) -> String {
    format!("{}:{}", evidence.source.word(), cut(&evidence.reference, 80))
}

/// What failed, newest ranked first, `bytes` at most each; what has worked since only if it is the
/// newest, and after the others.
pub(super) fn errors(scene: &Scene<'_>, bytes: usize, priced: bool) -> Vec<Line> {
    let failures = scene.state.errors.iter().rev();
    let mut lines: Vec<Line> = failures
        .enumerate()
        .filter(|(age, failure)| !failure.resolved || *age == 0)
        .map(|(age, failure)| {
            let fixed = if failure.resolved { " (has worked since)" } else { "" };
            let what = cut(&failure.what, bytes / 3);
            // The thread stands in the header: `<thread>#<seq>` gives all that was printed.
            let printed = Printed { seq: failure.seq, tokens: failure.tokens };
            let handle = match (priced, failure.tokens) {
                (false, _) => String::new(),
                (true, 0) => format!(" #{}", failure.seq),
                (true, _) => format!(" {}", printed.words()),
            };
            let text = format!("- {what}{handle}{fixed}: {}", one_line(&failure.text));
            // What works by now is told only where room is left.
            let rank = age + usize::from(failure.resolved) * limits::ERRORS;
            Line::new(rank as u64, cut(&text, bytes).into_owned())
        })
        .collect();
    lines.reverse();
    lines
}

/// Commands that did something, by how likely they run again, cut to `bytes` each. `priced` ones
/// tell where what they printed stands and what it costs, if it was long.
pub(super) fn commands(
    scene: &Scene<'_>,
    caps: &ViewCaps,
    bytes: usize,
    priced: bool,
) -> Vec<Line> {
    let doing = scene.state.commands.newest().filter(|command| !command.is_look);
    let mut lines: Vec<Line> = doing
        .take(caps.max_recent_artifacts)
        .map(|command| {
            let rank = u64::MAX - command_score(command, scene.state.seq);
            Line::at(rank, Place::Command(command.seq), command_line(scene, command, bytes, priced))
        })
        .collect();
    // Scripts that a program was handed look alike: the newest one stands for all.
    let mut told = HashSet::new();
    lines.retain(|line| told.insert(line.text.clone()));
    lines
}

/// The newest `most` commands that only looked, newest first, cut to `bytes` each. What they printed
/// stands with the file: there it is known whether the file has changed since.
pub(super) fn looks(scene: &Scene<'_>, most: usize, bytes: usize) -> Vec<Line> {
    let looks = scene.state.commands.newest().filter(|command| command.is_look);
    let line = |(age, command): (usize, &Command)| {
        Line::new(age as u64, command_line(scene, command, bytes, false))
    };
    looks.take(most).enumerate().map(line).collect()
}

/// Often and lately run before once and long ago, and tests before all else: how they ended says
/// where the work stands.
pub(super) fn command_score(command: &Command, now: u64) -> u64 {
    let is_test = command.tests.is_some() || Class::of(&command.text) == Class::Test;
    let weight = 4 + 4 * u64::from(command.runs.min(5)) + 8 * u64::from(is_test);
    weight * 1_000_000 / (60 + now.saturating_sub(command.seq))
}

/// The path as seen from the thread's folder, which the header names.
pub(super) fn shown_path<'a>(scene: &Scene<'a>, key: &'a str, file: &'a File) -> &'a str {
    let cwd = scene.state.cwd.as_deref();
    // A relative path that the agent wrote is shown as it wrote it, unless it wrote it elsewhere.
    let is_here = !file.path.starts_with('/') && super::super::files::key(&file.path, cwd) == key;
    below_cwd(scene, if is_here { &file.path } else { key })
}

/// A path without the thread's folder, when it is below it.
pub(super) fn below_cwd<'a>(scene: &Scene<'a>, path: &'a str) -> &'a str {
    let cwd = scene.state.cwd.as_deref();
    let rest = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// A file that was not changed. A `priced` one that was read tells whether it is still as it was
/// then, and what the reading costs.
pub(super) fn file_line(scene: &Scene<'_>, key: &str, file: &File, priced: bool) -> Line {
    let mut words = file_words(scene, key, file);
    if priced && file.state == FileState::Read {
        let standing = standing(scene, key, file);
        words.push_str(if standing == Standing::Unchanged { ", unchanged" } else { "" });
        words.push_str(&price_words(file.printed, priced));
    }
    let text = format!("- file: {} ({words})", shown_path(scene, key, file));
    Line::at(0, Place::File(key.to_owned()), text)
}

/// Says where names are from when the command itself has no line.
pub(super) fn source_of(scene: &Scene<'_>, seq: u64) -> String {
    match scene.state.commands.newest().find(|command| command.seq == seq) {
        Some(command) => {
            let line = one_line(script_head(scene, &command.text));
            format!("- from `{}`", cut(&line, SOURCE_BYTES))
        }
        None => format!("- from #{seq}"),
    }
}

/// A command and how it ended. Entering the thread's own folder first is left out, and so is the
/// body of a heredoc: the file it wrote has a line of its own.
fn command_line(scene: &Scene<'_>, command: &Command, bytes: usize, priced: bool) -> String {
    let mut words = command.outcome.words();
    if let Some(tests) = command.tests {
        words.push_str(&format!(", {} passed {} failed", tests.passed, tests.failed));
    }
    if command.runs > 1 {
        words.push_str(&format!(", {}x", command.runs));
    }
    words.push_str(&price_words(command.printed, priced));
    let line = one_line(script_head(scene, &command.text));
    let line = cut(&line, bytes);
    match words.trim_start_matches(", ") {
        "" => format!("- cmd: {line}"),
        words => format!("- cmd: {line} ({words})"),
    }
}

/// The telling part of a script.
pub(super) fn script_head<'a>(scene: &Scene<'_>, script: &'a str) -> &'a str {
    let own_folder = scene.state.cwd.as_deref().and_then(|cwd| {
        let rest = script.strip_prefix("cd ")?.strip_prefix(cwd)?.trim_start();
        Some(rest.strip_prefix("&&")?.trim_start())
    });
    let script = own_folder.unwrap_or(script);
    match script.split_once('\n') {
        Some((first, _)) if first.contains("<<") => first,
        _ => script,
    }
}

/// The agent's last words.
pub(super) fn words(scene: &Scene<'_>) -> Vec<Line> {
    let newest = scene.state.notes.back();
    newest
        .map(|note| Line::new(0, format!("- {}", cut(&one_line(&note.text), 300))))
        .into_iter()
        .collect()
}
