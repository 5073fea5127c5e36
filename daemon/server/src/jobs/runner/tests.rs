use std::sync::Mutex;

use longhaul_core::job::{JobRequest, Rules, State};
use longhaul_store::{JobFilter, Store};
use tokio::sync::mpsc;

use super::*;
use crate::clock::Clock;

const RULES: Rules = Rules {
    lease_ms: 600,
    heartbeat_ms: 50,
    margin_ms: 100,
    retry_ms: 40,
    retry_ms_max: 100,
    cooldown_ms: 0,
    attempts_max: 3,
    running_max: 2,
};

/// Runs its script for each subject.
struct Scripted {
    results: Mutex<Vec<Result<(), FailureKind>>>,
    /// Receives the subjects that were started.
    begun: mpsc::Sender<String>,
    /// Never ends.
    hangs: bool,
}

impl Work for Scripted {
    const KIND: Kind = Kind::Extract;

    async fn run(&self, job: Job, _: Token) -> Result<(), Failure> {
        self.begun.send(job.key.subject).await.unwrap();
        if self.hangs {
            std::future::pending::<()>().await;
        }
        let next = self.results.lock().unwrap().pop().unwrap_or(Ok(()));
        next.map_err(|kind| Failure { kind, detail: "x".to_owned(), retry_after_ms: None })
    }
}

struct Rig {
    jobs: Jobs,
    stop: CancellationToken,
    begun: mpsc::Receiver<String>,
    task: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

async fn rig(results: Vec<Result<(), FailureKind>>, hangs: bool) -> Rig {
    rig_at(Clock::system(), results, hangs).await
}

async fn rig_at(clock: Clock, results: Vec<Result<(), FailureKind>>, hangs: bool) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(&folder.path().join("t.db"), 0).await.unwrap();
    let jobs = Jobs::new(store.jobs, clock, "one", [(Kind::Extract, RULES)].into());
    let (sender, begun) = mpsc::channel(16);
    let work = Arc::new(Scripted { results: Mutex::new(results), begun: sender, hangs });
    let stop = CancellationToken::new();
    let task = tokio::spawn(run(jobs.clone(), work, stop.clone()));
    Rig { jobs, stop, begun, task, _folder: folder }
}

fn key(subject: &str) -> JobKey {
    JobKey { kind: Kind::Extract, subject: subject.to_owned() }
}

async fn ask(jobs: &Jobs, subject: &str) {
    let request = JobRequest {
        key: key(subject),
        input: "i".to_owned(),
        payload: String::new(),
        priority: 0,
        urgent: false,
    };
    jobs.request(request).await.unwrap();
}

async fn state_becomes(jobs: &Jobs, subject: &str, state: State) -> Job {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        let (job, attempts) = jobs.why(&key(subject)).await.unwrap();
        if job.state == state {
            return job;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "{state:?} is not reached: {job:?} {attempts:?}"
        );
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn requested_work_is_done_and_a_failure_is_retried() {
    let rig = rig(vec![Ok(()), Err(FailureKind::Transient)], false).await;
    ask(&rig.jobs, "t").await;
    let job = state_becomes(&rig.jobs, "t", State::Done).await;
    assert_eq!((job.epoch, job.attempts), (2, 0));
    rig.stop.cancel();
    rig.task.await.unwrap();
}

#[tokio::test]
async fn the_maximum_runs_at_once_and_stopping_returns_them() {
    let mut rig = rig(vec![], true).await;
    for subject in ["a", "b", "c"] {
        ask(&rig.jobs, subject).await;
    }
    for _ in 0..RULES.running_max {
        rig.begun.recv().await.unwrap();
    }
    assert!(rig.begun.try_recv().is_err(), "the third waits");
    rig.stop.cancel();
    rig.task.await.unwrap();
    let queued = JobFilter { state: Some(State::Queued), ..JobFilter::default() };
    let jobs = rig.jobs.list(&queued, 10).await.unwrap();
    assert_eq!(jobs.len(), 3);
    assert!(jobs.iter().all(|job| job.attempts == 0), "an interruption is no attempt");
}

#[tokio::test]
async fn work_outlives_its_lease_by_renewing_and_stops_when_it_is_cancelled() {
    let mut rig = rig(vec![], true).await;
    ask(&rig.jobs, "t").await;
    rig.begun.recv().await.unwrap();
    let first = rig.jobs.why(&key("t")).await.unwrap().0;
    let renewed = async {
        loop {
            let job = rig.jobs.why(&key("t")).await.unwrap().0;
            let age = |job: &Job| job.lease.as_ref().map(|lease| lease.renewed.boot_ms);
            if age(&job) > age(&first).map(|ms| ms + RULES.lease_ms) {
                return job;
            }
            tokio::task::yield_now().await;
        }
    };
    let job = tokio::time::timeout(Duration::from_secs(30), renewed).await.unwrap();
    assert_eq!((job.state, job.epoch), (State::Running, 1));
    rig.jobs.cancel(&key("t")).await.unwrap();
    ask(&rig.jobs, "u").await;
    rig.begun.recv().await.unwrap();
    assert_eq!(rig.jobs.why(&key("t")).await.unwrap().0.state, State::Done);
    rig.stop.cancel();
    rig.task.await.unwrap();
}

#[tokio::test]
async fn jobs_of_a_dead_daemon_are_taken_back_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(&folder.path().join("t.db"), 0).await.unwrap();
    let dead =
        Jobs::new(store.jobs.clone(), Clock::system(), "dead", [(Kind::Extract, RULES)].into());
    ask(&dead, "t").await;
    let claimed = dead.claim(Kind::Extract, &dead.holder()).await.unwrap().unwrap();
    let jobs = Jobs::new(store.jobs, Clock::system(), "one", [(Kind::Extract, RULES)].into());
    assert_eq!(jobs.rescue().await.unwrap(), 1);
    let again = jobs.claim(Kind::Extract, &jobs.holder()).await.unwrap().unwrap();
    assert_eq!((again.job.epoch, again.job.attempts), (2, 2), "the lost attempt counts");
    let late = dead.finish(&key("t"), &claimed.claim.token).await;
    assert!(matches!(late, Err(JobError::Lost(_))), "{late:?}");
    assert_eq!(jobs.rescue().await.unwrap(), 0, "its own are alive");
}

#[tokio::test]
async fn work_that_slept_past_its_lease_is_stopped_when_the_machine_wakes() {
    let clock = Clock::manual(0);
    let mut rig = rig_at(clock.clone(), vec![], true).await;
    ask(&rig.jobs, "t").await;
    rig.begun.recv().await.unwrap();
    // No timer has run in between; only the boot clock shows it.
    clock.advance_ms(i64::try_from(RULES.lease_ms).unwrap());
    let again = tokio::time::timeout(Duration::from_secs(30), rig.begun.recv()).await;
    assert_eq!(again.unwrap().as_deref(), Some("t"), "returned to the queue and started again");
    let job = rig.jobs.why(&key("t")).await.unwrap().0;
    assert_eq!((job.epoch, job.attempts), (2, 2));
    rig.stop.cancel();
    rig.task.await.unwrap();
}

#[tokio::test]
async fn an_outcome_is_recorded_when_the_database_can_be_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let (store, _) = Store::open(&path, 0).await.unwrap();
    let rules = Rules { lease_ms: 60_000, heartbeat_ms: 30_000, ..RULES };
    let jobs = Jobs::new(store.jobs, Clock::system(), "one", [(Kind::Extract, rules)].into());
    let (key, stop) = (key("a"), CancellationToken::new());
    ask(&jobs, "a").await;
    let claimed = jobs.claim(Kind::Extract, &jobs.holder()).await.unwrap().unwrap();
    // Another process writes for longer than a writer waits.
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut other = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let token = claimed.claim.token;
    let settling = settle(&jobs, (&key, &token), Ok(()), &stop);
    let freeing = async {
        let refused = jobs.renew(&key, &token).await.unwrap_err();
        assert!(matches!(refused, JobError::Store(_)), "{refused}");
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    };
    tokio::join!(settling, freeing);
    assert_eq!(jobs.get(&key).await.unwrap().state, State::Done);
}
