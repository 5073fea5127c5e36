//! Lines of Claude Code as items of the Responses API, the one form in which histories leave the
//! daemon.
//!
//! What has no place in that form goes: signed or encrypted thinking, which no other provider can
//! read, and the words of inline sub-agents. The summary of a compaction becomes a user message.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::{Body, Item, Role};
use super::Line;
use super::block::{self, Block, Message};

/// The items of a line, given without its newline; none for lines that no model sees.
pub fn items(line: &[u8]) -> Vec<Value> {
    let mut items = Vec::new();
    let text = String::from_utf8_lossy(line);
    let content = content(&text);
    super::read(line, false, &mut |entry| match &entry.body {
        Body::Item(found, _) => items.extend(item(found, content)),
        Body::Compacted(compacted) => {
            items.push(message("user", "input_text", &compacted.message, Vec::new()));
        }
        _ => {}
    });
    items
}

/// The content blocks of a line's message.
fn content(line: &str) -> Option<&RawValue> {
    let line = serde_json::from_str::<Line<'_>>(line.trim()).ok()?;
    serde_json::from_str::<Message<'_>>(line.message?.get()).ok()?.content
}

fn item(item: &Item<'_>, content: Option<&RawValue>) -> Option<Value> {
    Some(match item {
        Item::Message { role, text, images } => {
            let (role, part) = match role {
                Role::User => ("user", "input_text"),
                Role::Assistant => ("assistant", "output_text"),
                Role::Developer => ("developer", "input_text"),
            };
            let urls = if images.count > 0 { images_of(content) } else { Vec::new() };
            message(role, part, text, urls)
        }
        Item::Call(call) => json!({
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
        }),
        Item::Output { call_id, text, images } => {
            let urls =
                if images.count > 0 { images_of(answer(content, call_id)) } else { Vec::new() };
            let output = match urls.is_empty() {
                true => Value::String(text.to_string()),
                false => parts("input_text", text, urls),
            };
            json!({"type": "function_call_output", "call_id": call_id, "output": output})
        }
        Item::Other { text } => message("assistant", "output_text", text, Vec::new()),
        Item::Reasoning { .. } | Item::Opaque { .. } | Item::Invisible => return None,
    })
}

fn message(role: &str, part: &str, text: &str, images: Vec<String>) -> Value {
    json!({"type": "message", "role": role, "content": parts(part, text, images)})
}

fn parts(kind: &str, text: &str, images: Vec<String>) -> Value {
    let text = (!text.is_empty() || images.is_empty()).then(|| json!({"type": kind, "text": text}));
    let images = images.into_iter().map(|url| json!({"type": "input_image", "image_url": url}));
    text.into_iter().chain(images).collect()
}

fn blocks(content: Option<&RawValue>) -> Vec<Block<'_>> {
    content.and_then(block::blocks).unwrap_or_default()
}

fn images_of(content: Option<&RawValue>) -> Vec<String> {
    blocks(content).iter().filter_map(Block::image_url).collect()
}

/// The content of the answer to a call.
fn answer<'a>(content: Option<&'a RawValue>, call_id: &str) -> Option<&'a RawValue> {
    blocks(content).into_iter().find(|block| block.answers(call_id))?.content()
}
