//! Access to JSON that has no type in the protocol: files, requests and answers of other programs, output of ours.
//!
//! Indexing a [`Value`] returns null for any misspelled key, and null equals null. These functions panic instead.

use serde_json::Value;

/// The value at a path such as `choices.0.text`. Panics if there is none.
#[must_use]
#[track_caller]
pub fn field<'a>(value: &'a Value, path: &str) -> &'a Value {
    let found = value.pointer(&pointer(path));
    found.unwrap_or_else(|| panic!("no `{path}` in {value}"))
}

/// The text at a path, see [`field`]. Panics if there is none.
#[must_use]
#[track_caller]
pub fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    let text = field(value, path).as_str();
    text.unwrap_or_else(|| panic!("`{path}` is no text in {value}"))
}

/// Sets the value at a path. Panics if its parent is not an object.
#[track_caller]
pub fn set(value: &mut Value, path: &str, new: impl Into<Value>) {
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    let found = match parent {
        "" => Some(value),
        parent => value.pointer_mut(&pointer(parent)),
    };
    let object = found.and_then(Value::as_object_mut);
    object
        .unwrap_or_else(|| panic!("the parent of `{path}` is not an object"))
        .insert(key.to_owned(), new.into());
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}
