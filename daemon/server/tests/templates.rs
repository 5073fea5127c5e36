//! Texts of compactions: a person's files, those of one call, and unusable ones.

use std::fs;
use std::path::PathBuf;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::compaction::{
    RunParams, RunResult, Strategy, TemplateOverrides, TemplateSource, Templates,
};
use longhaul_protocol::policy::{TemplateInfo, TemplatesParams};
use serde_json::json;

use crate::ladder::{SUMMARY, THREAD, auto, daemon, ladder, on};
use crate::support::provider::{Answer, Provider};
use crate::support::{Client, field, of_items, text_of};

async fn templates(client: &mut Client, seed: Option<bool>) -> Vec<TemplateInfo> {
    client.call::<Templates>(TemplatesParams { seed }).await.unwrap().templates
}

/// The last question to the provider.
fn last_prompt(provider: &Provider) -> String {
    let (_, body) = provider.requests().pop().unwrap();
    text_of(field(&body, "input").as_array().unwrap().last().unwrap()).to_owned()
}

/// The source of a text of the compaction, and its digest.
fn used(result: &RunResult, name: &str) -> (TemplateSource, String) {
    let text = result.templates.iter().find(|text| text.name == name).unwrap();
    (text.source, text.digest.clone())
}

#[tokio::test]
async fn the_prompt_set_in_codex_applies_to_its_threads() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (daemon, mut client) = daemon(&provider, "").await;
    let settings = daemon.home.path().join(".codex/config.toml");
    let words = "Sum up what {we} did, for me.";
    fs::write(settings, format!("profile = \"p\"\n[profiles.p]\ncompact_prompt = \"{words}\"\n"))
        .unwrap();
    let result = client.compact(on(Strategy::Summary)).await;
    assert_eq!(last_prompt(&provider), words, "word for word");
    assert_eq!(used(&result, "summary_prompt").0, TemplateSource::Agent);
    let own = TemplateOverrides { summary_prompt: Some("Mine.".to_owned()), ..Default::default() };
    let result = client.compact(RunParams { templates: Some(own), ..on(Strategy::Summary) }).await;
    assert_eq!(used(&result, "summary_prompt").0, TemplateSource::Call);
}

#[tokio::test]
async fn a_written_file_applies_at_once_and_a_bad_one_keeps_the_previous_text() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (daemon, mut client) = daemon(&provider, "").await;
    let summary = || on(Strategy::Summary);
    let first = client.compact(summary()).await;
    let (source, built_in) = used(&first, "summary_prompt");
    assert_eq!(source, TemplateSource::BuiltIn);

    let seeded = templates(&mut client, Some(true)).await;
    assert!(seeded.iter().all(|text| text.is_seeded), "{seeded:?}");
    let prompt = seeded.iter().find(|text| text.name == "summary_prompt").unwrap();
    let path = PathBuf::from(&prompt.path);
    assert!(path.starts_with(daemon.home.path()), "{}", path.display());
    let second = client.compact(summary()).await;
    assert_eq!(used(&second, "summary_prompt"), (TemplateSource::File, built_in.clone()));

    fs::write(&path, "Tell in {max_tokens} tokens what was done in {cwd}. My own words.").unwrap();
    let third = client.compact(RunParams { max_tokens: Some(900), ..summary() }).await;
    let own = used(&third, "summary_prompt");
    assert!(own.0 == TemplateSource::File && own.1 != built_in);
    let asked = last_prompt(&provider);
    assert!(asked.starts_with("Tell in 900 tokens what was done in /"), "{asked}");
    assert_eq!(third.warnings, []);

    fs::write(&path, "Tell it to {somebody}.").unwrap();
    let fourth = client.compact(RunParams { max_tokens: Some(901), ..summary() }).await;
    assert_eq!(used(&fourth, "summary_prompt"), own, "the previous text applies");
    let warning = &fourth.warnings[0];
    assert_eq!(warning.kind, "template");
    let message = &warning.message;
    assert!(message.contains("unknown placeholder {somebody}; known here: thread_id"), "{message}");
    let listed = templates(&mut client, None).await;
    let problem = listed.iter().find_map(|text| text.problem.as_deref()).unwrap();
    assert!(problem.contains("unknown placeholder {somebody}"), "{problem}");
}

#[tokio::test]
async fn a_call_can_bring_its_own_texts_and_the_result_names_their_digests() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let own = TemplateOverrides {
        summary_prompt: Some("Summarize, tersely.".into()),
        summary_prefix: Some("What was done:".into()),
        checkpoint_guide: Some("What is known:".into()),
    };
    let result = client.compact(RunParams { templates: Some(own), ..auto() }).await;
    assert_eq!(ladder(&result), ["hybrid used"]);
    assert_eq!(last_prompt(&provider), "Summarize, tersely.");
    let view = &result.view;
    let opening = format!("[HANDOFF_SUMMARY v1]\nWhat was done:\n\n{SUMMARY}");
    assert!(view.starts_with(&opening) && view.contains("\nWhat is known:\n"), "{view}");
    for name in ["summary_prompt", "summary_prefix", "checkpoint_guide"] {
        assert_eq!(used(&result, name).0, TemplateSource::Call);
    }
    let log = client.compaction(&result.compaction_id).await;
    assert_eq!(log.run.templates, result.templates, "the log has them too");

    // A summary by one's own texts is recognized as a summary, and not as a request.
    let params = RunParams {
        strategy: Some(Strategy::Checkpoint),
        ..of_items(result.history.clone().into_bytes())
    };
    let again = client.compact(params).await;
    assert!(!again.view.contains("[done] [HANDOFF_SUMMARY"), "{}", again.view);
}

#[tokio::test]
async fn an_unusable_text_of_a_call_is_rejected_by_its_name() {
    let provider = Provider::start(vec![Answer::says(SUMMARY)]).await;
    let (_daemon, mut client) = daemon(&provider, "").await;
    let long = "x".repeat(5_000);
    for (own, expected) in [
        (
            json!({ "summary_prompt": "for {nobody}" }),
            "templates.summary_prompt: line 1: unknown placeholder",
        ),
        (json!({ "summary_prefix": " " }), "templates.summary_prefix: it is empty"),
        (json!({ "checkpoint_guide": long }), "templates.checkpoint_guide: it has more"),
    ] {
        for method in ["compaction/run", "compaction/start", "thread/continue"] {
            let params = json!({ "thread_id": THREAD, "templates": own });
            let answer = client.request(method, params).await;
            let error = answer.error();
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{method} {error:?}");
            assert!(error.message.contains(expected), "{method}: {}", error.message);
        }
    }
    assert!(provider.requests().is_empty());
}
