//! `longhaul job`: background jobs.

use clap::{Args, Subcommand};
use longhaul_protocol::job::{
    Cancel, Job, JobGet, JobGetResult, JobList, JobListParams, JobListResult, JobParams, JobResult,
    Retry, Why, WhyResult,
};
use longhaul_protocol::limit::PAGE_ROWS_MAX;
use serde::Serialize;

use crate::failure::Failure;
use crate::select::{self, short_len};
use crate::session::{Page, Session};
use crate::style::{Style, count, duration};

#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    List(JobListArgs),
    /// Show a job and what happened to it
    #[command(
        after_help = "Example:\n  longhaul job show compact/cmp_0199b000-0000-7000-8000-0000000000c1"
    )]
    Show(JobArgs),
    /// Explain why a job runs or does not
    #[command(
        after_help = "Examples:\n  longhaul job why consolidate\n  longhaul job why extract/0199a213"
    )]
    Why(JobArgs),
    /// Run a job now: one that is done, failed, dead or parked
    #[command(
        after_help = "Examples:\n  longhaul job retry compact/cmp_0199b000-0000-7000-8000-0000000000c1
  longhaul job retry reindex/search      rebuild the search index
  longhaul job retry prune/              remove expired records now"
    )]
    Retry(JobArgs),
    /// Cancel a job and stop it if it is running
    #[command(
        after_help = "Example:\n  longhaul job cancel compact/cmp_0199b000-0000-7000-8000-0000000000c1"
    )]
    Cancel(JobArgs),
}

/// List jobs, last changed first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul job list
  longhaul job list --state dead")]
pub(crate) struct JobListArgs {
    /// Only jobs of this kind: extract, consolidate, curate, compact, prune, reindex
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only jobs in this state: queued, running, done, failed, dead, parked
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Maximum number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_ROWS_MAX)))]
    limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// Name of the job as shown by longhaul job list, or a unique prefix
    job: String,
}

pub(crate) async fn run(command: JobCommand, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let named = async |args: JobArgs| {
        Ok::<_, Failure>(JobParams { job: select::job(&client, &args.job).await? })
    };
    match command {
        JobCommand::List(JobListArgs { kind, state, limit }) => {
            let params = JobListParams { kind, state, limit: Some(limit) };
            session.print(&client.call::<JobList>(params).await?)
        }
        JobCommand::Show(args) => session.print(&client.call::<JobGet>(named(args).await?).await?),
        JobCommand::Why(args) => session.print(&client.call::<Why>(named(args).await?).await?),
        JobCommand::Retry(args) => session.print(&client.call::<Retry>(named(args).await?).await?),
        JobCommand::Cancel(args) => {
            let params = named(args).await?;
            let before = client.call::<JobGet>(params.clone()).await?.job.state;
            let JobResult { job } = client.call::<Cancel>(params).await?;
            session.print(&CancelPage { was_done: before == DONE, job })
        }
    }
}

/// The state of a job without pending work.
const DONE: &str = "done";

/// Characters of a job's subject in the list: a compaction's id has a prefix before its time.
const SUBJECT_CHARS: usize = 17;

impl Page for JobListResult {
    fn text(&self, style: &Style) -> String {
        if self.jobs.is_empty() {
            return "No jobs.\n".to_owned();
        }
        let has_failure = self.jobs.iter().any(|job| job.failure.is_some());
        let subjects = self.jobs.iter().map(|job| job.subject.as_str());
        let subject_chars = short_len(subjects).max(SUBJECT_CHARS);
        let row = |job: &Job| {
            let subject: String = job.subject.chars().take(subject_chars).collect();
            let mut row = vec![
                format!("{}/{subject}", job.kind),
                job.state.clone(),
                attempts(job).unwrap_or_default(),
                style.ago(job.updated_at),
            ];
            row.extend(has_failure.then(|| job.failure.clone().unwrap_or_default()));
            row
        };
        let rows = self.jobs.iter().map(row).collect();
        let failure: &[&str] = if has_failure { &["last failure"] } else { &[] };
        style.table(&[&["job", "state", ">attempts", "changed"], failure].concat(), rows)
    }
}

impl Page for JobGetResult {
    fn text(&self, style: &Style) -> String {
        let row = |event: &longhaul_protocol::job::JobEvent| {
            vec![style.ago(event.at), event.state.clone(), count(event.epoch), event.detail.clone()]
        };
        let rows = self.events.iter().map(row).collect();
        let events = style.table(&["when", "state", ">run", ""], rows);
        format!("{}\n{events}", one(&self.job, style))
    }
}

impl Page for WhyResult {
    fn text(&self, style: &Style) -> String {
        let wait = self.wait_ms.map(|ms| format!(" ({} left)", duration(ms))).unwrap_or_default();
        let reason = style.bold(&self.reason.replace('_', " "));
        let job = self.job.as_ref().map(|job| one(job, style)).unwrap_or_default();
        format!("{reason}: {}{wait}\n{job}", self.text)
    }
}

#[derive(Debug, Serialize)]
struct CancelPage {
    job: Job,
    #[serde(skip)]
    was_done: bool,
}

impl Page for CancelPage {
    fn text(&self, style: &Style) -> String {
        let outcome = if self.was_done { "It was done: nothing to cancel.\n" } else { "" };
        outcome.to_owned() + &one(&self.job, style)
    }
}

impl Page for JobResult {
    fn text(&self, style: &Style) -> String {
        one(&self.job, style)
    }
}

/// Attempts at the pending work; `None` if it is done, where the daemon counts anew.
fn attempts(job: &Job) -> Option<String> {
    (job.state != DONE).then(|| count(u64::from(job.attempts)))
}

fn one(job: &Job, style: &Style) -> String {
    let mut fields = vec![("job", job.job.clone()), ("state", job.state.clone())];
    fields.extend(attempts(job).map(|attempts| ("attempts", attempts)));
    fields.push(("changed", style.ago(job.updated_at)));
    fields.extend(job.holder.clone().map(|holder| ("run by", holder)));
    fields.extend(job.failure.clone().map(|failure| ("last failure", failure)));
    style.fields(&fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn times_and_headings_are_whole_in_80_columns() {
        let style = plain();
        let job = |(kind, subject): (&str, &str), failure: Option<&str>| {
            json!({
                "job": format!("{kind}/{subject}"), "kind": kind, "subject": subject, "state": "queued",
                "attempts": 3, "epoch": 1, "priority": 0, "is_pending": true, "created_at": 0,
                "updated_at": style.now_ms - 900_000, "failure": failure,
            })
        };
        let failed = "the transcript cannot be read: permission denied (os error 13)";
        let names = [("extract", "019f03e0-321f-7eb2-83cc-b54ecd71be23"), ("prune", "")];
        let page = |failure| {
            let jobs = names.map(|name| job(name, failure));
            let page: JobListResult = serde_json::from_value(json!({ "jobs": jobs })).unwrap();
            page.text(&style)
        };
        let text = page(Some(failed));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for whole in ["attempts  changed", "last failure", "15 min ago", "extract/019f03e0-321f"] {
            assert!(text.contains(whole), "{whole}: {text}");
        }
        assert!(!page(None).contains("failure"));
    }

    #[test]
    fn cancelling_a_job_that_is_done_says_so() {
        let style = plain();
        let job = |state: &str| -> Job {
            serde_json::from_value(json!({
                "job": "prune/", "kind": "prune", "subject": "", "state": state, "attempts": 0, "epoch": 1,
                "priority": 0, "is_pending": false, "created_at": 0, "updated_at": 0,
            }))
            .unwrap()
        };
        let page = CancelPage { job: job("done"), was_done: true }.text(&style);
        assert!(page.starts_with("It was done: nothing to cancel.\n"), "{page}");
        assert!(!page.contains("attempts"), "the daemon counts anew: {page}");
        let page = CancelPage { job: job("queued"), was_done: false }.text(&style);
        assert!(!page.contains("nothing") && page.contains("attempts"), "{page}");
    }
}
