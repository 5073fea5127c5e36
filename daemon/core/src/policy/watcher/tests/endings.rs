//! Sequences that end abnormally, and what is reported.

use super::*;

/// The client lost track of its request: the transcript shows whether the compaction was made.
#[test]
fn a_compaction_reported_as_failed_but_made_counts() {
    let policy = policy(Author::Watcher, false, false);
    let failed = |at_ms| Event::CompactionFailed {
        reason: "went away".into(),
        compacted: Some(Baseline { used: 9_000, at_ms }),
    };
    let (effects, state) = run(&policy, vec![commit(), failed(1_500)]);
    assert_eq!(effects, ["compact", "inject_handoff"]);
    assert_eq!((state.phase, state.made_ms.len()), (Phase::Idle, 1));
    let (effects, _) = run(&policy, vec![commit(), failed(500)]);
    assert_eq!(effects, ["compact", "warn"], "that one was before");
}

/// An agent that cannot be asked ends the sequence, and the log has the reason.
#[test]
fn failed_packet_requests_and_vetoes_are_logged() {
    let lost = Event::CompactionFailed { reason: "went away".into(), compacted: None };
    let given_up = |policy: &Policy, event| {
        let asked = take(policy, Watcher::default(), commit(), 1);
        let ended = take(policy, asked.state, event, 2);
        assert_eq!(ended.state.phase, Phase::Idle);
        ended.given_up.map(|(_, why)| why).unwrap_or_default()
    };
    for (author, scratch) in [(Author::Agent, false), (Author::Watcher, true)] {
        let why = given_up(&policy(author, scratch, false), lost.clone());
        assert_eq!(why, "the agent could not be asked for its notes: went away");
    }
    let no = Judgment { should_compact: false, reason: "busy".into() };
    let no = Event::Judged { request_id: "judgment-1".into(), judgment: Some(no) };
    assert_eq!(given_up(&policy(Author::Watcher, false, true), no), "not compacting: busy");
}

#[test]
fn a_judge_that_does_not_answer_in_time_decides_as_configured() {
    let mut policy = policy(Author::Watcher, false, true);
    for (failure, effects) in
        [(OnFailure::Compact, &["warn", "compact"][..]), (OnFailure::Wait, &["warn"])]
    {
        policy.on_judgment_failure = failure;
        let asked = take(&policy, Watcher::default(), commit(), 0).state;
        let early = take(&policy, asked.clone(), Event::Tick, policy.judgment_timeout_ms - 1);
        assert_eq!((early.effects, &early.state), (vec![], &asked));
        let late = take(&policy, asked, Event::Tick, policy.judgment_timeout_ms);
        assert_eq!(shown(&late.effects), effects, "{failure:?}");
    }
}

#[test]
fn only_an_emergency_ends_the_wait_for_the_agents_notes() {
    let policy = policy(Author::Agent, true, false);
    let asked = take(&policy, Watcher::default(), commit(), 1).state;
    for (percent, effects) in [(59, &[][..]), (16, &[]), (5, &["compact"])] {
        let mid = at(percent, 200_000, &[Boundary::Commit]);
        let mid = Event::MidTurn(Situation { point: Point::MidTurn, ..mid });
        let stepped = take(&policy, asked.clone(), mid, 2);
        assert_eq!(shown(&stepped.effects), effects, "{percent} % left");
    }
}

/// The compactions of the last hour count against the budget.
#[test]
fn compactions_are_remembered_for_an_hour() {
    let policy = policy(Author::Watcher, false, false);
    let mut state = Watcher::default();
    for (now_ms, expected) in
        [(5, vec![5]), (2_000, vec![5, 2_000]), (3_600_005, vec![2_000, 3_600_005])]
    {
        state = take(&policy, state, compacted(9_000), now_ms).state;
        assert_eq!(state.made_ms, expected);
    }
    for (at_ms, compactions_in_hour, expected) in
        [(3_601_999, 0, 2), (3_602_000, 0, 1), (3_602_000, 3, 3), (7_200_005, 0, 0)]
    {
        let now = Situation { at_ms, compactions_in_hour, ..at(60, 100_000, &[]) };
        assert_eq!(state.complete(now).compactions_in_hour, expected, "{at_ms}");
    }
}

/// Within a turn, a refusal is logged only at a new urgency.
#[test]
fn repeated_refusals_within_a_turn_are_not_logged() {
    let policy = policy(Author::Watcher, false, false);
    let mut state = Watcher::default();
    for (turn, percent, expected) in [
        (1, 80, true),
        (1, 80, false),
        (1, 60, true),
        (1, 80, false),
        (1, 60, false),
        (2, 60, true),
        (2, 60, false),
    ] {
        let mid = Situation { point: Point::MidTurn, turn, ..at(percent, 100_000, &[]) };
        let stepped = take(&policy, state, Event::MidTurn(mid), 1);
        assert_eq!(stepped.should_log, expected, "{percent} % in turn {turn}");
        state = stepped.state;
    }
    let end = Situation { turn: 2, ..at(60, 100_000, &[]) };
    assert!(take(&policy, state, Event::TurnEnded(end), 1).should_log, "at the end of a turn");
}

#[test]
fn a_notification_is_repeated_for_a_higher_tier_or_after_growth() {
    let mut policy = Policy::default();
    let signs = [Boundary::PrCheckpoint];
    let mut state = Watcher::default();
    for (percent, used, expected) in [
        (80, 95_000, true),
        (80, 99_900, false),
        (80, 100_000, true),
        (60, 100_000, true),
        (80, 100_000, false),
        (60, 50_000, false),
        (5, 257_000, true),
        (5, 261_900, false),
        (5, 262_000, true),
    ] {
        let stepped = take(&policy, state, Event::TurnEnded(at(percent, used, &signs)), 1);
        assert_eq!(!stepped.effects.is_empty(), expected, "{percent} % left, {used} tokens");
        state = stepped.state;
    }
    for (mode, percent, advice) in [
        (Mode::Tag, 60, "60 % of the window left (asap: pr checkpoint): would compact here"),
        (Mode::Tag, 5, "5 % of the window left (emergency): would compact here"),
        (
            Mode::Suggest,
            60,
            "60 % of the window left (asap: pr checkpoint): a good moment to compact",
        ),
        (Mode::Suggest, 5, "5 % of the window left (emergency): compact now"),
    ] {
        policy.mode = mode;
        let ended = Event::TurnEnded(at(percent, 100_000, &signs));
        let stepped = take(&policy, Watcher::default(), ended, 1);
        assert_eq!(stepped.effects, [Effect::Notify { text: advice.to_owned() }]);
    }
}
