//! Background jobs: the table and its workers.
//!
//! # Theory of operation
//! *State*: only a handle on the store. The core makes every decision, inside the store's write transaction. [`Jobs`]
//! requests, claims, renews and settles; [`runner`] runs one kind in this process; external workers call the same
//! functions over the socket.
//!
//! *Liveness.* A holder in this daemon is named `daemon:<instance>`. Only one daemon can have the state folder (its lock
//! is the kernel's and ends with the process), so at the start all claims of other instances are dead and are taken
//! back at once. Leases matter only for external workers and for work that hangs.
//!
//! *A crash* between claim and settlement leaves a running row, which the next start takes back with its attempt
//! counted. Settling checks the epoch, so a run that lost its job changes nothing.

pub mod runner;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use longhaul_core::job::{
    self, Claim, Failure, Fence, Job, JobKey, JobRequest, Kind, LeaseLost, Rules, State, Token, Why,
};
use longhaul_store::{JobEvent, JobFilter, JobTable, SCAN_MAX, StoreError};
use tokio::sync::{Notify, watch};

use crate::clock::Clock;

/// The job table; clones share it.
#[derive(Debug, Clone)]
pub struct Jobs {
    table: JobTable,
    clock: Clock,
    instance: Arc<str>,
    rules: Arc<RwLock<BTreeMap<Kind, Rules>>>,
    /// By kind, wakes who waits for its jobs; the values are not read.
    changed: Arc<[watch::Sender<()>; Kind::ALL.len()]>,
    configured: Arc<Notify>,
}

#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error("no job {0}")]
    NotFound(JobKey),
    /// The caller no longer owns it.
    #[error(transparent)]
    Lost(#[from] LeaseLost),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A job with a new claim on it.
#[derive(Debug, Clone)]
pub struct ClaimedJob {
    pub job: Job,
    pub claim: Claim,
}

/// The run that owns a job, for the transaction that stores its effect.
#[derive(Debug, Clone)]
pub struct Owner {
    pub key: JobKey,
    pub token: Token,
}

/// Queued jobs to inspect first for a claim.
///
/// # Source
/// Measured: each costs a claim 5 to 7 µs, and most claims get the first one.
const CLAIM_PAGE: u32 = 4;

/// Prefix of a holder in a daemon.
const DAEMON: &str = "daemon:";

/// Prefix of an external holder, so that it cannot pass for a daemon, whose claims end with it.
pub const WORKER: &str = "worker:";

impl Jobs {
    /// For the daemon `instance`; kinds without `rules` have the default ones.
    pub fn new(
        table: JobTable,
        clock: Clock,
        instance: &str,
        rules: BTreeMap<Kind, Rules>,
    ) -> Self {
        Self {
            table,
            clock,
            instance: instance.into(),
            rules: Arc::new(RwLock::new(rules)),
            changed: Arc::new(std::array::from_fn(|_| watch::Sender::new(()))),
            configured: Arc::default(),
        }
    }

    /// Replaces the rules. A held claim keeps its lease until it is renewed. Parked jobs are woken by
    /// [`keep_unparked`](Self::keep_unparked).
    pub fn configure(&self, rules: BTreeMap<Kind, Rules>) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
        self.configured.notify_one();
        Kind::ALL.iter().for_each(|kind| self.wake(*kind));
    }

    /// Wakes parked jobs now and after every change of the configuration, until it is dropped.
    pub async fn keep_unparked(&self) {
        loop {
            match self.unpark().await {
                Ok(0) => {}
                Ok(woken) => {
                    tracing::info!(woken, "retrying parked jobs with the new configuration");
                }
                Err(error) => tracing::warn!(%error, "cannot wake parked jobs"),
            }
            self.configured.notified().await;
        }
    }

    /// This daemon's name as a holder.
    pub fn holder(&self) -> String {
        format!("{DAEMON}{}", self.instance)
    }

    /// Takes back the jobs of earlier daemons and those with an expired lease. Returns their number.
    pub async fn rescue(&self) -> Result<usize, JobError> {
        let mut all = 0;
        for &kind in Kind::ALL {
            let (rules, now, own) = (self.rules(kind), self.clock.moment(), self.holder());
            let decide = move |jobs: &[Job]| {
                // The state of a curation was in the earlier daemon's memory.
                let is_dead = |job: &Job| {
                    kind == Kind::Curate || {
                        let holder = job.lease.as_ref().map(|lease| lease.holder.as_str());
                        holder.is_some_and(|holder| holder.starts_with(DAEMON) && holder != own)
                    }
                };
                let rescued: Vec<Job> = jobs
                    .iter()
                    .filter_map(|job| job::rescue(job.clone(), &rules, is_dead(job), &now))
                    .collect();
                let count = rescued.len();
                (rescued, count)
            };
            let taken = self.table.decide_together(kind, SCAN_MAX, decide).await?;
            if taken > 0 {
                self.wake(kind);
            }
            all += taken;
        }
        Ok(all)
    }

    pub async fn request(&self, request: JobRequest) -> Result<Job, JobError> {
        let (key, now) = (request.key.clone(), self.clock.moment());
        let decide = move |found| {
            let job = job::request(found, request, &now);
            (Some(job.clone()), job)
        };
        let job = self.table.decide(&key, decide).await?;
        self.wake(key.kind);
        Ok(job)
    }

    /// Claims the next job of `kind` for `holder`; `None` when none may run.
    pub async fn claim(&self, kind: Kind, holder: &str) -> Result<Option<ClaimedJob>, JobError> {
        // Nearly always one of the first jobs may run, so inspect all only if none of them may. The first ones include
        // all running jobs.
        let page = CLAIM_PAGE.max(self.rules(kind).running_max.saturating_add(1));
        let (claimed, seen) = self.claim_among(page, kind, holder).await?;
        if claimed.is_some() || seen < page {
            return Ok(claimed);
        }
        Ok(self.claim_among(SCAN_MAX, kind, holder).await?.0)
    }

    /// Claims among the first `limit` jobs; also returns their number.
    async fn claim_among(
        &self,
        limit: u32,
        kind: Kind,
        holder: &str,
    ) -> Result<(Option<ClaimedJob>, u32), JobError> {
        let rules = self.rules(kind);
        let (nonce, now, holder) = (self.clock.new_id(), self.clock.moment(), holder.to_owned());
        let decide = move |jobs: &[Job]| {
            let seen = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
            // Take back expired claims in the same step, so that nothing else has to look for them.
            let mut jobs = jobs.to_vec();
            let mut changed = Vec::new();
            for job in &mut jobs {
                if let Some(rescued) = job::rescue(job.clone(), &rules, false, &now) {
                    changed.push(rescued.clone());
                    *job = rescued;
                }
            }
            let load = load(&jobs);
            let claimed = job::next(&jobs, load, &rules, &now).and_then(|job| {
                job::claim(job.clone(), load, &rules, (&holder, &nonce), &now).ok()
            });
            let answer = claimed.map(|(job, claim)| {
                changed.retain(|rescued| rescued.key != job.key);
                changed.push(job.clone());
                ClaimedJob { job, claim }
            });
            (changed, (answer, seen))
        };
        Ok(self.table.decide_together(kind, limit, decide).await?)
    }

    pub async fn renew(&self, key: &JobKey, token: &Token) -> Result<Claim, JobError> {
        let (rules, now, token) = (self.rules(key.kind), self.clock.moment(), token.clone());
        self.decide(key, move |job| job::renew(job, &token, &rules, &now)).await
    }

    /// Settles a claim as done.
    pub async fn finish(&self, key: &JobKey, token: &Token) -> Result<Job, JobError> {
        let (rules, now, token) = (self.rules(key.kind), self.clock.moment(), token.clone());
        self.change(key, move |job| job::finish(job, &token, &rules, &now)).await
    }

    /// Settles a claim as failed.
    pub async fn fail(
        &self,
        key: &JobKey,
        token: &Token,
        failure: Failure,
    ) -> Result<Job, JobError> {
        let (rules, now, token) = (self.rules(key.kind), self.clock.moment(), token.clone());
        let chance = self.clock.chance();
        self.change(key, move |job| job::fail(job, &token, failure, (&rules, chance), &now)).await
    }

    /// Wakes a job; creates a [standing](JobKey::is_standing) one if it does not exist.
    pub async fn retry(&self, key: &JobKey) -> Result<Job, JobError> {
        let now = self.clock.moment();
        let request = key.is_standing().then(|| JobRequest {
            key: key.clone(),
            input: self.clock.new_id(),
            payload: String::new(),
            priority: 0,
            urgent: true,
        });
        let decide = move |found: Option<Job>| {
            let job = match found {
                Some(job) => Some(job::retry(job, &now)),
                None => request.map(|request| job::request(None, request, &now)),
            };
            (job.clone(), job)
        };
        let job = self.table.decide(key, decide).await?;
        self.wake(key.kind);
        job.ok_or_else(|| JobError::NotFound(key.clone()))
    }

    /// Wakes parked jobs; returns their number.
    async fn unpark(&self) -> Result<usize, JobError> {
        let mut woken = 0;
        for &kind in Kind::ALL {
            let parked = JobFilter { kind: Some(kind), state: Some(State::Parked) };
            for job in self.table.list(&parked, SCAN_MAX).await? {
                let now = self.clock.moment();
                let wake = move |found: Option<Job>| {
                    let job = found.filter(|job| job.state == State::Parked);
                    (job.map(|job| job::retry(job, &now)), ())
                };
                self.table.decide(&job.key, wake).await?;
                self.wake(kind);
                woken += 1;
            }
        }
        Ok(woken)
    }

    /// Milliseconds until the holder of the claim must have stopped.
    pub fn stop_in_ms(&self, claim: &Claim) -> u64 {
        claim.stop_at_boot_ms.saturating_sub(self.clock.moment().boot_ms)
    }

    /// The proof of ownership for storing an effect; must be made just before.
    pub fn fence(&self, owner: &Owner) -> Fence {
        let Owner { key, token } = owner.clone();
        Fence { key, token, now: self.clock.moment(), finishes: None }
    }

    /// The same for an effect that is the whole result of the run: storing it settles the claim. Call
    /// [`settled`](Self::settled) after it.
    pub fn finishing_fence(&self, owner: &Owner) -> Fence {
        Fence { finishes: Some(self.rules(owner.key.kind)), ..self.fence(owner) }
    }

    /// Wakes tasks that wait for a job of this kind that was settled with its result.
    pub fn settled(&self, kind: Kind) {
        self.wake(kind);
    }

    /// Whether a run owns `job` now.
    pub fn check(&self, owner: &Owner, job: &Job) -> Result<(), JobError> {
        Ok(self.fence(owner).check(Some(job))?)
    }

    pub async fn get(&self, key: &JobKey) -> Result<Job, JobError> {
        let job = self.find(key).await?;
        job.ok_or_else(|| JobError::NotFound(key.clone()))
    }

    /// Like [`Jobs::get`]; `None` if there is no such job.
    pub async fn find(&self, key: &JobKey) -> Result<Option<Job>, StoreError> {
        self.table.get(key).await
    }

    /// Deletes some of the jobs that ended before this age of the database; returns their number, 0 when done.
    pub async fn prune(&self, since_age_ms: i64) -> Result<u64, StoreError> {
        self.table.prune(since_age_ms).await
    }

    pub async fn cancel(&self, key: &JobKey) -> Result<Job, JobError> {
        let now = self.clock.moment();
        self.change(key, move |job| Ok(job::cancel(job, &now))).await
    }

    /// A job, and why it does not run, or that it may.
    pub async fn why(&self, key: &JobKey) -> Result<(Job, Why), JobError> {
        let job = self.get(key).await?;
        let running = JobFilter { kind: Some(key.kind), state: Some(State::Running) };
        let rules = self.rules(key.kind);
        let running = self.table.list(&running, rules.running_max.saturating_add(1)).await?;
        let why = job::why(&job, load(running.iter()), &rules, &self.clock.moment());
        Ok((job, why))
    }

    /// Jobs, those changed last first.
    pub async fn list(&self, filter: &JobFilter, limit: u32) -> Result<Vec<Job>, JobError> {
        Ok(self.table.list(filter, limit).await?)
    }

    /// The events of a job, oldest first.
    pub async fn events(&self, key: &JobKey) -> Result<Vec<JobEvent>, JobError> {
        Ok(self.table.events(key).await?)
    }

    pub fn rules(&self, kind: Kind) -> Rules {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        rules.get(&kind).copied().unwrap_or_else(|| Rules::of(kind))
    }

    /// Notified when jobs of a kind are requested or settled; their outcomes are in the store.
    pub fn watch(&self, kind: Kind) -> watch::Receiver<()> {
        self.changed[kind as usize].subscribe()
    }

    fn wake(&self, kind: Kind) {
        self.changed[kind as usize].send_replace(());
    }

    /// Changes an existing job.
    async fn change(
        &self,
        key: &JobKey,
        change: impl FnOnce(Job) -> Result<Job, LeaseLost> + Send,
    ) -> Result<Job, JobError> {
        let change = |job| change(job).map(|job| (job.clone(), job));
        let changed = self.decide(key, change).await?;
        self.wake(key.kind);
        Ok(changed)
    }

    async fn decide<T: Send>(
        &self,
        key: &JobKey,
        decide: impl FnOnce(Job) -> Result<(Job, T), LeaseLost> + Send,
    ) -> Result<T, JobError> {
        let decide = |found: Option<Job>| match found.map(decide) {
            None => (None, None),
            Some(Ok((job, answer))) => (Some(job), Some(Ok(answer))),
            Some(Err(lost)) => (None, Some(Err(lost))),
        };
        let answer = self.table.decide(key, decide).await?;
        Ok(answer.ok_or_else(|| JobError::NotFound(key.clone()))??)
    }
}

fn load<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> u32 {
    let running = jobs.into_iter().filter(|job| job.state == State::Running).count();
    u32::try_from(running).unwrap_or(u32::MAX)
}
