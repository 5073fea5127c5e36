//! Updates of a thread: the oldest are deleted beyond the limit, a person's choices never.

use longhaul_store::UPDATES_PER_THREAD_MAX;

use crate::sample::{Temp, update};

#[tokio::test]
async fn a_persons_choices_are_never_evicted() {
    let (_temp, store) = Temp::opened().await;
    let pin = update(r#"{"kind":"pin","text":"Keep it."}"#);
    let first = store.updates.insert("t", 0, &pin).await.unwrap().unwrap();
    let mut last = first;
    for _ in 0..UPDATES_PER_THREAD_MAX + 4 {
        let plan = update(r#"{"kind":"plan","steps":[],"done":{}}"#);
        last = store.updates.insert("t", last, &plan).await.unwrap().unwrap();
    }
    let kept = store.updates.of_thread("t").await.unwrap();
    assert_eq!(kept.len(), UPDATES_PER_THREAD_MAX as usize + 1);
    assert_eq!((kept[0].update_id, &kept[0].body), (first, &pin.body));
    assert_eq!(store.updates.pinned_threads().await.unwrap(), ["t"]);
    assert!(store.updates.remove(first).await.unwrap());
    assert!(!store.updates.remove(first).await.unwrap());
    assert_eq!(store.updates.pinned_threads().await.unwrap(), [""; 0]);
}
