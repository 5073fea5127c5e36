//! Runs a schedule, chosen by a seed, of crashes, suspends, clock jumps, reboots, takeovers and late answers on the real
//! job table in a database that two daemons have open. After each step it checks the invariants against the test's own
//! records; at the end all faults stop, and every pending job must have run once.
//!
//! The state folder's lock admits only one daemon (`lifecycle.rs`). Here that lock does not work, as on some network file
//! systems, so epochs and leases alone must suffice.
//!
//! `LONGHAUL_SEEDS=2000` runs more; `LONGHAUL_SEED=17` repeats a failed one.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_core::job::{
    Failure, FailureKind, Job, JobKey, JobRequest, Kind, Moment, Rules, State, Why,
};
use longhaul_daemon::clock::Clock;
use longhaul_daemon::jobs::{ClaimedJob, JobError, Jobs, Owner};
use longhaul_store::{CompactionRow, JobFilter, Store, StoreError};

use crate::support::Chance;

const SEEDS: u64 = 24;
const STEPS: usize = 120;
const SUBJECTS: u64 = 4;

const RULES: Rules = Rules {
    lease_ms: 3_000,
    heartbeat_ms: 1_000,
    margin_ms: 500,
    retry_ms: 1_000,
    retry_ms_max: 8_000,
    cooldown_ms: 400,
    attempts_max: 3,
    running_max: 2,
};

/// A run that a holder believes to own.
struct Run {
    owner: Owner,
    /// The job's input at the claim.
    wanted: u64,
    stop_at_ms: u64,
    boot: String,
    /// Whether its effect is stored although the job is not settled yet.
    has_stored: bool,
}

struct World {
    clock: Clock,
    /// Two daemons with separate connections.
    daemons: [(Jobs, Store); 2],
    runs: Vec<Run>,
    /// Epochs handed out, by subject.
    epochs: BTreeMap<String, BTreeSet<u64>>,
    /// Stored effects in order: subject → (input, epoch).
    effects: BTreeMap<String, Vec<(u64, u64)>>,
    instances: u64,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("longhaul.db");
        let clock = Clock::manual(1_763_700_000_000);
        let (first, _) = Store::open(&path, 0).await.unwrap();
        let (second, _) = Store::open(&path, 0).await.unwrap();
        let table =
            |store: &Store, name: &str| Jobs::new(store.jobs.clone(), clock.clone(), name, rules());
        let daemons = [(table(&first, "a-0"), first), (table(&second, "b-0"), second)];
        let (runs, epochs, effects) = Default::default();
        Self { clock, daemons, runs, epochs, effects, instances: 0, _folder: folder }
    }

    fn jobs(&self, chance: &mut Chance) -> Jobs {
        self.daemons[usize::try_from(chance.below(2)).unwrap()].0.clone()
    }

    async fn step(&mut self, chance: &mut Chance) {
        match chance.below(100) {
            0..20 => self.ask(chance).await,
            20..42 => self.claim(chance).await,
            42..52 => self.renew(chance).await,
            52..66 => self.store(chance).await,
            66..74 => self.finish(chance).await,
            74..80 => self.fail(chance).await,
            80..84 => self.crash(chance).await,
            84..92 => self.clock.advance_ms(i64::try_from(chance.below(900)).unwrap()),
            // The machine sleeps past every lease; its holders wake up and continue.
            92..94 => self.clock.advance_ms(i64::try_from(chance.below(20_000)).unwrap()),
            94..97 => self.set_clock(chance),
            97 => self.reboot(),
            98 => drop(self.jobs(chance).retry(&key(chance)).await),
            _ => drop(self.jobs(chance).cancel(&key(chance)).await),
        }
    }

    async fn ask(&mut self, chance: &mut Chance) {
        let asked = JobRequest {
            key: key(chance),
            input: chance.below(5).to_string(),
            payload: String::new(),
            priority: i32::try_from(chance.below(2)).unwrap(),
            urgent: chance.below(4) == 0,
        };
        self.jobs(chance).request(asked).await.unwrap();
    }

    async fn claim(&mut self, chance: &mut Chance) {
        let jobs = self.jobs(chance);
        let holder = if chance.below(3) == 0 { "worker:w".to_owned() } else { jobs.holder() };
        if let Some(claimed) = jobs.claim(Kind::Compact, &holder).await.unwrap() {
            self.granted(claimed);
        }
    }

    fn granted(&mut self, ClaimedJob { job, claim }: ClaimedJob) {
        let subject = job.key.subject.clone();
        let epochs = self.epochs.entry(subject.clone()).or_default();
        let newest = epochs.last().copied().unwrap_or(0);
        assert!(
            job.epoch > newest,
            "epochs_rise: {subject} was given {} after {newest}",
            job.epoch
        );
        epochs.insert(job.epoch);
        let now = self.clock.moment();
        let others = self.runs.iter().filter(|run| {
            let is_its = run.owner.key.subject == subject && run.boot == now.boot;
            is_its && now.boot_ms < run.stop_at_ms
        });
        // The worker learns of a cancellation later; until then it continues, and its writes are fenced.
        let current = others.filter(|run| run.owner.token.epoch + 1 == job.epoch);
        assert_eq!(current.count(), 0, "one_live_owner: {subject} was taken from a live run");
        self.runs.push(Run {
            owner: Owner { key: job.key, token: claim.token },
            wanted: job.lease.unwrap().wanted,
            stop_at_ms: claim.stop_at_boot_ms,
            boot: now.boot,
            has_stored: false,
        });
    }

    fn take(&mut self, chance: &mut Chance) -> Option<Run> {
        let count = u64::try_from(self.runs.len()).unwrap();
        (count > 0).then(|| self.runs.swap_remove(usize::try_from(chance.below(count)).unwrap()))
    }

    async fn renew(&mut self, chance: &mut Chance) {
        let (jobs, Some(run)) = (self.jobs(chance), self.take(chance)) else { return };
        match jobs.renew(&run.owner.key, &run.owner.token).await {
            Ok(claim) => self.runs.push(Run { stop_at_ms: claim.stop_at_boot_ms, ..run }),
            Err(error) => is_lost(&error),
        }
    }

    /// Stores a run's effect, and crashes or pauses before settling it.
    async fn store(&mut self, chance: &mut Chance) {
        let Some(run) = self.take(chance) else { return };
        let (jobs, store) = &self.daemons[usize::try_from(chance.below(2)).unwrap()];
        let subject = &run.owner.key.subject;
        let before = jobs.events(&run.owner.key).await.unwrap();
        // As in a compaction, the name is derived from the input, so that it is found after a crash.
        let row = effect(subject, run.wanted);
        let is_there = store.compactions.get(&row.compaction_id).await.unwrap().is_some();
        match store.compactions.insert(&row, &[], Some(&jobs.fence(&run.owner))).await {
            Ok(()) => {
                let newest = self.epochs[subject].last();
                assert_eq!(
                    newest,
                    Some(&run.owner.token.epoch),
                    "newest_epoch_publishes: {subject}"
                );
                if !is_there {
                    let effects = self.effects.entry(subject.clone()).or_default();
                    effects.push((run.wanted, run.owner.token.epoch));
                }
                self.runs.push(Run { has_stored: true, ..run });
            }
            Err(StoreError::Fenced(_)) => {
                let found = store.compactions.get(&row.compaction_id).await.unwrap().is_some();
                assert_eq!(found, is_there, "a fenced effect leaves nothing");
                let after = jobs.events(&run.owner.key).await.unwrap();
                assert_eq!(after, before, "a fenced effect leaves no trace");
            }
            Err(error) => panic!("no_busy: {error}"),
        }
    }

    async fn finish(&mut self, chance: &mut Chance) {
        let Some(at) = self.runs.iter().position(|run| run.has_stored) else { return };
        let (jobs, run) = (self.jobs(chance), self.runs.swap_remove(at));
        let before = jobs.why(&run.owner.key).await.unwrap().0;
        match jobs.finish(&run.owner.key, &run.owner.token).await {
            Ok(job) => assert!(job.done >= run.wanted, "what was seen is done: {job:?}"),
            Err(error) => {
                is_lost(&error);
                let after = jobs.why(&run.owner.key).await.unwrap().0;
                assert_eq!(after, before, "a late finish changes nothing");
            }
        }
    }

    async fn fail(&mut self, chance: &mut Chance) {
        use FailureKind as F;
        let (jobs, Some(run)) = (self.jobs(chance), self.take(chance)) else { return };
        let kinds = [
            F::Transient,
            F::Transient,
            F::RateLimited,
            F::Overflow,
            F::Interrupted,
            F::BudgetSpent,
            F::Unauthorized,
            F::Permanent,
        ];
        let kind = kinds[usize::try_from(chance.below(8)).unwrap()];
        let retry_after_ms = (chance.below(2) == 0).then(|| chance.below(20_000));
        let failure = Failure { kind, detail: "x".to_owned(), retry_after_ms };
        if let Err(error) = jobs.fail(&run.owner.key, &run.owner.token, failure).await {
            is_lost(&error);
        }
    }

    /// A daemon dies with its state, and the next one on that machine takes back its jobs. It also takes runs of the other
    /// daemon, which the lock should have excluded; they are fenced.
    async fn crash(&mut self, chance: &mut Chance) {
        let which = usize::try_from(chance.below(2)).unwrap();
        self.runs.clear();
        self.instances += 1;
        let (jobs, store) = &mut self.daemons[which];
        let name = format!("{}-{}", ["a", "b"][which], self.instances);
        *jobs = Jobs::new(store.jobs.clone(), self.clock.clone(), &name, rules());
        if chance.below(2) == 0 {
            jobs.rescue().await.unwrap();
        }
    }

    fn set_clock(&mut self, chance: &mut Chance) {
        let now_ms = self.clock.now_ms();
        let to_ms = match chance.below(5) {
            0 => now_ms - 3_600_000,
            1 => now_ms + 86_400_000,
            2 => 0,
            3 => -1_000_000_000_000,
            _ => now_ms + 40 * 365 * 86_400_000,
        };
        self.clock.set_wall_ms(to_ms);
    }

    fn reboot(&mut self) {
        self.clock.reboot();
        self.runs.clear();
    }

    async fn check(&self) {
        let (jobs, store) = &self.daemons[0];
        let rows = jobs.list(&JobFilter::default(), 100).await.unwrap();
        let now = self.clock.moment();
        let live = |job: &&Job| job.lease.as_ref().is_some_and(|lease| lease.is_live(&now));
        let running = rows.iter().filter(live).count();
        assert!(running <= RULES.running_max as usize, "capacity_holds: {running} run");
        for job in &rows {
            assert!(job.attempts <= RULES.attempts_max, "attempts_are_bounded: {job:?}");
            assert!(job.done <= job.wanted, "pending_is_never_done: {job:?}");
            assert_eq!(job.lease.is_some(), job.state == State::Running, "a_lease_means_running");
            let newest = self.epochs.get(&job.key.subject).and_then(BTreeSet::last);
            assert!(newest.is_none_or(|newest| job.epoch >= *newest), "epochs_rise: {job:?}");
            self.waits_are_bounded(jobs, job, &now).await;
            let events = store.jobs.events(&job.key).await.unwrap();
            let last = events.last().unwrap();
            let reported = (last.state.as_str(), last.epoch);
            assert_eq!(reported, (job.state.into_str(), job.epoch), "history_is_kept: {job:?}");
        }
        for (subject, effects) in &self.effects {
            let versions: BTreeSet<u64> = effects.iter().map(|(wanted, _)| *wanted).collect();
            assert_eq!(versions.len(), effects.len(), "each_version_once: {subject} {effects:?}");
            let is_sorted = effects.windows(2).all(|pair| pair[0] < pair[1]);
            assert!(is_sorted, "in the order of what was asked: {subject} {effects:?}");
        }
    }

    async fn waits_are_bounded(&self, jobs: &Jobs, job: &Job, now: &Moment) {
        match jobs.why(&job.key).await.unwrap().1 {
            Why::Waiting { wait_ms, .. } => assert!(wait_ms <= RULES.wait_ms_max(), "{job:?}"),
            Why::Running { lease_ms, .. } => assert!(lease_ms <= 2 * RULES.lease_ms, "{job:?}"),
            Why::NothingPending => assert!(!job.is_pending(), "{job:?}"),
            Why::Due | Why::Abandoned | Why::NoRoom { .. } | Why::Dead { .. } => {}
            Why::Parked { .. } => assert_eq!(job.state, State::Parked, "at {now:?}"),
        }
    }

    /// Without further faults: pending jobs run, and dead ones have a failure.
    async fn heal(&mut self) {
        self.runs.clear();
        for _ in 0..400 {
            self.clock.advance_ms(i64::try_from(RULES.lease_ms).unwrap());
            let jobs = self.daemons[0].0.clone();
            while let Some(claimed) = jobs.claim(Kind::Compact, &jobs.holder()).await.unwrap() {
                self.granted(claimed);
                let mut chance = Chance::new(0);
                self.store(&mut chance).await;
                self.finish(&mut chance).await;
            }
            let rows = jobs.list(&JobFilter::default(), 100).await.unwrap();
            let ends = [State::Done, State::Dead, State::Parked];
            if rows.iter().all(|job| ends.contains(&job.state)) {
                return;
            }
        }
        panic!(
            "pending_is_run_in_the_end: {:?}",
            self.daemons[0].0.list(&JobFilter::default(), 100).await
        );
    }
}

fn rules() -> BTreeMap<Kind, Rules> {
    [(Kind::Compact, RULES)].into()
}

fn key(chance: &mut Chance) -> JobKey {
    JobKey { kind: Kind::Compact, subject: format!("s{}", chance.below(SUBJECTS)) }
}

fn effect(subject: &str, wanted: u64) -> CompactionRow {
    CompactionRow {
        compaction_id: format!("{subject}-{wanted}"),
        thread_id: None,
        created_at_ms: 0,
        strategy_used: "checkpoint".to_owned(),
        phase: "standalone".to_owned(),
        trigger: "manual".to_owned(),
        tokens_before: 2,
        tokens_after: 1,
        seq: wanted,
        duration_ms: 0,
        undone_at_ms: None,
        reason: "asked".to_owned(),
        requests: 0,
        tokens_spent: 0,
    }
}

/// Only a lost claim may be returned: no missing job and no busy database.
fn is_lost(error: &JobError) {
    assert!(matches!(error, JobError::Lost(_)), "no_busy: {error}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test]
async fn any_schedule_of_faults_keeps_the_invariants_in_a_database_of_two_daemons() {
    let only = number("LONGHAUL_SEED");
    let seeds = only.map_or(0..number("LONGHAUL_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    let (mut granted, mut stored) = (0, 0);
    for seed in seeds {
        println!("LONGHAUL_SEED={seed}");
        let mut chance = Chance::new(seed);
        let mut world = World::new().await;
        for _ in 0..STEPS {
            world.step(&mut chance).await;
            world.check().await;
        }
        world.heal().await;
        world.check().await;
        granted += world.epochs.values().map(BTreeSet::len).sum::<usize>();
        stored += world.effects.values().map(Vec::len).sum::<usize>();
        for (_, store) in &world.daemons {
            store.database.close().await;
        }
    }
    assert!(granted > stored && stored > 0, "{granted} claims, {stored} effects: faults did bite");
}
