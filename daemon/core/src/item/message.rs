//! Parses the text of a message, whichever form its content has.

use serde::Deserialize;

#[derive(Debug, PartialEq, Eq)]
pub struct MessageItem {
    /// The role as written in the item.
    pub role: String,
    /// Text parts in order; other parts are ignored.
    pub texts: Vec<String>,
}

impl MessageItem {
    /// Parses an item; `None` if it is not a message.
    pub fn read(item: &str) -> Option<Self> {
        let RawMessage { role, content } = serde_json::from_str(item).ok()?;
        let texts = match content {
            MessageContent::Text(text) => vec![text],
            MessageContent::Parts(parts) => {
                parts.into_iter().filter_map(|part| part.text).collect()
            }
        };
        Some(Self { role, texts })
    }
}

#[derive(Deserialize)]
struct RawMessage {
    role: String,
    content: MessageContent,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MessageContent {
    Parts(Vec<TextPart>),
    Text(String),
}

#[derive(Deserialize)]
struct TextPart {
    text: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_parsed_in_both_forms_and_from_nothing_else() {
        let read = |item: &str| MessageItem::read(item).map(|message| message.texts);
        assert_eq!(read(r#"{"role":"user","content":"Go."}"#), Some(vec!["Go.".to_owned()]));
        let parts = r#"{"role":"user","content":[{"text":"a"},{"image_url":"x"},{"text":"b"}]}"#;
        assert_eq!(read(parts), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(read(r#"{"type":"function_call","name":"shell"}"#), None);
    }
}
