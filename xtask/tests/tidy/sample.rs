//! The sample session is consistent with the sample project and with Codex's format.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::source::{files, root};

fn session() -> Vec<Value> {
    let paths = files(&["jsonl"]);
    let path = paths.iter().find(|path| path.starts_with("samples/")).expect("there is a sample");
    let text = std::fs::read_to_string(root().join(path)).expect("the sample is readable");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn lines_are_numbered_and_calls_have_their_outputs() {
    let session = session();
    let mut open = BTreeSet::new();
    for (number, line) in session.iter().enumerate() {
        assert_eq!(line["ordinal"], number);
        let payload = &line["payload"];
        let call = payload["call_id"].as_str().unwrap_or_default().to_owned();
        match payload["type"].as_str() {
            Some("function_call" | "custom_tool_call") => assert!(open.insert(call)),
            Some("function_call_output" | "custom_tool_call_output") => assert!(open.remove(&call)),
            _ => {}
        }
    }
    assert!(open.is_empty(), "calls without output: {open:?}");
    assert_eq!(session[0]["type"], "session_meta");
}

#[test]
fn project_matches_the_end_of_the_session() {
    let session = session();
    let changes = session.iter().filter_map(|line| line["payload"]["item"]["changes"].as_object());
    let changed: BTreeSet<&str> =
        changes.flatten().filter_map(|(path, _)| path.strip_prefix("/home/dev/ledger/")).collect();
    assert_eq!(changed.len(), 3);
    for path in changed {
        assert!(root().join("samples/project").join(path).is_file(), "{path}");
    }
}

#[test]
fn sample_has_a_fake_secret_to_redact() {
    let text: String = session().iter().map(Value::to_string).collect();
    assert!(text.contains("LEDGER_DB_PASSWORD=not-a-real-password"));
}
