//! Tracks commands that ran: which worked, which failed, and what repaired them.

use super::line;
use crate::phrases::Phrases;
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

/// Words of a failure that lies in how a command was called. A test or a build that fails says nothing of a similar
/// command that does not.
static MISUSES: Phrases = Phrases::new(&[
    "command not found",
    "no such file or directory",
    "no such command",
    "no such option",
    "no such subcommand",
    "not recognized as",
    "unknown option",
    "unknown command",
    "unknown argument",
    "unknown flag",
    "unrecognized option",
    "unrecognized argument",
    "unrecognized subcommand",
    "unexpected argument",
    "invalid option",
    "illegal option",
    "usage:",
    "missing script",
    "no module named",
    "no test files",
    "no tests found",
    "can't find a root dir",
]);

#[derive(Debug, Clone)]
pub struct Run {
    pub line: String,
    pub class: Class,
    /// Folder below the working folder in which it ran.
    pub folder: Option<String>,
    pub passed: u32,
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
    /// Whether it lies in how the command was called.
    is_misuse: bool,
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
        // Tests that ran were called right, whatever they say.
        let is_misuse =
            MISUSES.is_in(&said.to_lowercase()) && output::test_counts(end.printed).is_none();
        if let Some(open) = self.open.iter_mut().find(|open| open.fix.line == line) {
            // The next change responds to the newest failure, so that one is kept.
            (open.fix.said, open.fix.seq, open.runs) = (said, end.seq, 0);
            open.is_misuse = is_misuse;
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
        self.open.push(OpenFailure { fix, runs: 0, is_misuse });
    }

    fn repaired(&mut self, line: &str, end: End<'_>) {
        let same = self.open.iter().position(|open| open.fix.line == line);
        let variant = || {
            self.open.iter().rposition(|open| {
                open.runs <= VARIANT_RUNS
                    && open.fix.changed.is_empty()
                    && open.is_misuse
                    && Class::of(&open.fix.line) == Class::of(line)
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
        assert_eq!((list[0].passed, list[0].works), (1, true));
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

    const FAILED: End<'_> =
        End { seq: 1, at_ms: 0, passed: false, printed: "error: no such command" };
    const PASSED: End<'_> = End { seq: 2, at_ms: 0, passed: true, printed: "" };

    /// What happens after a failure: a command that passes or fails, or a changed file.
    enum Then<'a> {
        Ran(&'a str),
        Fails(&'a str),
        Changed(&'a str),
    }

    use Then::{Changed, Fails, Ran};

    fn fixes(failed: &str, then: &[Then<'_>]) -> Vec<Fix> {
        let mut runs = Runs::default();
        runs.end(failed, None, FAILED);
        for step in then {
            match step {
                Ran(line) => runs.end(line, None, PASSED),
                Fails(line) => runs.end(line, None, FAILED),
                Changed(path) => runs.changed(path),
            }
        }
        runs.finish().1
    }

    #[test]
    fn a_repair_is_what_was_changed_or_run_before_the_same_line_worked() {
        let files = ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"].map(Changed);
        let test = || Ran("cargo test");
        let of = |then: &[Then<'_>]| {
            fixes("cargo test", then)
                .into_iter()
                .map(|fix| (fix.changed.concat(), fix.ran.join(", ")))
                .collect::<Vec<_>>()
        };
        let means = |changed: &str, ran: &str| vec![(changed.to_owned(), ran.to_owned())];
        assert_eq!(of(&[test()]), []);
        assert_eq!(of(&[Changed("a.rs")]), [], "not yet repaired");
        assert_eq!(of(&[Changed("a.rs"), Changed("a.rs"), test()]), means("a.rs", ""));
        let four = ["a.rs", "b.rs", "c.rs", "d.rs"].map(Changed).into_iter().chain([test()]);
        assert_eq!(of(&four.collect::<Vec<_>>()), means("a.rsb.rsc.rsd.rs", ""));
        let five = files.into_iter().chain([test()]).collect::<Vec<_>>();
        assert_eq!(of(&five), [], "five files are a change of their own");
        let installed = [Ran("npm install"), Ran("make notes"), test()];
        assert_eq!(of(&installed), means("", "npm install"));
        let many = ["pip install a", "pip install b", "pip install c", "pip install d"].map(Ran);
        let many: Vec<Then<'_>> = many.into_iter().chain([test()]).collect();
        assert_eq!(of(&many), means("", "pip install a, pip install b, pip install c"));
        assert_eq!(of(&[Fails("npm install"), test()]), [], "an installation that failed");
    }

    #[test]
    fn a_test_that_fails_has_no_alternative() {
        for printed in [
            "E   assert 3 == 4",
            "E   a.txt: No such file or directory\n1 failed, 3 passed in 0.2s",
        ] {
            let mut runs = Runs::default();
            runs.end("pytest tests/unit", None, end(false, printed));
            runs.end("pytest tests/other", None, PASSED);
            assert!(runs.finish().1.is_empty(), "{printed}");
        }
    }

    #[test]
    fn an_alternative_is_similar_works_and_comes_soon() {
        let instead = |failed: &str, then: &[Then<'_>]| {
            fixes(failed, then).first().and_then(|fix| fix.instead.clone())
        };
        let other = || Ran("make notes");
        for (failed, works, is_found) in [
            ("pytest tests/unit", "uv run pytest tests/unit", true),
            ("pytest tests/unit", "/w/.venv/bin/pytest tests/unit", true),
            ("pytest tests/unit", "pytest -v tests/unit", true),
            ("pytest tests/unit", "pytest other/place now", false),
            ("pytest tests/unit", "ls tests/unit", false),
            ("pytest tests/unit", "pytest tests/unit | tail -5", false),
            ("pytest tests/unit | tail -5", "uv run pytest tests/unit | tail", true),
            ("make a b c d", "make a x y z", false),
            ("make a b c d", "make a b x y", true),
            ("cd /w && pytest tests", "cd /w && pytest tests 2>&1", false),
            ("npm run lint", "npm run build", false),
        ] {
            let found = instead(failed, &[Ran(works)]);
            assert_eq!(found.is_some(), is_found, "{failed}: {works}: {found:?}");
            assert!(found.is_none_or(|line| line == works));
        }
        let (failed, works) = ("pytest tests/unit", || Ran("uv run pytest tests/unit"));
        let soon = (0..5).map(|_| other()).chain([works()]).collect::<Vec<_>>();
        assert!(instead(failed, &soon).is_some(), "the sixth command");
        let late = (0..6).map(|_| other()).chain([works()]).collect::<Vec<_>>();
        assert_eq!(instead(failed, &late), None, "the seventh command");
        let again = [other(), other(), other(), Fails(failed), other(), other(), other(), works()];
        assert!(instead(failed, &again).is_some(), "counted from the last failure");
        assert_eq!(instead(failed, &[Changed("a.py"), works()]), None, "a file was changed");
        assert_eq!(instead(failed, &[Fails("uv run pytest tests/unit")]), None);
        let twice = [works(), Fails(failed), works()];
        assert_eq!(fixes(failed, &twice).len(), 1, "listed once");
        let two = [works(), Fails(failed), Ran("python3 -m pytest tests/unit")];
        assert_eq!(fixes(failed, &two).len(), 2, "two alternatives");
    }

    #[test]
    fn a_failure_that_teaches_nothing_is_no_fix() {
        let fix = |line: &str, printed: &str| {
            let mut runs = Runs::default();
            runs.end(line, None, end(false, printed));
            runs.changed("a.rs");
            runs.end(line, None, PASSED);
            runs.finish().1.pop().map(|fix| fix.said)
        };
        assert_eq!(fix("cargo test", "error: it broke").as_deref(), Some("error: it broke"));
        assert_eq!(fix("cargo test", ""), None, "it said nothing");
        assert_eq!(fix("cargo test", "bash: cd: src: No such file or directory"), None);
        assert_eq!(fix("./sync.sh", "error: it broke"), None, "not a check");
        assert_eq!(fix("git push", "error: it broke"), None, "an ordinary command");
        assert_eq!(fix("cat a.rs", "error: it broke"), None);
    }

    #[test]
    fn the_last_check_counts_and_lists_are_bounded() {
        let mut runs = Runs::default();
        assert_eq!(runs.last_check(), None);
        runs.end("./sync.sh", None, PASSED);
        assert_eq!(runs.last_check(), None, "not a check");
        runs.end("cargo test", None, PASSED);
        assert_eq!(runs.last_check(), Some(true));
        runs.end("cargo clippy", None, FAILED);
        runs.end("./sync.sh", None, PASSED);
        assert_eq!(runs.last_check(), Some(false));

        let mut runs = Runs::default();
        runs.end("cargo test", None, PASSED);
        for number in 0..300 {
            runs.end(&format!("./failing_{number}.sh"), None, FAILED);
        }
        for number in 0..300 {
            runs.end(&format!("./run_{number}.sh"), None, PASSED);
        }
        runs.end("./run_299.sh", None, PASSED);
        let (list, _, steps) = runs.finish();
        assert_eq!((list.len(), steps.len()), (160, 240));
        assert!(list.iter().all(|run| run.passed > 0), "failed commands are dropped first");
        assert_eq!(list[159].passed, 2);

        let mut runs = Runs::default();
        for _ in 0..3 {
            for (line, tests) in
                [("cargo test", "test result: ok. 3 passed; 0 failed"), ("npm test", "")]
            {
                runs.end(line, Some("web"), end(true, tests));
            }
        }
        let (list, _, steps) = runs.finish();
        assert_eq!(list.iter().map(|run| run.passed).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(list[0].tests.map(|tests| tests.passed), Some(3));
        assert_eq!(list[0].folder.as_deref(), Some("web"));
        assert_eq!(steps.len(), 6, "steps may repeat, but not directly");
    }

    #[test]
    fn only_so_many_failures_wait_for_a_repair() {
        let mut runs = Runs::default();
        for number in 0..20 {
            runs.end(&format!("cargo test -p p{number}"), None, FAILED);
        }
        runs.changed("a.rs");
        for number in 0..20 {
            runs.end(&format!("cargo test -p p{number}"), None, PASSED);
        }
        let lines: Vec<String> = runs.finish().1.into_iter().map(|fix| fix.line).collect();
        let expected: Vec<String> = (4..20).map(|n| format!("cargo test -p p{n}")).collect();
        assert_eq!(lines, expected, "the sixteen newest");
    }
}
