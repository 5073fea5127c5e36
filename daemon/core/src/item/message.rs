//! The words of a message, whatever form its content has.

use serde::Deserialize;

/// A message as an item of a history holds it.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks, as it stands there.
    pub role: String,
    /// Its parts of text, in order; other parts are passed over.
    pub texts: Vec<String>,
}

impl Message {
    /// Reads an item; `None` where it is no message.
    #[must_use]
    pub fn read(item: &str) -> Option<Self> {
        let Read { role, content } = serde_json::from_str(item).ok()?;
        let texts = match content {
            Content::Text(text) => vec![text],
            Content::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        };
        Some(Self { role, texts })
    }
}

#[derive(Deserialize)]
struct Read {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Parts(Vec<Part>),
    Text(String),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_both_forms_and_from_nothing_else() {
        let read = |item: &str| Message::read(item).map(|message| message.texts);
        assert_eq!(read(r#"{"role":"user","content":"Go."}"#), Some(vec!["Go.".to_owned()]));
        let parts = r#"{"role":"user","content":[{"text":"a"},{"image_url":"x"},{"text":"b"}]}"#;
        assert_eq!(read(parts), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(read(r#"{"type":"function_call","name":"shell"}"#), None);
    }
}
