//! Behaviours that Codex's own tests pin (`facts/codex-compaction.md` §9, local and remote), pinned here.
//!
//! # Local
//! | pinned | here |
//! |---|---|
//! | manual: history and prompt, no tools; then requests, prefixed summary | [`manual_asks_with_the_history_and_the_prompt_and_no_tools`] |
//! | a custom prompt replaces the default | `templates::a_call_brings_its_own_texts_…` |
//! | an empty thread still sends one request | not so here: [`an_empty_thread_asks_nobody`], nothing is paid for nothing |
//! | usage from the answer, then the local estimate | [`usage_is_the_providers_and_a_threads_own_numbers_stay_as_they_are`] |
//! | started and completed share an id; `context_compacted` too | [`a_compactions_events_share_its_id`], [`an_agents_own_compaction_is_told_when_it_happens_and_not_of_long_ago`] |
//! | fires at the limit, several times in one task | [`the_limit_is_reached_again_in_the_same_turn`] |
//! | fires on the first turn after resume by recorded usage | [`recorded_usage_over_the_limit_counts_on_the_first_turn`] |
//! | a limit above the window is clamped | [`a_limit_that_cannot_be_reached_gives_way_to_the_default`] |
//! | encrypted reasoning counts | `core::context::estimate`, `core::fold::meter` tests |
//! | a smaller model: the previous one compacts; not when equal or larger | [`before_a_smaller_model_the_previous_one_compacts`] |
//! | pre-turn leaves out the incoming message and the model switch; both come after | [`pre_turn_leaves_out_what_nobody_answered_and_puts_it_after`], [`the_checkpoint_keeps_the_model_switch_too_of_a_thread_and_of_given_items`] |
//! | mid-turn: call and output are in the request; context, user, summary last | [`mid_turn_sends_call_and_output_and_ends_on_the_summary`] |
//! | overflow drops the oldest with its counterpart | `ladder::an_overflow_…`, `core::compaction::summary` tests |
//! | other errors: retried, then one error, history unchanged | `failures` (the history is unchanged in any case: we hold a copy of nothing) |
//! | two manual compactions keep all requests and the newest summary alone | [`two_compactions_keep_all_requests_and_the_newest_summary`] |
//! | an overlong message is cut in its middle | `core::compaction::summary` tests |
//! | empty parts, image-only messages, contextual messages | [`what_the_person_did_not_say_is_no_request`] |
//! | the rollout after holds `compacted` with the summary | `continuation` tests: we never write into the thread's own |
//! | hooks before and after | `longhaul hook` (the tests of the command line): ours never block |
//!
//! # Remote
//! | pinned | here |
//! |---|---|
//! | the output replaces the history | `ladder::a_providers_own_compaction_…` |
//! | auth and headers as of any request; no tools | [`remote_requests_carry_the_key_and_headers`]; cache key and tier are the harness's |
//! | trimming until it fits, requests untouched | `core::compaction::remote::tests::trimming_…` (outputs are replaced in place, so pairs stay) |
//! | a failure ends the turn | not so here: the next rung is taken (`failures`) |
//! | the replacement is persisted | [`a_replacement_is_in_the_log_as_it_was_answered`] |
//! | context before the last request, else the summary, else the compaction item; older items are sent | `core::compaction::remote::tests::mid_turn_context_…`, [`an_older_compaction_item_is_sent_again`] |
//! | harness context dropped, summaries kept, model switch back | `core::compaction::remote::tests::a_unary_answer_…`, [`remote_keeps_the_model_switch_aside`] |
//! | realtime restated | the harness's own context: it is rebuilt by the harness |
//! | exactly one compaction item | `failures::an_answer_without_exactly_one_compaction_item` |
//! | Azure counts as able | the person says which provider is: `remote_compaction` |

use serde_json::{Value, json};

use crate::ladder::{SUMMARY, THREAD, daemon, ladder, run, words};
use crate::provider::{Answer, Provider};
use crate::rollout::Rollout;
use crate::support::{Client, Daemon, soon};

fn says(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}

/// A call with its output: `size` letters.
fn ran(id: &str, size: usize) -> [Value; 2] {
    [
        json!({ "type": "function_call", "name": "exec", "call_id": id,
            "arguments": "{\"cmd\":\"cat src/fetch.rs\"}" }),
        json!({ "type": "function_call_output", "call_id": id, "output": "x".repeat(size) }),
    ]
}

fn sent(provider: &Provider) -> Vec<Value> {
    provider.requests().pop().unwrap().1["input"].as_array().unwrap().clone()
}

fn texts(items: &[Value]) -> Vec<String> {
    let text = |item: &Value| match item["content"][0]["text"].as_str() {
        Some(text) => text.chars().take(24).collect(),
        None => item["type"].as_str().unwrap_or("").to_owned(),
    };
    items.iter().map(text).collect()
}

async fn compacted(client: &mut Client, items: &[Value], more: Value) -> Value {
    let mut params = json!({ "items": items, "strategy": "summary" });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = soon("a compaction", client.call("compaction/run", params)).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

#[tokio::test]
async fn manual_asks_with_the_history_and_the_prompt_and_no_tools() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let result = run(&mut client, json!({ "strategy": "summary" })).await;
    let body = provider.requests()[0].1.clone();
    assert_eq!((&body["tools"], &body["tool_choice"]), (&Value::Null, &Value::Null));
    let input = sent(&provider);
    assert_eq!(texts(&input)[0], "Make the fetcher retry.\n");
    assert_eq!(input.last().unwrap()["role"], "user");
    assert!(texts(&input).last().unwrap().starts_with("Stop working on the task"));
    let history = words(&result);
    assert_eq!(history.len(), 2, "the request and the summary: the agent's words are gone");
    assert!(history[1].starts_with("[HANDOFF_SUMMARY v1]") && history[1].ends_with(SUMMARY));
}

#[tokio::test]
async fn an_empty_thread_asks_nobody() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let result = compacted(&mut client, &[says("user", "Do it.")], json!({})).await;
    assert_eq!(ladder(&result), ["summary failed nothing_to_summarise", "checkpoint used"]);
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn usage_is_the_providers_and_a_threads_own_numbers_stay_as_they_are() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let before = client.call("context/usage", json!({ "thread_id": THREAD })).await;
    let result = run(&mut client, json!({ "strategy": "summary" })).await;
    assert_eq!(result["cost"], json!({ "requests": 1, "tokens": 110 }), "as the provider says");
    let after = client.call("context/usage", json!({ "thread_id": THREAD })).await;
    assert_eq!(before["result"]["used"], after["result"]["used"]);
    let thread = client.call("thread/get", json!({ "thread_id": THREAD })).await;
    assert_eq!(thread["result"]["thread"]["compactions"], 0);
    let list = client.call("compaction/list", json!({ "thread_id": THREAD })).await;
    let row = &list["result"]["compactions"][0];
    assert_eq!(
        (&row["strategy_used"], &row["reason"]),
        (&json!("summary"), &json!("user_requested"))
    );
    assert_eq!(row["cost"], result["cost"]);
    let status = client.call("daemon/status", json!({})).await;
    assert!(status["result"]["model"].to_string().contains("110"), "{}", status["result"]["model"]);
}

#[tokio::test]
async fn a_compactions_events_share_its_id() {
    let provider = Provider::start(vec![Answer::says(&format!("{SUMMARY} ").repeat(12))]).await;
    let (daemon, mut client) = daemon(&provider, "").await;
    let items =
        client.call("history/get", json!({ "thread_id": THREAD })).await["result"]["items"].take();
    let mut given = items.as_array().unwrap().clone();
    let once = compacted(&mut client, &given, json!({ "strategy": "hybrid" })).await;
    given.splice(0..0, once["history"].as_array().unwrap().clone());
    let mut listener = daemon.connect().await;
    listener.call("event/subscribe", json!({})).await;
    let result = compacted(&mut client, &given, json!({ "strategy": "hybrid" })).await;
    let mut heard: Vec<(String, Value)> = Vec::new();
    while heard.last().is_none_or(|(kind, _)| kind != "context_compacted") {
        let event = soon("an event", listener.hear()).await.unwrap()["params"]["result"].take();
        let kind = event["kind"].as_str().unwrap();
        if kind.starts_with("co") {
            heard.push((kind.to_owned(), event["data"].clone()));
        }
    }
    assert!(
        heard.iter().all(|(_, data)| data["compaction_id"] == result["compaction_id"]),
        "{heard:?}"
    );
    let kinds: Vec<&str> = heard.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds[0], "compaction_started");
    assert_eq!(kinds[kinds.len() - 2..], ["compaction_completed", "context_compacted"]);
    let stages: Vec<&str> = heard.iter().filter_map(|(_, data)| data["stage"].as_str()).collect();
    assert_eq!(stages[..2], ["reading", "asking"]);
    assert_eq!(stages.last(), Some(&"checking"));
    let percents: Vec<u64> =
        heard.iter().filter_map(|(_, data)| data["percent"].as_u64()).collect();
    assert!(percents.is_sorted() && percents.iter().all(|percent| *percent < 100), "{percents:?}");
    let warning = heard.iter().find(|(kind, _)| kind == "compaction_warning").unwrap();
    assert_eq!(warning.1["warning"], "accuracy", "it was summarised before: {heard:?}");
}

#[tokio::test]
async fn an_agents_own_compaction_is_told_when_it_happens_and_not_of_long_ago() {
    let daemon = Daemon::start().await;
    let (mut client, mut listener) = (daemon.connect().await, daemon.connect().await);
    let kinds = json!(["context_compacted"]);
    let begun = listener.call("event/subscribe", json!({ "kinds": kinds })).await;
    let mut rollout = Rollout::new(THREAD, daemon.home.path());
    let compacted = json!({ "message": "", "replacement_history": [says("user", "Do it.")] });
    rollout.message("user", "Do it.").message("assistant", "Done.").line("compacted", &compacted);
    let path = rollout.write(daemon.home.path());
    client.call("thread/sync", json!({ "path": path })).await;
    let seq = rollout.seq();
    rollout.message("user", "More.").message("assistant", "Done.").line("compacted", &compacted);
    rollout.append(&path, seq);
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let event = soon("the event", listener.hear()).await.unwrap()["params"]["result"].take();
    assert_eq!(event["kind"], "context_compacted", "{event}");
    let after = event["data"]["tokens"]["after"].as_u64().unwrap();
    assert_eq!(event["data"], json!({ "thread_id": THREAD, "tokens": { "after": after } }));
    let all = json!({ "kinds": kinds, "since_seq": begun["result"]["seq"] });
    let mut late = daemon.connect().await;
    late.call("event/subscribe", all).await;
    let first = soon("the event", late.hear()).await.unwrap()["params"]["result"].take();
    assert_eq!(first["seq"], event["seq"], "what was in the file when it was found is history");
}

#[tokio::test]
async fn the_limit_is_reached_again_in_the_same_turn() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mut history = vec![says("user", "Make src/fetch.rs retry.")];
    for round in 0..3 {
        history.extend(ran(&format!("c{round}"), 40_000));
        let params = json!({ "items": history, "phase": "mid_turn", "context_window": 10_000 });
        let should = client.call("compaction/should", params).await["result"].take();
        assert_eq!(
            (&should["compact"], &should["reason"]),
            (&json!(true), &json!("context_limit"))
        );
        let made = compacted(&mut client, &history, json!({ "phase": "mid_turn" })).await;
        history = made["history"].as_array().unwrap().clone();
        let params = json!({ "items": history, "phase": "mid_turn", "context_window": 10_000 });
        let should = client.call("compaction/should", params).await["result"].take();
        assert_eq!(should["compact"], false, "round {round}: {should}");
    }
}

#[tokio::test]
async fn recorded_usage_over_the_limit_counts_on_the_first_turn() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Do it.").message("assistant", "Done.");
    let used = json!({ "input_tokens": 95_000, "total_tokens": 95_500 });
    let info = json!({ "total_token_usage": used, "last_token_usage": used,
        "model_context_window": 95_000 });
    rollout.line("event_msg", &json!({ "type": "token_count", "info": info }));
    rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let should = client.call("compaction/should", json!({ "thread_id": THREAD })).await;
    assert_eq!(should["result"]["compact"], true, "{should}");
}

#[tokio::test]
async fn a_limit_that_cannot_be_reached_gives_way_to_the_default() {
    let provider = Provider::start(vec![Answer::Hang]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let history = [says("user", &"x".repeat(3_600))];
    for (limit, expected) in [(json!(2_000), true), (json!(940), false), (json!(0), false)] {
        let params = json!({ "items": history, "context_window": 1_000, "auto_compact_limit": limit,
            "phase": "mid_turn" });
        let should = client.call("compaction/should", params).await["result"].take();
        assert_eq!(should["compact"], expected, "limit {limit}: {should}");
    }
}

#[tokio::test]
async fn before_a_smaller_model_the_previous_one_compacts() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mut history = vec![says("user", "Make src/fetch.rs retry.")];
    history.extend(ran("c", 40_000));
    for (now, before, expected, asked) in [
        (10_000, 100_000, "model_downshift", "old"),
        (10_000, 10_000, "context_limit", "new"),
        (100_000, 100_000, "under_limit", "new"),
        (200_000, 100_000, "under_limit", "new"),
    ] {
        let params = json!({ "items": history, "phase": "pre_turn", "model": "new",
            "context_window": now, "previous_model": "old", "previous_context_window": before });
        let should = client.call("compaction/should", params).await["result"].take();
        assert_eq!((&should["reason"], &should["model"]), (&json!(expected), &json!(asked)));
    }
    let more = json!({ "model": { "name": "old", "provider": "p", "context_window": 100_000 },
        "reason": "model_downshift", "trigger": "auto", "phase": "pre_turn" });
    let made = compacted(&mut client, &history, more).await;
    assert_eq!(provider.requests()[0].1["model"], "old", "the larger one is asked");
    let get =
        client.call("compaction/get", json!({ "compaction_id": made["compaction_id"] })).await;
    assert_eq!(get["result"]["summary"]["reason"], "model_downshift");
}

#[tokio::test]
async fn pre_turn_leaves_out_what_nobody_answered_and_puts_it_after() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mut history = vec![says("user", "Make src/fetch.rs retry.")];
    history.extend(ran("c", 8_000));
    history.push(says("developer", "<model_switch>\nbe terse"));
    history.push(says("user", "Now document it."));
    let made = compacted(&mut client, &history, json!({ "phase": "pre_turn" })).await;
    let input = Value::from(sent(&provider)).to_string();
    assert!(!input.contains("Now document it.") && !input.contains("model_switch"), "{input}");
    let history = words(&made);
    assert_eq!(history[0], "Make src/fetch.rs retry.");
    assert!(history[1].starts_with("[HANDOFF_SUMMARY v1]"));
    assert_eq!(history[2..], ["<model_switch>\nbe terse", "Now document it."]);
}

#[tokio::test]
async fn the_checkpoint_keeps_the_model_switch_too_of_a_thread_and_of_given_items() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Make src/fetch.rs retry.");
    rollout.command("cargo test", 0, &"running\n".repeat(500));
    rollout.message("developer", "<model_switch>\nbe terse");
    rollout.message("user", "Now document it.");
    rollout.command("cargo doc", 0, "documenting\n");
    rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let whole = client.call("history/get", json!({ "thread_id": THREAD })).await["result"].take();
    for subject in [json!({ "thread_id": THREAD }), json!({ "items": whole["items"] })] {
        for (phase, fresh) in [("pre_turn", 0), ("mid_turn", 1)] {
            let mut params = subject.clone();
            params["phase"] = json!(phase);
            params["initial_context"] = json!([says("developer", "<permissions instructions>new")]);
            let made = client.call("compaction/run", params).await["result"].take();
            let words = words(&made);
            assert!(words[0].contains("[SESSION_CHECKPOINT v1]"), "{words:?}");
            assert_eq!(words[1], "<model_switch>\nbe terse", "{phase}");
            assert_eq!(words.len(), 3 + fresh, "{words:?}");
            assert_eq!(words.last().unwrap(), "Now document it.");
            let kept = made["receipt"]["kept"].as_array().unwrap();
            assert_eq!(kept.len(), 2, "the switch and the request: {kept:?}");
        }
    }
}

#[tokio::test]
async fn mid_turn_sends_call_and_output_and_ends_on_the_summary() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mut history = vec![
        says("developer", "<permissions instructions>old"),
        says("user", "Make src/fetch.rs retry."),
    ];
    history.extend(ran("c", 8_000));
    let fresh = [
        says("developer", "<permissions instructions>new"),
        says("user", "<environment_context>\nnew"),
    ];
    let more = json!({ "phase": "mid_turn", "initial_context": fresh });
    let made = compacted(&mut client, &history, more).await;
    let kinds = texts(&sent(&provider));
    assert_eq!(kinds[..3], ["Make src/fetch.rs retry.", "function_call", "function_call_output"]);
    let history = words(&made);
    assert_eq!(
        history[..3],
        ["<permissions instructions>new", "<environment_context>\nnew", "Make src/fetch.rs retry."]
    );
    assert!(history[3].starts_with("[HANDOFF_SUMMARY v1]") && history.len() == 4, "{history:?}");
}

#[tokio::test]
async fn two_compactions_keep_all_requests_and_the_newest_summary() {
    let second = format!("{SUMMARY} And it is documented now.");
    let provider = Provider::start(vec![Answer::says(SUMMARY), Answer::says(&second)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let mut history = vec![says("user", "Make src/fetch.rs retry.")];
    history.extend(ran("a", 8_000));
    let made = compacted(&mut client, &history, json!({})).await;
    let mut history = made["history"].as_array().unwrap().clone();
    history.push(says("user", "Now document it."));
    history.extend(ran("b", 8_000));
    let made = compacted(&mut client, &history, json!({})).await;
    assert!(Value::from(sent(&provider)).to_string().contains(SUMMARY), "it is merged, not lost");
    let history = words(&made);
    assert_eq!(history[..2], ["Make src/fetch.rs retry.", "Now document it."]);
    assert!(history[2].ends_with(&second) && history.len() == 3, "{history:?}");
}

#[tokio::test]
async fn what_the_person_did_not_say_is_no_request() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let image = json!({ "type": "message", "role": "user", "content": [
        { "type": "input_image", "image_url": "data:image/png;base64,AAAA" }] });
    let parts = json!({ "type": "message", "role": "user", "content": [
        { "type": "input_text", "text": "" }, { "type": "input_text", "text": "Make src/fetch.rs retry." }] });
    let mut history = vec![
        says("user", "# AGENTS.md instructions for /w\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
        says("user", "<environment_context>\n</environment_context>"),
        says("user", "<turn_aborted>\n</turn_aborted>"),
        says("user", ""),
        image.clone(),
        parts.clone(),
    ];
    history.extend(ran("c", 8_000));
    let made = compacted(&mut client, &history, json!({})).await;
    let history = made["history"].as_array().unwrap();
    assert_eq!(history.len(), 3, "the image, the words, the summary: {history:?}");
    assert_eq!(history[0]["content"], image["content"], "an image with no words is kept as it is");
    assert_eq!(history[1]["content"], parts["content"]);
}

#[tokio::test]
async fn remote_requests_carry_the_key_and_headers() {
    let opaque = json!({ "type": "compaction", "encrypted_content": "opaque-words" });
    for form in ["streamed", "unary"] {
        let answer = match form {
            "streamed" => Answer::items(std::slice::from_ref(&opaque)),
            _ => {
                let kept = says("user", "Make the fetcher retry.\nKeep its interface.");
                Answer::Status("200 OK", json!({ "output": [kept, opaque] }))
            }
        };
        let provider = Provider::start(vec![answer]).await;
        let more = format!(
            "remote_compaction = \"{form}\"\nkey_command = [\"echo\", \"k-123\"]\n\
             [providers.p.headers]\nx-team = \"blue\""
        );
        let (_daemon, mut client) = daemon(&provider, &more).await;
        let result = run(&mut client, json!({})).await;
        assert_eq!(ladder(&result), ["remote used"]);
        let head = provider.heads()[0].to_lowercase();
        assert!(head.contains("authorization: bearer k-123"), "{head}");
        assert!(head.contains("x-team: blue"), "{head}");
        assert_eq!(provider.requests()[0].1["tools"], Value::Null);
    }
}

#[tokio::test]
async fn a_replacement_is_in_the_log_as_it_was_answered() {
    let opaque = json!({ "type": "compaction", "encrypted_content": "opaque-words" });
    let provider = Provider::start(vec![Answer::items(std::slice::from_ref(&opaque))]).await;
    let (_daemon, mut client) = daemon(&provider, "remote_compaction = \"streamed\"").await;
    let made = run(&mut client, json!({})).await;
    let get =
        client.call("compaction/get", json!({ "compaction_id": made["compaction_id"] })).await;
    for field in ["history", "view", "ladder", "receipt", "tokens"] {
        assert_eq!(get["result"][field], made[field], "{field}");
    }
    assert_eq!(get["result"]["history"].as_array().unwrap().last(), Some(&opaque));
}

#[tokio::test]
async fn an_older_compaction_item_is_sent_again() {
    let (older, newer) = (
        json!({ "type": "compaction", "encrypted_content": "the-older-one" }),
        json!({ "type": "compaction", "encrypted_content": "the-newer-one" }),
    );
    let provider = Provider::start(vec![Answer::items(std::slice::from_ref(&newer))]).await;
    let (_daemon, mut client) = daemon(&provider, "remote_compaction = \"streamed\"").await;
    let mut history = vec![says("user", "Make src/fetch.rs retry."), older.clone()];
    history.extend(ran("c", 20_000));
    let made = compacted(&mut client, &history, json!({ "strategy": "remote" })).await;
    assert_eq!(ladder(&made), ["remote used"]);
    assert!(sent(&provider).contains(&older));
    let history = made["history"].as_array().unwrap();
    assert!(
        history.last() == Some(&newer) && !history.contains(&older),
        "the newest alone: {history:?}"
    );
}

#[tokio::test]
async fn remote_keeps_the_model_switch_aside() {
    let opaque = json!({ "type": "compaction", "encrypted_content": "opaque-words" });
    let provider = Provider::start(vec![Answer::items(std::slice::from_ref(&opaque))]).await;
    let (_daemon, mut client) = daemon(&provider, "remote_compaction = \"streamed\"").await;
    let mut history = vec![
        says("developer", "<permissions instructions>old"),
        says("developer", "<model_switch>\nbe terse"),
        says("user", "Make src/fetch.rs retry."),
    ];
    history.extend(ran("c", 20_000));
    let made = compacted(&mut client, &history, json!({ "strategy": "remote" })).await;
    let words = words(&made);
    assert_eq!(words[0], "Make src/fetch.rs retry.");
    assert_eq!(words[1], "<model_switch>\nbe terse");
    assert!(words[2].contains("[SESSION_CHECKPOINT v1]"), "{words:?}");
}
