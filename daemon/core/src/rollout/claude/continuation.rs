//! A new transcript of Claude Code that begins with the compacted history of another thread.
//!
//! The first line is the summary of a compaction, marked as Claude Code marks its own, with our mark. The other
//! messages of the history follow. Their time is before that of the summary, so that they count as older
//! messages of the history.

use serde_json::{Value, json};

use super::super::compose;
use super::super::continuation::{Continuation, MARK, Mark, NewTranscript};

/// Milliseconds by which messages from before the summary are older than it.
const BEFORE_MS: i64 = 1;

/// Claude Code names the transcript folder of a project after the project's path.
pub(super) fn transcript(continuation: &Continuation<'_>) -> NewTranscript {
    let mut text = String::new();
    let mut parent: Option<String> = None;
    let messages = continuation.history.iter().filter_map(role_and_text);
    for (order, (role, words)) in (0_u16..).zip(messages) {
        let uuid = uuid_of(continuation.thread_id, order);
        let mut line = json!({
            "parentUuid": parent,
            "isSidechain": false,
            "userType": "external",
            "cwd": folder(continuation),
            "sessionId": continuation.thread_id,
            "type": role,
            "message": message(role, &words, &uuid),
            "uuid": uuid,
            "timestamp": compose::timestamp(continuation.at_ms - i64::from(order.min(1)) * BEFORE_MS),
        });
        if order == 0 {
            line["isCompactSummary"] = json!(true);
            line["isVisibleInTranscriptOnly"] = json!(true);
            line[MARK] = json!(Mark { continues: continuation.base.clone() });
        }
        text.push_str(&line.to_string());
        text.push('\n');
        parent = Some(uuid);
    }
    if let Some(title) = continuation.title {
        let session = continuation.thread_id;
        let line = json!({ "type": "custom-title", "customTitle": title, "sessionId": session });
        text.push_str(&line.to_string());
        text.push('\n');
    }
    NewTranscript {
        folder: format!("projects/{}", project(folder(continuation))),
        name: format!("{}.jsonl", continuation.thread_id),
        text,
    }
}

fn folder<'a>(continuation: &Continuation<'a>) -> &'a str {
    continuation.cwd.unwrap_or("/")
}

/// Claude Code's name for the folder of a project's transcripts.
fn project(folder: &str) -> String {
    folder.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect()
}

/// Role and text of a message; `None` for calls and their answers, since only messages are carried over.
fn role_and_text(item: &Value) -> Option<(&'static str, String)> {
    let role = match item.get("role")?.as_str()? {
        "assistant" => "assistant",
        _ => "user",
    };
    let parts = item.get("content")?.as_array()?.iter();
    let words: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    (!words.is_empty()).then(|| (role, words.join("\n\n")))
}

fn message(role: &str, words: &str, uuid: &str) -> Value {
    match role {
        "assistant" => json!({
            "id": format!("msg_{uuid}"),
            "type": "message",
            "role": role,
            "model": "<synthetic>",
            "content": [{ "type": "text", "text": words }],
        }),
        _ => json!({ "role": role, "content": words }),
    }
}

/// Unique ids for lines: the thread's id with its last four digits replaced.
fn uuid_of(thread_id: &str, order: u16) -> String {
    let kept = thread_id.len().saturating_sub(4);
    format!("{}{:04x}", thread_id.get(..kept).unwrap_or_default(), order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::{Fold, Place, Source};
    use crate::rollout::contextual::{CHECKPOINT_OPENING, VIEW_HEADER};
    use crate::thread::HistoryBase;

    #[test]
    fn our_own_fold_reads_a_compacted_thread_and_no_request_twice() {
        let message = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] });
        let history = [
            message("user", &format!("{CHECKPOINT_OPENING}\n\n{VIEW_HEADER}\nso far")),
            json!({ "type": "function_call", "name": "shell", "arguments": "{}", "call_id": "1" }),
            message("user", "Now also time out."),
            message("assistant", "I shall."),
        ];
        let base = HistoryBase {
            thread_id: "old".into(),
            end_ordinal_exclusive: 7,
            end_byte_offset: None,
        };
        let made = transcript(&Continuation {
            thread_id: "019c0000-0000-7000-8000-00000000beef",
            first_line: None,
            cwd: Some("/home/u/my.app"),
            title: Some("The fetcher"),
            base: &base,
            at_ms: 1_763_700_000_000,
            local_ms: 0,
            view: "so far",
            history: &history,
        });
        assert_eq!(made.folder, "projects/-home-u-my-app");
        assert_eq!(made.name, "019c0000-0000-7000-8000-00000000beef.jsonl");
        let lines: Vec<Value> =
            made.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 4, "three messages and the title");
        assert_eq!((&lines[1]["type"], &lines[2]["type"]), (&json!("user"), &json!("assistant")));
        assert_eq!(lines[1]["message"]["content"], "Now also time out.");
        assert_eq!(lines[2]["message"]["content"][0]["text"], "I shall.");
        assert_eq!(lines[1]["parentUuid"], lines[0]["uuid"]);
        assert_ne!(lines[1]["uuid"], lines[2]["uuid"]);

        let mut fold = Fold::new(Source::Claude);
        for (line, text) in made.text.lines().enumerate() {
            let place = Place { line: line as u64, offset: 0, bytes: text.len() as u64 };
            fold.line(place, text.as_bytes());
        }
        let head = fold.head();
        assert_eq!((head.compactions, head.malformed, head.unknown), (1, 0, 0));
        assert_eq!(head.title.as_deref(), Some("The fetcher"));
        assert_eq!(head.history_base.as_ref(), Some(&base));
        assert!(fold.checkpoint().requests.all().is_empty(), "{:?}", fold.checkpoint().requests);
    }
}
