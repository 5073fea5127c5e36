use proptest::prelude::*;
use serde_json::{Value, json};

use super::assemble::assemble;
use super::*;
use crate::rollout::outline::outline;
use crate::rollout::patch::FileOp;
use crate::rollout::records::{MessageRecords, Record, SessionRecords};
use crate::rollout::tool::Action;

fn entries(lines: &[u8]) -> Vec<String> {
    outline(read, lines)
}

fn session_row() -> Value {
    json!({"id": "ses_1", "directory": "/w", "title": "Greeter", "version": "1.2.3",
           "time": {"created": 1_700_000_000_000_i64, "updated": 1_700_000_000_001_i64}})
}

/// The ids of messages sort in their order.
fn row(id: &str, mut message: Value, parts: &[Value]) -> MessageRecords {
    message["time"]["created"] = id.trim_start_matches("msg_").parse::<u64>().unwrap().into();
    MessageRecords {
        id: id.into(),
        message: Record::Object(message),
        parts: parts.iter().cloned().map(Record::Object).collect(),
    }
}

fn user_row(id: &str, parts: &[Value]) -> MessageRecords {
    row(id, json!({"role": "user", "summary": {"diffs": []}}), parts)
}

fn lines(session: &Value, messages: &[MessageRecords]) -> Vec<u8> {
    assemble(&SessionRecords { session: session.clone(), messages: messages.to_vec() })
}

fn model_row(id: &str, more: &Value, parts: &[Value]) -> MessageRecords {
    let mut info = json!({"role": "assistant", "modelID": "m-1", "path": {"cwd": "/w"},
        "time": {"completed": 9},
        "tokens": {"input": 5, "output": 2, "reasoning": 1, "cache": {"read": 3, "write": 4}}});
    for (key, value) in more.as_object().unwrap() {
        info[key] = value.clone();
    }
    row(id, info, parts)
}

fn words(text: &str) -> Value {
    json!({"type": "text", "text": text, "time": {"start": 6, "end": 7}})
}

fn tool_part(tool: &str, state: &Value) -> Value {
    json!({"type": "tool", "tool": tool, "callID": format!("c-{tool}"), "state": state})
}

#[test]
fn parts_become_items() {
    let bash = json!({"status": "completed", "input": {"command": "make"}, "output": "Grüße\n",
        "metadata": {"exit": 3}, "time": {"start": 7, "end": 8}});
    let edit = json!({"status": "error", "input": {"filePath": "/w/a"}, "error": "not found"});
    let messages = [
        user_row(
            "msg_1",
            &[
                json!({"type": "text", "text": "Called the Read tool", "synthetic": true}),
                json!({"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,AAAA"}),
                json!({"type": "text", "text": "fix it"}),
            ],
        ),
        model_row(
            "msg_2",
            &json!({"finish": "tool-calls"}),
            &[
                json!({"type": "step-start"}),
                json!({"type": "reasoning", "text": "12345678", "time": {"start": 6, "end": 7}}),
                words("On it."),
                tool_part("bash", &bash),
                tool_part("edit", &edit),
                tool_part(
                    "invalid",
                    &json!({"status": "completed", "input": {}, "output": "no such tool"}),
                ),
            ],
        ),
        model_row("msg_3", &json!({"finish": "stop", "tokens": {"total": 40}}), &[words("Done.")]),
    ];
    assert_eq!(
        entries(&lines(&session_row(), &messages)),
        [
            r#"meta Some("ses_1") Some("/w") Interactive None"#,
            "title Greeter",
            "Developer Called the Read tool 0",
            "Developer a.png 1",
            "User fix it 0",
            "Passed",
            "reasoning 2",
            "model m-1",
            "in /w",
            "Assistant On it. 0",
            "model m-1",
            "in /w",
            "call bash c-bash",
            "c-bash: Exit code: 3\nOutput:\nGrüße\n 0",
            "model m-1",
            "in /w",
            "call edit c-edit",
            "c-edit: execution error: not found 0",
            "model m-1",
            "in /w",
            "call invalid c-invalid",
            "c-invalid: execution error: no such tool 0",
            "usage Some(15)",
            "Passed",
            "model m-1",
            "in /w",
            "Assistant Done. 0",
            "usage Some(40)",
            "TurnComplete",
        ]
    );
}

#[test]
fn interruptions_compactions_and_reverts_are_reported() {
    let mut session = session_row();
    session["parentID"] = json!("ses_0");
    session["title"] = json!("Child session - 2026-01-01");
    session["revert"] = json!({"messageID": "msg_5"});
    let messages = [
        user_row("msg_1", &[words("one")]),
        model_row("msg_2", &json!({"error": {"name": "MessageAbortedError"}}), &[words("half a")]),
        user_row("msg_3", &[json!({"type": "compaction", "auto": true})]),
        model_row("msg_4", &json!({"summary": true, "finish": "stop"}), &[words("so far")]),
        user_row("msg_5", &[words("two")]),
        model_row("msg_6", &json!({"error": {"name": "APIError"}}), &[]),
    ];
    let read_entries = entries(&lines(&session, &messages));
    assert_eq!(read_entries[0], r#"meta Some("ses_1") Some("/w") Subagent Some("ses_0")"#);
    let read_entries: Vec<_> = read_entries[1..]
        .iter()
        .filter(|line| !["Passed", "model m-1", "in /w", "usage Some(15)"].contains(&line.as_str()))
        .collect();
    assert_eq!(
        read_entries,
        [
            "User one 0",
            "Assistant half a 0",
            "TurnAborted",
            "compacted so far",
            "User two 0",
            "RolledBack { turns: 1 }",
        ]
    );
}

#[test]
fn unfinished_parts_are_held_back_and_no_line_changes() {
    let running = tool_part("bash", &json!({"status": "running", "input": {"command": "make"}}));
    let done = tool_part(
        "bash",
        &json!({"status": "completed", "input": {"command": "make"}, "output": "",
        "metadata": {"exit": 0}}),
    );
    let open = json!({"time": {}});
    let states = [
        vec![user_row("msg_1", &[])],
        vec![user_row("msg_1", &[words("one")])],
        vec![
            user_row("msg_1", &[words("one")]),
            model_row("msg_2", &open, &[json!({"type": "text", "text": "O"})]),
        ],
        vec![
            user_row("msg_1", &[words("one")]),
            model_row("msg_2", &open, &[words("On it."), running]),
        ],
        vec![
            user_row("msg_1", &[words("one")]),
            model_row("msg_2", &open, &[words("On it."), done.clone()]),
        ],
        vec![
            user_row("msg_1", &[words("one")]),
            model_row("msg_2", &json!({}), &[words("On it."), done]),
        ],
    ];
    let assembled: Vec<_> = states.iter().map(|state| lines(&session_row(), state)).collect();
    for pair in assembled.windows(2) {
        assert!(pair[1].starts_with(&pair[0]));
    }
    assert_eq!(assembled[1], assembled[2]);
}

#[test]
fn a_call_left_open_by_an_ended_program_is_aborted() {
    let running = tool_part("bash", &json!({"status": "running", "input": {"command": "make"}}));
    let open = json!({"time": {}});
    let messages = [model_row("msg_1", &open, &[running]), user_row("msg_2", &[words("again")])];
    assert!(entries(&lines(&session_row(), &messages)).contains(&"c-bash: aborted 0".to_owned()));
}

#[test]
fn damaged_records_are_counted_and_move_no_later_lines() {
    let broken = || Record::of(b"{\"type\": \n \"te");
    let mut torn = user_row("msg_1", &[words("one")]);
    torn.parts.insert(0, broken());
    let lost = MessageRecords { message: broken(), ..user_row("msg_2", &[words("unknown whose")]) };
    let last = model_row("msg_3", &json!({"time": {}}), &[words("On it."), words("lost")]);
    let mut cut = last.clone();
    cut.parts[1] = broken();
    let before = lines(&session_row(), &[torn.clone(), lost.clone(), cut]);
    let read_entries = entries(&before);
    assert_eq!(
        read_entries.iter().filter(|line| *line == "Malformed").count(),
        2,
        "{read_entries:?}"
    );
    assert!(read_entries.contains(&"User one 0".to_owned()), "{read_entries:?}");
    // A torn record of a running message may soon be complete.
    assert!(lines(&session_row(), &[torn, lost, last]).starts_with(&before));
}

#[test]
fn later_writes_to_old_records_change_no_line() {
    let state = json!({"status": "completed", "input": {}, "output": "x", "time": {"end": 8},
        "metadata": {"exit": 0}});
    let mut later = state.clone();
    later["time"]["compacted"] = json!(99);
    later["metadata"]["truncated"] = json!(true);
    let lines_of = |state: &Value, more: &Value| {
        let mut part = tool_part("bash", state);
        part["id"] = more.clone();
        lines(&session_row(), &[model_row("msg_1", &json!({}), &[part])])
    };
    assert_eq!(lines_of(&state, &Value::Null), lines_of(&later, &json!("prt_1")));
}

#[test]
fn the_tools_are_known() {
    let action = |tool: &str, input: Value| {
        let part = tool_part(tool, &json!({"input": input}));
        tool::interpret(&tool::call(part.as_object().unwrap()))
    };
    let shell = action("bash", json!({"command": "make", "workdir": "/w"}));
    assert_eq!(shell, Some(Action::Shell { script: "make".into(), workdir: Some("/w".into()) }));
    assert_eq!(action("read", json!({"filePath": "a"})), Some(Action::View { path: "a".into() }));
    let edit = json!({"filePath": "a", "oldString": "x", "newString": "y"});
    let Some(Action::Patch(ops)) = action("edit", edit) else { panic!() };
    assert_eq!((ops[0].path.as_str(), ops[0].changed.as_str()), ("a", "x\ny\n"));
    let Some(Action::Patch(ops)) = action("write", json!({"filePath": "b", "content": "z"})) else {
        panic!()
    };
    assert_eq!(ops, [FileOp::write("b", "z".into())]);
    assert_eq!((ops[0].added.as_str(), ops[0].counts.added), ("z", 1));
    let patch = "*** Begin Patch\n*** Delete File: c\n*** End Patch";
    let Some(Action::Patch(ops)) = action("apply_patch", json!({"patchText": patch})) else {
        panic!()
    };
    assert_eq!(ops[0].path, "c");
    let todos = json!({"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "cancelled"}]});
    let Some(Action::Plan(steps)) = action("todowrite", todos) else { panic!() };
    assert_eq!(steps.len(), 1);
    let agent =
        action("task", json!({"subagent_type": "general", "description": "d", "prompt": "p"}));
    assert!(matches!(agent, Some(Action::Other { values, .. }) if values == "general: d: p"));
    assert!(matches!(action("grep", json!({"pattern": "x"})), Some(Action::Look { .. })));
    assert_eq!(action("read", json!({"path": "a"})), None);
    assert_eq!(action("webfetch", json!({"url": "u"})), None);
}

#[test]
fn what_a_tool_adds_to_a_text_is_removed_and_counted() {
    let read = "<path>/w/a.md</path>\n<type>file</type>\n<content>9: # Rules\n10: \n11:   - a: 1\n\n(End of file - total 11 lines)\n</content>";
    for (tool, output, expected) in [
        ("read", read, "# Rules\n\n  - a: 1"),
        ("read", "<file>\n00001| x\n00002|\n\n(End of file)\n</file>", "x\n"),
        (
            "read",
            "<type>directory</type>\n<entries>\na.md\n",
            "<type>directory</type>\n<entries>\na.md\n",
        ),
        (
            "task",
            "task_id: ses_2 (for resuming)\n\n<task_result>\nNo bug.\n</task_result>",
            "No bug.",
        ),
        ("bash", "1: x", "1: x"),
    ] {
        let part = tool_part(tool, &json!({"status": "completed", "input": {}, "output": output}));
        let lines = lines(&session_row(), &[model_row("msg_1", &json!({}), &[part])]);
        let shown = entries(&lines);
        assert!(shown.contains(&format!("c-{tool}: {expected} 0")), "{shown:?}");
        assert_eq!(weights(&lines)[1], tokens::of_text(output));
    }
}

#[test]
fn items_leave_in_the_responses_form() {
    let line = json!({"at": 1, "message": {"role": "user"},
        "part": {"type": "file", "filename": "a.png", "url": "data:image/png;base64,AAAA"}});
    let content = &responses(line.to_string().as_bytes())[0]["content"];
    assert_eq!(content[1]["image_url"], "data:image/png;base64,AAAA");
}

#[test]
fn unknown_lines_are_counted() {
    let new = r#"{"message":{"role":"user"},"part":{"type":"new"}}"#;
    let lines = format!("nothing\n{{}}\n{new}\n");
    assert_eq!(entries(lines.as_bytes()), ["Malformed", "Unknown", "Unknown"]);
}

/// The items of lines with their estimated tokens.
fn weights(lines: &[u8]) -> Vec<u64> {
    let mut weights = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        read(line, false, &mut |entry| {
            if let Body::Item(_, tokens) = entry.body {
                weights.push(tokens);
            }
        });
    }
    weights
}

#[test]
fn parts_without_words_are_no_items() {
    let reasoning = |text: &str| json!({"type": "reasoning", "text": text, "time": {"end": 7}});
    let messages = [
        user_row("msg_1", &[words(" ")]),
        model_row("msg_2", &json!({"tokens": {"total": 0}}), &[reasoning(""), reasoning("hm")]),
        model_row("msg_3", &json!({"summary": true}), &[reasoning("hm"), words("so far")]),
    ];
    let shown = entries(&lines(&session_row(), &messages)).split_off(2);
    let expected =
        ["Passed", "Passed", "reasoning 1", "Passed", "Passed", "compacted so far", "Passed"];
    assert_eq!(shown, expected);
}

#[test]
fn the_tokens_of_images_count() {
    let url = "data:image/png;base64,AAAA";
    let cost = image::cost_bytes("AAAA", false);
    let file = json!({"type": "file", "filename": "a.png", "url": url});
    let seen = json!({"status": "completed", "input": {}, "output": "seen",
        "attachments": [{"url": url}, {"url": url}]});
    let messages =
        [user_row("msg_1", &[file]), model_row("msg_2", &json!({}), &[tool_part("read", &seen)])];
    let found = weights(&lines(&session_row(), &messages));
    let expected =
        [tokens::of_bytes(5 + cost), tokens::of_text("{}"), tokens::of_bytes(4 + 2 * cost)];
    assert_eq!(found, expected);
    let all = entries(&lines(&session_row(), &messages));
    assert!(all.contains(&"c-read: seen 2".to_owned()), "{all:?}");
}

#[test]
fn messages_are_ordered_by_their_time_and_a_revert_counts_requests() {
    let mut later = user_row("msg_1", &[words("two")]);
    let Record::Object(message) = &mut later.message else { panic!() };
    message["time"]["created"] = json!(30);
    let messages = [
        later,
        user_row("msg_2", &[words("one")]),
        model_row("msg_3", &json!({}), &[words("first")]),
        user_row("msg_31", &[words("three")]),
    ];
    let mut session = session_row();
    session["revert"] = json!({"messageID": "msg_3"});
    let all = entries(&lines(&session, &messages));
    let shown: Vec<_> = all.iter().filter(|it| ["Us", "As", "Ro"].contains(&&it[..2])).collect();
    let expected = [
        "User one 0",
        "Assistant first 0",
        "User two 0",
        "User three 0",
        "RolledBack { turns: 2 }",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn the_whole_parts_of_a_running_message_are_shown() {
    let running = tool_part("bash", &json!({"status": "running", "input": {}}));
    let done = tool_part("grep", &json!({"status": "completed", "input": {}, "output": "x"}));
    let parts = [words("On it."), json!({"type": "step-start"}), done, running];
    let messages = [model_row("msg_1", &json!({"time": {}}), &parts)];
    let all = entries(&lines(&session_row(), &messages));
    assert!(all.contains(&"Assistant On it. 0".to_owned()), "{all:?}");
    assert!(all.contains(&"c-grep: x 0".to_owned()), "{all:?}");
    assert!(!all.iter().any(|it| it.contains("bash")), "{all:?}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec!["user", "assistant", "text", "tool", "running", "ses_1", "é"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(
                (
                    prop::sample::select(vec![
                        "role",
                        "type",
                        "state",
                        "time",
                        "part",
                        "message",
                        "output",
                        "input",
                        "status",
                        "text",
                        "session",
                        "tokens",
                        "error",
                        "summary",
                        "revert",
                        "messageID",
                        "end",
                    ]),
                    inner
                ),
                0..5
            )
            .prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_input_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        values in prop::collection::vec(any_json(), 4),
    ) {
        let _ = entries(&bytes);
        let _ = entries(values[0].to_string().as_bytes());
        let parts = vec![Record::Object(values[2].clone()), Record::Broken(bytes)];
        let message = Record::Object(values[1].clone());
        let message = MessageRecords { id: "m".into(), message, parts };
        let _ = entries(&lines(&values[0], &[message.clone(), message]));
    }
}
