//! Asking for a job, waking it, taking it back.

use super::{Job, JobKey, Moment, State};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Which job.
    pub key: JobKey,
    /// Digest of what it is to work on: input, and version of what works on it.
    pub input: String,
    /// What it needs to know besides its name.
    pub payload: String,
    /// Runs before others, higher first.
    pub priority: i32,
    /// Does not wait after a success.
    pub urgent: bool,
}

/// Asks for a job: makes its row, or raises *wanted*. The same input that is already owed or done
/// changes nothing but the priority, so asking again costs nothing, not even its place in the queue.
#[must_use]
pub fn request(job: Option<Job>, request: Request, now: &Moment) -> Job {
    let Some(mut job) = job else {
        return Job {
            key: request.key,
            state: State::Queued,
            epoch: 0,
            attempts: 0,
            wanted: 1,
            done: 0,
            input: request.input,
            payload: request.payload,
            priority: request.priority,
            urgent: request.urgent,
            lease: None,
            not_before: None,
            failure: None,
            created_at: now.clone(),
            updated_at: now.clone(),
            finished_at: None,
        };
    };
    job.priority = job.priority.max(request.priority);
    let before = job.state;
    let is_new = job.input != request.input;
    if is_new {
        job.input = request.input;
        job.payload = request.payload;
        job.wanted = job.wanted.saturating_add(1);
        job.urgent |= request.urgent;
    }
    match job.state {
        State::Dead if is_new => wake(&mut job),
        State::Done if is_new => {
            job.state = State::Queued;
            job.attempts = 0;
        }
        State::Parked if is_new && request.urgent => wake(&mut job),
        State::Running
        | State::Queued
        | State::Failed
        | State::Done
        | State::Dead
        | State::Parked => {}
    }
    let is_waiting = matches!(job.state, State::Queued | State::Failed);
    if request.urgent && is_waiting && !job.is_held_back() {
        job.state = State::Queued;
        job.not_before = None;
    }
    if job.state != before {
        job.updated_at = now.clone();
    }
    job
}

/// Wakes a job that is dead, parked or waiting, as a person asks or the configuration changed. One that
/// is done runs once more.
#[must_use]
pub fn retry(mut job: Job, now: &Moment) -> Job {
    if job.state == State::Running {
        return job;
    }
    if !job.is_owed() {
        job.wanted = job.wanted.saturating_add(1);
    }
    wake(&mut job);
    job.updated_at = now.clone();
    job
}

/// Takes a job back: nothing is owed any more. A run that is under way loses its claim, and whatever it
/// still does counts for nothing.
#[must_use]
pub fn cancel(mut job: Job, now: &Moment) -> Job {
    if job.state == State::Running {
        job.epoch = job.epoch.saturating_add(1);
    }
    job.lease = None;
    job.not_before = None;
    job.done = job.wanted;
    job.state = State::Done;
    job.updated_at = now.clone();
    job
}

fn wake(job: &mut Job) {
    job.state = State::Queued;
    job.attempts = 0;
    job.not_before = None;
}
