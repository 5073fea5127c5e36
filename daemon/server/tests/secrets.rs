//! What looks like a credential is nowhere: no view, no answer, no file of ours.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::rollout::Rollout;
use crate::support::Daemon;

const THREAD: &str = "019cadd3-0000-7000-8000-000000000003";

/// Made up, and put together here so that no scanner takes this file for a leak.
fn planted() -> Vec<String> {
    vec![
        ["gh", "p_", &"a1B2c3D4".repeat(5)[..36]].concat(),
        ["AK", "IA", "Q3EGZP7XW2LMN4RT"].concat(),
        ["s3cr", "et-P4ssw0rd-", "of-the-db"].concat(),
        ["xox", "b-", "123456789012-", "abcdefABCDEF1234567890ab"].concat(),
    ]
}

#[tokio::test]
async fn planted_secrets_are_nowhere() {
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
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    let mut answers = Vec::new();
    for (method, params) in [
        ("thread/list", json!({})),
        ("checkpoint/get", json!({ "thread_id": THREAD })),
        ("checkpoint/view", json!({ "thread_id": THREAD })),
        ("compaction/run", json!({ "thread_id": THREAD })),
        (
            "compaction/run",
            json!({ "items": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": format!("token {}", secrets[0]) }] },
            { "type": "function_call_output", "call_id": "c", "output": format!("export SLACK={}", secrets[3]) },
        ] }),
        ),
        ("compaction/list", json!({})),
        ("daemon/status", json!({})),
    ] {
        let answer = client.call(method, params).await;
        assert!(answer["error"].is_null(), "{answer}");
        answers.push(answer.to_string());
    }
    for secret in &secrets {
        for answer in &answers {
            assert!(!answer.contains(secret.as_str()), "{secret} in {answer}");
        }
    }
    let folder = daemon.stopped().await;
    let mut files = 0;
    search(&folder.path().join(".local"), &secrets, &mut files);
    assert!(files >= 2, "the database and the stored items were searched");
}

fn search(folder: &Path, secrets: &[String], files: &mut u32) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, secrets, files);
        } else if path.is_file() {
            let content = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&content);
            for secret in secrets {
                assert!(!text.contains(secret.as_str()), "{secret} in {}", path.display());
            }
            *files += 1;
        }
    }
}
