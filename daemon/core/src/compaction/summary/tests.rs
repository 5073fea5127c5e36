use serde_json::json;

use super::*;
use crate::compaction::Phase;
use crate::compaction::assemble::message;
use crate::compaction::classify::classify;

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
    let split = Split::of(classify(&raw));
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

/// The input of a model that has room for it.
fn sent(body: &[ClassifiedItem<'_>], prompt: &str) -> (Vec<Box<RawValue>>, u64) {
    input(&FittedInput::of(&readable(body), 1_000_000), prompt)
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
fn an_unanswered_request_is_not_summarized_and_comes_last() {
    let mut items = session();
    items.extend([user("third"), user("and fourth")]);
    let raw = raw(&items);
    let split = Split::of(classify(&raw));
    let (sent, _) = sent(&split.body, "PROMPT");
    assert!(sent.iter().all(|item| !item.get().contains("third")));
    assert!(sent.last().unwrap().get().contains("PROMPT"));
    let out = replaced(&items, Phase::PreTurn);
    assert_eq!(words(&out.items), ["first", "second", "SUMMARY", "third", "and fourth"]);
    let out = replaced(&items, Phase::MidTurn);
    assert_eq!(words(&out.items)[2..4], ["SUMMARY", "rules"]);
}

#[test]
fn a_request_is_answered_by_anything_the_model_did_after_it() {
    for answer in [
        message("assistant", "did it"),
        call("c"),
        output("c"),
        json!({"type":"reasoning","encrypted_content":"e"}),
        json!({"type":"compaction","encrypted_content":"e"}),
    ] {
        let raw = raw(&[user("first"), answer.clone(), user("second")]);
        let split = Split::of(classify(&raw));
        let at =
            |items: &[ClassifiedItem<'_>]| items.iter().map(|item| item.at).collect::<Vec<_>>();
        assert_eq!((at(&split.body), at(&split.unanswered)), (vec![0, 1], vec![2]), "{answer}");
    }
}

#[test]
fn only_requests_and_context_leave_nothing_to_summarize() {
    let context = user("<environment_context>\nold");
    for (items, expected) in [
        (vec![], true),
        (vec![context.clone(), user("first"), user("second")], true),
        (vec![context, user("first"), message("assistant", "did it")], false),
        (vec![user("[HANDOFF_SUMMARY v1]\nolder"), user("first")], false),
    ] {
        let raw = raw(&items);
        assert_eq!(Split::of(classify(&raw)).is_empty(), expected, "{items:?}");
    }
}

#[test]
fn a_summary_of_the_words_asked_for_uses_two_thirds_of_its_room() {
    for room in [1_000, 4_000, 40_000] {
        let bytes = super::words(room) * 8 * 85 / 100;
        let percent = crate::tokens::of_bytes(bytes) * 100 / room;
        assert!((60..=72).contains(&percent), "{percent} % of {room}");
    }
}

#[test]
fn instructions_of_a_switched_model_are_restored_once() {
    let mut items = session();
    items.insert(4, message("developer", "<model_switch>\nbe terse"));
    let out = replaced(&items, Phase::PreTurn);
    assert_eq!(words(&out.items), ["first", "second", "SUMMARY", "<model_switch>\nbe terse"]);
    let out = replaced(&items, Phase::MidTurn);
    assert_eq!(words(&out.items)[1], "<model_switch>\nbe terse");
    let raw = raw(&items);
    let (sent, _) = sent(&Split::of(classify(&raw)).body, "P");
    assert!(sent.iter().all(|item| !item.get().contains("model_switch")));
}

#[test]
fn only_a_bundles_instructions_are_restored_unless_the_context_has_them() {
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
    let split = Split::of(classify(&raw));
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
    let split = Split::of(classify(&raw));
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
    let (sent, _) = sent(&Split::of(classify(&raw)).body, "P");
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
fn the_largest_part_that_fits_is_sent_and_omissions_are_reported() {
    let mut items = vec![user("[HANDOFF_SUMMARY v1]\nolder")];
    for n in 0..50 {
        items.extend([call(&format!("c{n}")), output(&format!("c{n}"))]);
    }
    let raw = raw(&items);
    let body = readable(&Split::of(classify(&raw)).body);
    let whole: u64 = body.iter().map(|classified| classified.tokens).sum();
    let pair = body[1].tokens + body[2].tokens;
    for percent in [100, 97, 60, 30] {
        let most = whole * percent / 100;
        let fitted = FittedInput::of(&body, most);
        assert!(fitted.tokens() <= most && fitted.tokens() + 2 * pair > most, "{percent} %");
        let open: Vec<_> =
            fitted.body.iter().filter_map(|classified| classified.call_id.clone()).collect();
        assert!(open.chunks(2).all(|ids| ids[0] == ids[1]), "pairs stay whole");
        assert_eq!(fitted.body[0].class, Class::Summary);
        let gone = fitted.left_out.len();
        assert_eq!(gone + fitted.body.len(), body.len(), "{percent} %");
        assert_eq!(fitted.left_out, (1..=gone).collect::<Vec<_>>(), "the oldest go");
        assert_eq!(fitted.left_out_tokens + fitted.tokens(), whole);
        assert_eq!(fitted.is_whole(), percent == 100);
    }
}

#[test]
fn a_reused_id_belongs_to_the_next_output() {
    let items: Vec<Value> = (0..20).flat_map(|_| [call("c0"), output("c0")]).collect();
    let mut items = [items, vec![user("on"), message("assistant", "done")]].concat();
    items.insert(0, user("go"));
    let raw = raw(&items);
    let body = readable(&Split::of(classify(&raw)).body);
    let whole: u64 = body.iter().map(|classified| classified.tokens).sum();
    let fitted = FittedInput::of(&body, whole * 3 / 4);
    assert!((8..15).contains(&fitted.left_out.len()), "{:?}", fitted.left_out);
}

#[test]
fn one_huge_output_is_cut_in_its_middle_and_leaves_room_for_the_rest() {
    let mut items = session();
    let huge = format!("begins {}ends", "word ".repeat(100_000));
    items.push(call("huge"));
    items.push(json!({"type":"function_call_output","call_id":"huge","output":huge}));
    let raw = raw(&items);
    let body = readable(&Split::of(classify(&raw)).body);
    for most in [20_000, 10_000] {
        let fitted = FittedInput::of(&body, most);
        assert_eq!(fitted.body.len(), body.len(), "nothing had to go");
        assert_eq!(fitted.cut, [8], "and what is cut is reported");
        assert!(!fitted.is_whole());
        let (sent, _) = input(&fitted, "P");
        let item: Value = serde_json::from_str(sent[sent.len() - 2].get()).unwrap();
        let output = item["output"].as_str().unwrap();
        assert!(output.starts_with("begins") && output.ends_with("ends"), "both ends are there");
        assert!(output.len() as u64 <= most + 100, "{}", output.len());
    }
}

#[test]
fn the_parts_of_a_huge_request_are_cut_to_share_its_room() {
    let part = |text: String| json!({"type": "input_text", "text": text});
    let parts = [part("a".repeat(6_000)), part(format!("begins {} ends", "b".repeat(60_000)))];
    let items =
        [json!({"type": "message", "role": "user", "content": parts}), call("c"), output("c")];
    let raw = raw(&items);
    let fitted = FittedInput::of(&readable(&Split::of(classify(&raw)).body), 8_000);
    assert_eq!(fitted.cut, [0]);
    let (sent, _) = input(&fitted, "P");
    let item: Value = serde_json::from_str(sent[0].get()).unwrap();
    let text = |at: usize| item["content"][at]["text"].as_str().unwrap();
    assert_eq!(text(0), "a".repeat(6_000), "it fits");
    assert!(text(1).starts_with("begins b") && text(1).ends_with("b ends"));
    assert_eq!(text(0).len() + text(1).len(), 8_000, "a quarter of 8,000 tokens");
}

#[test]
fn the_arguments_of_a_call_are_never_cut() {
    let arguments = json!({ "patch": "x".repeat(40_000) }).to_string();
    let huge = json!({"type":"function_call","name":"patch","arguments":arguments,"call_id":"c"});
    let items = [user("go"), huge, output("c"), message("assistant", "done")];
    let raw = raw(&items);
    let fitted = FittedInput::of(&classify(&raw), 2_000);
    assert_eq!((fitted.left_out, fitted.cut), (vec![0, 1, 2], vec![]));
}

#[test]
fn an_item_of_exactly_a_quarter_of_the_room_is_not_cut() {
    let items: Vec<Value> = (0..6).map(|_| user(&"x".repeat(400))).collect();
    let raw = raw(&items);
    let body = classify(&raw);
    let fitted = FittedInput::of(&body, body[0].tokens * 4);
    assert_eq!((fitted.left_out, fitted.cut), (vec![0, 1], vec![]));
}

#[test]
fn items_that_are_not_sent_use_no_budget() {
    let mut items = session();
    items.push(json!({"type":"reasoning","encrypted_content":"e".repeat(20_000)}));
    let raw = raw(&items);
    let body = readable(&Split::of(classify(&raw)).body);
    let fitted = FittedInput::of(&body, body.iter().map(|classified| classified.tokens).sum());
    assert!(fitted.is_whole() && fitted.body.len() == 5, "{fitted:?}");
}

#[test]
fn text_that_is_not_a_summary_is_rejected() {
    let known = ["Change the parser in src/app.rs so that retries are counted", "src/lexer.rs"];
    let good = "The parser in src/app.rs was changed; tests pass. Next: retry the build.";
    let prompt = "Stop working on the task.\nWrite down what the next one needs.";
    let no = "I’m sorry, but I can't help with that.";
    let cost = crate::tokens::of_text(good);
    for (summary, before, expected) in [
        (good, 1_000, Ok(())),
        (good, cost * 2, Ok(())),
        (good, cost * 2 - 1, Err(Refusal::Inflated)),
        ("", 1_000, Err(Refusal::Blank)),
        (" \n… --- ", 1_000, Err(Refusal::Blank)),
        (prompt, 1_000, Err(Refusal::Blank)),
        ("… Nineteen letters here", 1_000, Err(Refusal::Blank)),
        ("… Twenty letters exactly", 1_000, Ok(())),
        (no, 1_000, Err(Refusal::Refused)),
        ("Stop working on the task.\nThe parser counts its retries now.", 1_000, Ok(())),
        (good, 30, Err(Refusal::Inflated)),
    ] {
        assert_eq!(refuse(summary, prompt, &known, before), expected, "{summary}");
    }
    let sorry = "Désolé for the noise: the parser of src/app.rs counts retries, and tests pass.";
    assert_eq!(refuse(sorry, prompt, &known, 1_000), Ok(()), "it is about the work");
    let elsewhere = "Hello! How may I serve you today, dear stranger from afar?";
    assert_eq!(refuse(elsewhere, prompt, &known, 1_000), Ok(()), "a doubt discards nothing");
    assert!(is_doubtful(elsewhere, &known) && !is_doubtful(good, &known));
    assert!(!is_doubtful(elsewhere, &["Do it."]), "too little is known");
}

#[test]
fn a_summary_that_shares_one_term_in_twenty_is_not_doubtful() {
    let terms = |stem: &str, count: usize| {
        ('a'..='z').take(count).map(|letter| format!("{stem}{letter} ")).collect::<String>()
    };
    let known = terms("know", 26);
    for (count, shared, expected) in
        [(20, 0, true), (20, 1, false), (21, 1, true), (21, 2, false), (1, 0, true)]
    {
        let summary = terms("know", shared) + &terms("summ", count - shared);
        assert_eq!(is_doubtful(&summary, &[&known]), expected, "{shared} of {count} terms");
    }
}

#[test]
fn secrets_are_redacted_and_other_items_pass_unchanged() {
    let odd =
        r#"{"type": "message","role":"user","content":[{"type":"input_text","text":"caf\u00e9"}]}"#;
    let secret = user("use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD please");
    let mut items = raw(&[secret, call("c"), output("c")]);
    items.insert(0, RawValue::from_string(odd.to_owned()).unwrap());
    let (sent, redacted) = sent(&Split::of(classify(&items)).body, "P");
    assert_eq!(sent[0].get(), odd);
    assert_eq!(redacted, 1);
    assert!(!sent[1].get().contains("abcdefghijkl"));
    let values: Vec<Value> =
        items.iter().map(|item| serde_json::from_str(item.get()).unwrap()).collect();
    let out = replaced(&values, Phase::Standalone);
    assert_eq!((out.redacted, out.kept, out.shortened), (1, vec![0], vec![1]));
}
