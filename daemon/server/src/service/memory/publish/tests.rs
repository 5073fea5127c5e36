use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::task::Poll;

use longhaul_core::memory::Origin;
use longhaul_store::Exclusion;

use super::*;
use crate::service::tests::fixture::Fixture;

#[tokio::test]
async fn a_publication_goes_on_without_its_caller_and_no_other_meets_it() {
    let fixture = Fixture::new().await;
    let publisher = &fixture.services.memory.publisher;
    let mut publication = Box::pin(publisher.publish(Purge::No, None));
    let began = std::future::poll_fn(|context| Poll::Ready(publication.as_mut().poll(context)));
    assert!(began.await.is_pending());
    drop(publication);
    assert_eq!(publisher.publish(Purge::No, None).await.unwrap(), (1, false));
    assert_eq!(publisher.publish(Purge::Yes(None), None).await.unwrap(), (2, true));
}

#[tokio::test]
async fn nothing_is_forgotten_while_an_old_generation_could_not_be_removed() {
    let fixture = Fixture::new().await;
    let notes = &fixture.services.memory.notes;
    let person = Origin::of_edit();
    let note = notes.add("deploy on mondays", None, person).await.unwrap();
    let old = fixture.deps.config.now().state_dir.join("memory.d/g1");
    let stuck = old.join("rollout_summaries");
    std::fs::create_dir_all(&stuck).unwrap();
    std::fs::write(stuck.join("mine.md"), "deploy on mondays").unwrap();
    std::fs::set_permissions(&stuck, Permissions::from_mode(0o500)).unwrap();
    let is_root = std::fs::write(stuck.join("other.md"), "").is_ok();
    let forgotten = notes.forget(Exclusion::Note(note.note.note_id)).await;
    let freed = std::fs::set_permissions(&stuck, Permissions::from_mode(0o700));
    assert!(is_root || freed.is_ok(), "{freed:?}");
    assert!(is_root || matches!(forgotten, Err(ServiceError::File { .. })), "{forgotten:?}");
    notes.forget(Exclusion::Project("/w/any".to_owned())).await.unwrap();
    assert!(!old.exists());
}

#[tokio::test]
async fn a_publication_that_its_folder_delayed_is_shown_once_the_folder_has_it() {
    let fixture = Fixture::new().await;
    let memory = &fixture.services.memory;
    let shown = async || memory.reader.summary(None, None, false).await.unwrap();
    let add = async || memory.notes.add("deploy on mondays", None, Origin::of_edit()).await;
    assert_eq!(shown().await.generation, 0);
    let in_the_way = fixture.deps.config.now().state_dir.join("memory");
    std::fs::create_dir(&in_the_way).unwrap();
    let failed = add().await;
    assert!(matches!(failed, Err(ServiceError::File { .. })), "{failed:?}");
    std::fs::remove_dir(&in_the_way).unwrap();
    assert_eq!(add().await.unwrap().generation, 1);
    let shown = shown().await;
    assert_eq!(shown.generation, 1);
    assert!(shown.text.contains("deploy on mondays"), "{}", shown.text);
}
