use longhaul_core::compaction::handle::Handle;
use longhaul_core::digest::Digest128;

use super::{HistoryQuery, Opaque, Position};
use crate::service::ServiceError;
use crate::service::tests::fixture::{Fixture, conversation};
use crate::service::threads::ItemRange;

/// A handle of all items of a new thread, and their number.
async fn handle_of_thread(fixture: &Fixture) -> (Handle, usize) {
    let thread_id = fixture.thread(&conversation(2)).await;
    let threads = &fixture.services.thread.threads;
    let items = threads.items(&thread_id, ItemRange::From(0), 100).await.unwrap();
    let rows: Vec<_> = items.rows.iter().map(|(row, _)| row).collect();
    let (first, last) = (rows.first().unwrap(), rows.last().unwrap());
    (Handle::new(&thread_id, (first.seq, last.seq), first.digest), rows.len())
}

#[tokio::test]
async fn a_handle_is_read_in_pages_of_at_least_one_item() {
    let fixture = Fixture::new().await;
    let handles = &fixture.services.history.handles;
    let (handle, count) = handle_of_thread(&fixture).await;
    let whole = handles.expand(&handle, None, u64::MAX).await.unwrap();
    assert_eq!((whole.items.len(), whole.next_seq), (count, None));
    let (mut from, mut read) = (None, 0);
    loop {
        let page = handles.expand(&handle, from, 1).await.unwrap();
        assert_eq!(page.items.len(), 1);
        read += 1;
        from = page.next_seq;
        if from.is_none() {
            break;
        }
    }
    assert_eq!(read, count);
}

#[tokio::test]
async fn a_handle_whose_digest_differs_returns_nothing() {
    let fixture = Fixture::new().await;
    let handles = &fixture.services.history.handles;
    let (handle, _) = handle_of_thread(&fixture).await;
    fixture.services.archive.archive().opened().await;
    let changed = Handle::new(&handle.of, (handle.first, handle.last), Digest128::default());
    let refused = handles.expand(&changed, None, u64::MAX).await;
    assert!(matches!(refused, Err(ServiceError::HandleNotFound(_))), "{refused:?}");
    let nobody = Handle { of: "nobody".to_owned(), ..handle };
    let refused = handles.expand(&nobody, None, u64::MAX).await;
    assert!(matches!(refused, Err(ServiceError::ThreadNotFound(_))), "{refused:?}");
}

/// The archive may have the lines, so "changed" would be wrong, and a client may try again.
#[tokio::test]
async fn a_transcript_that_is_gone_is_busy_while_the_index_of_the_archive_opens() {
    let fixture = Fixture::new().await;
    let (handle, _) = handle_of_thread(&fixture).await;
    let query = || HistoryQuery {
        thread_id: handle.of.clone(),
        as_of: None,
        from: Position::default(),
        max_bytes: u64::MAX,
        opaque: Opaque::AsIs,
    };
    let (history, archive) = (&fixture.services.history, &fixture.services.archive);
    archive.archive().opened().await;
    let path = fixture.services.thread.threads.get(&handle.of).await.unwrap().1.remove(0).0.path;
    std::fs::remove_file(path).unwrap();
    let lost = history.histories.visible(query()).await;
    assert!(matches!(lost, Err(ServiceError::SourceChanged { .. })), "{lost:?}");

    archive.archive().close().await;
    let early = history.histories.visible(query()).await;
    assert!(matches!(early, Err(ServiceError::IndexNotOpen)), "{early:?}");
    let early = history.handles.expand(&handle, None, u64::MAX).await;
    assert!(matches!(early, Err(ServiceError::IndexNotOpen)), "{early:?}");
}
