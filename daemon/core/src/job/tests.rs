//! Rules one by one, then any order of events against the invariants of `facts/codex-memory.md` §10.

use std::collections::HashMap;

use proptest::prelude::*;

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

fn ask(input: &str) -> Request {
    Request {
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
    let (job, claim) = claim(job, Load::default(), &RULES, ("d", "n"), &at(now)).unwrap();
    (job, claim.token)
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, detail: "x".to_owned(), retry_after_ms: None }
}

#[test]
fn a_lease_ends_exactly_at_its_time_and_a_retry_begins_exactly_at_its_own() {
    let (job, token) = claimed(queued("a"), 1_000);
    assert!(renew(job.clone(), &token, &RULES, &at(1_299)).is_ok());
    assert_eq!(renew(job.clone(), &token, &RULES, &at(1_300)), Err(Lost::LeaseExpired));
    assert_eq!(rescue(job.clone(), &RULES, false, &at(1_299)), None);
    assert_eq!(rescue(job.clone(), &RULES, false, &at(1_300)).unwrap().state, State::Queued);
    let failed =
        fail(job, &token, failure(FailureKind::Transient), (&RULES, 1.0), &at(1_100)).unwrap();
    let reason = |now| why(&failed, Load::default(), &RULES, &at(now));
    assert_eq!(reason(1_199), Why::Waiting { wait_ms: 1 });
    assert_eq!(reason(1_200), Why::Due);
}

#[test]
fn a_run_that_was_taken_over_changes_nothing() {
    let (job, old) = claimed(queued("a"), 0);
    let job = rescue(job, &RULES, false, &at(400)).unwrap();
    let (job, new) = claimed(job, 400);
    assert!(new.epoch > old.epoch);
    assert_eq!(finish(job.clone(), &old, &RULES, &at(410)), Err(Lost::TakenOver));
    assert_eq!(renew(job.clone(), &old, &RULES, &at(410)).unwrap_err(), Lost::TakenOver);
    let job = finish(job, &new, &RULES, &at(420)).unwrap();
    assert_eq!(job.state, State::Done);
    assert_eq!(finish(job, &new, &RULES, &at(430)), Err(Lost::TakenOver), "twice is not once more");
}

#[test]
fn a_holder_stops_before_anybody_takes_over() {
    let (job, claim) = claim(queued("a"), Load::default(), &RULES, ("d", "n"), &at(1_000)).unwrap();
    assert_eq!(claim.stop_at_boot_ms, 1_240);
    assert_eq!(rescue(job, &RULES, false, &at(claim.stop_at_boot_ms)), None);
}

#[test]
fn another_boot_or_a_dead_holder_frees_a_job_at_once() {
    let (job, token) = claimed(queued("a"), 0);
    let rebooted = Moment { boot: "boot-2".to_owned(), ..at(1) };
    assert!(rescue(job.clone(), &RULES, false, &rebooted).is_some());
    assert_eq!(finish(job.clone(), &token, &RULES, &rebooted), Err(Lost::LeaseExpired));
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
fn each_kind_of_failure_leads_where_it_should() {
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
fn what_is_asked_during_a_run_is_owed_after_it() {
    let (job, token) = claimed(queued("a"), 0);
    let job = request(Some(job), ask("b"), &at(1));
    assert_eq!(job.state, State::Running);
    let job = finish(job, &token, &RULES, &at(2)).unwrap();
    assert_eq!((job.state, job.wanted, job.done), (State::Queued, 2, 1));
    let again = request(Some(job), ask("b"), &at(3));
    assert_eq!(again.wanted, 2, "the same input is owed once");
}

#[test]
fn a_cooldown_holds_back_what_is_not_urgent() {
    let rules = Rules { cooldown_ms: 500, ..RULES };
    for urgent in [false, true] {
        let (job, token) = claimed(queued("a"), 0);
        let job = request(Some(job), Request { urgent, ..ask("b") }, &at(1));
        let job = finish(job, &token, &rules, &at(10)).unwrap();
        let expected = if urgent { Why::Due } else { Why::Waiting { wait_ms: 490 } };
        assert_eq!(why(&job, Load::default(), &rules, &at(20)), expected);
    }
}

#[test]
fn a_cancelled_run_counts_for_nothing() {
    let (job, token) = claimed(queued("a"), 0);
    let job = cancel(job, &at(1));
    assert_eq!(job.state, State::Done);
    assert_eq!(finish(job, &token, &RULES, &at(2)), Err(Lost::TakenOver));
}

#[test]
fn room_and_order_decide_who_is_next() {
    let job = |subject: &str, priority, urgent, asked| {
        let key = key(subject);
        let asked_for =
            Request { key, input: "i".into(), payload: String::new(), priority, urgent };
        request(None, asked_for, &at(asked))
    };
    let jobs = [job("old", 0, false, 1), job("high", 5, false, 9), job("urgent", 0, true, 9)];
    let next_of = |jobs: &[Job]| {
        next(jobs, Load::default(), &RULES, &at(10)).map(|job| job.key.subject.clone())
    };
    assert_eq!(next_of(&jobs).as_deref(), Some("urgent"));
    assert_eq!(next_of(&jobs[..2]).as_deref(), Some("high"));
    let full = Load { of_kind: RULES.running_max };
    assert_eq!(next(&jobs, full, &RULES, &at(10)), None);
    assert_eq!(why(&jobs[0], full, &RULES, &at(10)), Why::NoRoom { running_max: 2 });
}

#[test]
fn rules_that_cannot_work_are_refused() {
    let refused = |rules: Rules| rules.checked().unwrap_err();
    assert_eq!(refused(Rules { heartbeat_ms: 101, ..RULES }), RulesError::HeartbeatTooSlow);
    assert_eq!(refused(Rules { margin_ms: 201, ..RULES }), RulesError::MarginTooWide);
    assert_eq!(refused(Rules { running_max: 0, ..RULES }), RulesError::Nothing);
    assert!(Rules::default().checked().is_ok() && RULES.checked().is_ok());
}

/// What may happen, in any order.
#[derive(Debug, Clone, Copy)]
enum Event {
    Ask {
        subject: usize,
        input: u8,
        urgent: bool,
    },
    Claim {
        worker: usize,
        subject: usize,
    },
    Renew {
        worker: usize,
    },
    Finish {
        worker: usize,
    },
    Fail {
        worker: usize,
        kind: FailureKind,
    },
    /// The worker is gone; the daemon learns of it or not.
    Crash {
        worker: usize,
        known: bool,
    },
    Rescue {
        subject: usize,
    },
    Wait {
        ms: u64,
    },
    /// The wall clock is set.
    SetClock {
        wall_ms: i64,
    },
    Reboot,
    Retry {
        subject: usize,
    },
    Cancel {
        subject: usize,
    },
}

fn events() -> impl Strategy<Value = Event> {
    use FailureKind as F;
    let kind = prop::sample::select(vec![
        F::Transient,
        F::RateLimited,
        F::Overflow,
        F::Unauthorized,
        F::BudgetSpent,
        F::Permanent,
        F::Interrupted,
    ]);
    let worker = 0..4usize;
    let subject = 0..3usize;
    prop_oneof![
        3 => (subject.clone(), 0..4u8, any::<bool>())
            .prop_map(|(subject, input, urgent)| Event::Ask { subject, input, urgent }),
        5 => (worker.clone(), subject.clone()).prop_map(|(worker, subject)| Event::Claim { worker, subject }),
        2 => worker.clone().prop_map(|worker| Event::Renew { worker }),
        3 => worker.clone().prop_map(|worker| Event::Finish { worker }),
        2 => (worker.clone(), kind).prop_map(|(worker, kind)| Event::Fail { worker, kind }),
        1 => (worker, any::<bool>()).prop_map(|(worker, known)| Event::Crash { worker, known }),
        3 => subject.clone().prop_map(|subject| Event::Rescue { subject }),
        4 => (0..500u64).prop_map(|ms| Event::Wait { ms }),
        1 => any::<i64>().prop_map(|wall_ms| Event::SetClock { wall_ms }),
        1 => Just(Event::Reboot),
        1 => subject.clone().prop_map(|subject| Event::Retry { subject }),
        1 => subject.prop_map(|subject| Event::Cancel { subject }),
    ]
}

/// The table, the workers that think they own something, and the clocks.
struct World {
    jobs: HashMap<usize, Job>,
    /// What each worker holds: subject, token, moment it must stop at, boot.
    held: HashMap<usize, (usize, Token, u64, String)>,
    now: Moment,
    boots: u32,
    nonces: u64,
    /// Highest epoch whose success was accepted, by subject.
    published: HashMap<usize, u64>,
}

impl World {
    fn new() -> Self {
        let (jobs, held, published) = Default::default();
        Self { jobs, held, now: at(1_000), boots: 1, nonces: 0, published }
    }

    /// Workers that may still act on a job: they hold a claim and have not had to stop by themselves.
    fn acting(&self, subject: usize) -> usize {
        let acts = |(of, _, stop_at, boot): &&(usize, Token, u64, String)| {
            *of == subject && *boot == self.now.boot && self.now.boot_ms < *stop_at
        };
        let live = |held: &&(usize, Token, u64, String)| {
            self.jobs.get(&subject).is_some_and(|job| job.epoch == held.1.epoch)
        };
        self.held.values().filter(acts).filter(live).count()
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Ask { subject, input, urgent } => {
                let asked = Request {
                    key: key(&subject.to_string()),
                    input: input.to_string(),
                    payload: String::new(),
                    priority: 0,
                    urgent,
                };
                let job = request(self.jobs.remove(&subject), asked, &self.now);
                self.jobs.insert(subject, job);
            }
            Event::Claim { worker, subject } => self.claim(worker, subject),
            Event::Renew { worker } => self.renew(worker),
            Event::Finish { worker } => self.settle(worker, None),
            Event::Fail { worker, kind } => self.settle(worker, Some(kind)),
            Event::Crash { worker, known } => {
                if let Some((subject, ..)) = self.held.remove(&worker)
                    && known
                    && let Some(job) = self.jobs.get(&subject)
                    && let Some(job) = rescue(job.clone(), &RULES, true, &self.now)
                {
                    // Whoever held it by a newer claim was not the one that is known to be dead.
                    if !self
                        .held
                        .values()
                        .any(|held| held.0 == subject && held.1.epoch == job.epoch)
                    {
                        self.jobs.insert(subject, job);
                    }
                }
            }
            Event::Rescue { subject } => {
                let job = self.jobs.get(&subject).cloned();
                if let Some(job) = job.and_then(|job| rescue(job, &RULES, false, &self.now)) {
                    self.jobs.insert(subject, job);
                }
            }
            Event::Wait { ms } => self.now = self.now.plus_ms(ms),
            Event::SetClock { wall_ms } => self.now.wall_ms = wall_ms,
            Event::Reboot => {
                self.boots += 1;
                self.now =
                    Moment { boot: format!("boot-{}", self.boots), boot_ms: 5, ..self.now.clone() };
                self.held.clear();
            }
            Event::Retry { subject } => {
                if let Some(job) = self.jobs.remove(&subject) {
                    self.jobs.insert(subject, retry(job, &self.now));
                }
            }
            Event::Cancel { subject } => {
                if let Some(job) = self.jobs.remove(&subject) {
                    self.jobs.insert(subject, cancel(job, &self.now));
                }
            }
        }
    }

    fn claim(&mut self, worker: usize, subject: usize) {
        let running = self.jobs.values().filter(|job| job.state == State::Running).count();
        let load = Load { of_kind: u32::try_from(running).unwrap() };
        let Some(job) = self.jobs.get(&subject).filter(|_| !self.held.contains_key(&worker)) else {
            return;
        };
        self.nonces += 1;
        let nonce = self.nonces.to_string();
        if let Ok((job, claim)) = claim(job.clone(), load, &RULES, ("w", &nonce), &self.now) {
            let held = (subject, claim.token, claim.stop_at_boot_ms, self.now.boot.clone());
            self.held.insert(worker, held);
            self.jobs.insert(subject, job);
        }
    }

    fn renew(&mut self, worker: usize) {
        let Some((subject, token, _, boot)) = self.held.remove(&worker) else { return };
        if let Ok((job, claim)) = renew(self.jobs[&subject].clone(), &token, &RULES, &self.now) {
            self.jobs.insert(subject, job);
            self.held.insert(worker, (subject, token, claim.stop_at_boot_ms, boot));
        }
    }

    fn settle(&mut self, worker: usize, kind: Option<FailureKind>) {
        let Some((subject, token, ..)) = self.held.remove(&worker) else { return };
        let job = self.jobs[&subject].clone();
        let settled = match kind {
            None => finish(job, &token, &RULES, &self.now),
            Some(kind) => fail(job, &token, failure(kind), (&RULES, 0.5), &self.now),
        };
        let Ok(job) = settled else { return };
        if kind.is_none() {
            let last = self.published.insert(subject, token.epoch);
            assert!(last.is_none_or(|last| last < token.epoch), "epochs publish in order, once");
            assert_eq!(job.epoch, token.epoch, "only the newest epoch publishes");
        }
        self.jobs.insert(subject, job);
    }

    fn check(&self, before: &HashMap<usize, Job>) {
        for (subject, job) in &self.jobs {
            assert!(self.acting(*subject) <= 1, "one live owner at most: {job:?}");
            assert_eq!(job.lease.is_some(), job.state == State::Running, "{job:?}");
            assert!(job.attempts <= RULES.attempts_max, "{job:?}");
            assert!(job.done <= job.wanted, "{job:?}");
            assert!(
                job.state != State::Done || !job.is_owed(),
                "what is owed is not done: {job:?}"
            );
            if let Some(old) = before.get(subject) {
                assert!(job.epoch >= old.epoch && job.wanted >= old.wanted && job.done >= old.done);
            }
        }
        let running = self.jobs.values().filter(|job| job.state == State::Running).count();
        assert!(running <= RULES.running_max as usize);
    }

    /// With workers that live and no more events, all that can be done is done.
    fn drain(&mut self) {
        self.held.clear();
        for _ in 0..200 {
            self.now = self.now.plus_ms(RULES.lease_ms);
            for subject in 0..3 {
                self.step(Event::Rescue { subject });
                self.claim(0, subject);
                self.settle(0, None);
            }
        }
        for job in self.jobs.values() {
            let ended = matches!(job.state, State::Done | State::Dead | State::Parked);
            assert!(ended, "owed work runs in the end: {job:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_order_of_events_keeps_the_invariants(events in prop::collection::vec(events(), 1..120)) {
        let mut world = World::new();
        for event in events {
            let before = world.jobs.clone();
            world.step(event);
            world.check(&before);
        }
        world.drain();
    }
}
