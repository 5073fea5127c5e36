use longhaul_core::choice::ChoiceAction;
use longhaul_core::compaction::handle::Handle;
use longhaul_core::digest::Digest128;

use super::{ChoiceError, ChoiceSubject, ServiceError};
use crate::service::tests::fixture::{Fixture, conversation};

fn text(text: &str) -> ChoiceSubject {
    ChoiceSubject::Text(text.to_owned())
}

#[tokio::test]
async fn a_text_is_stored_once_and_without_secrets_until_it_is_removed() {
    let fixture = Fixture::new().await;
    let choices = &fixture.services.checkpoint.choices;
    let thread_id = fixture.thread(&conversation(1)).await;
    let pin = text("  deploy with AKIAIOSFODNN7EXAMPLE on Friday  ");
    let first = choices.choose(&thread_id, ChoiceAction::Pin, &pin).await.unwrap();
    assert!(!first.already_active);
    let stored = &first.stored.choice;
    assert!(!stored.text.contains("AKIA") && stored.text.ends_with("on Friday"), "{stored:?}");
    let again = choices.choose(&thread_id, ChoiceAction::Pin, &pin).await.unwrap();
    assert!(again.already_active);
    assert_eq!(choices.list(&thread_id).await.unwrap().len(), 1);
    choices.remove(&thread_id, &stored.id()).await.unwrap();
    let gone = choices.remove(&thread_id, &stored.id()).await;
    let is_not_found = matches!(gone, Err(ServiceError::Choice(ChoiceError::NotFound(_))));
    assert!(is_not_found, "{gone:?}");
}

#[tokio::test]
async fn items_of_another_thread_cannot_be_chosen() {
    let fixture = Fixture::new().await;
    let thread_id = fixture.thread(&conversation(1)).await;
    let handle = Handle::new("another", (1, 1), Digest128::default());
    let subject = ChoiceSubject::Items(handle);
    let choices = &fixture.services.checkpoint.choices;
    let refused = choices.choose(&thread_id, ChoiceAction::Drop, &subject).await;
    let is_invalid = matches!(refused, Err(ServiceError::Invalid { field: "handle", .. }));
    assert!(is_invalid, "{refused:?}");
    assert!(choices.list(&thread_id).await.unwrap().is_empty());
}
