//! A session's rows or files as lines that are only ever added to while the session goes on.
//!
//! OpenCode writes a part as soon as it begins and again whenever more of it is there. What the last
//! message has begun and not ended waits, and with it everything behind it.

use serde_json::{Map, Value, json};

/// A message and its parts, both in the order of their ids.
#[derive(Debug, Clone, Default)]
pub struct SessionMessage {
    /// Rises with time.
    pub id: String,
    /// As OpenCode has it; it may lack its own id.
    pub info: Value,
    /// As OpenCode has them.
    pub parts: Vec<Value>,
}

/// What of a session its line holds: all that stays, and its name.
const SESSION: [&str; 5] = ["id", "parentID", "directory", "title", "version"];

/// What of a message stands beside each of its parts.
const HEADING: [&str; 4] = ["role", "modelID", "path", "summary"];

/// What the end of a message tells.
const END: [&str; 4] = ["modelID", "tokens", "finish", "error"];

/// Puts a session into lines.
#[must_use]
pub fn assemble(session: &Value, messages: &[SessionMessage]) -> Vec<u8> {
    let mut lines = Lines::default();
    let mut about = pick(session, &SESSION);
    let created = session.pointer("/time/created").cloned().unwrap_or_default();
    about.insert("time".to_owned(), json!({ "created": created }));
    lines.push(&json!({ "at": created, "session": about }));
    for (at, message) in messages.iter().enumerate() {
        if !lines.message(message, at + 1 == messages.len()) {
            return lines.bytes;
        }
    }
    if let Some(id) = session.pointer("/revert/messageID").and_then(Value::as_str) {
        let taken = messages.iter().filter(|message| message.id.as_str() >= id);
        let turns = taken.filter(|message| message.info["role"] == "user").count();
        lines.push(&json!({ "reverted": { "messageID": id, "turns": turns } }));
    }
    lines.bytes
}

#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    /// `false` when something of it waits.
    fn message(&mut self, message: &SessionMessage, is_last: bool) -> bool {
        let info = &message.info;
        let is_assistant = info["role"] == "assistant";
        let is_ended = !is_assistant || !info["time"]["completed"].is_null();
        let begun = &info["time"]["created"];
        let mut heading = pick(info, &HEADING);
        // In a person's message it is another thing: the changes since.
        heading.retain(|key, value| key != "summary" || value.is_boolean());
        for part in &message.parts {
            if is_last && !is_ended && !is_whole(part) {
                return false;
            }
            if part["type"] != "tool" {
                let at = or(&part["time"]["start"], begun);
                self.push(&json!({ "at": at, "message": heading, "part": part }));
                continue;
            }
            let (state, time) = (&part["state"], &part["state"]["time"]);
            let call = json!({
                "type": "tool", "tool": part["tool"], "callID": part["callID"],
                "state": { "input": state["input"] },
            });
            self.push(
                &json!({ "at": or(&time["start"], begun), "message": heading, "part": call }),
            );
            let mut state = state.clone();
            if let Some(fields) = state.as_object_mut() {
                fields.remove("input");
            }
            let output = json!({ "tool": part["tool"], "callID": part["callID"], "state": state });
            let at = or(&time["end"], begun);
            self.push(&json!({ "at": at, "message": heading, "output": output }));
        }
        if is_assistant && (is_ended || !is_last) {
            heading.extend(pick(info, &END));
            let at = or(&info["time"]["completed"], begun);
            self.push(&json!({ "at": at, "message": heading }));
        }
        is_ended || !is_last
    }

    fn push(&mut self, value: &Value) {
        self.bytes.extend_from_slice(value.to_string().as_bytes());
        self.bytes.push(b'\n');
    }
}

/// Whether a part will not change any more.
fn is_whole(part: &Value) -> bool {
    match part["type"].as_str() {
        Some("tool") => !matches!(part["state"]["status"].as_str(), Some("pending" | "running")),
        Some("text" | "reasoning") => !part["time"]["end"].is_null(),
        _ => true,
    }
}

fn pick(value: &Value, keys: &[&str]) -> Map<String, Value> {
    let field = |key: &&str| Some(((*key).to_owned(), value.get(*key)?.clone()));
    keys.iter().filter_map(field).collect()
}

fn or<'a>(value: &'a Value, other: &'a Value) -> &'a Value {
    if value.is_null() { other } else { value }
}
