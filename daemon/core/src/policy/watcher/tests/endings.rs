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
