//! Clients that can only compact, such as the plugin of Claude Code: their effects, the log, and events.

use longhaul_protocol::compaction::{Phase, RunParams};
use longhaul_protocol::event::EventKind;
use longhaul_protocol::policy::{
    Check, CheckParams, EvaluateParams, LoggedDecision, Problem, Step, StepEvent,
};

use crate::policy::{
    ONE, WINDOW, daemon, decision_of, effects, effects_of, evaluate, home, in_window, log, step,
    step_params, thread, turn_ended,
};
use crate::support::{Client, Daemon, field, of_thread, soon, text_at};

/// Shortly after the transcripts of the tests were written.
const LIVE_MS: i64 = 1_772_442_960_000;

const ALL: &str = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\nscratch = true\n";

fn turn_ended_compact_only() -> StepEvent {
    let (message, boundaries, notify_only) = (None, None, None);
    StepEvent::TurnEnded { message, boundaries, notify_only, compact_only: Some(true) }
}

fn ended(reason: Option<&str>) -> StepEvent {
    StepEvent::CompactionEnded { tokens_after: None, reason: reason.map(str::to_owned) }
}

/// The thread's decisions for a compaction.
async fn wanted(client: &mut Client) -> Vec<LoggedDecision> {
    let mut decisions = log(client, ONE).await.decisions;
    decisions.retain(|logged| logged.decision.action != "wait");
    decisions
}

#[tokio::test]
async fn a_decision_is_carried_out_once_and_linked_to_its_compaction() {
    let (_daemon, mut client) = daemon(home(), ALL).await;
    // The daemon and a hook evaluate the same end of a turn.
    let recorded = EvaluateParams { record: Some(true), ..in_window(ONE) };
    evaluate(&mut client, recorded).await;
    let seen = StepEvent::TurnEnded {
        message: Some("Done.".into()),
        boundaries: None,
        notify_only: Some(true),
        compact_only: None,
    };
    step(&mut client, ONE, seen).await;
    let asked = step(&mut client, ONE, turn_ended_compact_only()).await;
    assert_eq!((effects(&asked), asked.watcher.phase.as_str()), (vec!["compact"], "compacting"));
    let run = client.compact(RunParams { max_tokens: Some(600), ..of_thread(ONE) }).await;
    assert!(!run.view.contains("[PACKET]"), "none was written: {}", run.view);
    let ended = step(&mut client, ONE, ended(None)).await;
    assert_eq!((effects(&ended), ended.watcher.phase.as_str()), (vec![], "idle"), "no handoff");

    let [logged] = &wanted(&mut client).await[..] else { panic!("one decision a turn") };
    assert_eq!(logged.compaction_id.as_deref(), Some(run.compaction_id.as_str()));
    assert_eq!(logged.decision.decision_id, decision_of(&asked).decision_id);
    let trigger = client.compaction(&run.compaction_id).await.policy.unwrap();
    assert_eq!(trigger.decision_id, logged.decision.decision_id);
}

#[tokio::test]
async fn an_impossible_compaction_is_logged_and_not_requested_again_without_growth() {
    let (_daemon, mut client) = daemon(home(), ALL).await;
    assert_eq!(effects_of(&mut client, ONE, turn_ended_compact_only()).await, ["compact"]);
    let why = "not available in a headless session";
    let failed = step(&mut client, ONE, ended(Some(why))).await;
    assert_eq!((effects(&failed), failed.watcher.packet_kept), (vec!["warn"], false));
    let logged = wanted(&mut client).await.remove(0);
    assert_eq!(logged.not_made, Some(format!("the compaction failed: {why}")));
    assert_eq!(logged.compaction_id, None);
    assert_eq!(effects_of(&mut client, ONE, turn_ended_compact_only()).await, [""; 0]);
    // It ends only what such a client began.
    let (_daemon, mut client) = daemon(home(), "[policy]\nmode = \"auto\"\n").await;
    assert_eq!(effects_of(&mut client, ONE, turn_ended()).await, ["compact"]);
    let other = step(&mut client, ONE, ended(None)).await;
    assert_eq!((effects(&other), other.watcher.phase.as_str()), (vec![], "compacting"));
}

/// Claude Code's plugin and Codex's gateway ask after every tool of a turn.
#[tokio::test]
async fn in_the_middle_of_a_turn_one_decision_is_carried_out_where_the_policy_says_so() {
    let mid_turn = || StepEvent::MidTurn { boundaries: None, compact_only: Some(true) };
    let (_daemon, mut client) = daemon(home(), ALL).await;
    let off = step(&mut client, ONE, mid_turn()).await;
    assert_eq!((effects(&off), off.decision.as_ref(), off.watcher.mid_turn), (vec![], None, false));
    assert_eq!(log(&mut client, ONE).await.decisions.len(), 0);

    let (_daemon, mut client) = daemon(home(), &format!("{ALL}mid_turn = true\n")).await;
    let asked = step(&mut client, ONE, mid_turn()).await;
    assert_eq!((effects(&asked), asked.watcher.mid_turn), (vec!["compact"], true));
    let params = RunParams { phase: Some(Phase::MidTurn), ..of_thread(ONE) };
    let params = RunParams { initial_context: Some(Vec::new()), ..params };
    let run = client.compact(params).await;
    let ended = step(&mut client, ONE, ended(None)).await;
    assert_eq!((effects(&ended), ended.watcher.phase.as_str()), (vec![], "idle"), "no handoff");
    let again = step(&mut client, ONE, mid_turn()).await;
    assert_eq!(effects(&again), [""; 0], "not again without growth");

    let [logged] = &wanted(&mut client).await[..] else { panic!("one decision") };
    assert_eq!(logged.compaction_id.as_deref(), Some(run.compaction_id.as_str()));
    let trigger = client.compaction(&run.compaction_id).await.policy.unwrap();
    assert_eq!(
        (trigger.point.as_str(), &trigger.decision_id),
        ("mid_turn", &logged.decision.decision_id)
    );
}

#[tokio::test]
async fn informing_modes_request_no_compaction_and_a_judge_without_a_model_falls_back() {
    for (text, expected) in [
        ("[policy]\nmode = \"off\"\n", vec![]),
        ("[policy]\nmode = \"suggest\"\n", vec!["notify"]),
        (
            "[policy]\nmode = \"auto\"\njudge = \"client\"\n[policy.asap]\njudgment = true\n",
            vec!["warn", "compact"],
        ),
        (
            "[policy]\nmode = \"auto\"\njudge = \"client\"\non_judgment_failure = \"wait\"\n\
             [policy.asap]\njudgment = true\n",
            vec!["notify"],
        ),
    ] {
        let (_daemon, mut client) = daemon(home(), text).await;
        let asked = effects_of(&mut client, ONE, turn_ended_compact_only()).await;
        assert_eq!(asked, expected, "{text}");
    }
}

#[tokio::test]
async fn decisions_and_limits_are_published_once() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = thread(ONE, home.path());
    let path = rollout.write(home.path());
    let clock = longhaul_daemon::clock::Clock::manual(LIVE_MS);
    let daemon = Daemon::on_clock(home, "", clock).await;
    let (mut listener, mut client) = (daemon.connect().await, daemon.connect().await);
    listener.subscribe(&[EventKind::PolicyDecided, EventKind::LimitCrossed]).await;
    client.sync(ONE).await;
    // The caller stated the window: there is a decision, but no limit known to the daemon.
    let stepped = step(&mut client, ONE, turn_ended_compact_only()).await;
    let event = soon("a decision", listener.event()).await;
    assert_eq!(event.kind, EventKind::PolicyDecided);
    let decision = decision_of(&stepped);
    assert_eq!(text_at(&event.data, "decision_id"), decision.decision_id.as_deref().unwrap());
    assert_eq!((text_at(&event.data, "thread_id"), text_at(&event.data, "tier")), (ONE, "asap"));
    // A repetition is not published. With the provider's count, the window is known and full.
    client.call::<Step>(step_params(ONE, turn_ended_compact_only())).await.unwrap();
    for total in [35_000, 35_500] {
        rollout.message("user", "Go on.").token_count(total, WINDOW);
        rollout.append(&path);
        client.sync_file(&path).await;
    }
    let event = soon("a limit", listener.event()).await;
    assert_eq!(event.kind, EventKind::LimitCrossed, "{event:?}");
    assert_eq!(*field(&event.data, "window"), WINDOW);
    let tokens = |name: &str| field(&event.data, name).as_u64().unwrap();
    assert!(tokens("tokens") >= tokens("limit"), "{event:?}");
    rollout.message("assistant", "Done.").turn_ended();
    rollout.append(&path);
    client.sync_file(&path).await;
    let event = soon("the next decision", listener.event()).await;
    assert_eq!(event.kind, EventKind::PolicyDecided, "the limit is reported once: {event:?}");
}

#[tokio::test]
async fn a_check_reports_settings_that_no_client_carries_out() {
    let text = format!("{ALL}judge = \"client\"\ncompaction_model = \"m\"\n");
    let (_daemon, mut client) = daemon(home(), &text).await;
    let checked = client.call::<Check>(CheckParams { toml: None }).await.unwrap();
    let keys: Vec<&str> = checked.problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["packet_author", "scratch", "judge", "compaction_model"]);
    assert!(checked.problems.iter().all(|problem| !problem.is_fatal), "{:?}", checked.problems);
    let stepped = "[policy]\nscratch = true\n[shadow_policy.keen]\nmode = \"auto\"\n";
    let checked = client.call::<Check>(CheckParams { toml: Some(stepped.into()) }).await.unwrap();
    let of = |problem: &Problem| format!("{} {}: {}", problem.policy, problem.key, problem.reason);
    let problems: Vec<String> = checked.problems.iter().map(of).collect();
    assert_eq!(
        problems,
        [
            "default scratch: mode = \"suggest\" only notifies",
            "keen mode: a shadow only decides and has no effects",
        ]
    );
}
