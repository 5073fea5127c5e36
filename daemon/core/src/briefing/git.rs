//! State from git output: the branch, the commits with the newest last, uncommitted files.

mod checkout;
mod log;
mod quiet;
mod uncommitted;

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::documents;
use super::finished::{FinishedCommand, has_git};
use crate::bounded::push_bounded;
use crate::rollout::shell;
use crate::step::CommandOutcome;
use crate::text;

use checkout::{checked_out_branch, drops_changes, moves_head, rewrites_commits};
pub(super) use log::is_log_line;
use log::{commit_of, lists_all, names_another, prints_log};
pub(super) use quiet::UNNAMED;
pub(super) use uncommitted::{UNCOMMITTED, first_of_listed};

const LINES_MAX: usize = 24;
const REPLACED_MAX: usize = 8;

/// Maximum lines of an output to read.
const LINES_READ: usize = 200;

/// The repository's state as git last printed it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct GitState {
    pub lines: VecDeque<GitLine>,
    /// Ids of commits that were amended away: reports may still name them.
    pub replaced: VecDeque<String>,
}

/// A line printed by git, or a state derived from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GitLine {
    pub seq: u64,
    pub turn: u32,
    pub text: String,
    /// The folder git ran in, if it is another worktree or repository.
    pub place: String,
    /// Whether it names the checked-out commit: one made here, or the first entry of a complete log.
    pub is_head: bool,
}

/// Opens the line of a push.
pub(super) const PUSHED: &str = "pushed: ";

impl GitState {
    /// The checked-out branch that git last printed for the thread's own folder.
    pub(super) fn branch(&self) -> Option<&str> {
        self.branch_in("")
    }

    fn branch_in(&self, place: &str) -> Option<&str> {
        let mut here = self.lines.iter().rev().filter(|line| line.place == place);
        here.find_map(|line| branch_of(&line.text).or_else(|| made_on(&line.text).map(|on| on.0)))
    }

    /// Index of the line that last named the newest commit of a place.
    pub(super) fn head(&self, place: &str) -> Option<usize> {
        self.lines.iter().rposition(|line| line.is_head && line.place == place)
    }

    pub(super) fn read(&mut self, run: &FinishedCommand<'_>) {
        if !runs_git(run.command) {
            return;
        }
        self.drop_outdated(run);
        let mut listed = Vec::new();
        let mut is_headed = false;
        for line in run.printed.lines().take(LINES_READ) {
            let bare = line.trim();
            // Only the first `##` line can be git's branch line; others are headings of a text printed with
            // it.
            let is_heading = bare.starts_with("## ");
            if is_heading
                && (std::mem::replace(&mut is_headed, true) || !prints_branch(run.command))
                || bare.starts_with("* ")
                    && !bare.starts_with("* [new ")
                    && !run.command.contains("git branch")
            {
                continue;
            }
            // Read below.
            if uncommitted::file_in(line).is_some() {
                continue;
            }
            if is_log_line(bare) && prints_log(run.command) {
                listed.push(bare);
            } else if let Some(moved) =
                ref_update(bare).and_then(|line| self.remote_update(run, line))
            {
                self.add(run, moved, false);
            } else if let Some(branch) =
                bare.strip_prefix("- [deleted]").filter(|_| has_git(run.command, "push"))
            {
                self.add(run, format!("deleted on the remote: {}", branch.trim()), false);
            } else if let Some(branch) = bare.strip_prefix("Deleted branch ") {
                self.add(run, format!("deleted: local branch {branch}"), false);
            } else if let Some(commit) = bare.strip_prefix("HEAD is now at ") {
                self.add(run, text::one_line_cut(commit, 160), true);
            } else if made_on(bare).is_some() || is_branch_state(bare) {
                if is_branch_state(bare) {
                    self.lines.retain(|line| {
                        line.seq == run.seq
                            || line.place != run.place
                            || !is_branch_state(&line.text)
                    });
                }
                self.add(run, text::one_line_cut(bare, 160), made_on(bare).is_some());
            }
        }
        if run.outcome == CommandOutcome::Exit(0) {
            created_branches(run.command).for_each(|branch| self.add(run, branch, false));
        }
        let names_branch = |line: &GitLine| line.seq == run.seq && branch_of(&line.text).is_some();
        let shown = checked_out_branch(run).or_else(|| shown_branch(run));
        if let Some(branch) = shown.filter(|_| !self.lines.iter().any(names_branch)) {
            self.drop_here(run, is_branch_state);
            self.add(run, format!("On branch {branch}"), false);
        }
        self.add_listed(run, listed);
        self.add_unnamed(run);
        self.note_uncommitted(run);
    }

    /// A script that failed may have checked out another commit before: what is checked out is not known.
    pub(super) fn read_failed(&mut self, run: &FinishedCommand<'_>) {
        if runs_git(run.command) && moves_head(run) && shell::commands(run.command).len() > 1 {
            self.forget_head(run, |_| true);
            self.drop_here(run, is_branch_state);
        }
    }

    /// Adds a list of commits. A log starts with the newest one; here the newest comes last. A log of a path, branch
    /// or file does not show the current commit.
    fn add_listed(&mut self, run: &FinishedCommand<'_>, mut listed: Vec<&str>) {
        let is_of_all = lists_all(run.command);
        let is_of_another = || names_another(run.command, self.branch_in(run.place));
        if !is_of_all
            && (self.head(run.place).is_some() || run.command.contains(" -- ") || is_of_another())
        {
            listed.clear();
        }
        let last = listed.len().saturating_sub(1);
        let made = quiet::subjects(run.command);
        let branch = self.branch_in(run.place).map(str::to_owned);
        for (index, line) in listed.iter().rev().enumerate() {
            let is_head = index == last && is_of_all;
            // As git prints a commit that the same script made.
            let text = match (branch.as_deref(), line.split_once(' ')) {
                (Some(branch), Some((id, subject))) if made.iter().any(|it| it == subject) => {
                    format!("[{branch} {id}] {subject}")
                }
                _ => (*line).to_owned(),
            };
            self.add(run, text::one_line_cut(&text, 160), is_head);
            self.keep_order(line, listed.get(..last - index).unwrap_or_default());
        }
    }

    /// Adds the commits of which git printed no id.
    fn add_unnamed(&mut self, run: &FinishedCommand<'_>) {
        let mut printed = run.printed.lines().map(str::trim);
        if run.outcome != CommandOutcome::Exit(0) || printed.any(|line| made_on(line).is_some()) {
            return;
        }
        let listed: Vec<&str> =
            run.printed.lines().filter_map(|line| Some(commit_of(line.trim())?.1)).collect();
        let subjects = quiet::subjects(run.command).into_iter();
        for subject in subjects.filter(|subject| !listed.contains(&subject.as_str())) {
            self.add(run, format!("{UNNAMED}{subject}"), true);
        }
    }

    /// Drops the lines that the command invalidates: a reset or rebase those of the branch's commits, an amend
    /// that of the old commit, and whatever changes the working tree that of the uncommitted files. A checkout ends the
    /// claim which commit is the newest.
    fn drop_outdated(&mut self, run: &FinishedCommand<'_>) {
        if run.command.contains("--amend") {
            self.amend(run);
        }
        if rewrites_commits(run) {
            let branch = self.branch_in(run.place).map(str::to_owned);
            self.drop_here(run, |text| match made_on(text) {
                Some((on, _)) => branch.as_deref().is_none_or(|branch| branch == on),
                None => is_log_line(text) || text.starts_with(UNNAMED),
            });
        }
        if drops_changes(run) {
            self.drop_here(run, |text| text.starts_with(UNCOMMITTED));
        }
        if moves_head(run) {
            // A commit made on the branch that was left still names it.
            self.forget_head(run, |text| made_on(text).is_none());
        }
    }

    /// Ends the claim of lines to name the newest commit.
    fn forget_head(&mut self, run: &FinishedCommand<'_>, is_meant: impl Fn(&str) -> bool) {
        let here = self.lines.iter_mut().filter(|line| line.place == run.place);
        here.filter(|line| is_meant(&line.text)).for_each(|line| line.is_head = false);
    }

    /// Records a push, or a fetch of the checked-out branch: where the remote stands.
    fn remote_update(&mut self, run: &FinishedCommand<'_>, line: &str) -> Option<String> {
        let line = text::one_line_cut(line, 150);
        if has_git(run.command, "push") {
            return Some(format!("{PUSHED}{line}"));
        }
        let mut states = self.lines.iter().rev().filter(|known| known.place == run.place);
        let branch = states.find_map(|known| branch_of(&known.text)).unwrap_or("main");
        let remote = line.split(" -> ").nth(1)?.split_whitespace().next()?;
        let is_here = remote.strip_prefix("origin/") == Some(branch);
        let is_relevant =
            is_here && ["git fetch", "git pull"].iter().any(|it| run.command.contains(it));
        if is_relevant {
            self.drop_here(run, |text| text.starts_with("fetched: "));
        }
        is_relevant.then(|| format!("fetched: {line}"))
    }

    /// Records the files that a status of the complete tree lists, or that it is clean.
    fn note_uncommitted(&mut self, run: &FinishedCommand<'_>) {
        let is_clean = run.printed.contains("nothing to commit")
            || run.printed.lines().any(|line| line.starts_with("## "));
        if !looks_at_all(run.command) || uncommitted::is_reshaped(run.command) {
            return;
        }
        let files = uncommitted::files_in(run.printed.lines().take(LINES_READ));
        if files.is_empty() && !is_clean {
            return;
        }
        let listed = uncommitted::list(files);
        self.drop_here(run, |text| text.starts_with(UNCOMMITTED));
        self.add(run, format!("{UNCOMMITTED}{listed}"), false);
    }

    /// Drops lines of the folder the command ran in.
    fn drop_here(&mut self, run: &FinishedCommand<'_>, is_dropped: impl Fn(&str) -> bool) {
        self.lines.retain(|line| line.place != run.place || !is_dropped(&line.text));
    }

    /// Replaces the last commit made on the same branch. The new one is unknown if git's output was suppressed.
    fn amend(&mut self, run: &FinishedCommand<'_>) {
        if run.outcome.is_failure() {
            return;
        }
        let made = run.printed.lines().map(str::trim).find_map(made_on);
        let mut here = self.lines.iter().filter(|line| line.place == run.place && line.is_head);
        if here.next_back().is_some_and(|line| line.text.starts_with(UNNAMED)) {
            self.lines.retain(|line| made.is_none() || !line.text.starts_with(UNNAMED));
            return;
        }
        let is_same_branch = |line: &GitLine| {
            let old = made_on(&line.text);
            let is_here = line.place == run.place && old.is_some();
            is_here && made.is_none_or(|made| old.map(|old| old.0) == Some(made.0))
        };
        let replaced = self.lines.iter().rposition(is_same_branch);
        let replaced = replaced.and_then(|index| self.lines.remove(index));
        let old = replaced.as_ref().and_then(|line| made_on(&line.text));
        if let Some(old) = old
            && made.is_none_or(|made| old.1 != made.1)
        {
            self.lines.retain(|line| commit_of(&line.text).is_none_or(|known| known.0 != old.1));
            push_bounded(&mut self.replaced, old.1.to_owned(), REPLACED_MAX);
        }
    }

    /// Moves a commit that was added last before those newer ones of its log that were known.
    fn keep_order(&mut self, added: &str, newer: &[&str]) {
        let is_of = |known: &GitLine, line: &str| {
            let id = commit_of(&known.text).map(|commit| commit.0);
            id.is_some() && id == commit_of(line).map(|commit| commit.0)
        };
        let is_newer = |known: &GitLine| newer.iter().any(|line| is_of(known, line));
        let Some(at) = self.lines.iter().position(is_newer) else { return };
        if !self.lines.back().is_some_and(|line| is_of(line, added)) {
            return;
        }
        let Some(mut line) = self.lines.pop_back() else { return };
        if let Some(newer) = self.lines.get(at) {
            (line.seq, line.turn) = (newer.seq, newer.turn);
        }
        self.lines.insert(at, line);
    }

    fn add(&mut self, run: &FinishedCommand<'_>, text: String, is_head: bool) {
        let new = commit_of(&text);
        let is_named = |known: &&mut GitLine| {
            let subject = known.text.strip_prefix(UNNAMED).filter(|_| known.place == run.place);
            subject.is_some() && subject == new.map(|new| new.1)
        };
        if let Some(known) = self.lines.iter_mut().find(is_named) {
            known.text = text;
            return;
        }
        // A commit that appears again was not replaced.
        self.replaced.retain(|id| new.is_none_or(|new| new.0 != id));
        let is_same = |known: &GitLine| match (commit_of(&known.text), new) {
            (Some(known), Some(new)) => known.0 == new.0,

            _ => known.text == text && known.place == run.place,
        };
        // An older commit repeated in a partial log keeps its position.
        if new.is_some() && !is_head && self.lines.iter().any(is_same) {
            return;
        }
        // The newest commit shown again was still made when it was made.
        let head = self.head(run.place).and_then(|head| self.lines.get(head));
        if is_head && new.is_some() && head.is_some_and(is_same) {
            return;
        }
        // The output of `git commit` names the branch, a log does not.
        let made = self.lines.iter().find(|known| is_same(known) && made_on(&known.text).is_some());
        let kept = made.map(|made| made.text.clone());
        self.lines.retain(|known| !is_same(known));
        let text = kept.unwrap_or(text);
        let place = run.place.to_owned();
        let line = GitLine { seq: run.seq, turn: run.turn, text, place, is_head };
        push_bounded(&mut self.lines, line, LINES_MAX);
    }
}

/// The branch named in a status line.
fn branch_of(line: &str) -> Option<&str> {
    let rest = ["## ", "On branch ", "Switched to branch '", "Already on '", "* "];
    let rest = rest.iter().find_map(|opening| line.strip_prefix(opening))?;
    let end = rest.find(|c: char| c.is_whitespace() || c == '\'').unwrap_or(rest.len());
    Some(rest[..end].split("...").next().unwrap_or_default())
}

/// The branches that a line of commands makes without checking them out; git prints nothing then.
fn created_branches(command: &str) -> impl Iterator<Item = String> {
    let parts = shell::parts(command).into_iter().map(|part| part.text);
    parts.filter_map(|part| {
        let mut words = part.strip_prefix("git branch ")?.split_whitespace();
        let name = words.next().filter(|name| !name.starts_with('-'))?;
        let start = words.next().filter(|start| !start.contains('>'));
        let start = start.map(|start| format!(" at {start}"));
        Some(format!("created: branch {name}{}", start.unwrap_or_default()))
    })
}

/// The branch that a command printed by its name alone, if it printed first or last.
fn shown_branch<'r>(run: &FinishedCommand<'r>) -> Option<&'r str> {
    let shows = |part: &str| {
        ["git branch --show-current", "git rev-parse --abbrev-ref HEAD"].contains(&part)
    };
    let mut parts = shell::parts(run.command).into_iter().map(|part| part.text);
    let mut lines = run.printed.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = parts.next()?;
    let line = match () {
        () if shows(first) => lines.next()?,
        () if parts.next_back().is_some_and(shows) => lines.next_back()?,
        () => return None,
    };
    let is_name = line != "HEAD" && !line.contains([' ', ':', '~', '^', '?', '*', '[', '\\']);
    is_name.then_some(line)
}

/// Whether one of the line's commands is git.
fn runs_git(line: &str) -> bool {
    line.contains("git ") && shell::parts(line).iter().any(|part| part.text.starts_with("git "))
}

/// Whether a line states the branch and its relation to the remote; only the newest is valid.
pub(super) fn is_branch_state(line: &str) -> bool {
    // `## main...origin/main [behind 1]`, as opposed to a heading.
    if let Some(branch) = line.strip_prefix("## ") {
        let words = branch.split_once(' ').map_or("[", |(_, words)| words);
        return words.starts_with('[') || branch.starts_with("No commits yet");
    }
    let marks = ["On branch ", "Your branch ", "* ", "Switched to ", "Already on "];
    marks.iter().any(|mark| line.starts_with(mark))
}

/// A ref update printed by `git push` or `git fetch`: `1926682b..59388c9f  main -> main`.
fn ref_update(line: &str) -> Option<&str> {
    let (from, to) = line.split_once(" -> ")?;
    let is_push = from.contains("..") || from.starts_with("* [new ");
    (is_push && !to.contains("FETCH_HEAD")).then_some(line)
}

/// The line without git's global options, and the folder of the last `-C`.
pub(super) fn without_options(line: &str) -> (Cow<'_, str>, Option<String>) {
    if !line.contains("git -") {
        return (Cow::Borrowed(line), None);
    }
    let (mut out, mut folder, mut rest) = (String::new(), None, line);
    while let Some(at) = rest.find("git -") {
        let (before, after) = rest.split_at(at + "git ".len());
        out.push_str(before);
        rest = after;
        let is_word = out[..out.len() - "git ".len()].ends_with([' ', '(', '\n']) || out == "git ";
        if is_word {
            rest = after_options(rest, &mut folder);
        }
    }
    out.push_str(rest);
    (Cow::Owned(out), folder)
}

/// What follows the global options of git at the beginning of a line; sets the folder of a `-C`.
fn after_options<'a>(line: &'a str, folder: &mut Option<String>) -> &'a str {
    let mut rest = line;
    loop {
        let (option, after) = first_word(rest);
        rest = match option {
            "-C" => {
                let (named, after) = first_word(after);
                *folder = Some(named.trim_matches(['"', '\'']).to_owned());
                after
            }
            "-c" => first_word(after).1,
            "--no-pager" | "-P" => after,
            _ => return rest,
        };
    }
}

/// The first word of a line as written, with its quotes, and what follows the space after it.
fn first_word(line: &str) -> (&str, &str) {
    let (mut quote, mut is_escaped) = (None, false);
    let end = line.find(|c: char| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match quote {
            Some(open) if c == open => quote = None,
            Some('"') | None if c == '\\' => is_escaped = true,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None => return c == ' ',
            Some(_) => {}
        }
        false
    });
    let (word, rest) = line.split_at(end.unwrap_or(line.len()));
    (word, rest.strip_prefix(' ').unwrap_or_default())
}

/// The branch in the line that `git commit` prints.
pub(super) fn branch_of_commit(line: &str) -> Option<&str> {
    made_on(line).map(|(branch, _)| branch)
}

/// Branch and id of `[main 1926682b] feat: …`, as printed by `git commit`.
fn made_on(line: &str) -> Option<(&str, &str)> {
    let place = line.strip_prefix('[')?.split_once("] ")?.0;
    let (branch, id) = place.rsplit_once(' ')?;
    let is_id = (7..=40).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some((branch, id))
}

/// Whether a status prints its branch in a separate line.
fn prints_branch(script: &str) -> bool {
    script.split_whitespace().any(|word| {
        word == "--branch" || word.starts_with('-') && !word.starts_with("--") && word.contains('b')
    })
}

/// Whether a status covers the complete tree: no path follows its options. A word without dot or slash is the
/// next command of the script.
fn looks_at_all(script: &str) -> bool {
    let parts = shell::parts(script).into_iter().map(|part| part.text);
    let looking =
        |part: &'_ str| ["git status", "git stash pop"].iter().any(|it| part.starts_with(it));
    let mut looks = parts.filter(|part| looking(part)).map(|part| &part["git status".len()..]);
    looks.next_back().is_some_and(|options| {
        let mut words = options.split_whitespace();
        let next = words.find(|word| !word.starts_with('-') && !word.contains('>'));
        next.is_none_or(|word| !word.contains(['.', '/']))
    })
}

#[cfg(test)]
mod tests;
