//! Requests, wakes and cancels jobs.

use super::{Job, JobKey, Moment, State};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    pub key: JobKey,
    /// Digest of its input and of the version that processes it.
    pub input: String,
    pub payload: String,
    pub priority: i32,
    pub urgent: bool,
}

/// Requests a job: creates its row or raises *wanted*. Input that is already pending or done changes only the
/// priority, so repeating a request is free and keeps its place in the queue.
pub fn request(job: Option<Job>, request: JobRequest, now: &Moment) -> Job {
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
            finished_by: None,
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

/// Wakes a dead, parked or waiting job, on a person's request or a changed configuration. A job that is
/// done runs once more.
pub fn retry(mut job: Job, now: &Moment) -> Job {
    if job.state == State::Running {
        return job;
    }
    if !job.is_pending() {
        job.wanted = job.wanted.saturating_add(1);
    }
    wake(&mut job);
    job.updated_at = now.clone();
    job
}

/// Cancels a job: nothing is pending any more. A running run loses its claim, and its result is discarded. A job that is
/// done stays as it is.
pub fn cancel(mut job: Job, now: &Moment) -> Job {
    if job.state == State::Done {
        return job;
    }
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
