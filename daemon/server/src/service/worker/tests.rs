use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::job::{JobKey, Kind, State};

use super::{Delivery, ServiceError};
use crate::service::compaction::Subject;
use crate::service::tests::fixture::{Fixture, conversation, request};

/// The field that a request is rejected for.
fn invalid<T>(result: &Result<T, ServiceError>) -> Option<&'static str> {
    match result {
        Err(ServiceError::Invalid { field, .. }) => Some(*field),
        _ => None,
    }
}

#[tokio::test]
async fn a_kind_without_a_deliverable_is_settled_once_and_takes_no_result() {
    let fixture = Fixture::new().await;
    let services = &fixture.services;
    let workers = &services.job.workers;
    assert!(workers.claim(Kind::Compact, "worker:a").await.unwrap().is_none());
    let compaction = request(Subject::Items(conversation(2)), Strategy::Checkpoint);
    let (_, key) = services.compaction.jobs.start(compaction).await.unwrap();
    let claimed = workers.claim(Kind::Compact, "worker:a").await.unwrap().unwrap();
    assert!(claimed.job.key == key && claimed.task.is_none());
    let token = claimed.claim.token;

    let delivery = Delivery::Extract { lines: 1, answer: String::new() };
    let refused = workers.complete(key.clone(), token.clone(), Some(delivery)).await;
    assert_eq!(invalid(&refused), Some("result"));
    for _ in 0..2 {
        let (job, rejected) = workers.complete(key.clone(), token.clone(), None).await.unwrap();
        assert_eq!((job.state, rejected.len()), (State::Done, 0));
    }
}

#[tokio::test]
async fn only_a_curation_asks_the_model_and_a_wrong_token_completes_nothing() {
    let fixture = Fixture::new().await;
    let services = &fixture.services;
    let workers = &services.job.workers;
    let compaction = request(Subject::Items(conversation(2)), Strategy::Checkpoint);
    let (_, key) = services.compaction.jobs.start(compaction).await.unwrap();
    let claimed = workers.claim(Kind::Compact, "worker:a").await.unwrap().unwrap();
    let token = claimed.claim.token;
    let asked = workers.ask(key.clone(), token.clone(), &[]).await;
    assert_eq!(invalid(&asked), Some("job"));

    let mut stolen = token;
    stolen.nonce.push('x');
    let completed = workers.complete(key.clone(), stolen, None).await;
    assert!(matches!(completed, Err(ServiceError::Job(_))));
    let state = services.job.jobs.get(&key).await.unwrap().state;
    assert_eq!(state, State::Running);
    let unknown = JobKey { kind: Kind::Compact, subject: "cmp_none".to_owned() };
    assert!(services.job.jobs.get(&unknown).await.is_err());
}
