//! Hand-made transcripts: what a fold counts and shows.

use serde_json::{Value, json};

use super::*;

/// Folds lines after those folded so far.
pub(super) fn push(fold: &mut Fold, lines: &[Value]) -> Vec<ItemRow> {
    let mut rows = Vec::new();
    for line in lines {
        rows.extend(fold.line(next(fold, line), &bytes(line)));
    }
    rows
}

fn bytes(line: &Value) -> Vec<u8> {
    line.to_string().into_bytes()
}

fn next(fold: &Fold, line: &Value) -> Place {
    let seq = fold.next_seq();
    Place { line: seq, offset: seq * 1_000, bytes: bytes(line).len() as u64 }
}

fn folded(source: Source, lines: &[Value]) -> Fold {
    let mut fold = Fold::new(source);
    push(&mut fold, lines);
    fold
}

pub(super) fn codex(kind: &str, payload: &Value) -> Value {
    json!({ "timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload })
}

pub(super) fn message(role: &str, words: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": words }]);
    codex("response_item", &json!({ "type": "message", "role": role, "content": content }))
}

fn called(id: &str, script: &str) -> Value {
    let arguments = json!({ "cmd": script }).to_string();
    codex(
        "response_item",
        &json!({ "type": "function_call", "name": "exec_command", "arguments": arguments,
            "call_id": id }),
    )
}

fn answered(id: &str, output: &str) -> Value {
    codex(
        "response_item",
        &json!({ "type": "function_call_output", "call_id": id, "output": output }),
    )
}

fn event(payload: &Value) -> Value {
    codex("event_msg", payload)
}

fn compacted(words: &str) -> Value {
    codex("compacted", &json!({ "message": words, "replacement_history": [] }))
}

/// A line of Claude Code.
fn claude(role: &str, parent: &str, cwd: Option<&str>, content: &Value) -> Value {
    let mut line = json!({ "type": role, "sessionId": "s", "parentUuid": parent,
        "timestamp": "2026-01-01T00:00:00Z",
        "message": { "role": role, "model": "m", "content": content } });
    if let Some(cwd) = cwd {
        line["cwd"] = json!(cwd);
    }
    line
}

fn bash(id: &str, script: &str, cwd: Option<&str>) -> Value {
    let call =
        json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": script } });
    claude("assistant", "p", cwd, &json!([call]))
}

#[test]
fn a_line_over_the_size_limit_is_counted_and_keeps_its_place() {
    let mut fold = folded(Source::Codex, &[message("user", "read the log")]);
    let before = fold.visible().tokens();
    let item = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"#;
    let passed = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"world_state","payload":{"#;
    for (number, (beginning, items)) in (1..).zip([(item, 2), (passed, 2), (item, 3)]) {
        let place = Place { line: number, offset: 4_000, bytes: 80_000_000 };
        let row = fold.oversized(place, beginning.as_bytes(), Digest128::of(b"whole"));
        assert_eq!(row.is_some(), beginning == item, "line {number}");
        if let Some(row) = row {
            assert_eq!((row.seq, row.offset, row.bytes), (number, 4_000, 80_000_000));
            assert_eq!((row.kind, row.tokens), (ItemKind::Oversized, 20_000_000));
            assert_eq!(row.digest, Digest128::of(b"whole"));
        }
        let head = fold.head();
        assert_eq!((head.lines, head.oversized, head.items), (number + 1, number, items));
        assert_eq!((fold.next_seq(), fold.checkpoint().seq), (number + 1, number));
    }
    assert_eq!(fold.visible().tokens(), before + 40_000_000);
    assert_eq!(fold.head().tokens, fold.visible().tokens());
}

#[test]
fn lines_that_are_not_understood_are_counted() {
    let unknown = codex("hologram", &json!({}));
    let mut fold = folded(Source::Codex, &[unknown.clone(), message("user", "x"), unknown]);
    for line in ["no json", "[1]"] {
        let place = Place { line: fold.next_seq(), offset: 0, bytes: line.len() as u64 };
        assert_eq!(fold.line(place, line.as_bytes()), None);
    }
    let head = fold.head();
    assert_eq!((head.lines, head.unknown, head.malformed, head.items), (5, 2, 2, 1));
}

#[test]
fn the_settings_a_model_received_hold_until_a_compaction_or_a_rollback() {
    let settings = |cwd: &str| codex("turn_context", &json!({ "cwd": cwd, "model": "gpt-5.5" }));
    let cwd = |fold: &Fold| fold.reference().and_then(|settings| settings.cwd.clone());
    let mut fold = folded(Source::Codex, &[settings("/a")]);
    assert_eq!(cwd(&fold), None, "no item shows them yet");
    push(&mut fold, &[message("user", "one"), settings("/b"), message("user", "two")]);
    assert_eq!(cwd(&fold).as_deref(), Some("/b"));
    assert_eq!(fold.reference().and_then(|it| it.model.as_deref()), Some("gpt-5.5"));
    push(&mut fold, &[event(&json!({ "type": "thread_rolled_back", "num_turns": 1 }))]);
    assert_eq!(cwd(&fold).as_deref(), Some("/a"));
    push(&mut fold, &[compacted("the state")]);
    assert_eq!(cwd(&fold), None);
}

#[test]
fn an_undone_compaction_is_not_counted_and_what_it_replaced_is_visible_again() {
    let mut fold = folded(Source::Codex, &[message("user", &"long request ".repeat(100))]);
    let before = fold.visible().tokens();
    push(&mut fold, &[compacted("a"), compacted("b")]);
    assert_eq!((fold.head().compactions, fold.checkpoint().compactions), (2, 2));
    assert!(fold.visible().tokens() < before && !fold.visible().holds(0));
    let undone = |line: u64| event(&json!({ "type": "compaction_undone", "line": line }));
    push(&mut fold, &[undone(1)]);
    assert_eq!(fold.head().compactions, 2, "a later one depends on it");
    push(&mut fold, &[undone(2), undone(1)]);
    assert_eq!((fold.head().compactions, fold.checkpoint().compactions), (0, 0));
    assert_eq!((fold.visible().tokens(), fold.head().tokens), (before, before));
    assert!(fold.visible().holds(0) && !fold.visible().holds(1));
}

#[test]
fn a_rollback_drops_the_context_before_its_request_but_no_earlier_request() {
    let context = "<environment_context>\n<cwd>/w</cwd>\n</environment_context>";
    let lines = [
        message("user", "one"),
        message("assistant", "done"),
        message("user", "two"),
        message("user", context),
        message("user", "three"),
        event(&json!({ "type": "thread_rolled_back", "num_turns": 1 })),
    ];
    let fold = folded(Source::Codex, &lines);
    let held: Vec<u64> = (0..5).filter(|line| fold.visible().holds(*line)).collect();
    assert_eq!(held, [0, 1, 2]);
    assert_eq!(fold.meter().turns(), 2);
}

#[test]
fn a_summary_is_not_said_to_the_person() {
    use contextual::{CHECKPOINT_OPENING, VIEW_HEADER};
    let note = "The parser now reads both forms, and its tests pass.";
    let view = format!("{CHECKPOINT_OPENING}\n{VIEW_HEADER}\n{note}");
    for (what, words, said) in [
        ("the summary was the last answer", note.to_owned(), 0),
        ("with an introduction", format!("Another model started:\n{note}"), 0),
        ("another summary", "Reads both forms.".to_owned(), 1),
        ("an encrypted one", String::new(), 1),
        ("a view of ours quotes the answer", view, 1),
    ] {
        let lines = [message("user", "x"), message("assistant", note), compacted(&words)];
        let fold = folded(Source::Codex, &lines);
        assert_eq!(fold.checkpoint().briefing.latest_words().len(), said, "{what}");
    }
}

#[test]
fn a_row_shows_what_was_called_and_printed() {
    let plan = json!({ "plan": [{ "step": "Read the fetcher", "status": "pending" }] }).to_string();
    let plan = codex(
        "response_item",
        &json!({ "type": "function_call", "name": "update_plan", "arguments": plan,
            "call_id": "p" }),
    );
    let spaced = "word \n\n\n\n".repeat(100);
    let mut fold = Fold::new(Source::Codex);
    let rows = push(
        &mut fold,
        &[
            message("user", &spaced),
            called("a", "cargo test --workspace"),
            answered("a", "Exit code: 0\nOutput:\nall fine"),
            called("b", "cat log"),
            answered("b", &format!("Exit code: 0\nOutput:\n{spaced}")),
            plan,
            answered("p", "Plan updated"),
        ],
    );
    let shown: Vec<&str> = rows.iter().map(|row| row.excerpt.as_str()).collect();
    let line = format!("{}wo…", "word ".repeat(31));
    assert_eq!(shown[..5], [&line, "cargo test --workspace", "all fine", "cat log", &line]);
    assert!(shown[5].contains("Read the fetcher"), "{}", shown[5]);
    assert_eq!(shown[6], "Plan updated");
    let calls: Vec<_> = rows.iter().map(|row| row.call_id.as_deref()).collect();
    assert_eq!(calls[..5], [None, Some("a"), Some("a"), Some("b"), Some("b")]);
}

#[test]
fn another_program_continues_in_the_threads_folder() {
    let begun = [
        claude("user", "p0", Some("/w"), &json!("fix it")),
        bash("a", "cd sub", Some("/w")),
        bash("b", "ls", Some("/w/sub")),
    ];
    let base = folded(Source::Claude, &begun);
    let mut same = Fold::branch(&base, Source::Claude);
    push(&mut same, &[bash("c", "cat a.rs", None)]);
    let mut other = Fold::branch(&base, Source::Codex);
    push(&mut other, &[called("c", "cat a.rs")]);
    for (what, fold, path) in [("same", &same, "/w/sub/a.rs"), ("another", &other, "/w/a.rs")] {
        assert!(fold.checkpoint().files.get(path).is_some(), "{what} program");
        assert_eq!(fold.head().tokens, fold.visible().tokens(), "{what} program");
        assert_eq!(fold.head().lines, 1, "{what} program");
    }
}

#[test]
fn a_history_that_replaces_another_continues_its_counts_but_not_its_requests_positions() {
    let asked = |parent: &str, words: &str| claude("user", parent, Some("/w"), &json!(words));
    let base = folded(Source::Claude, &[asked("p0", "one"), asked("p1", "two")]);
    let succession = Fold::succeed(&Fold::succeed(&base));
    assert_eq!((succession.head().compactions, succession.checkpoint().compactions), (2, 2));
    assert_eq!((succession.visible().tokens(), succession.meter().turns()), (0, 0));
    let mut fold = succession;
    push(&mut fold, &[asked("p1", "three")]);
    let requests = fold.checkpoint().requests.all().iter().map(|it| it.text.as_str());
    assert_eq!(requests.collect::<Vec<_>>(), ["one", "two", "three"], "it takes none back");
}

#[test]
fn a_carried_line_is_visible_and_changes_no_state() {
    let fine = "Exit code: 0\nOutput:\nfine";
    let failed = answered("a", "Exit code: 1\nOutput:\nerror: late");
    let mut base = folded(
        Source::Longhaul,
        &[
            message("user", "test it"),
            called("a", "just test"),
            answered("a", fine),
            called("b", "ls"),
        ],
    );
    push(&mut base, &[compacted("the state")]);
    let mut fold = Fold::succeed(&base);
    let mut expected = fold.checkpoint().clone();
    for line in [compacted("the state"), called("a", "just test"), called("b", "ls")] {
        let row = fold.carried(next(&fold, &line), &bytes(&line));
        assert_eq!(row.map(|row| row.seq), Some(fold.checkpoint().seq));
    }
    expected.seq = fold.next_seq() - 1;
    assert_eq!(fold.checkpoint(), &expected);
    assert!(fold.visible().tokens() > 0 && fold.head().items == 3);
    // The compaction is billed; the calls before it are no work after it.
    let bill: Vec<_> = fold.bill().compactions().map(|it| (it.seq, it.after.actions)).collect();
    assert_eq!(bill, [(4, 0), (5, 0)]);

    push(&mut fold, &[failed]);
    assert_eq!(fold.checkpoint().briefing.failures().count(), 0, "it was answered before");
    push(&mut fold, &[answered("b", "Exit code: 2\nOutput:\nno")]);
    let commands = fold.checkpoint().commands.newest();
    let outcomes: Vec<_> = commands.map(|run| (run.text.as_str(), run.outcome.words())).collect();
    assert!(outcomes.contains(&("just test", "exit 0".to_owned())), "{outcomes:?}");
    assert!(outcomes.contains(&("ls", "exit 2".to_owned())), "{outcomes:?}");
}

#[test]
fn bytes_of_another_version_are_recognized() {
    let mut saved = Fold::new(Source::Codex).save().unwrap();
    assert!(matches!(Fold::load(&saved[..saved.len() / 2]), Err(FoldError::Broken(_))));
    saved[0] -= 1;
    let older = Fold::VERSION - 1;
    assert!(matches!(Fold::load(&saved), Err(FoldError::Version { found, .. }) if found == older));
    let json = br#"{"version":39,"next_seq":0}"#;
    assert!(matches!(Fold::load(json), Err(FoldError::Version { .. })));
    assert!(Fold::load(&[]).is_err());
}
