//! Writes lines in the Codex envelope, for the transcripts of the daemon.
//!
//! What is ours rather than the format's goes into `metadata` next to the payload, where newer rollouts have
//! theirs and every reader ignores what it does not know.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::thread::ThreadKind;

/// The text before a client's own id of a line.
const CLIENT_ITEM_ID: &str = r#","metadata":{"client_item_id":"#;

/// Identity of a new thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opening {
    /// A UUID.
    pub thread_id: String,
    /// The client's own key for it.
    pub client_thread_id: Option<String>,
    /// Absolute working folder.
    pub cwd: String,
    pub originator: String,
    pub version: Option<String>,
    /// Its title; the default is its first request.
    pub title: Option<String>,
    pub kind: ThreadKind,
    pub parent_thread_id: Option<String>,
    pub model: Option<String>,
    pub context_window: Option<u64>,
}

/// Events of a thread other than its items.
#[derive(Debug, Clone, PartialEq)]
pub enum Marker {
    Settings {
        /// Absolute working folder.
        cwd: Option<String>,
        model: Option<String>,
    },
    TurnStarted,
    TurnComplete,
    TurnAborted,
    /// The person took back the last turns.
    RolledBack {
        turns: u32,
    },
    /// The compaction on `line` was undone: what it replaced is the history again.
    CompactionUndone {
        line: u64,
    },
    /// The history before was replaced.
    Compacted {
        message: String,
        /// The items that replace the history before.
        replacement_history: Vec<Value>,
    },
}

/// The first lines of a transcript, each with its newline.
pub fn opening(opening: &Opening, at_ms: i64) -> String {
    let source = match opening.kind {
        ThreadKind::Exec => json!("exec"),
        ThreadKind::Subagent => {
            let parent = opening.parent_thread_id.as_deref();
            json!({ "subagent": { "thread_spawn": { "parent_thread_id": parent, "depth": 1 } } })
        }
        ThreadKind::Interactive | ThreadKind::Other => json!({ "custom": "longhaul" }),
    };
    let mut meta = json!({
        "id": opening.thread_id,
        "timestamp": timestamp(at_ms),
        "cwd": opening.cwd,
        "originator": opening.originator,
        "source": source,
        "model_provider": null,
    });
    let optional = [
        ("cli_version", &opening.version),
        ("title", &opening.title),
        ("client_thread_id", &opening.client_thread_id),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            meta[name] = json!(value);
        }
    }
    let mut lines = line(at_ms, "session_meta", &meta, None);
    if opening.model.is_some() {
        let settings =
            Marker::Settings { cwd: Some(opening.cwd.clone()), model: opening.model.clone() };
        let (kind, payload) = settings.payload();
        lines.push_str(&line(at_ms, kind, &payload, None));
    }
    if let Some(window) = opening.context_window {
        let info = json!({ "type": "token_count", "info": { "model_context_window": window } });
        lines.push_str(&line(at_ms, "event_msg", &info, None));
    }
    lines
}

/// One line with its newline. `kind` is the envelope's. `client_item_id` is the client's name for the line, by
/// which the daemon recognizes a line that was sent twice.
pub fn line(at_ms: i64, kind: &str, payload: &Value, client_item_id: Option<&str>) -> String {
    let at = timestamp(at_ms);
    let mut line = format!(r#"{{"timestamp":"{at}","type":"{kind}","payload":{payload}"#);
    if let Some(id) = client_item_id {
        line.push_str(CLIENT_ITEM_ID);
        line.push_str(&Value::from(id).to_string());
        line.push('}');
    }
    line.push_str("}\n");
    line
}

/// The client's own id in a line of [`line()`]; `None` in any other.
pub fn client_item_id(line: &str) -> Option<String> {
    // Search from the end: quotes inside strings are escaped, and keys of the payload come before ours.
    let at = line.rfind(CLIENT_ITEM_ID)? + CLIENT_ITEM_ID.len();
    let mut values = serde_json::Deserializer::from_str(&line[at..]).into_iter::<String>();
    values.next()?.ok()
}

/// Kind and payload of a line of [`line()`], without its time and its client's id. The same addition has the
/// same content whenever it is sent.
pub fn content(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(r#","type":"#)?;
    Some(&rest[..rest.rfind(CLIENT_ITEM_ID)?])
}

/// Folder of a transcript that begins at `at_ms`, relative to the folder of all: `2026/11/21`, UTC.
pub fn folder(at_ms: i64) -> String {
    moment(at_ms).strftime("%Y/%m/%d").to_string()
}

/// File name of a transcript: time in UTC, and thread.
pub fn file_name(at_ms: i64, thread_id: &str) -> String {
    format!("rollout-{}-{thread_id}.jsonl", moment(at_ms).strftime("%Y-%m-%dT%H-%M-%S"))
}

pub(super) fn timestamp(at_ms: i64) -> String {
    format!("{:.3}", moment(at_ms))
}

/// A time outside the calendar becomes the first one.
fn moment(at_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl Marker {
    /// Kind and payload of its line.
    pub fn payload(&self) -> (&'static str, Value) {
        let event = |event: Value| ("event_msg", event);
        match self {
            Self::Settings { cwd, model } => {
                ("turn_context", json!({ "cwd": cwd, "model": model, "summary": "auto" }))
            }
            Self::TurnStarted => event(json!({ "type": "task_started" })),
            Self::TurnComplete => event(json!({ "type": "task_complete" })),
            Self::TurnAborted => event(json!({ "type": "turn_aborted", "reason": "interrupted" })),
            Self::RolledBack { turns } => {
                event(json!({ "type": "thread_rolled_back", "num_turns": turns }))
            }
            Self::CompactionUndone { line } => {
                event(json!({ "type": "compaction_undone", "line": line }))
            }
            Self::Compacted { message, replacement_history } => (
                "compacted",
                json!({ "message": message, "replacement_history": replacement_history }),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::{Fold, Place, Source};

    const AT: i64 = 1_763_700_000_000;

    fn folded(text: &str) -> Fold {
        let mut fold = Fold::new(Source::Longhaul);
        let mut offset = 0;
        for (number, line) in text.lines().enumerate() {
            let place = Place { line: number as u64, offset, bytes: line.len() as u64 };
            fold.line(place, line.as_bytes());
            offset += line.len() as u64 + 1;
        }
        fold
    }

    #[test]
    fn the_fold_reads_back_what_is_written() {
        let begun = Opening {
            thread_id: "01980000-0000-7000-8000-000000000001".into(),
            cwd: "/w/demo".into(),
            originator: "editor".into(),
            title: Some("Parser work".into()),
            model: Some("m-1".into()),
            ..Opening::default()
        };
        let item = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "fix the parser" }] });
        let mut text = opening(&begun, AT);
        text.push_str(&line(AT + 5, "response_item", &item, Some("a \"quoted\" \\ id")));
        for marker in [Marker::TurnStarted, Marker::TurnComplete] {
            let (kind, payload) = marker.payload();
            text.push_str(&line(AT + 6, kind, &payload, Some("m")));
        }
        let fold = folded(&text);
        let head = fold.head();
        assert_eq!(head.thread_id.as_deref(), Some(begun.thread_id.as_str()));
        assert_eq!(
            (head.cwd.as_deref(), head.title.as_deref()),
            (Some("/w/demo"), Some("Parser work"))
        );
        assert_eq!((head.model.as_deref(), head.kind), (Some("m-1"), ThreadKind::Interactive));
        assert_eq!((head.items, head.unknown, head.malformed, head.lines), (1, 0, 0, 5));
        assert_eq!((head.created_at_ms, head.updated_at_ms), (AT, AT + 6));
    }

    #[test]
    fn every_marker_is_understood() {
        let compacted = Marker::Compacted {
            message: "so far".into(),
            replacement_history: vec![json!({ "type": "message", "role": "user", "content": [] })],
        };
        let markers = [
            Marker::Settings { cwd: Some("/w".into()), model: None },
            Marker::TurnAborted,
            Marker::RolledBack { turns: 1 },
            compacted,
        ];
        let text: String = markers
            .iter()
            .map(|marker| {
                let (kind, payload) = marker.payload();
                line(AT, kind, &payload, Some("m"))
            })
            .collect();
        let fold = folded(&text);
        assert_eq!(
            (fold.head().unknown, fold.head().malformed, fold.head().compactions),
            (0, 0, 1)
        );
    }

    #[test]
    fn the_clients_id_is_found_after_any_payload() {
        let hostile = json!({ "type": "x", "metadata": { "client_item_id": "not me" }, "z": r#"","metadata":{"client_item_id":"nor me"}"# });
        for id in ["a", "\u{e9}\u{1f600}", r#"q"\"#] {
            let line = line(AT, "response_item", &hostile, Some(id));
            assert_eq!(client_item_id(line.trim_end()).as_deref(), Some(id));
            let expected = format!(r#""response_item","payload":{hostile}"#);
            assert_eq!(content(line.trim_end()), Some(expected.as_str()));
        }
        assert_eq!(client_item_id(&line(AT, "session_meta", &json!({}), None)), None);
    }

    #[test]
    fn file_names_contain_time_and_thread() {
        assert_eq!(folder(AT), "2025/11/21");
        assert_eq!(file_name(AT, "id"), "rollout-2025-11-21T04-40-00-id.jsonl");
        assert_eq!(timestamp(AT), "2025-11-21T04:40:00.000Z");
        assert_eq!(folder(i64::MAX), "1970/01/01");
    }
}
