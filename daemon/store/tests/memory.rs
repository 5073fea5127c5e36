//! Extractions, notes, forgetting and published generations.

use longhaul_core::job::{self, Fence, Job, JobKey, Kind, Rules};
use longhaul_core::memory::{Caller, Engine, Origin, RolloutMemory};
use longhaul_core::search::query::Query;
use longhaul_store::{
    AgentRow, CLAIMS_MAX, Exclusion, ExtractionRow, NewGeneration, NoteOutcome, NoteRow, Passage,
    PassageScope, Store, StoreError,
};

use crate::sample::{Temp, at, generation, request};

fn extraction(thread: &str, next_seq: u64, summary: &str) -> ExtractionRow {
    let memory = RolloutMemory {
        thread_id: thread.to_owned(),
        project: Some("/w/app".to_owned()),
        rollout_summary: summary.to_owned(),
        ..RolloutMemory::default()
    };
    ExtractionRow {
        thread_id: thread.to_owned(),
        next_seq,
        version: 1,
        extracted_at_ms: 5,
        uses: 0,
        last_used_ms: None,
        memory: Some(memory),
        engine: Engine::Deterministic,
        reason: None,
    }
}

fn passage(thread: &str, text: &str) -> Passage {
    Passage {
        path: format!("rollout_summaries/{thread}.md"),
        line_start: 1,
        line_end: 2,
        project: Some("/w/app".to_owned()),
        thread_id: Some(thread.to_owned()),
        at_ms: 5,
        text: text.to_owned(),
    }
}

async fn publish(store: &Store, number: u64, passages: &[Passage]) -> bool {
    publish_as(store, number, passages, None).await.unwrap()
}

async fn publish_as(
    store: &Store,
    number: u64,
    passages: &[Passage],
    fence: Option<&Fence>,
) -> Result<bool, StoreError> {
    let generation = generation(number, &format!("generation {number}"));
    let found = [("MEMORY.md".to_owned(), "edited".to_owned())].into();
    let new = NewGeneration { generation: &generation, found: &found, passages, fence };
    store.generations.put(new).await
}

/// The claim of a run of the consolidation, as of 2 ms after the boot.
async fn claimed(store: &Store) -> Fence {
    let key = JobKey::only(Kind::Consolidate);
    let asked = request(&key, "i");
    let claim = |found: Option<Job>| {
        let job = job::request(found, asked, &at(1));
        let (job, claim) = job::claim(job, 0, &Rules::default(), ("w", "n"), &at(2)).unwrap();
        (Some(job), claim.token)
    };
    let token = store.jobs.decide(&key, claim).await.unwrap();
    Fence { key, token, now: at(2), finishes: None }
}

async fn hits(store: &Store, words: &str, projects: Option<&[String]>) -> Vec<String> {
    let expression = Query::parse(words).unwrap().expression();
    let scope = projects.map(|projects| PassageScope { projects, general_files: &["MEMORY.md"] });
    let found = store.generations.passages(&expression, scope).await.unwrap();
    found.into_iter().map(|hit| hit.passage.text).collect()
}

#[tokio::test]
async fn a_run_that_read_less_changes_nothing() {
    let (_temp, store) = Temp::opened().await;
    assert!(store.extractions.put(&extraction("t", 9, "new"), None).await.unwrap());
    store.uses.add(&["memory_md"], &["t".to_owned(), "?".to_owned()], 7).await.unwrap();
    assert!(!store.extractions.put(&extraction("t", 5, "old"), None).await.unwrap());
    let kept = store.extractions.get("t").await.unwrap().unwrap();
    assert_eq!((kept.next_seq, kept.uses, kept.last_used_ms), (9, 1, Some(7)));
    assert_eq!(kept.memory.unwrap().rollout_summary, "new");
    let other = ExtractionRow { version: 2, ..extraction("t", 5, "by another version") };
    assert!(store.extractions.put(&other, None).await.unwrap());
    assert_eq!(store.extractions.watermarks().await.unwrap()[0].next_seq, 5);
    assert_eq!(store.extractions.get("t").await.unwrap().unwrap().uses, 1, "usage is kept");
}

#[tokio::test]
async fn forgotten_data_is_deleted_at_once_and_stays_deleted() {
    let (_temp, store) = Temp::opened().await;
    for thread in ["a", "b"] {
        store.extractions.put(&extraction(thread, 3, "s"), None).await.unwrap();
    }
    assert!(publish(&store, 1, &[passage("a", "alpha words"), passage("b", "beta words")]).await);
    assert_eq!(store.notes.forget(&Exclusion::Thread("a".into()), 9).await.unwrap(), 1);
    assert_eq!(hits(&store, "words", None).await, ["beta words"]);
    assert!(!store.extractions.put(&extraction("a", 4, "again"), None).await.unwrap());
    assert_eq!(store.notes.forget(&Exclusion::Project("/w/app".into()), 9).await.unwrap(), 1);
    assert_eq!(hits(&store, "words", None).await, Vec::<String>::new());
    assert!(
        !store.extractions.put(&extraction("c", 4, "s"), None).await.unwrap(),
        "of that project"
    );
    assert_eq!(store.notes.exclusions().await.unwrap().len(), 2);

    let note = note("n", 1, Caller::Person);
    assert_eq!(store.notes.add(&note).await.unwrap(), NoteOutcome::Stored);
    assert_eq!(store.notes.list().await.unwrap(), [note]);
    assert_eq!(store.notes.forget(&Exclusion::Note("n".into()), 9).await.unwrap(), 1);
    assert_eq!(store.notes.list().await.unwrap(), []);
}

fn note(id: &str, at_ms: i64, caller: Caller) -> NoteRow {
    let origin = Origin::of_caller(caller);
    NoteRow { note_id: id.into(), project: None, at_ms, text: "tabs".into(), origin }
}

#[tokio::test]
async fn only_the_person_can_confirm_another_note() {
    let (_temp, store) = Temp::opened().await;
    let (mine, theirs) = (note("a", 1, Caller::Person), note("b", 2, Caller::Agent));
    assert_eq!(store.notes.add(&mine).await.unwrap(), NoteOutcome::Stored);
    assert_eq!(store.notes.add(&theirs).await.unwrap(), NoteOutcome::Stored);
    let again = note("c", 3, Caller::Person);
    let confirm = async |id| store.notes.confirm(id, &again).await.unwrap();
    assert_eq!(confirm("a").await, NoteOutcome::NotThere, "it is already confirmed");
    assert_eq!(confirm("?").await, NoteOutcome::NotThere);
    assert_eq!(store.notes.list().await.unwrap(), [mine.clone(), theirs]);
    assert_eq!(confirm("b").await, NoteOutcome::Stored);
    assert_eq!(store.notes.list().await.unwrap(), [mine, again]);
}

#[tokio::test]
async fn notes_of_agents_displace_nothing_and_are_rejected_at_the_limit() {
    let (_temp, store) = Temp::opened().await;
    let mine = note("mine", 0, Caller::Person);
    assert_eq!(store.notes.add(&mine).await.unwrap(), NoteOutcome::Stored);
    for n in 0..CLAIMS_MAX {
        let claim = note(&format!("n{n:04}"), n.into(), Caller::Agent);
        assert_eq!(store.notes.add(&claim).await.unwrap(), NoteOutcome::Stored);
    }
    let one_more = note("one more", i64::MAX, Caller::Agent);
    let full = NoteOutcome::Full { max: CLAIMS_MAX };
    assert_eq!(store.notes.add(&one_more).await.unwrap(), full);
    let notes = store.notes.list().await.unwrap();
    assert_eq!(notes.len(), 1 + CLAIMS_MAX as usize);
    assert!(notes.contains(&mine) && notes.iter().any(|note| note.note_id == "n0000"));
    assert!(!notes.contains(&one_more));
}

#[tokio::test]
async fn only_the_next_generation_is_accepted() {
    let (_temp, store) = Temp::opened().await;
    assert!(publish(&store, 1, &[]).await);
    assert!(!publish(&store, 1, &[]).await, "this generation exists");
    assert!(!publish(&store, 3, &[]).await, "its predecessor is not current");
    assert!(publish(&store, 2, &[]).await);
    assert!(publish(&store, 3, &[]).await);
    let kept = store.generations.newest().await.unwrap();
    let numbers: Vec<u64> = kept.iter().map(|generation| generation.generation).collect();
    assert_eq!(numbers, [3, 2]);
    assert_eq!(kept[1].found.as_ref().unwrap()["MEMORY.md"], "edited");
    store.generations.purge(3).await.unwrap();
    assert_eq!(store.generations.newest().await.unwrap().len(), 1);
}

#[tokio::test]
async fn passages_are_found_in_any_language_and_by_project() {
    let (_temp, store) = Temp::opened().await;
    let of_none = |text: &str| Passage { project: None, thread_id: None, ..passage("x", text) };
    let unknown = of_none("deploy by hand");
    let everywhere = Passage { path: "MEMORY.md".into(), ..of_none("用中文写提交信息") };
    publish(&store, 1, &[passage("a", "run `cargo nextest` first"), everywhere, unknown]).await;
    assert_eq!(hits(&store, "deploy", None).await.len(), 1);
    assert_eq!(hits(&store, "deploy", Some(&[])).await.len(), 0, "of a project nobody knows");
    assert_eq!(hits(&store, "nextest", None).await.len(), 1);
    assert_eq!(hits(&store, "提交", Some(&[])).await.len(), 1);
    assert_eq!(hits(&store, "nextest", Some(&[])).await.len(), 0, "of another project");
    assert_eq!(hits(&store, "nextest", Some(&["/w/app".into()])).await.len(), 1);
    publish(&store, 2, &[]).await;
    assert_eq!(hits(&store, "nextest", None).await.len(), 0, "only the current generation");
}

#[tokio::test]
async fn an_extraction_without_a_model_does_not_replace_a_models() {
    let (_temp, store) = Temp::opened().await;
    let by = |engine, reason: Option<&str>, next_seq, summary| {
        let reason = reason.map(str::to_owned);
        ExtractionRow { engine, reason, ..extraction("t", next_seq, summary) }
    };
    assert!(store.extractions.put(&by(Engine::Model, None, 9, "read"), None).await.unwrap());
    let instead = by(Engine::Deterministic, Some("rate_limited"), 9, "instead");
    assert!(!store.extractions.put(&instead, None).await.unwrap());
    assert_eq!(store.extractions.watermarks().await.unwrap()[0].engine, Engine::Model);
    let further = by(Engine::Deterministic, Some("rate_limited"), 10, "further");
    assert!(
        store.extractions.put(&further, None).await.unwrap(),
        "new lines are extracted by any engine"
    );
    assert!(store.extractions.put(&by(Engine::Model, None, 10, "read"), None).await.unwrap());
    let row = store.extractions.get("t").await.unwrap().unwrap();
    assert_eq!((row.engine, row.reason), (Engine::Model, None));
}

#[tokio::test]
async fn the_agents_baseline_survives_failures_but_not_a_purge() {
    let (_temp, store) = Temp::opened().await;
    assert_eq!(store.curation.get().await.unwrap(), None);
    let run = |baseline: Option<&str>, outcome: &str| AgentRow {
        baseline: baseline.map(str::to_owned),
        outcome: outcome.to_owned(),
        ..AgentRow::default()
    };
    let fence = claimed(&store).await;
    store.curation.put(&run(Some("{}"), "published"), &fence).await.unwrap();
    store.curation.put(&run(None, "timeout"), &fence).await.unwrap();
    let row = store.curation.get().await.unwrap().unwrap();
    assert_eq!((row.baseline.as_deref(), row.outcome.as_str()), (Some("{}"), "timeout"));
    store.curation.purge().await.unwrap();
    assert_eq!(store.curation.get().await.unwrap().unwrap().baseline, None);
}

#[tokio::test]
async fn a_run_that_lost_its_job_stores_nothing() {
    let (_temp, store) = Temp::opened().await;
    let fence = claimed(&store).await;
    let lease_ms = Rules::default().lease_ms;
    let late = Fence { now: at(2 + lease_ms), ..fence.clone() };
    let mut other = fence.clone();
    other.token.epoch += 1;
    for fence in [&late, &other] {
        let run = AgentRow { baseline: Some("{}".to_owned()), ..AgentRow::default() };
        let refused = [
            store.extractions.put(&extraction("t", 9, "new"), Some(fence)).await.unwrap_err(),
            publish_as(&store, 1, &[passage("t", "words")], Some(fence)).await.unwrap_err(),
            store.curation.put(&run, fence).await.unwrap_err(),
        ];
        assert!(refused.iter().all(|error| matches!(error, StoreError::Fenced(_))), "{refused:?}");
    }
    assert!(store.extractions.watermarks().await.unwrap().is_empty());
    assert!(store.generations.newest().await.unwrap().is_empty());
    assert_eq!(store.curation.get().await.unwrap(), None);
    assert!(hits(&store, "words", None).await.is_empty());
    assert!(publish_as(&store, 1, &[], Some(&fence)).await.unwrap(), "the owner publishes");
}

#[tokio::test]
async fn a_new_store_takes_over_what_the_folder_kept_but_no_note_that_a_newer_generation_forgot() {
    let (_temp, store) = Temp::opened().await;
    let note = |id: &str| NoteRow {
        note_id: id.to_owned(),
        project: None,
        at_ms: 1,
        text: id.to_owned(),
        origin: Origin::of_edit(),
    };
    let generation = |number| generation(number, "mine");
    let out = [Exclusion::Entry("e".to_owned()), Exclusion::Thread("t".to_owned())];
    assert!(!store.generations.knows_folder().await.unwrap());
    let added = store.generations.take_over(&generation(7), &[note("a")], &out[..1]).await.unwrap();
    assert_eq!(added, 3);
    assert!(store.generations.knows_folder().await.unwrap());
    assert_eq!(store.generations.newest().await.unwrap(), [generation(7)]);
    let older = store.generations.take_over(&generation(6), &[note("b")], &out).await.unwrap();
    assert_eq!(older, 1, "only the exclusion");
    assert_eq!(store.notes.list().await.unwrap(), [note("a")]);
    assert_eq!(store.notes.exclusions().await.unwrap(), out);
    assert!(publish(&store, 8, &[]).await, "on top of it");

    let (_temp, other) = Temp::opened().await;
    assert!(publish(&other, 1, &[]).await && other.generations.knows_folder().await.unwrap());
}
