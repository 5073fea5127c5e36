//! Commands with what came of them as quotes.

use std::collections::HashMap;

use super::super::agents::is_for_agent;
use super::super::kinds::EvidenceKind;
use super::super::result;
use super::{Builder, checks, outputs};
use crate::text;

/// Strength of a command with a result, of one of which only the exit code is known, and of one that only watches.
const STRENGTH: u16 = 100;
const BARE_STRENGTH: u16 = 60;
const WATCHING_STRENGTH: u16 = 40;
const BARE_WATCHING_STRENGTH: u16 = 15;

/// Strength of a listing of a workflow's steps, which names those to come.
const STEPS_STRENGTH: u16 = 200;

/// The newest commands without a result count in full.
const BARE_NEWEST: usize = 8;

/// Divides the strength in a small view.
const SMALL_DIVISOR: u16 = 10;

/// First bytes of a command that tell it from others.
const HEAD_BYTES: usize = 60;

/// A line that so many commands printed, also before others, comes from the shell's start.
const COMMON_MIN: usize = 3;

/// What came of a command.
struct CommandResult<'a> {
    /// Line of the transcript with its output.
    seq: u64,
    turn: u32,
    command: &'a str,
    /// `exit 0`, or nothing.
    exit: &'a str,
    /// Lines, separated by [`result::BETWEEN`].
    text: String,
}

impl<'a> Builder<'a> {
    /// Quotes the commands of earlier turns, and those of the running one whose output is no longer kept.
    pub(super) fn ran(&mut self) {
        let results = self.results();
        for it in &results {
            // It may quote a file that was edited since, or list a folder in which one was.
            let since = self.briefing.effects.since(it.seq);
            let folders = it.command.split_whitespace().map(|word| word.trim_end_matches('/'));
            let names = |path: &&str| {
                let lists = |folder: &str| !folder.is_empty() && outputs::is_below(path, folder);
                it.command.contains(*path) || it.text.contains(*path) || folders.clone().any(lists)
            };
            let holds = match since.iter().any(names) {
                true => result::warnings_in(&it.text),
                false => Some(it.text.clone()),
            };
            let Some(holds) = holds else { continue };
            let strength = match () {
                () if result::lists_steps(&holds) => STEPS_STRENGTH,
                () if checks::only_watches(it.command) => WATCHING_STRENGTH,
                () => STRENGTH,
            };
            let exit = if it.exit.is_empty() { "" } else { "; " };
            let text = format!("#{} {} → {}{exit}{holds}", it.seq, it.command, it.exit);
            let weight = (self.age_of(it.turn), self.in_view(strength));
            self.push(EvidenceKind::Ran, (it.seq, 0), weight, text);
        }
        for (newer, (seq, line)) in self.host.ran.iter().enumerate() {
            let head = text::prefix(line.rsplit_once(" (").map_or(line, |(it, _)| it), HEAD_BYTES);
            let is_known = results.iter().any(|it| it.command.starts_with(head));
            // What another agent was told, and what it reported, stand elsewhere.
            let is_told = is_for_agent(line) && !line.ends_with("(refused)");
            if is_known || is_told || self.failed(line) || self.runs(line) {
                continue;
            }
            let strength = match () {
                () if checks::only_watches(line) => BARE_WATCHING_STRENGTH,
                () if newer < BARE_NEWEST => BARE_STRENGTH,
                () => BARE_STRENGTH / 2,
            };
            self.push(EvidenceKind::Ran, (*seq, 0), (0, self.in_view(strength)), line);
        }
    }

    fn results(&self) -> Vec<CommandResult<'a>> {
        let (briefing, now) = (self.briefing, self.briefing.turn());
        let older = briefing.results.iter().map(|line| CommandResult {
            seq: line.seq,
            turn: line.turn,
            command: &line.group,
            exit: &line.heading,
            text: line.text.clone(),
        });
        let kept = briefing.outputs.iter();
        let kept = kept.filter(|output| output.turn < now && !output.has_own_section);
        let kept = kept.filter_map(|output| {
            let text = result::of(&output.what, &output.text)?;
            let (command, exit) = (output.what.as_str(), output.exit_words());
            Some(CommandResult { seq: output.seq, turn: output.turn, command, exit, text })
        });
        let mut results: Vec<CommandResult<'a>> = older.chain(kept).collect();
        leave_out_common_lines(&mut results);
        results
    }

    fn in_view(&self, strength: u16) -> u16 {
        if self.is_small() { strength / SMALL_DIVISOR } else { strength }
    }
}

fn leave_out_common_lines(results: &mut Vec<CommandResult<'_>>) {
    // How often each was printed, and whether before others.
    let mut printed: HashMap<String, (usize, bool)> = HashMap::new();
    for result in results.iter() {
        let mut lines = result.text.split(result::BETWEEN).peekable();
        while let Some(line) = lines.next() {
            let known = printed.entry(line.to_owned()).or_default();
            *known = (known.0 + 1, known.1 || lines.peek().is_some());
        }
    }
    let is_common = |line: &str| {
        printed.get(line).is_some_and(|(times, is_before)| *times >= COMMON_MIN && *is_before)
    };
    results.retain_mut(|it| {
        let lines: Vec<&str> =
            it.text.split(result::BETWEEN).filter(|line| !is_common(line)).collect();
        it.text = lines.join(result::BETWEEN);
        !it.text.is_empty()
    });
}
