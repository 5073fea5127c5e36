use super::*;
use crate::policy::settings::{PolicySettings, TierTable};

fn at(percent: u64, boundaries: &[Boundary]) -> Situation {
    Situation {
        thread_id: "t".into(),
        seq: 9,
        turn: 2,
        at_ms: 1,
        point: Point::TurnEnd,
        used: 100_000,
        window: 272_000,
        percent_remaining: Some(percent),
        boundaries: boundaries.iter().copied().collect(),
        message: None,
        baseline: None,
        compactions_in_hour: 0,
        repository: None,
        read_by_model: None,
        source: None,
    }
}

fn action(situation: &Situation) -> (PolicyAction, Option<Tier>) {
    let decision = decide(&Policy::default(), situation);
    (decision.action, decision.tier)
}

fn table(tier: TierTable) -> PolicySettings {
    PolicySettings { early: tier.clone(), ready: tier, ..PolicySettings::default() }
}

#[test]
fn the_default_matrix() {
    use Boundary::{AgentDone, Commit, PlanUpdate, PrCheckpoint};
    use Tier::{Asap, Early, Emergency, Ready};
    for (percent, boundaries, expected) in [
        (85, vec![PrCheckpoint], (PolicyAction::Wait, None)),
        (84, vec![PrCheckpoint], (PolicyAction::Compact, Some(Early))),
        (84, vec![Commit], (PolicyAction::Wait, Some(Early))),
        (74, vec![Commit], (PolicyAction::Compact, Some(Ready))),
        (74, vec![PlanUpdate], (PolicyAction::Wait, Some(Ready))),
        (74, vec![PlanUpdate, Commit], (PolicyAction::Compact, Some(Ready))),
        (64, vec![PlanUpdate], (PolicyAction::Compact, Some(Asap))),
        (74, vec![AgentDone], (PolicyAction::Wait, Some(Ready))),
        (64, vec![AgentDone], (PolicyAction::Compact, Some(Asap))),
        (15, vec![], (PolicyAction::Wait, Some(Asap))),
        (14, vec![], (PolicyAction::Compact, Some(Emergency))),
    ] {
        assert_eq!(action(&at(percent, &boundaries)), expected, "{percent} {boundaries:?}");
    }
}

#[test]
fn a_phrase_opens_the_plan_gate() {
    let with = |words: &str| Situation {
        message: Some(words.to_owned()),
        ..at(74, &[Boundary::PlanUpdate])
    };
    assert_eq!(action(&with("The parser is done.")).0, PolicyAction::Compact);
    assert_eq!(action(&with("The parser is not done.")).0, PolicyAction::Wait);
}

/// Defect 7.13.1: a policy's list was used unchecked.
#[test]
fn defect_7_13_1_a_policy_cannot_make_a_boundary_count_before_its_tier() {
    let requires = Some([Boundary::Commit].into());
    let tier = TierTable { requires_any_boundary: requires, ..TierTable::default() };
    let policy = Policy::default().with("mine", &table(tier));
    assert_eq!(decide(&policy, &at(84, &[Boundary::Commit])).action, PolicyAction::Wait);
    assert_eq!(decide(&policy, &at(74, &[Boundary::Commit])).action, PolicyAction::Compact);
    assert!(policy.problems().iter().any(|problem| problem.key == "early.requires_any_boundary"));
}

#[test]
fn bounds_of_a_policy_are_exact() {
    use crate::policy::settings::PHRASES_MAX;
    let problems = |policy: &Policy| {
        policy.problems().into_iter().map(|problem| problem.key).collect::<Vec<_>>()
    };
    for (percent, is_problem) in [(100, false), (101, true)] {
        let tier = TierTable { percent_remaining_lt: Some(percent), ..TierTable::default() };
        let policy = Policy::default().with("mine", &table(tier));
        let expected = ["early.percent_remaining_lt", "ready.percent_remaining_lt"];
        let expected = if is_problem { &expected[..] } else { &[] };
        assert_eq!(problems(&policy), expected, "{percent}");
    }
    for (count, bytes, is_problem) in
        [(PHRASES_MAX, PHRASES_MAX, false), (PHRASES_MAX + 1, 1, true), (1, PHRASES_MAX + 1, true)]
    {
        let mut policy = Policy::default();
        policy.phrases.negation = vec!["x".repeat(bytes); count];
        let expected: &[&str] = if is_problem { &["phrases"] } else { &[] };
        assert_eq!(problems(&policy), expected, "{count} phrases of {bytes} bytes");
    }
}

/// Defect 7.2c: with `turn_complete` required, a plan update kept a turn from compacting.
#[test]
fn defect_7_2c_a_plan_update_removes_no_other_boundary() {
    let requires = Some([Boundary::TurnComplete, Boundary::PlanUpdate].into());
    let tier = TierTable { requires_any_boundary: requires, ..TierTable::default() };
    let policy = Policy::default().with("mine", &table(tier));
    assert_eq!(decide(&policy, &at(74, &[])).action, PolicyAction::Compact);
    assert_eq!(decide(&policy, &at(74, &[Boundary::PlanUpdate])).action, PolicyAction::Compact);
}

/// Defect 7.13.2: with a judgment configured, boundaries were ignored.
#[test]
fn defect_7_13_2_a_judgment_is_asked_for_only_when_every_rule_agrees_and_never_in_an_emergency() {
    let tier = TierTable { judgment: Some(true), ..TierTable::default() };
    let mut given = table(tier.clone());
    given.emergency = tier;
    let policy = Policy::default().with("mine", &given);
    assert_eq!(decide(&policy, &at(74, &[])).action, PolicyAction::Wait);
    assert_eq!(decide(&policy, &at(74, &[Boundary::Commit])).action, PolicyAction::Judge);
    assert_eq!(decide(&policy, &at(5, &[])).action, PolicyAction::Compact);
}

/// Defect 7.13.3: two actors read their settings from different places.
#[test]
fn defect_7_13_3_each_key_has_one_precedence() {
    let lt = |n| TierTable { percent_remaining_lt: Some(n), ..TierTable::default() };
    let base =
        Policy::default().with("default", &PolicySettings { asap: lt(50), ..Default::default() });
    let named = base.with("x", &PolicySettings { early: lt(90), ..Default::default() });
    let found: Vec<u64> = named.tiers.values().map(|rule| rule.percent_remaining_lt).collect();
    assert_eq!(found, [90, 75, 50, 15]);
}

/// Defect 7.13.7: without a setting by the user the window was unknown.
#[test]
fn defect_7_13_7_an_unknown_window_is_reported_and_compacts_nothing() {
    let decision = decide(&Policy::default(), &Situation { window: 0, ..at(0, &[]) });
    assert_eq!((decision.action, decision.tier), (PolicyAction::Wait, None));
    assert_eq!(decision.reasons.iter().find(|reason| !reason.passed).unwrap().rule, "window");
}

/// Defect 7.5: a prompt's threshold defined an emergency, not the policy's.
#[test]
fn defect_7_5_the_policy_sets_the_emergency_threshold() {
    let lt = TierTable { percent_remaining_lt: Some(30), ..TierTable::default() };
    let policy =
        Policy::default().with("x", &PolicySettings { emergency: lt, ..Default::default() });
    assert_eq!(decide(&policy, &at(29, &[])).action, PolicyAction::Compact);
    assert_eq!(decide(&policy, &at(30, &[])).action, PolicyAction::Wait);
}

#[test]
fn no_second_compaction_before_growth() {
    let after = |used| Situation {
        baseline: Some(Baseline { used, at_ms: 0 }),
        ..at(64, &[Boundary::Commit])
    };
    assert_eq!(action(&after(95_001)).0, PolicyAction::Wait);
    assert_eq!(action(&after(95_000)).0, PolicyAction::Compact);
    let emergency = Situation { percent_remaining: Some(3), ..after(100_000) };
    assert_eq!(action(&emergency).0, PolicyAction::Wait, "not even in an emergency");
}

/// Half of the remaining room is growth enough in an emergency, at least a small message.
#[test]
fn in_an_emergency_growth_is_measured_by_the_room_left() {
    for (used, needed) in [(266_000, 3_000), (260_000, 6_000), (271_990, 64), (100_000, 5_000)] {
        let after = |baseline| Situation {
            used,
            baseline: Some(Baseline { used: baseline, at_ms: 0 }),
            ..at(3, &[])
        };
        assert_eq!(growth_needed(&after(0), true), needed, "{used}");
        assert_eq!(action(&after(used - needed)).0, PolicyAction::Compact, "{used}");
        assert_eq!(action(&after(used - needed + 1)).0, PolicyAction::Wait, "{used}");
    }
}

#[test]
fn what_a_model_read_from_the_text_is_named() {
    let settings = PolicySettings { semantic: Some(Reader::Model), ..PolicySettings::default() };
    let policy = Policy::default().with("x", &settings);
    for (read, signs, expected) in [
        (Some(vec![Boundary::AgentDone]), vec![Boundary::AgentDone], "the model found agent_done"),
        (Some(vec![]), vec![], "the model found no end of a phase"),
        (None, vec![Boundary::TopicShift], "no answer from the model; the phrase lists decide"),
    ] {
        let situation = Situation {
            message: Some("Now let's look at the parser.".into()),
            read_by_model: read.map(|signs| signs.into_iter().collect()),
            point: Point::MidTurn,
            ..at(64, &[])
        };
        let decision = decide(&policy, &situation);
        assert_eq!(decision.boundaries, signs.into_iter().collect(), "{expected}");
        let words = decision.reasons.iter().find(|reason| reason.rule == "words").unwrap();
        assert_eq!(words.text, expected);
    }
}

#[test]
fn what_is_missing_at_a_boundary_is_named() {
    use Boundary::AgentDone;
    for (percent, point, boundaries, expected) in [
        (64, Point::MidTurn, &[][..], "no sign that a phase ended"),
        (
            64,
            Point::TurnEnd,
            &[],
            "no sign that a phase ended; a turn's end alone does not count at asap",
        ),
        (84, Point::MidTurn, &[AgentDone], "early needs another sign than agent_done"),
        (64, Point::MidTurn, &[AgentDone], "agent_done counts at asap"),
        (14, Point::MidTurn, &[], "not required in an emergency"),
    ] {
        let decision = decide(&Policy::default(), &Situation { point, ..at(percent, boundaries) });
        let found = decision.reasons.iter().find(|reason| reason.rule == "boundary").unwrap();
        assert_eq!(found.text, expected);
    }
}

#[test]
fn a_budget_stops_all_but_an_emergency_and_every_reason_is_listed() {
    let spent = Situation { compactions_in_hour: 6, ..at(64, &[]) };
    let decision = decide(&Policy::default(), &spent);
    let no: Vec<_> =
        decision.reasons.iter().filter(|r| !r.passed).map(|r| r.rule.as_str()).collect();
    assert_eq!(no, ["boundary", "budget"], "both that said no");
    assert_eq!(action(&Situation { percent_remaining: Some(3), ..spent }).0, PolicyAction::Compact);
}

/// The turn has not ended at a mid-turn point, whatever the signals contain.
#[test]
fn the_end_of_a_turn_does_not_count_within_the_turn() {
    let requires = Some([Boundary::TurnComplete].into());
    let tier = TierTable { requires_any_boundary: requires, ..TierTable::default() };
    let policy = Policy::default().with("x", &table(tier));
    let mid = Situation { point: Point::MidTurn, ..at(74, &[Boundary::TurnComplete]) };
    assert_eq!(decide(&policy, &mid).action, PolicyAction::Wait);
}

#[test]
fn a_logged_decision_made_again_gives_the_same_bytes() {
    let situation = Situation { message: Some("Done.".into()), ..at(64, &[Boundary::Commit]) };
    let policy = Policy::default();
    let decision = decide(&policy, &situation);
    let first = decision.bytes();
    assert_eq!(serde_json::from_slice::<Decision>(&first).unwrap(), decision);
    let policy: Policy = serde_json::from_slice(&serde_json::to_vec(&policy).unwrap()).unwrap();
    let situation: Situation =
        serde_json::from_slice(&serde_json::to_vec(&situation).unwrap()).unwrap();
    assert_eq!(decide(&policy, &situation).bytes(), first);
}
