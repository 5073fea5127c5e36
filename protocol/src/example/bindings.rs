//! Placeholders of the examples: filled into requests, matched in answers.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

/// Stands for any further elements at the end of a list.
const REST: &str = "$REST";
/// Stands for any value at all.
const ANY: &str = "$ANY";

/// Values of named placeholders (`$THREAD`, `$HANDLE` …): the first answer that holds one binds it, every
/// later request and answer means the same value.
#[derive(Debug, Clone, Default)]
pub struct Bindings {
    values: BTreeMap<String, Value>,
}

/// A request names a placeholder that no earlier answer has bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unbound(pub String);

/// An answer is not the expected one.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// Where, as a JSON pointer.
    pub at: String,
    /// What was expected there.
    pub expected: Value,
    /// The actual value; `None` if absent.
    pub actual: Option<Value>,
}

impl fmt::Display for Unbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the placeholder {} is not bound yet", self.0)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {:?}: expected {}, got ", self.at, self.expected)?;
        match &self.actual {
            Some(actual) => write!(f, "{actual}"),
            None => write!(f, "nothing"),
        }
    }
}

impl std::error::Error for Unbound {}
impl std::error::Error for Mismatch {}

impl Bindings {
    /// Binds a placeholder explicitly, for a replay that begins in the middle.
    #[must_use]
    pub fn bind(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.to_owned(), value.into());
        self
    }

    /// Replaces every placeholder of a request by its value.
    ///
    /// # Errors
    /// [`Unbound`] when an earlier exchange has to be replayed first.
    pub fn fill(&self, request: &Value) -> Result<Value, Unbound> {
        substitute(request, &|name| self.values.get(name).cloned())
    }

    /// Compares an answer with the expected one and binds the placeholders that are new in it.
    ///
    /// Objects may hold more fields than expected, lists must be as long unless they end in `$REST`.
    ///
    /// # Errors
    /// The first [`Mismatch`]; then nothing is bound.
    pub fn matches(&mut self, expected: &Value, actual: &Value) -> Result<(), Mismatch> {
        let mut values = self.values.clone();
        compare(&mut values, "", expected, Some(actual))?;
        self.values = values;
        Ok(())
    }
}

/// Fills every placeholder with a value of its type, so that an example can be read as the types of this
/// crate, or served by a scripted daemon.
#[must_use]
pub fn sample(example: &Value) -> Value {
    substitute(example, &|name| Some(sample_of(name))).unwrap_or_default()
}

/// A value of the type a placeholder stands for. A name that is not listed stands for a string.
fn sample_of(name: &str) -> Value {
    match name {
        ANY => Value::Null,
        "$NUMBER" => json!(1),
        "$FRACTION" => json!(0.5),
        "$TIME" | "$UNDONE_AT" => json!(1_763_683_200_000_i64),
        "$BOOL" => json!(true),
        "$LIST" => json!([]),
        "$OBJECT" => json!({}),
        "$ITEM" => json!({
            "type": "message",
            "role": "user",
            "content": [{ "type": "input_text", "text": "Rename parse() to parse_line()." }],
        }),
        "$THREAD" => json!("01980000-0000-7000-8000-000000000001"),
        "$COMPACTION" => json!("01980000-0000-7000-8000-0000000000c1"),
        "$KIND" => json!("interactive"),
        "$CWD" => json!("/home/user/project"),
        "$OWN_THREAD" => json!("01980000-0000-8000-8000-0000000000a1"),
        "$OWN_PATH" => {
            json!("/home/user/.local/state/longhaul/threads/2025/11/21/rollout-sample.jsonl")
        }
        "$PATH" => json!("/home/user/.codex/sessions/2025/11/21/rollout-sample.jsonl"),
        other => json!(other.trim_start_matches('$').to_lowercase()),
    }
}

/// Whether an answer may differ from one place to the next: all but the names that are bound.
fn is_bound(name: &str) -> bool {
    !matches!(
        name,
        ANY | "$NUMBER"
            | "$FRACTION"
            | "$TIME"
            | "$BOOL"
            | "$LIST"
            | "$OBJECT"
            | "$ITEM"
            | "$STRING"
    )
}

fn placeholder(value: &Value) -> Option<&str> {
    let name = value.as_str()?.strip_prefix('$')?;
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_name)).then(|| value.as_str().unwrap_or_default())
}

fn substitute(value: &Value, lookup: &impl Fn(&str) -> Option<Value>) -> Result<Value, Unbound> {
    if let Some(name) = placeholder(value) {
        return lookup(name).ok_or_else(|| Unbound(name.to_owned()));
    }
    Ok(match value {
        Value::Array(list) => {
            let shown = list.iter().filter(|element| element.as_str() != Some(REST));
            shown.map(|element| substitute(element, lookup)).collect::<Result<_, _>>()?
        }
        Value::Object(fields) => {
            let filled = fields
                .iter()
                .map(|(key, field)| Ok((key.clone(), substitute(field, lookup)?)))
                .collect::<Result<Map<_, _>, _>>()?;
            Value::Object(filled)
        }
        plain => plain.clone(),
    })
}

fn compare(
    values: &mut BTreeMap<String, Value>,
    at: &str,
    expected: &Value,
    actual: Option<&Value>,
) -> Result<(), Mismatch> {
    let differs =
        || Mismatch { at: at.to_owned(), expected: expected.clone(), actual: actual.cloned() };
    let actual_value = actual.ok_or_else(differs)?;
    if let Some(name) = placeholder(expected) {
        return match compare_placeholder(values, name, actual_value) {
            true => Ok(()),
            false => Err(differs()),
        };
    }
    match (expected, actual_value) {
        (Value::Object(expected), Value::Object(actual)) => {
            expected.iter().try_for_each(|(key, field)| {
                compare(values, &format!("{at}/{key}"), field, actual.get(key))
            })
        }
        (Value::Array(expected), Value::Array(actual)) => {
            let open = expected.last().and_then(Value::as_str) == Some(REST);
            let shown = expected.len() - usize::from(open);
            if !open && actual.len() != shown {
                return Err(differs());
            }
            expected[..shown].iter().enumerate().try_for_each(|(index, element)| {
                compare(values, &format!("{at}/{index}"), element, actual.get(index))
            })
        }
        (expected, actual) if expected == actual => Ok(()),
        _ => Err(differs()),
    }
}

fn compare_placeholder(values: &mut BTreeMap<String, Value>, name: &str, actual: &Value) -> bool {
    if let Some(bound) = values.get(name) {
        return bound == actual;
    }
    let same_type = std::mem::discriminant(&sample_of(name)) == std::mem::discriminant(actual);
    if same_type && is_bound(name) {
        values.insert(name.to_owned(), actual.clone());
    }
    same_type || name == ANY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mismatch(expected: &Value, actual: &Value) -> Option<String> {
        Bindings::default().matches(expected, actual).err().map(|mismatch| mismatch.at)
    }

    #[test]
    fn an_answer_may_hold_more_fields_but_no_fewer() {
        let actual = json!({ "a": 1, "list": [1, 2, 3], "more": true });
        assert_eq!(mismatch(&json!({ "a": 1 }), &actual), None);
        assert_eq!(mismatch(&json!({ "a": 2 }), &actual).as_deref(), Some("/a"));
        assert_eq!(mismatch(&json!({ "b": "$ANY" }), &actual).as_deref(), Some("/b"));
        assert_eq!(mismatch(&json!({ "list": [1, "$REST"] }), &actual), None);
        assert_eq!(mismatch(&json!({ "list": [1, 2] }), &actual).as_deref(), Some("/list"));
        assert_eq!(
            mismatch(&json!({ "list": [1, 2, 3, "$NUMBER", "$REST"] }), &actual).as_deref(),
            Some("/list/3")
        );
        assert_eq!(mismatch(&json!({ "a": "$STRING" }), &actual).as_deref(), Some("/a"));
    }

    #[test]
    fn a_name_is_bound_by_the_first_answer_and_means_the_same_from_then_on() {
        let mut bindings = Bindings::default();
        let request = json!({ "thread_id": "$THREAD" });
        assert_eq!(bindings.fill(&request), Err(Unbound("$THREAD".into())));
        bindings.matches(&json!(["$THREAD", "$REST"]), &json!(["t1", "t2"])).unwrap();
        assert_eq!(bindings.fill(&request), Ok(json!({ "thread_id": "t1" })));
        assert!(bindings.matches(&json!("$THREAD"), &json!("t2")).is_err());
    }

    #[test]
    fn a_sample_has_no_placeholder_left() {
        let expected =
            json!({ "threads": [{ "thread_id": "$THREAD", "items": "$NUMBER" }, "$REST"] });
        let sample = sample(&expected);
        assert_eq!(sample["threads"].as_array().unwrap().len(), 1);
        assert!(!sample.to_string().contains('$'));
        Bindings::default().matches(&expected, &sample).unwrap();
    }
}
