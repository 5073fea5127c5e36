//! Tracks commands that ran: which worked, which failed, and what repaired them.

use super::line;
use crate::rollout::output::{self, TestCounts};
use crate::rollout::shell::Class;
use crate::text;

const RUNS_MAX: usize = 160;

/// Maximum failures that wait for a repair.
const OPEN_MAX: usize = 16;

const FIXES_MAX: usize = 24;

/// Maximum changed files for a repair to be attributed to them.
const CHANGED_MAX: usize = 4;

const STEPS_MAX: usize = 240;

/// Number of commands after a failure in which an alternative is looked for.
const VARIANT_RUNS: u32 = 6;

#[derive(Debug, Clone)]
pub struct Run {
    pub line: String,
    pub class: Class,
    /// Folder below the working folder in which it ran.
    pub folder: Option<String>,
    pub passed: u32,
    pub failed: u32,
    /// Whether the last run passed.
    pub works: bool,
    /// Line of the transcript with the last end.
    pub seq: u64,
    /// Unix milliseconds of the last end.
    pub at_ms: i64,
    /// Test counts of its last run that passed.
    pub tests: Option<TestCounts>,
}

/// A failure and what repaired it.
#[derive(Debug, Clone)]
pub struct Fix {
    pub line: String,
    pub said: String,
    pub seq: u64,
    pub changed: Vec<String>,
    pub ran: Vec<String>,
    /// The line that works instead; `None` if the same line works.
    pub instead: Option<String>,
    /// Unix milliseconds.
    pub at_ms: i64,
}

#[derive(Debug)]
struct OpenFailure {
    fix: Fix,
    runs: u32,
}

/// How a command ended.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// Line of the transcript.
    pub seq: u64,
    /// Unix milliseconds.
    pub at_ms: i64,
    pub passed: bool,
    /// Redacted.
    pub printed: &'a str,
}

/// Commands of a thread, least recently used first.
#[derive(Debug, Default)]
pub struct Runs {
    list: Vec<Run>,
    open: Vec<OpenFailure>,
    fixes: Vec<Fix>,
    steps: Vec<String>,
}

impl Runs {
    /// Records the end of a command that does more than read.
    pub fn end(&mut self, line: &str, folder: Option<&str>, end: End<'_>) {
        for open in &mut self.open {
            open.runs += 1;
        }
        self.note(line, folder, end);
        if end.passed {
            self.repaired(line, end);
            let step = line::step(line).filter(|step| self.steps.last() != Some(step));
            self.steps.extend(step.filter(|_| self.steps.len() < STEPS_MAX));
        } else {
            self.fail(line, end);
        }
    }

    pub fn changed(&mut self, path: &str) {
        for open in &mut self.open {
            let changed = &mut open.fix.changed;
            if changed.len() < 6 && !changed.iter().any(|known| known == path) {
                changed.push(path.to_owned());
            }
        }
    }

    /// Returns commands, repairs, and working commands in order.
    pub fn finish(self) -> (Vec<Run>, Vec<Fix>, Vec<String>) {
        (self.list, self.fixes, self.steps)
    }

    /// Whether the newest check passed; `None` if none ran.
    pub fn last_check(&self) -> Option<bool> {
        let checks = self.list.iter().rev();
        checks.filter(|run| run.class.is_check()).map(|run| run.works).next()
    }

    fn note(&mut self, line: &str, folder: Option<&str>, end: End<'_>) {
        let known = self.list.iter().position(|run| run.line == line);
        let mut run = known.map_or_else(|| Run::new(line), |at| self.list.remove(at));
        run.folder = folder.map(str::to_owned);
        run.works = end.passed;
        (run.seq, run.at_ms) = (end.seq, end.at_ms);
        if end.passed {
            run.passed += 1;
            run.tests = output::test_counts(end.printed);
        } else {
            run.failed += 1;
        }
        self.list.push(run);
        if self.list.len() > RUNS_MAX {
            let weakest = self.list.iter().position(|run| run.passed == 0);
            self.list.remove(weakest.unwrap_or(0));
        }
    }

    fn fail(&mut self, line: &str, end: End<'_>) {
        let lines = output::failure_lines(end.printed, 2).join(" / ");
        let said = text::one_line_cut(&lines, 200);
        if let Some(open) = self.open.iter_mut().find(|open| open.fix.line == line) {
            // The next change responds to the newest failure, so that one is kept.
            (open.fix.said, open.fix.seq, open.runs) = (said, end.seq, 0);
            return;
        }
        if self.open.len() >= OPEN_MAX {
            self.open.remove(0);
        }
        let fix = Fix {
            line: line.to_owned(),
            said,
            seq: end.seq,
            changed: Vec::new(),
            ran: Vec::new(),
            instead: None,
            at_ms: end.at_ms,
        };
        self.open.push(OpenFailure { fix, runs: 0 });
    }

    fn repaired(&mut self, line: &str, end: End<'_>) {
        let same = self.open.iter().position(|open| open.fix.line == line);
        let variant = || {
            self.open.iter().rposition(|open| {
                open.runs <= VARIANT_RUNS
                    && open.fix.changed.is_empty()
                    && is_variant(&open.fix.line, line)
            })
        };
        if let Some(at) = same {
            let mut fix = self.open.remove(at).fix;
            fix.at_ms = end.at_ms;
            if !fix.changed.is_empty() || !fix.ran.is_empty() {
                self.keep(fix);
            }
        } else if let Some(at) = variant() {
            let mut fix = self.open.remove(at).fix;
            fix.at_ms = end.at_ms;
            fix.instead = Some(line.to_owned());
            self.keep(fix);
        }
        for open in &mut self.open {
            if open.fix.ran.len() < 3 && Class::of(line) == Class::Install {
                open.fix.ran.push(line.to_owned());
            }
        }
    }

    fn keep(&mut self, fix: Fix) {
        if !fix.is_useful() {
            return;
        }
        self.fixes.retain(|known| known.line != fix.line || known.instead != fix.instead);
        if self.fixes.len() >= FIXES_MAX {
            self.fixes.remove(0);
        }
        self.fixes.push(fix);
    }
}

impl Fix {
    /// Whether it may happen again: the command is useful in later threads and, if files were changed, checks
    /// files. A failed `cd` teaches nothing.
    fn is_useful(&self) -> bool {
        let bare = |line: &str| line::bare(line).filter(|bare| line::is_useful(bare));
        if self.said.is_empty() || self.said.contains(": cd: ") {
            return false;
        }
        match (bare(&self.line), &self.instead) {
            (Some(failed), Some(instead)) => bare(instead).is_some_and(|works| works != failed),
            (Some(_), None) => {
                Class::of(&self.line) != Class::Other && self.changed.len() <= CHANGED_MAX
            }
            (None, _) => false,
        }
    }
}

impl Run {
    fn new(line: &str) -> Self {
        Self {
            line: line.to_owned(),
            class: Class::of(line),
            folder: None,
            passed: 0,
            failed: 0,
            works: false,
            seq: 0,
            at_ms: 0,
            tests: None,
        }
    }
}

/// Whether `other` is an alternative to `line`: it runs the same program and shares half of its words. An
/// added pipe only hides the exit status.
fn is_variant(line: &str, other: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        line.split(|c: char| c.is_whitespace() || "&|;'\"".contains(c))
            .filter(|word| !word.is_empty() && !word.starts_with('-'))
            .map(|word| word.rsplit('/').next().unwrap_or(word).to_lowercase())
            .collect()
    };
    if line == other || other.contains('|') && !line.contains('|') {
        return false;
    }
    let (first, second) = (words(line), words(other));
    let shared = first.iter().filter(|word| second.contains(word)).count();
    first.first().is_some_and(|program| second.contains(program))
        && shared * 2 >= first.len().max(second.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(passed: bool, printed: &str) -> End<'_> {
        End { seq: 1, at_ms: 0, passed, printed }
    }

    #[test]
    fn a_failure_is_paired_with_its_repair() {
        let mut runs = Runs::default();
        runs.end("cargo test", None, end(false, "error[E0425]: cannot find value `x`"));
        runs.changed("src/a.rs");
        runs.end("cargo test", None, end(true, "test result: ok. 3 passed; 0 failed"));
        let (list, fixes, steps) = runs.finish();
        assert_eq!(fixes[0].changed, ["src/a.rs"]);
        assert_eq!(fixes[0].said, "error[E0425]: cannot find value `x`");
        assert_eq!((list[0].passed, list[0].failed, list[0].works), (1, 1, true));
        assert_eq!(steps, ["cargo test"]);
    }

    #[test]
    fn an_alternative_that_works_is_found() {
        let mut runs = Runs::default();
        runs.end("pytest tests/unit", None, end(false, "bash: pytest: command not found"));
        runs.end("git add -A", None, end(true, ""));
        runs.end("uv run pytest tests/unit", None, end(true, "4 passed in 0.2s"));
        let (_, fixes, _) = runs.finish();
        assert_eq!(fixes[0].instead.as_deref(), Some("uv run pytest tests/unit"));
    }
}
