//! Credentials appear in no view, answer or file of the daemon.

use longhaul_protocol::checkpoint::{CheckpointGet, CheckpointGetParams, View, ViewParams};
use longhaul_protocol::compaction::{Phase, RunParams, TemplateOverrides};
use serde_json::json;

use crate::archive::{archived, says};
use crate::support::rollout::Rollout;
use crate::support::{Daemon, file_with, files_below, github_token, message, of_items, of_thread};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000003";

/// Invented, and assembled here so that no scanner reports this file as a leak.
fn planted() -> Vec<String> {
    vec![
        github_token(),
        ["AK", "IA", "Q3EGZP7XW2LMN4RT"].concat(),
        ["s3cr", "et-P4ssw0rd-", "of-the-db"].concat(),
        ["xox", "b-", "123456789012-", "abcdefABCDEF1234567890ab"].concat(),
    ]
}

#[tokio::test]
async fn planted_secrets_appear_nowhere() {
    let home = tempfile::tempdir().unwrap();
    let secrets = planted();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", &format!("Use the token {} please, and fix the login.", secrets[0]));
    rollout.command(&format!("export AWS_ACCESS_KEY_ID={}; make", secrets[1]), 1, "error: boom");
    let url = format!("postgres://app:{}@db.local/x", secrets[2]);
    rollout.command("cat .env", 0, &format!("DATABASE_URL={url}\nSLACK={}\n", secrets[3]));
    rollout.message("assistant", &format!("The database is at {url}."));
    let patch = format!(
        "*** Begin Patch\n*** Add File: conf.py\n+SLACK_TOKEN = \"{}\"\n*** End Patch",
        secrets[3]
    );
    rollout.patch(&patch);
    rollout.write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let given = [
        message("user", &format!("token {}", secrets[0])),
        json!({ "type": "function_call_output", "call_id": "c", "output": format!("export SLACK={}", secrets[3]) }),
    ];
    let view = ViewParams { thread_id: THREAD.into(), ..Default::default() };
    let document = CheckpointGetParams { thread_id: THREAD.into(), ..Default::default() };
    let of_thread = client.compact(of_thread(THREAD)).await;
    let of_items = client.compact(of_items(given)).await;
    assert!(of_thread.view.contains("fix the login"), "the rest is kept");
    assert!(of_thread.receipt.redacted > 0 && of_items.receipt.redacted > 0);
    let answers = [
        text(&client.threads().await),
        text(&client.call::<CheckpointGet>(document).await.unwrap()),
        text(&client.call::<View>(view).await.unwrap()),
        text(&of_thread),
        text(&of_items),
        text(&client.compactions().await),
        text(&client.status().await),
    ];
    for secret in &secrets {
        for answer in &answers {
            assert!(!answer.contains(secret.as_str()), "{secret} in {answer}");
        }
    }
    let home = daemon.stopped().await;
    let local = home.path().join(".local");
    let files = files_below(&local);
    assert!(files.len() >= 2, "the database and the stored items are searched");
    for secret in &secrets {
        assert_eq!(file_with(&local, secret), None, "{secret}");
    }
}

#[tokio::test]
async fn secrets_in_what_a_client_adds_to_a_compaction_are_replaced_and_counted() {
    let home = tempfile::tempdir().unwrap();
    let secrets = planted();
    let mut rollout = Rollout::new(THREAD, home.path());
    rollout.message("user", "Fix the login.");
    rollout.write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let guide = format!("Continue. Deploy with {}.", secrets[3]);
    let params = RunParams {
        phase: Some(Phase::MidTurn),
        initial_context: Some(vec![message("developer", &format!("Use {}.", secrets[0]))]),
        templates: Some(TemplateOverrides { checkpoint_guide: Some(guide), ..Default::default() }),
        ..of_thread(THREAD)
    };
    let run = client.compact(params.clone()).await;
    let id = client.start_compaction(params).await;
    client.job_in(&format!("compact/{id}"), "done").await;
    let started = client.compaction(&id).await.run;
    let home = daemon.stopped().await;
    for secret in [&secrets[0], &secrets[3]] {
        for run in [&run, &started] {
            assert!(!text(run).contains(secret.as_str()), "{secret} in {}", text(run));
        }
        assert_eq!(file_with(&home.path().join(".local"), secret), None, "{secret}");
    }
    assert_eq!((run.receipt.redacted, started.receipt.redacted), (2, 2));
}

#[tokio::test]
async fn what_a_tool_of_gemini_printed_is_redacted_like_any_other_text() {
    let home = tempfile::tempdir().unwrap();
    let secrets = planted();
    let printed =
        format!("GITHUB_TOKEN={}\nDATABASE=postgres://app:{}@db/x", secrets[0], secrets[2]);
    let session = "5b1f0a52-7a51-4d0c-9d55-0a6f3c1d2e02";
    let lines = [
        json!({"sessionId": session, "projectHash": "h", "startTime": "2026-01-02T03:04:05.678Z"}),
        json!({"id": "m1", "timestamp": "2026-01-02T03:04:06.000Z", "type": "user",
               "content": [{"text": "Print the environment"}]}),
        json!({"id": "m2", "timestamp": "2026-01-02T03:04:07.000Z", "type": "gemini", "content": "I look.",
               "toolCalls": [{"id": "c1", "name": "run_shell_command", "status": "success",
                   "args": {"command": "env"}, "result": [{"functionResponse":
                       {"id": "c1", "name": "run_shell_command", "response": {"output": printed}}}]}]}),
    ];
    let chats = home.path().join(".gemini/tmp/w/chats");
    std::fs::create_dir_all(&chats).unwrap();
    std::fs::write(chats.join("../.project_root"), "/w").unwrap();
    let path = chats.join("session-2026-01-02T03-04-5b1f0a52.jsonl");
    std::fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let (daemon, mut client) = Daemon::with_client(home, "[archive]\nredact = true\n").await;
    client.sync_file(&path.canonicalize().unwrap()).await;
    assert!(archived(&mut client).await.all_redacted);
    let home = daemon.home.path();
    assert!(says(home, "Print the environment"), "it is archived");
    let run = client.compact(of_thread(session)).await;
    for secret in [&secrets[0], &secrets[2]] {
        assert!(!says(home, secret), "the archive has {secret}");
        assert!(!run.view.contains(secret.as_str()), "{}", run.view);
    }
    let home = daemon.stopped().await;
    for secret in [&secrets[0], &secrets[2]] {
        assert_eq!(file_with(&home.path().join(".local"), secret), None, "{secret}");
    }
}

fn text(answer: &impl serde::Serialize) -> String {
    serde_json::to_string(answer).unwrap()
}
