//! Jobs that are claimed, run and settled in separate steps, by the daemon and by others that believe they are the
//! daemon.

use std::sync::Arc;

use longhaul_core::job::{Failure, FailureKind, Job, JobKey, Kind, State, Token};
use longhaul_store::JobFilter;

use super::life::{Life, outcome};
use crate::jobs::runner::Work;
use crate::jobs::{ClaimedJob, JobError};

/// The lease of the configuration in `life`.
const LEASE_MS: u64 = 3_000;

/// A claim that a holder believes to have.
pub(super) struct JobRun {
    job: Job,
    token: Token,
    stop_at_boot_ms: u64,
    /// The time from which it must have no effect.
    ends_at_boot_ms: u64,
    boot: String,
    has_run: bool,
}

impl Life {
    /// Takes back the jobs of earlier daemons.
    pub(super) fn rescue(&mut self) {
        self.front.run(self.services.job.jobs.rescue()).unwrap();
    }

    pub(super) fn start_job(&mut self) -> String {
        let thread_id = self.some_thread();
        let asked = self.request(thread_id.clone());
        let started = self.front.run(self.services.compaction.jobs.start(asked));
        if let Ok((id, _)) = &started {
            self.world.started.push((id.clone(), thread_id));
        }
        outcome("start", &started)
    }

    pub(super) fn job(&mut self) -> String {
        match self.chance.below(12) {
            0..4 => self.claim(),
            4 => self.renew(),
            5..7 => self.work(),
            7..9 => self.finish(),
            9 => self.fail(),
            _ => self.overtake(),
        }
    }

    fn claim(&mut self) -> String {
        let holder = match self.chance.below(3) {
            0 => "worker:w".to_owned(),
            _ => self.services.job.jobs.holder(),
        };
        let claimed = self.front.run(self.services.job.jobs.claim(Kind::Compact, &holder)).unwrap();
        let Some(claimed) = claimed else { return "nothing to claim".to_owned() };
        self.granted(claimed);
        "claimed".to_owned()
    }

    fn granted(&mut self, ClaimedJob { job, claim }: ClaimedJob) {
        let (subject, now) = (job.key.subject.clone(), self.clock.moment());
        let newest = self.world.epochs.get(&subject).copied().unwrap_or(0);
        assert!(job.epoch > newest, "{subject} was given epoch {} after {newest}", job.epoch);
        let is_live = |run: &JobRun| {
            run.job.key.subject == subject
                && run.boot == now.boot
                && now.boot_ms < run.stop_at_boot_ms
        };
        assert!(!self.runs.iter().any(is_live), "{subject} runs twice at once");
        self.world.epochs.insert(subject, job.epoch);
        let (token, stop_at_boot_ms) = (claim.token, claim.stop_at_boot_ms);
        let (ends_at_boot_ms, boot) = (now.boot_ms + LEASE_MS, now.boot);
        let has_run = false;
        self.runs.push(JobRun { job, token, stop_at_boot_ms, ends_at_boot_ms, boot, has_run });
    }

    fn take(&mut self, is_wanted: impl Fn(&JobRun) -> bool) -> Option<JobRun> {
        let wanted: Vec<usize> =
            (0..self.runs.len()).filter(|at| is_wanted(&self.runs[*at])).collect();
        if wanted.is_empty() {
            return None;
        }
        let at = usize::try_from(self.chance.below(wanted.len() as u64)).unwrap();
        Some(self.runs.remove(wanted[at]))
    }

    fn renew(&mut self) -> String {
        let Some(run) = self.take(|_| true) else { return "nothing to renew".to_owned() };
        match self.front.run(self.services.job.jobs.renew(&run.job.key, &run.token)) {
            Ok(claim) => {
                let (stop_at_boot_ms, now) = (claim.stop_at_boot_ms, self.clock.moment());
                let ends_at_boot_ms = now.boot_ms + LEASE_MS;
                self.runs.push(JobRun { stop_at_boot_ms, ends_at_boot_ms, ..run });
                "renewed".to_owned()
            }
            Err(error) => lost("renew", &error),
        }
    }

    /// Does the work, possibly without knowing that the claim is lost.
    fn work(&mut self) -> String {
        match self.take(|run| !run.has_run) {
            Some(run) => self.go_on(run).to_owned(),
            None => "nothing to run".to_owned(),
        }
    }

    /// A holder sleeps past the end of its claim, others take what they can, and the holder continues before them.
    fn overtake(&mut self) -> String {
        let Some(run) = self.take(|run| !run.has_run) else {
            return "no run to overtake".to_owned();
        };
        let left_ms = run.ends_at_boot_ms.saturating_sub(self.clock.moment().boot_ms);
        let slept_ms = left_ms + self.chance.below(500);
        self.clock.advance_ms(i64::try_from(slept_ms).unwrap());
        let claims = self.runs.len();
        while self.claim() == "claimed" {}
        let taken = self.runs.len() - claims;
        format!("{taken} claimed by others, then {}", self.go_on(run))
    }

    fn go_on(&mut self, run: JobRun) -> &'static str {
        let subject = run.job.key.subject.clone();
        let had = self.is_made(&subject);
        let work = Arc::clone(&self.services.compaction.jobs);
        let done = self.front.run(work.run(run.job.clone(), run.token.clone()));
        let is_newest = self.world.epochs.get(&subject) == Some(&run.token.epoch);
        if !had && self.is_made(&subject) {
            assert!(is_newest, "{subject}: a run whose claim was taken stored its effect");
            let now = self.clock.moment();
            let is_over = now.boot != run.boot || now.boot_ms >= run.ends_at_boot_ms;
            assert!(!is_over, "{subject}: a run whose lease was over stored its effect");
        }
        let outcome = if done.is_ok() { "run" } else { "run without effect" };
        self.runs.push(JobRun { has_run: done.is_ok(), ..run });
        outcome
    }

    fn finish(&mut self) -> String {
        let Some(run) = self.take(|run| run.has_run) else { return "nothing to finish".to_owned() };
        match self.front.run(self.services.job.jobs.finish(&run.job.key, &run.token)) {
            Ok(_) => "finished".to_owned(),
            Err(error) => lost("finish", &error),
        }
    }

    fn fail(&mut self) -> String {
        let Some(run) = self.take(|_| true) else { return "nothing to fail".to_owned() };
        let kind = FailureKind::Transient;
        let failure = Failure { kind, detail: "x".to_owned(), retry_after_ms: None };
        match self.front.run(self.services.job.jobs.fail(&run.job.key, &run.token, failure)) {
            Ok(_) => "failed".to_owned(),
            Err(error) => lost("fail", &error),
        }
    }

    fn is_made(&mut self, id: &str) -> bool {
        self.front.run(self.services.compaction.log.get(id)).is_ok()
    }

    /// Without further faults: owed jobs run, and started ones are done or have a failure.
    pub(super) fn finish_jobs(&mut self) {
        self.runs.clear();
        for _ in 0..100 {
            self.clock.advance_ms(3_600_000);
            let holder = self.services.job.jobs.holder();
            while let Some(claimed) =
                self.front.run(self.services.job.jobs.claim(Kind::Compact, &holder)).unwrap()
            {
                self.granted(claimed);
                self.work();
                if self.finish().starts_with("nothing") {
                    self.fail();
                }
            }
            let filter = JobFilter { kind: Some(Kind::Compact), state: None };
            let rows = self.front.run(self.services.job.jobs.list(&filter, 1_000)).unwrap();
            let ends = [State::Done, State::Dead, State::Parked];
            if rows.iter().all(|job| ends.contains(&job.state)) {
                return;
            }
        }
        panic!("a job is owed and never settled");
    }

    /// Started jobs exist, and exactly the done ones have a compaction.
    pub(super) fn check_jobs(&mut self) {
        for (id, _) in self.world.started.clone() {
            let key = JobKey { kind: Kind::Compact, subject: id.clone() };
            let job = self.front.run(self.services.job.jobs.get(&key));
            let job = job.unwrap_or_else(|error| panic!("a job that was started is lost: {error}"));
            let is_made = self.is_made(&id);
            assert!(is_made || job.state != State::Done, "{id} is done and made nothing");
        }
    }
}

/// Only a lost claim may be returned, or that the job was erased with its thread.
fn lost(what: &str, error: &JobError) -> String {
    assert!(matches!(error, JobError::Lost(_) | JobError::NotFound(_)), "{what}: {error}");
    format!("{what}: lost")
}
