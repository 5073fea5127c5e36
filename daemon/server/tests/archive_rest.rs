//! The idle archive: deletion by age, and checks for damage.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use longhaul_protocol::archive::{
    ArchiveList, ArchiveListParams, ArchivedThread, Overview, OverviewParams,
};
use longhaul_protocol::checkpoint::{ChoiceAction, Choose, ChooseParams, Unchoose, UnchooseParams};
use tempfile::TempDir;

use crate::archive::{
    THREAD, archived, archiving, folder, listed, long, lose, packs, says, verify,
};
use crate::archive_damage::flip;
use crate::support::{Client, Daemon, found, of_thread, soon, until};

const DAY_MS: i64 = 86_400_000;

fn numbered(number: u32) -> String {
    format!("019cadd3-0000-7000-8000-0000000002{number:02}")
}

/// Advances by `days`, and all timers by an hour: the archive's upkeep runs once an hour.
async fn days_later(daemon: &Daemon, days: i64) {
    daemon.clock.advance_ms(days * DAY_MS);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3_601)).await;
    tokio::time::resume();
}

/// Waits until the archive has these threads and no others.
async fn holds(client: &mut Client, expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|id| (*id).to_owned()).collect();
    until("the threads of the archive", async || {
        listed(client).await.into_iter().collect::<BTreeSet<_>>() == expected
    })
    .await;
}

async fn damaged(client: &mut Client) -> u64 {
    client.call::<Overview>(OverviewParams {}).await.unwrap().damaged
}

#[tokio::test]
async fn old_threads_are_deleted_unless_a_pin_or_a_receipt_names_them() {
    let home = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..4).map(numbered).collect();
    let [old, pinned, named, new] = [0, 1, 2, 3].map(|at| ids[at].as_str());
    let first = long(old, "boiler", 60).write(home.path());
    long(pinned, "piston", 60).write(home.path());
    long(named, "nozzle", 60).write(home.path());
    let (daemon, mut client) = Daemon::with_client(home, "[archive]\nmax_age_days = 30\n").await;
    for id in [old, pinned, named] {
        client.sync(id).await;
    }
    let text = Some("Never touch the piston's rings.".to_owned());
    let (action, handle) = (ChoiceAction::Pin, None);
    let pin = ChooseParams { thread_id: pinned.into(), action, text, handle };
    let pin = client.call::<Choose>(pin).await.unwrap().choice;
    client.compact(of_thread(named)).await;
    archived(&mut client).await;

    days_later(&daemon, 20).await;
    let mut client = daemon.connect().await;
    long(new, "governor", 60).write(daemon.home.path());
    client.sync(new).await;
    holds(&mut client, &ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert!(says(daemon.home.path(), "Repair the boiler."));

    // No transcript grows any more.
    archived(&mut client).await;
    days_later(&daemon, 11).await;
    let mut client = daemon.connect().await;
    holds(&mut client, &[pinned, named, new]).await;
    archived(&mut client).await;
    assert!(!says(daemon.home.path(), "Repair the boiler."), "in no byte");

    // A thread that continues is archived again; one that nothing refers to any more is deleted.
    let grown = fs::read_to_string(&first).unwrap();
    let last = grown.lines().last().unwrap();
    fs::write(&first, format!("{grown}{last}\n")).unwrap();
    client.sync(old).await;
    holds(&mut client, &ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let choice_id = pin.choice_id;
    client.call::<Unchoose>(UnchooseParams { thread_id: pinned.into(), choice_id }).await.unwrap();
    archived(&mut client).await;
    days_later(&daemon, 0).await;
    let mut client = daemon.connect().await;
    holds(&mut client, &[old, named, new]).await;
    daemon.stopped().await;
}

#[tokio::test]
async fn an_interrupted_deletion_of_old_threads_is_finished_at_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let config = "[archive]\nmax_age_days = 30\n";
    let ids: Vec<String> = (0..2).map(numbered).collect();
    long(&ids[0], "boiler", 60).write(home.path());
    long(&ids[1], "piston", 60).write(home.path());
    // Archived in one pass, and so in one pack.
    let (daemon, mut client) = Daemon::synced(home, "[archive]\nenabled = false\n", &ids[0]).await;
    client.sync(&ids[1]).await;
    client.compact(of_thread(&ids[1])).await;
    let (daemon, mut client) = Daemon::with_client(daemon.stopped().await, config).await;
    archived(&mut client).await;
    // Reading a loop of links is an I/O error: the text cannot be removed from the pack.
    let found = packs(daemon.home.path());
    for pack in &found {
        fs::rename(pack, pack.with_extension("aside")).unwrap();
        std::os::unix::fs::symlink(pack, pack).unwrap();
    }
    days_later(&daemon, 31).await;
    let mut client = daemon.connect().await;
    holds(&mut client, &[&ids[1]]).await;
    let home = daemon.stopped().await;
    for pack in &found {
        fs::rename(pack.with_extension("aside"), pack).unwrap();
    }
    assert!(says(home.path(), "Repair the boiler."));

    let (daemon, mut client) = Daemon::with_client(home, config).await;
    archived(&mut client).await;
    assert!(!says(daemon.home.path(), "Repair the boiler."), "in no byte");
    assert!(says(daemon.home.path(), "Repair the piston."));
    holds(&mut client, &[&ids[1]]).await;
}

#[tokio::test]
async fn damage_at_rest_is_found_by_the_periodic_check_and_reported() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 60).write(home.path());
    let (daemon, _client) = archiving(home, THREAD).await;
    days_later(&daemon, 0).await;
    let mut client = daemon.connect().await;
    found("the first look at a new pack", async || {
        client.call::<Overview>(OverviewParams {}).await.unwrap().verified_at
    })
    .await;
    flip(&packs(daemon.home.path())[0]);
    let flipped = fs::read(&packs(daemon.home.path())[0]).unwrap();

    // A pack that was just checked is not read again for a month.
    days_later(&daemon, 29).await;
    let mut client = daemon.connect().await;
    archived(&mut client).await;
    assert_eq!(damaged(&mut client).await, 0);
    assert_eq!(fs::read(&packs(daemon.home.path())[0]).unwrap(), flipped);

    // The transcript exists, so its text is stored again.
    days_later(&daemon, 2).await;
    let mut client = daemon.connect().await;
    until("the damage's end", async || {
        let status = client.call::<Overview>(OverviewParams {}).await.unwrap();
        let packs = packs(daemon.home.path());
        status.damaged == 0 && packs.iter().all(|pack| fs::read(pack).unwrap() != flipped)
    })
    .await;
    archived(&mut client).await;
    let found = verify(&mut client).await;
    assert!(found.files > 0 && found.damaged == 0, "{found:?}");

    // The transcript is gone, so the text is nowhere else.
    lose(&mut client, THREAD, &path).await;
    for pack in packs(daemon.home.path()) {
        flip(&pack);
    }
    days_later(&daemon, 31).await;
    let mut client = daemon.connect().await;
    let reported = async { while damaged(&mut client).await == 0 {} };
    soon("word of the damage", reported).await;
    daemon.stopped().await;
}

const BOUND: &str = "[archive]\nmax_age_days = 30\n";

/// A thread whose transcript is gone, in the archive of a database of 40 days.
async fn archived_on_day_40() -> TempDir {
    let (daemon, mut client) = Daemon::with_client(tempfile::tempdir().unwrap(), BOUND).await;
    archived(&mut client).await;
    days_later(&daemon, 40).await;
    let mut client = daemon.connect().await;
    let path = long(THREAD, "turbine", 10).write(daemon.home.path());
    client.sync(THREAD).await;
    archived(&mut client).await;
    lose(&mut client, THREAD, &path).await;
    daemon.stopped().await
}

#[tokio::test]
async fn a_rebuilt_index_deletes_no_thread_for_an_age_that_it_lost() {
    let home = archived_on_day_40().await;
    let index = folder(home.path()).join("index.db");
    fs::remove_file(&index).unwrap();
    fs::remove_file(index.with_extension("db.seal")).ok();

    let (daemon, mut client) = Daemon::with_client(home, BOUND).await;
    archived(&mut client).await;
    holds(&mut client, &[THREAD]).await;
    days_later(&daemon, 29).await;
    let mut client = daemon.connect().await;
    archived(&mut client).await;
    holds(&mut client, &[THREAD]).await;
    days_later(&daemon, 2).await;
    let mut client = daemon.connect().await;
    holds(&mut client, &[]).await;
}

#[tokio::test]
async fn a_new_database_does_not_add_the_age_of_a_lost_one_to_the_bound() {
    let home = archived_on_day_40().await;
    for end in ["", "-wal", "-shm", ".seal"] {
        fs::remove_file(home.path().join(format!(".local/state/longhaul/longhaul.db{end}"))).ok();
    }

    let (daemon, mut client) = Daemon::with_client(home, BOUND).await;
    archived(&mut client).await;
    holds(&mut client, &[THREAD]).await;
    days_later(&daemon, 31).await;
    let mut client = daemon.connect().await;
    holds(&mut client, &[]).await;
}

async fn lost(client: &mut Client, words: Option<&str>) -> Vec<(String, String)> {
    let words = words.map(str::to_owned);
    let params = ArchiveListParams { gone: Some(true), words, ..Default::default() };
    let threads = client.call::<ArchiveList>(params).await.unwrap().threads;
    let of = |thread: ArchivedThread| (thread.thread_id, thread.title.unwrap_or_default());
    threads.into_iter().map(of).collect()
}

#[tokio::test]
async fn a_lost_thread_is_found_by_its_words_even_without_the_database() {
    let home = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..3).map(numbered).collect();
    let [boiler, piston, there] = [0, 1, 2].map(|at| ids[at].as_str());
    let words = [(boiler, "boiler"), (piston, "piston"), (there, "nozzle")];
    let paths = words.map(|(id, words)| long(id, words, 5).write(home.path()));
    let name =
        serde_json::json!({ "id": piston, "thread_name": "The cold ENGINE", "updated_at": "" });
    fs::write(home.path().join(".codex/session_index.jsonl"), format!("{name}\n")).unwrap();
    let mut daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    for id in [boiler, piston, there] {
        client.sync(id).await;
    }
    archived(&mut client).await;
    for (path, id) in paths.iter().zip([boiler, piston]) {
        lose(&mut client, id, path).await;
    }
    for is_lost in [false, true] {
        if is_lost {
            let home = daemon.stopped().await;
            let state = home.path().join(".local/state/longhaul");
            for name in ["longhaul.db", "longhaul.db.seal"] {
                fs::remove_file(state.join(name)).unwrap();
            }
            daemon = Daemon::over(home, "").await;
            client = daemon.connect().await;
            archived(&mut client).await;
        }
        let one = |id: &str, title: &str| vec![(id.to_owned(), title.to_owned())];
        assert_eq!(lost(&mut client, None).await.len(), 2, "{is_lost}");
        let named = lost(&mut client, Some("engine cold")).await;
        assert_eq!(named, one(piston, "The cold ENGINE"), "{is_lost}");
        let asked = lost(&mut client, Some("BOIL repair")).await;
        assert_eq!(asked, one(boiler, "Repair the boiler."), "{is_lost}");
        assert_eq!(lost(&mut client, Some("nozzle")).await, [], "its transcript exists");
        let params = ArchiveListParams {
            limit: Some(1),
            words: Some("nozzle".into()),
            ..Default::default()
        };
        let page = client.call::<ArchiveList>(params).await.unwrap();
        assert_eq!((page.threads.len(), page.next_cursor), (1, None), "{is_lost}");
    }
}
