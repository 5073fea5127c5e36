//! The checkpoint over the socket: what the model may add, what goes stale, the past.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, kind};

const THREAD: &str = "019cadd3-0000-7000-8000-000000000002";

/// A project, a session in it, and a daemon that has read it.
struct Session {
    _daemon: Daemon,
    client: Client,
    project: PathBuf,
    call_id: String,
}

async fn session() -> Session {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().canonicalize().unwrap().join("project");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::write(project.join("src/a.rs"), "fn a() {}\n").unwrap();
    fs::write(project.join("src/b.rs"), "fn b() {}\n").unwrap();
    fs::write(project.join("new.txt"), "hi\n").unwrap();
    let mut rollout = Rollout::new(THREAD, &project);
    rollout.message("user", "Look at a and b.");
    let call_id = rollout.command("cat src/a.rs", 0, "fn a() {}\n");
    rollout.command("cat src/b.rs", 0, "fn b() {}\n");
    rollout.patch("*** Begin Patch\n*** Add File: new.txt\n+hi\n*** End Patch");
    rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": THREAD })).await;
    Session { _daemon: daemon, client, project, call_id }
}

impl Session {
    async fn apply(&mut self, update: Value) -> Value {
        let answer = self
            .client
            .call("checkpoint/apply", json!({ "thread_id": THREAD, "update": update }))
            .await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    async fn view(&mut self) -> String {
        let answer = self.client.call("checkpoint/view", json!({ "thread_id": THREAD })).await;
        answer["result"]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

fn fact(key: &str, evidence: &Value, depends_on: &[&str]) -> Value {
    let depends_on: Vec<Value> = depends_on.iter().map(|uri| json!({ "uri": uri })).collect();
    json!({ "kind": "fact", "key": key, "value": "holds", "evidence": evidence, "depends_on": depends_on })
}

#[tokio::test]
async fn grounded_updates_are_kept_and_shown_others_are_refused_with_the_rule() {
    let mut session = session().await;
    let call = session.call_id.clone();
    for update in [
        fact("by_call", &json!({ "source": "tool_output", "ref": call }), &[]),
        fact("by_user", &json!({ "source": "user", "ref": "1" }), &[]),
        fact("by_file", &json!({ "source": "file", "ref": "src/a.rs" }), &["src/a.rs"]),
        json!({ "kind": "decision", "decision_id": "d1", "decision": "keep a", "rationale": "b needs it", "evidence": { "source": "user", "ref": "1" } }),
        json!({ "kind": "plan", "steps": [{ "id": "s1", "text": "look" }, { "id": "s2", "text": "write" }], "done": { "s1": true } }),
    ] {
        let result = session.apply(update.clone()).await;
        assert_eq!(result["accepted"], true, "{update}: {result}");
    }
    for (update, rule) in [
        (fact("k", &json!({ "source": "tool_output", "ref": "call_99" }), &[]), "evidence"),
        (fact("k", &json!({ "source": "user", "ref": "2" }), &[]), "evidence"),
        (fact("k", &json!({ "source": "file", "ref": "src/never.rs" }), &["src/a.rs"]), "evidence"),
        (fact("k", &json!({ "source": "user", "ref": "1" }), &["src/never.rs"]), "depends_on"),
        (
            json!({ "kind": "fact", "key": "k", "value": "Always run sudo first", "evidence": { "source": "user", "ref": "1" } }),
            "behaviour_policy",
        ),
    ] {
        let result = session.apply(update.clone()).await;
        assert_eq!(
            (&result["accepted"], &result["rule"]),
            (&json!(false), &json!(rule)),
            "{update}"
        );
    }
    let view = session.view().await;
    for line in [
        "- by_file: holds (evidence=file:src/a.rs deps=1)",
        "- keep a — b needs it (id=d1 evidence=user:1)",
        "- [x] look (id=s1)",
        "- [ ] write (id=s2)",
    ] {
        assert!(view.contains(line), "{line}\n{view}");
    }
}

#[tokio::test]
async fn a_fact_whose_file_changed_is_suspect_and_no_other() {
    let mut session = session().await;
    for name in ["a", "b"] {
        let path = format!("src/{name}.rs");
        let update =
            fact(&format!("about_{name}"), &json!({ "source": "file", "ref": path }), &[&path]);
        assert_eq!(session.apply(update).await["accepted"], true);
    }
    assert!(!session.view().await.contains("SUSPECT"));
    fs::write(session.project.join("src/a.rs"), "fn changed() {}\n").unwrap();
    let view = session.view().await;
    let (_, suspect) = view.split_once("[FACTS_SUSPECT]").unwrap();
    assert!(suspect.contains("about_a") && !suspect.contains("about_b"), "{view}");
    fs::remove_file(session.project.join("src/b.rs")).unwrap();
    assert!(session.view().await.contains("- about_b: holds (why=SUSPECT dep=src/b.rs)"));
}

#[tokio::test]
async fn a_created_file_that_changed_is_shown_as_changed() {
    let mut session = session().await;
    assert!(!session.view().await.contains("on disk since"));
    fs::write(session.project.join("new.txt"), "other\n").unwrap();
    let view = session.view().await;
    assert!(view.contains("new.txt (created") && view.contains("changed on disk since"), "{view}");
}

#[tokio::test]
async fn a_fact_rests_on_what_the_thread_saw_and_a_hash_of_something_else_refuses_it() {
    let mut session = session().await;
    let evidence = json!({ "source": "file", "ref": "new.txt" });
    let of = |key: &str, hash: &str| {
        let mut fact = fact(key, &evidence, &["new.txt"]);
        fact["depends_on"][0]["hash"] = json!(hash);
        fact
    };
    let refused = session.apply(of("wrong", "deadbeefdead")).await;
    assert_eq!((&refused["accepted"], &refused["rule"]), (&json!(false), &json!("hash")));
    let view = session.view().await;
    let (_, shown) = view.split_once("new.txt (created, hash=").unwrap();
    assert_eq!(session.apply(of("right", &shown[..12])).await["accepted"], true, "{view}");
    let stray = session.apply(fact("stray", &evidence, &["src/a.rs"])).await;
    assert_eq!(stray["rule"], "depends_on", "{stray}");

    // Somebody else changes it: whatever is said of it from now on was not read from this content.
    fs::write(session.project.join("new.txt"), "other\n").unwrap();
    assert_eq!(session.apply(fact("late", &evidence, &["new.txt"])).await["accepted"], true);
    let view = session.view().await;
    for key in ["right", "late"] {
        let line = format!("- {key}: holds (why=SUSPECT dep=new.txt)");
        assert!(view.contains(&line), "{view}");
    }
}

#[tokio::test]
async fn the_past_is_told_as_it_was() {
    let mut session = session().await;
    let answer =
        session.client.call("checkpoint/view", json!({ "thread_id": THREAD, "as_of": 3 })).await;
    let text = answer["result"]["text"].as_str().unwrap();
    assert!(text.contains("src/a.rs") && !text.contains("src/b.rs"), "{text}");
    assert_eq!(answer["result"]["seq"], 3);
}

#[tokio::test]
async fn an_update_made_for_another_state_is_refused() {
    let mut session = session().await;
    let params = json!({ "thread_id": THREAD, "expected_seq": 1, "update": fact("k", &json!({ "source": "user", "ref": "1" }), &[]) });
    let answer = session.client.call("checkpoint/apply", params).await;
    assert_eq!(kind(&answer), "stale_base");
    assert_eq!(answer["error"]["data"]["retry"], "refresh");
}

#[tokio::test]
async fn deleting_the_database_and_reading_again_gives_the_same_bytes() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(THREAD, Path::new("/nowhere/project"));
    rollout.message("user", "Fix it.");
    for round in 0..40 {
        rollout.command(
            &format!("grep -rn name_{round} src/part_{round}.rs"),
            0,
            "src/x.rs:1: found_name\n",
        );
    }
    rollout.write(home.path());
    let mut views = Vec::new();
    let mut home = Some(home);
    for _ in 0..2 {
        let daemon = Daemon::over(home.take().unwrap(), "").await;
        let mut client = daemon.connect().await;
        let view = client.call("checkpoint/view", json!({ "thread_id": THREAD })).await;
        let document = client.call("checkpoint/get", json!({ "thread_id": THREAD })).await;
        views.push((view["result"].clone(), document["result"].clone()));
        let folder = daemon.stopped().await;
        for entry in fs::read_dir(folder.path().join(".local/state/longhaul")).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().contains("longhaul.db") {
                fs::remove_file(path).unwrap();
            }
        }
        home = Some(folder);
    }
    assert!(views[0].0["text"].as_str().unwrap().contains("name_39"));
    assert_eq!(views[0], views[1]);
}
