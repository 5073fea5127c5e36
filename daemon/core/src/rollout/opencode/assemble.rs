//! Converts a session's records to lines that only grow at the end while the session continues.
//!
//! OpenCode writes a part as soon as it begins and again whenever it grows. Unfinished parts of the last
//! message are held back, and so is everything after them.
//!
//! A line has only the fields that we read. OpenCode keeps changing old records (it marks outputs that it no
//! longer sends, and adds the changes of a turn to its request), and files have ids that rows do not.

use serde_json::{Map, Value, json};

use super::super::records::{MessageRecords, Record, SessionRecords};

/// Fields of the session's line: those that never change, and the title.
const SESSION: [&str; 5] = ["id", "parentID", "directory", "title", "version"];

/// Fields of a message that are repeated with each of its parts.
const HEADING: [&str; 4] = ["role", "modelID", "path", "summary"];

/// Fields of the line that ends a message.
const END: [&str; 4] = ["modelID", "tokens", "finish", "error"];

/// Fields of a part's line.
const PART: [&str; 6] = ["type", "text", "synthetic", "ignored", "filename", "url"];

/// Fields of a tool's state on the line of its output.
const STATE: [&str; 4] = ["status", "output", "error", "attachments"];

pub fn assemble(records: &SessionRecords) -> Vec<u8> {
    let mut lines = Lines::default();
    let session = &records.session;
    let mut about = pick(session, &SESSION);
    let created = session.pointer("/time/created").cloned().unwrap_or_default();
    about.insert("time".to_owned(), json!({ "created": created }));
    lines.push(&json!({ "at": created, "session": about }));
    let mut messages: Vec<_> = records.messages.iter().collect();
    // A damaged record has no date: at the front it never moves.
    messages.sort_by_key(|message| (created_ms(message), message.id.as_str()));
    for (at, message) in messages.iter().enumerate() {
        if !lines.message(message, at + 1 == messages.len()) {
            return lines.bytes;
        }
    }
    if let Some(id) = session.pointer("/revert/messageID").and_then(Value::as_str) {
        let taken = messages.iter().skip_while(|message| message.id != id);
        let requests = taken.filter_map(|message| message.message.object());
        let turns = requests.filter(|message| message["role"] == "user").count();
        lines.push(&json!({ "reverted": { "messageID": id, "turns": turns } }));
    }
    lines.bytes
}

fn created_ms(message: &MessageRecords) -> Option<i64> {
    message.message.object()?.pointer("/time/created")?.as_i64()
}

#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    /// Returns `false` if part of it is held back.
    fn message(&mut self, records: &MessageRecords, is_last: bool) -> bool {
        let info = match &records.message {
            Record::Object(info) => info,
            // Without it, the author of its parts is unknown.
            Record::Broken(text) => {
                self.push_malformed(text);
                return true;
            }
        };
        let is_assistant = info["role"] == "assistant";
        let is_ended = !is_assistant || !info["time"]["completed"].is_null();
        let may_wait = is_last && !is_ended;
        let begun = &info["time"]["created"];
        let mut heading = pick(info, &HEADING);
        // In a person's message this field means something else: the changes since.
        heading.retain(|key, value| key != "summary" || value.is_boolean());
        for part in &records.parts {
            match part {
                Record::Object(part) if !may_wait || is_whole(part) => {
                    self.part(&heading, part, begun);
                }
                Record::Broken(text) if !may_wait => self.push_malformed(text),
                _ => return false,
            }
        }
        if is_assistant && !may_wait {
            heading.extend(pick(info, &END));
            let at = or(&info["time"]["completed"], begun);
            self.push(&json!({ "at": at, "message": heading }));
        }
        !may_wait
    }

    /// Adds a part; that of a tool becomes two lines, its call and its output.
    fn part(&mut self, heading: &Map<String, Value>, part: &Value, begun: &Value) {
        if part["type"] != "tool" {
            let at = or(&part["time"]["start"], begun);
            return self.push(&json!({ "at": at, "message": heading, "part": pick(part, &PART) }));
        }
        let (state, time) = (&part["state"], &part["state"]["time"]);
        let call = json!({
            "type": "tool", "tool": part["tool"], "callID": part["callID"],
            "state": { "input": state["input"] },
        });
        self.push(&json!({ "at": or(&time["start"], begun), "message": heading, "part": call }));
        let mut ended = pick(state, &STATE);
        if !state["metadata"]["exit"].is_null() {
            ended.insert("metadata".to_owned(), json!({ "exit": state["metadata"]["exit"] }));
        }
        let output = json!({ "tool": part["tool"], "callID": part["callID"], "state": ended });
        self.push(&json!({ "at": or(&time["end"], begun), "message": heading, "output": output }));
    }

    fn push(&mut self, value: &Value) {
        self.bytes.extend_from_slice(value.to_string().as_bytes());
        self.bytes.push(b'\n');
    }

    /// A record that is counted and skipped: it becomes a line that is not a JSON object.
    fn push_malformed(&mut self, text: &[u8]) {
        self.bytes.push(b'!');
        self.bytes.extend(text.iter().filter(|byte| **byte != b'\n'));
        self.bytes.push(b'\n');
    }
}

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
