//! Policies end to end: decisions on what was ingested, the watcher over restarts, judges, texts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, kind};

pub const ONE: &str = "019cadd3-0000-7000-8000-0000000000a1";
pub const TWO: &str = "019cadd3-0000-7000-8000-0000000000a2";

/// Tokens of a window in which the threads below are at `asap`.
pub const WINDOW: u64 = 36_000;

pub fn thread(id: &str, home: &Path) -> Rollout {
    let mut rollout = Rollout::new(id, home);
    rollout.message("user", "Make the fetcher retry.");
    rollout.command("cat src/fetch.rs", 0, &"a line of code\n".repeat(5_000));
    rollout.command("git commit -qm retry", 0, "");
    rollout.message("assistant", "The retry is in. Done.");
    rollout.line("event_msg", &json!({ "type": "task_complete" }));
    rollout
}

pub fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    thread(ONE, home.path()).write(home.path());
    thread(TWO, home.path()).write(home.path());
    home
}

pub async fn daemon(home: TempDir, text: &str) -> (Daemon, Client) {
    let daemon = Daemon::over(home, text).await;
    let mut client = daemon.connect().await;
    for thread in [ONE, TWO] {
        client.call("thread/sync", json!({ "thread_id": thread })).await;
    }
    (daemon, client)
}

pub async fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    let answer = client.call(method, params).await;
    assert!(answer["error"].is_null(), "{method}: {answer}");
    answer["result"].clone()
}

pub async fn step(client: &mut Client, thread: &str, event: Value) -> Value {
    let params = json!({ "thread_id": thread, "event": event, "context_window": WINDOW });
    ask(client, "policy/step", params).await
}

pub fn effects(stepped: &Value) -> Vec<&str> {
    stepped["effects"].as_array().unwrap().iter().map(|e| e["effect"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_decision_is_made_of_what_was_ingested_and_made_again_to_the_byte() {
    let text = "[shadow_policy.lazy.asap]\npercent_remaining_lt = 20\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let params = json!({ "thread_id": ONE, "context_window": WINDOW, "record": true });
    let found = ask(&mut client, "policy/evaluate", params).await;
    assert_eq!(found["decision"]["action"], "compact", "{found}");
    assert_eq!(found["decision"]["tier"], "asap");
    let boundaries = json!(["commit", "agent_done", "turn_complete"]);
    assert_eq!(found["decision"]["boundaries"], boundaries);
    assert_eq!(found["shadows"][0]["policy"], "lazy");

    let log = ask(&mut client, "policy/log", json!({ "thread_id": ONE })).await;
    assert_eq!(log["decisions"].as_array().unwrap().len(), 2, "the shadow's, too: {log}");
    let kinds: Vec<_> = log["events"].as_array().unwrap().iter().map(|e| &e["kind"]).collect();
    assert_eq!(kinds, ["turn_started", "commit", "turn_complete"]);
    for decision in log["decisions"].as_array().unwrap() {
        let params = json!({ "decision_id": decision["decision"]["decision_id"] });
        let explained = ask(&mut client, "policy/explain", params).await;
        assert_eq!(explained["is_reproduced"], true);
        assert_eq!(explained["decision"], decision["decision"]);
    }
    let past = json!({ "thread_id": ONE, "context_window": WINDOW, "as_of": 1 });
    let past = ask(&mut client, "policy/evaluate", past).await;
    assert_eq!(past["decision"]["action"], "wait");
}

/// Defect 7.10: what a compaction was made for was kept in the process, and lost with it.
#[tokio::test]
async fn defect_7_10_the_sequence_survives_restarts_and_the_compaction_says_why_it_was_made() {
    let text = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\n";
    let (daemon_1, mut client) = daemon(home(), text).await;
    let asked = step(&mut client, ONE, json!({ "kind": "turn_ended" })).await;
    assert_eq!(effects(&asked), ["request_packet"]);
    let (daemon_2, mut client) = daemon(daemon_1.stopped().await, text).await;
    let packet = "Next step: document the retry.";
    let event = json!({ "kind": "turn_ended", "message": packet });
    let written = step(&mut client, ONE, event).await;
    assert_eq!(effects(&written), ["compact"]);
    assert_eq!(written["effects"][0]["packet"], packet);

    let (_daemon_3, mut client) = daemon(daemon_2.stopped().await, text).await;
    let run = json!({ "thread_id": ONE, "max_tokens": 600 });
    let made = ask(&mut client, "compaction/run", run).await;
    let view = made["view"].as_str().unwrap();
    assert!(view.starts_with("[PACKET]") && view.contains(packet), "{view}");
    assert!(view.len() <= 2_400, "{}", view.len());
    assert!(made["history"].to_string().contains(packet));
    let get = json!({ "compaction_id": made["compaction_id"] });
    let got = ask(&mut client, "compaction/get", get).await;
    assert_eq!(got["policy"]["tier"], "asap", "{}", got["policy"]);
    assert_eq!(got["policy"]["packet_author"], "agent");
    // Those read from words, too.
    assert_eq!(got["policy"]["boundaries"], json!(["commit", "agent_done", "turn_complete"]));

    let event = json!({ "kind": "compacted", "tokens_after": 2_000 });
    let done = step(&mut client, ONE, event).await;
    assert_eq!(effects(&done), ["inject_handoff"]);
    assert!(done["effects"][0]["text"].as_str().unwrap().contains(packet));
    assert_eq!(done["watcher"]["phase"], "idle");
    let other = ask(&mut client, "compaction/run", json!({ "thread_id": TWO })).await;
    assert!(!other["view"].as_str().unwrap().contains("[PACKET]"));
}

#[tokio::test]
async fn two_threads_never_meet() {
    let (_daemon, mut client) = daemon(home(), "[policy]\nmode = \"auto\"\n").await;
    assert_eq!(
        effects(&step(&mut client, ONE, json!({ "kind": "turn_ended" })).await),
        ["compact"]
    );
    let message = json!({ "kind": "user_message" });
    assert_eq!(effects(&step(&mut client, TWO, message.clone()).await), ["release_message"]);
    assert_eq!(effects(&step(&mut client, ONE, message).await), ["hold_message"]);
    let failed = json!({ "kind": "compaction_failed", "reason": "no room" });
    let failed = step(&mut client, ONE, failed).await;
    assert_eq!(effects(&failed), ["warn", "release_message"]);
    assert_eq!(failed["watcher"]["packet_kept"], true);
}

/// A judge that is a program: it answers `{verdict}`, and what it was asked lies in `asked`.
fn judge(home: &Path, verdict: &str) -> String {
    let asked = home.join("asked");
    let script = format!("cat > '{}'; printf '%s' '{verdict}'", asked.display());
    format!(
        "[policy]\nmode = \"auto\"\njudgment_timeout_ms = 5000\n[policy.asap]\njudgment = true\n\
         [model]\nprovider = \"judge\"\nname = \"j\"\n\
         [providers.judge]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", {}]\n",
        json!(script)
    )
}

#[tokio::test]
async fn the_configured_model_judges_outside_of_the_transcript() {
    for (verdict, expected) in [
        (r#"{"should_compact": false, "reason": "in the middle"}"#, vec!["notify"]),
        (r#"{"should_compact": true, "reason": "phase over"}"#, vec!["compact"]),
        ("no idea", vec!["warn", "compact"]),
    ] {
        let home = home();
        let text = judge(home.path(), verdict);
        let (daemon, mut client) = daemon(home, &text).await;
        let stepped = step(&mut client, ONE, json!({ "kind": "turn_ended" })).await;
        assert_eq!(effects(&stepped), expected, "{verdict}: {stepped}");
        let home = daemon.stopped().await;
        let asked = fs::read_to_string(home.path().join("asked")).unwrap();
        assert!(asked.contains("The retry is in. Done.") && asked.contains("commit"), "{asked}");
    }
}

/// Defect 7.9: what a judge cost counted as use of the thread's window.
#[tokio::test]
async fn defect_7_9_a_judge_costs_nothing_of_the_window_and_a_client_may_be_one() {
    let text = "[policy]\nmode = \"auto\"\njudge = \"client\"\n[policy.asap]\njudgment = true\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let before = ask(&mut client, "context/usage", json!({ "thread_id": ONE })).await;
    let asked = step(&mut client, ONE, json!({ "kind": "turn_ended" })).await;
    let effect = &asked["effects"][0];
    assert_eq!(effect["effect"], "ask_judgment", "{asked}");
    assert!(effect["prompt"].as_str().unwrap().contains("Done.") && effect["schema"].is_object());
    let answer = json!({ "kind": "judged", "request_id": effect["request_id"], "should_compact": true, "reason": "y" });
    assert_eq!(effects(&step(&mut client, ONE, answer).await), ["compact"]);
    let after = ask(&mut client, "context/usage", json!({ "thread_id": ONE })).await;
    assert_eq!(before["tokens"], after["tokens"]);
}

#[tokio::test]
async fn texts_are_written_out_overridden_and_checked() {
    let text = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let seeded = ask(&mut client, "policy/templates", json!({ "seed": true })).await;
    let path = |name: &str| {
        let template = seeded["templates"].as_array().unwrap().iter().find(|t| t["name"] == name);
        template.unwrap()["path"].as_str().unwrap().to_owned()
    };
    fs::write(path("packet"), "Write it down for {thread_id}.").unwrap();
    fs::write(path("handoff"), "{nothing}").unwrap();
    let found = ask(&mut client, "policy/templates", json!({})).await;
    assert!(found.to_string().contains("no place {nothing} here"), "{found}");
    let asked = step(&mut client, ONE, json!({ "kind": "turn_ended" })).await;
    let expected = format!(
        "<longhaul_context about=\"packet\">\nWrite it down for {ONE}.\n</longhaul_context>"
    );
    assert_eq!(asked["effects"][0]["prompt"], expected);
}

#[tokio::test]
async fn a_report_replays_the_transcript_under_every_policy() {
    let text = "[shadow_policy.never.emergency]\npercent_remaining_lt = 0\n\
                [shadow_policy.never.asap]\npercent_remaining_lt = 0\n\
                [shadow_policy.never.ready]\npercent_remaining_lt = 0\n\
                [shadow_policy.never.early]\npercent_remaining_lt = 0\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let params = json!({ "thread_id": ONE, "context_window": WINDOW });
    let report = ask(&mut client, "policy/report", params).await;
    let compactions: Vec<_> =
        report["policies"].as_array().unwrap().iter().map(|p| &p["compactions"]).collect();
    assert_eq!(compactions, [1, 0], "{report}");
    assert_eq!(report["policies"][0]["points"][0]["boundaries"], json!(["commit", "agent_done"]));
    let none = client.call("policy/report", json!({ "thread_id": "nobody" })).await;
    assert_eq!(kind(&none), "thread_not_found");
}
