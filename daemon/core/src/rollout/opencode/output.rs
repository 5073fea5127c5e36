//! Puts a tool's answer into the words in which Codex reports how a command ended.

use serde_json::Value;

use super::super::{Body, Images, Item};
use super::{Object, images, text as field};
use crate::tokens;

/// The answer of a call, which the line has as `output`. Its tokens count what the tool adds to a text, too.
pub(super) fn answer<'a>(output: &Object) -> Body<'a> {
    let (text, images) = text(output);
    let tokens = tokens::of_bytes(text.len() as u64 + images.cost);
    let bare = match field(output, "tool") {
        Some("read") => file_in(&text),
        Some("task") => result_in(&text).map(str::to_owned),
        _ => None,
    };
    let call_id = field(output, "callID").unwrap_or_default().to_owned().into();
    Body::Item(Item::Output { call_id, text: bare.unwrap_or(text).into(), images }, tokens)
}

/// The lines of a file, which the tool numbers: `<content>1: a`, in earlier versions `<file>` and `00001| a`. `None` for
/// a folder.
fn file_in(text: &str) -> Option<String> {
    let (_, numbered) = text.split_once("<content>").or_else(|| text.split_once("<file>\n"))?;
    let lines: Vec<&str> = numbered.lines().filter_map(without_number).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn without_number(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix([':', '|']).filter(|_| digits > 0)?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// What a sub-agent reports, without the id of its session.
fn result_in(text: &str) -> Option<&str> {
    let (_, result) = text.split_once("<task_result>")?;
    Some(result.split("</task_result>").next().unwrap_or(result).trim())
}

/// Text and images of a tool's `state`.
fn text(output: &Object) -> (String, Images) {
    let Some(state) = output.get("state").and_then(Value::as_object) else {
        return (String::new(), Images::default());
    };
    let printed = field(state, "output").unwrap_or_default();
    let exit = state.get("metadata").and_then(|metadata| metadata.get("exit")?.as_i64());
    let error = field(state, "error").unwrap_or_default();
    let text = match (field(state, "status"), exit) {
        (Some("error"), _) if error.contains("aborted") => format!("aborted: {error}"),
        (Some("error"), _) => format!("execution error: {error}"),
        // It was running when its program ended.
        (Some("pending" | "running"), _) => "aborted".to_owned(),
        (_, Some(code)) => format!("Exit code: {code}\nOutput:\n{printed}"),
        // OpenCode calls this tool in place of one that does not exist.
        (_, None) if field(output, "tool") == Some("invalid") => {
            format!("execution error: {printed}")
        }
        (_, None) => printed.to_owned(),
    };
    (text, images(state))
}
