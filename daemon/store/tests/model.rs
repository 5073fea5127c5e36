//! Model usage and cached answers.

use longhaul_store::{ANSWERS_MAX, USAGE_DAYS_MAX, UsageRow};

use crate::sample::Temp;

fn spent(day: i64, purpose: &str, requests: i64) -> UsageRow {
    UsageRow {
        day,
        provider: "local".to_owned(),
        model: "m".to_owned(),
        purpose: purpose.to_owned(),
        requests,
        failures: 1,
        input: 10 * requests,
        cached_input: 2,
        output: requests,
    }
}

#[tokio::test]
async fn usage_adds_up_by_day_and_purpose() {
    let (_temp, store) = Temp::opened().await;
    for added in [spent(5, "extract", 1), spent(9, "compaction", 1), spent(9, "compaction", 2)] {
        store.models.usage_add(&added).await.unwrap();
    }
    let summed = UsageRow { failures: 2, cached_input: 4, ..spent(9, "compaction", 3) };
    assert_eq!(store.models.usage_since(6).await.unwrap(), [summed]);
    assert_eq!(store.models.usage_since(0).await.unwrap().len(), 2);
    // A clock that is set ahead, and corrected.
    store.models.usage_add(&spent(9_000, "extract", 1)).await.unwrap();
    store.models.usage_add(&spent(9, "extract", 1)).await.unwrap();
    let days = async || {
        let rows = store.models.usage_since(0).await.unwrap();
        let mut days: Vec<i64> = rows.into_iter().map(|row| row.day).collect();
        days.dedup();
        days
    };
    assert_eq!(days().await, [5, 9, 9_000]);
    for day in 10..i64::from(USAGE_DAYS_MAX) + 8 {
        store.models.usage_add(&spent(day, "extract", 1)).await.unwrap();
    }
    assert_eq!(days().await[..2], [9, 10], "the earliest are deleted");
    store.models.usage_add(&spent(1, "extract", 1)).await.unwrap();
    assert_eq!(days().await[..2], [1, 9], "not the one that is added to");
}

#[tokio::test]
async fn the_newest_answers_are_kept() {
    let (_temp, store) = Temp::opened().await;
    for n in 0..i64::from(ANSWERS_MAX) + 3 {
        store
            .models
            .answer_put((&format!("d{n}"), 0), n, format!("answer {n}").as_bytes())
            .await
            .unwrap();
    }
    assert_eq!(store.models.answer_get("d2").await.unwrap(), None);
    assert_eq!(store.models.answer_get("d3").await.unwrap().as_deref(), Some(&b"answer 3"[..]));
    store.models.answer_put(("d3", 0), 99, b"again").await.unwrap();
    assert_eq!(store.models.answer_get("d3").await.unwrap().as_deref(), Some(&b"again"[..]));
    // All others are of a clock that was ahead.
    store.models.answer_put(("now", 0), 1, b"kept").await.unwrap();
    assert_eq!(store.models.answer_get("now").await.unwrap().as_deref(), Some(&b"kept"[..]));
}
