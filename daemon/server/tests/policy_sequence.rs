//! The watcher's sequence in whole daemons: killed in every state, a compaction that never happens, concurrent sessions.

use longhaul_protocol::compaction::RunParams;
use longhaul_protocol::policy::{Effect, EvaluateParams, Step, StepEvent, StepResult};
use longhaul_protocol::thread::{Sync, SyncParams};
use longhaul_protocol::{ErrorKind, policy};
use tempfile::TempDir;

use crate::policy::{
    ONE, TWO, compacted, compaction_failed, daemon, decision_of, effects, effects_of, evaluate,
    explain, home, judged, step, step_params, thread, turn_ended, turn_ended_with, user_message,
};
use crate::support::rollout::Rollout;
use crate::support::{Client, Process, configure, field, of_thread};

async fn watcher_of(client: &mut Client, thread: &str) -> policy::Watcher {
    let params = EvaluateParams { thread_id: thread.into(), ..Default::default() };
    evaluate(client, params).await.watcher
}

/// Steps, kills the daemon after its answer, and starts the next one with the same folders; the watcher's state must be the
/// same.
async fn step_and_kill(home: &TempDir, event: StepEvent, phase: &str) -> StepResult {
    let (process, mut client) = Process::with_client(home.path()).await;
    client.sync(ONE).await;
    let stepped = step(&mut client, ONE, event).await;
    assert_eq!(stepped.watcher.phase, phase, "{stepped:?}");
    process.killed().await;

    let (process, mut client) = Process::with_client(home.path()).await;
    client.sync(ONE).await;
    assert_eq!(watcher_of(&mut client, ONE).await, stepped.watcher, "after the kill");
    // A client that lost the answer gets it again, without a change of state.
    if phase != "idle" && effects(&stepped) != ["hold_message"] {
        let again = step(&mut client, ONE, StepEvent::Resume {}).await;
        assert_eq!(again.effects.last(), stepped.effects.last(), "{again:?}");
        assert_eq!(again.watcher, stepped.watcher);
    }
    process.killed().await;
    stepped
}

fn configured(text: &str) -> TempDir {
    let home = home();
    configure(home.path(), text);
    home
}

/// Every state, each killed with SIGKILL and continued: judgment → scratch → compacting (with a held message) → idle; packet;
/// and a compaction that waits for the user's next message.
#[tokio::test]
async fn a_daemon_killed_in_any_state_continues_where_it_was() {
    let all = "[policy]\nmode = \"auto\"\njudge = \"client\"\nscratch = true\nwait_ms = 86400000\n\
               judgment_timeout_ms = 600000\n[policy.asap]\njudgment = true\n";
    let home = configured(all);
    let asked = step_and_kill(&home, turn_ended(), "awaiting_judgment").await;
    let yes = judged(asked.effects[0].request_id.as_ref().unwrap());
    step_and_kill(&home, yes, "awaiting_scratch").await;
    let written = step_and_kill(&home, turn_ended(), "compacting").await;
    assert_eq!(effects(&written), ["compact"]);
    let held = step_and_kill(&home, user_message(), "compacting").await;
    assert_eq!((effects(&held), held.watcher.held), (vec!["hold_message"], true));
    let done = step_and_kill(&home, compacted(900), "idle").await;
    assert_eq!(effects(&done), ["inject_handoff", "release_message"]);

    let agent = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\nwait_ms = 86400000\n";
    let home = configured(agent);
    step_and_kill(&home, turn_ended(), "awaiting_packet").await;
    step_and_kill(&home, turn_ended_with("my packet"), "compacting").await;
    let failed = step_and_kill(&home, compaction_failed(), "idle").await;
    assert!(failed.watcher.packet_kept);

    let later =
        "[policy]\nmode = \"auto\"\n[policy.asap]\nrequires_any_boundary = [\"turn_complete\"]\n";
    let home = configured(later);
    let deferred = step_and_kill(&home, turn_ended(), "idle").await;
    assert!(deferred.watcher.deferred);
    let message = step_and_kill(&home, user_message(), "compacting").await;
    assert_eq!(effects(&message), ["hold_message", "compact"]);
}

/// Defect 7.5: the packet of a compaction that never happened was lost. It is kept, reported, and used by the next attempt,
/// which needs growth.
#[tokio::test]
async fn defect_7_5_the_packet_of_a_vanished_compaction_goes_with_the_next_one() {
    let text = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\nwait_ms = 60000\n";
    let home = home();
    let mut rollout = thread(ONE, home.path());
    let path = rollout.write(home.path());
    let (daemon, mut client) = daemon(home, text).await;
    assert_eq!(effects_of(&mut client, ONE, turn_ended()).await, ["request_packet"]);
    let packet = "Next: the docs.";
    assert_eq!(effects_of(&mut client, ONE, turn_ended_with(packet)).await, ["compact"]);
    daemon.clock.advance_ms(60_001);
    // The watcher has not been told, but its packet is out of date.
    let another = client.compact(RunParams { max_tokens: Some(600), ..of_thread(ONE) }).await;
    assert!(!another.view.contains("[PACKET]"), "{}", another.view);
    let late = step(&mut client, ONE, StepEvent::Tick {}).await;
    assert_eq!((effects(&late), late.watcher.phase.as_str()), (vec!["warn"], "idle"));
    assert!(late.watcher.packet_kept);
    assert_eq!(effects_of(&mut client, ONE, turn_ended()).await, [""; 0], "no growth yet");

    rollout.message("user", "Go on.");
    rollout.command("cat more", 0, &"another line\n".repeat(2_000));
    rollout.command("git commit -qm more", 0, "");
    rollout.message("assistant", "Done.");
    rollout.turn_ended();
    rollout.append(&path);
    let bytes = std::fs::metadata(&path).unwrap().len();
    let sync =
        SyncParams { thread_id: Some(ONE.into()), min_offset: Some(bytes), ..Default::default() };
    client.call::<Sync>(sync).await.unwrap();
    assert_eq!(effects_of(&mut client, ONE, turn_ended()).await, ["request_packet"]);
    // The agent says nothing this time, so its earlier packet is used.
    let again = step(&mut client, ONE, turn_ended_with("")).await;
    assert_eq!(
        again.effects[0].packet.as_ref().map(|text| text.as_str()),
        Some(packet),
        "{again:?}"
    );
    assert!(!again.watcher.packet_kept);
}

/// Many clients step two threads concurrently: the threads are independent, and no step is lost or repeated.
#[tokio::test]
async fn concurrent_sessions_do_not_mix() {
    let text = "[policy]\nmode = \"auto\"\njudge = \"client\"\n[policy.asap]\njudgment = true\n";
    let (daemon, mut client) = daemon(home(), text).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..16 {
        let mut client = daemon.connect().await;
        let thread = if n % 2 == 0 { ONE } else { TWO };
        tasks.spawn(async move {
            let stepped = step(&mut client, thread, turn_ended()).await;
            (thread, effects(&stepped).join(" "))
        });
    }
    let mut asked: Vec<_> = tasks.join_all().await;
    asked.retain(|(_, effects)| !effects.is_empty());
    asked.sort_unstable();
    let one_each = [(ONE, "ask_judgment".to_owned()), (TWO, "ask_judgment".to_owned())];
    assert_eq!(asked, one_each, "of eight clients with the same event, one acts");
    // The answer to one thread's question affects only that thread.
    assert_eq!(effects_of(&mut client, ONE, judged("judgment-1")).await, ["compact"]);
    let other = watcher_of(&mut client, TWO).await;
    assert_eq!(other.phase, "awaiting_judgment");
    assert_eq!(*field(&other.state, "phase.trigger.turn"), 1);
}

/// A hook can only inform the person: effects are reported and not started.
#[tokio::test]
async fn a_hook_gets_text_and_no_effects() {
    let (_daemon, mut client) = daemon(home(), "[policy]\nmode = \"auto\"\n").await;
    let seen = || StepEvent::TurnEnded {
        message: Some("Done.".into()),
        boundaries: None,
        notify_only: Some(true),
        compact_only: None,
    };
    let stepped = step(&mut client, ONE, seen()).await;
    assert_eq!((effects(&stepped), stepped.watcher.phase.as_str()), (vec!["notify"], "idle"));
    let text = stepped.effects[0].text.as_ref().unwrap();
    assert!(text.ends_with("(asap: commit, agent done): a good moment to compact"), "{text}");
    assert_eq!(decision_of(&stepped).action, "compact");
    assert_eq!(effects_of(&mut client, ONE, seen()).await, [""; 0], "said once");
    // A client that can compact gets the effect, even after a hook was informed.
    assert_eq!(effects_of(&mut client, ONE, turn_ended()).await, ["compact"]);
    let beside = step(&mut client, ONE, seen()).await;
    assert_eq!(
        (beside.effects, beside.watcher.phase.as_str()),
        (Vec::<Effect>::new(), "compacting")
    );
}

/// Signs that only a client saw, such as a commit in an editor, count like others and are stored with the decision.
#[tokio::test]
async fn boundaries_reported_by_a_client_count_and_are_stored_with_the_decision() {
    let home = tempfile::tempdir().unwrap();
    let mut quiet = Rollout::new(ONE, home.path());
    quiet.message("user", "Look around.");
    quiet.command("cat src/fetch.rs", 0, &"a line of code\n".repeat(5_000));
    quiet.message("assistant", "The fetcher has no retry.");
    quiet.write(home.path());
    thread(TWO, home.path()).write(home.path());
    let (_daemon, mut client) = daemon(home, "").await;
    assert_eq!(effects_of(&mut client, ONE, turn_ended()).await, [""; 0]);
    let saw = StepEvent::TurnEnded {
        message: None,
        boundaries: Some(vec!["commit".into()]),
        notify_only: None,
        compact_only: None,
    };
    let stepped = step(&mut client, ONE, saw).await;
    assert_eq!(effects(&stepped), ["notify"], "{stepped:?}");
    let again = explain(&mut client, decision_of(&stepped)).await;
    assert!(again.is_reproduced);
    assert_eq!(again.decision.satisfied, ["commit"]);
    for name in ["comit", "turn_complete"] {
        let event = StepEvent::MidTurn { boundaries: Some(vec![name.into()]), compact_only: None };
        let error = client.call::<Step>(step_params(ONE, event)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{error:?}");
        assert!(error.data.unwrap().hint.unwrap().contains("pr_checkpoint"));
    }
}
