//! Services over a real store in a temporary folder.

use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::job::{JobKey, JobRequest, Kind, State};
use longhaul_protocol::event::EventKind;

use super::ServiceError;
use super::compaction::{Reason, Subject};
use super::history::{HistoryQuery, Opaque, Position};
use crate::clock::Clock;
use crate::jobs::runner::Work as _;

use fixture::{Fixture, conversation, message, request};

pub(super) mod fixture;

#[test]
fn the_start_and_the_uptime_add_up_to_now_even_if_the_store_opened_slowly() {
    let clock = Clock::manual(1_000_000);
    clock.advance_ms(18_000);
    let instance = super::instance(&clock, "v1.sock".into());
    clock.advance_ms(500);
    assert_eq!(instance.started_at + i64::try_from(instance.uptime_ms()).unwrap(), clock.now_ms());
}

#[tokio::test]
async fn undo_restores_given_items() {
    let fixture = Fixture::new().await;
    let services = &fixture.services.compaction;
    let items = conversation(12);
    let asked = request(Subject::Items(items.clone()), Strategy::Auto);
    let compaction = services.compactor.run(asked).await.unwrap();
    assert!(compaction.tokens.1 < compaction.tokens.0, "{:?}", compaction.tokens);
    assert_eq!(compaction.reason(), Reason::UserRequested);
    let (listed, _) = services.log.list(None, 10, None).await.unwrap();
    assert_eq!(listed.iter().map(|row| &row.compaction_id).collect::<Vec<_>>(), [&compaction.id]);

    fixture.deps.clock.advance_ms(7);
    let undone = services.undo.run(&compaction.id).await.unwrap();
    assert_eq!((undone.history, undone.complete), (items, true));
    let again = services.undo.run(&compaction.id).await.unwrap();
    assert_eq!(again.undone_at_ms, undone.undone_at_ms, "once");
    let stored = services.log.get(&compaction.id).await.unwrap();
    assert_eq!(stored.undone_at_ms, Some(undone.undone_at_ms));
}

#[tokio::test]
async fn the_ladder_ends_at_the_checkpoint_and_says_why_earlier_rungs_failed() {
    let fixture = Fixture::new().await;
    let mut events = fixture.deps.events.subscribe(vec![EventKind::CompactionCompleted], None);
    let asked = request(Subject::Items(conversation(4)), Strategy::Hybrid);
    let compaction = fixture.services.compaction.compactor.run(asked).await.unwrap();
    assert_eq!(compaction.strategy_used, Strategy::Checkpoint);
    let (last, above) = compaction.ladder.split_last().unwrap();
    assert_eq!((last.strategy, last.left_because.as_deref()), (Strategy::Checkpoint, None));
    assert!(!above.is_empty());
    for rung in above {
        assert_eq!((rung.tried, rung.left_because.as_deref()), (false, Some("not_configured")));
    }
    let event = events.next().await.unwrap();
    assert_eq!(event.data["compaction_id"], compaction.id.as_str());
}

#[tokio::test]
async fn an_automatic_compaction_is_rejected_until_growth_and_a_manual_one_never() {
    let fixture = Fixture::new().await;
    let compactor = &fixture.services.compaction.compactor;
    let first = request(Subject::Items(conversation(12)), Strategy::Checkpoint);
    let mut items = compactor.run(first).await.unwrap().history;
    items.push(message("assistant", "Done."));
    let by = |trigger: &str, items| {
        let asked = request(Subject::Items(items), Strategy::Checkpoint);
        crate::service::compaction::Request { trigger: trigger.to_owned(), ..asked }
    };
    let refused = compactor.run(by("auto", items.clone())).await;
    assert!(matches!(refused, Err(ServiceError::NotWorthwhile { .. })), "{refused:?}");
    compactor.run(by("manual", items.clone())).await.unwrap();
    items.extend(conversation(40));
    compactor.run(by("auto", items)).await.unwrap();
}

#[tokio::test]
async fn an_automatic_compaction_is_rejected_until_growth_after_the_clock_was_set_back_too() {
    let fixture = Fixture::new().await;
    let services = &fixture.services;
    let thread_id = fixture.thread(&conversation(12)).await;
    let by = |trigger: &str| {
        let subject = Subject::Thread { thread_id: thread_id.clone(), as_of: None };
        let asked = request(subject, Strategy::Checkpoint);
        crate::service::compaction::Request { trigger: trigger.to_owned(), ..asked }
    };
    services.compaction.compactor.run(by("manual")).await.unwrap();
    fixture.deps.clock.set_wall_ms(500_000);
    fixture.add(&thread_id, "later", &conversation(40)).await;
    services.compaction.compactor.run(by("auto")).await.unwrap();
    let refused = services.compaction.compactor.run(by("auto")).await;
    assert!(matches!(refused, Err(ServiceError::NotWorthwhile { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_job_compacts_once_and_an_unknown_one_cannot_be_cancelled() {
    let fixture = Fixture::new().await;
    let services = &fixture.services;
    let asked = request(Subject::Items(conversation(6)), Strategy::Checkpoint);
    let (id, key) = services.compaction.jobs.start(asked).await.unwrap();
    assert_eq!(key, JobKey { kind: Kind::Compact, subject: id.clone() });
    let claimed = services.job.jobs.claim(Kind::Compact, "worker:test").await.unwrap().unwrap();
    let work = &services.compaction.jobs;
    for _ in 0..2 {
        work.run(claimed.job.clone(), claimed.claim.token.clone()).await.unwrap();
    }
    let done = services.job.jobs.finish(&key, &claimed.claim.token).await.unwrap();
    assert_eq!(done.state, State::Done);
    assert_eq!(services.compaction.log.list(None, 10, None).await.unwrap().0.len(), 1);
    let unknown = services.compaction.jobs.cancel("cmp_none").await;
    assert!(matches!(unknown, Err(ServiceError::CompactionNotFound(_))), "{unknown:?}");
}

#[tokio::test]
async fn a_thread_is_gathered_now_and_in_the_past() {
    let fixture = Fixture::new().await;
    let services = &fixture.services;
    let thread_id = fixture.thread(&conversation(3)).await;
    let query = HistoryQuery {
        thread_id: thread_id.clone(),
        as_of: None,
        from: Position::default(),
        max_bytes: 1 << 20,
        opaque: Opaque::AsIs,
    };
    let now = services.history.histories.visible(query.clone()).await.unwrap();
    assert_eq!((now.items.len(), now.next), (6, None));
    let then = HistoryQuery { as_of: Some(now.seq - 2), ..query };
    let then = services.history.histories.visible(then).await.unwrap();
    assert_eq!((then.seq, then.items.len()), (now.seq - 2, 4));

    let asked = request(Subject::Thread { thread_id, as_of: None }, Strategy::Checkpoint);
    let compaction = services.compaction.compactor.run(asked).await.unwrap();
    let undone = services.compaction.undo.run(&compaction.id).await.unwrap();
    assert_eq!(undone.history, conversation(3));

    let subject = Subject::Thread { thread_id: "nobody".to_owned(), as_of: None };
    let unknown = services.compaction.compactor.run(request(subject, Strategy::Checkpoint)).await;
    assert!(matches!(unknown, Err(ServiceError::ThreadNotFound(_))), "{unknown:?}");
}

#[tokio::test]
async fn old_histories_are_pruned_with_their_compactions() {
    let fixture = Fixture::new().await;
    let services = &fixture.services;
    let asked = request(Subject::Items(conversation(2)), Strategy::Checkpoint);
    let compaction = services.compaction.compactor.run(asked).await.unwrap();
    let kept = services.daemon.upkeep.retention.prune().await.unwrap();
    assert_eq!(kept.compactions, 0);
    let days = i64::try_from(*fixture.deps.config.now().compaction.keep_days).unwrap();
    fixture.deps.clock.advance_ms((days + 1) * 86_400_000);
    let pruned = services.daemon.upkeep.retention.prune().await.unwrap();
    assert_eq!((pruned.compactions, pruned.histories), (1, 1));
    let gone = services.compaction.undo.run(&compaction.id).await;
    assert!(matches!(gone, Err(ServiceError::CompactionNotFound(_))), "{gone:?}");
}

/// A client was told that it will be compacted.
#[tokio::test]
async fn a_history_over_the_limit_stays_while_a_job_is_to_compact_it() {
    let fixture = Fixture::new().await;
    let retention = &fixture.services.daemon.upkeep.retention;
    let folder = &retention.histories.preimages;
    std::fs::create_dir_all(folder).unwrap();
    let path = |id: &str| folder.join(format!("{id}.jsonl"));
    for id in ["cmp_waiting", "cmp_left"] {
        std::fs::File::create(path(id)).unwrap().set_len(1 << 30).unwrap();
    }
    let job = JobRequest {
        key: JobKey { kind: Kind::Compact, subject: "cmp_waiting".to_owned() },
        input: "once".to_owned(),
        payload: String::new(),
        priority: 0,
        urgent: false,
    };
    retention.jobs.request(job).await.unwrap();
    let pruned = retention.prune().await.unwrap();
    assert_eq!(pruned.histories, 1);
    assert!(path("cmp_waiting").exists() && !path("cmp_left").exists());
}

#[tokio::test]
async fn the_reason_for_disabled_repository_signals_is_reported() {
    let fixture = Fixture::new().await;
    let (status, policy) = (&fixture.services.daemon.status, &fixture.services.policy);
    let warnings = async || {
        let warnings = status.warnings(&status.ingest()).await.into_iter();
        warnings.map(|warning| warning.kind).collect::<Vec<_>>()
    };
    assert_eq!(warnings().await, [""; 0]);
    let settings = fixture.deps.config.now().repository.settings();
    let folder = fixture.home.path().to_str().unwrap();
    let found = policy.repositories.inspect(folder, settings, std::time::Duration::MAX).await;
    assert_eq!(found, None, "the git sandbox program is missing");
    assert_eq!(warnings().await, ["repositories_unseen"]);
}
