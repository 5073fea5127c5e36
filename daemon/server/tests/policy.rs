//! Policies end to end: decisions, the watcher across restarts, judges, texts.

use std::fs;
use std::path::Path;

use longhaul_client::briefing;
use longhaul_core::policy::replay::left_by_agents;
use longhaul_protocol::compaction::RunParams;
use longhaul_protocol::policy::{
    Evaluate, EvaluateParams, EvaluateResult, Explain, ExplainParams, ExplainResult, Log,
    LogParams, LogResult, Report, ReportParams, Step, StepEvent, StepParams, StepResult, Templates,
    TemplatesParams,
};
use longhaul_protocol::{ErrorKind, policy};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, of_thread};

pub const ONE: &str = "019cadd3-0000-7000-8000-0000000000a1";
pub const TWO: &str = "019cadd3-0000-7000-8000-0000000000a2";

/// Tokens of a window in which the threads below are at tier `asap`.
pub const WINDOW: u64 = 36_000;

pub fn thread(id: &str, home: &Path) -> Rollout {
    let mut rollout = Rollout::new(id, home);
    rollout.message("user", "Make the fetcher retry.");
    rollout.command("cat src/fetch.rs", 0, &"a line of code\n".repeat(5_000));
    rollout.command("git commit -qm retry", 0, "");
    rollout.message("assistant", "The retry is in. Done.");
    rollout.turn_ended();
    rollout
}

pub fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    thread(ONE, home.path()).write(home.path());
    thread(TWO, home.path()).write(home.path());
    home
}

pub async fn daemon(home: TempDir, text: &str) -> (Daemon, Client) {
    let (daemon, mut client) = Daemon::with_client(home, text).await;
    for thread in [ONE, TWO] {
        client.sync(thread).await;
    }
    (daemon, client)
}

pub fn step_params(thread: &str, event: StepEvent) -> StepParams {
    let context_window = Some(WINDOW);
    StepParams { thread_id: thread.into(), event, agent: None, model: None, context_window }
}

pub async fn step(client: &mut Client, thread: &str, event: StepEvent) -> StepResult {
    client.call::<Step>(step_params(thread, event)).await.unwrap()
}

pub fn turn_ended() -> StepEvent {
    StepEvent::TurnEnded { message: None, boundaries: None, notify_only: None, compact_only: None }
}

/// A turn that ends with this last message of the agent.
pub fn turn_ended_with(message: &str) -> StepEvent {
    StepEvent::TurnEnded {
        message: Some(message.into()),
        boundaries: None,
        notify_only: None,
        compact_only: None,
    }
}

pub fn user_message() -> StepEvent {
    StepEvent::UserMessage { is_shell: None, accepts_prefix: None }
}

pub fn compaction_failed() -> StepEvent {
    StepEvent::CompactionFailed { reason: "no room".into() }
}

pub fn compacted(tokens_after: u64) -> StepEvent {
    StepEvent::Compacted { tokens_after: Some(tokens_after), turn_end_follows: None }
}

/// The judge's yes to this request.
pub fn judged(request_id: &str) -> StepEvent {
    StepEvent::Judged {
        request_id: request_id.into(),
        should_compact: Some(true),
        reason: Some("the phase is over".into()),
    }
}

pub fn effects(stepped: &StepResult) -> Vec<&str> {
    stepped.effects.iter().map(|effect| effect.effect.as_str()).collect()
}

/// The names of the effects of this event.
pub async fn effects_of(client: &mut Client, thread: &str, event: StepEvent) -> Vec<String> {
    step(client, thread, event).await.effects.into_iter().map(|effect| effect.effect).collect()
}

pub fn decision_of(stepped: &StepResult) -> &policy::Decision {
    stepped.decision.as_ref().expect("a decision")
}

pub fn in_window(thread: &str) -> EvaluateParams {
    let context_window = Some(WINDOW);
    EvaluateParams { thread_id: thread.into(), context_window, ..Default::default() }
}

pub async fn evaluate(client: &mut Client, params: EvaluateParams) -> EvaluateResult {
    client.call::<Evaluate>(params).await.unwrap()
}

pub async fn log(client: &mut Client, thread: &str) -> LogResult {
    let params = LogParams { thread_id: Some(thread.into()), ..Default::default() };
    client.call::<Log>(params).await.unwrap()
}

pub async fn explain(client: &mut Client, decision: &policy::Decision) -> ExplainResult {
    let params = ExplainParams { decision_id: decision.decision_id.clone().unwrap() };
    client.call::<Explain>(params).await.unwrap()
}

#[tokio::test]
async fn a_decision_is_based_on_the_ingested_thread_and_is_reproducible_to_the_byte() {
    let text = "[shadow_policy.lazy.asap]\npercent_remaining_lt = 20\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let params = EvaluateParams { record: Some(true), ..in_window(ONE) };
    let found = evaluate(&mut client, params).await;
    assert_eq!((found.thread_id.as_str(), found.turn, found.window), (ONE, 1, WINDOW));
    let decision = &found.decision;
    assert_eq!((decision.action.as_str(), decision.tier.as_deref()), ("compact", Some("asap")));
    assert_eq!(decision.boundaries, ["commit", "agent_done", "turn_complete"]);
    let shadows: Vec<&str> = found.shadows.iter().map(|shadow| shadow.policy.as_str()).collect();
    assert_eq!(shadows, ["lazy"]);

    let log = log(&mut client, ONE).await;
    assert_eq!(log.decisions.len(), 2, "the shadow's, too: {log:?}");
    let kinds: Vec<&str> = log.events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["turn_started", "commit", "turn_complete"]);
    for logged in &log.decisions {
        assert_eq!((logged.thread_id.as_str(), logged.turn), (ONE, 1));
        let explained = explain(&mut client, &logged.decision).await;
        assert!(explained.is_reproduced);
        assert_eq!((&explained.decision, &explained.logged), (&logged.decision, logged));
    }
    let past = EvaluateParams { as_of: Some(1), ..in_window(ONE) };
    let past = evaluate(&mut client, past).await;
    assert_eq!((past.seq, past.decision.action.as_str()), (1, "wait"));
    assert!(past.decision.percent_remaining > found.decision.percent_remaining);
}

/// Defect 7.10: the reason for a compaction was only in memory, and was lost with the process.
#[tokio::test]
async fn defect_7_10_the_sequence_survives_restarts_and_the_compaction_says_why_it_was_made() {
    let text = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\n";
    let (daemon_1, mut client) = daemon(home(), text).await;
    assert_eq!(effects_of(&mut client, ONE, turn_ended()).await, ["request_packet"]);
    let (daemon_2, mut client) = daemon(daemon_1.stopped().await, text).await;
    let packet = "Next step: document the retry.";
    let written = step(&mut client, ONE, turn_ended_with(packet)).await;
    assert_eq!(effects(&written), ["compact"]);
    assert_eq!(written.effects[0].packet.as_ref().map(|text| text.as_str()), Some(packet));

    let (_daemon_3, mut client) = daemon(daemon_2.stopped().await, text).await;
    let run = client.compact(RunParams { max_tokens: Some(600), ..of_thread(ONE) }).await;
    let view = &run.view;
    assert!(view.starts_with("[PACKET]") && view.contains(packet), "{view}");
    assert!(view.len() <= 2_400, "{}", view.len());
    assert!(run.history.iter().any(|item| item.to_string().contains(packet)));
    let trigger = client.compaction(&run.compaction_id).await.policy.unwrap();
    assert_eq!((trigger.tier.as_str(), trigger.packet_author.as_str()), ("asap", "agent"));
    // Signs read from words, too.
    assert_eq!(trigger.boundaries, ["commit", "agent_done", "turn_complete"]);
    assert_eq!((trigger.turn, trigger.point.as_str()), (1, "turn_end"));

    let done = step(&mut client, ONE, compacted(2_000)).await;
    assert_eq!(effects(&done), ["inject_handoff"]);
    assert!(done.effects[0].text.as_ref().unwrap().contains(packet));
    assert_eq!(done.watcher.phase, "idle");
    let other = client.compact(of_thread(TWO)).await;
    assert!(!other.view.contains("[PACKET]"));
}

#[tokio::test]
async fn two_threads_do_not_affect_each_other() {
    let (_daemon, mut client) = daemon(home(), "[policy]\nmode = \"auto\"\n").await;
    assert_eq!(effects_of(&mut client, ONE, turn_ended()).await, ["compact"]);
    assert_eq!(effects_of(&mut client, TWO, user_message()).await, ["release_message"]);
    assert_eq!(effects_of(&mut client, ONE, user_message()).await, ["hold_message"]);
    let failed = step(&mut client, ONE, compaction_failed()).await;
    assert_eq!(effects(&failed), ["warn", "release_message"]);
    assert!(failed.watcher.packet_kept);
}

/// A judge that is a program: it answers `{verdict}` and writes its question to `asked`.
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
        let stepped = step(&mut client, ONE, turn_ended()).await;
        assert_eq!(effects(&stepped), expected, "{verdict}: {stepped:?}");
        let home = daemon.stopped().await;
        let asked = fs::read_to_string(home.path().join("asked")).unwrap();
        assert!(asked.contains("The retry is in. Done.") && asked.contains("commit"), "{asked}");
    }
}

/// Defect 7.9: the cost of a judge counted toward the thread's window.
#[tokio::test]
async fn defect_7_9_a_judge_costs_nothing_of_the_window_and_a_client_may_be_one() {
    let text = "[policy]\nmode = \"auto\"\njudge = \"client\"\n[policy.asap]\njudgment = true\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let before = client.usage(ONE).await.tokens;
    assert!(before.used > 0);
    let asked = step(&mut client, ONE, turn_ended()).await;
    assert_eq!(effects(&asked), ["ask_judgment"]);
    let effect = &asked.effects[0];
    assert!(effect.prompt.as_ref().unwrap().contains("Done."), "{effect:?}");
    assert!(effect.schema.as_ref().is_some_and(Value::is_object), "{effect:?}");
    let answer = judged(effect.request_id.as_ref().unwrap());
    assert_eq!(effects_of(&mut client, ONE, answer).await, ["compact"]);
    assert_eq!(client.usage(ONE).await.tokens, before);
}

#[tokio::test]
async fn texts_are_written_out_overridden_and_checked() {
    let text = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let seed = TemplatesParams { seed: Some(true) };
    let seeded = client.call::<Templates>(seed).await.unwrap().templates;
    let path = |name: &str| &seeded.iter().find(|template| template.name == name).unwrap().path;
    fs::write(path("packet"), "Write it down for {thread_id}.").unwrap();
    fs::write(path("handoff"), "{nothing}").unwrap();
    let found = client.call::<Templates>(TemplatesParams { seed: None }).await.unwrap().templates;
    let problems: Vec<_> =
        found.iter().filter_map(|of| Some((of.name.as_str(), of.problem.as_deref()?))).collect();
    let [("handoff", problem)] = problems[..] else { panic!("{problems:?}") };
    assert!(problem.contains("unknown placeholder {nothing}"), "{problem}");
    let asked = step(&mut client, ONE, turn_ended()).await;
    let expected = format!(
        "<longhaul_context about=\"packet\">\nWrite it down for {ONE}.\n</longhaul_context>"
    );
    assert_eq!(asked.effects[0].prompt, Some(expected.into()));
}

#[tokio::test]
async fn a_report_replays_the_transcript_under_every_policy() {
    let text = "[shadow_policy.never.emergency]\npercent_remaining_lt = 0\n\
                [shadow_policy.never.asap]\npercent_remaining_lt = 0\n\
                [shadow_policy.never.ready]\npercent_remaining_lt = 0\n\
                [shadow_policy.never.early]\npercent_remaining_lt = 0\n";
    let (_daemon, mut client) = daemon(home(), text).await;
    let params = |thread: &str| {
        let context_window = Some(WINDOW);
        ReportParams { thread_id: thread.into(), context_window }
    };
    let report = client.call::<Report>(params(ONE)).await.unwrap();
    assert_eq!((report.thread_id.as_str(), report.turns, report.is_truncated), (ONE, 1, false));
    let compactions: Vec<_> =
        report.policies.iter().map(|of| (of.policy.as_str(), of.compactions)).collect();
    let [(_, 1), ("never", 0)] = compactions[..] else { panic!("{report:?}") };
    let point = &report.policies[0].points[0];
    assert_eq!(point.boundaries, ["commit", "agent_done"]);
    assert_eq!((point.tier.as_str(), point.turn), ("asap", 1));
    let error = client.call::<Report>(params("nobody")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ThreadNotFound);
}

/// Clients decide what stays of a history; `policy/report` must not promise more.
#[test]
fn a_replay_counts_what_an_agents_plugin_leaves() {
    for window in [20_000, 120_000, 200_000, 272_000, 1_000_000] {
        let left = briefing::tokens(Some(window)) + briefing::tail_tokens(Some(window));
        assert_eq!(left_by_agents(window), left, "a window of {window} tokens");
    }
}
