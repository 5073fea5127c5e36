//! Clients that can only compact.

use super::*;

#[test]
fn a_compact_only_client_is_asked_only_to_compact() {
    let end = |at_ms, baseline| {
        Event::TurnEndedCompactOnly(Situation {
            at_ms,
            baseline,
            ..at(60, 100_000, &[Boundary::Commit])
        })
    };
    let made = || Event::CompactOnlyEnded { made: Ok(9_000) };
    // No packet or scratch file by the agent, no wait for the user's message, and no handoff.
    let mut all = policy(Author::Agent, true, false);
    let asap = all.tiers.get_mut(&Tier::Asap).unwrap();
    asap.requires_any_boundary.insert(Boundary::TurnComplete);
    let (effects, state) = run(&all, vec![end(0, None), made()]);
    assert_eq!(effects, ["compact"]);
    assert_eq!((state.phase, state.baseline.unwrap().used), (Phase::Idle, 9_000));
    let small = Event::TurnEndedCompactOnly(at(60, 9_100, &[Boundary::Commit]));
    assert_eq!(run(&all, vec![end(0, None), made(), small]).0, ["compact"], "no growth");

    let asked = take(&all, Watcher::default(), end(0, None), 1_000).state;
    let failed = Event::CompactOnlyEnded { made: Err("a turn is running".into()) };
    let failed = take(&all, asked.clone(), failed, 2_000);
    assert_eq!((shown(&failed.effects), failed.state.kept_packet), (vec!["warn".to_owned()], None));
    let (trigger, why) = failed.given_up.unwrap();
    assert_eq!((trigger.turn, why.as_str()), (1, "the compaction failed: a turn is running"));
    // The client was killed: the end of the next turn learns the result from the transcript.
    let lost = take(&all, asked.clone(), end(3_000, None), 3_000);
    assert_eq!((lost.state.phase, lost.given_up.is_some()), (Phase::Idle, true));
    let found = Some(Baseline { used: 9_000, at_ms: 2_000 });
    let found = take(&all, asked, end(3_000, found), 3_000);
    assert_eq!((found.state.phase, found.given_up), (Phase::Idle, None));

    // It neither begins nor ends what another client carries out.
    let others =
        take(&policy(Author::Watcher, false, false), Watcher::default(), commit(), 1).state;
    let failed = Event::CompactOnlyEnded { made: Err("a turn is running".into()) };
    for event in [end(0, None), made(), failed] {
        let stepped = take(&all, others.clone(), event, 2);
        assert_eq!((stepped.effects, &stepped.state), (vec![], &others));
    }
}

#[test]
fn in_the_middle_of_a_turn_it_is_asked_only_with_the_setting() {
    let mut policy = policy(Author::Agent, true, false);
    let commit = Situation { point: Point::MidTurn, ..at(60, 100_000, &[Boundary::Commit]) };
    let made = Event::CompactOnlyEnded { made: Ok(9_000) };
    let none = Situation { boundaries: [].into(), ..commit.clone() };
    let full = Situation { point: Point::MidTurn, ..at(5, 250_000, &[]) };
    let steps = |situation: &Situation| Event::MidTurnCompactOnly(situation.clone());
    let off = take(&policy, Watcher::default(), steps(&full), 0);
    assert_eq!((off.effects, off.decided, off.state), (vec![], None, Watcher::default()));
    policy.mid_turn = true;
    // No packet by the agent, no handoff; a phase must have ended, or the window be full.
    let stepped = take(&policy, Watcher::default(), steps(&commit), 0);
    let trigger = stepped.effects.iter().find_map(|effect| match effect {
        Effect::Compact { trigger, .. } => Some(trigger),
        _ => None,
    });
    let trigger = trigger.unwrap();
    assert_eq!((trigger.point, trigger.packet_author), (Point::MidTurn, Author::Watcher));
    assert_eq!(run(&policy, vec![steps(&none), steps(&commit), made.clone()]).0, ["compact"]);
    assert_eq!(run(&policy, vec![steps(&full), made]).0, ["compact"]);
    policy.mode = Mode::Suggest;
    let end = Event::TurnSeen(Situation { point: Point::TurnEnd, ..commit.clone() });
    assert_eq!(run(&policy, vec![steps(&commit), end]).0, ["notify"], "once, at the turn's end");
    assert_eq!(run(&policy, vec![steps(&commit)]).0, [""; 0]);
}

#[test]
fn after_a_late_yes_the_same_client_compacts() {
    let policy = policy(Author::Agent, true, true);
    let end = Event::TurnEndedCompactOnly(at(60, 100_000, &[Boundary::Commit]));
    let yes = Judgment { should_compact: true, reason: "over".into() };
    let yes = Event::Judged { request_id: "judgment-1".into(), judgment: Some(yes) };
    assert_eq!(run(&policy, vec![end.clone(), yes]).0, ["ask_judgment", "compact"]);
    // Another client requested it and left: it is over, and this client can only compact.
    let asked = take(&policy, Watcher::default(), commit(), 0).state;
    let late = take(&policy, asked, end, policy.judgment_timeout_ms);
    assert_eq!(shown(&late.effects), ["warn", "compact"]);
}
