//! `/compact undo` in a session with our plugin: what a briefing replaced, as messages for the engine to put back.
//!
//! The briefing that stands in the session names the compaction: its view is in it word for word. So the right one is
//! undone, whatever was compacted or undone since. It is the person's command, and asked on the person's socket.

use longhaul_client::Client;
use longhaul_client::briefing::RESTORED;
use longhaul_protocol::compaction::{Get, GetParams, List, ListParams, Undo, UndoParams};
use serde::Serialize;
use serde_json::Value;

use super::event::one_line;
use super::payload::Payload;
use crate::session::Session;

/// What the person writes behind `/compact`, and nothing else.
const WORD: &str = "undo";
/// Compactions that are looked at, the newest first.
const LOOKED_AT: u32 = 20;

/// A message as the engine takes it.
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

/// Whether the person asks for it.
pub(super) fn is_asked(payload: &Payload) -> bool {
    payload.instructions.as_deref().is_some_and(|words| words.trim().eq_ignore_ascii_case(WORD))
}

/// Undoes the compaction whose briefing stands in the session.
pub(super) async fn restored(
    session: &Session,
    (payload, thread_id): (&Payload, &str),
    left_ms: u64,
) -> Result<Vec<Message>, String> {
    let briefing =
        payload.briefing.as_deref().ok_or("no briefing of longhaul's stands in this session")?;
    let options = session.options().connect_timeout_ms(left_ms).request_timeout_ms(left_ms);
    let client = Client::connect(options).await.map_err(|error| one_line(&error))?;
    let id = named(&client, thread_id, briefing).await?;
    let undone = client.call::<Undo>(UndoParams { compaction_id: id });
    let undone = undone.await.map_err(|error| one_line(&error))?;
    if !undone.complete {
        return Err("the old history is more than one message takes".to_owned());
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

/// The newest compaction whose view stands in the briefing.
async fn named(client: &Client, thread_id: &str, briefing: &str) -> Result<String, String> {
    let of =
        ListParams { thread_id: Some(thread_id.to_owned()), limit: Some(LOOKED_AT), cursor: None };
    let page = client.call::<List>(of).await.map_err(|error| one_line(&error))?;
    for made in page.compactions {
        let of = GetParams { compaction_id: made.compaction_id.clone() };
        let run = client.call::<Get>(of).await.map_err(|error| one_line(&error))?.run;
        let view = longhaul_printable::block(run.view.trim_end());
        if !view.is_empty() && briefing.contains(view.as_ref()) {
            return Ok(made.compaction_id);
        }
    }
    Err("the daemon has no compaction with this briefing".to_owned())
}

/// The words, calls and results among some items; what the engine adds by itself is left to it.
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

/// The last message, where it is of this role and without words, else a new one: calls made together are answered
/// together, and the engine lists words apart from them.
fn last<'a>(messages: &'a mut Vec<Message>, role: &str) -> &'a mut Message {
    if !messages.last().is_some_and(|last| last.role == role && last.text.is_empty()) {
        messages.push(Message { role: role.to_owned(), ..Default::default() });
    }
    let at = messages.len() - 1;
    &mut messages[at]
}

/// The text of some parts, or the text itself.
fn text(parts: &Value) -> String {
    let texts = parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    parts.as_str().map_or_else(|| texts.collect::<Vec<_>>().join("\n"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_become_messages_with_calls_and_results_together() {
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
        let told = |role: &str, text: &str| json!({ "role": role, "text": text, "toolUses": [], "toolResults": [] });
        let mut calling = told("assistant", "");
        calling["toolUses"] = json!([use_of("t1"), use_of("t2")]);
        let mut answered = told("user", "");
        answered["toolResults"] = json!([result("t1"), result("t2")]);
        let wanted = json!([
            told("user", "look"),
            told("assistant", "Looking."),
            calling,
            answered,
            told("assistant", "Done.")
        ]);
        assert_eq!(serde_json::to_value(messages(&items)).unwrap(), wanted);
    }

    #[test]
    fn it_is_asked_for_by_one_word_alone() {
        let asked = |words: &str| {
            is_asked(&Payload { instructions: Some(words.to_owned()), ..Default::default() })
        };
        assert!(asked("undo") && asked(" Undo\n"));
        assert!(!asked("keep the undo stack in mind") && !asked(""));
        assert!(!is_asked(&Payload::default()));
    }
}
