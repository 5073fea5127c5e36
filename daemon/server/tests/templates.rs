//! Texts of compactions: a person's files, those of one call, and what is said of one that cannot be used.

use std::fs;

use serde_json::{Value, json};

use crate::ladder::{SUMMARY, THREAD, daemon, ladder, run};
use crate::provider::{Answer, Provider};
use crate::support::{Client, kind};

async fn templates(client: &mut Client, params: Value) -> Value {
    client.call("compaction/templates", params).await["result"].take()
}

/// What the provider was asked last.
fn asked(provider: &Provider) -> String {
    let (_, body) = provider.requests().pop().unwrap();
    let prompt = body["input"].as_array().unwrap().last().unwrap().clone();
    prompt["content"][0]["text"].as_str().unwrap().to_owned()
}

fn used(result: &Value, name: &str) -> (String, String) {
    let texts = result["templates"].as_array().unwrap();
    let text = texts.iter().find(|text| text["name"] == name).unwrap();
    let field = |key: &str| text[key].as_str().unwrap().to_owned();
    (field("source"), field("digest"))
}

#[tokio::test]
async fn a_file_is_in_force_once_it_is_written_and_a_bad_one_leaves_what_was_before() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (daemon, mut client) = daemon(&provider, "").await;
    let first = run(&mut client, json!({ "strategy": "summary" })).await;
    let (source, built_in) = used(&first, "summary_prompt");
    assert_eq!(source, "built_in");

    let seeded = templates(&mut client, json!({ "seed": true })).await;
    let list = seeded["templates"].as_array().unwrap();
    assert!(list.iter().all(|text| text["is_seeded"] == true), "{seeded}");
    let path = list.iter().find(|text| text["name"] == "summary_prompt").unwrap()["path"].clone();
    let path = std::path::PathBuf::from(path.as_str().unwrap());
    assert!(path.starts_with(daemon.home.path()), "{}", path.display());
    let second = run(&mut client, json!({ "strategy": "summary" })).await;
    assert_eq!(used(&second, "summary_prompt"), ("file".to_owned(), built_in.clone()));

    fs::write(&path, "Tell in {max_tokens} tokens what was done in {cwd}. My own words.").unwrap();
    let third = run(&mut client, json!({ "strategy": "summary", "max_tokens": 900 })).await;
    let own = used(&third, "summary_prompt");
    assert!(own.0 == "file" && own.1 != built_in);
    let prompt = asked(&provider);
    assert!(prompt.starts_with("Tell in 900 tokens what was done in /"), "{prompt}");
    assert_eq!(third["warnings"], json!([]));

    fs::write(&path, "Tell it to {somebody}.").unwrap();
    let fourth = run(&mut client, json!({ "strategy": "summary", "max_tokens": 901 })).await;
    assert_eq!(used(&fourth, "summary_prompt"), own, "the text before it is in force");
    let warning = &fourth["warnings"][0];
    assert_eq!(warning["kind"], "template");
    let message = warning["message"].as_str().unwrap();
    assert!(message.contains("no place {somebody} here; there are thread_id"), "{message}");
    let told = templates(&mut client, json!({})).await;
    assert!(told.to_string().contains("no place {somebody}"), "{told}");
}

#[tokio::test]
async fn a_call_brings_its_own_texts_and_the_receipt_names_their_editions() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let own = json!({ "summary_prompt": "Summarise, tersely.", "summary_prefix": "What was done:",
        "checkpoint_guide": "What is known:" });
    let result = run(&mut client, json!({ "templates": own })).await;
    assert_eq!(ladder(&result), ["hybrid used"]);
    assert_eq!(asked(&provider), "Summarise, tersely.");
    let view = result["view"].as_str().unwrap();
    let opening = format!("[HANDOFF_SUMMARY v1]\nWhat was done:\n\n{SUMMARY}");
    assert!(view.starts_with(&opening) && view.contains("\nWhat is known:\n"), "{view}");
    for name in ["summary_prompt", "summary_prefix", "checkpoint_guide"] {
        assert_eq!(used(&result, name).0, "call");
    }
    let log = client
        .call("compaction/get", json!({ "compaction_id": result["compaction_id"] }))
        .await["result"]
        .take();
    assert_eq!(log["templates"], result["templates"], "the log has them too");

    // What was made with one's own texts is known again as a summary, not taken for a request.
    let history = result["history"].clone();
    let again =
        client.call("compaction/run", json!({ "items": history, "strategy": "checkpoint" }));
    let again = again.await["result"].take();
    let text = again["view"].as_str().unwrap();
    assert!(!text.contains("[done] [HANDOFF_SUMMARY"), "{text}");
}

#[tokio::test]
async fn a_text_of_a_call_that_cannot_be_used_is_refused_by_its_name() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    for (own, expected) in [
        (json!({ "summary_prompt": "for {nobody}" }), "templates.summary_prompt: line 1: no place"),
        (json!({ "summary_prefix": " " }), "templates.summary_prefix: it is empty"),
        (
            json!({ "checkpoint_guide": "x".repeat(5_000) }),
            "templates.checkpoint_guide: it has more",
        ),
    ] {
        for method in ["compaction/run", "compaction/start", "thread/continue"] {
            let params = json!({ "thread_id": THREAD, "templates": own });
            let answer = client.call(method, params).await;
            assert_eq!(kind(&answer), "invalid_params", "{method} {answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(expected), "{method}: {message}");
        }
    }
    assert!(provider.requests().is_empty());
}
