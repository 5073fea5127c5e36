//! Inputs of decisions besides the transcript: the repository, and a model that reads the agent's words. And their log.

use std::fs;
use std::path::Path;
use std::process::Command;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::policy::{
    Decision, EvaluateParams, Log, LogParams, LoggedDecision, StepEvent,
};
use serde_json::{Value, json};

use crate::policy::{
    ONE, TWO, WINDOW, daemon, decision_of, effects, effects_of, evaluate, explain, home, in_window,
    log, step, turn_ended,
};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, found, of_thread, soon, text_at};

/// A repository with a commit at the time of the transcripts' turns.
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

/// A turn in which a script made the commit: the transcript shows no sign of it.
pub fn scripted(id: &str, home: &Path, cwd: &Path) {
    let mut rollout = Rollout::new(id, cwd);
    rollout.message("user", "Release it.");
    rollout.command("cat notes", 0, &"a line of notes\n".repeat(5_000));
    rollout.command("./release.sh", 0, "released");
    rollout.message("assistant", "The next version can be built now.");
    rollout.turn_ended();
    rollout.write(home);
}

/// Steps to the turn's end until the decision includes the repository.
pub async fn decision_with_repository(client: &mut Client, thread: &str) -> Decision {
    found("a look at the repository", async || {
        let stepped = step(client, thread, turn_ended()).await;
        let decision = decision_of(&stepped).clone();
        decision.reasons.iter().any(|reason| reason.rule == "repository").then_some(decision)
    })
    .await
}

#[tokio::test]
async fn a_commit_that_only_the_repository_shows_is_a_boundary_and_is_kept_with_the_decision() {
    let home = tempfile::tempdir().unwrap();
    let cwd = home.path().join("project");
    repository(&cwd);
    scripted(ONE, home.path(), &cwd);
    scripted(TWO, home.path(), home.path());
    let (_daemon, mut client) = daemon(home, "").await;
    let decision = decision_with_repository(&mut client, ONE).await;
    assert_eq!(decision.boundaries, ["commit", "turn_complete"], "{decision:?}");
    assert_eq!(decision.action, "compact");
    let log = log(&mut client, ONE).await;
    let newest = &log.decisions[0];
    let seen = newest.repository.as_ref().unwrap();
    assert_eq!((seen.branch.as_deref(), seen.commits_in_turn), (Some("topic"), 1), "{seen:?}");
    assert_eq!(seen.commits[0].subject, "release 1");
    assert_eq!(seen.head.as_ref(), Some(&seen.commits[0].id));
    assert!(seen.summary.starts_with("topic at "), "{seen:?}");
    let again = explain(&mut client, &newest.decision).await;
    assert!(again.is_reproduced);
    assert_eq!(again.logged.repository.as_ref(), Some(seen));
    // A thread outside a repository is decided as before.
    let other = step(&mut client, TWO, turn_ended()).await;
    assert_eq!(decision_of(&other).boundaries, ["turn_complete"]);
}

#[tokio::test]
async fn a_commit_where_two_sessions_share_a_folder_is_no_boundary() {
    let home = tempfile::tempdir().unwrap();
    let cwd = home.path().join("project");
    repository(&cwd);
    scripted(ONE, home.path(), &cwd);
    scripted(TWO, home.path(), &cwd);
    let (_daemon, mut client) = daemon(home, "").await;
    let decision = decision_with_repository(&mut client, ONE).await;
    assert_eq!(decision.boundaries, ["turn_complete"], "{decision:?}");
    let mut texts = decision.reasons.iter().map(|reason| reason.text.as_str());
    assert!(texts.any(|text| text.contains("may be another session's")), "{decision:?}");
}

#[tokio::test]
async fn repositories_are_not_inspected_if_disabled() {
    let home = tempfile::tempdir().unwrap();
    let cwd = home.path().join("project");
    repository(&cwd);
    scripted(ONE, home.path(), &cwd);
    scripted(TWO, home.path(), &cwd);
    let (_daemon, mut client) = daemon(home, "[repository]\nobserve = false\n").await;
    let stepped = step(&mut client, ONE, turn_ended()).await;
    let decision = decision_of(&stepped);
    assert_eq!(decision.boundaries, ["turn_complete"], "{decision:?}");
    assert!(!decision.reasons.iter().any(|reason| reason.rule == "repository"), "{decision:?}");
    assert_eq!(evaluate(&mut client, in_window(ONE)).await.repository, None);
}

/// A model that is a program and adds a mark to `asked` for each question.
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
async fn a_model_reads_the_words_if_configured_and_phrase_lists_count_if_it_fails() {
    let signs = r#"{"agent_done":false,"topic_shift":true,"concluding_thought":false}"#;
    for (answer, expected, words) in [
        (
            format!("printf '%s' '{signs}'"),
            ["commit", "topic_shift"],
            "the model found topic_shift",
        ),
        ("exit 3".to_owned(), ["commit", "agent_done"], "the phrase lists decide"),
        ("echo no".to_owned(), ["commit", "agent_done"], "the phrase lists decide"),
    ] {
        let home = home();
        let text = reader(home.path(), &answer);
        let (daemon, mut client) = daemon(home, &text).await;
        // An evaluation without a record spends nothing.
        evaluate(&mut client, in_window(ONE)).await;
        assert!(!daemon.home.path().join("asked").exists());
        let stepped = step(&mut client, ONE, turn_ended()).await;
        let decision = decision_of(&stepped);
        assert_eq!(decision.boundaries[..2], expected, "{decision:?}");
        let mut texts = decision.reasons.iter().map(|reason| reason.text.as_str());
        assert!(texts.any(|text| text.contains(words)), "{decision:?}");
        step(&mut client, ONE, turn_ended()).await;
        let asked = fs::read_to_string(daemon.home.path().join("asked")).unwrap();
        assert_eq!(asked.lines().count(), 1, "once for the same words");
    }
}

#[tokio::test]
async fn evaluating_twice_adds_nothing_to_the_log() {
    let text = "[shadow_policy.lazy.asap]\npercent_remaining_lt = 60\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let params = EvaluateParams { record: Some(true), ..in_window(ONE) };
    let mut ids = Vec::new();
    for _ in 0..3 {
        let found = evaluate(&mut client, params.clone()).await;
        ids.push(found.decision.decision_id.unwrap());
        let log = log(&mut client, ONE).await;
        assert_eq!(log.decisions.len(), 2, "one a policy: {log:?}");
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    // The middle of the turn is another point, logged once.
    for _ in 0..3 {
        step(&mut client, ONE, StepEvent::MidTurn { boundaries: None, compact_only: None }).await;
    }
    assert_eq!(log(&mut client, ONE).await.decisions.len(), 3);
}

#[tokio::test]
async fn the_mode_off_decides_and_does_nothing() {
    let (_daemon, mut client) = daemon(home(), "[policy]\nmode = \"off\"\n").await;
    let stepped = step(&mut client, ONE, turn_ended()).await;
    assert_eq!(decision_of(&stepped).action, "compact");
    assert_eq!(effects(&stepped), [""; 0]);
    assert_eq!((stepped.watcher.phase.as_str(), stepped.watcher.mode.as_str()), ("idle", "off"));
}

/// Defect 7.13.6: a watcher's compaction used a model that was not configured.
#[tokio::test]
async fn defect_7_13_6_a_watchers_compaction_asks_the_same_model_unless_another_is_chosen() {
    let other = "compaction_model = \"other\"\n";
    let harder = "compaction_effort = \"high\"\n";
    for (key, expected, effort) in
        [("", "mine", None), (other, "other", None), (harder, "mine", Some("high"))]
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
        assert_eq!(effects_of(&mut client, ONE, turn_ended()).await, ["compact"]);
        client.compact(of_thread(ONE)).await;
        let body: Value = serde_json::from_slice(&fs::read(&asked).unwrap()).unwrap();
        assert_eq!(text_at(&body, "model"), expected);
        assert_eq!(body.pointer("/reasoning/effort").and_then(Value::as_str), effort, "{body}");
    }
}

/// A daemon whose clock shows the time of the transcripts.
async fn at_their_time(text: &str) -> (Daemon, Client) {
    let daemon = Daemon::with_config(text).await;
    // 2026-03-02T09:16:00Z.
    daemon.clock.advance_ms(1_772_442_960_000 - daemon.clock.now_ms());
    let client = daemon.connect().await;
    (daemon, client)
}

/// The logged decisions of a thread, which may not be ingested yet.
async fn decisions(client: &mut Client, thread: &str) -> Vec<LoggedDecision> {
    let params = LogParams { thread_id: Some(thread.into()), ..Default::default() };
    match client.call::<Log>(params).await {
        Ok(log) => log.decisions,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::ThreadNotFound);
            Vec::new()
        }
    }
}

#[tokio::test]
async fn live_threads_get_decisions_as_their_turns_end_and_old_ones_do_not() {
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
    assert_eq!((first[0].is_shadow, first[1].is_shadow), (true, false));
    assert_eq!((first[0].decision.policy.as_str(), first[0].turn), ("keen", 1));

    rollout.message("user", "And the tests?");
    rollout.message("assistant", "They are done.");
    rollout.turn_ended();
    rollout.append(&path);
    let logged = async { while decisions(&mut client, ONE).await.len() < 4 {} };
    soon("decisions on the next turn", logged).await;
    assert_eq!(decisions(&mut client, ONE).await[0].turn, 2);

    // An hour later, the same lines are a transcript of the past.
    daemon.clock.advance_ms(3_600_000);
    crate::policy::thread(TWO, home).write(home);
    client.sync(TWO).await;
    assert_eq!(decisions(&mut client, TWO).await, []);
}
