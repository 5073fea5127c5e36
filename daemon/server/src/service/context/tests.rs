use longhaul_core::context::window::FALLBACK_TOKENS;

use super::{FillOrigin, UsageQuery};
use crate::service::tests::fixture::{Fixture, conversation};

#[tokio::test]
async fn given_items_alone_are_the_history_and_with_a_thread_they_come_on_top() {
    let fixture = Fixture::new().await;
    let contexts = &fixture.services.context.contexts;
    let items = || Some(conversation(2));
    let alone = contexts.usage(UsageQuery { items: items(), ..UsageQuery::default() });
    let alone = alone.await.unwrap();
    assert_eq!((alone.used_origin, alone.incoming), (FillOrigin::Estimate, None));
    assert!(alone.used > 0 && alone.used == alone.breakdown.total());

    let thread_id = fixture.thread(&conversation(2)).await;
    let query = UsageQuery { thread_id: Some(thread_id), items: items(), ..UsageQuery::default() };
    let with_thread = contexts.usage(query).await.unwrap();
    assert_eq!(with_thread.incoming, Some(alone.used));
    assert!(with_thread.used > 0);
}

#[tokio::test]
async fn the_callers_window_overrides_the_fallback() {
    let fixture = Fixture::new().await;
    let contexts = &fixture.services.context.contexts;
    let window = async |context_window| {
        let query = UsageQuery { context_window, ..UsageQuery::default() };
        contexts.usage(query).await.unwrap().window.tokens
    };
    assert_eq!(window(None).await, FALLBACK_TOKENS);
    assert_eq!(window(Some(64_000)).await, 64_000);
}
