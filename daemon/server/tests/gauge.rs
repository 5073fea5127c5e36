//! The context window that a running agent reports: stored with its origin and used by all methods. And the cost of the
//! next request.

use longhaul_protocol::context::UsageParams;
use longhaul_protocol::policy::{Evaluate, EvaluateParams};
use longhaul_protocol::thread::{Sync, SyncParams};
use serde_json::json;

use crate::continuation::session_compacted_by_its_agent;
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon};

const THREAD: &str = "0199d5a4-0000-7000-8000-00000000a001";

/// A thread of a model with an unknown window, without a count by the provider.
fn rollout(home: &std::path::Path) -> Rollout {
    let mut rollout = Rollout::new(THREAD, home);
    rollout.line("turn_context", &json!({ "cwd": home, "model": "claude-opus-9" }));
    rollout.message("user", "Make fetch retry.");
    rollout.message("assistant", "It retries now.");
    rollout
}

async fn report(client: &mut Client, window: Option<u64>, tokens: Option<u64>) {
    let params = SyncParams {
        thread_id: Some(THREAD.to_owned()),
        context_window: window,
        context_tokens: tokens,
        ..Default::default()
    };
    client.call::<Sync>(params).await.unwrap();
}

#[tokio::test]
async fn the_agents_report_is_used_by_all_methods_and_survives_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = rollout(home.path());
    let path = rollout.write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    assert!(!client.usage(THREAD).await.window.is_known);

    for (window, tokens) in [(None, None), (Some(0), Some(0))] {
        report(&mut client, window, tokens).await;
        assert!(!client.usage(THREAD).await.window.is_known, "{window:?} {tokens:?}");
    }
    report(&mut client, Some(200_000), Some(190_000)).await;
    drop(client);
    let (_daemon, mut client) = Daemon::synced(daemon.stopped().await, "", THREAD).await;
    let usage = client.usage(THREAD).await;
    let window = (usage.window.tokens, usage.window.source.as_str(), usage.window.trigger);
    assert_eq!(window, (200_000, "running_agent", Some(180_000)));
    assert_eq!((usage.tokens.used, usage.tokens.used_source.as_str()), (190_000, "running_agent"));
    let params = EvaluateParams { thread_id: THREAD.to_owned(), ..Default::default() };
    let evaluated = client.call::<Evaluate>(params).await.unwrap();
    assert_eq!((evaluated.used, evaluated.window), (190_000, 200_000));
    assert_eq!(evaluated.decision.tier.as_deref(), Some("emergency"));

    // Later items are added, until the history changes.
    rollout.message("user", &"Now back off. ".repeat(300));
    rollout.append(&path);
    client.sync(THREAD).await;
    let grown = client.usage(THREAD).await.tokens.used;
    assert!((190_900..191_500).contains(&grown), "{grown}");
    rollout.compacted(&[json!({ "type": "message", "role": "user",
        "content": [{ "type": "input_text", "text": "The briefing." }] })]);
    rollout.append(&path);
    client.sync(THREAD).await;
    let usage = client.usage(THREAD).await;
    assert_eq!(usage.tokens.used_source, "estimate");
    assert!(usage.tokens.used < 1_000, "{:?}", usage.tokens);
    assert_eq!(usage.window.tokens, 200_000, "the window is the same");

    // Another model may have another window.
    rollout.line("turn_context", &json!({ "cwd": "/w", "model": "claude-opus-10" }));
    rollout.append(&path);
    client.sync(THREAD).await;
    assert!(!client.usage(THREAD).await.window.is_known);
}

#[tokio::test]
async fn the_persons_setting_and_the_providers_count_override_the_report() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = rollout(home.path());
    rollout.token_count(120_000, 272_000);
    rollout.write(home.path());
    let (_daemon, mut client) =
        Daemon::synced(home, "[sources.codex]\ncontext_window = 400000\n", THREAD).await;
    report(&mut client, Some(200_000), Some(110_000)).await;
    let usage = client.usage(THREAD).await;
    assert_eq!((usage.window.tokens, usage.window.source.as_str()), (400_000, "config"));
    assert_eq!((usage.tokens.used, usage.tokens.used_source.as_str()), (120_000, "provider"));
}

#[tokio::test]
async fn an_agents_compaction_shows_its_limit_unless_the_policy_has_it_compact() {
    for (config, expected) in [
        ("", ("agent_compaction", Some(155_000))),
        ("[policy]\nmid_turn = true\n", ("agent_compaction", Some(155_000))),
        ("[policy]\nmode = \"auto\"\nmid_turn = true\n", ("default", Some(180_000))),
    ] {
        let home = tempfile::tempdir().unwrap();
        let path = session_compacted_by_its_agent(home.path(), THREAD);
        let (_daemon, mut client) = Daemon::synced_file(home, config, &path).await;
        report(&mut client, Some(200_000), None).await;
        let window = client.usage(THREAD).await.window;
        assert_eq!((window.trigger_source.as_str(), window.trigger), expected, "{config}");
    }
}

#[tokio::test]
async fn the_cost_of_resuming_is_available_to_agents_and_changes_when_the_cache_is_cold() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = rollout(home.path());
    rollout.token_count(120_000, 272_000);
    rollout.write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let price = async |client: &mut Client| {
        let (thread_id, resume) = (Some(THREAD.to_owned()), Some(true));
        let params = UsageParams { thread_id, resume, ..Default::default() };
        client.call::<longhaul_protocol::context::Usage>(params).await.unwrap().resume.unwrap()
    };
    assert_eq!(client.usage(THREAD).await.resume, None, "not requested");
    let last_ms = client.thread(THREAD).await.updated_at;
    // Codex's provider caches prompts for an hour.
    daemon.clock.set_wall_ms(last_ms + 3_600_000);
    assert!(!price(&mut client).await.is_cold);
    daemon.clock.set_wall_ms(last_ms + 3_600_001);
    let cold = price(&mut client).await;
    assert!(cold.is_cold, "{cold:?}");
    assert_eq!((cold.idle_ms, cold.history_tokens), (3_600_001, 120_000));
    assert!(cold.briefing_tokens < 121_000, "{cold:?}");
}
