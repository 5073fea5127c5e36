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
    let temp = Temp::new();
    let (store, _) = temp.open().await;
    for added in [spent(5, "extract", 1), spent(9, "compaction", 1), spent(9, "compaction", 2)] {
        store.models.usage_add(&added).await.unwrap();
    }
    let summed = UsageRow { failures: 2, cached_input: 4, ..spent(9, "compaction", 3) };
    assert_eq!(store.models.usage_since(6).await.unwrap(), [summed]);
    assert_eq!(store.models.usage_since(0).await.unwrap().len(), 2);
    store.models.usage_add(&spent(6 + USAGE_DAYS_MAX, "extract", 1)).await.unwrap();
    assert_eq!(store.models.usage_since(0).await.unwrap()[0].day, 9, "old days are deleted");
}

#[tokio::test]
async fn the_newest_answers_are_kept() {
    let temp = Temp::new();
    let (store, _) = temp.open().await;
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
}
