//! Checks any order of events against a simple model: what was requested, who received a
//! claim, until when its holder may act, and what came out. Each invariant has a name, and a function.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{RULES, at, failure, key};
use crate::job::*;

const SUBJECTS: usize = 3;
const WORKERS: usize = 4;

/// Events, in any order.
#[derive(Debug, Clone, Copy)]
enum SimulatedEvent {
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
    /// The effect is stored, if the fence lets it, and then the job is finished.
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
    /// The machine sleeps, past every lease or not; then the holders wake and continue.
    Suspend {
        ms: u64,
    },
    /// The wall clock is set, by an hour or to anything.
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

fn events() -> impl Strategy<Value = SimulatedEvent> {
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
    let (worker, subject) = (0..WORKERS, 0..SUBJECTS);
    let wall_ms = prop_oneof![any::<i64>(), -3_600_000..90_000_000_i64];
    prop_oneof![
        3 => (subject.clone(), 0..4u8, any::<bool>())
            .prop_map(|(subject, input, urgent)| SimulatedEvent::Ask { subject, input, urgent }),
        5 => (worker.clone(), subject.clone())
            .prop_map(|(worker, subject)| SimulatedEvent::Claim { worker, subject }),
        2 => worker.clone().prop_map(|worker| SimulatedEvent::Renew { worker }),
        3 => worker.clone().prop_map(|worker| SimulatedEvent::Finish { worker }),
        2 => (worker.clone(), kind).prop_map(|(worker, kind)| SimulatedEvent::Fail { worker, kind }),
        1 => (worker, any::<bool>()).prop_map(|(worker, known)| SimulatedEvent::Crash { worker, known }),
        3 => subject.clone().prop_map(|subject| SimulatedEvent::Rescue { subject }),
        4 => (0..500u64).prop_map(|ms| SimulatedEvent::Wait { ms }),
        1 => (0..2_000u64).prop_map(|ms| SimulatedEvent::Suspend { ms }),
        1 => wall_ms.prop_map(|wall_ms| SimulatedEvent::SetClock { wall_ms }),
        1 => Just(SimulatedEvent::Reboot),
        1 => subject.clone().prop_map(|subject| SimulatedEvent::Retry { subject }),
        1 => subject.prop_map(|subject| SimulatedEvent::Cancel { subject }),
    ]
}

/// A worker's own view of its claim.
#[derive(Debug, Clone)]
struct HeldClaim {
    subject: usize,
    token: Token,
    /// What was asked of the job when it was claimed.
    asked: u64,
    stop_at_ms: u64,
    boot: String,
}

/// The table, the model next to it, and the clocks.
struct World {
    jobs: BTreeMap<usize, Job>,
    now: Moment,
    boots: u32,
    nonces: u64,
    held: BTreeMap<usize, HeldClaim>,
    /// Number of new requests.
    asked: BTreeMap<usize, u64>,
    /// Epochs that were handed out.
    epochs: BTreeMap<usize, BTreeSet<u64>>,
    /// Effects that were stored: of which epoch, for what was asked.
    stored: BTreeMap<usize, Vec<(u64, u64)>>,
}

impl World {
    fn new() -> Self {
        let (jobs, held, asked, epochs, stored) = Default::default();
        Self { jobs, now: at(1_000), boots: 1, nonces: 0, held, asked, epochs, stored }
    }

    fn step(&mut self, event: SimulatedEvent) {
        match event {
            SimulatedEvent::Ask { subject, input, urgent } => self.ask(subject, input, urgent),
            SimulatedEvent::Claim { worker, subject } => self.claim(worker, subject),
            SimulatedEvent::Renew { worker } => self.renew(worker),
            SimulatedEvent::Finish { worker } => self.settle(worker, None),
            SimulatedEvent::Fail { worker, kind } => self.settle(worker, Some(kind)),
            SimulatedEvent::Crash { worker, known } => self.crash(worker, known),
            SimulatedEvent::Rescue { subject } => {
                self.change(subject, |job, now| rescue(job, &RULES, false, now));
            }
            SimulatedEvent::Wait { ms } | SimulatedEvent::Suspend { ms } => {
                self.now = self.now.plus_ms(ms);
            }
            SimulatedEvent::SetClock { wall_ms } => self.now.wall_ms = wall_ms,
            SimulatedEvent::Reboot => {
                self.boots += 1;
                let boot = format!("boot-{}", self.boots);
                self.now = Moment { boot, boot_ms: 5, ..self.now.clone() };
                self.held.clear();
            }
            SimulatedEvent::Retry { subject } => {
                let was_pending = self.jobs.get(&subject).is_some_and(Job::is_pending);
                let is_free = self.jobs.get(&subject).is_some_and(|j| j.state != State::Running);
                self.change(subject, |job, now| Some(retry(job, now)));
                *self.asked.entry(subject).or_default() += u64::from(is_free && !was_pending);
            }
            SimulatedEvent::Cancel { subject } => {
                self.change(subject, |job, now| Some(cancel(job, now)));
            }
        }
    }

    fn change(&mut self, subject: usize, change: impl FnOnce(Job, &Moment) -> Option<Job>) {
        let job = self.jobs.get(&subject).cloned();
        if let Some(job) = job.and_then(|job| change(job, &self.now)) {
            self.jobs.insert(subject, job);
        }
    }

    fn ask(&mut self, subject: usize, input: u8, urgent: bool) {
        let (key, input) = (key(&subject.to_string()), input.to_string());
        let is_new = self.jobs.get(&subject).is_none_or(|job| job.input != input);
        let asked = JobRequest { key, input, payload: String::new(), priority: 0, urgent };
        let job = request(self.jobs.remove(&subject), asked, &self.now);
        self.jobs.insert(subject, job);
        *self.asked.entry(subject).or_default() += u64::from(is_new);
    }

    fn claim(&mut self, worker: usize, subject: usize) {
        let running = self.jobs.values().filter(|job| job.state == State::Running).count();
        let load = u32::try_from(running).unwrap();
        let Some(job) = self.jobs.get(&subject).filter(|_| !self.held.contains_key(&worker)) else {
            return;
        };
        self.nonces += 1;
        let nonce = self.nonces.to_string();
        let Ok((job, claim)) = claim(job.clone(), load, &RULES, ("w", &nonce), &self.now) else {
            return;
        };
        let is_fresh = self.epochs.entry(subject).or_default().insert(job.epoch);
        assert!(is_fresh, "epochs_rise: an epoch is handed out once");
        let held = HeldClaim {
            subject,
            token: claim.token,
            asked: self.asked[&subject],
            stop_at_ms: claim.stop_at_boot_ms,
            boot: self.now.boot.clone(),
        };
        self.held.insert(worker, held);
        self.jobs.insert(subject, job);
    }

    fn renew(&mut self, worker: usize) {
        let Some(held) = self.held.remove(&worker) else { return };
        let job = self.jobs[&held.subject].clone();
        if let Ok((job, claim)) = renew(job, &held.token, &RULES, &self.now) {
            self.jobs.insert(held.subject, job);
            self.held.insert(worker, HeldClaim { stop_at_ms: claim.stop_at_boot_ms, ..held });
        }
    }

    fn settle(&mut self, worker: usize, kind: Option<FailureKind>) {
        let Some(HeldClaim { subject, token, asked, .. }) = self.held.remove(&worker) else {
            return;
        };
        let job = self.jobs[&subject].clone();
        let (key, now) = (job.key.clone(), self.now.clone());
        let fence = Fence { key, token: token.clone(), now, finishes: None };
        let may_store = fence.check(Some(&job)).is_ok();
        let settled = match kind {
            None => finish(job, &token, &RULES, &self.now),
            Some(kind) => fail(job, &token, failure(kind), (&RULES, 0.5), &self.now),
        };
        assert_eq!(may_store, settled.is_ok(), "fence and settling agree");
        let Ok(job) = settled else { return };
        if kind.is_none() {
            let again = finish(job.clone(), &token, &RULES, &self.now);
            assert_eq!(again, Ok(job.clone()), "a success may be reported twice");
        }
        if kind.is_none() {
            self.stored.entry(subject).or_default().push((token.epoch, asked));
        }
        self.jobs.insert(subject, job);
    }

    fn crash(&mut self, worker: usize, known: bool) {
        let Some(gone) = self.held.remove(&worker) else { return };
        // A worker with a newer claim is not the one known to be dead.
        let is_its = self.jobs.get(&gone.subject).is_some_and(|job| job.epoch == gone.token.epoch);
        if known && is_its {
            self.change(gone.subject, |job, now| rescue(job, &RULES, true, now));
        }
    }

    /// Every invariant, after every event.
    fn check(&self, before: &BTreeMap<usize, Job>) {
        for (subject, job) in &self.jobs {
            self.one_live_owner(*subject);
            self.newest_epoch_publishes_once(*subject);
            epochs_and_generations_never_fall(before.get(subject), job);
            attempts_are_bounded(job);
            pending_is_never_done(job);
            a_lease_means_running(job);
            self.no_wait_is_longer_than_its_rule(job);
        }
        let running = self.jobs.values().filter(|job| job.state == State::Running).count();
        assert!(running <= RULES.running_max as usize, "capacity_holds");
    }

    /// At most one worker may act on a job: it holds a claim and has not had to stop by itself.
    fn one_live_owner(&self, subject: usize) {
        let acts = self.held.values().filter(|held| {
            held.subject == subject
                && held.boot == self.now.boot
                && self.now.boot_ms < held.stop_at_ms
                // A person's cancel takes effect at once, and the worker is notified.
                && self.jobs[&subject].epoch == held.token.epoch
        });
        assert!(acts.count() <= 1, "one_live_owner: {:?}", self.jobs[&subject]);
    }

    /// Each request is stored once, in the order of the epochs.
    fn newest_epoch_publishes_once(&self, subject: usize) {
        let Some(stored) = self.stored.get(&subject) else { return };
        for pair in stored.windows(2) {
            assert!(pair[0].0 < pair[1].0, "newest_epoch_publishes: {stored:?}");
            assert!(pair[0].1 < pair[1].1, "each_version_once: {stored:?}");
        }
    }

    fn no_wait_is_longer_than_its_rule(&self, job: &Job) {
        if let Why::Waiting { wait_ms, .. } = why(job, 0, &RULES, &self.now) {
            assert!(wait_ms <= RULES.wait_ms_max(), "waits_are_bounded: {wait_ms}");
        }
        if let Some(lease) = &job.lease {
            let later = self.now.plus_ms(2 * RULES.lease_ms);
            assert!(!lease.is_live(&later), "leases_end: {lease:?}");
        }
    }

    /// With live workers and no further events, all runnable jobs finish.
    fn pending_is_run_in_the_end(&mut self) {
        self.held.clear();
        for _ in 0..200 {
            self.now = self.now.plus_ms(RULES.lease_ms);
            for subject in 0..SUBJECTS {
                self.step(SimulatedEvent::Rescue { subject });
                self.claim(0, subject);
                self.settle(0, None);
            }
        }
        for (subject, job) in &self.jobs {
            let ended = matches!(job.state, State::Done | State::Dead | State::Parked);
            assert!(ended, "pending_is_run_in_the_end: {job:?}");
            assert_eq!(job.wanted, self.asked[subject], "nothing_asked_is_forgotten: {job:?}");
        }
    }
}

fn epochs_and_generations_never_fall(before: Option<&Job>, job: &Job) {
    let Some(old) = before else { return };
    let (old, new) = ([old.epoch, old.wanted, old.done], [job.epoch, job.wanted, job.done]);
    assert!(old.iter().zip(new).all(|(old, new)| new >= *old), "epochs_rise: {old:?} {new:?}");
}

fn attempts_are_bounded(job: &Job) {
    assert!(job.attempts <= RULES.attempts_max, "attempts_are_bounded: {job:?}");
}

fn pending_is_never_done(job: &Job) {
    assert!(job.done <= job.wanted, "pending_is_never_done: {job:?}");
    assert!(job.state != State::Done || !job.is_pending(), "pending_is_never_done: {job:?}");
}

fn a_lease_means_running(job: &Job) {
    assert_eq!(job.lease.is_some(), job.state == State::Running, "a_lease_means_running: {job:?}");
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
        world.pending_is_run_in_the_end();
    }
}
