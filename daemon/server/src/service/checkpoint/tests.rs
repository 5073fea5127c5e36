use std::collections::BTreeMap;

use longhaul_core::checkpoint::semantic::{Evidence, EvidenceSource, Update};
use longhaul_core::checkpoint::view::ViewCaps;

use super::{ServiceError, ViewQuery};
use crate::service::tests::fixture::{Fixture, conversation};

/// A decision that rests on the person's message on line `seq`.
fn decision(seq: u64) -> Update {
    Update::Decision {
        decision_id: "d1".to_owned(),
        topic: None,
        decision: "use one parser".to_owned(),
        rationale: "two differ".to_owned(),
        supersedes: None,
        evidence: Evidence { source: EvidenceSource::User, reference: seq.to_string(), hash: None },
    }
}

#[tokio::test]
async fn an_update_is_stored_only_with_evidence_in_the_thread_and_at_its_line() {
    let fixture = Fixture::new().await;
    let checkpoints = &fixture.services.checkpoint.checkpoints;
    let thread_id = fixture.thread(&conversation(2)).await;
    let none = BTreeMap::new();
    let (.., last) = checkpoints.get(&thread_id, None).await.unwrap();

    let unfounded = checkpoints.apply(&thread_id, decision(999), &none, None).await.unwrap();
    assert!(unfounded.rejection.is_some(), "no such line");
    let stale = checkpoints.apply(&thread_id, decision(1), &none, Some(last + 1)).await;
    assert!(matches!(stale, Err(ServiceError::StaleBase { present, .. }) if present == last));

    let (before, digest, _) = checkpoints.get(&thread_id, None).await.unwrap();
    let accepted = checkpoints.apply(&thread_id, decision(1), &none, Some(last)).await.unwrap();
    assert_eq!((accepted.rejection, accepted.seq), (None, last));
    let (after, changed, _) = checkpoints.get(&thread_id, None).await.unwrap();
    assert!(after.to_string().contains("use one parser"));
    assert!(!before.to_string().contains("use one parser") && digest != changed);
}

#[tokio::test]
async fn a_view_of_an_earlier_line_does_not_know_later_ones() {
    let fixture = Fixture::new().await;
    let checkpoints = &fixture.services.checkpoint.checkpoints;
    let thread_id = fixture.thread(&conversation(3)).await;
    let query = |as_of| ViewQuery {
        thread_id: &thread_id,
        as_of,
        caps: ViewCaps::default(),
        max_tokens: Some(2_000),
        focus: "",
    };
    let now = checkpoints.view(query(None)).await.unwrap();
    let then = checkpoints.view(query(Some(now.seq - 2))).await.unwrap();
    assert_eq!(then.seq, now.seq - 2);
    assert!(now.text.contains("part_2") && !then.text.contains("part_2"), "{}", then.text);
    let nobody = checkpoints.view(ViewQuery { thread_id: "nobody", ..query(None) }).await;
    assert!(matches!(nobody, Err(ServiceError::ThreadNotFound(_))), "{nobody:?}");
}
