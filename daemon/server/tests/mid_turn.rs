//! A compaction in the middle of a turn without an initial context: it comes from the history.

use longhaul_protocol::compaction::{Phase, RunParams, RunResult, Strategy};
use serde_json::{Value, json};

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, message, of_items, of_thread};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000031";
const PERMISSIONS: &str = "<permissions instructions>\nAsk before you write.";
const AGENTS: &str =
    "# AGENTS.md instructions for /w\n<INSTRUCTIONS>\nRun the tests.\n</INSTRUCTIONS>";
const ENVIRONMENT: &str = "<environment_context>\n<cwd>/w</cwd>\n</environment_context>";

fn context() -> [Value; 3] {
    [message("developer", PERMISSIONS), message("user", AGENTS), message("user", ENVIRONMENT)]
}

fn work() -> Vec<Value> {
    let round = |n: u32| {
        let call_id = format!("c{n}");
        [
            json!({ "type": "function_call", "name": "exec", "arguments": "{}", "call_id": call_id }),
            json!({ "type": "function_call_output", "call_id": call_id, "output": "ok ".repeat(200) }),
        ]
    };
    (0..40).flat_map(round).collect()
}

async fn daemon(items: &[Value], more: impl Fn(&mut Rollout)) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, home.path());
    for item in items {
        rollout.line("response_item", item);
    }
    more(&mut rollout);
    rollout.write(home.path());
    Daemon::synced(home, "", THREAD).await
}

fn mid_turn(params: RunParams) -> RunParams {
    RunParams { phase: Some(Phase::MidTurn), strategy: Some(Strategy::Checkpoint), ..params }
}

/// The part of the history that contains the text.
#[track_caller]
fn place(result: &RunResult, text: &str) -> usize {
    let text = text.lines().next().unwrap();
    let found = result.history.iter().rposition(|item| item.to_string().contains(text));
    found.unwrap_or_else(|| panic!("{text} is not in {:?}", result.history))
}

fn warnings(result: &RunResult) -> Vec<&str> {
    result.warnings.iter().map(|warning| warning.kind.as_str()).collect()
}

#[tokio::test]
async fn the_context_comes_from_the_history_before_the_request() {
    let mut items = context().to_vec();
    items.push(message("user", "Fix the fetcher."));
    items.extend(work());
    let (_daemon, mut client) = daemon(&items, |_| {}).await;
    for params in [of_thread(THREAD), of_items(items.clone())] {
        let result = client.compact(mid_turn(params)).await;
        let request = place(&result, "Fix the fetcher.");
        for text in [PERMISSIONS, AGENTS, ENVIRONMENT] {
            let found = place(&result, text);
            assert!(found > 0 && found < request, "{text}: {:?}", result.history);
        }
        assert_eq!(warnings(&result), [""; 0]);
    }
    let none = RunParams { initial_context: Some(Vec::new()), ..mid_turn(of_thread(THREAD)) };
    let result = client.compact(none).await;
    let all = serde_json::to_string(&result.history).unwrap();
    assert!(!all.contains("Ask before you write"), "a caller that gives none gets none: {all}");
    let result =
        client.compact(RunParams { phase: Some(Phase::PreTurn), ..mid_turn(of_thread(THREAD)) });
    let all = serde_json::to_string(&result.await.history).unwrap();
    assert!(!all.contains("Ask before you write"), "the harness sends it itself");
}

#[tokio::test]
async fn the_recorded_turn_context_is_the_fallback_and_a_missing_one_gives_a_warning() {
    let mut items = vec![message("user", "Fix the fetcher.")];
    items.extend(work());
    let turn = json!({ "cwd": "/w/demo", "approval_policy": "never", "model": "gpt-5.5", "summary": "auto" });
    let (_daemon, mut client) = daemon(&items, |rollout| {
        rollout.line("turn_context", &turn);
        rollout.message("user", "Go on with it.");
        rollout.message("assistant", "I do.");
    })
    .await;
    let result = client.compact(mid_turn(of_thread(THREAD))).await;
    place(&result, "<cwd>/w/demo</cwd>");
    assert_eq!(warnings(&result), [""; 0]);
    let result = client.compact(mid_turn(of_items(items))).await;
    assert_eq!(warnings(&result), ["no_initial_context"]);
}
