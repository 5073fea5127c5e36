//! Data that exists only in the store is salvaged from a damaged database as far as it is readable.

use std::fs;
use std::path::Path;

use longhaul_core::job::{JobKey, Kind};
use longhaul_core::memory::Origin;
use longhaul_store::{
    CompactionRow, Exclusion, NewGeneration, NoteOutcome, NoteRow, Store, UsageRow,
};

use crate::sample::{self, Temp, ask, file, file_count, generation, request, update};

const PAGE: usize = 4_096;

pub fn compaction(n: u32) -> (CompactionRow, Vec<u8>) {
    let row = sample::compaction(&format!("cmp_{n:04}"), Some(&format!("t{}", n % 7)));
    let row = CompactionRow { created_at_ms: i64::from(n), ..row };
    let result = format!("{{\"id\":\"cmp_{n:04}\",\"view\":\"{}\"}}", "x".repeat(700));
    (row, result.into_bytes())
}

/// A database with 300 updates and 300 compactions, between rows of transcripts.
async fn filled() -> Temp {
    let (temp, store) = Temp::opened().await;
    for n in 0..300_u32 {
        let body = format!("{{\"kind\":\"decision\",\"n\":{n},\"text\":\"{}\"}}", "y".repeat(300));
        store.updates.insert(&format!("t{n}"), 0, &update(&body)).await.unwrap();
        let (row, result) = compaction(n);
        store.compactions.insert(&row, &result, None).await.unwrap();
        if n % 10 == 0 {
            let given = file(&format!("/{n}"), &format!("t{n}"), i64::from(n), 200);
            store.projection.commit(&[given]).await.unwrap();
        }
    }
    store.database.close().await;
    temp
}

/// Overwrites every `nth` page that contains `needle`.
fn damage(path: &Path, needle: &[u8], nth: usize) -> usize {
    let mut bytes = fs::read(path).unwrap();
    let holds = |page: &&mut [u8]| page.windows(needle.len()).any(|window| window == needle);
    // Skip the first such page: it is the root of the table now, with bytes left from its time as a leaf.
    let pages = bytes.chunks_mut(PAGE).skip(1).filter(holds).skip(1).step_by(nth);
    let damaged = pages.map(|page| page.fill(0xa5)).count();
    fs::write(path, bytes).unwrap();
    damaged
}

async fn updates(store: &Store) -> usize {
    let mut found = 0;
    for n in 0..300 {
        for update in store.updates.of_thread(&format!("t{n}")).await.unwrap() {
            assert!(update.body.contains(&format!("\"n\":{n},")), "{update:?}");
            found += 1;
        }
    }
    found
}

#[tokio::test]
async fn the_readable_part_of_a_damaged_database_is_salvaged() {
    let temp = filled().await;
    assert!(damage(&temp.path(), b"\"kind\":\"decision\"", 4) > 3);
    assert!(damage(&temp.path(), b"\"view\":", 5) > 3);
    let damaged = fs::read(temp.path()).unwrap();
    let (store, opened) = Store::open(&temp.path(), 77).await.unwrap();
    let salvaged = opened.salvaged.unwrap();
    assert_eq!(Some(&salvaged.from), opened.moved_aside.as_ref());
    assert!(!salvaged.complete);
    assert!((150..300).contains(&salvaged.updates), "{salvaged:?}");
    assert!((150..300).contains(&salvaged.compactions), "{salvaged:?}");
    assert_eq!(updates(&store).await as u64, salvaged.updates);
    let totals = store.compactions.totals().await.unwrap();
    assert_eq!((totals.compactions, file_count(&store).await), (salvaged.compactions, 0));
    let mut whole = 0;
    for n in 0..300 {
        let (row, result) = compaction(n);
        if let Some(found) = store.compactions.get(&row.compaction_id).await.unwrap() {
            assert_eq!(found, (row, result));
            whole += 1;
        }
    }
    assert_eq!(whole, salvaged.compactions);
    assert_eq!(fs::read(&salvaged.from).unwrap(), damaged, "the damaged file is only read");
    assert_eq!(store.database.rebuilt().unwrap().salvaged, Some(salvaged));
    // New updates get new numbers.
    assert!(store.updates.insert("new", 0, &update("{}")).await.unwrap().unwrap() > 200);
    store.database.close().await;
    let (store, opened) = Store::open(&temp.path(), 78).await.unwrap();
    assert_eq!((opened.salvaged, store.database.rebuilt()), (None, None), "salvaged only once");
}

/// Usage on one of 300 days for one of two purposes.
fn spent(n: i64) -> UsageRow {
    UsageRow {
        day: n % 300,
        provider: "p".into(),
        model: format!("m{}", "x".repeat(80)),
        purpose: if n < 300 { "compaction" } else { "extract" }.into(),
        requests: 3,
        ..UsageRow::default()
    }
}

#[tokio::test]
async fn usage_and_jobs_are_salvaged() {
    let temp = filled().await;
    let (store, _) = temp.open().await;
    for n in 0..600 {
        store.models.usage_add(&spent(n)).await.unwrap();
    }
    let key = |n: u32| JobKey { kind: Kind::Extract, subject: format!("t{n:04}") };
    for n in 0..600 {
        ask(&store, request(&key(n), &"i".repeat(60))).await.unwrap();
    }
    store.database.close().await;
    let whole = fs::read(temp.path()).unwrap();
    fs::rename(temp.path(), temp.path().with_extension("db.corrupt-5")).unwrap();
    let (store, opened) = temp.open().await;
    let salvaged = opened.salvaged.unwrap();
    assert_eq!((salvaged.usage, salvaged.jobs, salvaged.complete), (600, 600, true));
    assert_eq!(store.models.usage_since(299).await.unwrap(), [spent(299), spent(599)]);
    assert_eq!(store.jobs.get(&key(7)).await.unwrap().unwrap().key, key(7));
    store.database.close().await;
    // With one damaged page per table, the rows on both sides are salvaged.
    fs::write(temp.path(), &whole).unwrap();
    let cut = |bytes: &[u8], needle: &[u8]| {
        let pages = bytes.chunks(PAGE).enumerate().skip(1);
        let holds = |page: &[u8]| page.windows(needle.len()).any(|window| window == needle);
        pages.filter(|(_, page)| holds(page)).map(|(at, _)| at).collect::<Vec<_>>()
    };
    let mut bytes = whole;
    for needle in ["m".to_owned() + &"x".repeat(80), "i".repeat(60)] {
        let pages = cut(&bytes, needle.as_bytes());
        let middle = pages[pages.len() / 2] * PAGE;
        bytes[middle..middle + PAGE].fill(0xa5);
    }
    fs::write(temp.path(), bytes).unwrap();
    let (store, opened) = Store::open(&temp.path(), 88).await.unwrap();
    let salvaged = opened.salvaged.unwrap();
    assert!(!salvaged.complete, "{salvaged:?}");
    assert!((400..600).contains(&salvaged.usage), "{salvaged:?}");
    assert!((400..600).contains(&salvaged.jobs), "{salvaged:?}");
    assert_eq!(store.models.usage_since(299).await.unwrap(), [spent(299), spent(599)]);
}

#[tokio::test]
async fn a_salvage_that_was_killed_is_repeated_at_the_next_start() {
    let temp = filled().await;
    // Killed right after the file was moved aside.
    fs::rename(temp.path(), temp.path().with_extension("db.corrupt-5")).unwrap();
    let (store, opened) = temp.open().await;
    assert!(opened.created && opened.moved_aside.is_none());
    let salvaged = opened.salvaged.unwrap();
    assert_eq!((salvaged.updates, salvaged.compactions, salvaged.complete), (300, 300, true));
    assert_eq!(store.database.rebuilt().unwrap().moved_to, salvaged.from);
}

#[tokio::test]
async fn rows_in_the_log_are_salvaged_from_a_running_database() {
    let temp = filled().await;
    let (store, _) = temp.open().await;
    let (row, result) = compaction(999);
    store.compactions.insert(&row, &result, None).await.unwrap();
    damage(&temp.path(), b"step ", 1);
    let moved = store.database.recover(6).await.unwrap().unwrap();
    let rebuilt = store.database.rebuilt().unwrap();
    assert_eq!(rebuilt.moved_to, moved);
    assert_eq!(rebuilt.salvaged.unwrap().compactions, 301);
    assert!(store.compactions.get("cmp_0999").await.unwrap().is_some());
}

#[tokio::test]
async fn a_clock_that_was_set_back_does_not_bring_an_earlier_database_back() {
    let temp = filled().await;
    // Moved aside by a clock that was ahead.
    fs::copy(temp.path(), temp.path().with_extension("db.corrupt-9000")).unwrap();
    let (store, _) = temp.open().await;
    let (row, result) = compaction(999);
    store.compactions.insert(&row, &result, None).await.unwrap();
    damage(&temp.path(), b"step ", 1);
    let moved = store.database.recover(6).await.unwrap().unwrap();
    assert_eq!(store.database.rebuilt().unwrap().salvaged.unwrap().from, moved);
    assert!(store.compactions.get("cmp_0999").await.unwrap().is_some());
}

#[tokio::test]
async fn a_file_that_is_not_a_database_yields_nothing_and_is_replaced() {
    let temp = Temp::new();
    fs::write(temp.path(), "hello\n".repeat(1_000)).unwrap();
    let (store, opened) = temp.open().await;
    let salvaged = opened.salvaged.unwrap();
    assert_eq!((salvaged.updates, salvaged.compactions, salvaged.complete), (0, 0, false));
    assert_eq!(file_count(&store).await, 0);
}

#[tokio::test]
async fn memory_that_a_person_wrote_survives_damage() {
    let temp = filled().await;
    let (store, _) = temp.open().await;
    let note = |n: i64| NoteRow {
        note_id: format!("note_{n}"),
        project: (n % 2 == 0).then(|| "/w/app".to_owned()),
        at_ms: n,
        text: format!("remember {n}"),
        origin: if n % 3 == 0 { Origin::AGENT } else { Origin::CLIENT },
    };
    for n in 0..20 {
        assert_eq!(store.notes.add(&note(n)).await.unwrap(), NoteOutcome::Stored);
    }
    let forgotten = [
        Exclusion::Thread("t1".to_owned()),
        Exclusion::Project("/w/secret".to_owned()),
        Exclusion::Entry("0a1b2c".to_owned()),
    ];
    for what in &forgotten {
        store.notes.forget(what, 5).await.unwrap();
    }
    let generation = generation(1, "# Memory\n");
    let found = &generation.files;
    let new = NewGeneration { generation: &generation, found, passages: &[], fence: None };
    assert!(store.generations.put(new).await.unwrap());
    store.database.close().await;
    // Damaged pages of transcripts make the whole database move aside.
    assert!(damage(&temp.path(), b"step ", 1) > 0);
    let (store, _) = temp.open().await;
    let moved = match store.database.rebuilt() {
        Some(rebuilt) => rebuilt,
        None => {
            store.database.recover(9).await.unwrap().unwrap();
            store.database.rebuilt().unwrap()
        }
    };
    let salvaged = moved.salvaged.unwrap();
    assert_eq!((salvaged.memory, salvaged.complete), (23, true), "{salvaged:?}");
    let notes = store.notes.list().await.unwrap();
    assert_eq!(notes.len(), 20);
    assert!(notes.contains(&note(7)));
    let mut kept = store.notes.exclusions().await.unwrap();
    kept.sort();
    assert_eq!(kept, forgotten);
    assert_eq!(store.generations.newest().await.unwrap(), [generation], "with the person's edits");
}
