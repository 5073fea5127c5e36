//! A real daemon with real work, killed with SIGKILL at each step of a job, or stopped past its lease: the job's effect
//! exists once.
//!
//! The steps of a compaction as a job: requested → claimed → the model is called → its answer arrives → the compaction is
//! recorded → the job is settled.

use std::path::{Path, PathBuf};

use longhaul_core::job::{Job, JobKey, Kind, Rules, State};
use longhaul_daemon::clock::Clock;
use longhaul_daemon::jobs::{ClaimedJob, JobError, Jobs, Owner};
use longhaul_protocol::compaction::Strategy;
use longhaul_protocol::{ErrorKind, compaction, memory};
use longhaul_store::{Store, StoreError};
use rustix::process::Signal;

use crate::memory::all;
use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{Client, Process, configure, eventually, found, of_thread};

const THREAD: &str = "019cadd3-0000-7000-8000-0000000000b1";
const SECOND: &str = "019cadd3-0000-7000-8000-0000000000b2";
const SUMMARY: &str =
    "The fetcher in src/fetch.rs was made to retry; cargo test passes. Next: document it.";

fn rollout(thread: &str) -> Rollout {
    let request = "Make the fetcher retry. Always run cargo test before you are done.";
    Rollout::with_rounds(thread, Path::new("/w/app"), request, 60)
}

/// A home with a thread, a provider that delays its answer, and the daemon's database.
struct Rig {
    home: tempfile::TempDir,
    provider: Provider,
}

impl Rig {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        rollout(THREAD).write(home.path());
        let provider = Provider::start(vec![Answer::Held(Box::new(Answer::says(SUMMARY)))]).await;
        Self { home, provider }
    }

    /// Starts the daemon with `more` in its configuration.
    async fn daemon(&self, more: &str) -> (Process, Client) {
        configure(self.home.path(), &self.provider.config(more));
        let (process, mut client) = Process::with_client(self.home.path()).await;
        client.sync(THREAD).await;
        (process, client)
    }

    fn database(&self) -> PathBuf {
        self.home.path().join(".local/state/longhaul/longhaul.db")
    }

    async fn store(&self) -> Store {
        Store::open(&self.database(), 0).await.unwrap().0
    }

    /// Releases the model's answer, waits until the compaction is recorded, then kills the daemon. The store is open beside
    /// it.
    async fn kill_once_recorded(&self, process: Process, store: &Store, key: &JobKey) {
        self.provider.release();
        found("the record", async || store.compactions.get(&key.subject).await.unwrap()).await;
        kill(process).await;
    }

    /// Asserts that the requested compaction exists once and that the job refers to it.
    async fn assert_once(&self, key: &JobKey) -> Job {
        self.provider.release();
        let (process, mut client) = self.daemon("").await;
        let job = client.job_in(&key.to_string(), "done").await;
        assert!(!job.is_pending, "{job:?}");
        let listed = client.compactions().await;
        let ids: Vec<&str> = listed.iter().map(|row| row.compaction_id.as_str()).collect();
        assert_eq!(ids, [&key.subject], "once");
        let run = client.compaction(&key.subject).await.run;
        assert_eq!(run.strategy_used, Strategy::Hybrid);
        process.stopped().await;
        let store = self.store().await;
        let job = store.jobs.get(key).await.unwrap().unwrap();
        store.database.close().await;
        job
    }
}

async fn start(client: &mut Client) -> JobKey {
    let subject = client.start_compaction(of_thread(THREAD)).await;
    JobKey { kind: Kind::Compact, subject }
}

async fn kill(process: Process) {
    process.killed().await;
}

/// Resets a job to an earlier row. Only microseconds pass between two commits, too few for a kill, so the effect of the
/// later one is undone instead.
async fn put_back(store: &Store, key: &JobKey, job: Job) {
    store.jobs.decide(key, |_| (Some(job), ())).await.unwrap();
}

#[tokio::test]
async fn a_job_killed_before_its_claim_is_done_once() {
    let rig = Rig::new().await;
    let (process, mut client) = rig.daemon("[jobs.compact]\noutside = true\n").await;
    let key = start(&mut client).await;
    kill(process).await;
    let job = rig.assert_once(&key).await;
    assert_eq!((job.epoch, rig.provider.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_job_killed_while_the_model_is_asked_asks_again() {
    let rig = Rig::new().await;
    let (process, mut client) = rig.daemon("").await;
    let key = start(&mut client).await;
    eventually("the model receives a request", || rig.provider.hanging() == 1).await;
    kill(process).await;
    let job = rig.assert_once(&key).await;
    assert_eq!((job.epoch, rig.provider.requests().len()), (2, 2));
}

#[tokio::test]
async fn a_job_killed_before_its_answer_is_stored_leaves_no_compaction() {
    let rig = Rig::new().await;
    let (process, mut client) = rig.daemon("").await;
    let key = start(&mut client).await;
    eventually("the model receives a request", || rig.provider.hanging() == 1).await;
    // Holding the database's write lock prevents every write.
    let (locked, is_locked) = std::sync::mpsc::channel();
    let (unlock, may_unlock) = std::sync::mpsc::channel::<()>();
    let (path, locked_key) = (rig.database(), key.clone());
    let lock = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let (store, _) = Store::open(&path, 0).await.unwrap();
            let hold = move |_| {
                locked.send(()).unwrap();
                (None, may_unlock.recv().is_ok())
            };
            assert!(store.jobs.decide(&locked_key, hold).await.unwrap());
            store.database.close().await;
        });
    });
    is_locked.recv().unwrap();
    rig.provider.release();
    eventually("the answer is given", || rig.provider.hanging() == 0).await;
    kill(process).await;
    unlock.send(()).unwrap();
    lock.join().unwrap();
    let store = rig.store().await;
    assert!(store.compactions.get(&key.subject).await.unwrap().is_none());
    store.database.close().await;
    assert_eq!(rig.assert_once(&key).await.epoch, 2);
}

#[tokio::test]
async fn a_job_killed_after_storing_its_answer_pays_once_although_the_thread_grew() {
    let rig = Rig::new().await;
    let (process, mut client) = rig.daemon("").await;
    let key = start(&mut client).await;
    eventually("the model receives a request", || rig.provider.hanging() == 1).await;
    let path = client.thread(THREAD).await.path;
    // Its agent continues while the model writes.
    let mut grown = rollout(THREAD);
    grown.message("user", "Now document it.").message("assistant", "It is documented.");
    grown.append(Path::new(&path));
    let store = rig.store().await;
    let running = store.jobs.get(&key).await.unwrap().unwrap();
    rig.kill_once_recorded(process, &store, &key).await;
    // As after a kill before the record: only the answer is stored.
    store.compactions.delete(std::slice::from_ref(&key.subject)).await.unwrap();
    put_back(&store, &key, running).await;
    store.database.close().await;
    let job = rig.assert_once(&key).await;
    assert_eq!(job.epoch, 2, "it was made again");
    assert_eq!(rig.provider.requests().len(), 1, "nothing is paid twice");
}

#[tokio::test]
async fn a_job_killed_between_its_record_and_its_settlement_is_done_once() {
    let rig = Rig::new().await;
    let (process, mut client) = rig.daemon("").await;
    let key = start(&mut client).await;
    eventually("the model receives a request", || rig.provider.hanging() == 1).await;
    let store = rig.store().await;
    let running = store.jobs.get(&key).await.unwrap().unwrap();
    rig.kill_once_recorded(process, &store, &key).await;
    let now = store.jobs.get(&key).await.unwrap().unwrap();
    if now.state != State::Running {
        put_back(&store, &key, running).await;
    }
    store.database.close().await;
    let job = rig.assert_once(&key).await;
    assert_eq!((job.epoch, rig.provider.requests().len()), (2, 1), "nothing is paid twice");
}

#[tokio::test]
async fn a_job_killed_when_it_is_done_stays_done() {
    let rig = Rig::new().await;
    rig.provider.release();
    let (process, mut client) = rig.daemon("").await;
    let key = start(&mut client).await;
    client.job_in(&key.to_string(), "done").await;
    kill(process).await;
    let job = rig.assert_once(&key).await;
    assert_eq!((job.epoch, rig.provider.requests().len()), (1, 1));
}

/// A daemon stopped while its job waits for the model, and the one that took the job over.
struct Stopped {
    rig: Rig,
    process: Process,
    client: Client,
    key: JobKey,
    store: Store,
    other: Jobs,
    claimed: ClaimedJob,
}

async fn stopped_past_its_lease() -> Stopped {
    loop {
        let rig = Rig::new().await;
        let (process, mut client) = rig.daemon("[jobs.compact]\nlease_s = 1\n").await;
        let key = start(&mut client).await;
        eventually("the model receives a request", || rig.provider.hanging() == 1).await;
        process.signal(Signal::STOP);
        // A second daemon on the same database, as if the lock of the state folder had failed.
        let store = rig.store().await;
        let rules = [(Kind::Compact, Rules::of(Kind::Compact))];
        let other = Jobs::new(store.jobs.clone(), Clock::system(), "other", rules.into());
        let taken = found("its lease runs out", async || {
            match other.claim(Kind::Compact, &other.holder()).await {
                // Stopped during a write, it would hold the database for ever, which is not tested here.
                Err(JobError::Store(StoreError::Busy { .. })) => Some(None),
                claimed => claimed.unwrap().map(Some),
            }
        });
        if let Some(claimed) = taken.await {
            return Stopped { rig, process, client, key, store, other, claimed };
        }
        kill(process).await;
        store.database.close().await;
    }
}

#[tokio::test]
async fn a_daemon_stopped_past_its_lease_stores_nothing_when_it_continues() {
    let Stopped { rig, process, mut client, key, store, other, claimed } =
        stopped_past_its_lease().await;
    // On a slow machine the daemon itself may have taken it once more before.
    let epoch = claimed.job.epoch;
    assert!(epoch > 1);
    rig.provider.release();
    process.signal(Signal::CONT);
    // It reads the answer or has stopped; either way it continues to serve, and the run has no effect.
    eventually("the late run is over", || rig.provider.hanging() == 0).await;
    let params = compaction::CompactionGetParams { compaction_id: key.subject.clone() };
    let late = client.call::<compaction::CompactionGet>(params).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::CompactionNotFound);
    let job = store.jobs.get(&key).await.unwrap().unwrap();
    let holder = job.lease.map(|lease| lease.holder);
    assert_eq!((job.epoch, holder), (epoch, Some(other.holder())), "the new owner is untouched");
    let owner = Owner { key: key.clone(), token: claimed.claim.token };
    let fence = other.fence(&owner);
    assert_eq!(fence.check(store.jobs.get(&key).await.unwrap().as_ref()), Ok(()));
    other.finish(&key, &owner.token).await.unwrap();
    process.stopped().await;
    assert!(store.compactions.get(&key.subject).await.unwrap().is_none(), "not at the end either");
    store.database.close().await;
}

/// All events of the memory jobs, and the publications; the list only grows.
async fn progress(store: &Store) -> (usize, u64) {
    let extract = |thread: &str| JobKey { kind: Kind::Extract, subject: thread.to_owned() };
    let mut events = 0;
    for key in [extract(THREAD), extract(SECOND), JobKey::only(Kind::Consolidate)] {
        events += store.jobs.events(&key).await.unwrap().len();
    }
    let newest =
        store.generations.newest().await.unwrap().first().map_or(0, |newest| newest.generation);
    (events, newest)
}

#[tokio::test]
async fn memory_is_published_once_however_often_the_daemon_is_killed() {
    let rig = Rig::new().await;
    rollout(SECOND).write(rig.home.path());
    let config = "[memory]\nenabled = false\n[jobs.extract]\nattempts = 100\n";
    let (mut last, mut kills, mut published) = (0, 0, 0);
    while published == 0 {
        let (process, mut client) = rig.daemon(config).await;
        client.sync(SECOND).await;
        let store = rig.store().await;
        client.begin::<memory::Run>(all()).await;
        (last, published) = found("something happens", async || {
            let (events, generation) = progress(&store).await;
            (events > last || generation > 0).then_some((events, generation))
        })
        .await;
        kill(process).await;
        store.database.close().await;
        kills += 1;
    }
    assert!(kills >= 3, "it was never killed in between");
    let (process, mut client) = rig.daemon(config).await;
    let run = client.call::<memory::Run>(all()).await.unwrap();
    assert_eq!((run.generation, run.failed), (1, 0), "published once: {run:?}");
    let status = client.call::<memory::Status>(memory::StatusParams::default()).await.unwrap();
    assert_eq!(status.threads, 2, "{status:?}");
    process.stopped().await;
    let root = PathBuf::from(status.path);
    let target = std::fs::canonicalize(&root).unwrap();
    let names = std::fs::read_dir(target.parent().unwrap()).unwrap();
    let left: Vec<_> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("staging"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
