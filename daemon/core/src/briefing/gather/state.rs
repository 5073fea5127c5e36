//! The state of the work as quotes: git, the task list, command output, running calls.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::answer;
use super::super::checks::Census;
use super::super::checks::Commands;
use super::super::collect::{SeenOutput, TurnOutcome};
use super::super::coverage;
use super::super::git::{self, GitLine};
use super::super::kinds::EvidenceKind;
use super::super::select::Quote;
use super::super::tasks;
use super::super::warnings;
use super::{Builder, first_of, listing};
use crate::text;

/// Outputs up to this length are quoted whole; of longer ones, lines of at least and at most this many bytes.
const ANSWER_BYTES: usize = 160;
const LINE_BYTES_MIN: usize = 6;
const LINE_BYTES: usize = 160;

/// First and last lines of a long output to choose from: the start identifies it, the end holds its result.
const LINES_FIRST: usize = 10;
const LINES_LAST: usize = 10;

/// Strength of a warning.
const WARNING_STRENGTH: u16 = 110;

/// Strength of the newest output, which the agent has not acted on yet, and its first and last lines that
/// have it.
const UNREAD_STRENGTH: u16 = 260;
const UNREAD_LINES: usize = 3;

/// Maximum bytes of an unanswered edit.
const PENDING_BYTES: usize = 900;

/// Maximum uncommitted files to name.
const UNCOMMITTED_SHOWN: usize = 12;

/// A view of at least this many tokens always lists the next tasks.
const TASKS_TOKENS: u64 = 1_500;
const TASKS_NEXT: u16 = 3;

/// Lines that may follow the agent's closing question, such as options.
const LINES_AFTER: usize = 6;

impl<'a> Builder<'a> {
    pub(super) fn git(&mut self) {
        let now = self.briefing.turn();
        let git = &self.briefing.commands.git;
        // A report may still name the newest replaced commits.
        let newest: Vec<&str> = git.replaced.iter().rev().take(3).map(String::as_str).collect();
        if !newest.is_empty() {
            let text = format!("replaced by later commits, gone: {}", newest.join(", "));
            self.push(EvidenceKind::Git, (u64::MAX, 0), (0, 50), text);
        }
        for (index, line) in git.lines.iter().enumerate() {
            let head = git.head(&line.place);
            let is_old = head.is_some_and(|head| index + 1 < head) && !line.text.starts_with('[');
            let strength = match () {
                () if is_old || line.text.ends_with("(forced update)") => 30,
                // The latest output of git is the current state.
                () if index + 4 >= git.lines.len() => 140,
                () if line.text.starts_with('[') || line.text.starts_with(git::PUSHED) => 100,
                () => 60,
            };
            let is_elsewhere = line.place.is_empty()
                && git::branch_of_commit(&line.text).is_some_and(|on| git.branch() != Some(on));
            let mark = match () {
                () if head != Some(index) => "",
                () if is_elsewhere => " (the newest commit made, on another branch than now)",
                () => " (newest commit)",
            };
            let age = usize::try_from(now.saturating_sub(line.turn)).unwrap_or(2);
            let order = (line.seq, index as u64);
            let from = if git::is_log_line(&line.text) { "log: " } else { "" };
            let place = match line.place.as_str() {
                "" => String::new(),
                place => format!("in {place}: "),
            };
            let text = match line.text.strip_prefix(git::UNCOMMITTED) {
                Some(listed) => {
                    let own = |path: &str| self.briefing.effects.of(path).is_some();
                    let listed = git::first_of_listed(listed, own, UNCOMMITTED_SHOWN);
                    format!("{place}{}{}{listed}", git::UNCOMMITTED, self.edited_since(line))
                }
                None => format!("{place}{from}{}{mark}", line.text),
            };
            self.push(EvidenceKind::Git, order, (age, strength), text);
        }
    }

    /// Names files edited after a status of the working tree.
    fn edited_since(&self, line: &GitLine) -> String {
        let since = self.briefing.effects.since(line.seq);
        if since.is_empty() || !line.place.is_empty() {
            return String::new();
        }
        format!("(edited after it: {}) ", first_of(&since))
    }

    /// Quotes output of the latest commands: short ones whole, lines of longer ones.
    pub(super) fn outputs(&mut self) {
        let now = self.briefing.turn();
        // Output of a file's content is outdated once the file is edited.
        let is_edited = |output: &SeenOutput| {
            let since = self.briefing.effects.since(output.seq);
            let names = |path: &&str| output.what.contains(*path) || output.text.contains(*path);
            since.iter().any(names)
        };
        let is_open = self.briefing.outcome(now) == TurnOutcome::Open;
        let newest = self.briefing.outputs.back().map(|output| output.seq).filter(|_| is_open);
        let percent = if self.is_small() { 50 } else { 100 };
        let commands = &self.briefing.commands;
        let is_newest = |output: &SeenOutput| newest == Some(output.seq);
        let visible = |output: &&SeenOutput| !is_settled(commands, output, is_newest(output));
        for output in self.briefing.outputs.iter().filter(visible) {
            // Warnings of a successful program hold even if the files they name were edited.
            let only_warnings = is_edited(output);
            if only_warnings && (output.has_own_section || !output.what.contains(' ')) {
                continue;
            }
            let age = usize::try_from(now.saturating_sub(output.turn)).unwrap_or(2);
            let name = format!("#{} {}", output.seq, output.what);
            let is_unread = is_newest(output) && output.what.contains(' ');
            if output.text.len() <= ANSWER_BYTES && !only_warnings {
                if output.has_own_section && !is_unread {
                    continue;
                }
                let strength = if is_unread { UNREAD_STRENGTH } else { 110 * percent / 100 };
                let text = format!("{name} → {}", output.text.replace('\n', " | "));
                self.push(EvidenceKind::Seen, (output.seq, 0), (age, strength), text);
                continue;
            }
            if let Some(names) = listing::names(&output.text).filter(|_| !only_warnings) {
                let strength = if is_unread { UNREAD_STRENGTH } else { 60 * percent / 100 };
                let text = format!("{name} → {names}");
                self.push(EvidenceKind::Seen, (output.seq, 0), (age, strength), text);
                continue;
            }
            let lines =
                output.text.lines().map(str::trim).filter(|line| line.len() > LINE_BYTES_MIN);
            // A single line of a file says less than a line of a command's answer.
            let is_secondary = output.has_own_section || !output.what.contains(' ');
            let strength = if is_secondary { 35 } else { 55 };
            let lines: Vec<&str> = lines.collect();
            let (first, last) = (LINES_FIRST, lines.len().saturating_sub(LINES_LAST));
            let is_of_program = output.what.contains(' ');
            for (at, line) in lines.iter().enumerate() {
                let warns = is_of_program && warnings::warns(line);
                if !warns && (only_warnings || (first..last).contains(&at)) {
                    continue;
                }
                let text = text::one_line_cut(line, LINE_BYTES);
                let index = at as u64 + 1;
                let is_edge = at < UNREAD_LINES || at + UNREAD_LINES >= lines.len();
                let strength = match () {
                    () if is_unread && is_edge => UNREAD_STRENGTH,
                    () if warns => WARNING_STRENGTH * percent / 100,
                    () => strength * percent / 100,
                };
                self.push(EvidenceKind::Seen, (output.seq, index), (age, strength), text);
                self.label(name.clone(), "");
            }
        }
    }

    /// Shows what unanswered patches would change, since their outcome is unknown.
    pub(super) fn pending_edits(&mut self) {
        for running in &self.briefing.running {
            for edit in running.edits.iter().filter(|edit| !edit.added.is_empty()) {
                let added = text::one_line_cut(&edit.added, PENDING_BYTES);
                let text = format!("#{} would add to {}: {added}", running.seq, edit.path);
                self.push(EvidenceKind::Now, (2, running.seq + 1), (0, 40), text);
            }
        }
        if let Some((seq, edit)) = &self.briefing.refused {
            let stays: HashSet<&str> = edit.removed.lines().collect();
            let added = edit.added.lines().filter(|line| !stays.contains(line));
            let added = added.collect::<Vec<&str>>().join("\n");
            let added = text::one_line_cut(&added, PENDING_BYTES);
            let text = format!("#{seq} was refused; it would have added to {}: {added}", edit.path);
            self.push(EvidenceKind::Now, (2, *seq), (0, 40), text);
        }
    }

    pub(super) fn tasks(&mut self) {
        let Some((path, tasks)) = self.briefing.tasks.current() else { return };
        let done = tasks.iter().filter(|task| task.is_done).count();
        let open = tasks.len() - done;
        let is_outdated = self.briefing.tasks.is_outdated(path);
        let changed = if is_outdated { "; a command changed the file since" } else { "" };
        let of = |is_done| {
            let items: Vec<_> = tasks.iter().copied().filter(|it| it.is_done == is_done).collect();
            match tasks::ranges(&items).as_str() {
                "" => String::new(),
                ranges => format!(" ({ranges})"),
            }
        };
        let (ticked, left) = (of(true), of(false));
        let is_only_read = !self.briefing.tasks.is_edited(path);
        let changed = match changed {
            "" if is_only_read => "; only read here, not changed",
            changed => changed,
        };
        let at_least = if self.briefing.tasks.is_full() { "at least " } else { "" };
        self.push(
            EvidenceKind::TaskItem,
            (0, 0),
            (0, 110),
            format!(
                "{path}: of the items seen {at_least}{done} ticked{ticked}, {open} open{left}{changed}"
            ),
        );
        let has_room = self.max_tokens >= TASKS_TOKENS;
        if let Some(counts) = self.candidates.last_mut() {
            counts.is_fixed = open > 0 && has_room;
        }
        let mut ahead = 0;
        for (order, task) in (1..).zip(&tasks) {
            let mark = if task.is_done { "x" } else { " " };
            ahead += u16::from(!task.is_done);
            // The next item matters most; later items can be read in the file.
            let strength = match task.is_done {
                // In a completed list the count suffices.
                true if open == 0 || is_only_read => 5,
                true => 40,
                false => 240_u16.saturating_sub(20 * ahead).max(if is_only_read { 5 } else { 45 }),
            };
            let text = format!("[{mark}] {}", task.text);
            self.push(EvidenceKind::TaskItem, (order, 0), (0, strength), text);
            let is_next = !task.is_done && ahead <= TASKS_NEXT;
            if let Some(task) = self.candidates.last_mut() {
                task.is_fixed = is_next && !is_outdated && has_room;
            }
        }
    }

    pub(super) fn now(&mut self) {
        let text = self.census(self.briefing.commands.census);
        self.push_fixed(EvidenceKind::Now, (0, 0), text);
        self.waits_for_person();
        if let Some((seq, intention)) = &self.briefing.intention {
            let text = format!("thought last, not said (#{seq}): {intention}");
            self.push(EvidenceKind::Now, (3, 1), (0, 60), text);
        }
        for running in &self.briefing.running {
            let text = {
                let is_of_now = running.seq >= self.briefing.active().0;
                let state = match (running.is_known_running, is_of_now) {
                    (true, true) => "still running at the last look",
                    (true, false) => "in an earlier turn, running when it was last looked at",
                    (false, true) => "no result yet",
                    (false, false) => "in an earlier turn, no result seen",
                };
                let printed = match running.printed.as_str() {
                    "" => String::new(),
                    printed => format!("; printed so far: {}", text::one_line(printed)),
                };
                format!("{state}: #{} {}{printed}", running.seq, self.short(&running.what))
            };
            self.push(EvidenceKind::Now, (2, running.seq), (0, 60), text);
        }
        if self.briefing.outcome(self.briefing.turn()) == TurnOutcome::Open {
            let is_running =
                |id: &str| self.briefing.running.iter().any(|running| running.call_id == id);
            let ended = self.briefing.actions.iter().filter(|action| !is_running(&action.call_id));
            let ended: Vec<_> = ended.collect();
            for (order, action) in (0..).zip(&ended) {
                let text = format!("last action: {}", self.short(&action.text));
                let strength = if self.is_small() { 8 } else { 25 };
                self.push(EvidenceKind::Now, (1, order), (0, strength), text);
            }
            // The last completed action marks where the work stopped.
            if let Some(newest) = self.candidates.last_mut().filter(|_| !ended.is_empty()) {
                newest.is_fixed = true;
            }
        }
    }

    /// Moves the closing question or offer of the agent's last words to NOW.
    fn waits_for_person(&mut self) {
        let now = self.briefing.turn();
        let has_spoken = self.briefing.pending_words().next().is_some()
            || self.briefing.outcome(now) == TurnOutcome::Answered;
        let last = format!("turn {now}");
        let is_of_last = |quote: &Quote<'_>| {
            quote.kind == EvidenceKind::Report
                && (quote.group == last || quote.group == format!("{last}, last words"))
        };
        let newest =
            self.candidates.iter().filter(|quote| is_of_last(quote)).map(|quote| quote.order).max();
        let Some((seq, _)) = newest.filter(|_| has_spoken) else { return };
        let said = |quote: &Quote<'_>| is_of_last(quote) && quote.order.0 == seq;
        let asking = self.candidates.iter().rposition(|quote| {
            said(quote)
                && (answer::asks(&quote.text) || answer::offers(&quote.text))
                && !quote.text.starts_with('|')
        });
        let Some(asking) = asking else { return };
        // Only a question near the end is still open; an offer must be the very last line.
        let (what, most) = match answer::asks(&self.candidates[asking].text) {
            true => ("asked", LINES_AFTER),
            false => ("offered", 1),
        };
        if self.candidates[asking + 1..].iter().filter(|quote| said(quote)).count() > most {
            return;
        }
        let quote = self.candidates.remove(asking);
        self.push_fixed(
            EvidenceKind::Now,
            (3, 0),
            format!("{what} the person at the end: {}", quote.text),
        );
    }

    /// Shortens the middle of a command in a small view.
    fn short<'t>(&self, command: &'t str) -> Cow<'t, str> {
        if self.is_small() { text::cut_middle(command, 560) } else { Cow::Borrowed(command) }
    }

    /// Lists which kinds of commands were seen and which were not. Scripts may hide commands, so counts would
    /// be wrong.
    fn census(&self, census: Census) -> String {
        let has_only_failed = census.failed_pushes && !census.pushes;
        let kinds = [
            (census.tests, "tests"),
            (census.builds, "builds"),
            (census.lints, "lints"),
            (census.commits, "commits"),
            (census.pushes, if has_only_failed { "pushes that worked" } else { "pushes" }),
        ];
        let list = |is_seen: bool| {
            let of = kinds.iter().filter(|(is_recognized, _)| *is_recognized == is_seen);
            of.map(|(_, what)| *what).collect::<Vec<&str>>().join(", ")
        };
        let tests = self.briefing.commands.checks.iter().rev().find(|check| check.is_test);
        let untested = tests
            .is_some_and(|test| !coverage::changed_since(test, &self.briefing.effects).is_empty());
        let untested = if untested { "; no test seen since the last edit" } else { "" };
        let files = self.extra.files.len();
        let others = match (census.agents, census.programs) {
            (true, true) => " (those of other agents and of scripts not among them)",
            (true, false) => " (those of other agents not among them)",
            (false, true) => " (those that scripts wrote not among them)",
            (false, false) => "",
        };
        let mut words = String::new();
        for (is_seen, title) in [(true, "seen"), (false, "not seen")] {
            match list(is_seen).as_str() {
                "" => {}
                kinds => words.push_str(&format!("{title}: {kinds}; ")),
            }
        }
        format!("{words}changed files seen: {files}{others}{untested}")
    }
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
