//! The state of the work as quotes: git, the task list, running calls.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::agents::is_for_agent;
use super::super::answer;
use super::super::checks::Census;
use super::super::collect::{CHOSE, RunningCall, TurnOutcome};
use super::super::coverage;
use super::super::documents;
use super::super::git::{self, GitLine};
use super::super::kinds::EvidenceKind;
use super::super::select::Quote;
use super::{Builder, first_of};
use crate::rollout::shell::Class;
use crate::text;

/// Maximum bytes of an unanswered edit.
const PENDING_BYTES: usize = 900;

/// Maximum uncommitted files to name.
const UNCOMMITTED_SHOWN: usize = 12;

/// Maximum commits of one log: older ones only show how messages are written.
const LOG_SHOWN: usize = 5;

/// Strength of a commit of the running turn, which no report names yet.
const MADE_NOW_STRENGTH: u16 = 250;

/// A view of at least this many tokens always names the branch.
const BRANCH_TOKENS: u64 = 1_000;

/// Files to name that scripts may have written.
const NAMED_BY_SCRIPTS: usize = 4;

/// Lines that may follow the agent's closing question, such as options.
const LINES_AFTER: usize = 6;

/// Maximum bytes of what another agent was told: its prompt stands elsewhere.
const TOLD_BYTES: usize = 160;

/// Whether the thread made the commit.
fn is_made(line: &GitLine) -> bool {
    line.text.starts_with('[') || line.text.starts_with(git::UNNAMED)
}

/// Whether the thread made or pushed what the line names.
fn is_own(line: &GitLine) -> bool {
    is_made(line) || line.text.starts_with(git::PUSHED)
}

impl<'a> Builder<'a> {
    pub(super) fn git(&mut self) {
        let now = self.briefing.turn();
        let git = &self.briefing.commands.git;
        // A report may still name replaced commits; else the newest ones say enough.
        let newest = git.replaced.iter().rev().map(String::as_str);
        let named = newest.clone().filter(|id| {
            let id = text::prefix(id, 7);
            self.briefing.reports.iter().any(|line| line.text.contains(id))
                || self.briefing.pending_words().any(|(_, words)| words.contains(id))
        });
        let named: Vec<&str> = named.collect();
        let gone = if named.is_empty() { newest.take(3).collect() } else { named };
        if !gone.is_empty() {
            let text = format!("replaced by later commits, gone: {}", gone.join(", "));
            self.push(EvidenceKind::Git, (u64::MAX, 0), (0, 50), text);
        }
        let has_own = git.lines.iter().any(is_own);
        for (index, line) in git.lines.iter().enumerate() {
            let head = git.head(&line.place);
            let is_made = is_made(line);
            let is_old = head.is_some_and(|head| index + 1 < head) && !is_made;
            let is_listed =
                |later: &&GitLine| later.seq == line.seq && git::is_log_line(&later.text);
            let newer = git.lines.iter().skip(index + 1).filter(is_listed).count();
            if git::is_log_line(&line.text) && newer >= LOG_SHOWN {
                continue;
            }
            let strength = match () {
                () if is_old || line.text.ends_with("(forced update)") => 30,
                // What the thread did says more than the commits of others.
                () if has_own && head != Some(index) && git::is_log_line(&line.text) => 30,
                () if is_made && line.turn == now => MADE_NOW_STRENGTH,
                // The latest output of git is the current state.
                () if index + 4 >= git.lines.len() || head == Some(index) => 140,
                () if is_own(line) => 100,
                () => 60,
            };
            let is_elsewhere = line.place.is_empty()
                && git::branch_of_commit(&line.text).is_some_and(|on| git.branch() != Some(on));
            let mark = match () {
                () if head != Some(index) => "",
                () if is_elsewhere => " (the newest commit made, on another branch than now)",
                () => " (newest commit)",
            };
            let age = self.age_of(line.turn);
            let is_of_log = git::is_log_line(&line.text);
            let order = (line.seq, index as u64);
            let from = if is_of_log { "log: " } else { "" };
            let place = match line.place.as_str() {
                "" => String::new(),
                place => format!("in {place}: "),
            };
            let text = match line.text.strip_prefix(git::UNCOMMITTED) {
                Some(listed) => format!("{place}{}", self.uncommitted(line, listed)),
                None if mark.is_empty() || is_elsewhere => {
                    format!("{place}{from}{}{mark}", line.text)
                }
                None => format!("{place}{from}{}{mark}{}", line.text, self.edited_after(line)),
            };
            // A command that entered the branch names it as well, so that it would count as said.
            let is_branch = line.place.is_empty() && git::is_branch_state(&line.text);
            let is_head = head == Some(index) && !self.is_small();
            self.push(EvidenceKind::Git, order, (age, strength), text).is_fixed =
                (is_branch || is_head) && self.max_tokens >= BRANCH_TOKENS;
        }
    }

    /// Names the most important uncommitted files, when git listed them, and what was edited since.
    fn uncommitted(&self, line: &GitLine, listed: &str) -> String {
        let own = |path: &str| self.briefing.effects.of(path).is_some();
        let listed = git::first_of_listed(listed, own, UNCOMMITTED_SHOWN);
        let looked = match line.turn < self.briefing.turn() {
            true => format!("{} (turn {}): ", git::UNCOMMITTED.trim_end_matches(": "), line.turn),
            false => git::UNCOMMITTED.to_owned(),
        };
        format!("{looked}{}{listed}", self.edited_since(line))
    }

    /// Names files edited after a status of the working tree.
    fn edited_since(&self, line: &GitLine) -> String {
        let since = self.briefing.effects.since(line.seq);
        if since.is_empty() || !line.place.is_empty() {
            return String::new();
        }
        format!("(edited after it: {}) ", first_of(&since))
    }

    /// Names files edited after the newest commit, unless a later status of the working tree names them.
    fn edited_after(&self, commit: &GitLine) -> String {
        let mut states = self.briefing.commands.git.lines.iter();
        let is_status = |line: &GitLine| {
            line.seq >= commit.seq
                && line.place == commit.place
                && line.text.starts_with(git::UNCOMMITTED)
        };
        if states.any(is_status) {
            return String::new();
        }
        format!(" {}", self.edited_since(commit)).trim_end().to_owned()
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

    pub(super) fn now(&mut self) {
        let text = self.census(self.briefing.commands.census);
        self.push(EvidenceKind::Now, (0, 0), (0, 100), text).is_fixed = true;
        self.waits_for_person();
        if let Some((seq, intention)) = &self.briefing.intention {
            let text = format!("thought last, not said (#{seq}): {intention}");
            self.push(EvidenceKind::Now, (3, 1), (0, 60), text);
        }
        self.said_last();
        // What had no result before the request before is of no use now.
        let before = self.briefing.request_before();
        let is_gone = |call: &&RunningCall| !call.is_known_running && call.seq < before;
        for running in self.briefing.running.iter().filter(|call| !is_gone(call)) {
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
                let session = running.session.iter().map(|id| format!(" (session {id})"));
                let session = session.collect::<String>();
                let what = self.short(&running.what);
                let summary = match running.summary.as_str() {
                    "" => String::new(),
                    summary => format!(" ({summary})"),
                };
                format!("{state}{session}: #{} {what}{summary}{printed}", running.seq)
            };
            self.push(EvidenceKind::Now, (2, running.seq), (0, 60), text);
        }
        for agent in &self.briefing.background {
            let text =
                format!("in the background, not reported yet: #{} {}", agent.seq, agent.text);
            self.push_now((2, agent.seq), text);
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
            let shown = ended.last().map_or("", |action| &action.text);
            self.printed_last(ended.len() as u64, shown);
        }
    }

    /// Moves what the agent said before its last calls to NOW.
    fn said_last(&mut self) {
        let briefing = self.briefing;
        let is_open = briefing.outcome(briefing.turn()) == TurnOutcome::Open
            && briefing.pending_words().next().is_none();
        let Some((seq, said)) = briefing.said_last.as_ref().filter(|_| is_open) else { return };
        // The person answered it in a dialog.
        if briefing.requests.iter().any(|line| line.seq > *seq && line.text.starts_with(CHOSE)) {
            return;
        }
        self.candidates.retain(|quote| {
            quote.kind != EvidenceKind::Remark || quote.order.0 != *seq || quote.text != *said
        });
        self.push_now((3, 0), format!("said last (#{seq}): {said}"));
    }

    /// Adds a line of NOW that only a small view may leave out.
    pub(super) fn push_now(&mut self, order: (u64, u64), text: String) {
        let is_small = self.is_small();
        let strength = if is_small { 60 } else { 100 };
        self.push(EvidenceKind::Now, order, (0, strength), text).is_fixed = !is_small;
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
        let text = format!("{what} the person at the end: {}", quote.text);
        self.push(EvidenceKind::Now, (3, 0), (0, 100), text).is_fixed = true;
    }

    /// Shortens what another agent was told, and the middle of a command in a small view.
    fn short<'t>(&self, command: &'t str) -> Cow<'t, str> {
        match () {
            () if is_for_agent(command) => text::cut(command, TOLD_BYTES),
            () if self.is_small() => text::cut_middle(command, 560),
            () => Cow::Borrowed(command),
        }
    }

    /// Lists which kinds of commands were seen and which were not. Scripts may hide commands, so counts would
    /// be wrong.
    fn census(&self, census: Census) -> String {
        let has_only_failed = census.failed_pushes && !census.pushes;
        let begun: Vec<Class> =
            self.briefing.running.iter().map(|call| Class::of(&call.what)).collect();
        let kinds = [
            (census.tests || begun.contains(&Class::Test), "tests"),
            (census.builds || begun.contains(&Class::Build), "builds"),
            (census.lints || begun.contains(&Class::Lint), "lints"),
            (census.commits, "commits"),
            (census.pushes, if has_only_failed { "pushes that worked" } else { "pushes" }),
        ];
        let list = |is_seen: bool| {
            let of = kinds.iter().filter(|(is_recognized, _)| *is_recognized == is_seen);
            of.map(|(_, what)| *what).collect::<Vec<&str>>().join(", ")
        };
        let (effects, mut checks) = (&self.briefing.effects, self.briefing.commands.checks.iter());
        let newest = checks.clone().map(|check| check.seq).max();
        let is_unchecked = |seq| effects.since(seq).iter().any(|path| !documents::is_prose(path));
        let untested = match checks.rfind(|check| check.is_test) {
            Some(test) if !coverage::changed_since(test, effects).is_empty() => {
                "; no test seen since the last edit"
            }
            None if newest.is_some_and(is_unchecked) => "; no check seen since the last edit",
            _ => "",
        };
        let files = self.host.files.len();
        let named = self.briefing.commands.named_by_scripts.iter().rev().map(String::as_str);
        let named = named.take(NAMED_BY_SCRIPTS).collect::<Vec<_>>().join(", ");
        let named = match named.as_str() {
            "" => String::new(),
            named => format!(": their code names {named}"),
        };
        let others = match (census.agents, census.programs) {
            (true, true) => {
                &format!(" (those of other agents and of scripts not among them{named})")
            }
            (true, false) => " (those of other agents not among them)",
            (false, true) => &format!(" (those that scripts wrote not among them{named})"),
            (false, false) => "",
        };
        let mut words = String::new();
        for (is_seen, title) in [(true, "seen"), (false, "not seen")] {
            match list(is_seen).as_str() {
                "" => {}
                kinds => words.push_str(&format!("{title}: {kinds}; ")),
            }
        }
        let temporary = if effects.has_scratch() { ", and temporary ones" } else { "" };
        format!("{words}changed files seen: {files}{temporary}{others}{untested}")
    }
}
