//! The stream of events that answers a compaction, as a provider would send it.

use std::io;

use longhaul_client::briefing::Briefing;
use serde_json::{Value, json};

use crate::compaction_request::Form;
use crate::marker;

/// The events, whole: they are two.
pub(crate) fn events(form: Form, briefing: &Briefing) -> io::Result<String> {
    let id = &briefing.compaction_id;
    let item = match form {
        Form::Item => {
            json!({ "type": "compaction", "encrypted_content": marker::sealed(&briefing.text)? })
        }
        Form::Text => {
            let content =
                [json!({ "type": "output_text", "text": briefing.text, "annotations": [] })];
            json!({
                "type": "message", "role": "assistant", "id": format!("msg_{id}"),
                "status": "completed", "content": content,
            })
        }
    };
    let usage = json!({
        "input_tokens": 0, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 0, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": 0,
    });
    let response = json!({
        "id": format!("resp_{id}"), "object": "response", "status": "completed",
        "output": [&item], "usage": usage,
    });
    let done = json!({ "type": "response.output_item.done", "output_index": 0, "item": item });
    let completed = json!({ "type": "response.completed", "response": response });
    Ok(event(&done) + &event(&completed))
}

/// The answer that makes Codex compact in the middle of a turn: nothing was said, the turn goes on, the window is full.
/// Codex itself counts a full window like this: no tokens but in the total.
pub(crate) fn full_window(window: u64) -> String {
    let usage = json!({ "input_tokens": 0, "output_tokens": 0, "total_tokens": window });
    let response = json!({
        "id": "resp_longhaul_mid_turn", "object": "response", "status": "completed",
        "output": [], "usage": usage, "end_turn": false,
    });
    event(&json!({ "type": "response.completed", "response": response }))
}

fn event(event: &Value) -> String {
    let name = event["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n")
}
