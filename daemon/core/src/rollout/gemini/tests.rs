use proptest::prelude::*;
use serde_json::{Value, json};

use super::assemble::assemble;
use super::*;
use crate::rollout::outline::outline;
use crate::rollout::patch::FileOp;
use crate::rollout::source::TranscriptPlace;
use crate::rollout::tool::Action;

fn entries(lines: &[u8]) -> Vec<String> {
    outline(read, lines)
}

fn text_of(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn place() -> TranscriptPlace<'static> {
    TranscriptPlace { path: "", marker: Some("/w") }
}

fn header_line() -> Value {
    json!({"sessionId": "s1", "projectHash": "h", "startTime": "2026-01-02T03:04:05.678Z", "kind": "main"})
}

fn user_line(id: &str, words: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-02T03:04:06.000Z", "type": "user", "content": [{"text": words}]})
}

fn model_line(id: &str, words: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-02T03:04:07.000Z", "type": "gemini", "content": words,
           "thoughts": [], "tokens": {"total": 9}, "model": "gemini-x"})
}

fn shell_call(id: &str, output: &str) -> Value {
    json!({"id": id, "name": "run_shell_command", "args": {"command": "make"}, "status": "success",
           "timestamp": "2026-01-02T03:04:08.000Z",
           "result": [{"functionResponse": {"id": id, "name": "run_shell_command", "response": {"output": output}}}]})
}

#[test]
fn a_document_is_read_message_by_message() {
    let mut calling = model_line("m2", "On it.");
    calling["thoughts"] = json!([{"subject": "Plan", "description": "four"}]);
    calling["toolCalls"] = json!([
        shell_call("c1", "Output: Grüße\nExit Code: 3\nProcess Group PGID: 7"),
        {"id": "c2", "name": "read_file", "args": {"file_path": "/w/x"}, "status": "error",
         "result": [{"functionResponse": {"id": "c2", "name": "read_file", "response": {"error": "File not found"}}}]},
        {"id": "c3", "name": "read_file", "args": {}, "status": "executing"},
    ]);
    let mut document = header_line();
    document["messages"] = json!([
        {"id": "m1", "type": "user", "content": "fix it\nfile text", "displayContent": [{"text": "fix it"}]},
        calling,
        {"id": "m3", "type": "info", "content": "Request cancelled."},
        {"id": "m4", "type": "user", "content": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        model_line("m5", "Done."),
        {"id": "m6", "type": "user", "content": "/compress"},
    ]);
    document["summary"] = json!("Fixing it");
    let lines = assemble(serde_json::to_string_pretty(&document).unwrap().as_bytes(), place());
    assert_eq!(
        entries(&lines),
        [
            r#"meta Some("s1") Some("/w") Interactive None"#,
            "User fix it 0",
            "Developer file text 0",
            "model gemini-x",
            "reasoning 3",
            "Assistant On it. 0",
            "usage Some(9)",
            "call run_shell_command c1",
            "call read_file c2",
            "call read_file c3",
            "c1: Exit code: 3\nOutput:\nGrüße 0",
            "c2: execution error: File not found 0",
            "TurnAborted",
            "User look 1",
            "model gemini-x",
            "Assistant Done. 0",
            "usage Some(9)",
            "TurnComplete",
            "Passed",
            "title Fixing it",
        ]
    );
}

#[test]
fn in_a_journal_the_last_state_of_a_message_counts() {
    let mut called = model_line("m2", "On it.");
    called["toolCalls"] =
        json!([shell_call("c1", "<untrusted_context>\nOutput: ok\n</untrusted_context>")]);
    let answer = json!({"id": "m3", "type": "user", "content": [{"functionResponse":
        {"id": "c1", "name": "run_shell_command", "response": {"output": "Output: ok"}}}]});
    let lines = [
        header_line(),
        json!({"$set": {"messages": [user_line("m0", "<session_context>here")]}}),
        user_line("m1", "fix it"),
        json!({"$set": {"lastUpdated": "2026-01-02T03:04:05.678Z"}}),
        model_line("m2", "On it."),
        called,
        answer.clone(),
        model_line("m4", "Done."),
        header_line(),
        json!({"$set": {"messages": [user_line("m0", "<session_context>later")]}}),
        json!({"$set": {"messages": [user_line("m0", "<session_context>later"), user_line("m1", "fix it"),
            model_line("m2", "On it."), answer, model_line("m4", "Done.")]}}),
        user_line("m5", "more"),
        json!({"id": "m6", "type": "gemini", "content": ""}),
    ];
    let mut file = text_of(&lines);
    file.extend_from_slice(b"{\"id\":\"torn");
    assert_eq!(
        entries(&assemble(&file, place()))[1..],
        [
            "Developer <session_context>here 0",
            "User fix it 0",
            "model gemini-x",
            "Assistant On it. 0",
            "usage Some(9)",
            "call run_shell_command c1",
            "c1: Exit code: 0\nOutput:\nok 0",
            "model gemini-x",
            "Assistant Done. 0",
            "usage Some(9)",
            "TurnComplete",
            "User more 0",
        ]
    );
}

#[test]
fn rewound_messages_stay_before_the_line_of_the_rewind() {
    let lines = [
        user_line("m1", "one"),
        model_line("m2", "first"),
        user_line("m3", "two"),
        model_line("m4", "second"),
        json!({"$rewindTo": "m3"}),
        user_line("m5", "three"),
        json!({"id": "i", "type": "info", "content": "Request cancelled."}),
        json!({"$set": {"messages": [user_line("m1", "one"), model_line("m2", "first")]}}),
        json!({"$rewindTo": "unknown"}),
    ];
    let read_entries: Vec<_> = entries(&assemble(&text_of(&lines), place()))
        .into_iter()
        .filter(|line| line.starts_with("User") || line.starts_with("Rolled"))
        .collect();
    assert_eq!(
        read_entries,
        [
            "User one 0",
            "User two 0",
            "RolledBack { turns: 1 }",
            "User three 0",
            "RolledBack { turns: 1 }",
            "RolledBack { turns: 1 }",
        ]
    );
}

#[test]
fn a_compression_is_reported_once() {
    let snapshot =
        user_line("n1", "<scratchpad>x</scratchpad>\n<state_snapshot>so far</state_snapshot>");
    let courtesy = model_line("n2", "Got it. Thanks for the additional context!");
    let kept = model_line("m2", "first");
    let lines = [
        user_line("m1", "one"),
        kept.clone(),
        json!({"$set": {"messages": [snapshot, courtesy, kept]}}),
        json!({"id": "i", "type": "info", "content": ""}),
        user_line("m3", "two"),
        json!({"$set": {"messages": [snapshot, courtesy, kept, user_line("m3", "two")]}}),
    ];
    let read_entries = entries(&assemble(&text_of(&lines), place()));
    assert_eq!(
        read_entries.iter().filter(|line| line.starts_with("compacted")).count(),
        1,
        "{read_entries:?}"
    );
    assert!(read_entries.contains(&"compacted <state_snapshot>so far</state_snapshot>".to_owned()));
    assert!(
        !read_entries.iter().any(|line| line.contains("Got it") || line.contains("RolledBack"))
    );
}

#[test]
fn a_commands_answer_has_its_exit_status() {
    for (answer, text) in [
        ("Output: a\nb", "Exit code: 0\nOutput:\na\nb"),
        ("Output: (empty)\nExit Code: 2", "Exit code: 2\nOutput:\n(empty)"),
        (
            "Command: make\nDirectory: (root)\nOutput: a\nError: (none)\nExit Code: 0\nSignal: (none)\n\
             Background PIDs: (none)\nProcess Group PGID: 4",
            "Exit code: 0\nOutput:\na",
        ),
        ("Output: a\nExit Code: (none)\nSignal: 9", "a"),
        ("Output: a\nBackground PIDs: 12", "Process running with session ID 12\nOutput:\na"),
        (
            "Command was cancelled by user before it could start.",
            "aborted: Command was cancelled by user before it could start.",
        ),
        ("moved to the background", "moved to the background"),
    ] {
        let call = shell_call("c", answer);
        assert_eq!(output::text(call.as_object().unwrap()).0, text);
    }
}

#[test]
fn the_tools_are_known() {
    let action = |name: &str, args: Value| {
        let call = json!({"id": "c", "name": name, "args": args});
        tool::interpret(&tool::call(call.as_object().unwrap()))
    };
    let shell = action("run_shell_command", json!({"command": "make", "dir_path": "sub"}));
    assert_eq!(shell, Some(Action::Shell { script: "make".into(), workdir: Some("sub".into()) }));
    let view = action("read_file", json!({"absolute_path": "/w/a"}));
    assert_eq!(view, Some(Action::View { path: "/w/a".into() }));
    let edit = json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"});
    let Some(Action::Patch(ops)) = action("replace", edit) else { panic!() };
    assert_eq!((ops[0].path.as_str(), ops[0].changed.as_str()), ("/w/a", "x\ny\n"));
    let Some(Action::Patch(ops)) = action("write_file", json!({"file_path": "b", "content": "z"}))
    else {
        panic!()
    };
    assert_eq!(ops, [FileOp::write("b", "z".into())]);
    assert_eq!((ops[0].added.as_str(), ops[0].counts.added), ("z", 1));
    let todos = json!({"todos": [{"description": "a", "status": "completed"},
        {"description": "b", "status": "cancelled"}, {"description": "c", "status": "in_progress"}]});
    let Some(Action::Plan(steps)) = action("write_todos", todos) else { panic!() };
    assert_eq!(steps.iter().map(|step| step.text.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    let agent = action("invoke_agent", json!({"agent_name": "finder", "prompt": "find"}));
    assert!(matches!(agent, Some(Action::Other { values, .. }) if values == "finder: find"));
    assert!(matches!(action("glob", json!({"pattern": "*"})), Some(Action::Look { .. })));
    assert_eq!(action("google_web_search", json!({"query": "q"})), None);
}

#[test]
fn the_path_supplies_what_a_session_lacks() {
    let folder = "/home/u/.gemini/tmp/w";
    for (name, is_session) in
        [("chats/session-1.json", true), ("chats/s1/a7.jsonl", true), ("logs.json", false)]
    {
        assert_eq!(SPEC.layout(&format!("{folder}/{name}")).is_some(), is_session, "{name}");
    }
    let agent = text_of(&[json!({"sessionId": "a7", "kind": "subagent"})]);
    let path = format!("{folder}/chats/s1/a7.jsonl");
    let lines = assemble(&agent, TranscriptPlace { path: &path, marker: Some("/w\n") });
    read(&lines, true, &mut |entry| {
        let Body::Meta(meta) = entry.body else { panic!("{entry:?}") };
        assert_eq!(meta.parent_thread_id.as_deref(), Some("s1"));
        assert_eq!((meta.cwd.as_deref(), meta.kind), (Some("/w"), ThreadKind::Subagent));
    });
}

#[test]
fn items_leave_in_the_responses_form() {
    let line = json!({"id": "m", "type": "user", "content": [{"text": "look"},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]});
    let content = &responses(line.to_string().as_bytes())[0]["content"];
    assert_eq!(content[1]["image_url"], "data:image/png;base64,AAAA");
    let line = json!({"toolCall": {"id": "c", "name": "glob", "args": {"pattern": "*"}}});
    assert_eq!(responses(line.to_string().as_bytes())[0]["arguments"], r#"{"pattern":"*"}"#);
}

#[test]
fn unknown_lines_are_counted() {
    assert_eq!(
        entries(b"nothing\n[1]\n{\"type\":\"new\"}\n\n"),
        ["Malformed", "Malformed", "Unknown"]
    );
}

#[test]
fn several_records_on_a_line_are_parsed_and_reported() {
    let (first, second) =
        (user_line("m1", "one").to_string(), model_line("m2", "first").to_string());
    let once = entries(&assemble(format!("{first}\n{second}\n").as_bytes(), place()));
    for (line, read) in [
        (format!("{first}{second}"), &once[..]),
        (format!("{first} {second}\r"), &once[..]),
        (format!("{first}{}", &second[..9]), &once[..1]),
        (format!("{first},{second}"), &once[..1]),
        (format!("{}{second}", &first[..9]), &[]),
        (format!("[1]{second}"), &[]),
    ] {
        let read_entries = entries(&assemble(format!("{line}\n").as_bytes(), place()));
        assert_eq!(read_entries, [read, &["Malformed".to_owned()]].concat(), "{line}");
    }
}

proptest! {
    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), pieces in prop::collection::vec(
        prop::sample::select(vec!["{", "}", "[", "]", "\"id\":\"a\"", ",", "\"$set\":", "\"messages\":", "\"content\":",
            "\"type\":\"gemini\"", "\"type\":\"user\"", "\"toolCalls\":", "\"$rewindTo\":\"a\"", "null", "\n", "\"sessionId\":\"s\""]), 0..40)) {
        for file in [bytes, pieces.concat().into_bytes()] {
            let _ = entries(&file);
            let _ = entries(&assemble(&file, place()));
        }
    }

    /// Truncation does not change how the part before it is parsed.
    #[test]
    fn a_truncated_journal_is_parsed_to_its_last_line(cut in 0_usize..600) {
        let whole = text_of(&[header_line(), user_line("m1", "one"), model_line("m2", "first"), user_line("m3", "two")]);
        let all = assemble(&whole, place());
        let part = assemble(&whole[..cut.min(whole.len())], place());
        prop_assert!(all.starts_with(&part));
    }
}

/// The items of a line with their estimated tokens.
fn weights(line: &Value) -> Vec<u64> {
    let mut weights = Vec::new();
    read(line.to_string().as_bytes(), false, &mut |entry| {
        if let Body::Item(_, tokens) = entry.body {
            weights.push(tokens);
        }
    });
    weights
}

#[test]
fn each_kind_of_line_is_told_by_its_keys() {
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    for (line, expected) in [
        (json!({"$rewindTo": "m1"}), vec!["Passed"]),
        (json!({"$rewindTo": "m1", "turns": 2}), vec!["RolledBack { turns: 2 }"]),
        (json!({"projectHash": "h"}), vec!["Unknown"]),
        (json!({"type": "user", "content": [image]}), vec!["User  1"]),
        (json!({"type": "user", "content": [{"text": " "}]}), vec!["Passed"]),
        (
            json!({"type": "gemini", "content": "Done.", "tokens": {"total": 0}}),
            vec!["Assistant Done. 0", "TurnComplete"],
        ),
    ] {
        assert_eq!(entries(line.to_string().as_bytes()), expected, "{line}");
    }
}

#[test]
fn the_tokens_of_images_and_calls_count() {
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let cost = tokens::image::cost_bytes("AAAA", false);
    let user = json!({"type": "user", "content": [{"text": "why?"}, image, image]});
    assert_eq!(weights(&user), [tokens::of_bytes(4 + 2 * cost)]);
    let response = json!({"id": "c", "response": {"output": "seen"}, "parts": [image]});
    let answer = json!({"toolResult": {"id": "c", "name": "read_file", "status": "success",
        "result": [{"functionResponse": response}]}});
    assert_eq!(weights(&answer), [tokens::of_bytes(4 + cost)]);
    let called = json!({"id": "c", "name": "glob", "args": {"pattern": "*".repeat(400)}});
    let expected = [tokens::of_text(&called.to_string())];
    assert_eq!(weights(&json!({"toolCall": called})), expected);
    let model = json!({"type": "gemini", "content": [{"functionCall": called}]});
    assert_eq!(weights(&model), expected);
}

#[test]
fn restating_a_history_takes_back_the_prompts_that_it_lacks() {
    let lines = [
        user_line("m1", "one"),
        model_line("m2", "first"),
        user_line("m3", "two"),
        user_line("m4", "three"),
        json!({"$set": {"messages": [user_line("m1", "one"), user_line("n1", "four"),
            model_line("n2", "fourth")]}}),
        user_line("m5", "five"),
    ];
    let all = entries(&assemble(&text_of(&lines), place()));
    let shown: Vec<_> = all.iter().filter(|it| ["Us", "As", "Ro"].contains(&&it[..2])).collect();
    let expected = [
        "User one 0",
        "Assistant first 0",
        "User two 0",
        "User three 0",
        "RolledBack { turns: 2 }",
        "User four 0",
        "Assistant fourth 0",
        "User five 0",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_rewind_after_a_compression_takes_back_only_what_followed_it() {
    let snapshot = user_line("n1", "<state_snapshot>so far</state_snapshot>");
    let lines = [
        user_line("m1", "one"),
        model_line("m2", "first"),
        json!({"$set": {"messages": [snapshot, model_line("n2", "Got it.")]}}),
        user_line("m3", "two"),
        json!({"$rewindTo": "unknown"}),
    ];
    let all = entries(&assemble(&text_of(&lines), place()));
    assert_eq!(all.last().map(String::as_str), Some("RolledBack { turns: 1 }"), "{all:?}");
}

#[test]
fn a_message_is_held_back_only_while_it_is_last_and_empty() {
    let shown = |lines: &[Value]| entries(&assemble(&text_of(lines), place()));
    let prompt = user_line("m1", "one");
    let empty = model_line("m2", "");
    assert_eq!(shown(&[prompt.clone(), empty.clone()]), ["User one 0"]);
    let read_entries = shown(&[prompt.clone(), empty.clone(), user_line("m3", "two")]);
    assert_eq!(read_entries, ["User one 0", "model gemini-x", "usage Some(9)", "User two 0"]);
    let mut calling = empty;
    calling["toolCalls"] = json!([{"id": "c1", "name": "glob", "args": {}, "status": "executing"}]);
    assert!(shown(&[prompt, calling]).contains(&"call glob c1".to_owned()));
    assert_eq!(assemble(header_line().to_string().as_bytes(), place()), b"", "no newline yet");
    let whole = format!("{}\n", header_line());
    assert!(!assemble(whole.as_bytes(), place()).is_empty());
}

#[test]
fn words_next_to_an_answer_that_has_a_line_are_shown() {
    let mut called = model_line("m1", "On it.");
    called["toolCalls"] = json!([shell_call("c1", "Output: ok")]);
    let answer = json!({"functionResponse":
        {"id": "c1", "name": "run_shell_command", "response": {"output": "Output: ok"}}});
    let said = json!({"id": "m2", "type": "user", "content": [{"text": "also this"}, answer]});
    let all = entries(&assemble(&text_of(&[called, said]), place()));
    assert!(all.contains(&"User also this 0".to_owned()), "{all:?}");
}
