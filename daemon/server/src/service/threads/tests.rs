use super::{ItemRange, SYNC_TIMEOUT_MAX, ServiceError, SyncPoint, SyncTarget, target};
use crate::service::tests::fixture::{Fixture, conversation};

#[test]
fn a_target_is_a_thread_or_an_absolute_path() {
    let named = |thread: Option<&str>, path: Option<&str>| {
        target(thread.map(str::to_owned), path.map(str::to_owned))
    };
    assert!(matches!(named(Some("t"), None), Ok(SyncTarget::Thread(id)) if id == "t"));
    assert!(matches!(named(None, Some("/x")), Ok(SyncTarget::Path(_))));
    for (thread, path, wrong) in
        [(None, Some("x"), "path"), (Some("t"), Some("/x"), "thread_id"), (None, None, "thread_id")]
    {
        let refused = named(thread, path);
        let is_wrong =
            matches!(&refused, Err(ServiceError::Invalid { field, .. }) if *field == wrong);
        assert!(is_wrong, "{thread:?} {path:?}");
    }
}

#[tokio::test]
async fn items_are_paged_from_a_line_or_are_the_last_ones() {
    let fixture = Fixture::new().await;
    let threads = &fixture.services.thread.threads;
    let thread_id = fixture.thread(&conversation(3)).await;
    let all = threads.items(&thread_id, ItemRange::From(0), 100).await.unwrap();
    let seqs: Vec<u64> = all.rows.iter().map(|(row, _)| row.seq).collect();
    assert!(!all.more && seqs.len() >= 6, "{seqs:?}");
    let first = threads.items(&thread_id, ItemRange::From(0), 2).await.unwrap();
    assert_eq!((first.rows.len(), first.more, first.next_seq), (2, true, seqs[1] + 1));
    let last = threads.items(&thread_id, ItemRange::Last, 2).await.unwrap();
    let last_seqs: Vec<u64> = last.rows.iter().map(|(row, _)| row.seq).collect();
    assert_eq!((last_seqs.as_slice(), last.more), (&seqs[seqs.len() - 2..], false));
}

#[tokio::test]
async fn an_unknown_thread_is_named_in_the_error() {
    let fixture = Fixture::new().await;
    let threads = &fixture.services.thread.threads;
    let nobody = SyncTarget::Thread("nobody".to_owned());
    let synced = threads.sync(nobody, SyncPoint::default(), SYNC_TIMEOUT_MAX).await.err();
    let found = threads.get("nobody").await.err();
    for error in [synced, found] {
        assert!(
            matches!(&error, Some(ServiceError::ThreadNotFound(id)) if id == "nobody"),
            "{error:?}"
        );
    }
}
