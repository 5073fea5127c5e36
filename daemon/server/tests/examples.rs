//! The protocol's examples against a real daemon that has read the sample session.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_core::job::Kind;
use longhaul_protocol::example::{examples, placeholder, sample, substitute};
use longhaul_protocol::thread::IndexState;
use serde_json::{Value, json};

use crate::support::{Daemon, found, soon};
use crate::workers::{OUTSIDE, request_job};

#[tokio::test]
async fn every_example_gets_its_answer() {
    let home = tempfile::tempdir().unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/codex-home/sessions");
    copy(&sample, &home.path().join(".codex/sessions"));
    let (daemon, mut client) = Daemon::with_client(home, OUTSIDE).await;
    let thread = found("the sample is listed", async || client.threads().await.pop()).await;
    client.sync(&thread.thread_id).await;
    let indexed = async { while client.status().await.search.state != IndexState::Idle {} };
    soon("the sample is indexed", indexed).await;
    crate::archive::archived(&mut client).await;

    request_job(&daemon, Kind::Reindex, "a").await;
    request_job(&daemon, Kind::Reindex, "b").await;

    let new_file = daemon.home.path().join("restored.jsonl").display().to_string();
    let mut bindings = Bindings(BTreeMap::from([("$NEW_FILE".to_owned(), json!(new_file))]));
    for example in examples().unwrap() {
        let mut client = daemon.connect().await;
        for exchange in &example.exchanges {
            // No model is configured here; `memory_agent` tests this method.
            if exchange.name == "the model's next step" {
                continue;
            }
            let name = format!("{}: {}", example.method.as_deref().unwrap_or("any"), exchange.name);
            let request = bindings.fill(&exchange.request);
            client.send_message(&request).await;
            let answer = client.receive().await.unwrap_or_else(|| panic!("{name}: no answer"));
            let matched = bindings.matches(&exchange.response, &answer);
            matched.unwrap_or_else(|mismatch| panic!("{name}: {mismatch:?}\n{request}\n{answer}"));
        }
    }
    daemon.ended().await.unwrap();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Values of named placeholders (`$THREAD`, `$HANDLE` …): the first answer that holds one binds it, every later request
/// and answer means the same value.
#[derive(Debug, Clone, Default)]
struct Bindings(BTreeMap<String, Value>);

#[derive(Debug, PartialEq)]
struct Mismatch {
    /// Where, as a JSON pointer.
    at: String,
    expected: Value,
    actual: Option<Value>,
}

impl Bindings {
    fn fill(&self, request: &Value) -> Value {
        substitute(request, &|name| match self.0.get(name) {
            Some(value) => value.clone(),
            None => panic!("the placeholder {name} is not bound yet"),
        })
    }

    /// Compares an answer with the expected one and binds the placeholders that are new in it. Objects may hold more
    /// fields than expected, lists must be as long unless they end in `$REST`.
    fn matches(&mut self, expected: &Value, actual: &Value) -> Result<(), Mismatch> {
        self.compare("", expected, Some(actual))
    }

    fn compare(
        &mut self,
        at: &str,
        expected: &Value,
        actual: Option<&Value>,
    ) -> Result<(), Mismatch> {
        let differs =
            || Mismatch { at: at.to_owned(), expected: expected.clone(), actual: actual.cloned() };
        let actual_value = actual.ok_or_else(differs)?;
        if let Some(name) = placeholder(expected) {
            return self.binds(name, actual_value).then_some(()).ok_or_else(differs);
        }
        match (expected, actual_value) {
            (Value::Object(expected), Value::Object(actual)) => {
                expected.iter().try_for_each(|(key, field)| {
                    self.compare(&format!("{at}/{key}"), field, actual.get(key))
                })
            }
            (Value::Array(expected), Value::Array(actual)) => {
                let is_open = expected.last().and_then(Value::as_str) == Some("$REST");
                let shown = expected.len() - usize::from(is_open);
                if !is_open && actual.len() != shown {
                    return Err(differs());
                }
                expected[..shown].iter().enumerate().try_for_each(|(index, element)| {
                    self.compare(&format!("{at}/{index}"), element, actual.get(index))
                })
            }
            (expected, actual) if expected == actual => Ok(()),
            _ => Err(differs()),
        }
    }

    fn binds(&mut self, name: &str, actual: &Value) -> bool {
        /// Placeholders that may differ from one place to the next.
        const TYPES: [&str; 9] = [
            "$ANY",
            "$NUMBER",
            "$FRACTION",
            "$TIME",
            "$BOOL",
            "$LIST",
            "$OBJECT",
            "$ITEM",
            "$STRING",
        ];
        if let Some(bound) = self.0.get(name) {
            return bound == actual;
        }
        let is_of_type =
            std::mem::discriminant(&sample(&json!(name))) == std::mem::discriminant(actual);
        if is_of_type && !TYPES.contains(&name) {
            self.0.insert(name.to_owned(), actual.clone());
        }
        is_of_type || name == "$ANY"
    }
}

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
    bindings.matches(&json!(["$THREAD", "$REST"]), &json!(["t1", "t2"])).unwrap();
    assert_eq!(bindings.fill(&json!({ "thread_id": "$THREAD" })), json!({ "thread_id": "t1" }));
    assert!(bindings.matches(&json!("$THREAD"), &json!("t2")).is_err());
}

#[test]
#[should_panic(expected = "$THREAD is not bound yet")]
fn a_request_needs_the_answers_before_it() {
    Bindings::default().fill(&json!({ "thread_id": "$THREAD" }));
}

#[test]
fn a_sample_is_an_expected_answer() {
    let expected = json!({ "threads": [{ "thread_id": "$THREAD", "items": "$NUMBER" }, "$REST"] });
    Bindings::default().matches(&expected, &sample(&expected)).unwrap();
}
