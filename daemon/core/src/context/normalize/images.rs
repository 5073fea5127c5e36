//! Replaces images in items by a sentence.

use serde::Deserialize;
use serde_json::json;

use super::{mentions, object};

/// Replaces an image for a model without vision. These are Codex's words, so that the same history yields the
/// same prompt.
const OMITTED: &str = "image content omitted because you do not support image input";

/// Replaces an image that the provider rejected; Codex's words.
const INVALID: &str = "Invalid image";

/// Removes the images of an item; `None` if it has none.
pub(super) fn omit(item: &str) -> Option<String> {
    if mentions(item, "image_generation_call")
        && kind(item).as_deref() == Some("image_generation_call")
    {
        let empty = |key: &str, value: &str| {
            (key == "result" && value != "\"\"").then(|| "\"\"".to_owned())
        };
        return object::with(item, empty);
    }
    replace(item, OMITTED)
}

/// Replaces the images of an output; `None` if it has none.
pub(super) fn repair(output: &str) -> Option<String> {
    replace(output, INVALID)
}

fn replace(item: &str, sentence: &str) -> Option<String> {
    if !mentions(item, "image") {
        return None;
    }
    let text = json!({"type": "input_text", "text": sentence}).to_string();
    let part = |part: &str| {
        let is_image = matches!(
            kind(part).as_deref(),
            Some("input_image" | "computer_screenshot" | "image_url")
        );
        is_image.then(|| text.clone())
    };
    object::with(item, |key, value| match key {
        "content" | "output" => object::elements(value, part),
        _ => None,
    })
}

fn kind(object: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct TypeField {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_str::<TypeField>(object).ok().map(|found| found.kind)
}
