//! Commands as evidence: checks with their results, failures with what mended them, what git printed.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::chain;
use crate::rollout::output::{self, TestCounts};
use crate::rollout::shell::Class;
use crate::step::CommandOutcome;
use crate::text;

/// Checks and failures that are kept.
const CHECKS_MAX: usize = 16;
const FAILURES_MAX: usize = 12;
const GIT_MAX: usize = 24;

/// A test, build or lint run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Check {
    pub seq: u64,
    pub turn: u32,
    pub is_test: bool,
    pub outcome: CommandOutcome,
    pub command: String,
    /// Counts and telling lines of what it printed.
    pub result: String,
}

/// A command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FailedCommand {
    pub seq: u64,
    pub turn: u32,
    pub program: String,
    pub text: String,
    /// The next command of the same program that worked.
    pub mend: Option<String>,
}

/// A line that git printed, or a state it told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GitLine {
    pub seq: u64,
    pub turn: u32,
    pub text: String,
}

/// How often kinds of commands ran: what never ran cannot be quoted, only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Census {
    pub tests: u32,
    pub builds: u32,
    pub lints: u32,
    pub commits: u32,
    pub pushes: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Commands {
    pub checks: VecDeque<Check>,
    pub failures: VecDeque<FailedCommand>,
    pub git: VecDeque<GitLine>,
    pub census: Census,
}

/// A finished command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finished<'a> {
    pub seq: u64,
    pub turn: u32,
    /// One line, redacted, without the entering of a folder.
    pub command: &'a str,
    pub program: &'a str,
    pub class: Class,
    pub outcome: CommandOutcome,
    pub counts: Option<TestCounts>,
    pub printed: &'a str,
}

impl Commands {
    pub(super) fn finish(&mut self, run: Finished<'_>) {
        self.count(&run);
        if run.class.is_check() {
            let part = chain::checking_part(run.command);
            let is_told = part.owns_exit_code || run.outcome.is_failure();
            let check = Check {
                seq: run.seq,
                turn: run.turn,
                is_test: run.class == Class::Test,
                outcome: if is_told { run.outcome } else { CommandOutcome::Unknown },
                command: text::cut_words(part.text, 150).into_owned(),
                result: result(&run),
            };
            self.checks.retain(|known| known.command != check.command);
            push(&mut self.checks, check, CHECKS_MAX);
        }
        if run.outcome.is_failure() && !finds_nothing(&run) {
            self.fail(&run);
        } else if run.outcome == CommandOutcome::Exit(0)
            && chain::checking_part(run.command).owns_exit_code
            && !output::says_failure(run.printed)
        {
            self.mend(&run);
        }
        if !run.outcome.is_failure() && runs_git(run.command) {
            self.read_git(&run);
        }
    }

    fn count(&mut self, run: &Finished<'_>) {
        let census = &mut self.census;
        let count = match run.class {
            Class::Test => &mut census.tests,
            Class::Build => &mut census.builds,
            Class::Lint => &mut census.lints,
            _ if run.outcome.is_failure() => return,
            _ if run.command.contains("git commit") => &mut census.commits,
            _ if run.command.contains("git push") => &mut census.pushes,
            _ => return,
        };
        *count = count.saturating_add(1);
    }

    fn fail(&mut self, run: &Finished<'_>) {
        let lines = output::failure_lines(run.printed, 2).join(" | ");
        let lines = text::one_line_cut(&lines, 240);
        let command = text::cut_words(run.command, 120);
        let text = format!("{command} → {}: {lines}", outcome_words(run.outcome));
        let program = run.program.to_owned();
        self.failures.retain(|known| known.text != text);
        let failure = FailedCommand { seq: run.seq, turn: run.turn, program, text, mend: None };
        push(&mut self.failures, failure, FAILURES_MAX);
    }

    /// A program that works after it failed shows how it is used here.
    fn mend(&mut self, run: &Finished<'_>) {
        let newest = self.failures.back_mut();
        if let Some(failure) = newest.filter(|f| f.mend.is_none() && f.program == run.program) {
            failure.mend = Some(text::cut_words(run.command, 120).into_owned());
        }
    }

    fn read_git(&mut self, run: &Finished<'_>) {
        // What replaces commits makes the lines of those it replaced untrue.
        if run.command.contains("--amend") {
            let newest = self.git.iter().rposition(|line| line.text.starts_with('['));
            newest.map(|index| self.git.remove(index));
        } else if ["git reset", "git rebase"].iter().any(|words| run.command.contains(words)) {
            self.git.retain(|line| !line.text.starts_with('[') && !is_log_line(&line.text));
        }
        if [" commit", " stash", " checkout", " switch", " restore", " clean", " reset"]
            .iter()
            .any(|word| run.command.contains(word))
        {
            self.git.retain(|line| !line.text.starts_with(UNCOMMITTED));
        }
        let mut uncommitted = Vec::new();
        for line in run.printed.lines().take(200) {
            let bare = line.trim();
            if let Some(path) = changed_path(line) {
                uncommitted.push(path);
            } else if is_telling(bare) {
                if is_branch_state(bare) {
                    self.git.retain(|line| line.seq == run.seq || !is_branch_state(&line.text));
                }
                self.git(run, text::one_line_cut(bare, 160));
            }
        }
        let is_status = run.command.contains("status");
        if !uncommitted.is_empty() && is_status {
            let more = uncommitted.len().saturating_sub(12);
            uncommitted.truncate(12);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.git.retain(|line| !line.text.starts_with(UNCOMMITTED));
            self.git(run, format!("{UNCOMMITTED}{}{more}", uncommitted.join(", ")));
        } else if is_status
            && (run.printed.contains("nothing to commit")
                || run.printed.lines().any(|line| line.starts_with("## ")))
        {
            self.git.retain(|line| !line.text.starts_with(UNCOMMITTED));
            self.git(run, format!("{UNCOMMITTED}nothing"));
        }
    }

    fn git(&mut self, run: &Finished<'_>, text: String) {
        // An amended commit keeps its subject, a listed one its id.
        let is_same = |known: &str| match (commit_of(known), commit_of(&text)) {
            (Some(known), Some(new)) => known.0 == new.0 || known.1 == new.1,
            _ => known == text,
        };
        self.git.retain(|known| !is_same(&known.text));
        push(&mut self.git, GitLine { seq: run.seq, turn: run.turn, text }, GIT_MAX);
    }
}

/// Opens the line of uncommitted files: only the newest one counts.
const UNCOMMITTED: &str = "uncommitted at the last look: ";

fn push<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    if list.len() >= most {
        list.pop_front();
    }
    list.push_back(item);
}

/// A search or comparison that ends with 1 found nothing or a difference.
fn finds_nothing(run: &Finished<'_>) -> bool {
    run.outcome == CommandOutcome::Exit(1)
        && matches!(
            run.program,
            "rg" | "grep" | "test" | "[" | "diff" | "cmp" | "which" | "ls" | "find" | "pgrep"
        )
}

fn outcome_words(outcome: CommandOutcome) -> String {
    match outcome {
        CommandOutcome::Unknown => "ended".to_owned(),
        CommandOutcome::Running => "still running at the last look".to_owned(),
        CommandOutcome::Exit(_) | CommandOutcome::Refused => outcome.words(),
    }
}

/// Counts first; of a failure the lines that say what failed, else the last line that says how it went. An exit
/// code that is another command's, as `tail`'s is in `test | tail`, proves nothing and is not shown.
pub(super) fn result(run: &Finished<'_>) -> String {
    let part = chain::checking_part(run.command);
    let is_hidden =
        run.class.is_check() && !part.owns_exit_code && run.outcome == CommandOutcome::Exit(0);
    let counts =
        run.counts.map(|counts| format!("{} passed, {} failed", counts.passed, counts.failed));
    let failed = run.outcome.is_failure()
        || run.counts.is_some_and(|counts| counts.failed > 0)
        || is_hidden && output::says_failure(run.printed);
    let lines = if failed {
        output::failure_lines(run.printed, 3).join(" | ")
    } else if counts.is_some() {
        String::new()
    } else if part.is_last {
        let mut lines = run.printed.lines().map(str::trim);
        lines.rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
    } else {
        String::new()
    };
    let lines = text::one_line_cut(&lines, if failed { 320 } else { 140 });
    let outcome = if is_hidden && counts.is_none() {
        if failed { "failed" } else { "exit code hidden by what follows it" }.to_owned()
    } else {
        outcome_words(run.outcome)
    };
    let parts = [Some(outcome), counts, (!lines.is_empty()).then_some(lines)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
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
    let is_commit = line.starts_with('[') && line.contains("] ") || is_log_line(line);
    is_commit
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run<'a>(command: &'a str, code: i64, printed: &'a str) -> Finished<'a> {
        let program = command.split(' ').next().unwrap();
        let counts = output::test_counts(printed);
        Finished {
            seq: 1,
            turn: 1,
            command,
            program,
            class: Class::of(command),
            outcome: CommandOutcome::Exit(code),
            counts,
            printed,
        }
    }

    #[test]
    fn checks_failures_and_git_are_told_apart() {
        let mut commands = Commands::default();
        commands.finish(run(
            "cargo test",
            101,
            "test result: FAILED. 3 passed; 1 failed; in 2s\nthread 'a' panicked at x.rs:4",
        ));
        commands.finish(run("cargo test --doc || true", 0, ""));
        commands.finish(run("cargo test --lib", 0, "test result: ok. 4 passed; 0 failed; in 1s"));
        commands.finish(run("rg nothing", 1, ""));
        commands.finish(run(
            "go vet ./... | tail -1 && git add .",
            0,
            "a.go:4: x declared and not used",
        ));
        commands.finish(run("git commit -m x", 0, "[main 1926682b] fix: the lexer keeps state"));
        commands.finish(run("git status -sb", 0, "## main...origin/main [behind 2]\n?? old.md\n"));
        let printed = "## main...origin/main\n## Testing Guidelines\n M src/a.rs\n?? notes.md\n";
        commands.finish(Finished { seq: 2, ..run("git status -sb", 0, printed) });
        let results: Vec<_> = commands.checks.iter().map(|check| check.result.as_str()).collect();
        assert_eq!(
            results,
            [
                "exit 101; 3 passed, 1 failed; thread 'a' panicked at x.rs:4",
                "exit code hidden by what follows it",
                "exit 0; 4 passed, 0 failed",
                "exit code hidden by what follows it"
            ]
        );
        assert_eq!(commands.failures.len(), 1);
        assert_eq!(commands.failures[0].mend.as_deref(), Some("cargo test --lib"));
        let git: Vec<_> = commands.git.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(
            git,
            [
                "[main 1926682b] fix: the lexer keeps state",
                "## main...origin/main",
                "uncommitted at the last look: src/a.rs, notes.md"
            ]
        );
        assert_eq!(
            (commands.census.tests, commands.census.commits, commands.census.pushes),
            (3, 1, 0)
        );
    }
}
