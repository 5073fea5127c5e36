use serde_json::json;

use super::*;

/// A session that reads a file and runs a command, in the form of Codex.
fn session(name: &str, repository: &str, day: u32, line: &str) -> Session {
    let at = format!("2026-05-{day:02}T10:00:00Z");
    let rows = [
        json!({ "timestamp": at, "type": "session_meta", "payload": { "id": name, "cwd": "/w/p" } }),
        json!({ "timestamp": at, "type": "response_item", "payload": {
            "type": "message", "role": "user", "content": [{ "type": "input_text", "text": format!("do {name}") }] } }),
        json!({ "timestamp": at, "type": "response_item", "payload": {
            "type": "function_call", "name": "shell", "call_id": "c",
            "arguments": json!({ "command": ["bash", "-lc", line] }).to_string() } }),
        json!({ "timestamp": at, "type": "response_item", "payload": {
            "type": "function_call_output", "call_id": "c", "output": "fine" } }),
    ];
    let bytes = rows.iter().map(|row| format!("{row}\n")).collect::<String>().into_bytes();
    Session { name: name.into(), repository: repository.into(), bytes }
}

/// Repeats every command of every learned session, of any repository.
#[derive(Default)]
struct Leaky(String);

impl MemoryMaker for Leaky {
    fn learn(&mut self, session: &Session) -> Result<(), String> {
        let transcript = Transcript::parse(&session.bytes);
        for step in &transcript.steps {
            if let crate::transcript::StepKind::Call(call) = &step.kind {
                for argument in &call.arguments {
                    self.0.push_str(&format!("- {}\n", argument.text));
                }
            }
        }
        Ok(())
    }

    fn view(&mut self, _repository: &str, _budget: u64) -> Result<String, String> {
        Ok(self.0.clone())
    }
}

#[test]
fn only_names_from_earlier_sessions_count() {
    let again = "make check-everything";
    let corpus = [
        session("b2", "b", 4, again),
        session("a1", "a", 1, "make foreign_target"),
        session("b1", "b", 3, again),
        session("a2", "a", 2, "make entirely_new"),
    ];
    let report = evaluate_memory(&corpus[..], &[100], &mut || Box::new(Leaky::default())).unwrap();
    assert_eq!((report.sessions, report.repositories, report.asked), (4, 2, 1));
    assert_eq!(report.questions[0].repository, "b");
    let names: Vec<&str> =
        report.questions[0].needed.iter().map(|(name, _)| name.text.as_str()).collect();
    assert_eq!(names, [again]);
    let of = |view: &str| report.rows.iter().find(|row| row.view == view).unwrap().names;
    assert_eq!(of("longhaul"), Tally { kept: 1, asked: 1 });
    assert_eq!(of("oracle"), Tally { kept: 1, asked: 1 });
    assert_eq!((report.leaks.kept, report.leaks.asked), (2, 3));
    assert!(report.table().contains("recency x frequency"));
}
