//! Counts tests in the summary that their runner printed.

use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::Deserialize;

use crate::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, Deserialize)]
pub struct TestCounts {
    pub passed: u64,
    pub failed: u64,
}

impl TestCounts {
    /// Any text can have any number.
    fn add(&mut self, passed: u64, failed: u64) {
        self.passed = self.passed.saturating_add(passed);
        self.failed = self.failed.saturating_add(failed);
    }
}

/// Every line of a test summary matches this; skip other lines at the speed of a substring search.
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?-u)pass|fail|Pass|Fail|PASS|FAIL").ok());

/// Bytes at the end of an output in which its summary is.
const TAIL_BYTES: usize = 16 * 1_024;

/// A longer line is no summary.
const SUMMARY_BYTES: usize = 300;

/// Summaries by their forms, in lower case: `passed`, or `total` less those that did not pass. A runner that prints one
/// for each suite, and then one for all, has them in `last`, of which the last counts.
const SUMMARIES: [&str; 13] = [
    // JUnit by Maven; the lines of single classes end with their time.
    r"(?m)^(?:\[\w+\] )?tests run: (?<total>\d+), failures: (?<failed>\d+), errors: (?<errors>\d+), skipped: (?<skipped>\d+)\s*$",
    // RSpec, ExUnit, Minitest.
    r"(?m)^(?:\d+ doctests?, |\d+ properties, )*(?<total>\d+) (?:examples?|tests?|runs?), (?:\d+ assertions?, )?(?<failed>\d+) failures?(?:, (?<errors>\d+) errors?)?(?:, (?<skipped>\d+) (?:pending|excluded|skips?|skipped))?",
    // PHPUnit.
    r"(?m)^ok \((?<total>\d+) tests?, ",
    r"(?m)^tests: (?<total>\d+), assertions: \d+(?:, errors: (?<errors>\d+))?(?:, failures: (?<failed>\d+))?(?:, (?:warnings|deprecations|notices): \d+)*(?:, skipped: (?<skipped>\d+))?",
    // XCTest; Swift Testing, which counts issues instead of failed tests.
    r"(?m)executed (?<last>\d+) tests?, with (?:(?<skipped>\d+) tests? skipped and )?(?<failed>\d+) failures?",
    r"test run with (?<total>\d+) tests?(?: in \d+ suites?)? passed after",
    // Python's unittest, Django.
    r"ran (?<total>\d+) tests? in [\d.]+s\s+(?:ok|failed)(?: \((?:failures=(?<failed>\d+))?(?:, )?(?:errors=(?<errors>\d+))?(?:, )?(?:skipped=(?<skipped>\d+))?)?",
    // Dart, Flutter.
    r"(?m)\d\d:\d\d \+(?<passed>\d+)(?: ~\d+)?(?: -(?<failed>\d+))?: (?:all tests passed|some tests failed)",
    // Gradle, which names no number if all pass.
    r"(?m)^(?<total>\d+) tests? completed, (?<failed>\d+) failed(?:, (?<skipped>\d+) skipped)?",
    // CTest.
    r"(?m)^\d+% tests passed, (?<failed>\d+) tests? failed out of (?<total>\d+)",
    // Deno.
    r"(?m)^(?:ok|failed) \| (?<passed>\d+) passed.* \| (?<failed>\d+) failed",
    // GoogleTest.
    r"(?m)^\[  passed  \] (?<passed>\d+) tests?\.(?:\s+\[  skipped .*)*(?:\s+\[  failed  \] (?<failed>\d+) test)?",
    // Catch2.
    r"(?m)^test cases: (?<total>\d+) \| (?:(?<passed>\d+) passed \| )?(?<failed>\d+) failed",
];

static FORMS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SUMMARIES.iter().filter_map(|form| Regex::new(form).ok()).collect());

/// Counts of the summaries of a test runner: those of [`SUMMARIES`], cargo and libtest, nextest, pytest, jest and vitest,
/// dotnet, bun, node, mocha, playwright. `None` if there is no known summary.
pub fn test_counts(text: &str) -> Option<TestCounts> {
    let tail = text::suffix(text, TAIL_BYTES);
    counts_of_lines(tail).or_else(|| counts_of_forms(tail))
}

/// Every summary of a known form has one of these.
static FORM_MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let marks = r"(?-u)\d (?:tests?|examples?|runs?)[ ,]|[Tt]ests(?: run)?: \d|\| \d+ passed|: (?:All|Some) tests|\[  PASSED  \]|test cases: \d";
    Regex::new(marks).ok()
});

fn counts_of_forms(tail: &str) -> Option<TestCounts> {
    if !FORM_MARKS.as_ref()?.is_match(tail.as_bytes()) {
        return None;
    }
    let lower = tail.to_ascii_lowercase();
    let found = FORMS.iter().find(|form| form.is_match(lower.as_bytes()))?;
    let mut counts = TestCounts::default();
    for summary in found.captures_iter(lower.as_bytes()) {
        let count = |name: &str| -> Option<u64> {
            std::str::from_utf8(summary.name(name)?.as_bytes()).ok()?.parse().ok()
        };
        let failed = count("failed").unwrap_or(0).saturating_add(count("errors").unwrap_or(0));
        let total = count("last").or(count("total")).unwrap_or(0);
        let others = failed.saturating_add(count("skipped").unwrap_or(0));
        let passed = count("passed").unwrap_or(total.saturating_sub(others));
        if count("last").is_some() {
            counts = TestCounts::default();
        }
        counts.add(passed, failed);
    }
    Some(counts)
}

fn counts_of_lines(tail: &str) -> Option<TestCounts> {
    let mut total: Option<TestCounts> = None;
    let mut seen_to = 0;
    while let Some(result) = RESULT.as_ref()?.find_at(tail.as_bytes(), seen_to) {
        let start = tail[..result.start()].rfind('\n').map_or(0, |end| end + 1);
        let end = tail[result.end()..].find('\n').map_or(tail.len(), |at| result.end() + at);
        seen_to = end;
        if end - start > SUMMARY_BYTES {
            continue;
        }
        let lower = tail[start..end].trim().to_ascii_lowercase();
        let is_summary = ["test result:", "tests:", "summary", "passed!", "failed!", "tests  "]
            .iter()
            .any(|mark| lower.starts_with(mark))
            || (lower.contains(" passed") || lower.contains(" failed")) && lower.contains(" in ");
        let alone = count_alone(&lower);
        if !is_summary && alone.is_none() {
            continue;
        }
        let count = |word: &str| number_before(&lower, word);
        let (passed, failed) = match alone {
            Some((number, true)) => (Some(number), None),
            Some((number, false)) => (None, Some(number)),
            None => (count("passed"), count("failed")),
        };
        if passed.is_none() && failed.is_none() {
            continue;
        }
        let counts = total.get_or_insert_default();
        counts.add(passed.unwrap_or(0), failed.unwrap_or(0));
    }
    total
}

/// The count of a line that has no other words, and whether it is of tests that passed: ` 3 pass`, `# fail 1`,
/// `2 passing (4s)`. `line` is in lower case.
fn count_alone(line: &str) -> Option<(u64, bool)> {
    const PASSED: [&str; 3] = ["pass", "passing", "passed"];
    const FAILED: [&str; 3] = ["fail", "failing", "failed"];
    let bare = line.trim_start_matches(['#', 'ℹ', ' ']);
    let bare = bare.split_once(" (").map_or(bare, |(count, _)| count);
    let (one, other) = bare.split_once(' ')?;
    let (number, word) = match one.parse() {
        Ok(number) => (number, other),
        Err(_) => (other.parse().ok()?, one),
    };
    (PASSED.contains(&word) || FAILED.contains(&word)).then(|| (number, PASSED.contains(&word)))
}

/// The number just before `word` or, as in "failed: 2", just after it.
fn number_before(line: &str, word: &str) -> Option<u64> {
    line.match_indices(word).find_map(|(at, _)| {
        let before = line[..at].trim_end();
        let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let after = line[at + word.len()..].strip_prefix(':').unwrap_or_default().trim_start();
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        before[before.len() - digits..].parse().or_else(|_| after[..end].parse()).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_summaries_are_counted() {
        for (text, passed, failed) in [
            ("test result: ok. 12 passed; 0 failed; 1 ignored", 12, 0),
            (
                "test result: ok. 2 passed; 0 failed\nx\ntest result: FAILED. 1 passed; 3 failed",
                3,
                3,
            ),
            ("===== 2 failed, 7 passed in 0.12s =====", 7, 2),
            ("Tests:       1 failed, 4 passed, 5 total", 4, 1),
            ("      Tests  3 passed (3)", 3, 0),
            ("Passed!  - Failed:     0, Passed:    14, Skipped: 0", 14, 0),
            ("===== 7 passed in 0.12s =====", 7, 0),
            ("===== 1 failed in 0.12s =====", 0, 1),
            ("Test Suites: 1 failed, 1 total\nTests:       2 failed, 4 passed, 6 total", 4, 2),
            (" Test Files  1 failed | 1 passed (2)\n      Tests  2 failed | 3 passed (5)", 3, 2),
            (" 1218 pass\n 1 fail\n 2614 expect() calls\nRan 1219 tests across 56 files.", 1218, 1),
            ("# tests 4\n# pass 3\n# fail 1\n# cancelled 0", 3, 1),
            ("ℹ tests 3\nℹ pass 3\nℹ fail 0\nℹ duration_ms 5", 3, 0),
            ("  12 passing (40ms)\n  2 failing\n\n  1) parser", 12, 2),
            ("  1 failed\n    a.spec.ts:3:5 › a\n  3 passed (5.1s)", 3, 1),
            (&format!("test result: ok. 2 passed; 0 failed\n{}", "note\n".repeat(2_000)), 2, 0),
        ] {
            assert_eq!(test_counts(text), Some(TestCounts { passed, failed }), "{text}");
        }
    }

    #[test]
    fn test_summaries_have_their_forms() {
        for (text, passed, failed) in [
            (
                "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in a.B\n[INFO] Results:\n[ERROR] Tests run: 12, Failures: 1, Errors: 2, Skipped: 1\n[INFO] BUILD FAILURE",
                8,
                3,
            ),
            ("12 examples, 1 failure, 2 pending", 9, 1),
            ("Finished in 0.1 seconds\n5 doctests, 12 tests, 0 failures", 12, 0),
            ("12 runs, 30 assertions, 1 failures, 1 errors, 2 skips", 8, 2),
            ("OK (12 tests, 30 assertions)", 12, 0),
            ("FAILURES!\nTests: 12, Assertions: 30, Failures: 1.", 11, 1),
            (
                "Executed 3 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\nExecuted 12 tests, with 1 failure (0 unexpected) in 0.2 (0.2) seconds",
                11,
                1,
            ),
            ("✔ Test run with 12 tests in 3 suites passed after 0.1 seconds.", 12, 0),
            ("Ran 12 tests in 0.013s\n\nOK", 12, 0),
            ("Ran 12 tests in 0.013s\n\nFAILED (failures=1, errors=2)", 9, 3),
            ("Ran 12 tests in 0.013s\n\nFAILED (errors=2)", 10, 2),
            ("Ran 12 tests in 0.013s\n\nOK (skipped=2)", 10, 0),
            ("Ran 12 tests in 0.013s\n\nFAILED (failures=1, skipped=2)", 9, 1),
            ("Tests: 12, Assertions: 30, Failures: 1, Warnings: 1, Skipped: 2.", 9, 1),
            ("Executed 12 tests, with 2 tests skipped and 0 failures (0 unexpected) in 0.2", 10, 0),
            ("12 tests, 18446744073709551615 failures, 18446744073709551615 errors", 0, u64::MAX),
            ("00:01 +3: a.dart: b\n00:05 +15: All tests passed!", 15, 0),
            ("00:05 +14 ~1 -1: Some tests failed.", 14, 1),
            ("12 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.", 11, 1),
            ("92% tests passed, 1 tests failed out of 12", 11, 1),
            ("ok | 12 passed (3 steps) | 0 failed (5ms)", 12, 0),
            (
                "[==========] 3 tests ran.\n[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:",
                2,
                1,
            ),
            ("test cases: 12 | 11 passed | 1 failed\nassertions: 30 | 29 passed | 1 failed", 11, 1),
        ] {
            assert_eq!(test_counts(text), Some(TestCounts { passed, failed }), "{text}");
        }
        for text in [
            "nothing was tested",
            "I ran 12 tests in my head",
            "✘ Test run with 12 tests failed after 0.1 seconds with 2 issues.",
            "12 tests, all of them old",
            "retrying after 2 failed attempts",
            "3 passed along",
            "2 fail-safes",
            "fail 3 times",
        ] {
            assert_eq!(test_counts(text), None, "{text}");
        }
    }
}
