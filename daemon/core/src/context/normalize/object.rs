//! Edits one place of a JSON object or array and keeps all other bytes.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// Removes a key; `None` if the object does not have it, or the text is not an object.
pub(super) fn without(object: &str, key: &str) -> Option<String> {
    edit(object, |name, value| (name != key).then(|| value.to_owned()))
}

/// Replaces the values for which `change` returns another; `None` if it returns none.
pub(super) fn with(
    object: &str,
    mut change: impl FnMut(&str, &str) -> Option<String>,
) -> Option<String> {
    edit(object, |name, value| Some(change(name, value).unwrap_or_else(|| value.to_owned())))
}

/// Replaces the elements for which `change` returns another; `None` if it returns none.
pub(super) fn elements(
    array: &str,
    mut change: impl FnMut(&str) -> Option<String>,
) -> Option<String> {
    let elements = serde_json::from_str::<Vec<&RawValue>>(array).ok()?;
    let mut is_changed = false;
    let texts = elements.iter().map(|element| {
        let changed = change(element.get());
        is_changed |= changed.is_some();
        changed.unwrap_or_else(|| element.get().to_owned())
    });
    let text = format!("[{}]", texts.collect::<Vec<_>>().join(","));
    is_changed.then_some(text)
}

fn edit(object: &str, mut change: impl FnMut(&str, &str) -> Option<String>) -> Option<String> {
    let fields = serde_json::from_str::<Fields<'_>>(object).ok()?.0;
    let mut is_changed = false;
    let mut texts = Vec::with_capacity(fields.len());
    for (key, value) in &fields {
        let changed = change(key, value.get());
        is_changed |= changed.as_deref() != Some(value.get());
        if let Some(value) = changed {
            texts.push(format!("{}:{value}", serde_json::to_string(key).ok()?));
        }
    }
    is_changed.then(|| format!("{{{}}}", texts.join(",")))
}
