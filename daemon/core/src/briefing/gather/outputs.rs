//! The output of the latest commands as quotes.

use super::super::chain::Chain;
use super::super::checks::{Check, Commands};
use super::super::collect::{Briefing, SeenOutput, TurnOutcome};
use super::super::kinds::EvidenceKind;
use super::super::listing;
use super::super::spot::Spot;
use super::super::warnings;
use super::{Builder, OUTDATED};
use crate::step::CommandOutcome;
use crate::text;

/// Maximum bytes of an output that is quoted whole, and of one of a single line. Of longer ones, lines of at least and at
/// most so many bytes are quoted.
const ANSWER_BYTES: usize = 160;
const ANSWER_LINE_BYTES: usize = 400;
const LINE_BYTES_MIN: usize = 6;
const LINE_BYTES: usize = 160;

/// First and last lines of a long output to choose from: the start identifies it, the end holds its result.
const LINES_FIRST: usize = 10;
const LINES_LAST: usize = 10;

/// The newest output of a command in the running turn is what the agent goes on from: the strength of its lines if it has
/// at most so many.
const NEXT_LINES: usize = 40;
const NEXT_STRENGTH: u16 = 110;

/// Strength of a line between those.
const INNER_STRENGTH: u16 = 2;

/// The age of an output: of the running turn, or of an earlier one.
const NOW: usize = 0;
const EARLIER: usize = 2;

/// Strength of a warning.
const WARNING_STRENGTH: u16 = 110;

/// Maximum outputs that the agent has not acted on yet, bytes of all of them, and bytes in a small view.
const UNREAD_MAX: usize = 4;
const UNREAD_BYTES: usize = 1_200;
const UNREAD_BYTES_SMALL: usize = 240;

/// Maximum lines of a record, and records of which an output is a list.
const RECORD_LINES_MAX: usize = 6;
const RECORDS_MIN: usize = 3;

impl<'a> Builder<'a> {
    /// Quotes output of the latest commands: short ones whole, lines of longer ones.
    pub(super) fn outputs(&mut self) {
        let now = self.briefing.turn();
        let unread: Vec<u64> = self.unread_outputs().take(UNREAD_MAX).map(|it| it.seq).collect();
        let percent = if self.is_small() { 50 } else { 100 };
        let (briefing, commands) = (self.briefing, &self.briefing.commands);
        let newest = briefing.outputs.iter().rev().find(|output| !output.is_of_git);
        let newest = newest.filter(|output| self.is_of_now(output));
        let newest = newest.map(|output| output.seq);
        let is_newest = |output: &SeenOutput| newest == Some(output.seq);
        let visible = |output: &&SeenOutput| {
            !output.is_of_git
                && !unread.contains(&output.seq)
                && !is_settled(commands, output, is_newest(output))
                && !is_overtaken(briefing, output)
        };
        for output in self.briefing.outputs.iter().filter(visible) {
            // Warnings of a successful program hold even if the files they name were edited.
            let is_outdated = is_edited(briefing, output);
            if is_outdated && (output.has_own_section || !output.what.contains(' ')) {
                continue;
            }
            let only_warnings = is_outdated || !is_newest(output) && has_passed(commands, output);
            // RAN has the results of earlier turns; what they are from fills the room that is left.
            let age = if output.turn == now { NOW } else { EARLIER };
            // GIT has most of what matters later.
            let is_besides_git = output.what.contains("git ") && !is_newest(output);
            let percent = if is_besides_git { percent * 2 / 5 } else { percent };
            let mark = if self.host.outdated.contains(&output.what) { OUTDATED } else { "" };
            let name = format!("#{} {}{mark}", output.seq, output.what);
            let is_one_line = !output.text.trim().contains('\n') && output.what.contains(' ');
            let most = if is_one_line { ANSWER_LINE_BYTES } else { ANSWER_BYTES };
            if output.text.len() <= most && !only_warnings {
                if output.has_own_section && !is_newest(output) || age == EARLIER {
                    continue;
                }
                let text = format!("{name} → {}", output.text.replace('\n', " | "));
                let weight = (age, 110 * percent / 100);
                self.push(EvidenceKind::Seen, (output.seq, 0), weight, text);
                continue;
            }
            let names = listing::names(&output.text).filter(|_| !only_warnings);
            if let Some(names) = names {
                if age == EARLIER {
                    continue;
                }
                let (text, weight) = (format!("{name} → {names}"), (age, 60 * percent / 100));
                self.push(EvidenceKind::Seen, (output.seq, 0), weight, text);
                continue;
            }
            // A single line of a file says less than a line of a command's answer.
            let is_secondary = output.has_own_section || !output.what.contains(' ');
            let is_short = || output.text.lines().nth(NEXT_LINES).is_none();
            let is_next = is_newest(output) && !is_secondary && is_short();
            let strength = match () {
                () if is_next => NEXT_STRENGTH,
                () if is_secondary => 35,
                () => 55,
            };
            let weight = (age, strength * percent / 100, WARNING_STRENGTH * percent / 100);
            self.output_lines(output, &name, only_warnings, weight);
        }
    }

    /// The outputs that the agent has not acted on, which it goes on from: those of its last calls.
    fn unread_outputs(&self) -> impl Iterator<Item = &'a SeenOutput> {
        let last_call = self.briefing.actions.back().map_or(0, |call| call.seq);
        let newest = self.briefing.outputs.iter().rev();
        let newest = newest.take_while(move |it| self.is_of_now(it) && it.seq > last_call);
        newest.filter(|output| !is_failed_look(output))
    }

    fn is_of_now(&self, output: &SeenOutput) -> bool {
        let now = self.briefing.turn();
        output.turn == now && self.briefing.outcome(now) == TurnOutcome::Open
    }

    /// What the last calls printed, below them in NOW. `shown` is what the line of the last one says of that.
    pub(super) fn printed_last(&mut self, order: u64, shown: &str) {
        let unread: Vec<&SeenOutput> = self.unread_outputs().take(UNREAD_MAX).collect();
        let bytes = if self.is_small() { UNREAD_BYTES_SMALL } else { UNREAD_BYTES };
        let (mut room, mut left) = (bytes, unread.len());
        for output in unread.into_iter().rev() {
            let lines = output.text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let lines = lines.map(|words| words.join(" ")).filter(|line| has_words(line));
            let printed = lines.collect::<Vec<_>>().join(" | ");
            let printed = text::cut_middle(&printed, room / left.max(1));
            (room, left) = (room - printed.len(), left - 1);
            if shown.ends_with(&*printed) {
                continue;
            }
            let is_file = !output.what.contains(' ');
            let of = if is_file { format!(" {}", output.what) } else { String::new() };
            let text = format!("it printed (#{}{of}): {printed}", output.seq);
            self.push_now((1, order), text);
        }
    }

    /// Quotes the first and the last lines of a long output, and its warnings.
    fn output_lines(
        &mut self,
        output: &SeenOutput,
        name: &str,
        only_warnings: bool,
        (age, strength, of_warning): (usize, u16, u16),
    ) {
        let is_of_program = output.what.contains(' ');
        let lines = with_records(&output.text);
        let (first, last) = (LINES_FIRST, lines.len().saturating_sub(LINES_LAST));
        let is_outer = |at: usize| !(first..last).contains(&at);
        for (at, (line, record)) in lines.iter().enumerate() {
            let record = if is_of_program && !only_warnings { *record } else { 0 };
            let warns = is_of_program && warnings::warns(line);
            let is_of_outer = || {
                let of_record = |at: usize| record > 0 && lines[at].1 == record;
                is_outer(at) || (0..lines.len()).any(|other| of_record(other) && is_outer(other))
            };
            if !warns && only_warnings {
                continue;
            }
            let strength = match () {
                () if warns => of_warning,
                () if is_of_outer() => strength,
                () => INNER_STRENGTH,
            };
            let index = at as u64 + 1;
            let text = text::one_line_cut(line, LINE_BYTES);
            let quote = self.push(EvidenceKind::Seen, (output.seq, index), (age, strength), text);
            quote.label(name.to_owned(), "");
            let number = u32::try_from(index).unwrap_or_default();
            quote.spot = Spot { at: number, goes_on: at + 1 < lines.len(), ..Spot::default() };
            quote.unit = record;
        }
    }
}

/// The lines of an output that say something. In a list of records, blocks of a few lines, each has the number of its
/// record: lines of different ones below each other would read as one.
fn with_records(text: &str) -> Vec<(&str, u32)> {
    let (mut lines, mut block) = (Vec::new(), 1);
    for line in text.lines().map(str::trim) {
        block += u32::from(line.is_empty());
        if says_something(line) {
            lines.push((line, block));
        }
    }
    let blocks = || lines.chunk_by(|one, next| one.1 == next.1);
    let is_record = |block: &[(&str, u32)]| (2..=RECORD_LINES_MAX).contains(&block.len());
    let records = blocks().filter(|block| is_record(block)).count();
    let are_many = records >= RECORDS_MIN && records * 2 > blocks().count();
    for block in lines.chunk_by_mut(|one, next| one.1 == next.1) {
        if !are_many || !is_record(block) {
            block.iter_mut().for_each(|(_, record)| *record = 0);
        }
    }
    lines
}

/// Whether the output quotes a file that was edited since, or a search found nothing below a folder in
/// which something was.
fn is_edited(briefing: &Briefing, output: &SeenOutput) -> bool {
    let since = briefing.effects.since(output.seq);
    let searched = output.what.split_whitespace().filter(|_| is_failed_look(output));
    let searched = searched.map(|word| word.trim_matches(['"', '\'']).trim_end_matches('/'));
    let mut searched = searched.filter(|word| !word.is_empty());
    since.iter().any(|path| output.what.contains(path) || output.text.contains(path))
        || searched.any(|folder| since.iter().any(|path| is_below(path, folder)))
}

/// Whether a look that found nothing no longer matters: its turn is over, or what it looked for was found
/// since.
fn is_overtaken(briefing: &Briefing, output: &SeenOutput) -> bool {
    if !is_failed_look(output) {
        return false;
    }
    let later = briefing.outputs.iter().filter(|later| later.seq > output.seq);
    let mut later = later.filter(|later| !is_failed_look(later));
    let words = output.what.split_whitespace();
    let names = words.map(|word| word.trim_matches(['"', '\'']).rsplit('/').next());
    let names =
        names.flatten().filter(|name| name.len() > 4 && name.rfind('.').is_some_and(|at| at > 0));
    let names: Vec<&str> = names.collect();
    output.turn < briefing.turn() && briefing.is_answered_after(output.turn.saturating_sub(1))
        || !names.is_empty()
            && later.any(|later| {
                let is_in = |name: &&str| later.what.contains(name) || later.text.contains(name);
                names.iter().any(is_in)
            })
}

/// Whether a search or a read found nothing: `exit 1, printed nothing`.
fn is_failed_look(output: &SeenOutput) -> bool {
    !output.has_own_section && output.text.starts_with("exit ")
}

pub(super) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a line is worth quoting alone.
fn says_something(line: &str) -> bool {
    line.len() > LINE_BYTES_MIN && has_words(line)
}

/// Whether a line has words or is a number: `461 }` and `-----` say nothing.
fn has_words(line: &str) -> bool {
    let words = line.trim_start_matches(|c: char| c.is_ascii_digit());
    words.is_empty() && !line.is_empty() || words.contains(char::is_alphanumeric)
}

/// Whether the output is that of checks only, and they passed: CHECKS says so.
fn has_passed(commands: &Commands, output: &SeenOutput) -> bool {
    let mut checks = commands.checks.iter().filter(|check| check.seq == output.seq).peekable();
    let passed = |check: &Check| {
        let counts = check.result.contains(" passed, 0 failed");
        check.outcome == CommandOutcome::Exit(0) || counts && !check.outcome.is_failure()
    };
    checks.peek().is_some() && checks.all(passed) && Chain::of(&output.what).only_checks()
}

/// Whether the outcome alone suffices: the failure was fixed, or the check is listed.
fn is_settled(commands: &Commands, output: &SeenOutput, is_newest: bool) -> bool {
    let of_check = commands.checks.iter().any(|check| check.seq == output.seq);
    if of_check || !output.has_own_section {
        return false;
    }
    let failure = commands.failures.iter().find(|it| it.seq == output.seq);
    failure.map_or(!is_newest, |failure| failure.repair.is_some() || failure.is_usable)
}
