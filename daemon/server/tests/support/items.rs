//! History items and other JSON without a type in the protocol: requests and answers of models, lines of transcripts.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A message as a history holds it.
pub fn message(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}

/// The value at a path such as `choices.0.text`. Panics if there is none: indexing a [`Value`] returns null for any misspelled
/// key, and null equals null.
pub fn field<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |inner, key| {
        let found = match inner {
            Value::Array(list) => key.parse::<usize>().ok().and_then(|at| list.get(at)),
            _ => inner.get(key),
        };
        found.unwrap_or_else(|| panic!("no `{key}` of `{path}` in {value}"))
    })
}

/// The text at a path, see [`field`].
pub fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    field(value, path).as_str().unwrap_or_else(|| panic!("`{path}` is no text in {value}"))
}

/// The text of a message.
pub fn text_of(item: &Value) -> &str {
    text_at(item, "content.0.text")
}

/// The texts of a history of which every item is a message with text.
pub fn texts(items: &[Value]) -> Vec<&str> {
    items.iter().map(text_of).collect()
}

/// All files below a folder with their content, if it is text.
pub fn files_under(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_under(&path));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            found.push((path, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found
}
