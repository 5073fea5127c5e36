//! Requests to a model are valid: a provider with the checks of a real one accepts every request for any history, on every
//! rung.

use longhaul_daemon::clock::Clock;
use longhaul_protocol::compaction::{RunParams, Strategy};
use serde_json::{Value, json};

use crate::histories::{copy, corpus, threads};
use crate::ladder::{REQUEST, THREAD, daemon_with, ladder, on};
use crate::support::pairing;
use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{Daemon, field, message, of_items};

fn call(kind: &str, id: &str) -> Value {
    json!({ "type": kind, "call_id": id, "name": "exec", "arguments": "{}", "input": "x" })
}

fn output(kind: &str, id: &str) -> Value {
    json!({ "type": format!("{kind}_output"), "call_id": id, "output": "printed ".repeat(300) })
}

/// Histories that a provider rejects unchanged, by their flaw.
fn broken() -> Vec<(&'static str, Vec<Value>)> {
    let (function, custom) = ("function_call", "custom_tool_call");
    let pair = |id: &str| vec![call(function, id), output(function, id)];
    let mut number = 0;
    let mut all = |items: Vec<Value>| {
        // Different, since an answer to the same request is stored.
        number += 1;
        let mut history =
            vec![message("user", &format!("Make src/fetch.rs retry {number} times."))];
        history.extend((0..20).flat_map(|n| pair(&format!("c{n}"))));
        history.extend(items);
        history.extend([message("assistant", "Half of it is done."), pair("last")[0].clone()]);
        history.push(output(function, "last"));
        history
    };
    vec![
        ("a call without output", all(vec![call(function, "x"), call(custom, "y")])),
        ("an output without call", all(vec![output(function, "x"), output(custom, "y")])),
        ("an output before its call", all(vec![output(function, "x"), call(function, "x")])),
        (
            "twice the same",
            all([
                pair("x"),
                vec![output(function, "x")],
                vec![call(function, "z"), call(function, "z")],
            ]
            .concat()),
        ),
        (
            "what no provider knows",
            all(vec![
                json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "abc" } }),
                json!({ "type": "hologram_call", "x": 1 }),
                json!({ "type": "reasoning", "summary": [], "encrypted_content": null }),
                json!({ "type": "compaction_trigger" }),
            ]),
        ),
    ]
}

#[tokio::test]
async fn every_rung_sends_valid_items_for_any_history() {
    for (form, strategy) in [
        ("no", Strategy::Summary),
        ("no", Strategy::Hybrid),
        ("unary", Strategy::Remote),
        ("streamed", Strategy::Remote),
    ] {
        let provider = Provider::start(vec![Answer::To(pairing::answer)]).await;
        let more = format!("remote_compaction = \"{form}\"");
        let (_daemon, mut client) = daemon_with(&provider.config(&more)).await;
        for (what, items) in broken() {
            let params = RunParams { strategy: Some(strategy), ..of_items(items) };
            let result = client.compact(params).await;
            assert_eq!(ladder(&result), [format!("{strategy} used")], "{form}: {what}");
        }
        assert_eq!(provider.requests().len(), broken().len(), "each at the first try");
    }
}

#[tokio::test]
async fn a_ghost_snapshot_is_returned_and_never_sent() {
    let ghost = json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "abc" } });
    for (form, strategy) in
        [("no", Strategy::Checkpoint), ("no", Strategy::Hybrid), ("streamed", Strategy::Remote)]
    {
        let provider = Provider::start(vec![Answer::To(pairing::answer)]).await;
        let more = format!("remote_compaction = \"{form}\"");
        let (_daemon, mut client) = daemon_with(&provider.config(&more)).await;
        let (_, items) = broken().pop().unwrap();
        let result =
            client.compact(RunParams { strategy: Some(strategy), ..of_items(items) }).await;
        assert_eq!(ladder(&result), [format!("{strategy} used")]);
        assert!(result.history.contains(&ghost), "{strategy}: {:?}", result.history);
        let sent = provider.requests();
        assert!(sent.iter().all(|(_, body)| !body.to_string().contains("ghost")), "{strategy}");
    }
}

/// Rejects images, like a model without vision.
fn blind(body: &Value) -> Answer {
    if body.to_string().contains("input_image") {
        let error = json!({ "type": "invalid_request_error", "message": "Invalid image in input" });
        return Answer::Status("400 Bad Request", json!({ "error": error }));
    }
    pairing::answer(body)
}

#[tokio::test]
async fn a_model_without_vision_is_asked_again_without_images() {
    let provider = Provider::start(vec![Answer::To(blind)]).await;
    let (_daemon, mut client) = daemon_with(&provider.config("")).await;
    let image = json!({ "type": "message", "role": "user", "content": [
        { "type": "input_text", "text": "As in this picture." },
        { "type": "input_image", "image_url": "data:image/png;base64,AAAA" }] });
    let (_, mut items) = broken().swap_remove(0);
    items.insert(1, image.clone());
    let result =
        client.compact(RunParams { strategy: Some(Strategy::Summary), ..of_items(items) }).await;
    assert_eq!(ladder(&result), ["summary used"]);
    assert_eq!(provider.requests().len(), 2);
    assert!(provider.requests()[1].1.to_string().contains("image content omitted"));
    let is_kept = result.history.contains(&image);
    assert!(is_kept, "the person's image stays in the history: {:?}", result.history);
}

#[tokio::test]
async fn a_model_that_cannot_read_a_compaction_gets_quotations_of_it() {
    let provider = Provider::start(vec![Answer::To(pairing::answer)]).await;
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::with_rounds(THREAD, home.path(), REQUEST, 10);
    rollout.message("assistant", "The root cause is that src/fetch.rs sets no timeout.");
    rollout.turn_ended();
    let sealed = json!({ "type": "compaction", "encrypted_content": "gAAA" });
    rollout.compacted(&[message("user", REQUEST), sealed]);
    rollout.message("user", "Now document it.");
    for round in 0..60 {
        rollout.command(&format!("cat docs/{round}.md"), 0, &"a page ".repeat(100));
    }
    rollout.message("assistant", "The pages are read.");
    rollout.write(home.path());
    let daemon = Daemon::on_clock(home, &provider.config(""), Clock::system()).await;
    let mut client = daemon.connect().await;
    client.sync(THREAD).await;
    let result = client.compact(on(Strategy::Summary)).await;
    assert_eq!(ladder(&result), ["summary used"]);
    let (_, body) = provider.requests().remove(0);
    let asked = field(&body, "input").as_array().unwrap().last().unwrap().to_string();
    assert!(asked.contains("root cause is that src/fetch.rs sets no timeout"), "{asked}");
}

/// With `LONGHAUL_CORPUS`, every thread in it; else the sample session.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_of_any_thread_is_rejected() {
    let provider = Provider::start(vec![Answer::To(pairing::answer)]).await;
    let home = tempfile::tempdir().unwrap();
    let copies = copy(&corpus(), home.path());
    let config = provider.config(
        "remote_compaction = \"streamed\"\n[budget]\nrequests_per_day = 0\ntokens_per_day = 0",
    );
    let (_daemon, mut client) = Daemon::with_client(home, &config).await;
    for path in copies {
        client.sync_file(&path).await;
    }
    let (mut compacted, mut refused) = (0, Vec::new());
    for thread in threads(&mut client).await.iter().filter(|thread| thread.items != 0) {
        for strategy in [Strategy::Remote, Strategy::Summary, Strategy::Hybrid] {
            let params = RunParams { thread_id: Some(thread.thread_id.clone()), ..on(strategy) };
            let result = client.compact(RunParams { deadline_ms: None, ..params }).await;
            compacted += 1;
            let rungs = ladder(&result);
            if rungs.iter().any(|rung| rung.contains("failed refused")) {
                refused.push(format!("{}: {rungs:?}", thread.thread_id));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    let asked = provider.requests().len();
    println!("{compacted} compactions, {asked} requests");
    assert!(asked > 0, "no thread was compacted");
}

#[tokio::test]
async fn a_receipt_of_a_remote_compaction_matches_its_history() {
    for form in ["streamed", "unary"] {
        let opaque = json!({ "type": "compaction", "encrypted_content": "opaque-words" });
        let answer = match form {
            "streamed" => Answer::items(std::slice::from_ref(&opaque)),
            _ => Answer::Status("200 OK", json!({ "output": [message("user", REQUEST), opaque] })),
        };
        let provider = Provider::start(vec![answer]).await;
        let more = format!("remote_compaction = \"{form}\"");
        let (_daemon, mut client) = daemon_with(&provider.config(&more)).await;
        let result = client.compact(on(Strategy::Remote)).await;
        assert_eq!(ladder(&result), ["remote used"], "{form}");
        let has_request = result.receipt.kept.iter().any(|entry| entry.kind == "user_message");
        assert!(has_request, "{form}: {:?}", result.receipt.totals);
        let totals = &result.receipt.totals;
        let all = totals.kept.items + totals.shortened.items + totals.dropped.items;
        assert_eq!(all, client.history(THREAD).await.len() as u64, "{form}");
        assert_eq!(field(&result.history[0], "role"), "user");
    }
}
