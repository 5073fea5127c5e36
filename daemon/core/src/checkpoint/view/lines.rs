//! The host's knowledge as lines: the plan, changed files with their state on disk, accepted facts and
//! decisions.

use std::collections::HashSet;

use super::super::commands::Command;
use super::super::file_standing::Standing;
use super::super::files::{File, FileState};
use super::super::output_ref::OutputRef;
use super::super::plan::PlanState;
use super::super::semantic::{Evidence, Update};
use super::{HEADER, ViewCaps, ViewInputs};
use crate::briefing::ChangedFile;
use crate::limits;
use crate::paths;
use crate::quote;
use crate::rollout::shell;
use crate::text::{cut, cut_chars, cut_middle, one_line};

/// Maximum bytes of a command.
const COMMAND_BYTES: usize = 160;

/// The header, most detailed form first.
pub(super) fn header(inputs: &ViewInputs<'_>) -> Vec<String> {
    let mut forms = Vec::new();
    let cwd = inputs.state.cwd.as_deref().filter(|cwd| cwd.len() <= limits::PATH_BYTES);
    let cwd = cwd.map(quote::line);
    // What git itself printed is in the view.
    let branch = inputs.state.git_branch.as_deref().filter(|_| !inputs.state.briefing.has_branch());
    let branch = branch.map(|name| format!(" branch={}", quote::line(name))).unwrap_or_default();
    let cwd = cwd.map(|cwd| format!("{cwd}{branch}"));
    match (inputs.thread_id.map(quote::line), cwd) {
        (Some(thread), Some(cwd)) => forms.push(format!("{HEADER}\nthread={thread} cwd={cwd}")),
        (Some(thread), None) => forms.push(format!("{HEADER}\nthread={thread}")),
        (None, Some(cwd)) => forms.push(format!("{HEADER}\ncwd={cwd}")),
        (None, None) => {}
    }
    forms.push(HEADER.to_owned());
    forms
}

/// Changed files, newest first.
pub(super) fn changed(inputs: &ViewInputs<'_>) -> Vec<ChangedFile> {
    let all = inputs.state.files.newest().into_iter();
    let changed = all.filter(|(key, file)| file.state.is_change() && !paths::is_scratch_file(key));
    let line = |(key, file): (&str, &File)| ChangedFile {
        path: shown_path(inputs, key, file).to_owned(),
        words: file_words(inputs, key, file),
    };
    changed.map(line).collect()
}

/// The state of a file, the number of changes, and its state on disk.
fn file_words(inputs: &ViewInputs<'_>, key: &str, file: &File) -> String {
    let mut words = file.state.into_str().to_owned();
    match file.state {
        FileState::Created if file.changes > 1 => {
            words.push_str(&format!(", changed {}x", file.changes - 1));
        }
        FileState::Edited if file.changes > 1 => words.push_str(&format!(" {}x", file.changes)),
        _ => {}
    }
    words.push_str(standing_words(inputs, key, file, ""));
    words
}

/// Files that changed on disk, or are gone, since the thread last saw or wrote them.
pub(super) fn outdated(inputs: &ViewInputs<'_>) -> Vec<String> {
    let files = inputs.state.files.newest().into_iter().filter(|(key, file)| {
        matches!(file.standing(inputs.disk.get(*key)), Standing::Changed | Standing::Gone)
    });
    files.map(|(key, file)| shown_path(inputs, key, file).to_owned()).collect()
}

fn standing_words(
    inputs: &ViewInputs<'_>,
    key: &str,
    file: &File,
    unchanged: &'static str,
) -> &'static str {
    match file.standing(inputs.disk.get(key)) {
        Standing::Changed => ", changed on disk since",
        Standing::Gone => ", gone from disk",
        Standing::Unchanged => unchanged,
        Standing::Unverified => "",
    }
}

/// Commands that have an effect and are not checks, newest first, with their outcomes.
pub(super) fn ran(inputs: &ViewInputs<'_>, caps: &ViewCaps) -> Vec<(u64, String)> {
    let commands = inputs.state.commands.newest();
    // Answers in a dialog are shown among the person's words.
    let is_dialog = |command: &Command| {
        command.text.split(' ').next().is_some_and(crate::rollout::dialog::asks)
    };
    let did =
        commands.filter(|command| !command.is_look && !command.is_check && !is_dialog(command));
    let lines = did.filter_map(|command| Some((command.seq, command_line(command)?)));
    let mut lines: Vec<(u64, String)> = lines.take(caps.max_recent_artifacts).collect();
    // Inline scripts look alike: show only the newest.
    let mut seen = HashSet::new();
    lines.retain(|(_, line)| seen.insert(line.clone()));
    lines
}

/// `None` if the script only writes files, which have lines of their own.
fn command_line(command: &Command) -> Option<String> {
    let done = without_setup(&command.text)?;
    let mut words = command.outcome.words();
    if command.runs > 1 {
        words.push_str(&format!(", {}x", command.runs));
    }
    words.push_str(&price_words(command.printed));
    // A command's target is its end.
    let line = cut_middle(&done, COMMAND_BYTES);
    Some(match words.trim_start_matches(", ") {
        "" => line.into_owned(),
        words => format!("{line} ({words})"),
    })
}

/// Files that were read or searched, newest first, and whether each is unchanged.
pub(super) fn looked_at(inputs: &ViewInputs<'_>, caps: &ViewCaps) -> Vec<String> {
    let files = inputs.state.files.newest().into_iter();
    let looked =
        files.filter(|(_, file)| matches!(file.state, FileState::Read | FileState::Searched));
    let line = |(key, file): (&str, &File)| {
        let mut words = file.state.into_str().to_owned();
        if file.state == FileState::Read {
            words.push_str(standing_words(inputs, key, file, ", unchanged"));
            words.push_str(&price_words(file.printed));
        }
        format!("{} ({words})", shown_path(inputs, key, file))
    };
    looked.take(caps.max_recent_artifacts).map(line).collect()
}

/// The cost of reading a long output again.
fn price_words(printed: Option<OutputRef>) -> String {
    match printed.filter(|printed| printed.is_long()) {
        Some(printed) => format!(", {}", printed.words()),
        None => String::new(),
    }
}

/// A script without the parts that write files or set variables.
fn without_setup(script: &str) -> Option<String> {
    let gist = shell::gist(script);
    let sets = |list: &str| {
        let is_one = !list.contains(' ') || list.contains("=$(") && list.ends_with(')');
        is_one && list.split(' ').next().is_some_and(shell::is_assignment)
    };
    let writes = |list: &str| {
        let last = shell::parts(list).last().map_or(list, |part| part.text);
        last.starts_with("cat ") && list.contains("<<") && list.contains('>')
    };
    let mut lists = shell::lists(&gist);
    let all = lists.len();
    lists.retain(|list| !sets(list) && !writes(list));
    let done = if lists.len() == all { gist } else { lists.join("; ") };
    let done = one_line(&done).into_owned();
    (!done.is_empty()).then_some(done)
}

/// Plan steps in order, and whether each is open: all open ones and the last completed ones.
pub(super) fn plan(inputs: &ViewInputs<'_>, caps: &ViewCaps) -> Vec<(String, bool)> {
    let mut steps: Vec<(&str, &str, PlanState)> = Vec::new();
    match &inputs.semantics.plan {
        Some((seq, proposed, done)) if *seq >= inputs.state.plan.seq => {
            steps.extend(proposed.iter().map(|step| {
                let is_done = done.get(&step.id).copied().unwrap_or(false);
                let state = if is_done { PlanState::Done } else { PlanState::Open };
                (step.id.as_str(), step.text.as_str(), state)
            }));
        }
        _ => {
            let own = inputs.state.plan.items.iter();
            steps.extend(own.map(|step| (step.id.as_str(), step.text.as_str(), step.state)));
        }
    }
    let done_total = steps.iter().filter(|(.., state)| *state == PlanState::Done).count();
    let (mut open, mut done) = (0, 0);
    let mut lines = Vec::new();
    for (id, text, state) in steps {
        let text = cut_chars(text, caps.max_value_chars);
        let is_done = state == PlanState::Done;
        let is_over = match is_done {
            true => {
                done += 1;
                done_total - done >= caps.max_done_plan_steps
            }
            false => {
                open += 1;
                open > caps.max_open_plan_steps
            }
        };
        if !is_over {
            let mark = if is_done { "x" } else { " " };
            let note = if state == PlanState::InProgress { ", in progress" } else { "" };
            lines.push((format!("[{mark}] {text} (id={id}{note})"), !is_done));
        }
    }
    lines
}

/// Facts whose files changed or cannot be read.
pub(super) fn facts_suspect(inputs: &ViewInputs<'_>, caps: &ViewCaps) -> Vec<String> {
    facts(inputs, caps, false, caps.max_facts_suspect)
}

pub(super) fn facts_valid(inputs: &ViewInputs<'_>, caps: &ViewCaps) -> Vec<String> {
    facts(inputs, caps, true, caps.max_facts_valid)
}

fn facts(inputs: &ViewInputs<'_>, caps: &ViewCaps, valid: bool, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, (_, update)) in &inputs.semantics.facts {
        let Update::Fact { value, evidence, depends_on, .. } = update else { continue };
        let suspect = depends_on.iter().find(|dep| !inputs.holds(dep));
        if suspect.is_none() != valid || lines.len() >= most {
            continue;
        }
        let value = cut_chars(value, caps.max_value_chars);
        let why = match suspect {
            Some(dep) => format!("why=SUSPECT dep={}", dep.uri),
            None => format!("evidence={} deps={}", evidence_words(evidence), depends_on.len()),
        };
        lines.push(format!("fact: {key}: {value} ({why})"));
    }
    lines
}

/// Valid decisions in the order they were made.
pub(super) fn decisions(inputs: &ViewInputs<'_>, caps: &ViewCaps) -> Vec<String> {
    let all = &inputs.semantics.decisions;
    let skipped = all.len().saturating_sub(caps.max_decisions);
    let mut lines = Vec::new();
    for (_, update) in &all[skipped..] {
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
        lines.push(format!(
            "decision: {decision} — {rationale} (id={decision_id}{supersedes} evidence={evidence})"
        ));
    }
    lines
}

fn evidence_words(evidence: &Evidence) -> String {
    format!("{}:{}", evidence.source.into_str(), cut(&evidence.reference, 80))
}

/// The path relative to the thread's folder, which the header names.
fn shown_path<'a>(inputs: &ViewInputs<'a>, key: &'a str, file: &'a File) -> &'a str {
    let cwd = inputs.state.cwd.as_deref();
    // A relative path is shown as the agent wrote it, unless it was written in another folder.
    let is_here = !file.path.starts_with('/') && paths::absolute(&file.path, cwd) == key;
    let path = if is_here { &file.path } else { key };
    let rest = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests;
