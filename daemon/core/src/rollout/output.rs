//! Parses the answer of a tool: text, exit status, test counts.

mod counts;
mod failure;

use std::borrow::Cow;

use serde::Deserialize;

use crate::text;

pub use counts::{TestCounts, test_counts};
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
}
