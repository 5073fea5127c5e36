//! The watcher without reports from its client: compactions that the agent makes by itself, clients that come
//! and go, and those that can only notify the person.

use longhaul_core::context::window::{WindowSources, decide as window_of};
use longhaul_core::fold::{Fold, Source};
use longhaul_core::policy::decide::Baseline;
use longhaul_core::policy::settings::{Author, Mode, Policy, PolicySettings, TierTable};
use longhaul_core::policy::watcher::{Effect, Event, Phase, Watcher};
use longhaul_core::policy::{Point, PolicyAction, Situation, decide, replay};
use longhaul_core::signal::Boundary;
use serde_json::json;

use crate::policy_defects::{at, auto, committed, names, refusal, take};
use crate::session::{line, message, meta, push};

/// An agent's own compaction appears only in its transcript: growth is measured from it, and it counts toward
/// the hourly limit.
#[test]
fn the_agents_own_compaction_also_requires_growth() {
    let mut fold = Fold::new(Source::Codex);
    push(&mut fold, &meta());
    push(&mut fold, &message("user", &"long words ".repeat(9_000)));
    let summary = json!({"message": "what was done so far ".repeat(2_000)});
    push(&mut fold, &line("compacted", &summary));
    push(&mut fold, &message("assistant", "All done."));
    let window = window_of(&WindowSources { asked: Some(20_000), ..WindowSources::default() });
    let after = fold.meter().compactions().last().unwrap().after;
    let now_ms = fold.head().updated_at_ms;
    let found = replay::situation(&fold, (&window, fold.used()), "t", (now_ms, Point::TurnEnd));
    assert_eq!(found.baseline, Some(Baseline { used: after, at_ms: now_ms }));
    assert_eq!(found.compactions_in_hour, 1);
    let decision = decide(&Policy::default(), &found);
    assert_eq!((decision.action, refusal(&decision)), (PolicyAction::Wait, "growth"));
    let later =
        replay::situation(&fold, (&window, fold.used()), "t", (now_ms + 3_600_000, Point::TurnEnd));
    assert_eq!(later.compactions_in_hour, 0);

    // The newer of the watcher's own past and the transcript's counts.
    let watcher = |at_ms| Watcher {
        baseline: Some(Baseline { used: 10, at_ms }),
        made_ms: [now_ms - 2, now_ms - 1].into(),
        ..Watcher::default()
    };
    let completed = watcher(now_ms - 1).complete(found.clone());
    assert_eq!((completed.baseline, completed.compactions_in_hour), (found.baseline, 2));
    assert_eq!(watcher(now_ms + 1).complete(found).baseline.unwrap().used, 10);
}

/// A client that lost an answer receives the same request again, in every state.
#[test]
fn a_restarted_client_receives_the_pending_effect() {
    let agent = PolicySettings {
        packet_author: Some(Author::Agent),
        scratch: Some(true),
        ..PolicySettings::default()
    };
    let scratch = PolicySettings { scratch: Some(true), ..PolicySettings::default() };
    for (table, effect) in [
        (agent, "request_packet"),
        (scratch, "request_scratch"),
        (PolicySettings::default(), "compact"),
    ] {
        let policy = auto(table);
        let asked = take(&policy, Watcher::default(), committed(100_000));
        let again = take(&policy, asked.state.clone(), Event::Resume { compacted: None });
        assert_eq!(
            (names(&again.effects), &again.effects),
            (vec![effect.to_owned()], &asked.effects)
        );
        assert_eq!(again.state, asked.state);
    }
    let idle = take(&Policy::default(), Watcher::default(), Event::Resume { compacted: None });
    assert_eq!((names(&idle.effects), idle.state), (vec![], Watcher::default()));
}

/// A request that was carried out before its client crashed is not repeated.
#[test]
fn a_compaction_in_the_transcript_is_not_requested_again() {
    let policy = auto(PolicySettings::default());
    let asked = take(&policy, Watcher::default(), committed(100_000));
    let before = Event::Resume { compacted: Some(Baseline { used: 5_000, at_ms: 999 }) };
    assert_eq!(names(&take(&policy, asked.state.clone(), before).effects), ["compact"]);
    let since = Event::Resume { compacted: Some(Baseline { used: 5_000, at_ms: 1_001 }) };
    let done = take(&policy, asked.state.clone(), since);
    assert_eq!(names(&done.effects), ["inject_handoff"]);
    assert_eq!((done.state.phase, done.state.baseline.unwrap().used), (Phase::Idle, 5_000));
    // The end of its turn is still missing, and the client that should report it is gone.
    let made = Event::Compacted { tokens_after: 6_000, turn_end_follows: true };
    let made = take(&policy, asked.state, made);
    let done = take(&policy, made.state, Event::Resume { compacted: None });
    assert_eq!(
        (names(&done.effects), done.state.phase),
        (vec!["inject_handoff".into()], Phase::Idle)
    );
}

/// A hook sees turns end and can notify the person. It begins nothing, does not disturb the client that runs
/// the sequence, and notifies only once.
#[test]
fn a_notify_only_client_begins_nothing() {
    let seen = |percent, used: u64| {
        Event::TurnSeen(Situation { ..at(percent, used, &[Boundary::Commit]) })
    };
    for mode in [Mode::Suggest, Mode::Auto] {
        let table = PolicySettings { mode: Some(mode), ..PolicySettings::default() };
        let policy = Policy::default().with("p", &table);
        let step = take(&policy, Watcher::default(), seen(60, 100_000));
        let [Effect::Notify { text }] = &step.effects[..] else { panic!("{step:?}") };
        assert_eq!(text, "60 % of the window left (asap: commit): a good moment to compact");
        assert_eq!(step.state.phase, Phase::Idle);
        assert_eq!(step.decided.unwrap().1.action, PolicyAction::Compact);
        let again = take(&policy, step.state.clone(), seen(60, 100_100));
        assert_eq!(names(&again.effects), [""; 0]);
        // After an unreported compaction, it may notify again.
        let baseline = Some(Baseline { used: 30_000, at_ms: 2_000 });
        let full = Situation { baseline, ..at(64, 90_000, &[Boundary::Commit]) };
        assert_eq!(names(&take(&policy, again.state, Event::TurnSeen(full)).effects), ["notify"]);
        let urgent = take(&policy, Watcher::default(), seen(9, 180_000));
        let [Effect::Notify { text }] = &urgent.effects[..] else { panic!("{urgent:?}") };
        assert_eq!(text, "9 % of the window left (emergency): compact now");
    }
    let policy = auto(PolicySettings::default());
    let busy = take(&policy, Watcher::default(), committed(100_000));
    let beside = take(&policy, busy.state.clone(), seen(60, 100_000));
    assert_eq!((names(&beside.effects), beside.state), (vec![], busy.state.clone()));
    // The client that should finish the sequence never returned: the hook still notifies, but does not end the
    // sequence.
    let gone = Policy { wait_ms: 500, ..policy };
    let stuck = Watcher { phase: since(busy.state.phase, 400), ..Watcher::default() };
    let late = take(&gone, stuck.clone(), seen(60, 100_000));
    assert_eq!((names(&late.effects), late.state.phase), (vec!["notify".into()], stuck.phase));
    let off = PolicySettings { mode: Some(Mode::Off), ..PolicySettings::default() };
    let off = take(&Policy::default().with("off", &off), Watcher::default(), seen(9, 180_000));
    assert_eq!(names(&off.effects), [""; 0]);
}

/// After a judgment timed out, the turn that detected it was taken for the packet's or the compaction's.
#[test]
fn the_turn_that_detects_a_timeout_answers_no_new_request() {
    for (author, expected, phase) in [
        (Author::Agent, "request_packet", "awaiting_packet"),
        (Author::Watcher, "compact", "compacting"),
    ] {
        let asap = TierTable { judgment: Some(true), ..TierTable::default() };
        let table =
            PolicySettings { asap, packet_author: Some(author), ..PolicySettings::default() };
        let policy = Policy { judgment_timeout_ms: 0, ..auto(table) };
        let asked = take(&policy, Watcher::default(), committed(100_000));
        assert_eq!(names(&asked.effects), ["ask_judgment"]);
        for event in [committed(100_000), Event::Resume { compacted: None }] {
            let late = take(&policy, asked.state.clone(), event);
            assert_eq!(names(&late.effects), ["warn", expected]);
            assert_eq!(late.state.phase.into_str(), phase);
            let Phase::Compacting { saw_turn_end, .. } = late.state.phase else { continue };
            assert!(!saw_turn_end);
        }
    }
}

/// The same phase, begun earlier.
fn since(phase: Phase, earlier_ms: i64) -> Phase {
    match phase {
        Phase::Compacting { trigger, packet, tokens_after, saw_turn_end, .. } => {
            Phase::Compacting { trigger, packet, since_ms: earlier_ms, tokens_after, saw_turn_end }
        }
        other => other,
    }
}
