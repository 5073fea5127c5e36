//! Tests of the cache; inspections are tested with the real program, in `tests/repository.rs`.

use super::*;

#[tokio::test]
async fn the_cache_is_bounded_and_a_missing_program_is_reported() {
    let settings =
        RepositorySettings { observe: true, graphite: true, timeout: Duration::from_secs(20) };
    let repositories = Repositories::new(Clock::manual(0), "/nowhere/longhauld".into());
    assert_eq!(repositories.unavailable(), None);
    for n in 0..3 * FOLDERS_MAX {
        let found = repositories.inspect(&format!("/{n}"), settings, Duration::from_secs(20)).await;
        assert_eq!(found, None);
    }
    assert!(repositories.0.folders.lock().unwrap().len() <= FOLDERS_MAX);
    assert!(repositories.unavailable().is_some());
}
