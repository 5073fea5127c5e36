//! Converts items to the Responses API, the only form in which histories leave the daemon.

use serde_json::{Value, json};

use super::{Body, Entry, Item, Role};

/// The items of a line as `read` reads it; none for lines that no model sees. `images` returns the URLs of an item's
/// images.
pub(super) fn of_line(
    read: impl Fn(&[u8], bool, &mut dyn FnMut(Entry<'_>)),
    line: &[u8],
    images: impl Fn(&Item<'_>) -> Vec<String>,
) -> Vec<Value> {
    let mut items = Vec::new();
    read(line, false, &mut |entry| items.extend(of_body(&entry.body, &images)));
    items
}

fn of_body(body: &Body<'_>, images: impl Fn(&Item<'_>) -> Vec<String>) -> Option<Value> {
    match body {
        Body::Item(found, _) => item(found, || images(found)),
        Body::Compacted(compacted) => {
            Some(message("user", "input_text", &compacted.message, Vec::new()))
        }
        _ => None,
    }
}

/// Thinking is dropped: no other provider can read it.
pub fn item(item: &Item<'_>, images: impl Fn() -> Vec<String>) -> Option<Value> {
    Some(match item {
        Item::Message { role, text, images: counted } => {
            let (role, part) = match role {
                Role::User => ("user", "input_text"),
                Role::Assistant => ("assistant", "output_text"),
                Role::Developer => ("developer", "input_text"),
            };
            let urls = if counted.count > 0 { images() } else { Vec::new() };
            message(role, part, text, urls)
        }
        Item::Call(call) => json!({
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
        }),
        Item::Output { call_id, text, images: counted } => {
            let urls = if counted.count > 0 { images() } else { Vec::new() };
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
