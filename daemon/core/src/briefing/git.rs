//! What git printed: the branch, the commits with the newest last, what is not committed.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::checks::{Finished, push};
use crate::text;

const LINES_MAX: usize = 24;
const REPLACED_MAX: usize = 8;

/// How the repository stood when git was last asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct GitState {
    pub lines: VecDeque<GitLine>,
    /// Ids of commits that an amended one replaced: reports may still name them.
    pub replaced: VecDeque<String>,
}

/// A line that git printed, or a state it told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GitLine {
    pub seq: u64,
    pub turn: u32,
    pub text: String,
}

/// Opens the line of uncommitted files: only the newest one counts.
const UNCOMMITTED: &str = "uncommitted at the last look: ";

impl GitState {
    /// Index of the newest commit among the lines.
    pub(super) fn head(&self) -> Option<usize> {
        self.lines.iter().rposition(|line| commit_of(&line.text).is_some())
    }

    pub(super) fn read(&mut self, run: &Finished<'_>) {
        if !runs_git(run.command) {
            return;
        }
        // What replaces commits makes the lines of those it replaced untrue.
        if run.command.contains("--amend") {
            let newest = self.lines.iter().rposition(|line| line.text.starts_with('['));
            let amended = newest.and_then(|index| self.lines.remove(index));
            if let Some((id, _)) = amended.as_ref().and_then(|line| commit_of(&line.text)) {
                push(&mut self.replaced, id.to_owned(), REPLACED_MAX);
            }
        } else if ["git reset", "git rebase"].iter().any(|words| run.command.contains(words)) {
            self.lines.retain(|line| !line.text.starts_with('[') && !is_log_line(&line.text));
        }
        if [" commit", " stash", " checkout", " switch", " restore", " clean", " reset"]
            .iter()
            .any(|word| run.command.contains(word))
        {
            self.lines.retain(|line| !line.text.starts_with(UNCOMMITTED));
        }
        let (mut uncommitted, mut listed) = (Vec::new(), Vec::new());
        for line in run.printed.lines().take(200) {
            let bare = line.trim();
            if let Some(path) = changed_path(line) {
                uncommitted.push(path);
            } else if is_log_line(bare) {
                listed.push(bare);
            } else if is_telling(bare) {
                if is_branch_state(bare) {
                    self.lines.retain(|line| line.seq == run.seq || !is_branch_state(&line.text));
                }
                self.add(run, text::one_line_cut(bare, 160));
            }
        }
        // A log begins with the newest commit, which stands last here.
        for line in listed.into_iter().rev() {
            self.add(run, text::one_line_cut(line, 160));
        }
        let is_status = run.command.contains("status");
        if !uncommitted.is_empty() && is_status {
            let more = uncommitted.len().saturating_sub(12);
            uncommitted.truncate(12);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.lines.retain(|line| !line.text.starts_with(UNCOMMITTED));
            self.add(run, format!("{UNCOMMITTED}{}{more}", uncommitted.join(", ")));
        } else if is_status
            && (run.printed.contains("nothing to commit")
                || run.printed.lines().any(|line| line.starts_with("## ")))
        {
            self.lines.retain(|line| !line.text.starts_with(UNCOMMITTED));
            self.add(run, format!("{UNCOMMITTED}nothing"));
        }
    }

    fn add(&mut self, run: &Finished<'_>, text: String) {
        // An amended commit keeps its subject, a listed one its id.
        let new = commit_of(&text);
        self.replaced.retain(|id| new.is_none_or(|new| new.0 != id));
        self.lines.retain(|known| match (commit_of(&known.text), new) {
            (Some(known), Some(new)) if known.0 == new.0 => false,
            (Some(known), Some(new)) if known.1 == new.1 => {
                push(&mut self.replaced, known.0.to_owned(), REPLACED_MAX);
                false
            }
            _ => known.text != text,
        });
        push(&mut self.lines, GitLine { seq: run.seq, turn: run.turn, text }, LINES_MAX);
    }
}

/// Whether one of the commands of the line is git's.
fn runs_git(line: &str) -> bool {
    line.split(['&', ';', '|']).any(|part| part.trim_start().starts_with("git "))
}

/// The path of a line of `git status`, short or long.
fn changed_path(line: &str) -> Option<&str> {
    let bare = line.trim_start();
    for word in ["modified:", "new file:", "deleted:", "renamed:"] {
        if let Some(path) = bare.strip_prefix(word) {
            return Some(path.trim());
        }
    }
    let (state, path) = line.split_at_checked(3)?;
    let is_state = state.ends_with(' ')
        && state != "   "
        && state[..2]
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'M' | b'A' | b'D' | b'R' | b'U' | b'?'));
    is_state.then(|| path.trim())
}

/// Tells the branch and how it stands to its remote: only the newest holds.
fn is_branch_state(line: &str) -> bool {
    // `## main...origin/main [behind 1]`, and no heading of a text that was printed with it.
    if let Some(branch) = line.strip_prefix("## ") {
        let words = branch.split_once(' ').map_or("[", |(_, words)| words);
        return words.starts_with('[') || branch.starts_with("No commits yet");
    }
    let marks = ["On branch ", "Your branch ", "* ", "Switched to ", "Already on "];
    marks.iter().any(|mark| line.starts_with(mark))
}

/// Lines of git's that tell where the work stands: branch, new commits, remote.
fn is_telling(line: &str) -> bool {
    line.starts_with('[') && line.contains("] ")
        || is_branch_state(line)
        || line.contains("-> FETCH_HEAD")
        || line.contains(" -> origin")
}

/// Id and subject of `[main 1926682b] feat: …` or `1926682b feat: …`.
fn commit_of(line: &str) -> Option<(&str, &str)> {
    match line.strip_prefix('[') {
        Some(rest) => {
            let (place, subject) = rest.split_once("] ")?;
            Some((place.rsplit(' ').next()?, subject))
        }
        None => is_log_line(line).then(|| line.split_once(' ')).flatten(),
    }
}

/// `1926682b feat: …`
fn is_log_line(line: &str) -> bool {
    let Some((id, words)) = line.split_once(' ') else { return false };
    (7..=12).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        && words.len() > 8
}
