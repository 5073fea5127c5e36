use serde_json::{Value, json};

use super::*;

fn normal(items: &[Value], options: &Options) -> (Vec<Value>, Vec<(ChangeKind, usize)>) {
    let texts: Vec<String> = items.iter().map(Value::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let made = normalize(&texts, options);
    let again: Vec<&str> = made.items.iter().map(AsRef::as_ref).collect();
    let options = Options { remove: Vec::new(), ..options.clone() };
    assert_eq!(normalize(&again, &options).changes, [], "twice is once");
    (
        made.items.iter().map(|item| serde_json::from_str(item.as_ref()).unwrap()).collect(),
        made.changes.iter().map(|change| (change.kind, change.index)).collect(),
    )
}

fn item(kind: &str, id: &str) -> Value {
    json!({"type": kind, "call_id": id})
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

#[test]
fn a_missing_output_is_added_right_after_its_call() {
    for (call, output, text) in [
        ("function_call", "function_call_output", json!("aborted")),
        ("local_shell_call", "function_call_output", json!("aborted")),
        ("custom_tool_call", "custom_tool_call_output", json!("aborted")),
        ("apply_patch_call", "apply_patch_call_output", json!("aborted")),
        ("tool_search_call", "tool_search_output", Value::Null),
    ] {
        let (items, changes) = normal(&[item(call, "c"), user("go on")], &Options::default());
        assert_eq!(items[1]["type"], output);
        assert_eq!((&items[1]["call_id"], &items[1]["output"]), (&json!("c"), &text));
        assert_eq!(items[2], user("go on"));
        assert_eq!(changes, [(ChangeKind::OutputAdded, 0)]);
    }
}

#[test]
fn orphans_are_removed_and_a_servers_search_result_stays() {
    let server = json!({"type": "tool_search_output", "call_id": "s", "execution": "server"});
    let nameless = json!({"type": "tool_search_output", "call_id": null});
    let given = [
        item("function_call_output", "a"),
        item("custom_tool_call_output", "b"),
        server.clone(),
        nameless.clone(),
        item("computer_call", "c"),
        json!({"type": "function_call_output", "output": "no id"}),
        json!({"type": "local_shell_call", "call_id": null}),
        json!({"type": "function_call", "name": "no id"}),
    ];
    let (items, changes) = normal(&given, &Options::default());
    assert_eq!(items, [server, nameless, given[6].clone()]);
    assert_eq!(changes.iter().map(|change| change.1).collect::<Vec<_>>(), [0, 1, 4, 5, 7]);
    assert_eq!(changes[2].0, ChangeKind::OrphanCallRemoved);
    assert_eq!(changes[4].0, ChangeKind::OrphanCallRemoved);
}

#[test]
fn an_approval_answers_the_request_that_has_its_id() {
    let request = |id: &str| json!({"type": "mcp_approval_request", "id": id, "name": "x"});
    let response = |id: &str| json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": true});
    let pair = [request("a"), response("a")];
    assert_eq!(normal(&pair, &Options::default()), (pair.to_vec(), vec![]));
    for (what, given, rest, change) in [
        (
            "no response",
            [request("b"), pair[0].clone(), pair[1].clone()],
            1..3,
            (ChangeKind::OrphanCallRemoved, 0),
        ),
        (
            "no request",
            [pair[0].clone(), pair[1].clone(), response("b")],
            0..2,
            (ChangeKind::OrphanOutputRemoved, 2),
        ),
        (
            "twice",
            [pair[0].clone(), pair[0].clone(), pair[1].clone()],
            1..3,
            (ChangeKind::DuplicateCallRemoved, 1),
        ),
    ] {
        let (items, changes) = normal(&given, &Options::default());
        assert_eq!((items.as_slice(), changes.as_slice()), (&given[rest], &[change][..]), "{what}");
    }
    for index in [0, 1] {
        let options = Options { remove: vec![index], ..Options::default() };
        assert_eq!(normal(&pair, &options).0, [Value::Null; 0], "each goes with the other");
    }
}

#[test]
fn a_change_names_the_call_it_is_about() {
    let call = item("function_call", "c").to_string();
    let ghost = json!({"type": "ghost_snapshot"}).to_string();
    let approval = json!({"type": "mcp_approval_request", "id": "a"}).to_string();
    let made = normalize(&[call.as_str(), &ghost, &approval], &Options::default());
    let named: Vec<_> = made.changes.iter().map(|change| change.call_id.as_deref()).collect();
    assert_eq!(named, [Some("c"), None, Some("a")]);
}

#[test]
fn an_output_before_its_call_is_moved_behind_it() {
    let (call, output) = (item("function_call", "c"), item("function_call_output", "c"));
    let given = [output.clone(), user("x"), call.clone(), user("y")];
    let (items, changes) = normal(&given, &Options::default());
    assert_eq!(items, [user("x"), call, output, user("y")]);
    assert_eq!(changes, [(ChangeKind::OutputMoved, 0)]);
}

#[test]
fn a_second_output_is_removed_and_an_answered_id_may_be_reused() {
    let (call, output) = (item("function_call", "c"), item("function_call_output", "c"));
    let twice = [call.clone(), output.clone(), call.clone(), output.clone()];
    assert_eq!(normal(&twice, &Options::default()), (twice.to_vec(), vec![]));
    let given = [call.clone(), call.clone(), output.clone(), output.clone()];
    let (items, changes) = normal(&given, &Options::default());
    assert_eq!(items, [call, output]);
    let kinds = [(ChangeKind::DuplicateCallRemoved, 1), (ChangeKind::DuplicateOutputRemoved, 3)];
    assert_eq!(changes, kinds);
}

#[test]
fn an_item_id_occurs_once() {
    let message = |id: &str, text: &str| json!({"type": "message", "id": id, "content": text});
    let given = [message("m", "a"), message("m", "a"), message("m", "b"), message("n", "c")];
    let (items, changes) = normal(&given, &Options::default());
    assert_eq!(items.len(), 3);
    assert_eq!(items[1], json!({"type": "message", "content": "b"}));
    assert_eq!(changes, [(ChangeKind::DuplicateItemRemoved, 1), (ChangeKind::IdRemoved, 2)]);
}

#[test]
fn an_item_that_needs_its_id_keeps_it_and_occurs_once() {
    let image =
        |result: &str| json!({"type": "image_generation_call", "id": "i", "result": result});
    let (items, changes) = normal(&[image("a"), image("b"), user("x")], &Options::default());
    assert_eq!(items, [image("a"), user("x")]);
    assert_eq!(changes, [(ChangeKind::DuplicateItemRemoved, 1)]);
}

#[test]
fn only_repeated_items_without_a_pair_are_removed() {
    let call = json!({"type": "function_call", "id": "f", "call_id": "c"});
    let output = item("function_call_output", "c");
    let again = [call.clone(), output.clone(), call.clone(), output.clone()];
    let (items, changes) = normal(&again, &Options::default());
    assert_eq!(items, [call, output.clone(), item("function_call", "c"), output]);
    assert_eq!(changes, [(ChangeKind::IdRemoved, 2)], "its call id was free again");
    let message = json!({"type": "message", "role": "user", "id": "m", "content": "a"});
    let options = Options { remove: vec![0], ..Options::default() };
    let (items, changes) = normal(&[message.clone(), message.clone()], &options);
    assert_eq!(items, [message]);
    assert_eq!(changes, [(ChangeKind::Removed, 0)], "the other is the only one left");
}

#[test]
fn removing_an_item_removes_its_counterpart() {
    for (call, output) in [
        ("function_call", "function_call_output"),
        ("custom_tool_call", "custom_tool_call_output"),
        ("local_shell_call", "function_call_output"),
    ] {
        let given = [item(call, "c"), item(output, "c"), item(call, "d"), item(output, "d")];
        for (index, rest) in [(0, 2..4), (1, 2..4), (2, 0..2), (3, 0..2)] {
            let options = Options { remove: vec![index, 99], ..Options::default() };
            assert_eq!(normal(&given, &options).0, given[rest], "{call} {index}");
        }
    }
}

#[test]
fn images_become_a_sentence_for_a_model_without_vision() {
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AA=="});
    let sentence = "image content omitted because you do not support image input";
    let given = [
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "see"}, image]}),
        item("function_call", "c"),
        json!({"type": "function_call_output", "call_id": "c", "output": [image]}),
        json!({"type": "image_generation_call", "id": "i", "result": "AAAA"}),
    ];
    let (items, changes) = normal(&given, &Options { without_images: true, ..Options::default() });
    assert_eq!(items[0]["content"][1], json!({"type": "input_text", "text": sentence}));
    assert_eq!(items[2]["output"][0]["text"], sentence);
    let empty = json!({"type": "image_generation_call", "id": "i", "result": ""});
    assert_eq!(items[3], empty, "it keeps the rest");
    let mention = json!({"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "what does image_generation_call do?"}, image]});
    let without = Options { without_images: true, ..Options::default() };
    let (mentioned, _) = normal(&[mention, empty.clone()], &without);
    assert_eq!((&mentioned[0]["content"][1]["text"], &mentioned[1]), (&json!(sentence), &empty));
    assert_eq!(changes.len(), 3);
    assert_eq!(normal(&given, &Options::default()).1, [], "kept otherwise");
}

#[test]
fn only_the_newest_output_is_repaired_and_never_an_image_of_the_person() {
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AA=="});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": [image]});
    let repair = Options { repair_image: true, ..Options::default() };
    let pair = [item("function_call", "c"), output];
    let (items, changes) = normal(&pair, &repair);
    assert_eq!(items[1]["output"][0], json!({"type": "input_text", "text": "Invalid image"}));
    assert_eq!(changes, [(ChangeKind::ImagesRepaired, 1)]);
    let shown = json!({"type": "message", "role": "user", "content": [image]});
    for request in [user("what is this?"), shown.clone()] {
        let asked = [pair[0].clone(), pair[1].clone(), request];
        assert_eq!(normal(&asked, &repair).1, []);
    }
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]});
    let reasoning = json!({"type": "reasoning", "encrypted_content": "x"});
    let later = [shown.clone(), pair[0].clone(), pair[1].clone(), said, reasoning];
    let (items, changes) = normal(&later, &repair);
    assert_eq!((&items[0], changes), (&shown, vec![(ChangeKind::ImagesRepaired, 2)]));
}

#[test]
fn valid_items_keep_their_bytes_and_snapshots_are_removed() {
    let odd = r#"{ "type":"message",  "role":"user", "x": 1.00, "content":"A" }"#;
    let ghost = r#"{"type":"ghost_snapshot"}"#;
    let made = normalize(&[odd, ghost, "[]", "{"], &Options::default());
    let items: Vec<&str> = made.items.iter().map(AsRef::as_ref).collect();
    assert_eq!(items, [odd, "[]", "{"]);
    assert_eq!(made.changes[0].kind, ChangeKind::InvisibleRemoved);
}

#[test]
fn request_input_has_only_known_kinds_and_valid_unicode() {
    let items = [
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"half \ud83d"}]}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"caf\u00e9"}]}"#,
        r#"{"type":"ghost_snapshot"}"#,
        r#"{"type":"hologram_call","call_id":"h"}"#,
        r#"{"type":"reasoning","summary":[],"encrypted_content":null}"#,
        r#"{"type":"reasoning","encrypted_content":"sealed"}"#,
        r#"{"type":"function_call","call_id":"c","name":"x","arguments":"{}"}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a \ud83d\ude00 b"}]}"#,
    ];
    let raw: Vec<_> =
        items.iter().map(|item| RawValue::from_string((*item).to_owned()).unwrap()).collect();
    let sent = for_request(&raw, false);
    assert!(sent[0].get().contains('\u{fffd}'), "{}", sent[0].get());
    assert_eq!(sent[1].get(), items[1], "what is legal keeps its bytes");
    assert_eq!(sent[2].get(), items[5]);
    assert_eq!(sent[3].get(), items[6]);
    assert!(sent[4].get().contains("aborted"));
    assert_eq!(sent[5].get(), items[7], "a whole pair is legal");
    assert_eq!(sent.len(), 6);
}
