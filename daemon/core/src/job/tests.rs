//! Tests the rules one by one; `model` checks them under any order of events.

mod model;

use super::*;

const RULES: Rules = Rules {
    lease_ms: 300,
    heartbeat_ms: 50,
    margin_ms: 60,
    retry_ms: 100,
    retry_ms_max: 1_000,
    cooldown_ms: 0,
    attempts_max: 3,
    running_max: 2,
};

fn at(ms: u64) -> Moment {
    Moment { wall_ms: ms.cast_signed(), boot: "boot-1".to_owned(), boot_ms: ms }
}

fn key(subject: &str) -> JobKey {
    JobKey { kind: Kind::Extract, subject: subject.to_owned() }
}

fn ask(input: &str) -> JobRequest {
    JobRequest {
        key: key("t"),
        input: input.to_owned(),
        payload: String::new(),
        priority: 0,
        urgent: false,
    }
}

fn queued(input: &str) -> Job {
    request(None, ask(input), &at(0))
}

fn claimed(job: Job, now: u64) -> (Job, Token) {
    let (job, claim) = claim(job, 0, &RULES, ("d", "n"), &at(now)).unwrap();
    (job, claim.token)
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, detail: "x".to_owned(), retry_after_ms: None }
}

#[test]
fn leases_and_waits_end_exactly_on_time() {
    let (job, token) = claimed(queued("a"), 1_000);
    assert!(renew(job.clone(), &token, &RULES, &at(1_299)).is_ok());
    assert_eq!(renew(job.clone(), &token, &RULES, &at(1_300)), Err(LeaseLost::LeaseExpired));
    assert_eq!(rescue(job.clone(), &RULES, false, &at(1_299)), None);
    assert_eq!(rescue(job.clone(), &RULES, false, &at(1_300)).unwrap().state, State::Queued);
    let failed =
        fail(job, &token, failure(FailureKind::Transient), (&RULES, 1.0), &at(1_100)).unwrap();
    let reason = |now| why(&failed, 0, &RULES, &at(now));
    assert_eq!(reason(1_199), Why::Waiting { wait_ms: 1, after: Some("x".to_owned()) });
    assert_eq!(reason(1_200), Why::Due);
}

/// The rules may have changed since the claim.
#[test]
fn a_renewed_claim_lasts_a_whole_lease_by_the_current_rules() {
    let (job, token) = claimed(queued("a"), 1_000);
    let rules = Rules { lease_ms: 900, ..RULES };
    let (job, claim) = renew(job, &token, &rules, &at(1_200)).unwrap();
    assert_eq!((claim.token.clone(), claim.stop_at_boot_ms), (token.clone(), 1_200 + 900 - 60));
    let lease = job.lease.clone().unwrap();
    assert_eq!((lease.since, lease.renewed, lease.lease_ms), (at(1_000), at(1_200), 900));
    assert_eq!(job.updated_at, at(1_200));
    let running = Why::Running { holder: "d".to_owned(), lease_ms: 1 };
    assert_eq!(why(&job, 0, &rules, &at(2_099)), running);
    assert_eq!(why(&job, 0, &rules, &at(2_100)), Why::Abandoned);
    assert!(finish(job.clone(), &token, &rules, &at(2_099)).is_ok());
    assert_eq!(finish(job, &token, &rules, &at(2_100)), Err(LeaseLost::LeaseExpired));
}

#[test]
fn a_key_is_read_as_it_is_printed() {
    let of = |kind, subject: &str| JobKey { kind, subject: subject.to_owned() };
    for (text, key, is_standing) in [
        ("extract/t-1", of(Kind::Extract, "t-1"), false),
        ("compact/", of(Kind::Compact, ""), false),
        ("prune/", JobKey::only(Kind::Prune), true),
        ("prune/x", of(Kind::Prune, "x"), false),
        ("consolidate/", JobKey::only(Kind::Consolidate), true),
        ("curate/", JobKey::only(Kind::Curate), true),
        ("reindex/search", JobKey::search_index(), true),
        ("reindex/", of(Kind::Reindex, ""), false),
        ("extract/a/b", of(Kind::Extract, "a/b"), false),
    ] {
        assert_eq!(key.to_string(), text);
        assert_eq!(JobKey::parse(text), Some(key.clone()));
        assert_eq!(key.is_standing(), is_standing, "{text}");
    }
    for text in ["extract", "unknown/t", "", "/t"] {
        assert_eq!(JobKey::parse(text), None, "{text}");
    }
}

#[test]
fn a_run_that_was_taken_over_changes_nothing() {
    let (job, old) = claimed(queued("a"), 0);
    let job = rescue(job, &RULES, false, &at(400)).unwrap();
    let (job, new) = claimed(job, 400);
    assert!(new.epoch > old.epoch);
    assert_eq!(finish(job.clone(), &old, &RULES, &at(410)), Err(LeaseLost::TakenOver));
    assert_eq!(renew(job.clone(), &old, &RULES, &at(410)).unwrap_err(), LeaseLost::TakenOver);
    let job = finish(job, &new, &RULES, &at(420)).unwrap();
    assert_eq!(job.state, State::Done);
    assert_eq!(finish(job.clone(), &new, &RULES, &at(430)), Ok(job.clone()), "reported again");
    assert_eq!(finish(job.clone(), &old, &RULES, &at(430)), Err(LeaseLost::TakenOver));
    let (job, _) = claimed(request(Some(job), ask("b"), &at(440)), 440);
    assert_eq!(finish(job.clone(), &new, &RULES, &at(450)), Ok(job), "the next run continues");
}

#[test]
fn a_holder_stops_before_its_job_can_be_taken_over() {
    let (job, claim) = claim(queued("a"), 0, &RULES, ("d", "n"), &at(1_000)).unwrap();
    assert_eq!(claim.stop_at_boot_ms, 1_240);
    assert_eq!(rescue(job, &RULES, false, &at(claim.stop_at_boot_ms)), None);
}

#[test]
fn another_boot_or_a_dead_holder_frees_a_job_at_once() {
    let (job, token) = claimed(queued("a"), 0);
    let rebooted = Moment { boot: "boot-2".to_owned(), ..at(1) };
    assert!(rescue(job.clone(), &RULES, false, &rebooted).is_some());
    assert_eq!(finish(job.clone(), &token, &RULES, &rebooted), Err(LeaseLost::LeaseExpired));
    assert!(rescue(job, &RULES, true, &at(1)).is_some());
}

#[test]
fn a_job_that_kills_its_worker_dies_and_new_input_wakes_it() {
    let mut job = queued("a");
    for round in 0..RULES.attempts_max {
        assert_eq!(job.state, State::Queued, "round {round}");
        job = rescue(claimed(job, 0).0, &RULES, true, &at(1)).unwrap();
    }
    assert_eq!(job.state, State::Dead);
    assert_eq!(request(Some(job.clone()), ask("a"), &at(2)).state, State::Dead, "the same input");
    let woken = request(Some(job.clone()), ask("b"), &at(2));
    assert_eq!((woken.state, woken.attempts), (State::Queued, 0));
    assert_eq!(retry(job, &at(2)).state, State::Queued, "a person wakes it too");
}

#[test]
fn each_kind_of_failure_leads_to_its_state() {
    use FailureKind as F;
    for (kind, state, attempts) in [
        (F::Transient, State::Failed, 1),
        (F::RateLimited, State::Failed, 0),
        (F::BudgetSpent, State::Failed, 0),
        (F::Overflow, State::Queued, 1),
        (F::Unauthorized, State::Parked, 1),
        (F::Permanent, State::Dead, 1),
        (F::Interrupted, State::Queued, 0),
    ] {
        let (job, token) = claimed(queued("a"), 0);
        let job = fail(job, &token, failure(kind), (&RULES, 0.5), &at(1)).unwrap();
        assert_eq!((job.state, job.attempts), (state, attempts), "{kind:?}");
    }
}

#[test]
fn a_job_that_fails_too_often_is_dead() {
    use FailureKind as F;
    for (kind, states) in [
        (F::Transient, [State::Failed, State::Failed, State::Dead]),
        (F::Overflow, [State::Queued, State::Queued, State::Dead]),
        // The attempt is returned.
        (F::RateLimited, [State::Failed; 3]),
        (F::BudgetSpent, [State::Failed; 3]),
        (F::Interrupted, [State::Queued; 3]),
        // A configuration that changes deserves another attempt.
        (F::Unauthorized, [State::Parked; 3]),
    ] {
        let (mut job, mut now) = (queued("a"), 0);
        for state in states {
            let (run, token) = claimed(job, now);
            let failed = fail(run, &token, failure(kind), (&RULES, 0.0), &at(now)).unwrap();
            assert_eq!(failed.state, state, "{kind:?} after {} attempts", failed.attempts);
            assert_eq!(failed.not_before.is_some(), state == State::Failed, "{kind:?}");
            now += RULES.retry_ms_max;
            job = Job { state: State::Queued, ..failed };
        }
    }
}

#[test]
fn a_request_during_a_run_is_pending_after_it() {
    let (job, token) = claimed(queued("a"), 0);
    let job = request(Some(job), ask("b"), &at(1));
    assert_eq!(job.state, State::Running);
    let job = finish(job, &token, &RULES, &at(2)).unwrap();
    assert_eq!((job.state, job.wanted, job.done), (State::Queued, 2, 1));
    assert_eq!(job.not_before, None, "these rules have no cooldown");
    let again = request(Some(job), ask("b"), &at(3));
    assert_eq!(again.wanted, 2, "the same input is pending once");
}

#[test]
fn a_cooldown_delays_requests_that_are_not_urgent() {
    let rules = Rules { cooldown_ms: 500, ..RULES };
    for urgent in [false, true] {
        let (job, token) = claimed(queued("a"), 0);
        let job = request(Some(job), JobRequest { urgent, ..ask("b") }, &at(1));
        let job = finish(job, &token, &rules, &at(10)).unwrap();
        assert_eq!(job.urgent, urgent, "it stays urgent only until it ran");
        let expected = if urgent { Why::Due } else { Why::Waiting { wait_ms: 490, after: None } };
        assert_eq!(why(&job, 0, &rules, &at(20)), expected);
    }
}

#[test]
fn a_cancelled_run_changes_nothing() {
    let (job, token) = claimed(queued("a"), 0);
    let epoch = job.epoch;
    let job = cancel(job, &at(1));
    assert_eq!((job.state, job.epoch), (State::Done, epoch + 1), "the run finds another epoch");
    assert_eq!(cancel(queued("a"), &at(1)).epoch, 0);
    assert_eq!(cancel(job.clone(), &at(9)), job, "nothing is left to cancel");
    assert_eq!(finish(job, &token, &RULES, &at(2)), Err(LeaseLost::TakenOver));
}

#[test]
fn capacity_and_order_select_the_next_job() {
    let job = |subject: &str, priority, urgent, asked| {
        let key = key(subject);
        let asked_for =
            JobRequest { key, input: "i".into(), payload: String::new(), priority, urgent };
        request(None, asked_for, &at(asked))
    };
    let jobs = [job("old", 0, false, 1), job("high", 5, false, 9), job("urgent", 0, true, 9)];
    let next_of = |jobs: &[Job]| next(jobs, 0, &RULES, &at(10)).map(|job| job.key.subject.clone());
    assert_eq!(next_of(&jobs).as_deref(), Some("urgent"));
    assert_eq!(next_of(&jobs[..2]).as_deref(), Some("high"));
    let full = RULES.running_max;
    assert_eq!(next(&jobs, full, &RULES, &at(10)), None);
    assert_eq!(why(&jobs[0], full, &RULES, &at(10)), Why::NoRoom { running_max: 2 });
}

#[test]
fn invalid_rules_are_rejected() {
    let refused = |rules: Rules| rules.checked().unwrap_err();
    assert_eq!(refused(Rules { heartbeat_ms: 101, ..RULES }), RulesError::HeartbeatTooSlow);
    assert_eq!(refused(Rules { margin_ms: 201, ..RULES }), RulesError::MarginTooWide);
    assert_eq!(refused(Rules { running_max: 0, ..RULES }), RulesError::Nothing);
    let widest = Rules { heartbeat_ms: 100, margin_ms: 100, ..RULES };
    assert_eq!(widest.checked(), Ok(widest), "a third of the lease each");
}

#[test]
fn the_rules_of_each_kind_are_valid_and_fit_who_waits_for_it() {
    for &kind in Kind::ALL {
        let rules = Rules::of(kind);
        assert_eq!(rules.checked(), Ok(rules), "{kind:?}");
    }
    let of = |kind| (Rules::of(kind), Rules::of(kind).backoff_ms(1, None, 1.0));
    let (compact, soon_ms) = of(Kind::Compact);
    assert!(compact.running_max > 1 && soon_ms < 60_000, "a person waits for it");
    assert!(Rules::of(Kind::Extract).running_max > 1, "many threads come to rest together");
    for kind in [Kind::Consolidate, Kind::Curate, Kind::Prune, Kind::Reindex] {
        let (rules, soon_ms) = of(kind);
        assert_eq!((rules.running_max, soon_ms), (1, 60_000), "{kind:?}: there is one of it");
    }
}

#[test]
fn new_input_does_not_shorten_the_wait_after_a_failure() {
    use FailureKind as F;
    for (kind, urgent, state, waits) in [
        (F::Transient, false, State::Failed, true),
        (F::Transient, true, State::Queued, false),
        // A provider's wait applies to urgent requests too.
        (F::RateLimited, true, State::Failed, true),
        (F::BudgetSpent, true, State::Failed, true),
        // A missing key is missing for every input; a person may try.
        (F::Unauthorized, false, State::Parked, false),
        (F::Unauthorized, true, State::Queued, false),
        (F::Permanent, false, State::Queued, false),
    ] {
        let (job, token) = claimed(queued("a"), 0);
        let job = fail(job, &token, failure(kind), (&RULES, 0.5), &at(1)).unwrap();
        let job = request(Some(job), JobRequest { urgent, ..ask("b") }, &at(2));
        let found = (job.state, job.not_before.is_some(), job.wanted);
        assert_eq!(found, (state, waits, 2), "{kind:?} urgent {urgent}");
    }
}

#[test]
fn a_providers_wait_is_respected_and_bounded() {
    let failed = |retry_after_ms| {
        let (job, token) = claimed(queued("a"), 0);
        let failure = Failure { retry_after_ms, ..failure(FailureKind::RateLimited) };
        let job = fail(job, &token, failure, (&RULES, 0.0), &at(0)).unwrap();
        why(&job, 0, &RULES, &at(0))
    };
    let waiting = |wait_ms| Why::Waiting { wait_ms, after: Some("x".to_owned()) };
    assert_eq!(failed(None), waiting(RULES.retry_ms / 2));
    assert_eq!(failed(Some(77_777)), waiting(77_777));
    assert_eq!(failed(Some(u64::MAX)), waiting(86_400_000), "a day, as no rule waits longer");
}

#[test]
fn waits_double_are_spread_and_are_bounded() {
    let rules = Rules { retry_ms: 100, retry_ms_max: 500, ..RULES };
    let span =
        |attempts| (rules.backoff_ms(attempts, None, 0.0), rules.backoff_ms(attempts, None, 1.0));
    assert_eq!(
        [span(1), span(2), span(3), span(9)],
        [(50, 100), (100, 200), (200, 400), (250, 500)]
    );
}

#[test]
fn a_repeated_request_keeps_its_place_in_the_queue() {
    let first = queued("a");
    let other = JobRequest { key: key("other"), ..ask("a") };
    let other = request(None, other, &at(5));
    let first = request(Some(first), ask("b"), &at(10));
    let jobs = [other, first];
    let chosen = next(&jobs, 0, &RULES, &at(20)).unwrap();
    assert_eq!((chosen.key.subject.as_str(), chosen.wanted), ("t", 2));
}

#[test]
fn a_wrong_wall_clock_does_not_change_the_queue() {
    let of = |subject: &str, now: Moment| {
        request(None, JobRequest { key: key(subject), ..ask("a") }, &now)
    };
    let year_ms = 365 * 86_400_000;
    let ahead = Moment { wall_ms: year_ms, ..at(1) };
    let jobs = [of("later", at(2)), of("sooner", ahead)];
    let chosen = next(&jobs, 0, &RULES, &at(3)).unwrap();
    assert_eq!(chosen.key.subject, "sooner", "the boot clock decides within a boot");
    let old = Moment { boot: "boot-0".to_owned(), wall_ms: year_ms, boot_ms: 999 };
    let jobs = [of("new", at(2)), of("old", old)];
    let chosen = next(&jobs, 0, &RULES, &at(3)).unwrap();
    assert_eq!(chosen.key.subject, "old", "jobs of another boot come first");
}

#[test]
fn a_lease_from_a_boot_clock_that_is_ahead_ends() {
    let (job, _) = claimed(queued("a"), 10_000);
    assert_eq!(
        rescue(job.clone(), &RULES, false, &at(9_900)),
        None,
        "a small difference between processors"
    );
    assert!(rescue(job, &RULES, false, &at(10_000 - RULES.lease_ms)).is_some());
}

#[test]
fn only_the_owner_passes_a_fence() {
    let (job, old) = claimed(queued("a"), 0);
    let fence = |token: &Token, ms| {
        let (key, token) = (key("t"), token.clone());
        Fence { key, token, now: at(ms), finishes: None }
    };
    assert_eq!(fence(&old, 299).check(Some(&job)), Ok(()));
    assert_eq!(
        fence(&old, 300).check(Some(&job)),
        Err(LeaseLost::LeaseExpired),
        "even if no other run took it over"
    );
    assert_eq!(fence(&old, 1).check(None), Err(LeaseLost::TakenOver));
    let job = rescue(job, &RULES, false, &at(300)).unwrap();
    let (job, new) = claimed(job, 301);
    assert_eq!(fence(&old, 302).check(Some(&job)), Err(LeaseLost::TakenOver));
    assert_eq!(fence(&new, 302).check(Some(&job)), Ok(()));
}

#[test]
fn a_cooldown_applies_to_later_requests_too() {
    let rules = Rules { cooldown_ms: 500, ..RULES };
    let (job, token) = claimed(queued("a"), 0);
    let done = finish(job, &token, &rules, &at(10)).unwrap();
    assert_eq!(why(&done, 0, &rules, &at(11)), Why::NothingPending);
    let asked = |urgent| request(Some(done.clone()), JobRequest { urgent, ..ask("b") }, &at(110));
    let waiting = Why::Waiting { wait_ms: 400, after: None };
    assert_eq!(why(&asked(false), 0, &rules, &at(110)), waiting);
    assert_eq!(why(&asked(true), 0, &rules, &at(110)), Why::Due, "a deletion");
}

#[test]
fn setting_the_wall_clock_back_across_a_boot_does_not_extend_a_wait() {
    let (job, token) = claimed(queued("a"), 10_000);
    let job =
        fail(job, &token, failure(FailureKind::Transient), (&RULES, 1.0), &at(10_000)).unwrap();
    let wait_after = |wall_ms: i64| {
        let now = Moment { wall_ms, boot: "boot-2".to_owned(), boot_ms: 1 };
        why(&job, 0, &RULES, &now)
    };
    let waiting = |wait_ms| Why::Waiting { wait_ms, after: Some("x".to_owned()) };
    assert_eq!(wait_after(10_030), waiting(70));
    assert_eq!(wait_after(10_000 - 3_600_000), Why::Due, "longer than the intended wait");
    assert_eq!(wait_after(10_000 + 86_400_000), Why::Due);
}
