//! Sequences that end otherwise than they were to, and what is told of it.

use super::*;

/// Who was to have it done lost sight of it: the transcript tells whether it was made.
#[test]
fn a_compaction_that_is_reported_as_failed_and_was_made_is_one() {
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

/// An agent that cannot be asked ends the sequence, and the log has why.
#[test]
fn notes_that_cannot_be_asked_for_and_a_no_of_the_judge_are_told_to_the_log() {
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
