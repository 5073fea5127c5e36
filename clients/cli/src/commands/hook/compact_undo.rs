//! `/compact undo` in a session with our plugin: returns the history that a briefing replaced, as messages.
//!
//! The briefing in the session contains the compaction's view word for word. That identifies the compaction to undo,
//! whatever was compacted or undone since. As a command of the person it uses the person's socket.

use longhaul_client::Client;
use longhaul_client::briefing::RESTORED;
use longhaul_protocol::compaction::{
    CompactionGet, CompactionGetParams, CompactionList, CompactionListParams, Undo, UndoParams,
};
use serde::Serialize;
use serde_json::Value;

use super::exchange::{connect, one_line};
use super::payload::Payload;
use crate::session::Session;

/// The only word that the person writes after `/compact`.
const WORD: &str = "undo";
/// Number of newest compactions to inspect.
const INSPECTED: u32 = 20;

/// A message in the format of Claude Code's engine.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    role: String,
    text: String,
    tool_uses: Vec<ToolUse>,
    tool_results: Vec<ToolResult>,
}

#[derive(Debug, PartialEq, Serialize)]
struct ToolUse {
    tool_use_id: String,
    tool: String,
    input: Value,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult {
    #[serde(rename = "tool_use_id")]
    tool_use_id: String,
    text: String,
    is_error: bool,
}

pub(super) fn is_requested(payload: &Payload) -> bool {
    payload.instructions.as_deref().is_some_and(|words| words.trim().eq_ignore_ascii_case(WORD))
}

/// Undoes the compaction whose briefing is in the session.
pub(super) async fn restore(
    session: &Session,
    (payload, thread_id): (&Payload, &str),
    left_ms: u64,
) -> Result<Vec<Message>, String> {
    let briefing = payload.briefing.as_deref().ok_or("this session has no briefing by longhaul")?;
    let client = connect(session.options(), left_ms).await?;
    let id = find_compaction(&client, thread_id, briefing).await?;
    let undone = client.call::<Undo>(UndoParams { compaction_id: id });
    let undone = undone.await.map_err(|error| one_line(&error))?;
    if !undone.complete {
        return Err(
            "the old history is too large for one message, or its transcript was rewritten"
                .to_owned(),
        );
    }
    let mut messages = messages(&undone.history);
    if messages.is_empty() {
        return Err("the old history is empty".to_owned());
    }
    if messages.first().is_some_and(|first| first.text != RESTORED) {
        let mark = Message { role: "user".into(), text: RESTORED.into(), ..Default::default() };
        messages.insert(0, mark);
    }
    Ok(messages)
}

/// The newest compaction whose view is in the briefing.
async fn find_compaction(
    client: &Client,
    thread_id: &str,
    briefing: &str,
) -> Result<String, String> {
    let of = CompactionListParams {
        thread_id: Some(thread_id.to_owned()),
        limit: Some(INSPECTED),
        cursor: None,
    };
    let page = client.call::<CompactionList>(of).await.map_err(|error| one_line(&error))?;
    for made in page.compactions {
        let of = CompactionGetParams { compaction_id: made.compaction_id.clone() };
        let run = client.call::<CompactionGet>(of).await.map_err(|error| one_line(&error))?.run;
        let view = longhaul_printable::block(run.view.trim_end());
        if !view.is_empty() && briefing.contains(view.as_ref()) {
            return Ok(made.compaction_id);
        }
    }
    Err("the daemon has no compaction with this briefing".to_owned())
}

/// Converts items to messages: texts, calls and results. Leaves out what the engine adds by itself.
fn messages(items: &[Value]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for item in items {
        let string = |member: &str| item[member].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str() {
            Some("message") if item["role"] == "user" || item["role"] == "assistant" => {
                let text = text(&item["content"]);
                if !text.trim().is_empty() {
                    messages.push(Message { role: string("role"), text, ..Default::default() });
                }
            }
            Some("function_call") => {
                let input =
                    Value::Object(serde_json::from_str(&string("arguments")).unwrap_or_default());
                let call = ToolUse { tool_use_id: string("call_id"), tool: string("name"), input };
                last(&mut messages, "assistant").tool_uses.push(call);
            }
            Some("function_call_output") => {
                let (tool_use_id, text) = (string("call_id"), text(&item["output"]));
                let result = ToolResult { tool_use_id, text, is_error: false };
                last(&mut messages, "user").tool_results.push(result);
            }
            _ => {}
        }
    }
    messages
}

/// The last message if it has this role and no text, else a new one: parallel calls share a message, as do their
/// results, and the engine keeps text in separate messages.
fn last<'a>(messages: &'a mut Vec<Message>, role: &str) -> &'a mut Message {
    if !messages.last().is_some_and(|last| last.role == role && last.text.is_empty()) {
        messages.push(Message { role: role.to_owned(), ..Default::default() });
    }
    let at = messages.len() - 1;
    &mut messages[at]
}

/// The text of content parts, or the content itself if it is a text.
fn text(parts: &Value) -> String {
    let texts = parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    parts.as_str().map_or_else(|| texts.collect::<Vec<_>>().join("\n"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parallel_calls_and_results_share_messages() {
        let says = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] });
        let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "Bash", "arguments": "{\"command\":\"ls\"}" });
        let output =
            |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "a" });
        let items = [
            says("user", "look"),
            says("developer", "a reminder of the engine's own"),
            says("assistant", "Looking."),
            call("t1"),
            call("t2"),
            output("t1"),
            output("t2"),
            json!({ "type": "reasoning", "summary": [] }),
            says("assistant", "Done."),
        ];
        let use_of =
            |id: &str| json!({ "tool_use_id": id, "tool": "Bash", "input": { "command": "ls" } });
        let result = |id: &str| json!({ "tool_use_id": id, "text": "a", "isError": false });
        let message = |role: &str, text: &str| json!({ "role": role, "text": text, "toolUses": [], "toolResults": [] });
        let mut calling = message("assistant", "");
        calling["toolUses"] = json!([use_of("t1"), use_of("t2")]);
        let mut answered = message("user", "");
        answered["toolResults"] = json!([result("t1"), result("t2")]);
        let wanted = json!([
            message("user", "look"),
            message("assistant", "Looking."),
            calling,
            answered,
            message("assistant", "Done.")
        ]);
        assert_eq!(serde_json::to_value(messages(&items)).unwrap(), wanted);
    }

    #[test]
    fn only_the_single_word_requests_an_undo() {
        let asked = |words: &str| {
            is_requested(&Payload { instructions: Some(words.to_owned()), ..Default::default() })
        };
        assert!(asked("undo") && asked(" Undo\n"));
        assert!(!asked("keep the undo stack in mind") && !asked(""));
        assert!(!is_requested(&Payload::default()));
    }
}
