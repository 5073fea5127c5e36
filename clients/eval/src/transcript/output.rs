//! Decodes a tool result: its text, and its exit code in each form that clients have used.

use serde_json::Value;

use super::parts;

/// Marks the output of a rejected call.
pub const REFUSED: &str = "execution error";

/// A tool result.
#[derive(Debug, Default)]
pub struct Output {
    /// Ties the output to its call.
    pub call_id: String,
    /// The decoded text, without the header that carries time and exit code.
    pub text: String,
    /// The exit code, if the output states one.
    pub exit_code: Option<i64>,
}

impl Output {
    /// Reads an item whose type ends in `_output`.
    pub(super) fn read(item: &Value) -> Self {
        let call_id = super::string(item, "call_id");
        let (text, exit_code) = match item.get("output") {
            Some(Value::String(text)) => decode(text),
            Some(Value::Array(_)) => {
                decode(&parts(item.get("output")).collect::<Vec<_>>().join("\n"))
            }
            Some(object @ Value::Object(_)) => decode_object(object),
            Some(other) => (other.to_string(), None),
            None => (item.get("tools").map(Value::to_string).unwrap_or_default(), None),
        };
        Self { call_id, text, exit_code }
    }

    /// Whether the call failed, according to the output.
    pub fn failed(&self) -> bool {
        const REFUSALS: [&str; 6] = [
            "apply_patch verification failed",
            REFUSED,
            "exec_command failed",
            "aborted",
            "failed to parse function arguments",
            "unsupported call",
        ];
        match self.exit_code {
            Some(code) => code != 0,
            None => REFUSALS.iter().any(|start| self.text.starts_with(start)),
        }
    }
}

fn decode(text: &str) -> (String, Option<i64>) {
    if text.starts_with('{')
        && let Ok(object @ Value::Object(_)) = serde_json::from_str(text)
        && object.get("output").is_some()
    {
        return decode_object(&object);
    }
    let is_framed =
        ["Exit code: ", "Chunk ID: ", "Wall time: "].iter().any(|s| text.starts_with(s));
    if !is_framed {
        return (text.to_owned(), None);
    }
    let (header, body) = text.split_once("\nOutput:\n").unwrap_or((text, ""));
    let code = header.lines().find_map(|line| {
        let line = line.trim();
        let digits = line
            .strip_prefix("Exit code: ")
            .or_else(|| line.strip_prefix("Process exited with code "))?;
        digits.trim().parse().ok()
    });
    // A running process states its session id in the header, and later calls need that id.
    let running = header.lines().find(|line| line.contains("session ID"));
    (running.map_or_else(|| body.to_owned(), |line| format!("{line}\n{body}")), code)
}

fn decode_object(object: &Value) -> (String, Option<i64>) {
    let text = ["output", "content"].into_iter().find_map(|key| object.get(key));
    let text = match text {
        Some(Value::String(text)) => text.clone(),
        Some(other) => parts(Some(other)).collect::<Vec<_>>().join("\n"),
        None => object.to_string(),
    };
    let code = object.get("metadata").and_then(|meta| meta.get("exit_code")?.as_i64());
    (text, code)
}
