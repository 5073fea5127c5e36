//! How full a window is, of threads as their transcripts tell it and of given items.

use serde_json::{Value, json};

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, kind};

const THREAD: &str = "019cadd3-0000-7000-8000-0000000000c0";

/// A daemon that has read this session.
async fn session(config: &str, tell: impl FnOnce(&mut Rollout)) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    tell(&mut rollout);
    rollout.write(home.path());
    let daemon = Daemon::over(home, config).await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    (daemon, client)
}

/// What the provider counted.
fn count(rollout: &mut Rollout, total: u64, window: u64) {
    let usage = json!({ "input_tokens": total - 10, "output_tokens": 10, "total_tokens": total });
    let info = json!({ "last_token_usage": usage, "model_context_window": window });
    rollout.line("event_msg", &json!({ "type": "token_count", "info": info }));
}

async fn usage(client: &mut Client, params: Value) -> Value {
    let answer = client.call("context/usage", params).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[tokio::test]
async fn the_providers_count_is_carried_on_and_its_window_shown() {
    let (_daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
        rollout.message("assistant", "On it.");
        count(rollout, 9_000, 258_400);
        rollout.message("user", &"x".repeat(4_000));
    })
    .await;
    let result = usage(&mut client, json!({ "thread_id": THREAD })).await;
    assert_eq!(result["tokens"]["reported"], 9_000);
    assert!((10_000..10_050).contains(&number(&result["tokens"]["used"])), "{result}");
    assert!(number(&result["tokens"]["overhead"]) > 8_900);
    let window = &result["window"];
    assert_eq!((&window["tokens"], &window["source"]), (&json!(272_000), &json!("transcript")));
    assert_eq!((&window["effective"], &window["trigger"]), (&json!(258_400), &json!(244_800)));
    assert_eq!(
        result["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["assistant", "user"]
    );
    assert_eq!(result["timeline"]["turns"], 2);
    let then = usage(&mut client, json!({ "thread_id": THREAD, "as_of": 3 })).await;
    assert_eq!(then["tokens"]["used"], 9_000, "before the last message");
}

#[tokio::test]
async fn right_after_a_compaction_nothing_is_left_out_of_the_count() {
    let (_daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
        rollout.message("assistant", &"y".repeat(40_000));
        count(rollout, 18_000, 258_400);
        let kept = json!([{ "type": "message", "role": "user", "content": "Fix the parser." }]);
        let compacted = json!({ "message": "summary", "replacement_history": kept });
        rollout.line("compacted", &compacted);
        // The agent's own estimate, and a repetition of the old count.
        let info = json!({ "last_token_usage": { "input_tokens": 0, "total_tokens": 20 } });
        rollout.line("event_msg", &json!({ "type": "token_count", "info": info }));
        count(rollout, 18_000, 258_400);
        rollout.message("user", &"z".repeat(8_000));
    })
    .await;
    let result = usage(&mut client, json!({ "thread_id": THREAD })).await;
    let tokens = &result["tokens"];
    assert_eq!(tokens.get("reported"), None, "{tokens}");
    assert_eq!(number(&tokens["used"]), number(&tokens["estimated"]) + number(&tokens["overhead"]));
    assert!(number(&tokens["estimated"]) > 2_000 && number(&tokens["overhead"]) > 7_000);
    let step = &result["timeline"]["compactions"][0];
    assert_eq!(step["before"], 18_000);
    assert!(number(&step["after"]) < 9_000, "{step}");
}

#[tokio::test]
async fn settings_are_compared_with_what_the_transcript_says_was_told() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, std::path::Path::new("/w"));
    let told = json!({ "cwd": "/w", "approval_policy": "never", "model": "gpt-5",
        "sandbox_policy": { "type": "read-only" }, "collaboration_mode": { "mode": "plan" } });
    rollout.line("turn_context", &told);
    rollout.message("user", "Look around.").message("assistant", "Done.");
    rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let current = |profile: &str, cwd: &str| {
        json!({
            "environment": { "folders": [{ "cwd": cwd, "shell": "bash" }] },
            "permissions": { "profile": profile, "approval_policy": "never", "instructions": "i" },
            "collaboration_mode": { "mode": "plan", "instructions": "think first" },
            "model": { "name": "gpt-5", "instructions": "m" },
        })
    };
    for (profile, cwd, changed) in [
        ("read-only", "/w", json!([])),
        ("workspace-write", "/w", json!(["permissions"])),
        ("read-only", "/elsewhere", json!(["environment"])),
    ] {
        let params = json!({ "thread_id": THREAD, "current": current(profile, cwd) });
        let result = client.call("context/diff", params).await["result"].take();
        assert_eq!((&result["changed"], &result["full"]), (&changed, &json!(false)), "{result}");
    }
    let both = json!({ "thread_id": THREAD, "reference": {}, "current": {} });
    assert_eq!(kind(&client.call("context/diff", both).await), "invalid_params");
}

#[tokio::test]
async fn project_instructions_are_read_and_told_again_only_when_they_changed() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let write = |text: &str| std::fs::write(project.join("AGENTS.md"), text).unwrap();
    write("Run the tests.\n");
    let context = json!({ "cwd": project, "approval_policy": "never", "model": "gpt-5" });
    let mut rollout = Rollout::new(THREAD, &project);
    let opening = format!("# AGENTS.md instructions for {}", project.display());
    let told = format!("{opening}\n\n<INSTRUCTIONS>\nRun the tests.\n</INSTRUCTIONS>");
    rollout.message("user", &told);
    rollout.line("turn_context", &context);
    rollout.message("user", "Look around.").message("assistant", "Done.");
    rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    let place = json!({ "folders": [{ "cwd": project }] });
    let asked = json!({ "thread_id": THREAD, "current": { "environment": place },
        "include": ["agents_md", "memory"] });

    let same = client.call("context/diff", asked.clone()).await;
    assert_eq!(same["result"]["changed"], json!([]), "{same}");
    write("Run the linter.\n");
    let changed = client.call("context/diff", asked.clone()).await;
    assert_eq!(changed["result"]["changed"], json!(["agents_md"]), "{changed}");
    assert!(changed["result"]["items"].to_string().contains("Run the linter."), "{changed}");
    std::fs::remove_file(project.join("AGENTS.md")).unwrap();
    let gone = client.call("context/diff", asked.clone()).await;
    assert!(gone["result"]["items"].to_string().contains("Disregard"), "{gone}");
    let unasked = json!({ "thread_id": THREAD, "current": { "environment": place } });
    let unasked = client.call("context/diff", unasked).await;
    assert_eq!(unasked["result"]["changed"], json!([]), "opt-in: {unasked}");
}

#[tokio::test]
async fn a_resumed_or_rolled_back_thread_does_not_trust_an_old_count() {
    let (_daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
        rollout.message("assistant", "Done.");
        count(rollout, 5_000, 258_400);
        rollout.message("user", "Now the lexer.");
        rollout.message("assistant", &"y".repeat(400_000));
        count(rollout, 240_000, 258_400);
        rollout.line("event_msg", &json!({ "type": "thread_rolled_back", "num_turns": 1 }));
    })
    .await;
    let result = usage(&mut client, json!({ "thread_id": THREAD })).await;
    let used = number(&result["tokens"]["used"]);
    assert!((4_900..5_100).contains(&used), "{used}");
    assert_eq!(result["timeline"]["turns"], 1);
}

#[tokio::test]
async fn the_users_limit_is_honoured_and_its_origin_shown() {
    let config = "[context]\nwindow_tokens = 100000\nauto_compact_percent = 94\n";
    let (_daemon, mut client) = session(config, |rollout| {
        rollout.message("user", "Fix the parser.");
        count(rollout, 9_000, 258_400);
    })
    .await;
    let ours = usage(&mut client, json!({ "thread_id": THREAD })).await["window"].clone();
    assert_eq!((&ours["tokens"], &ours["source"]), (&json!(100_000), &json!("config")));
    assert_eq!((&ours["trigger"], &ours["trigger_source"]), (&json!(94_000), &json!("config")));
    let asked = json!({ "thread_id": THREAD, "auto_compact_limit": 50_000 });
    let asked = usage(&mut client, asked).await["window"].clone();
    assert_eq!((&asked["trigger"], &asked["trigger_source"]), (&json!(50_000), &json!("request")));
    let off = json!({ "thread_id": THREAD, "auto_compact_limit": 0 });
    assert_eq!(usage(&mut client, off).await["window"].get("trigger"), None);
}

#[tokio::test]
async fn a_limit_the_user_gave_codex_need_not_be_said_twice() {
    let (daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
        count(rollout, 9_000, 258_400);
    })
    .await;
    let settings = "model_context_window = 1000\nmodel_auto_compact_token_limit = 150_000\n";
    std::fs::write(daemon.home.path().join(".codex/config.toml"), settings).unwrap();
    let window = usage(&mut client, json!({ "thread_id": THREAD })).await["window"].clone();
    assert_eq!((&window["tokens"], &window["source"]), (&json!(272_000), &json!("transcript")));
    let trigger = (&window["trigger"], &window["trigger_source"]);
    assert_eq!(trigger, (&json!(150_000), &json!("agent")));
    let should = client.call("compaction/should", json!({ "thread_id": THREAD })).await;
    assert_eq!(should["result"]["limit"], json!(150_000), "{should}");
}

#[tokio::test]
async fn a_paste_on_a_nearly_full_thread_is_told_of_before_the_request() {
    let (_daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
        rollout.message("assistant", "Done.");
        count(rollout, 230_000, 258_400);
    })
    .await;
    let kinds = |result: &Value| -> Vec<String> {
        let warnings = result["warnings"].as_array().unwrap();
        warnings.iter().map(|warning| warning["kind"].as_str().unwrap().to_owned()).collect()
    };
    let calm = usage(&mut client, json!({ "thread_id": THREAD })).await;
    assert_eq!(kinds(&calm), [""; 0]);
    let paste = json!([{ "type": "message", "role": "user", "content": "x".repeat(800_000) }]);
    let result = usage(&mut client, json!({ "thread_id": THREAD, "items": paste })).await;
    assert_eq!(result["tokens"]["used"], 230_000);
    assert!(number(&result["tokens"]["incoming"]) > 200_000);
    assert_eq!(kinds(&result)[0], "over_window");
    assert!(kinds(&result).contains(&"item_over_headroom".to_owned()), "{result}");
}

#[tokio::test]
async fn wrong_questions_are_refused_by_name() {
    let (_daemon, mut client) = session("", |rollout| {
        rollout.message("user", "Fix the parser.");
    })
    .await;
    for (method, params, field) in [
        ("context/usage", json!({}), "thread_id"),
        ("context/usage", json!({ "items": [], "as_of": 3 }), "as_of"),
        ("context/estimate", json!({ "text": "x", "tokenizer": "gpt2" }), "tokenizer"),
        ("context/truncate", json!({ "text": "x", "policy": {} }), "policy"),
        ("context/truncate", json!({ "text": "x", "policy": { "name": "none" } }), "policy.name"),
        ("context/truncate", json!({ "policy": { "mode": "lines", "limit": 1 } }), "text"),
    ] {
        let answer = client.call(method, params).await;
        assert_eq!(kind(&answer), "invalid_params", "{answer}");
        assert_eq!(answer["error"]["data"]["detail"]["field"], field, "{answer}");
    }
    let unknown = client.call("context/usage", json!({ "thread_id": "none" })).await;
    assert_eq!(kind(&unknown), "thread_not_found");
}
