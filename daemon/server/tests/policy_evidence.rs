//! What decisions are made with beside the transcript: the repository, and a model that reads words. And
//! what is logged of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::policy::{ONE, TWO, WINDOW, ask, daemon, effects, home, step};
use crate::rollout::Rollout;
use crate::support::{Client, Daemon, soon};

/// A repository with a commit in the seconds of the transcripts' turns.
fn repository(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
        command.args(["-c", "commit.gpgSign=false"]).args(arguments);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_COMMITTER_DATE", "2026-03-02T09:15:30Z");
        assert!(command.status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "-q", "-b", "topic"]);
    git(&["commit", "-q", "--allow-empty", "-m", "release 1"]);
}

/// A turn in which a script made the commit: nothing in the transcript is a sign of one.
pub fn scripted(id: &str, home: &Path, cwd: &Path) {
    let mut rollout = Rollout::new(id, cwd);
    rollout.message("user", "Release it.");
    rollout.command("cat notes", 0, &"a line of notes\n".repeat(5_000));
    rollout.command("./release.sh", 0, "released");
    rollout.message("assistant", "The next version can be built now.");
    rollout.line("event_msg", &json!({ "type": "task_complete" }));
    rollout.write(home);
}

/// Tells of the turn's end until the decision knows the repository.
pub async fn decided_with_repository(client: &mut Client, thread: &str) -> Value {
    let looked = async {
        loop {
            let stepped = step(client, thread, json!({ "kind": "turn_ended" })).await;
            let reasons = stepped["decision"]["reasons"].to_string();
            if reasons.contains("\"repository\"") {
                return stepped["decision"].clone();
            }
        }
    };
    soon("a look at the repository", looked).await
}

#[tokio::test]
async fn a_commit_that_only_the_repository_tells_of_is_a_sign_and_is_kept_with_the_decision() {
    let home = tempfile::tempdir().unwrap();
    let cwd = home.path().join("project");
    repository(&cwd);
    scripted(ONE, home.path(), &cwd);
    scripted(TWO, home.path(), home.path());
    let (_daemon, mut client) = daemon(home, "").await;
    let decision = decided_with_repository(&mut client, ONE).await;
    assert_eq!(decision["boundaries"], json!(["commit", "turn_complete"]), "{decision}");
    assert_eq!(decision["action"], "compact");
    let log = ask(&mut client, "policy/log", json!({ "thread_id": ONE })).await;
    let newest = &log["decisions"][0];
    let seen = &newest["repository"];
    assert_eq!((&seen["branch"], &seen["commits_in_turn"]), (&json!("topic"), &json!(1)), "{log}");
    assert_eq!(seen["commits"][0]["subject"], "release 1");
    assert!(seen["summary"].as_str().unwrap().starts_with("topic at "), "{seen}");
    let again = json!({ "decision_id": newest["decision"]["decision_id"] });
    let again = ask(&mut client, "policy/explain", again).await;
    assert_eq!((&again["is_reproduced"], &again["logged"]["repository"]), (&json!(true), seen));
    // A thread in no repository is decided on as ever.
    let other = step(&mut client, TWO, json!({ "kind": "turn_ended" })).await;
    assert_eq!(other["decision"]["boundaries"], json!(["turn_complete"]));
}

#[tokio::test]
async fn whose_a_commit_is_cannot_be_told_where_two_sessions_work_in_a_folder() {
    let home = tempfile::tempdir().unwrap();
    let cwd = home.path().join("project");
    repository(&cwd);
    scripted(ONE, home.path(), &cwd);
    scripted(TWO, home.path(), &cwd);
    let (_daemon, mut client) = daemon(home, "").await;
    let decision = decided_with_repository(&mut client, ONE).await;
    assert_eq!(decision["boundaries"], json!(["turn_complete"]), "{decision}");
    assert!(decision["reasons"].to_string().contains("may be another session's"), "{decision}");
}

#[tokio::test]
async fn repositories_are_not_looked_at_where_that_is_switched_off() {
    let home = tempfile::tempdir().unwrap();
    let cwd = home.path().join("project");
    repository(&cwd);
    scripted(ONE, home.path(), &cwd);
    scripted(TWO, home.path(), &cwd);
    let (_daemon, mut client) = daemon(home, "[repository]\nobserve = false\n").await;
    let stepped = step(&mut client, ONE, json!({ "kind": "turn_ended" })).await;
    assert!(!stepped["decision"].to_string().contains("repository"), "{stepped}");
}

/// A model that is a program; a mark for each time it is asked lies in `asked`.
fn reader(home: &Path, answer: &str) -> String {
    let asked = home.join("asked");
    let script = format!("cat > /dev/null; echo >> '{}'; {answer}", asked.display());
    format!(
        "[policy]\nsemantic = \"model\"\njudgment_timeout_ms = 5000\n\
         [model]\nprovider = \"reader\"\nname = \"r\"\n\
         [providers.reader]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", {}]\n",
        json!(script)
    )
}

#[tokio::test]
async fn a_model_reads_the_words_where_a_policy_says_so_and_the_phrases_count_where_it_cannot() {
    let signs = r#"{"agent_done":false,"topic_shift":true,"concluding_thought":false}"#;
    for (answer, expected, words) in [
        (format!("printf '%s' '{signs}'"), ["commit", "topic_shift"], "a model read topic_shift"),
        ("exit 3".to_owned(), ["commit", "agent_done"], "the phrase lists count"),
        ("echo no".to_owned(), ["commit", "agent_done"], "the phrase lists count"),
    ] {
        let home = home();
        let text = reader(home.path(), &answer);
        let (daemon, mut client) = daemon(home, &text).await;
        // Who only looks spends nothing.
        let params = json!({ "thread_id": ONE, "context_window": WINDOW });
        ask(&mut client, "policy/evaluate", params).await;
        assert!(!daemon.home.path().join("asked").exists());
        let stepped = step(&mut client, ONE, json!({ "kind": "turn_ended" })).await;
        let boundaries = stepped["decision"]["boundaries"].as_array().unwrap();
        assert_eq!(boundaries[..2], expected, "{stepped}");
        assert!(stepped["decision"]["reasons"].to_string().contains(words), "{stepped}");
        step(&mut client, ONE, json!({ "kind": "turn_ended" })).await;
        let asked = fs::read_to_string(daemon.home.path().join("asked")).unwrap();
        assert_eq!(asked.lines().count(), 1, "once for the same words");
    }
}

#[tokio::test]
async fn who_asks_twice_adds_nothing_to_the_log() {
    let text = "[shadow_policy.lazy.asap]\npercent_remaining_lt = 60\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let params = json!({ "thread_id": ONE, "context_window": WINDOW, "record": true });
    let mut ids = Vec::new();
    for _ in 0..3 {
        let found = ask(&mut client, "policy/evaluate", params.clone()).await;
        ids.push(found["decision"]["decision_id"].clone());
        let log = ask(&mut client, "policy/log", json!({ "thread_id": ONE })).await;
        assert_eq!(log["decisions"].as_array().unwrap().len(), 2, "one a policy: {log}");
    }
    assert!(ids[0].is_string() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    // The middle of the turn is another place, once.
    for _ in 0..3 {
        step(&mut client, ONE, json!({ "kind": "mid_turn" })).await;
    }
    let log = ask(&mut client, "policy/log", json!({ "thread_id": ONE })).await;
    assert_eq!(log["decisions"].as_array().unwrap().len(), 3, "{log}");
}

#[tokio::test]
async fn off_decides_and_does_nothing() {
    let (_daemon, mut client) = daemon(home(), "[policy]\nmode = \"off\"\n").await;
    let stepped = step(&mut client, ONE, json!({ "kind": "turn_ended" })).await;
    assert_eq!(stepped["decision"]["action"], "compact", "{stepped}");
    assert_eq!(effects(&stepped), [""; 0]);
    assert_eq!(stepped["watcher"]["phase"], "idle");
}

/// Defect 7.13.6: a watcher's compaction was written by a model of its own that nobody had chosen.
#[tokio::test]
async fn defect_7_13_6_a_watcher_s_compaction_asks_the_same_model_unless_another_is_chosen() {
    let other = "compaction_model = \"other\"\n";
    let harder = "compaction_effort = \"high\"\n";
    for (key, expected, effort) in
        [("", "mine", Value::Null), (other, "other", Value::Null), (harder, "mine", json!("high"))]
    {
        let home = home();
        let asked = home.path().join("asked");
        let script = format!("cat > '{}'; exit 1", asked.display());
        let text = format!(
            "[policy]\nmode = \"auto\"\n{key}[model]\nprovider = \"p\"\nname = \"mine\"\n\
             [providers.p]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", {}]\n",
            json!(script)
        );
        let (_daemon, mut client) = daemon(home, &text).await;
        assert_eq!(
            effects(&step(&mut client, ONE, json!({ "kind": "turn_ended" })).await),
            ["compact"]
        );
        ask(&mut client, "compaction/run", json!({ "thread_id": ONE })).await;
        let body: Value = serde_json::from_slice(&fs::read(&asked).unwrap()).unwrap();
        let found = (&body["model"], &body["reasoning"]["effort"]);
        assert_eq!(found, (&json!(expected), &effort), "{body}");
    }
}

/// A daemon at the time of the transcripts.
async fn at_their_time(text: &str) -> (Daemon, Client) {
    let daemon = Daemon::with_config(text).await;
    // 2026-03-02T09:16:00Z.
    daemon.clock.advance_ms(1_772_442_960_000 - daemon.clock.now_ms());
    let client = daemon.connect().await;
    (daemon, client)
}

async fn decisions(client: &mut Client, thread: &str) -> Vec<Value> {
    let log = client.call("policy/log", json!({ "thread_id": thread })).await;
    log["result"]["decisions"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn live_threads_are_decided_on_as_their_turns_end_and_old_ones_are_not() {
    let text = format!(
        "[context]\nwindow_tokens = {WINDOW}\n[shadow_policy.keen.early]\npercent_remaining_lt = 95\n"
    );
    let (daemon, mut client) = at_their_time(&text).await;
    let home = daemon.home.path();
    let mut rollout = crate::policy::thread(ONE, home);
    let path = rollout.write(home);
    let logged = async { while decisions(&mut client, ONE).await.len() < 2 {} };
    soon("a decision of each policy", logged).await;
    let first = decisions(&mut client, ONE).await;
    assert_eq!(first.len(), 2, "once a turn: {first:?}");
    assert_eq!((&first[0]["is_shadow"], &first[1]["is_shadow"]), (&json!(true), &json!(false)));

    let seq = rollout.seq();
    rollout.message("user", "And the tests?");
    rollout.message("assistant", "They are done.");
    rollout.line("event_msg", &json!({ "type": "task_complete" }));
    rollout.append(&path, seq);
    let logged = async { while decisions(&mut client, ONE).await.len() < 4 {} };
    soon("decisions on the next turn", logged).await;
    assert_eq!(decisions(&mut client, ONE).await[0]["turn"], 2);

    // An hour later the same lines are a transcript of the past.
    daemon.clock.advance_ms(3_600_000);
    crate::policy::thread(TWO, home).write(home);
    client.call("thread/sync", json!({ "thread_id": TWO })).await;
    assert_eq!(decisions(&mut client, TWO).await.len(), 0);
}
