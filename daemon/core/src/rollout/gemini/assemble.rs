//! Converts a session file, a document (until 0.37) or a journal, to lines that are never changed later.
//!
//! A journal repeats a message whenever something was added to it, `$set.messages` restates the history that is
//! sent to the model, and `$rewindTo` takes messages back. Here a message occurs once, at its first position,
//! with its calls and their answers on separate lines. Messages that a rewind took back stay, before the
//! line of the rewind.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::super::OBJECTS_MAX;
use super::super::source::TranscriptPlace;
use super::{Parts, SNAPSHOT};

pub(super) const FOLDER: &str = "chats";

pub fn assemble(file: &[u8], place: TranscriptPlace<'_>) -> Vec<u8> {
    let mut journal = Journal::default();
    match serde_json::from_slice::<Value>(file) {
        Ok(mut document) if document.get("messages").is_some() => {
            let messages = document["messages"].take();
            let summary = document["summary"].clone();
            journal.record(document, place);
            for message in list(messages) {
                journal.message(message);
            }
            journal.set(json!({ "summary": summary }));
        }
        _ => {
            // A line without its newline is still being written.
            let end = memchr::memrchr(b'\n', file).map_or(0, |at| at + 1);
            for line in file[..end].split(|byte| *byte == b'\n') {
                journal.line(line, place);
            }
        }
    }
    journal.lines()
}

enum JournalEntry {
    Message { id: String, message: Value, is_current: bool },
    Other(Value),
    Broken(Vec<u8>),
}

#[derive(Default)]
struct Journal {
    entries: Vec<JournalEntry>,
    has_header: bool,
    summary: String,
    /// Ids of messages that no one wrote.
    passed: HashSet<String>,
    /// The history as it was last restated. A resumed session restates an empty one first, so no message counts
    /// before the next one.
    restated: Option<Vec<Value>>,
}

impl Journal {
    /// Keeps a line that is not one record as it is, after the records it begins with.
    fn line(&mut self, line: &[u8], place: TranscriptPlace<'_>) {
        let mut records = serde_json::Deserializer::from_slice(line).into_iter();
        let (mut read, mut end) = (0, 0);
        while read < OBJECTS_MAX
            && let Some(Ok(record @ Value::Object(_))) = records.next()
        {
            self.record(record, place);
            (read, end) = (read + 1, records.byte_offset());
        }
        let is_blank = line.trim_ascii().is_empty();
        if !is_blank && (read != 1 || !line[end..].trim_ascii().is_empty()) {
            self.entries.push(JournalEntry::Broken(line.to_vec()));
        }
    }

    fn record(&mut self, mut record: Value, place: TranscriptPlace<'_>) {
        if let Some(id) = record["$rewindTo"].as_str() {
            self.settle();
            let from = self.current().find(|(_, known)| *known == id).map_or(0, |(at, _)| at);
            return self.take_back(from);
        }
        if record["$set"].is_object() {
            return self.set(record["$set"].take());
        }
        if record["id"].is_string() {
            return self.message(record);
        }
        if record["sessionId"].is_string() {
            // A resumed session repeats its header.
            if !std::mem::replace(&mut self.has_header, true) {
                self.entries.push(JournalEntry::Other(header(&record, place)));
            }
            return;
        }
        self.entries.push(JournalEntry::Other(record));
    }

    fn message(&mut self, new: Value) {
        self.settle();
        let id = new["id"].as_str().unwrap_or_default().to_owned();
        for entry in &mut self.entries {
            if let JournalEntry::Message { id: known, message, is_current: true } = entry
                && *known == id
            {
                *message = new;
                return;
            }
        }
        self.entries.push(JournalEntry::Message { id, message: new, is_current: true });
    }

    fn set(&mut self, mut set: Value) {
        if let Some(summary) = set["summary"].as_str().filter(|new| *new != self.summary) {
            self.summary = summary.to_owned();
            self.entries.push(JournalEntry::Other(json!({ "$set": { "summary": summary } })));
        }
        if set["messages"].is_array() {
            self.restated = Some(list(set["messages"].take()));
        }
    }

    fn settle(&mut self) {
        if let Some(messages) = self.restated.take() {
            self.restate(messages);
        }
    }

    /// Replaces the history that is sent to the model.
    fn restate(&mut self, messages: Vec<Value>) {
        let stated: HashSet<String> = messages
            .iter()
            .filter_map(|message| Some(message["id"].as_str()?.to_owned()))
            .collect();
        let current = self.current().map(|(_, id)| id.to_owned());
        let known: HashSet<String> = current.chain(self.passed.iter().cloned()).collect();
        let is_new = |message: &Value| !message["id"].as_str().is_some_and(|id| known.contains(id));
        let is_compressed = messages.iter().any(|message| is_new(message) && is_snapshot(message));
        if is_compressed {
            for entry in &mut self.entries {
                if let JournalEntry::Message { id, is_current, .. } = entry {
                    *is_current = *is_current && stated.contains(id);
                }
            }
        } else {
            let last =
                self.current().filter(|(_, id)| stated.contains(*id)).map(|(at, _)| at).last();
            if let Some(last) = last {
                self.take_back(last + 1);
            }
        }
        let mut is_reply = false;
        for message in messages.into_iter().filter(is_new) {
            // The model's obligatory reply to the snapshot is not a message.
            let is_courtesy = is_reply && message["type"] == "gemini";
            is_reply = is_snapshot(&message);
            match message["id"].as_str() {
                Some(id) if is_courtesy => _ = self.passed.insert(id.to_owned()),
                _ => self.message(message),
            }
        }
    }

    fn current(&self) -> impl Iterator<Item = (usize, &str)> {
        self.entries.iter().enumerate().filter_map(|(at, entry)| match entry {
            JournalEntry::Message { id, is_current: true, .. } => Some((at, id.as_str())),
            _ => None,
        })
    }

    fn take_back(&mut self, from: usize) {
        let (mut turns, mut first) = (0, None);
        for entry in &mut self.entries[from..] {
            if let JournalEntry::Message { id, message, is_current } = entry
                && std::mem::take(is_current)
            {
                first.get_or_insert_with(|| id.clone());
                turns += u64::from(is_prompt(message));
            }
        }
        if turns > 0 {
            self.entries.push(JournalEntry::Other(json!({ "$rewindTo": first, "turns": turns })));
        }
    }

    fn lines(self) -> Vec<u8> {
        let mut lines = Lines::default();
        let last = self.entries.len().saturating_sub(1);
        for (at, entry) in self.entries.into_iter().enumerate() {
            match entry {
                JournalEntry::Message { message, .. } => {
                    // A call is about to be added to it.
                    let is_begun = at == last && is_empty(&message);
                    if !is_begun {
                        lines.message(message);
                    }
                }
                JournalEntry::Other(value) => lines.push(&value),
                JournalEntry::Broken(line) => {
                    lines.bytes.extend_from_slice(&line);
                    lines.bytes.push(b'\n');
                }
            }
        }
        lines.bytes
    }
}

#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Calls whose answers are on separate lines.
    answered: HashSet<String>,
}

impl Lines {
    fn message(&mut self, mut message: Value) {
        let calls = list(message["toolCalls"].take());
        if let Some(fields) = message.as_object_mut() {
            fields.remove("toolCalls");
            if !calls.is_empty() {
                fields.insert("calls".to_owned(), json!(calls.len()));
            }
        }
        if self.is_answered(&message) {
            return;
        }
        self.push(&message);
        for call in &calls {
            let asked = json!({ "id": call["id"], "name": call["name"], "args": call["args"] });
            self.push(&json!({ "timestamp": message["timestamp"], "toolCall": asked }));
        }
        for mut call in calls {
            if !matches!(call["status"].as_str(), Some("success" | "error" | "cancelled")) {
                continue;
            }
            self.answered.extend(call["id"].as_str().map(str::to_owned));
            let answer = json!({
                "id": call["id"], "name": call["name"], "status": call["status"],
                "result": call["result"].take(),
            });
            self.push(&json!({ "timestamp": call["timestamp"], "toolResult": answer }));
        }
    }

    /// Whether a message only repeats answers that already have lines, in the form the model was sent.
    fn is_answered(&self, message: &Value) -> bool {
        let content = Parts::of(message.get("content"));
        let is_known = |id: &str| self.answered.contains(id);
        content.text.is_empty()
            && !content.responses.is_empty()
            && content
                .responses
                .iter()
                .all(|response| response.get("id").and_then(Value::as_str).is_some_and(is_known))
    }

    fn push(&mut self, value: &Value) {
        self.bytes.extend_from_slice(value.to_string().as_bytes());
        self.bytes.push(b'\n');
    }
}

/// The folder of the project, and of a sub-agent the session that called it, are named beside the file.
fn header(record: &Value, place: TranscriptPlace<'_>) -> Value {
    let mut header = json!({ "sessionId": record["sessionId"], "startTime": record["startTime"] });
    for key in ["kind", "directories"] {
        if !record[key].is_null() {
            header[key] = record[key].clone();
        }
    }
    let cwd = place.marker.map(str::trim).filter(|root| !root.is_empty());
    let caller = place.path.rsplit('/').nth(1).filter(|folder| *folder != FOLDER);
    for (key, value) in [("cwd", cwd), ("parentSessionId", caller)] {
        if let Some(value) = value {
            header[key] = json!(value);
        }
    }
    header
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        _ => Vec::new(),
    }
}

fn is_snapshot(message: &Value) -> bool {
    message["type"] == "user" && Parts::of(message.get("content")).text.contains(SNAPSHOT)
}

fn is_prompt(message: &Value) -> bool {
    let text = Parts::of(message.get("content")).text;
    message["type"] == "user" && !text.trim().is_empty() && !text.trim_start().starts_with('<')
}

fn is_empty(message: &Value) -> bool {
    let content = Parts::of(message.get("content"));
    let has_calls = message["toolCalls"].as_array().is_some_and(|calls| !calls.is_empty());
    message["type"] == "gemini" && content.text.is_empty() && content.calls.is_empty() && !has_calls
}
