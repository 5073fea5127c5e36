//! Puts a tool's answer into the words in which Codex reports how a command ended.

use serde_json::Value;

use super::super::Images;
use super::{Object, images, text as field};

/// Text and images of a tool's `state`, which the line has as `output` together with the call's id.
pub(super) fn text(output: &Object) -> (String, Images) {
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
