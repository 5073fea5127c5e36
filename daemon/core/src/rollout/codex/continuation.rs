//! A new Codex transcript that begins with the compacted history of another thread.
//!
//! It has two lines. The first identifies the thread: it copies the first line of the transcript that it
//! continues, if that is one of Codex, and adds our mark. The second is a `compacted` line, which every version
//! of Codex that can resume reads as "this replaces everything before". The envelope has no ordinals: every
//! version since 0.36 resumes that, and it does not claim the history of another file.

use serde_json::{Value, json};

use super::super::compose::{self, Marker};
use super::super::contextual;
use super::super::continuation::{Continuation, MARK, Mark, NewTranscript};

/// Keys of a first line that link its transcript to others, or that belong to that transcript only.
const OF_THE_OLD_THREAD: [&str; 10] = [
    "context_window",
    "forked_from_id",
    "history_base",
    "history_mode",
    "longhaul",
    "metadata",
    "parent_thread_id",
    "session_id",
    "thread_source",
    "title",
];

/// From this version on Codex adds its context to every first turn by itself.
///
/// Measured by appending `compacted` lines: 0.142.5 and 0.169.0 do, 0.77.0 does not; of the versions in
/// between, 0.105.0 is the first that writes replacement histories itself.
const CONTEXT_IS_FRESH_SINCE: u32 = 105;

/// Maximum number of context items to carry over.
const CARRIED_ITEMS: usize = 8;

/// Codex names its folders by local time.
pub(super) fn transcript(continuation: &Continuation<'_>) -> NewTranscript {
    let local_ms = continuation.local_ms;
    NewTranscript {
        folder: format!("sessions/{}", compose::folder(local_ms)),
        name: compose::file_name(local_ms, continuation.thread_id),
        text: text(continuation),
    }
}

fn text(continuation: &Continuation<'_>) -> String {
    let compacted = Marker::Compacted {
        message: continuation.view.to_owned(),
        replacement_history: continuation.history.to_vec(),
    };
    let (kind, payload) = compacted.payload();
    let mut text = compose::line(continuation.at_ms, "session_meta", &meta(continuation), None);
    text.push_str(&compose::line(continuation.at_ms, kind, &payload, None));
    text
}

fn meta(continuation: &Continuation<'_>) -> Value {
    let mut meta = continuation.first_line.and_then(meta_of).unwrap_or_else(|| json!({}));
    for key in OF_THE_OLD_THREAD {
        if let Some(fields) = meta.as_object_mut() {
            fields.remove(key);
        }
    }
    meta["id"] = json!(continuation.thread_id);
    meta["timestamp"] = json!(compose::timestamp(continuation.at_ms));
    let words = [
        ("cwd", continuation.cwd.unwrap_or("/")),
        ("originator", "codex_cli_rs"),
        ("cli_version", "0.0.0"),
        ("source", "cli"),
    ];
    for (key, value) in words {
        // The source of a sub-agent is an object; its continuation is a thread of the person.
        if !meta[key].is_string() {
            meta[key] = json!(value);
        }
    }
    if let Some(title) = continuation.title {
        meta["title"] = json!(title);
    }
    meta[MARK] = json!(Mark { continues: continuation.base.clone() });
    meta
}

/// The payload of a first line, bare or in the envelope; `None` for a line of another kind.
fn meta_of(line: &str) -> Option<Value> {
    let mut line: Value = serde_json::from_str(line).ok()?;
    let meta = match line.get("type").and_then(Value::as_str) {
        Some("session_meta") => line.get_mut("payload")?.take(),
        Some(_) => return None,
        None => line,
    };
    (meta.is_object() && meta.get("id").is_some()).then_some(meta)
}

/// Whether the Codex that wrote this first line omits its context when it resumes a compacted thread, so that
/// the history has to carry it.
pub fn carries_context(first_line: Option<&str>) -> bool {
    let Some(meta) = first_line.and_then(meta_of) else { return false };
    let version = meta["cli_version"].as_str().unwrap_or_default();
    let mut parts = version.split(['.', '-']).map(str::parse::<u32>);
    matches!((parts.next(), parts.next()), (Some(Ok(0)), Some(Ok(minor))) if minor < CONTEXT_IS_FRESH_SINCE)
        || version.is_empty()
}

/// The context that the harness put among `items`: the last of each kind, in order.
pub fn context_of(items: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut kept: Vec<(String, Value)> = Vec::new();
    for item in items {
        let Some(kind) = kind_of_context(&item) else { continue };
        kept.retain(|(known, _)| *known != kind);
        kept.push((kind, item));
    }
    let skipped = kept.len().saturating_sub(CARRIED_ITEMS);
    kept.into_iter().skip(skipped).map(|(_, item)| item).collect()
}

/// The first word of a context item; `None` for messages of the person or the agent, and for views.
fn kind_of_context(item: &Value) -> Option<String> {
    let role = item.get("role")?.as_str()?;
    let text = item.pointer("/content/0/text")?.as_str()?;
    let is_context = match role {
        "developer" => true,
        "user" => contextual::is_standing(text),
        _ => false,
    };
    is_context.then(|| text.split_whitespace().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::{Fold, Place, Source};
    use crate::thread::HistoryBase;

    const FIRST: &str = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"old","timestamp":"t","cwd":"/w","originator":"codex_exec","cli_version":"0.169.0","source":"exec","history_mode":"paginated","history_base":{"thread_id":"x"},"model_provider":"mock"}}"#;

    static BASE: HistoryBase =
        HistoryBase { thread_id: String::new(), end_ordinal_exclusive: 7, end_byte_offset: None };

    fn continuation<'a>(first_line: Option<&'a str>, history: &'a [Value]) -> Continuation<'a> {
        Continuation {
            thread_id: "new",
            first_line,
            cwd: Some("/elsewhere"),
            title: None,
            base: &BASE,
            at_ms: 0,
            local_ms: 0,
            view: "[SESSION_CHECKPOINT v1]",
            history,
        }
    }

    #[test]
    fn the_first_line_has_its_own_identity_and_nothing_of_the_old_threads() {
        let text = transcript(&continuation(Some(FIRST), &[])).text;
        let meta: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let meta = &meta["payload"];
        for (key, value) in
            [("id", "new"), ("cwd", "/w"), ("source", "exec"), ("model_provider", "mock")]
        {
            assert_eq!(meta[key], value);
        }
        for key in OF_THE_OLD_THREAD.iter().filter(|key| **key != MARK) {
            assert!(meta.get(key).is_none(), "{key}");
        }
        assert_eq!(meta[MARK]["continues"]["end_ordinal_exclusive"], 7);
        // Its lines have no ordinals, even if the old ones had.
        assert!(text.lines().all(|line| {
            serde_json::from_str::<Value>(line).is_ok_and(|line| line.get("ordinal").is_none())
        }));
    }

    #[test]
    fn missing_fields_of_a_first_line_are_filled_in() {
        let bare = r#"{"id":"old","timestamp":"t","instructions":null,"git":{}}"#;
        for first in [None, Some(bare), Some("torn"), Some(r#"{"type":"user"}"#)] {
            let text = transcript(&continuation(first, &[])).text;
            let meta: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            let of = |key: &str| meta["payload"][key].as_str().unwrap().to_owned();
            assert_eq!(
                [of("cwd"), of("originator"), of("source")],
                ["/elsewhere", "codex_cli_rs", "cli"]
            );
        }
    }

    #[test]
    fn our_own_fold_reads_it_as_a_compacted_thread() {
        let history = [
            json!({"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}),
        ];
        let text = transcript(&continuation(Some(FIRST), &history)).text;
        let mut fold = Fold::new(Source::Codex);
        for (line, text) in text.lines().enumerate() {
            let place = Place { line: line as u64, offset: 0, bytes: text.len() as u64 };
            fold.line(place, text.as_bytes());
        }
        let head = fold.head();
        assert_eq!(
            (head.thread_id.as_deref(), head.compactions, head.malformed),
            (Some("new"), 1, 0)
        );
        assert_eq!(head.history_base.as_ref(), Some(&BASE));
    }

    #[test]
    fn old_versions_need_their_context_carried() {
        for (version, carries) in [
            ("0.77.0", true),
            ("0.104.9", true),
            ("0.105.0", false),
            ("0.169.0", false),
            ("", true),
            ("1.2.0", false),
        ] {
            let line = FIRST.replace("0.169.0", version);
            assert_eq!(carries_context(Some(&line)), carries, "{version}");
        }
        assert!(!carries_context(None));
    }

    #[test]
    fn the_last_context_of_each_kind_is_carried() {
        let message = |role: &str, text: &str| json!({"type":"message","role":role,"content":[{"type":"input_text","text":text}]});
        let items = vec![
            message("user", "<environment_context>\n1"),
            message("user", "# AGENTS.md instructions for /w"),
            message("user", "fix it"),
            message("assistant", "done"),
            message("user", "<environment_context>\n2"),
            message("user", "[SESSION_CHECKPOINT v1]"),
            message("user", "<turn_aborted>"),
        ];
        let texts: Vec<String> = context_of(items.into_iter())
            .iter()
            .map(|item| item["content"][0]["text"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(texts, ["# AGENTS.md instructions for /w", "<environment_context>\n2"]);
    }
}
