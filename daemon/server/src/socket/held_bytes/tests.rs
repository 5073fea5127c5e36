use futures_util::FutureExt;

use super::*;

impl ConnectionBytes {
    fn set(&mut self, bytes: usize, stalled_since: Option<Instant>) {
        let load = ConnectionLoad { bytes, unread_bytes: bytes, stalled_since, has_read: false };
        self.take_over(Vec::new(), load);
    }
}

fn must_close(share: &ConnectionBytes) -> bool {
    share.must_close().is_cancelled()
}

#[test]
fn only_the_connection_that_holds_most_is_closed() {
    let held = Arc::new(HeldBytes::new(100));
    let [mut small, mut large, mut late] = [1, 2, 3].map(|connection| held.share(connection));
    small.set(30, None);
    large.set(60, None);
    assert!(!must_close(&large));
    late.set(20, None);
    assert!(must_close(&large));
    assert!(!must_close(&small) && !must_close(&late));
    large.set(90, None);
    assert_eq!(held.ledger().bytes, 50, "a closed connection holds nothing");
    drop(small);
    late.set(0, None);
    assert_eq!(held.ledger().bytes, 0);
    assert!(held.ledger().holders.is_empty());
}

#[tokio::test]
async fn answers_count_from_before_they_are_made_until_they_are_handed_over() {
    let held = Arc::new(HeldBytes::new(100));
    let mut room = held.reserve(1, Size::Large).await.unwrap();
    assert_eq!(held.ledger().bytes, 25);
    room.settle(40);
    assert_eq!(held.ledger().bytes, 40);
    assert_eq!(held.ledger().making, [0, 0]);
    drop(room);
    assert_eq!(held.ledger().bytes, 0);
}

#[tokio::test]
async fn few_answers_are_made_at_once_newest_first() {
    let held = Arc::new(HeldBytes::new(100));
    let making = held.reserve(1, Size::Large).await;
    let mut early = Box::pin(held.reserve(3, Size::Large));
    let mut late = Box::pin(held.reserve(4, Size::Large));
    assert!((&mut early).now_or_never().is_none() && (&mut late).now_or_never().is_none());
    drop(making);
    assert!(late.await.is_some());
    assert!(early.await.is_some());
}

#[tokio::test]
async fn a_page_does_not_wait_for_a_large_answer() {
    let held = Arc::new(HeldBytes::new(100));
    let _large = held.reserve(1, Size::Large).await;
    let page = held.reserve(2, Size::Page).await;
    let mut other = Box::pin(held.reserve(3, Size::Page));
    assert!((&mut other).now_or_never().is_none());
    drop(page);
    assert!(other.await.is_some());
    for (max_bytes, size) in
        [(Some(64), Size::Page), (Some(PAGE_BYTES + 1), Size::Large), (None, Size::Large)]
    {
        assert_eq!(Size::of(max_bytes), size);
    }
}

#[test]
fn a_reader_stays_though_others_together_hold_as_much() {
    let held = Arc::new(HeldBytes::new(100));
    let [mut reads, mut half, mut late] = [1, 2, 3].map(|connection| held.share(connection));
    let load = ConnectionLoad { bytes: 60, unread_bytes: 60, stalled_since: None, has_read: true };
    reads.take_over(Vec::new(), load);
    half.set(30, None);
    late.set(20, None);
    assert!(must_close(&half) && !must_close(&reads) && !must_close(&late));
}

#[tokio::test]
async fn no_answer_is_made_while_the_last_one_is_unread() {
    let held = Arc::new(HeldBytes::new(16 * HIGH_WATER_BYTES));
    let mut behind = held.share(1);
    behind.set(HIGH_WATER_BYTES, None);
    let mut room = Box::pin(held.reserve(1, Size::Large));
    assert!((&mut room).now_or_never().is_none());
    assert!(
        held.reserve(2, Size::Large).await.is_some(),
        "another connection need not wait for it"
    );
    behind.set(0, None);
    assert!(room.await.is_some());
    // A request in progress is nothing the client has to read.
    behind.take_over(
        Vec::new(),
        ConnectionLoad { bytes: HIGH_WATER_BYTES, ..ConnectionLoad::default() },
    );
    assert!(held.reserve(1, Size::Large).await.is_some());
}

#[tokio::test]
async fn a_stalled_connection_is_closed_for_room_and_a_reader_stays() {
    let held = Arc::new(HeldBytes::new(100));
    let [mut reads, mut stalled] = [1, 2].map(|connection| held.share(connection));
    reads.set(50, None);
    stalled.set(30, Some(Instant::now()));
    assert!(held.reserve(3, Size::Large).await.is_some(), "within the room timeout");
    assert!(must_close(&stalled) && !must_close(&reads));
}

#[tokio::test]
async fn known_readers_come_first_and_the_last_room_is_kept_for_them() {
    let held = Arc::new(HeldBytes::new(100));
    let mut known = held.share(1);
    known.take_over(Vec::new(), ConnectionLoad { has_read: true, ..ConnectionLoad::default() });
    let making = held.reserve(2, Size::Large).await;
    let mut reader = Box::pin(held.reserve(1, Size::Large));
    let mut newer: Vec<_> =
        (3..6).map(|connection| Box::pin(held.reserve(connection, Size::Large))).collect();
    assert!((&mut reader).now_or_never().is_none());
    for room in &mut newer {
        assert!(room.now_or_never().is_none());
    }
    drop(making);
    assert!(reader.await.is_some(), "before later requests");
    drop(newer);

    let mut holder = held.share(7);
    holder.set(60, None);
    let mut stranger = Box::pin(held.reserve(8, Size::Large));
    assert!((&mut stranger).now_or_never().is_none(), "only one room of 25 is left");
    assert!(held.reserve(1, Size::Large).await.is_some());
    assert!((&mut stranger).now_or_never().is_none());
    known.take_over(
        Vec::new(),
        ConnectionLoad {
            has_read: true,
            stalled_since: Some(Instant::now()),
            ..ConnectionLoad::default()
        },
    );
    assert!(held.ledger().readers.is_empty(), "a stalled reader must prove itself again");
}

#[tokio::test]
async fn the_watch_ends_when_no_request_waits() {
    let held = Arc::new(HeldBytes::new(100));
    let making = held.reserve(1, Size::Large).await;
    let waits = tokio::spawn({
        let held = held.clone();
        async move { held.reserve(2, Size::Large).await.is_some() }
    });
    drop(making);
    assert!(waits.await.unwrap());
    let ended = async {
        while held.ledger().is_watched {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(RESERVATION_TIMEOUT, ended).await.unwrap();
    assert!(!held.ledger().is_awaited());
}

#[tokio::test]
async fn one_request_comes_before_many_of_another_connection() {
    let held = Arc::new(HeldBytes::new(100));
    let making = held.reserve(1, Size::Large).await;
    let mut modest = Box::pin(held.reserve(2, Size::Large));
    assert!((&mut modest).now_or_never().is_none());
    let mut many: Vec<_> = (0..3).map(|_| Box::pin(held.reserve(3, Size::Large))).collect();
    for room in &mut many {
        assert!(room.now_or_never().is_none());
    }
    drop(making);
    assert!((&mut modest).now_or_never().flatten().is_some());
}
