//! The lines of an output that report a failure.

use super::test_counts;
use crate::phrases::Phrases;
use crate::text;

/// Words that start or mark a line that reports an error.
static ERROR_MARKS: Phrases = Phrases::new(&[
    "error",
    "panicked",
    "exception",
    "traceback",
    "failed",
    "fatal",
    "cannot",
    "no such file",
    "not found",
    "undefined",
    "denied",
    "assert",
    "fail:",
    "invalid value ",
    "unknown ",
    "unrecognized ",
    "conflict ",
    "could not ",
    "✗",
]);

/// Marks of lines in which a program reports its own failure. Code that only mentions errors, such as the
/// output of a search, has none of them.
static STRONG_MARKS: Phrases = Phrases::new(&[
    "no such file",
    "command not found",
    "permission denied",
    "cannot access",
    "can't ",
    "panicked at",
    "traceback (",
    "fatal:",
    "error: ",
    "error[",
]);

/// At most `lines` lines of a failed command's output that best report the failure, in order: those in which a program
/// reports its own failure, else those with an error word, else the last ones. Searches the end of the output; for a
/// program's own report also the beginning, because a search names a missing folder before it prints matches.
pub fn failure_lines(text: &str, lines: usize) -> Vec<&str> {
    let tail = candidates(text::suffix(text, 8 * 1_024));
    if let Some((place, exception)) = python_exception(&tail) {
        return [place, exception].into_iter().skip(usize::from(lines < 2)).collect();
    }
    let named = failed_tests(&candidates(text), lines);
    if !named.is_empty() {
        return named;
    }
    let strong = marked(&tail, &STRONG_MARKS, lines);
    if !strong.is_empty() {
        return strong;
    }
    let head = marked(&candidates(text::prefix(text, 1_024)), &STRONG_MARKS, lines);
    if !head.is_empty() {
        return head;
    }
    let weak = marked(&tail, &ERROR_MARKS, lines);
    let from = match weak[..] {
        [] => tail.len().saturating_sub(lines),
        // The line below a conflict names its file.
        [only] if only.starts_with("CONFLICT") => {
            tail.iter().position(|it| *it == only).unwrap_or(0)
        }
        _ => return weak,
    };
    tail[from..].iter().copied().take(lines).collect()
}

/// Prefixes of the lines in which bun and TAP name a failed test, below what it printed.
const FAILED_TEST: [&str; 2] = ["(fail) ", "not ok "];

/// Lines above the name of a failed test that may say why.
const REASON_LINES: usize = 40;

/// The failed tests by name, each below the reason that is next to it. Tests that passed print errors, too.
fn failed_tests<'a>(all: &[&'a str], most: usize) -> Vec<&'a str> {
    let is_name = |line: &str| FAILED_TEST.iter().any(|prefix| line.starts_with(prefix));
    let mut lines = Vec::new();
    for (at, name) in all.iter().enumerate().filter(|(_, line)| is_name(line)) {
        let above = all[at.saturating_sub(REASON_LINES)..at].iter().rev();
        let mut above = above.take_while(|line| !line.starts_with("(pass)") && !is_name(line));
        lines.extend(above.find(|line| line.starts_with("error: ")));
        lines.push(*name);
    }
    lines.truncate(most);
    lines
}

/// The last exception of Python, with the place where it was raised. The first line of a traceback says nothing.
fn python_exception<'a>(tail: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let begin = tail.iter().rposition(|line| line.starts_with("Traceback (most recent"))?;
    let frames = &tail[begin..];
    let place = frames.iter().rposition(|line| line.starts_with("File \""))?;
    // Between them is the line of code, if Python has it.
    let is_exception = |line: &&&str| {
        let name = line.split_once(": ").map_or(**line, |(name, _)| name);
        name.starts_with(|c: char| {
            c.is_ascii_uppercase() || name.contains('.') && c.is_alphabetic()
        }) && name.chars().all(|c| c.is_alphanumeric() || "_.".contains(c))
    };
    let exception = frames[place..].iter().skip(1).take(4).find(is_exception)?;
    Some((frames[place], exception))
}

fn candidates(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// The first `most` lines that contain one of the marks.
fn marked<'a>(lines: &[&'a str], marks: &Phrases, most: usize) -> Vec<&'a str> {
    let is_marked = |line: &&str| {
        let lower = text::prefix(line, 300).to_ascii_lowercase();
        marks.is_in(&lower)
    };
    lines.iter().copied().filter(is_marked).take(most).collect()
}

/// First words, in lower case, of lines in which a program reports its failure.
const FAILURE_WORDS: [&str; 7] = ["fail", "failed", "failure", "error", "[error]", "✗", "✖"];

/// What each of [`FAILURE_WORDS`] begins with.
static FAILURE_ROOTS: Phrases = Phrases::new(&["fail", "error", "✗", "✖"]);

/// Further marks of such lines: from compilers, test runners, npm, make, and programs that reject their
/// arguments.
static FAILURE_MARKS: Phrases = Phrases::new(&[
    ": error",
    "... failed",
    "build fail",
    "some tests failed",
    "** test failed **",
    "--- fail",
    "err!",
    ": *** [",
    "invalid value ",
    "unknown flag",
    "unknown option",
    "unrecognized option",
    "unknown command",
    "could not resolve host",
]);

/// Whether the output itself reports a failure: a test runner by its counts, another program by a line. Used
/// where a filter hides the exit status. Output that reports no failure counts as success.
pub fn says_failure(text: &str) -> bool {
    if let Some(counts) = test_counts(text) {
        return counts.failed > 0;
    }
    let text = text::suffix(text, 8 * 1_024);
    // Most outputs have none of the words anywhere.
    let lower = text.to_ascii_lowercase();
    let mut lists = [&FAILURE_ROOTS, &STRONG_MARKS, &FAILURE_MARKS].into_iter();
    if !lists.any(|list| list.is_in(&lower)) {
        return false;
    }
    text.lines().any(|line| {
        let lower = text::prefix(line.trim(), 300).to_ascii_lowercase();
        // A summary with a count of zero: `✖ 0 errors, 3 warnings`.
        if lower.contains(" 0 errors") {
            return false;
        }
        let first = lower.split([' ', ':', '\t']).next().unwrap_or_default();
        FAILURE_WORDS.contains(&first) || STRONG_MARKS.is_in(&lower) || FAILURE_MARKS.is_in(&lower)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reported_failures_are_distinguished_from_mentions() {
        for text in [
            "test result: FAILED. 3 passed; 1 failed; 0 ignored",
            "test a ... FAILED",
            "src/a.ts(3,1): error TS2304: Cannot find name 'x'.",
            "--- FAIL: TestX (0.00s)",
            "make: *** [Makefile:3: all] Error 2",
            "[INFO] BUILD FAILURE",
            "[ERROR] /w/A.java:[3,5] cannot find symbol",
            "** TEST FAILED **",
            "npm ERR! code ELIFECYCLE",
            "bash: just: command not found",
            "✖ 3 problems (3 errors, 0 warnings)",
            "invalid value \"src\" for flag -C: -C flag must be first\nusage: go test",
        ] {
            assert!(says_failure(text), "{text}");
        }
        for text in [
            "",
            "done",
            "test result: ok. 12 passed; 0 failed; 0 ignored",
            "Finished `dev` profile in 0.1s",
            "0 errors, 2 warnings",
            "✖ 0 errors, 3 warnings and 0 suggestions in 1 file.",
            "error.rs\nerrors.md",
        ] {
            assert!(!says_failure(text), "{text}");
        }
    }

    #[test]
    fn the_failing_line_is_found() {
        let text = "Compiling a\nerror[E0425]: cannot find value `x`\n --> a.rs:3:5\nwarning: z";
        assert_eq!(failure_lines(text, 2)[0], "error[E0425]: cannot find value `x`");
        assert_eq!(failure_lines("one\ntwo\nthree", 2), ["two", "three"]);
        let frame = |line: u32| format!("  File \"a.py\", line {line}, in <module>\n    main()\n");
        let traceback = format!(
            "reading\nTraceback (most recent call last):\n{}{}ValueError: no date\n",
            frame(3),
            frame(9)
        );
        let place = "File \"a.py\", line 9, in <module>";
        assert_eq!(failure_lines(&traceback, 2), [place, "ValueError: no date"]);
        assert_eq!(failure_lines(&traceback, 1), ["ValueError: no date"]);
        let conflict = "part 1 ok\nCONFLICT at 1a2b3c4\n    a.rs\n    b.rs\n    c.rs";
        assert_eq!(failure_lines(conflict, 2), ["CONFLICT at 1a2b3c4", "a.rs"]);
        let bun = "error: All fail\n(pass) a\nerror: expect(3).toBe(4)\n  at b.ts:3\n(fail) b [1ms]\nerror: script \"test\" exited\n";
        assert_eq!(failure_lines(bun, 3), ["error: expect(3).toBe(4)", "(fail) b [1ms]"]);
        let amid = format!("{}error: boom\n{}", "x\n".repeat(2_000), "y\n".repeat(3_000));
        assert_eq!(failure_lines(&amid, 2), ["error: boom"]);
        assert!(says_failure(&amid));
        let found = "src/a.rs:7: fn on_error() {}\n".repeat(500);
        let search = format!("rg: apps: No such file or directory (os error 2)\n{found}");
        assert_eq!(failure_lines(&search, 2), [search.lines().next().unwrap_or_default()]);
    }
}
