//! Puts a tool's answer into the words in which Codex reports how a command ended.

use serde_json::Value;

use super::super::Images;
use super::{Object, Parts, text as field};

/// Delimiters of a shell's answer in newer versions.
const WRAPPER: (&str, &str) = ("<untrusted_context>\n", "\n</untrusted_context>");

/// Status lines after the output of a command.
const STATUS: [&str; 5] =
    ["Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];

/// Text and images of a `toolResult`, or of a bare `functionResponse`.
pub(super) fn text(result: &Object) -> (String, Images) {
    let mut images = Images::default();
    let mut answers = String::new();
    let mut error = None;
    for response in responses(result) {
        images = add(images, Parts::of(response.get("parts")).images);
        let Some(response) = response.get("response") else { continue };
        error = error.or_else(|| response.get("error")?.as_str());
        if let Some(output) = response.get("output").and_then(Value::as_str) {
            answers.push_str(output);
        }
    }
    match result.get("result") {
        Some(Value::String(output)) => answers.push_str(output),
        parts => images = add(images, Parts::of(parts).images),
    }
    let text = match (error, field(result, "status")) {
        (Some(error), Some("cancelled")) => format!("aborted: {error}"),
        (Some(error), _) => format!("execution error: {error}"),
        (None, Some("cancelled")) => format!("aborted: {answers}"),
        (None, Some("error")) => format!("execution error: {answers}"),
        (None, _) if field(result, "name") == Some("run_shell_command") => shell(&answers),
        (None, _) => answers,
    };
    (text, images)
}

fn responses(result: &Object) -> Vec<&Object> {
    if result.contains_key("response") {
        return vec![result];
    }
    Parts::of(result.get("result").filter(|result| !result.is_string())).responses
}

const fn add(left: Images, right: Images) -> Images {
    Images {
        count: left.count + right.count,
        bytes: left.bytes + right.bytes,
        cost: left.cost + right.cost,
    }
}

/// A command's answer: its output between lines that report how it was run and how it ended.
fn shell(answer: &str) -> String {
    let inner = answer.strip_prefix(WRAPPER.0).unwrap_or(answer);
    let inner = inner.strip_suffix(WRAPPER.1).unwrap_or(inner);
    if inner.starts_with("Command was cancelled") {
        return format!("aborted: {inner}");
    }
    let at = match inner.starts_with("Output: ") {
        true => Some(0),
        // Older versions repeat command and folder before it.
        false => inner.find("\nOutput: ").map(|at| at + 1),
    };
    let Some(at) = at else { return inner.to_owned() };
    let mut printed = &inner[at + "Output: ".len()..];
    let mut code = None;
    while let Some((before, last)) = printed.rsplit_once('\n') {
        if !STATUS.iter().any(|status| last.starts_with(status)) {
            break;
        }
        code = code.or_else(|| last.strip_prefix("Exit Code: "));
        printed = before;
    }
    let background = inner.lines().rev().take(STATUS.len());
    let mut background = background.filter_map(|line| line.strip_prefix("Background PIDs: "));
    let background = background.find(|ids| *ids != "(none)");
    match (background, code.unwrap_or("0").trim().parse::<i64>()) {
        (Some(ids), _) => format!("Process running with session ID {ids}\nOutput:\n{printed}"),
        (None, Ok(code)) => format!("Exit code: {code}\nOutput:\n{printed}"),
        // Terminated by a signal.
        (None, Err(_)) => printed.to_owned(),
    }
}
