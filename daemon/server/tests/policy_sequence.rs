//! The watcher's sequence in whole daemons: killed in every state, a compaction that never comes, sessions
//! side by side.

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::policy::{ONE, TWO, WINDOW, ask, daemon, effects, home, step, thread};
use crate::support::{Client, Process, config_under};

/// Tells of an event, kills the daemon as soon as it has answered, and starts the next one over the same
/// folders; the place of the watcher must be what it was.
async fn told_and_killed(home: &TempDir, event: Value, phase: &str) -> Value {
    let process = Process::start(home.path()).await;
    let mut client = Client::connect(&process.socket).await;
    client.call("thread/sync", json!({ "thread_id": ONE })).await;
    let stepped = step(&mut client, ONE, event).await;
    assert_eq!(stepped["watcher"]["phase"], phase, "{stepped}");
    process.signal(Signal::KILL);
    process.exit_code().await;

    let process = Process::start(home.path()).await;
    let mut client = Client::connect(&process.socket).await;
    client.call("thread/sync", json!({ "thread_id": ONE })).await;
    let found = ask(&mut client, "policy/evaluate", json!({ "thread_id": ONE })).await;
    assert_eq!(found["watcher"], stepped["watcher"], "after the kill");
    // Whoever lost that answer with the daemon gets it again, and it changes nothing.
    if phase != "idle" && effects(&stepped) != ["hold_message"] {
        let again = step(&mut client, ONE, json!({ "kind": "resume" })).await;
        let last = |step: &Value| step["effects"].as_array().unwrap().last().cloned();
        assert_eq!(last(&again), last(&stepped), "{again}");
        assert_eq!(again["watcher"], stepped["watcher"]);
    }
    process.signal(Signal::KILL);
    process.exit_code().await;
    stepped
}

fn configured(text: &str) -> TempDir {
    let home = home();
    config_under(home.path(), text);
    home
}

/// Every state there is, each killed with SIGKILL and gone on from: judgment → scratch → compacting (and a
/// message held back in it) → idle; packet; and the compaction that waits for the user's next message.
#[tokio::test]
async fn a_daemon_killed_in_any_state_goes_on_where_it_was() {
    let all = "[policy]\nmode = \"auto\"\njudge = \"client\"\nscratch = true\nwait_ms = 86400000\n\
               judgment_timeout_ms = 600000\n[policy.asap]\njudgment = true\n";
    let home = configured(all);
    let turn = json!({ "kind": "turn_ended" });
    let asked = told_and_killed(&home, turn.clone(), "awaiting_judgment").await;
    let request_id = &asked["effects"][0]["request_id"];
    let yes = json!({ "kind": "judged", "request_id": request_id, "should_compact": true });
    told_and_killed(&home, yes, "awaiting_scratch").await;
    let written = told_and_killed(&home, turn.clone(), "compacting").await;
    assert_eq!(effects(&written), ["compact"]);
    let held = told_and_killed(&home, json!({ "kind": "user_message" }), "compacting").await;
    assert_eq!((effects(&held), &held["watcher"]["held"]), (vec!["hold_message"], &json!(true)));
    let made = json!({ "kind": "compacted", "tokens_after": 900 });
    let done = told_and_killed(&home, made, "idle").await;
    assert_eq!(effects(&done), ["inject_handoff", "release_message"]);

    let agent = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\nwait_ms = 86400000\n";
    let home = configured(agent);
    told_and_killed(&home, turn.clone(), "awaiting_packet").await;
    let failed = json!({ "kind": "turn_ended", "message": "my packet" });
    told_and_killed(&home, failed, "compacting").await;
    let failed = json!({ "kind": "compaction_failed", "reason": "no room" });
    let failed = told_and_killed(&home, failed, "idle").await;
    assert_eq!(failed["watcher"]["packet_kept"], true);

    let later =
        "[policy]\nmode = \"auto\"\n[policy.asap]\nrequires_any_boundary = [\"turn_complete\"]\n";
    let home = configured(later);
    let deferred = told_and_killed(&home, turn, "idle").await;
    assert_eq!(deferred["watcher"]["deferred"], true);
    let message = told_and_killed(&home, json!({ "kind": "user_message" }), "compacting").await;
    assert_eq!(effects(&message), ["hold_message", "compact"]);
}

/// Defect 7.5: a compaction that never came left its packet nowhere. It is kept, told of, and goes with
/// the next attempt, which needs growth.
#[tokio::test]
async fn defect_7_5_the_packet_of_a_vanished_compaction_goes_with_the_next_one() {
    let text = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\nwait_ms = 60000\n";
    let home = home();
    let mut rollout = thread(ONE, home.path());
    let path = rollout.write(home.path());
    let (daemon, mut client) = daemon(home, text).await;
    let turn = json!({ "kind": "turn_ended" });
    assert_eq!(effects(&step(&mut client, ONE, turn.clone()).await), ["request_packet"]);
    let packet = json!({ "kind": "turn_ended", "message": "Next: the docs." });
    assert_eq!(effects(&step(&mut client, ONE, packet).await), ["compact"]);
    daemon.clock.advance_ms(60_001);
    // Nobody has told the watcher of anything since; its packet is of another time all the same.
    let run = json!({ "thread_id": ONE, "max_tokens": 600 });
    let another = ask(&mut client, "compaction/run", run).await;
    assert!(!another["view"].as_str().unwrap().contains("[PACKET]"), "{another}");
    let late = step(&mut client, ONE, json!({ "kind": "tick" })).await;
    assert_eq!((effects(&late), &late["watcher"]["phase"]), (vec!["warn"], &json!("idle")));
    assert_eq!(late["watcher"]["packet_kept"], true);
    assert_eq!(effects(&step(&mut client, ONE, turn.clone()).await), [""; 0], "no growth yet");

    let seq = rollout.seq();
    rollout.message("user", "Go on.");
    rollout.command("cat more", 0, &"another line\n".repeat(2_000));
    rollout.command("git commit -qm more", 0, "");
    rollout.message("assistant", "Done.");
    rollout.line("event_msg", &json!({ "type": "task_complete" }));
    rollout.append(&path, seq);
    let bytes = std::fs::metadata(&path).unwrap().len();
    ask(&mut client, "thread/sync", json!({ "thread_id": ONE, "min_offset": bytes })).await;
    assert_eq!(effects(&step(&mut client, ONE, turn).await), ["request_packet"]);
    // The agent says nothing this time: what it wrote before is taken.
    let silent = json!({ "kind": "turn_ended", "message": "" });
    let again = step(&mut client, ONE, silent).await;
    assert_eq!(again["effects"][0]["packet"], "Next: the docs.", "{again}");
    assert_eq!(again["watcher"]["packet_kept"], false);
}

/// Many clients tell of two threads at once: each thread goes its own way, and no step is lost or doubled.
#[tokio::test]
async fn sessions_side_by_side_never_mix() {
    let text = "[policy]\nmode = \"auto\"\njudge = \"client\"\n[policy.asap]\njudgment = true\n";
    let (daemon, mut client) = daemon(home(), text).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..16 {
        let mut client = daemon.connect().await;
        let thread = if n % 2 == 0 { ONE } else { TWO };
        tasks.spawn(async move {
            let stepped = step(&mut client, thread, json!({ "kind": "turn_ended" })).await;
            (thread, effects(&stepped).join(" "))
        });
    }
    let mut asked: Vec<_> = tasks.join_all().await;
    asked.retain(|(_, effects)| !effects.is_empty());
    asked.sort_unstable();
    let one_each = [(ONE, "ask_judgment".to_owned()), (TWO, "ask_judgment".to_owned())];
    assert_eq!(asked, one_each, "of eight that told the same, one is asked to act");
    // The answer to one thread's question moves that thread alone.
    let yes = json!({ "kind": "judged", "request_id": "judgment-1", "should_compact": true });
    assert_eq!(effects(&step(&mut client, ONE, yes).await), ["compact"]);
    let other = ask(&mut client, "policy/evaluate", json!({ "thread_id": TWO })).await;
    assert_eq!(other["watcher"]["phase"], "awaiting_judgment");
    assert_eq!(other["watcher"]["state"]["phase"]["trigger"]["turn"], 1);
}

/// A hook can tell the person and nothing else: what would be begun is told, and begun by no one.
#[tokio::test]
async fn who_can_only_tell_is_given_words_and_nothing_to_do() {
    let (_daemon, mut client) = daemon(home(), "[policy]\nmode = \"auto\"\n").await;
    let seen = json!({ "kind": "turn_ended", "message": "Done.", "notify_only": true });
    let told = step(&mut client, ONE, seen.clone()).await;
    assert_eq!((effects(&told), &told["watcher"]["phase"]), (vec!["notify"], &json!("idle")));
    let text = told["effects"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("(asap: commit, agent done): a good moment to compact"), "{text}");
    assert_eq!(told["decision"]["action"], "compact");
    assert_eq!(effects(&step(&mut client, ONE, seen.clone()).await), [""; 0], "said once");
    // Who can do it is asked to, whatever a hook was told.
    let turn = json!({ "kind": "turn_ended" });
    assert_eq!(effects(&step(&mut client, ONE, turn).await), ["compact"]);
    let beside = step(&mut client, ONE, seen).await;
    assert_eq!((effects(&beside), &beside["watcher"]["phase"]), (vec![], &json!("compacting")));
}

/// What a client saw and no transcript tells, such as a commit in an editor, is a sign like any other and is
/// kept with the decision.
#[tokio::test]
async fn signs_that_a_client_saw_count_and_stay_with_the_decision() {
    let home = tempfile::tempdir().unwrap();
    let mut quiet = crate::rollout::Rollout::new(ONE, home.path());
    quiet.message("user", "Look around.");
    quiet.command("cat src/fetch.rs", 0, &"a line of code\n".repeat(5_000));
    quiet.message("assistant", "The fetcher has no retry.");
    quiet.write(home.path());
    thread(TWO, home.path()).write(home.path());
    let (_daemon, mut client) = daemon(home, "").await;
    let turn = json!({ "kind": "turn_ended" });
    assert_eq!(effects(&step(&mut client, ONE, turn).await), [""; 0]);
    let saw = json!({ "kind": "turn_ended", "boundaries": ["commit"] });
    let told = step(&mut client, ONE, saw).await;
    assert_eq!(effects(&told), ["notify"], "{told}");
    let explain = json!({ "decision_id": told["decision"]["decision_id"] });
    let again = ask(&mut client, "policy/explain", explain).await;
    assert_eq!(
        (&again["is_reproduced"], &again["decision"]["satisfied"]),
        (&json!(true), &json!(["commit"]))
    );
    let params = |name: &str| {
        let event = json!({ "kind": "mid_turn", "boundaries": [name] });
        json!({ "thread_id": ONE, "event": event, "context_window": WINDOW })
    };
    for name in ["comit", "turn_complete"] {
        let refused = client.call("policy/step", params(name)).await;
        assert_eq!(crate::support::kind(&refused), "invalid_params", "{refused}");
        assert!(refused["error"]["data"]["hint"].as_str().unwrap().contains("pr_checkpoint"));
    }
}
