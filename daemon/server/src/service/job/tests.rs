use longhaul_core::job::{JobKey, Kind};

use super::{Due, JobError};
use crate::service::ServiceError;
use crate::service::tests::fixture::{Fixture, conversation};

#[tokio::test]
async fn a_job_that_was_never_requested_is_known_only_if_it_needs_no_client() {
    let fixture = Fixture::new().await;
    let states = &fixture.services.job.states;
    let standing = states.why(JobKey::only(Kind::Prune)).await.unwrap();
    assert!(standing.job.is_none() && standing.due.is_none() && !standing.is_outside);
    let compaction = JobKey { kind: Kind::Compact, subject: "cmp_none".to_owned() };
    let unknown = states.why(compaction).await;
    let is_unknown = matches!(unknown, Err(ServiceError::Job(JobError::NotFound(_))));
    assert!(is_unknown, "{unknown:?}");
}

#[tokio::test]
async fn an_extraction_that_is_not_due_says_why() {
    let fixture = Fixture::new().await;
    let subject = fixture.thread(&conversation(1)).await;
    let key = JobKey { kind: Kind::Extract, subject };
    let state = fixture.services.job.states.why(key).await.unwrap();
    assert!(state.job.is_none());
    assert!(matches!(state.due, Some(Due::No(skipped)) if !skipped.reason.is_empty()));
}
