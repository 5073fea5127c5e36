//! Use of the context window, for threads and for given items.

use longhaul_protocol::context::{
    CollaborationMode, Diff, DiffParams, DiffResult, Environment, Model, OptionalSetting,
    Permissions, Settings, Usage, UsageParams, UsageResult, WorkingFolder,
};
use longhaul_protocol::{ErrorKind, compaction};
use serde_json::{Value, json};

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, field, message};

const THREAD: &str = "019cadd3-0000-7000-8000-0000000000c0";

/// A daemon that has read this session.
async fn session(config: &str, write: impl FnOnce(&mut Rollout)) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    write(&mut rollout);
    rollout.write(home.path());
    Daemon::synced(home, config, THREAD).await
}

/// A thread of one request whose provider counted 9,000 tokens.
fn one_request(rollout: &mut Rollout) {
    rollout.message("user", "Fix the parser.").token_count(9_000, 258_400);
}

fn of_thread() -> UsageParams {
    UsageParams { thread_id: Some(THREAD.into()), ..Default::default() }
}

async fn usage(client: &mut Client, params: UsageParams) -> UsageResult {
    client.call::<Usage>(params).await.unwrap()
}

async fn diff(
    client: &mut Client,
    current: Settings,
    also: Option<Vec<OptionalSetting>>,
) -> DiffResult {
    let params =
        DiffParams { thread_id: Some(THREAD.into()), current, include: also, reference: None };
    client.call::<Diff>(params).await.unwrap()
}

fn environment(cwd: &str, shell: Option<&str>) -> Option<Environment> {
    let place =
        WorkingFolder { cwd: cwd.into(), shell: shell.map(str::to_owned), ..Default::default() };
    Some(Environment { folders: vec![place], ..Default::default() })
}

#[tokio::test]
async fn the_providers_count_is_the_base_and_its_window_is_shown() {
    let (_daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
        rollout.message("assistant", "On it.");
        rollout.token_count(9_000, 258_400);
        rollout.message("user", &"x".repeat(4_000));
    })
    .await;
    let result = client.usage(THREAD).await;
    assert_eq!((result.tokens.reported, result.tokens.reported_seq), (Some(9_000), Some(3)));
    assert!((10_000..10_050).contains(&result.tokens.used), "{result:?}");
    assert!(result.tokens.overhead > 8_900);
    assert_eq!(result.tokens.used, result.by_kind.values().sum::<u64>());
    let instructions = result.by_kind.get("instructions_and_tools");
    assert_eq!(instructions, Some(&result.tokens.overhead));
    assert_eq!(result.tokens.incoming, None);
    let window = &result.window;
    assert_eq!((window.tokens, window.source.as_str()), (272_000, "transcript"));
    assert_eq!((window.effective, window.trigger), (258_400, Some(244_800)));
    assert_eq!((window.percent_used, window.percent_remaining), (Some(0), Some(100)));
    assert_eq!(
        result.by_kind.keys().collect::<Vec<_>>(),
        ["assistant", "instructions_and_tools", "user"]
    );
    let timeline = result.timeline.unwrap();
    assert_eq!(timeline.turns, 2);
    let last = timeline.points.last().unwrap();
    assert_eq!((last.seq, last.turn, last.tokens), (4, 2, result.tokens.used));
    let then = usage(&mut client, UsageParams { as_of: Some(3), ..of_thread() }).await;
    assert_eq!((then.seq, then.tokens.used), (Some(3), 9_000), "before the last message");
}

#[tokio::test]
async fn the_count_is_complete_right_after_a_compaction() {
    let (_daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
        rollout.message("assistant", &"y".repeat(40_000));
        rollout.token_count(18_000, 258_400);
        rollout.compacted(&[message("user", "Fix the parser.")]);
        // The agent's own estimate, and a repeated old count.
        let info = json!({ "last_token_usage": { "input_tokens": 0, "total_tokens": 20 } });
        rollout.line("event_msg", &json!({ "type": "token_count", "info": info }));
        rollout.token_count(18_000, 258_400);
        rollout.message("user", &"z".repeat(8_000));
    })
    .await;
    let UsageResult { tokens, timeline, .. } = client.usage(THREAD).await;
    assert_eq!(tokens.reported, None);
    assert_eq!(tokens.used, tokens.estimated + tokens.overhead);
    assert!(tokens.estimated > 2_000 && tokens.overhead > 7_000, "{tokens:?}");
    let step = timeline.unwrap().compactions[0];
    assert_eq!(step.before, 18_000);
    assert!(step.after < 9_000, "{step:?}");
}

#[tokio::test]
async fn settings_are_compared_with_those_in_the_transcript() {
    let mut rollout = Rollout::new(THREAD, std::path::Path::new("/w"));
    let settings = json!({ "cwd": "/w", "approval_policy": "never", "model": "gpt-5",
        "sandbox_policy": { "type": "read-only" }, "collaboration_mode": { "mode": "plan" } });
    rollout.line("turn_context", &settings);
    rollout.message("user", "Look around.").message("assistant", "Done.");
    let (_daemon, mut client) = Daemon::reading(&rollout, "").await;
    for (profile, cwd, changed) in [
        ("read-only", "/w", &[][..]),
        ("workspace-write", "/w", &["permissions"]),
        ("read-only", "/elsewhere", &["environment"]),
    ] {
        let current = Settings {
            environment: environment(cwd, Some("bash")),
            permissions: Some(Permissions {
                profile: profile.into(),
                approval_policy: "never".into(),
                instructions: "i".into(),
            }),
            collaboration_mode: Some(CollaborationMode {
                mode: "plan".into(),
                instructions: "think first".into(),
                ..Default::default()
            }),
            model: Some(Model { name: "gpt-5".into(), instructions: "m".into() }),
            ..Default::default()
        };
        let result = diff(&mut client, current, None).await;
        assert_eq!(result.changed, changed, "{result:?}");
        assert!(!result.full, "{result:?}");
        assert_eq!(result.items.is_empty(), changed.is_empty(), "{result:?}");
        assert_eq!(result.tokens == 0, changed.is_empty(), "{result:?}");
    }
    let both = DiffParams {
        thread_id: Some(THREAD.into()),
        reference: Some(Settings::default()),
        ..Default::default()
    };
    let error = client.call::<Diff>(both).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn project_instructions_are_repeated_only_when_they_changed() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let write = |text: &str| std::fs::write(project.join("AGENTS.md"), text).unwrap();
    write("Run the tests.\n");
    let context = json!({ "cwd": project, "approval_policy": "never", "model": "gpt-5" });
    let mut rollout = Rollout::new(THREAD, &project);
    let opening = format!("# AGENTS.md instructions for {}", project.display());
    let instructions = format!("{opening}\n\n<INSTRUCTIONS>\nRun the tests.\n</INSTRUCTIONS>");
    rollout.message("user", &instructions);
    rollout.line("turn_context", &context);
    rollout.message("user", "Look around.").message("assistant", "Done.");
    rollout.write(home.path());
    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let cwd = project.to_str().unwrap();
    let current = Settings { environment: environment(cwd, None), ..Default::default() };
    let also = Some(vec![OptionalSetting::AgentsMd, OptionalSetting::Memory]);
    let text = |result: &DiffResult| Value::from(result.items.bytes().clone()).to_string();

    let same = diff(&mut client, current.clone(), also.clone()).await;
    assert!(same.changed.is_empty(), "{same:?}");
    write("Run the linter.\n");
    let changed = diff(&mut client, current.clone(), also.clone()).await;
    assert_eq!(changed.changed, ["agents_md"]);
    assert!(text(&changed).contains("Run the linter."), "{changed:?}");
    std::fs::remove_file(project.join("AGENTS.md")).unwrap();
    let gone = diff(&mut client, current.clone(), also).await;
    assert!(text(&gone).contains("Disregard"), "{gone:?}");
    let without = diff(&mut client, current, None).await;
    assert!(without.changed.is_empty(), "opt-in: {without:?}");
}

#[tokio::test]
async fn a_rolled_back_thread_does_not_trust_an_old_count() {
    let (_daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
        rollout.message("assistant", "Done.");
        rollout.token_count(5_000, 258_400);
        rollout.message("user", "Now the lexer.");
        rollout.message("assistant", &"y".repeat(400_000));
        rollout.token_count(240_000, 258_400);
        rollout.rolled_back(1);
    })
    .await;
    let result = client.usage(THREAD).await;
    assert!((4_900..5_100).contains(&result.tokens.used), "{:?}", result.tokens);
    assert_eq!(result.timeline.unwrap().turns, 1);
}

#[tokio::test]
async fn the_users_limit_applies_and_its_origin_is_shown() {
    let config = "[context]\nwindow_tokens = 100000\nauto_compact_percent = 94\n";
    let (_daemon, mut client) = session(config, one_request).await;
    for (limit, trigger, source) in
        [(None, Some(94_000), "config"), (Some(50_000), Some(50_000), "request")]
    {
        let params = UsageParams { auto_compact_limit: limit, ..of_thread() };
        let window = usage(&mut client, params).await.window;
        assert_eq!((window.tokens, window.source.as_str()), (100_000, "config"));
        assert_eq!((window.trigger, window.trigger_source.as_str()), (trigger, source));
    }
    let off = UsageParams { auto_compact_limit: Some(0), ..of_thread() };
    assert_eq!(usage(&mut client, off).await.window.trigger, None);
}

#[tokio::test]
async fn a_limit_in_codexs_own_configuration_applies_too() {
    let (daemon, mut client) = session("", one_request).await;
    let settings = "model_context_window = 1000\nmodel_auto_compact_token_limit = 150_000\n";
    std::fs::write(daemon.home.path().join(".codex/config.toml"), settings).unwrap();
    let window = client.usage(THREAD).await.window;
    assert_eq!((window.tokens, window.source.as_str()), (272_000, "transcript"));
    assert_eq!((window.trigger, window.trigger_source.as_str()), (Some(150_000), "agent"));
    let params = compaction::ShouldParams { thread_id: Some(THREAD.into()), ..Default::default() };
    let should = client.call::<compaction::Should>(params).await.unwrap();
    assert_eq!((should.limit, should.limit_source.as_str()), (Some(150_000), "agent"));
    assert!(!should.compact, "{should:?}");
}

#[tokio::test]
async fn a_large_paste_into_a_nearly_full_thread_gives_a_warning_before_the_request() {
    let (_daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
        rollout.message("assistant", "Done.");
        rollout.token_count(230_000, 258_400);
    })
    .await;
    let kinds = |result: &UsageResult| -> Vec<String> {
        result.warnings.iter().map(|warning| warning.kind.clone()).collect()
    };
    assert_eq!(kinds(&client.usage(THREAD).await), [""; 0]);
    let paste = vec![message("user", &"x".repeat(800_000))];
    let result = usage(&mut client, UsageParams { items: Some(paste), ..of_thread() }).await;
    assert_eq!(result.tokens.used, 230_000);
    assert!(result.tokens.incoming.unwrap() > 200_000);
    assert_eq!(kinds(&result)[0], "over_window");
    assert!(kinds(&result).contains(&"item_over_headroom".to_owned()), "{result:?}");
}

#[tokio::test]
async fn bad_params_are_rejected_with_the_name_of_the_field() {
    let (_daemon, mut client) = session("", one_request).await;
    for (method, params, name) in [
        ("context/usage", json!({}), "thread_id"),
        ("context/usage", json!({ "items": [], "as_of": 3 }), "as_of"),
        ("context/estimate", json!({ "text": "x", "tokenizer": "gpt2" }), "tokenizer"),
        ("context/truncate", json!({ "text": "x", "policy": {} }), "policy"),
        ("context/truncate", json!({ "text": "x", "policy": { "name": "none" } }), "policy.name"),
        ("context/truncate", json!({ "policy": { "mode": "lines", "limit": 1 } }), "text"),
    ] {
        let answer = client.request(method, params).await;
        let error = answer.error();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{error:?}");
        let detail = error.data.as_ref().unwrap().detail.as_ref().unwrap();
        assert_eq!(field(detail, "field"), name, "{error:?}");
    }
    let unknown = UsageParams { thread_id: Some("none".into()), ..Default::default() };
    let error = client.call::<Usage>(unknown).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ThreadNotFound);
}
