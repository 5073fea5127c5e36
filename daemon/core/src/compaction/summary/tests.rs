use serde_json::json;

use super::*;
use crate::compaction::Phase;
use crate::compaction::assemble::message;
use crate::compaction::classify::tell;

fn raw(items: &[Value]) -> Vec<Box<RawValue>> {
    items.iter().map(|item| serde_json::value::to_raw_value(item).unwrap()).collect()
}

fn user(text: &str) -> Value {
    message("user", text)
}

fn call(id: &str) -> Value {
    json!({"type":"function_call","name":"exec","arguments":"{}","call_id":id})
}

fn output(id: &str) -> Value {
    json!({"type":"function_call_output","call_id":id,"output":"x".repeat(400)})
}

fn words(items: &[Value]) -> Vec<String> {
    let text =
        |item: &Value| item.pointer("/content/0/text").and_then(Value::as_str).map(str::to_owned);
    items.iter().map(|item| text(item).unwrap_or_else(|| item["type"].to_string())).collect()
}

fn replaced(items: &[Value], phase: Phase) -> SummaryReplacement {
    let raw = raw(items);
    let split = Split::of(tell(&raw));
    let context =
        [message("developer", "rules"), user("<environment_context>\n</environment_context>")];
    replacement(Layout {
        split: &split,
        summary: "SUMMARY",
        initial_context: &context,
        phase,
        user_tokens: USER_TOKENS_MAX,
    })
}

/// What is sent to a model with room for it.
fn sent(body: &[ClassifiedItem<'_>], prompt: &str) -> (Vec<Box<RawValue>>, u64) {
    let mut body = body.to_vec();
    let shed = InputTrim::to_fit(&mut body, 1_000_000);
    input(&body, prompt, &shed)
}

fn session() -> Vec<Value> {
    vec![
        message("developer", "<permissions instructions>old"),
        user("<environment_context>\nold"),
        user("first"),
        message("assistant", "did the first"),
        user("second"),
        call("c1"),
        output("c1"),
    ]
}

#[test]
fn manual_keeps_requests_then_the_summary_and_no_old_context() {
    let out = replaced(&session(), Phase::Standalone);
    assert_eq!(words(&out.items), ["first", "second", "SUMMARY"]);
    assert_eq!((out.kept, out.shortened), (vec![2, 4], vec![]), "places of the requests");
}

#[test]
fn mid_turn_puts_fresh_context_before_the_last_request_and_the_summary_last() {
    let out = replaced(&session(), Phase::MidTurn);
    let expected =
        ["first", "rules", "<environment_context>\n</environment_context>", "second", "SUMMARY"];
    assert_eq!(words(&out.items), expected);
}

#[test]
fn a_request_nobody_answered_is_not_summarised_and_stands_last() {
    let mut items = session();
    items.extend([user("third"), user("and fourth")]);
    let raw = raw(&items);
    let split = Split::of(tell(&raw));
    let (sent, _) = sent(&split.body, "PROMPT");
    assert!(sent.iter().all(|item| !item.get().contains("third")));
    assert!(sent.last().unwrap().get().contains("PROMPT"));
    let out = replaced(&items, Phase::PreTurn);
    assert_eq!(words(&out.items), ["first", "second", "SUMMARY", "third", "and fourth"]);
    let out = replaced(&items, Phase::MidTurn);
    assert_eq!(words(&out.items)[2..4], ["SUMMARY", "rules"]);
}

#[test]
fn instructions_of_a_switched_model_are_kept_aside_and_put_back_once() {
    let mut items = session();
    items.insert(4, message("developer", "<model_switch>\nbe terse"));
    let out = replaced(&items, Phase::PreTurn);
    assert_eq!(words(&out.items), ["first", "second", "SUMMARY", "<model_switch>\nbe terse"]);
    let out = replaced(&items, Phase::MidTurn);
    assert_eq!(words(&out.items)[1], "<model_switch>\nbe terse");
    let raw = raw(&items);
    let (sent, _) = sent(&Split::of(tell(&raw)).body, "P");
    assert!(sent.iter().all(|item| !item.get().contains("model_switch")));
}

#[test]
fn only_the_instructions_of_a_bundle_are_put_back_and_none_where_the_context_brings_them() {
    let bundle = |words: &str| {
        json!({"type":"message","role":"developer","content":[
            {"type":"input_text","text":words},
            {"type":"input_text","text":"<permissions instructions>old"}]})
    };
    let mut items = session();
    items.insert(4, bundle("<model_switch>\nbe terse"));
    let out = replaced(&items, Phase::PreTurn);
    let parts = out.items[3]["content"].as_array().unwrap();
    assert_eq!(parts.len(), 1, "old permissions are rebuilt by the harness: {parts:?}");
    assert!(parts[0]["text"].as_str().unwrap().starts_with("<model_switch>"));
    let raw = raw(&items);
    let split = Split::of(tell(&raw));
    let layout = Layout {
        split: &split,
        summary: "SUMMARY",
        initial_context: &[bundle("<model_switch>\nbe brief")],
        phase: Phase::MidTurn,
        user_tokens: USER_TOKENS_MAX,
    };
    let fresh = words(&replacement(layout).items);
    assert_eq!(fresh, ["first", "<model_switch>\nbe brief", "second", "SUMMARY"]);
}

#[test]
fn an_earlier_summary_is_sent_but_not_kept_as_a_request() {
    let mut items = vec![user("[HANDOFF_SUMMARY v1]\nolder things")];
    items.extend(session());
    let raw = raw(&items);
    let split = Split::of(tell(&raw));
    assert!(sent(&split.body, "P").0[0].get().contains("older things"));
    assert_eq!(words(&replaced(&items, Phase::Standalone).items), ["first", "second", "SUMMARY"]);
}

#[test]
fn ghost_snapshots_are_kept_and_reasoning_is_not_sent() {
    let mut items = session();
    items.push(json!({"type":"ghost_snapshot","ghost_commit":{"id":"abc"}}));
    items.push(json!({"type":"reasoning","encrypted_content":"e".repeat(2_000)}));
    let out = replaced(&items, Phase::Standalone);
    assert_eq!(out.items.last().unwrap()["ghost_commit"]["id"], "abc");
    let raw = raw(&items);
    let (sent, _) = sent(&Split::of(tell(&raw)).body, "P");
    assert!(sent.iter().all(|item| !item.get().contains("reasoning")));
}

#[test]
fn requests_are_kept_newest_first_within_their_bound_and_one_is_cut() {
    let long = "word ".repeat(8_000);
    let items = [user("oldest"), user(&long), user(&long), user("newest"), call("c"), output("c")];
    let out = replaced(&items, Phase::Standalone);
    assert_eq!(out.items.len(), 4, "two long, the newest, the summary");
    assert_eq!((out.kept, out.shortened), (vec![2, 3], vec![1]));
    let first = words(&out.items)[0].clone();
    assert!(first.contains("bytes cut") && first.len() <= 40_010, "{}", first.len());
}

#[test]
fn an_image_counts_and_stays_with_its_request() {
    let image = json!({"type":"message","role":"user","content":[
        {"type":"input_image","image_url":format!("data:image/png;base64,{}", "A".repeat(90_000))}]});
    let out = replaced(&[image.clone(), call("c"), output("c")], Phase::Standalone);
    assert_eq!(out.items[0]["content"], image["content"]);
}

#[test]
fn an_overflow_drops_the_oldest_with_its_pair_and_never_an_earlier_summary() {
    let mut items = vec![user("[HANDOFF_SUMMARY v1]\nolder")];
    for n in 0..50 {
        items.extend([call(&format!("c{n}")), output(&format!("c{n}"))]);
    }
    let raw = raw(&items);
    let mut body = Split::of(tell(&raw)).body;
    let whole: u64 = body.iter().map(|told| told.tokens).sum();
    let mut shed = InputTrim::to_fit(&mut body, 1_000_000);
    let mut sizes = Vec::new();
    while shed.step(&mut body) {
        sizes.push(body.iter().map(|told| told.tokens).sum::<u64>() * 100 / whole);
        let open: Vec<_> = body.iter().filter_map(|told| told.call_id.clone()).collect();
        assert!(open.chunks(2).all(|pair| pair[0] == pair[1]), "pairs stay whole");
        assert_eq!(body[0].class, Class::Summary);
    }
    assert_eq!(sizes[..3], [88, 66, 24], "a tenth, two tenths, four tenths, by whole pairs");
    assert!(sizes.len() <= TRIM_STEPS_MAX as usize);
    let mut body = Split::of(tell(&raw)).body;
    let shed = InputTrim::to_fit(&mut body, whole / 3);
    assert!(shed.weigh(&body) <= whole / 3);
}

#[test]
fn one_huge_output_is_cut_in_its_middle_and_leaves_room_for_the_rest() {
    let mut items = session();
    let huge = format!("begins {}ends", "word ".repeat(100_000));
    items.push(call("huge"));
    items.push(json!({"type":"function_call_output","call_id":"huge","output":huge}));
    let raw = raw(&items);
    let mut body = Split::of(tell(&raw)).body;
    let whole = body.len();
    let mut shed = InputTrim::to_fit(&mut body, 20_000);
    assert_eq!(body.len(), whole, "nothing had to go");
    let last = |shed: &InputTrim, body: &[ClassifiedItem<'_>]| {
        let (sent, _) = input(body, "P", shed);
        let item: Value = serde_json::from_str(sent[sent.len() - 2].get()).unwrap();
        assert_eq!(item["call_id"], "huge");
        item["output"].as_str().unwrap().to_owned()
    };
    let output = last(&shed, &body);
    assert!(output.starts_with("begins") && output.ends_with("ends"), "both ends are there");
    assert!(output.len() <= 20_100, "{}", output.len());
    assert!(shed.step(&mut body), "a window that is smaller than was said");
    assert!(last(&shed, &body).len() <= 10_100);
}

#[test]
fn what_no_model_is_sent_is_no_weight_to_shed() {
    let mut items = session();
    items.push(json!({"type":"reasoning","encrypted_content":"e".repeat(20_000)}));
    let raw = raw(&items);
    let mut body = Split::of(tell(&raw)).body;
    body.retain(is_sent);
    let (sent, _) = sent(&body, "P");
    assert_eq!(sent.len(), body.len() + 1, "all of it, and the prompt");
}

#[test]
fn words_that_are_no_summary_are_refused() {
    let names = ["src/app.rs", "Parser", "retry", "lexer.rs"].map(str::to_owned);
    let good = "The parser in src/app.rs was changed; tests pass. Next: retry the build.";
    let prompt = "Stop working.\nWrite it down.";
    for (summary, before, expected) in [
        (good, 1_000, Ok(())),
        ("", 1_000, Err(Refusal::Blank)),
        (" \n… --- ", 1_000, Err(Refusal::Blank)),
        ("I am a helpful assistant, how may I serve you today?", 1_000, Err(Refusal::Foreign)),
        ("Stop working. src/app.rs was changed and the tests pass.", 1_000, Err(Refusal::Foreign)),
        (good, 30, Err(Refusal::Inflated)),
    ] {
        assert_eq!(refuse(summary, prompt, &names, before), expected, "{summary}");
    }
    assert_eq!(refuse("Bonjour, tout va bien ici.", prompt, &names[..2], 1_000), Ok(()));
}

#[test]
fn secrets_are_taken_out_of_what_is_sent_and_the_rest_passes_byte_for_byte() {
    let odd =
        r#"{"type": "message","role":"user","content":[{"type":"input_text","text":"caf\u00e9"}]}"#;
    let secret = user("use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD please");
    let mut items = raw(&[secret, call("c"), output("c")]);
    items.insert(0, RawValue::from_string(odd.to_owned()).unwrap());
    let (sent, redacted) = sent(&Split::of(tell(&items)).body, "P");
    assert_eq!(sent[0].get(), odd);
    assert_eq!(redacted, 1);
    assert!(!sent[1].get().contains("abcdefghijkl"));
}
