mod compact_only;
mod endings;

use std::collections::{HashMap, HashSet, VecDeque as Queue};

use proptest::prelude::*;

use super::*;
use crate::policy::settings::{PolicySettings, TierTable};
use crate::rollout::contextual;

const TEXT: &str = "{packet}|{scratch_file}";

fn text(kind: Kind) -> String {
    let text = match kind {
        Kind::Handoff => TEXT,
        Kind::WatcherPacket => "own packet {tier} {last_agent_message}",
        Kind::Packet => "write a packet",
        Kind::Scratch => "write {scratch_file}",
        _ => "judge",
    };
    text.to_owned()
}

fn take(policy: &Policy, state: Watcher, event: Event, now_ms: i64) -> WatcherOutcome {
    let texts = Texts::of(text);
    let env = Env { policy, texts: &texts, thread_id: "t", scratch_file: ".scratch/a.md", now_ms };
    step(&env, state, event)
}

fn at(percent: u64, used: u64, boundaries: &[Boundary]) -> Situation {
    Situation {
        thread_id: "t".into(),
        seq: 1,
        turn: 1,
        at_ms: 0,
        point: Point::TurnEnd,
        used,
        window: 272_000,
        percent_remaining: Some(percent),
        boundaries: boundaries.iter().copied().collect(),
        message: Some("the words".into()),
        baseline: None,
        compactions_in_hour: 0,
        repository: None,
        read_by_model: None,
        source: None,
    }
}

fn commit() -> Event {
    Event::TurnEnded(at(60, 100_000, &[Boundary::Commit]))
}

fn policy(author: Author, scratch: bool, judgment: bool) -> Policy {
    let tier = TierTable { judgment: Some(judgment), ..TierTable::default() };
    let table = PolicySettings {
        mode: Some(Mode::Auto),
        packet_author: Some(author),
        scratch: Some(scratch),
        asap: tier,
        ..PolicySettings::default()
    };
    Policy::default().with("auto", &table)
}

fn compacted(tokens_after: u64) -> Event {
    Event::Compacted { tokens_after, turn_end_follows: false }
}

fn shown(effects: &[Effect]) -> Vec<String> {
    let name = |effect: &Effect| {
        serde_json::to_value(effect).unwrap()["effect"].as_str().unwrap().to_owned()
    };
    effects.iter().map(name).collect()
}

/// Runs events a second apart; returns the names of all effects and the final state.
fn run(policy: &Policy, events: Vec<Event>) -> (Vec<String>, Watcher) {
    let (mut names, mut state) = (Vec::new(), Watcher::default());
    for (event, second) in events.into_iter().zip(1..) {
        let stepped = take(policy, state, event, second * 1_000);
        names.extend(shown(&stepped.effects));
        state = stepped.state;
    }
    (names, state)
}

#[test]
fn a_packet_of_our_own_compacts_at_once_and_hands_over() {
    let (effects, state) =
        run(&policy(Author::Watcher, false, false), vec![commit(), compacted(9_000)]);
    assert_eq!(effects, ["compact", "inject_handoff"]);
    assert_eq!((state.phase, state.baseline.unwrap().used), (Phase::Idle, 9_000));
}

#[test]
fn the_agent_writes_scratch_and_packet_in_one_message() {
    let policy = policy(Author::Agent, true, false);
    let asked = take(&policy, Watcher::default(), commit(), 1);
    let expected = "write .scratch/a.md\n\n---\n\nwrite a packet";
    let expected = contextual::injected("packet", expected);
    assert_eq!(asked.effects, [Effect::RequestPacket { prompt: expected }]);
    let mut reply = at(55, 110_000, &[]);
    reply.message = Some("my packet".into());
    let written = take(&policy, asked.state, Event::TurnEnded(reply), 2);
    assert!(
        matches!(&written.effects[..], [Effect::Compact { packet, .. }] if packet == "my packet")
    );
    let done = take(&policy, written.state, compacted(8_000), 3);
    let text = contextual::injected("handoff", "my packet|.scratch/a.md");
    assert_eq!(done.effects, [Effect::InjectHandoff { text }]);
}

#[test]
fn scratch_then_our_own_packet() {
    let events = vec![commit(), Event::TurnEnded(at(58, 104_000, &[])), compacted(9_000)];
    let (effects, _) = run(&policy(Author::Watcher, true, false), events);
    assert_eq!(effects, ["request_scratch", "compact", "inject_handoff"]);
}

/// Defect 7.13.4: these modes notified at every turn in a tier, with or without a boundary.
#[test]
fn defect_7_13_4_tag_and_suggest_only_notify_and_only_once() {
    let suggest = Policy::default();
    let plain = Event::TurnEnded(at(60, 100_000, &[]));
    let (effects, _) = run(&suggest, vec![plain.clone(), commit(), commit(), plain]);
    assert_eq!(effects, ["notify"]);
}

/// Defect 7.4: a judge was asked although the boundaries had refused.
#[test]
fn defect_7_4_a_veto_rests_until_the_thread_has_grown() {
    let policy = policy(Author::Watcher, false, true);
    let (effects, _) = run(&policy, vec![Event::TurnEnded(at(60, 100_000, &[]))]);
    assert_eq!(effects, [""; 0]);
    let no = Judgment { should_compact: false, reason: "busy".into() };
    let no = Event::Judged { request_id: "judgment-1".into(), judgment: Some(no) };
    let later = Event::TurnEnded(at(55, 120_000, &[Boundary::Commit]));
    let (effects, state) = run(&policy, vec![commit(), no, commit(), later]);
    assert_eq!(effects, ["ask_judgment", "notify", "ask_judgment"]);
    assert_eq!(state.asked, 2);
}

/// Answers were not matched with requests.
#[test]
fn defect_7_9_answers_to_other_requests_are_ignored_and_failure_is_as_configured() {
    let mut policy = policy(Author::Watcher, false, true);
    let none = |id: &str| Event::Judged { request_id: id.into(), judgment: None };
    let (effects, state) = run(&policy, vec![commit(), none("judgment-7")]);
    assert_eq!(
        (effects, state.phase.into_str()),
        (vec!["ask_judgment".into()], "awaiting_judgment")
    );
    let (effects, _) = run(&policy, vec![commit(), none("judgment-1")]);
    assert_eq!(effects, ["ask_judgment", "warn", "compact"], "fails open");
    policy.on_judgment_failure = OnFailure::Wait;
    let (effects, state) = run(&policy, vec![commit(), none("judgment-1")]);
    assert_eq!(effects, ["ask_judgment", "notify"], "fails closed");
    assert_eq!(state.phase, Phase::Idle);
}

/// Defect 7.5: a failed compaction lost the packet and left no trace.
#[test]
fn defect_7_5_a_failed_or_vanished_compaction_warns_and_keeps_the_packet() {
    let policy = policy(Author::Agent, false, false);
    let reply =
        Event::TurnEnded(Situation { message: Some("mine".into()), ..at(59, 101_000, &[]) });
    let failed = Event::CompactionFailed { reason: "no room".into(), compacted: None };
    let (effects, state) = run(&policy, vec![commit(), reply.clone(), failed]);
    assert_eq!(effects, ["request_packet", "compact", "warn"]);
    assert_eq!(state.kept_packet.as_deref(), Some("mine"));
    assert_eq!(state.baseline.unwrap().used, 100_000, "the next attempt needs growth");

    let ended = Event::TurnEnded(at(59, 101_000, &[]));
    let next = Event::UserMessage { is_shell: false, takes_prefix: false };
    let (effects, state) = run(&policy, vec![commit(), reply, ended, next]);
    assert_eq!(effects, ["request_packet", "compact", "warn", "release_message"]);
    assert_eq!((state.phase, state.kept_packet.as_deref()), (Phase::Idle, Some("mine")));
}

/// The user's next message was changed.
#[test]
fn defect_7_5_a_users_message_is_held_and_never_changed_without_consent() {
    let policy = policy(Author::Watcher, false, false);
    let message = |takes_prefix| Event::UserMessage { is_shell: false, takes_prefix };
    let plain = take(&policy, Watcher::default(), commit(), 1).state;
    let held = take(&policy, plain.clone(), message(false), 2);
    assert_eq!(shown(&held.effects), ["hold_message"]);
    let done = take(&policy, held.state, compacted(9_000), 3);
    assert_eq!(shown(&done.effects), ["inject_handoff", "release_message"]);
    assert_eq!(done.effects[1], Effect::ReleaseMessage { prefix: None });
    let held = take(&policy, plain, message(true), 2);
    let done = take(&policy, held.state, compacted(9_000), 3);
    assert!(matches!(&done.effects[..], [Effect::ReleaseMessage { prefix: Some(_) }]));
}

#[test]
fn defect_7_5_preflight_waits_for_the_user_s_next_message_and_shell_commands_pass() {
    let mut policy = policy(Author::Watcher, false, false);
    let rule = policy.tiers.get_mut(&Tier::Asap).unwrap();
    rule.requires_any_boundary = [Boundary::TurnComplete].into();
    let message = |is_shell| Event::UserMessage { is_shell, takes_prefix: false };
    let ended = Event::TurnEnded(at(60, 100_000, &[]));
    let (effects, state) =
        run(&policy, vec![ended.clone(), message(true), message(false), compacted(9)]);
    assert_eq!(
        effects,
        [
            "notify",
            "release_message",
            "hold_message",
            "compact",
            "inject_handoff",
            "release_message",
        ]
    );
    assert_eq!(state.deferred, None);
    let (effects, state) = run(&policy, vec![ended, compacted(9_000), message(false)]);
    assert_eq!(effects, ["notify", "release_message"], "someone else compacted in the meantime");
    assert_eq!(state.deferred, None);
}

#[test]
fn an_emergency_aborts_every_wait() {
    let policy = policy(Author::Agent, true, true);
    let mid = Event::MidTurn(Situation { point: Point::MidTurn, ..at(5, 250_000, &[]) });
    let (effects, _) = run(&policy, vec![commit(), mid.clone()]);
    assert_eq!(effects, ["ask_judgment", "compact"]);
    let (effects, _) = run(&policy, vec![mid]);
    assert_eq!(effects, ["compact"]);
    let full = Situation { point: Point::MidTurn, ..at(20, 220_000, &[Boundary::Commit]) };
    let (effects, _) = run(&policy, vec![commit(), Event::MidTurn(full)]);
    assert_eq!(effects, ["ask_judgment"], "the wait goes on without an emergency");
}

/// Defect 7.5: packets were cut in the middle of a character.
#[test]
fn defect_7_5_a_long_packet_is_cut_between_characters() {
    let policy = policy(Author::Agent, false, false);
    let long = Situation { message: Some("ä€𝄞".repeat(9_000)), ..at(59, 101_000, &[]) };
    let asked = take(&policy, Watcher::default(), commit(), 1);
    let stepped = take(&policy, asked.state, Event::TurnEnded(long), 2);
    assert!(
        matches!(&stepped.effects[..], [Effect::Compact { packet, .. }] if packet.len() <= PACKET_BYTES + 64)
    );
}

/// Either order of a compaction's two ends leads to one handoff.
#[test]
fn a_compaction_that_is_a_turn_of_its_own_ends_in_either_order() {
    let policy = policy(Author::Watcher, false, false);
    let made = Event::Compacted { tokens_after: 9_000, turn_end_follows: true };
    let ended = Event::TurnEnded(at(95, 9_000, &[]));
    for events in [vec![commit(), made.clone(), ended.clone()], vec![commit(), ended, made]] {
        let (effects, state) = run(&policy, events);
        assert_eq!(effects, ["compact", "inject_handoff"]);
        assert_eq!(state.phase, Phase::Idle);
    }
}

/// Every event, in a few variants each.
fn alphabet() -> Vec<Event> {
    let yes = Judgment { should_compact: true, reason: "y".into() };
    let no = Judgment { should_compact: false, reason: "n".into() };
    let judged = |judgment| Event::Judged { request_id: "judgment-1".into(), judgment };
    vec![
        commit(),
        Event::TurnEnded(at(60, 100_000, &[])),
        Event::MidTurn(Situation { point: Point::MidTurn, ..at(5, 250_000, &[]) }),
        judged(Some(yes)),
        judged(Some(no)),
        judged(None),
        Event::Compacted { tokens_after: 9_000, turn_end_follows: true },
        compacted(9_000),
        Event::CompactionFailed { reason: "x".into(), compacted: None },
        Event::CompactionFailed {
            reason: "x".into(),
            compacted: Some(Baseline { used: 9_000, at_ms: 2_000_000 }),
        },
        Event::UserMessage { is_shell: false, takes_prefix: false },
        Event::UserMessage { is_shell: true, takes_prefix: true },
        Event::Cancel,
        Event::Tick,
        Event::TurnSeen(at(60, 100_000, &[Boundary::Commit])),
        Event::TurnEndedCompactOnly(at(60, 100_000, &[Boundary::Commit])),
        Event::MidTurnCompactOnly(Situation { point: Point::MidTurn, ..at(5, 250_000, &[]) }),
        Event::CompactOnlyEnded { made: Ok(9_000) },
        Event::CompactOnlyEnded { made: Err("a turn is running".into()) },
        Event::Resume { compacted: None },
        Event::Resume { compacted: Some(Baseline { used: 9_000, at_ms: 2_000_000 }) },
    ]
}

/// Every state of every policy is reached and left: searches all events up to a depth.
#[test]
fn every_state_is_reached_and_left() {
    let names =
        |state: &Watcher| (state.phase.into_str(), state.deferred.is_some(), state.held.is_some());
    let (mut reached, mut left) = (HashSet::new(), HashSet::new());
    for author in [Author::Agent, Author::Watcher] {
        for (scratch, judgment, preflight) in
            [(false, false, false), (true, true, false), (true, false, false), (false, true, true)]
        {
            let mut policy = policy(author, scratch, judgment);
            if preflight {
                let rule = policy.tiers.get_mut(&Tier::Asap).unwrap();
                rule.requires_any_boundary.insert(Boundary::TurnComplete);
            }
            let mut queue = Queue::from([(Watcher::default(), 0)]);
            let mut seen = HashMap::new();
            while let Some((state, depth)) = queue.pop_front() {
                reached.insert(names(&state).0);
                if seen.insert(serde_json::to_string(&state).unwrap(), ()).is_some() || depth == 4 {
                    continue;
                }
                for event in alphabet() {
                    let next = take(&policy, state.clone(), event, 1_000).state;
                    if next.phase.into_str() != state.phase.into_str() {
                        left.insert(state.phase.into_str());
                    }
                    queue.push_back((next, depth + 1));
                }
                // Time ends every state, whatever else happens.
                let late = take(&policy, state, Event::Tick, 1_000 + policy.wait_ms * 2).state;
                let late = take(&policy, late, Event::Tick, 1_000 + policy.wait_ms * 9).state;
                let late = take(&policy, late, Event::Tick, 1_000 + policy.wait_ms * 20).state;
                assert_eq!((late.phase.into_str(), late.held), ("idle", None));
            }
        }
    }
    let all = ["idle", "awaiting_judgment", "awaiting_scratch", "awaiting_packet", "compacting"];
    for state in all {
        assert!(reached.contains(state) && left.contains(state), "{state}");
    }
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let tier = (
        0..=100u64,
        proptest::sample::subsequence(Boundary::ALL.to_vec(), 0..=8),
        any::<(bool, bool)>(),
    );
    let tiers = proptest::collection::vec(tier, 4);
    // Some waits end within a stream of events a second apart.
    let bounds = (1..1_000u64, 1..300i64, 1..300i64);
    (tiers, any::<(bool, bool, bool)>(), bounds).prop_map(|(tiers, flags, bounds)| {
        let mut policy =
            policy(if flags.0 { Author::Agent } else { Author::Watcher }, flags.1, false);
        policy.on_judgment_failure = if flags.2 { OnFailure::Wait } else { OnFailure::Compact };
        policy.compactions_per_hour = bounds.0;
        policy.mid_turn = flags.1;
        (policy.wait_ms, policy.judgment_timeout_ms) = (bounds.1 * 1_000, bounds.2 * 1_000);
        for (tier, (lt, requires, (gate, judgment))) in Tier::ALL.iter().copied().zip(tiers) {
            let rule = policy.tiers.get_mut(&tier).unwrap();
            rule.percent_remaining_lt = lt;
            rule.requires_any_boundary = requires.into_iter().collect();
            rule.plan_boundaries_require_semantic_break = gate;
            rule.judgment = judgment;
        }
        policy
    })
}

proptest! {
    /// No policy and no stream of events compacts again without growth, whatever compactions leave behind,
    /// fail, or take.
    #[test]
    fn nothing_compacts_in_a_loop(
        policy in any_policy(),
        // Mostly adds nothing: only then would a second compaction lack growth.
        stream in proptest::collection::vec(
            (0..21usize, prop_oneof![6 => Just(0), 1 => 0..3_000u64, 1 => Just(30_000)], 0..100u64),
            1..200,
        ),
    ) {
        let window = 100_000u64;
        let (mut state, mut used, mut grown, mut compactions) = (Watcher::default(), 1_000u64, 0u64, 0u64);
        let mut transcript = None;
        for ((choice, growth, share), second) in stream.into_iter().zip(1i64..) {
            used += growth;
            grown += growth;
            let percent = 100 - (used * 100 / window).min(100);
            let situation = |point| Situation {
                window, used, at_ms: second * 1_000, point, baseline: transcript,
                ..at(percent, used, &[Boundary::Commit, Boundary::PlanUpdate])
            };
            let event = match alphabet().swap_remove(choice) {
                Event::TurnEnded(_) => Event::TurnEnded(situation(Point::TurnEnd)),
                Event::TurnSeen(_) => Event::TurnSeen(situation(Point::TurnEnd)),
                Event::TurnEndedCompactOnly(_) =>
                    Event::TurnEndedCompactOnly(situation(Point::TurnEnd)),
                Event::MidTurn(_) => Event::MidTurn(situation(Point::MidTurn)),
                Event::MidTurnCompactOnly(_) =>
                    Event::MidTurnCompactOnly(situation(Point::MidTurn)),
                Event::Judged { judgment, .. } =>
                    Event::Judged { request_id: format!("judgment-{}", state.asked), judgment },
                // A compaction may leave any size, even a larger one.
                Event::Compacted { turn_end_follows, .. } if matches!(state.phase, Phase::Compacting { .. }) => {
                    let before = used;
                    used = used * share / 80;
                    grown += used.saturating_sub(before);
                    Event::Compacted { tokens_after: used, turn_end_follows }
                }
                // The agent compacts by itself, which only its transcript shows.
                Event::Compacted { .. } => {
                    used = used.min(used * share / 80);
                    transcript = Some(Baseline { used, at_ms: second * 1_000 });
                    Event::Tick
                }
                Event::Resume { .. } => Event::Resume { compacted: transcript },
                Event::CompactionFailed { reason, compacted: Some(_) } =>
                    Event::CompactionFailed { reason, compacted: transcript },
                other => other,
            };
            let is_asked_again = matches!(event, Event::Resume { .. })
                && matches!(state.phase, Phase::Compacting { .. });
            let stepped = take(&policy, state, event, second * 1_000);
            state = stepped.state;
            let made = stepped.effects.iter().filter(|e| matches!(e, Effect::Compact { .. })).count();
            compactions += if is_asked_again { 0 } else { made as u64 };
            prop_assert!(made <= 1);
            // The first needs no growth; every further one needs at least the smallest step.
            prop_assert!(compactions <= 1 + grown / 64, "{compactions} compactions, {grown} tokens");
            let saved = serde_json::to_vec(&state).unwrap();
            prop_assert!(saved.len() < 64 * 1_024);
            let restored: Watcher = serde_json::from_slice(&saved).unwrap();
            prop_assert_eq!(&restored, &state, "a restart changes nothing");
        }
    }
}
