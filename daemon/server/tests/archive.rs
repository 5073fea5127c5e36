//! Restoring and expanding from the archive when transcripts are gone or replaced.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use longhaul_protocol::ErrorKind;
use longhaul_protocol::archive::{
    ArchiveList, ArchiveListParams, ArchiveState, Forget, ForgetParams, Overview, OverviewParams,
    OverviewResult, Restore, RestoreParams, RestoredFile, Verify, VerifyParams, VerifyResult,
};
use longhaul_protocol::checkpoint::{ChoiceAction, Choose, ChooseParams};
use longhaul_protocol::history::{Expand, ExpandParams, HistoryGet, HistoryGetParams};
use longhaul_protocol::socket::of_agents;
use longhaul_protocol::thread::{Continue, ContinueParams, ThreadGet};
use longhaul_protocol::{memory, thread};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::rollout::Rollout;
use crate::support::{Chance, Client, Daemon, PATIENCE, github_token, of_thread, pause, text_at};

pub(crate) const THREAD: &str = "019cadd3-0000-7000-8000-0000000000e1";
pub(crate) const OTHER: &str = "019cadd3-0000-7000-8000-0000000000e2";

/// A thread of some hundred KiB with several chunks; `words` makes it different from others.
pub(crate) fn long(thread_id: &str, words: &str, rounds: u32) -> Rollout {
    let mut rollout = Rollout::new(thread_id, Path::new("/w/app"));
    add_rounds(&mut rollout, words, rounds);
    rollout
}

/// Text that hardly compresses.
pub(crate) fn noise(chance: &mut Chance, letters: u32) -> String {
    (0..letters).map(|_| char::from(b'a' + u8::try_from(chance.below(26)).unwrap())).collect()
}

/// A request, and `rounds` rounds of a command and an answer.
pub(crate) fn add_rounds(rollout: &mut Rollout, words: &str, rounds: u32) {
    rollout.message("user", &format!("Repair the {words}."));
    for round in 0..rounds {
        let printed =
            format!("{words} {round} {}\n", (round * 7_919).wrapping_mul(2_654_435_761)).repeat(20);
        rollout.command(&format!("cargo test {words}_{round}"), 0, &printed);
        rollout.message("assistant", &format!("Round {round} of the {words} is through."));
    }
}

/// Waits until everything ingested is archived.
pub(crate) async fn archived(client: &mut Client) -> OverviewResult {
    let mut last = None;
    let idle = async {
        loop {
            match client.call::<Overview>(OverviewParams {}).await {
                Ok(status) if status.state == ArchiveState::Idle => return status,
                Ok(status) => last = Some(status),
                Err(error) => assert_eq!(error.kind(), ErrorKind::StoreBusy, "{error:?}"),
            }
            pause().await;
        }
    };
    // Each step waits for the disk, which concurrent tests keep busy.
    match tokio::time::timeout(PATIENCE * 3, idle).await {
        Ok(status) => status,
        Err(_) => panic!("the archive is not up to date: {last:?}"),
    }
}

/// The threads of the archive, once its index is open.
pub(crate) async fn listed(client: &mut Client) -> Vec<String> {
    let threads = client.once_open::<ArchiveList>(ArchiveListParams::default()).await.threads;
    threads.into_iter().map(|thread| thread.thread_id).collect()
}

/// Waits until ingestion has noticed that a transcript is gone.
pub(crate) async fn noticed(client: &mut Client, thread_id: &str) {
    let params = thread::ThreadGetParams { thread_id: thread_id.into() };
    let gone = async {
        loop {
            let files = client.call::<ThreadGet>(params.clone()).await.unwrap().files;
            if files.iter().all(|file| file.gone) {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE * 3, gone).await.expect("the transcript is not found missing");
}

/// A daemon that has read this thread and archived all, and a client of it.
pub(crate) async fn archiving(home: TempDir, thread_id: &str) -> (Daemon, Client) {
    let (daemon, mut client) = Daemon::synced(home, "", thread_id).await;
    archived(&mut client).await;
    (daemon, client)
}

/// Deletes a transcript, waits until ingestion has noticed that, and returns what it contained.
pub(crate) async fn lose(client: &mut Client, thread_id: &str, path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    fs::remove_file(path).unwrap();
    noticed(client, thread_id).await;
    text
}

pub(crate) async fn history(
    client: &mut Client,
    thread_id: &str,
) -> (Vec<String>, bool, Vec<String>) {
    let params = HistoryGetParams { thread_id: thread_id.into(), ..Default::default() };
    let page = client.call::<HistoryGet>(params).await.unwrap();
    let items = page.items.iter().map(|item| item.get().to_owned()).collect();
    let handles = page.origins.into_iter().filter_map(|origin| origin.handle).collect();
    (items, page.from_archive, handles)
}

pub(crate) async fn expand(client: &mut Client, handle: &str) -> (Vec<String>, bool) {
    let params = ExpandParams { handle: handle.into(), ..Default::default() };
    let page = client.call::<Expand>(params).await.unwrap();
    (page.items.iter().map(|item| item.get().to_owned()).collect(), page.from_archive)
}

pub(crate) async fn restore(
    client: &mut Client,
    to: Option<&Path>,
) -> Result<longhaul_protocol::archive::RestoreResult, longhaul_protocol::WireError> {
    let to = to.map(|to| to.display().to_string());
    client.call::<Restore>(RestoreParams { thread_id: THREAD.into(), to }).await
}

/// A session in a format without lines: the error says why it cannot be restored, and what to do instead.
pub(crate) async fn not_put_back(daemon: &Daemon, (thread_id, path): (&str, &Path), content: &str) {
    let mut client = daemon.connect().await;
    noticed(&mut client, thread_id).await;
    let of = |to: Option<&Path>| {
        let to = to.map(|to| to.display().to_string());
        RestoreParams { thread_id: thread_id.into(), to }
    };
    let refused = client.call::<Restore>(of(None)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidParams);
    let helps = format!("longhaul continue {thread_id} --to codex");
    for words in ["did not keep this session in lines", &helps] {
        assert!(refused.message.contains(words), "{refused:?}");
    }
    assert!(!path.exists());
    let elsewhere = daemon.home.path().join("lines.jsonl");
    let restored = client.call::<Restore>(of(Some(&elsewhere))).await.unwrap();
    assert_eq!(restored.command, [""; 0], "its agent does not resume them");
    assert!(fs::read_to_string(&elsewhere).unwrap().contains(content));
    let to = Some("codex".to_owned());
    let params = ContinueParams { thread_id: thread_id.into(), to, ..Default::default() };
    let continued = client.call::<Continue>(params).await.unwrap();
    assert!(fs::read_to_string(continued.path).unwrap().contains(content));
}

pub(crate) async fn verify(client: &mut Client) -> VerifyResult {
    client.call::<Verify>(VerifyParams::default()).await.unwrap()
}

pub(crate) fn folder(home: &Path) -> PathBuf {
    home.join(".local/state/longhaul/archive")
}

pub(crate) fn packs(home: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder(home)).unwrap().map(|entry| entry.unwrap().path());
    let mut packs: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "pack")).collect();
    packs.sort();
    packs
}

/// Whether `words` occur in any file of the archive, compressed or not.
pub(crate) fn says(home: &Path, words: &str) -> bool {
    let found = fs::read_dir(folder(home)).unwrap().map(|entry| entry.unwrap().path());
    found.filter(|path| path.is_file()).any(|path| {
        let is_pack = path.extension().is_some_and(|end| end == "pack");
        holds(&fs::read(&path).unwrap(), words) || (is_pack && pack_says(&path, words))
    })
}

/// Whether `words` occur in the text or the description of a pack.
pub(crate) fn pack_says(path: &Path, words: &str) -> bool {
    let bytes = fs::read(path).unwrap();
    let text_bytes = usize::try_from(number(&bytes, bytes.len() - 24)).unwrap();
    let (text, description) = bytes[8..bytes.len() - 32].split_at(text_bytes);
    [text, description].iter().any(|frame| {
        let mut whole = Vec::new();
        let decoder = zstd::stream::read::Decoder::new(*frame).unwrap();
        decoder.single_frame().read_to_end(&mut whole).unwrap();
        holds(&whole, words)
    })
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn holds(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|part| part == words.as_bytes())
}

#[tokio::test]
async fn a_deleted_transcript_is_restored_and_its_thread_continues() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 300).write(home.path());
    let before = fs::read(&path).unwrap();
    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let status = archived(&mut client).await;
    assert_eq!((status.transcripts, status.text_bytes), (1, before.len() as u64));
    assert!(status.bytes < status.text_bytes, "{status:?}");
    let (items, from_archive, handles) = history(&mut client, THREAD).await;
    let receipt = client.compact(of_thread(THREAD)).await;
    let dropped: Vec<&String> = receipt.receipt.dropped.iter().map(|entry| &entry.handle).collect();
    assert!(!from_archive && !dropped.is_empty());
    let expanded = expand(&mut client, dropped[0]).await;
    assert!(!expanded.1, "the transcript exists");

    lose(&mut client, THREAD, &path).await;
    assert_eq!(history(&mut client, THREAD).await, (items, true, handles.clone()));
    assert_eq!(expand(&mut client, dropped[0]).await, (expanded.0, true));
    for handle in handles.iter().step_by(97) {
        let (items, from_archive) = expand(&mut client, handle).await;
        assert!(from_archive && !items.is_empty(), "{handle}");
    }
    // The earlier history of a thread is folded from the archive, too.
    let params =
        HistoryGetParams { thread_id: THREAD.into(), as_of: Some(20), ..Default::default() };
    assert!(client.call::<HistoryGet>(params).await.unwrap().from_archive);
    let again = client.compact(of_thread(THREAD)).await;
    assert_eq!(again.view, receipt.view);
    let params = ContinueParams { thread_id: THREAD.into(), ..Default::default() };
    let continued = client.call::<Continue>(params).await.unwrap();
    assert!(Path::new(&continued.path).exists());
    let listed = client
        .call::<ArchiveList>(ArchiveListParams { gone: Some(true), ..Default::default() })
        .await;
    assert_eq!(listed.unwrap().threads.len(), 1);

    let restored = restore(&mut client, None).await.unwrap();
    let (to, bytes) = (path.display().to_string(), before.len() as u64);
    assert_eq!(restored.files, [RestoredFile { path: to, bytes }]);
    assert_eq!(restored.command, ["codex", "resume", THREAD]);
    assert_eq!(fs::read(&path).unwrap(), before, "to the byte");
    client.sync_file(&path).await;
    assert!(!history(&mut client, THREAD).await.1, "it is read from its transcript again");
    let refused = restore(&mut client, None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FileExists);
    let elsewhere = path.with_file_name("elsewhere.txt");
    restore(&mut client, Some(&elsewhere)).await.unwrap();
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
}

#[tokio::test]
async fn of_eight_concurrent_restores_one_creates_the_file_and_foreign_hidden_files_stay() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 300).write(home.path());
    let before = fs::read(&path).unwrap();
    let (daemon, _client) = archiving(home, THREAD).await;
    fs::remove_file(&path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let beside = |end: &str| path.with_file_name(format!(".{name}{end}"));
    let [foreign, unfinished, link] = [".restored", ".0.new", ".1.new"].map(beside);
    let target = path.with_file_name("precious.txt");
    for file in [&foreign, &unfinished, &target] {
        fs::write(file, "precious").unwrap();
    }
    std::os::unix::fs::symlink(&target, &link).unwrap();
    for _ in 0..4 {
        let restores = (0..8).map(|_| async {
            let mut client = daemon.connect().await;
            restore(&mut client, None).await
        });
        let results = futures_util::future::join_all(restores).await;
        let refused = results.iter().filter_map(|result| result.as_ref().err());
        let refused: Vec<ErrorKind> = refused.map(|error| error.kind()).collect();
        assert_eq!(refused, [ErrorKind::FileExists; 7]);
        assert_eq!(fs::read(&path).unwrap(), before, "to the byte");
        fs::remove_file(&path).unwrap();
    }
    for file in [&foreign, &unfinished, &target] {
        assert_eq!(fs::read_to_string(file).unwrap(), "precious", "{}", file.display());
    }
    assert_eq!(fs::read_link(&link).unwrap(), target);
}

#[tokio::test]
async fn a_handle_of_a_rewritten_transcript_expands_to_the_original_items() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 20).write(home.path());
    let (daemon, mut client) = archiving(home, THREAD).await;
    let (_, _, handles) = history(&mut client, THREAD).await;
    let mut items = Vec::new();
    for handle in &handles[2..6] {
        items.push(expand(&mut client, handle).await.0);
    }
    long(THREAD, "compressor", 30).write(daemon.home.path());
    client.sync_file(&path).await;
    for (handle, before) in handles[2..6].iter().zip(&items) {
        assert_eq!(expand(&mut client, handle).await, (before.clone(), true));
    }
    archived(&mut client).await;
    assert_eq!(expand(&mut client, &handles[3]).await, (items[1].clone(), true));
    // The current lines belong to the thread and are archived as well.
    let (now, from_archive, _) = history(&mut client, THREAD).await;
    assert!(!from_archive && now.iter().any(|item| item.contains("compressor")));
    lose(&mut client, THREAD, &path).await;
    assert_eq!(history(&mut client, THREAD).await.0, now);
    // An agent gets the same lines, redacted, and nothing else from the archive.
    let mut agent = Client::connect(&of_agents(&daemon.socket)).await;
    let refused = agent.request("archive/status", json!({})).await;
    assert_eq!(refused.kind(), Some(ErrorKind::Forbidden));
}

#[tokio::test]
async fn copies_forks_and_compressed_transcripts_share_chunks() {
    let home = tempfile::tempdir().unwrap();
    let first = long(THREAD, "turbine", 120);
    let path = first.write(home.path());
    let mut fork = long(OTHER, "turbine", 120);
    fork.message("user", "And now the other way round.");
    fork.write(home.path());
    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    client.sync(OTHER).await;
    let status = archived(&mut client).await;
    assert_eq!(status.threads, 2);
    assert!(status.stored_text_bytes * 10 < status.text_bytes * 7, "{status:?}");
    // The agent compresses it; the text is the same.
    let text = fs::read(&path).unwrap();
    fs::write(path.with_extension("jsonl.zst"), zstd::encode_all(text.as_slice(), 3).unwrap())
        .unwrap();
    fs::remove_file(&path).unwrap();
    client.sync_file(&path.with_extension("jsonl.zst")).await;
    let packed = archived(&mut client).await;
    assert_eq!((packed.threads, packed.stored_text_bytes), (2, status.stored_text_bytes));
    fs::remove_file(path.with_extension("jsonl.zst")).unwrap();
    noticed(&mut client, THREAD).await;
    assert!(history(&mut client, THREAD).await.1);
    let restored = restore(&mut client, None).await.unwrap();
    assert_eq!(
        restored.files[0].path,
        path.display().to_string(),
        "not under the name of a compressed one"
    );
    assert_eq!(fs::read(&path).unwrap(), text);
}

#[tokio::test]
async fn a_growing_transcript_is_archived_as_it_grows_in_few_files() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = long(THREAD, "turbine", 3);
    let path = rollout.write(home.path());
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    for round in 0..10 {
        rollout.message("user", &format!("Step {round}. {}", "words ".repeat(1_000)));
        rollout.append(&path);
        client.sync_file(&path).await;
        archived(&mut client).await;
    }
    let whole = fs::read(&path).unwrap();
    let status = archived(&mut client).await;
    assert_eq!(status.text_bytes, whole.len() as u64);
    assert!(packs(daemon.home.path()).len() <= 8, "{:?}", packs(daemon.home.path()));
    fs::remove_file(&path).unwrap();
    restore(&mut client, None).await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[tokio::test]
async fn a_forgotten_thread_is_erased_and_not_archived_again() {
    for by_memory in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let mut rollout = long(THREAD, "turbine", 30);
        rollout.message("user", "The vault opens with quince-marmalade-77.");
        let path = rollout.write(home.path());
        long(OTHER, "compressor", 30).write(home.path());
        let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
        client.sync(OTHER).await;
        archived(&mut client).await;
        let home = daemon.home.path().to_owned();
        assert!(says(&home, "quince-marmalade-77"), "it is found at first");
        if by_memory {
            let params =
                memory::ForgetParams { thread_id: Some(THREAD.into()), ..Default::default() };
            client.call::<memory::Forget>(params).await.unwrap();
        } else {
            let params = ForgetParams { thread_id: THREAD.into() };
            assert!(client.call::<Forget>(params).await.unwrap().removed_bytes > 0);
        }
        for words in ["quince-marmalade-77", "turbine", THREAD] {
            assert!(!says(&home, words), "{words}");
        }
        assert_eq!(restore(&mut client, None).await.unwrap_err().kind(), ErrorKind::NotArchived);
        rollout.message("user", "It goes on.");
        rollout.append(&path);
        client.sync_file(&path).await;
        assert_eq!(archived(&mut client).await.threads, 1, "the other one");
        let home = daemon.stopped().await;
        let (daemon, mut client) = Daemon::with_client(home, "").await;
        assert_eq!(archived(&mut client).await.threads, 1, "after a start, too");
        assert!(!says(daemon.home.path(), "It goes on."));
    }
}

#[tokio::test]
async fn the_oldest_threads_are_evicted_first_and_those_with_receipts_and_pins_last() {
    let home = tempfile::tempdir().unwrap();
    let ids: Vec<String> =
        (0..6).map(|number| format!("019cadd3-0000-7000-8000-0000000001{number:02}")).collect();
    for (number, id) in ids.iter().enumerate() {
        let rollout = long(id, &format!("engine{number}"), 200);
        let path = rollout.write(home.path());
        // Each grew a day after the previous one.
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("2026-03-02T", &format!("2026-03-{:02}T", number + 2)))
            .unwrap();
    }
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    for id in &ids {
        client.sync(id).await;
    }
    client.compact(of_thread(&ids[0])).await;
    let pin = ChooseParams {
        thread_id: ids[1].clone(),
        action: ChoiceAction::Pin,
        text: Some("The engine1 is the one.".into()),
        handle: None,
    };
    client.call::<Choose>(pin).await.unwrap();
    let full = archived(&mut client).await;
    assert_eq!(full.threads, 6);
    let home = daemon.stopped().await;
    let bytes = |path: &Path| fs::metadata(path).unwrap().len();
    let in_packs: u64 = packs(home.path()).iter().map(|path| bytes(path)).sum();
    let bound = bytes(&folder(home.path()).join("index.db")) + in_packs * 2 / 3;
    let (daemon, mut client) =
        Daemon::with_client(home, &format!("[archive]\nmax_bytes = {bound}\n")).await;
    let kept = archived(&mut client).await;
    let listed = client.call::<ArchiveList>(ArchiveListParams::default()).await.unwrap().threads;
    let listed: Vec<&String> = listed.iter().map(|thread| &thread.thread_id).collect();
    assert!(listed.contains(&&ids[0]), "a receipt names it: {listed:?}");
    assert!(listed.contains(&&ids[1]), "a text of it is pinned: {listed:?}");
    assert!(listed.contains(&&ids[5]) && !listed.contains(&&ids[2]), "{listed:?}");
    assert!(kept.bytes <= bound, "{kept:?}");
    // Evicted threads are not archived again while they do not change.
    let home = daemon.stopped().await;
    let (_daemon, mut client) =
        Daemon::with_client(home, &format!("[archive]\nmax_bytes = {bound}\n")).await;
    assert_eq!(archived(&mut client).await.threads, kept.threads);
}

#[tokio::test]
async fn archived_text_is_redacted_if_configured_and_handles_still_work() {
    let secret = github_token();
    let home = tempfile::tempdir().unwrap();
    let mut rollout = long(THREAD, "turbine", 10);
    rollout.message("user", &format!("The token is {secret}, use it."));
    rollout.message("assistant", "Done with it.");
    let path = rollout.write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "[archive]\nredact = true\n", THREAD).await;
    assert!(archived(&mut client).await.redacts);
    assert!(!says(daemon.home.path(), &secret) && says(daemon.home.path(), "The token is"));
    let (items, _, handles) = history(&mut client, THREAD).await;
    lose(&mut client, THREAD, &path).await;
    let (now, from_archive, _) = history(&mut client, THREAD).await;
    assert!(from_archive && now.len() == items.len());
    let differing: Vec<usize> = (0..now.len()).filter(|at| now[*at] != items[*at]).collect();
    assert_eq!(differing.len(), 1, "the item with the secret: {differing:?}");
    assert!(now[differing[0]].contains("[REDACTED_SECRET]"));
    let last = expand(&mut client, handles.last().unwrap()).await;
    assert!(last.0[0].contains("Done with it."), "{last:?}");
    assert!(restore(&mut client, None).await.unwrap().redacted);
}

#[tokio::test]
async fn without_an_archive_a_missing_transcript_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 5).write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "[archive]\nenabled = false\n", THREAD).await;
    let (_, _, handles) = history(&mut client, THREAD).await;
    lose(&mut client, THREAD, &path).await;
    let status = client.once_open::<Overview>(OverviewParams {}).await;
    assert_eq!((status.state, status.transcripts), (ArchiveState::Off, 0));
    let answer = client.request("history/expand", json!({ "handle": handles[0] })).await;
    assert_eq!(answer.kind(), Some(ErrorKind::SourceChanged));
    assert_eq!(text_at(&json!({ "path": path }), "path"), path.to_str().unwrap());
    assert_eq!(Value::from(packs(daemon.home.path()).len()), 0);
}
