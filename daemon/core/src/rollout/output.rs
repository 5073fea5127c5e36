//! Parses the answer of a tool: text, exit status, test counts.

mod failure;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::Deserialize;

use crate::text;

pub use failure::{failure_lines, says_failure};

/// A tool's answer without its envelope: JSON with metadata, lines of status, or none.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct ToolOutput<'a> {
    /// Exit status of the command, if the answer states one.
    pub exit_code: Option<i64>,
    /// Whether the tool itself refused or failed before any command ran.
    pub refused: bool,
    /// The command failed; no exit status is stated.
    pub failed: bool,
    /// The command still runs in the background.
    pub running: bool,
    /// Id of the session to poll while it runs.
    pub session: Option<&'a str>,
    pub text: Cow<'a, str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, Deserialize)]
pub struct TestCounts {
    pub passed: u64,
    pub failed: u64,
}

#[derive(Deserialize)]
struct Structured<'a> {
    #[serde(borrow)]
    output: Cow<'a, str>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    exit_code: Option<i64>,
}

/// Prefixes of answers written by the harness rather than by a command.
const REFUSALS: [&str; 9] = [
    "<tool_use_error>",
    "exec command rejected",
    "exec_command failed",
    "execution error",
    "unsupported call",
    "failed to parse",
    "apply_patch verification failed",
    "patch rejected",
    "aborted",
];

/// Opens what a command printed that failed in the sandbox of older versions of Codex.
const FAILED: &str = "failed in sandbox: ";

/// Opens an answer of newer ones about such a command: the Rust value that describes it, twice escaped.
const DENIED: &str = "exec_command failed: CreateProcess { message: \"Codex(Sandbox(Denied {";

/// Opens the answer to a poll that did not reach the command.
const POLL_FAILED: &str = "write_stdin failed: ";

/// What it says if the command has ended since.
const ENDED: &str = "Unknown process id";

/// Prefixes of answers that put status and time before the output.
const ENVELOPES: [&str; 4] =
    ["Exit code:", "Chunk ID:", "Wall time:", "Process running with session ID"];

/// Status lines to inspect. There are five today, twice as many where one tool ran another.
const ENVELOPE_LINES_MAX: u32 = 16;

/// Parses a tool's answer and removes its envelope.
pub fn read(output: &str) -> ToolOutput<'_> {
    if output.starts_with('{')
        && let Ok(structured) = serde_json::from_str::<Structured<'_>>(output)
    {
        return ToolOutput {
            exit_code: structured.metadata.and_then(|m| m.exit_code),
            text: structured.output,
            ..ToolOutput::default()
        };
    }
    if ENVELOPES.iter().any(|opening| output.starts_with(opening)) {
        return read_envelope(output);
    }
    if let Some(printed) = output.strip_prefix(FAILED) {
        return ToolOutput { failed: true, text: printed.into(), ..ToolOutput::default() };
    }
    if let Some(printed) = output.strip_prefix(DENIED).and_then(printed_when_denied) {
        return ToolOutput { failed: true, text: printed.into(), ..ToolOutput::default() };
    }
    let refused = REFUSALS.iter().any(|opening| output.starts_with(opening));
    ToolOutput { refused, text: output.into(), ..ToolOutput::default() }
}

/// What a command printed that failed in the sandbox.
fn printed_when_denied(value: &str) -> Option<String> {
    let (_, printed) = value.split_once(r#"aggregated_output: StreamOutput { text: \""#)?;
    let (printed, _) = printed.split_once(r#"\", truncated_after_lines:"#)?;
    Some(printed.replace(r"\\n", "\n").replace(r#"\\\""#, "\""))
}

/// Parses the status lines before the output. Everything after them belongs to the command, even if it looks
/// like status.
fn read_envelope(output: &str) -> ToolOutput<'_> {
    let mut answer = ToolOutput { text: output.into(), ..ToolOutput::default() };
    let mut rest = output;
    for _ in 0..ENVELOPE_LINES_MAX {
        let Some((line, after)) = rest.split_once('\n') else { break };
        rest = after;
        if line == "Output:" {
            answer.text = without_line_count(rest).into();
            // Code that ran a tool passes on the envelope of that tool.
            if answer.exit_code.is_some() || !ENVELOPES.iter().any(|o| rest.starts_with(o)) {
                break;
            }
        }
        if let Some(code) = line.strip_prefix("Exit code: ") {
            answer.exit_code = answer.exit_code.or(number(code));
        } else if let Some(code) = line.strip_prefix("Process exited with code ") {
            answer.exit_code = answer.exit_code.or(number(code));
        } else if let Some(session) = line.strip_prefix("Process running with session ID") {
            answer.running = true;
            answer.session = session.split_whitespace().next();
        }
    }
    answer
}

/// Removes the lines in which Codex states the length of an output that it cut.
fn without_line_count(text: &str) -> &str {
    let warned =
        text.strip_prefix("Warning: truncated output (").and_then(|it| it.split_once('\n'));
    let text = warned.map_or(text, |(_, rest)| rest);
    let rest = text.strip_prefix("Total output lines: ").and_then(|rest| rest.split_once("\n\n"));
    match rest {
        Some((count, rest)) if count.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => text,
    }
}

/// Parses the answer to a poll of a running command. Claude Code puts status and output between tags:
/// `<status>completed</status> … <exit_code>0</exit_code> … <stdout>…</stdout>`.
pub fn read_poll(output: &str) -> ToolOutput<'_> {
    if let Some(reason) = output.strip_prefix(POLL_FAILED) {
        // The words are those of the harness: the command printed nothing.
        return ToolOutput { refused: !reason.starts_with(ENDED), ..ToolOutput::default() };
    }
    let answer = read(output);
    let Cow::Borrowed(text) = answer.text else { return answer };
    let Some(status) = between(text::prefix(text, POLL_HEAD_BYTES), "status") else {
        return answer;
    };
    let printed = between(text, "output").or_else(|| between(text, "stdout")).unwrap_or_default();
    let errors = between(text, "stderr").unwrap_or_default();
    ToolOutput {
        exit_code: between(text::prefix(text, POLL_HEAD_BYTES), "exit_code").and_then(number),
        running: matches!(status, "running" | "pending"),
        text: if errors.is_empty() {
            printed.into()
        } else {
            format!("{printed}\n{errors}").into()
        },
        ..ToolOutput::default()
    }
}

/// The status is in the first bytes of a poll's answer; look no further.
const POLL_HEAD_BYTES: usize = 1_024;

/// The text between an opening tag and its last closing tag, trimmed.
fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, inside) = text.split_once(&format!("<{tag}>"))?;
    let end = inside.rfind(&format!("</{tag}>")).unwrap_or(inside.len());
    Some(inside[..end].trim())
}

/// The number at the beginning of a text.
fn number(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Every line of a test summary matches this; skip other lines at the speed of a substring search.
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?-u)pass|fail|Pass|Fail|PASS|FAIL").ok());

/// A longer line is no summary.
const SUMMARY_BYTES: usize = 300;

/// Counts of the summaries of a test runner: cargo and libtest, nextest, pytest, jest and vitest, dotnet, bun, node,
/// mocha, playwright. `None` if there is no known summary.
pub fn test_counts(text: &str) -> Option<TestCounts> {
    let tail = text::suffix(text, 16 * 1_024);
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
        counts.passed += passed.unwrap_or(0);
        counts.failed += failed.unwrap_or(0);
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
    fn the_envelopes_are_unwrapped() {
        for (output, exit_code, text) in [
            (
                r#"{"output":"a\nb","metadata":{"exit_code":2,"duration_seconds":0.1}}"#,
                Some(2),
                "a\nb",
            ),
            (
                r#"exec_command failed: CreateProcess { message: "Codex(Sandbox(Denied { output: ExecToolCallOutput { exit_code: 128, stdout: StreamOutput { text: \"\", truncated_after_lines: None }, aggregated_output: StreamOutput { text: \"fatal: no \\\"x.lock\\\"\\nnot permitted\\n\", truncated_after_lines: None }, timed_out: false } }))" }"#,
                None,
                "fatal: no \"x.lock\"\nnot permitted\n",
            ),
            ("Exit code: 1\nWall time: 0.2 seconds\nOutput:\nboom", Some(1), "boom"),
            (
                "Chunk ID: 5a\nWall time: 0.05 seconds\nProcess exited with code 0\nOutput:\nok",
                Some(0),
                "ok",
            ),
            ("Plan updated", None, "Plan updated"),
            ("my own text\nExit code: 3", None, "my own text\nExit code: 3"),
            (
                "Wall time: 0.1 seconds\nOutput:\nExit code: 2\nWall time: 0.1 seconds\nOutput:\nboom",
                Some(2),
                "boom",
            ),
            (
                "Exit code: 0\nOutput:\nExit code: 7\nOutput:\nx",
                Some(0),
                "Exit code: 7\nOutput:\nx",
            ),
            ("Wall time: 1 seconds\nOutput:\nsaid Exit code: 3", None, "said Exit code: 3"),
            ("Exit code: -1\nOutput:\nx", Some(-1), "x"),
            ("Exit code: 3 (timed out)\nOutput:\nx", Some(3), "x"),
            ("Exit code: 0\nOutput:\nTotal output lines: 120\n\na", Some(0), "a"),
            (
                "Exit code: 0\nOutput:\nWarning: truncated output (original token count: 9)\nTotal output lines: 120\n\na",
                Some(0),
                "a",
            ),
            (
                "Exit code: 0\nOutput:\nTotal output lines: few\n\na",
                Some(0),
                "Total output lines: few\n\na",
            ),
        ] {
            let answer = read(output);
            assert_eq!((answer.exit_code, answer.text.as_ref()), (exit_code, text), "{output}");
        }
        assert!(read("exec command rejected by user").refused);
        let answer = read("failed in sandbox: killed by a signal");
        assert_eq!((answer.failed, answer.text.as_ref()), (true, "killed by a signal"));
    }

    #[test]
    fn polls_report_the_state_of_the_command() {
        let of = |output: &str| {
            let answer = read_poll(output);
            (answer.running, answer.exit_code, answer.text.into_owned())
        };
        for (output, expected) in [
            ("Process running with session ID 7\nOutput:\nmore", (true, None, "more")),
            ("<status>running</status>\n\n<stdout>\na\n</stdout>", (true, None, "a")),
            ("write_stdin failed: Unknown process id 1000", (false, None, "")),
            (
                "<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n\
                 <status>completed</status>\n\n<exit_code>101</exit_code>\n\n<output>\nb\n</output>",
                (false, Some(101), "b"),
            ),
            (
                "Exit code: 0\nOutput:\n<status>failed</status>\n\n<exit_code>1</exit_code>\n\n\
                 <stdout>\na\n</stdout>\n\n<stderr>\nb\n</stderr>",
                (false, Some(1), "a\nb"),
            ),
        ] {
            let (running, exit_code, text) = expected;
            assert_eq!(of(output), (running, exit_code, text.to_owned()), "{output}");
        }
    }

    #[test]
    fn a_poll_that_does_not_reach_its_command_says_nothing_about_it() {
        for (output, refused) in [
            ("write_stdin failed: Unknown process id 1000", false),
            ("write_stdin failed: stdin is closed for this session; rerun with tty=true", true),
        ] {
            let answer = read_poll(output);
            assert_eq!((answer.refused, answer.text.as_ref()), (refused, ""), "{output}");
        }
    }

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
        for text in [
            "nothing was tested",
            "retrying after 2 failed attempts",
            "3 passed along",
            "2 fail-safes",
            "fail 3 times",
        ] {
            assert_eq!(test_counts(text), None, "{text}");
        }
    }
}
