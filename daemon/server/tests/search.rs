//! Search and the item index over the socket, on a whole daemon.

use std::fs;
use std::path::Path;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::history::{Expand, ExpandParams};
use longhaul_protocol::thread::{
    IndexState, Items, ItemsParams, ItemsResult, Search, SearchParams, SearchResult,
};

use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, Process, found, until};

fn id(number: u32) -> String {
    format!("019cadd3-0000-7000-8000-{number:012}")
}

fn of(query: &str) -> SearchParams {
    SearchParams { query: query.into(), ..Default::default() }
}

async fn search(client: &mut Client, params: SearchParams) -> SearchResult {
    client.call::<Search>(params).await.unwrap()
}

async fn texts(client: &mut Client, params: SearchParams) -> Vec<String> {
    search(client, params).await.hits.into_iter().map(|hit| hit.text).collect()
}

/// A session about a lock.
fn alpha() -> Rollout {
    let mut rollout = Rollout::new(&id(1), Path::new("/home/dev/alpha"));
    rollout.message("user", "Fix the deadlock in src/lock_table.rs, please.");
    rollout.command("rg -n acquireLock src", 0, "src/lock_table.rs:7: fn acquireLock()\n");
    rollout.message("assistant", "The deadlock came from acquireLock: 全文检索 is not to blame.");
    rollout
}

#[tokio::test]
async fn a_hit_names_its_place_and_its_handle_expands_to_the_item() {
    let home = tempfile::tempdir().unwrap();
    alpha().write(home.path());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    client.indexed(4..).await;

    let result = search(&mut client, SearchParams { limit: Some(5), ..of("deadlock") }).await;
    assert_eq!(result.hits.len(), 2, "{result:?}");
    let first = &result.hits[0];
    assert_eq!((first.kind.as_str(), first.seq), ("user_message", 1), "{first:?}");
    assert_eq!((first.line_start, first.line_end), (Some(2), Some(2)));
    assert_eq!((first.thread_id.as_str(), first.source.as_str()), (id(1).as_str(), "codex"));
    assert_eq!(first.title.as_deref(), Some("Fix the deadlock in src/lock_table.rs, please."));
    assert_eq!(first.cwd.as_deref(), Some("/home/dev/alpha"));
    assert!(first.score >= result.hits[1].score, "the best comes first: {result:?}");
    let [from, to] = first.matches[0].map(|at| usize::try_from(at).unwrap());
    assert_eq!(&first.text[from..to], "deadlock");
    let expand = ExpandParams { handle: first.handle.clone(), ..Default::default() };
    let expanded = client.call::<Expand>(expand).await.unwrap();
    assert_eq!((expanded.byte_range, &expanded.path), (first.byte_range, &first.path));

    for (query, found) in [
        ("lock_table.rs", 2),
        ("\"lock table\"", 2),
        ("acquirelock", 3),
        ("acquire", 3),
        ("src/lock_table.rs NOT fn", 1),
        ("检索", 1),
        ("absent OR 全文", 1),
        ("deadl*", 2),
        ("exec_command", 1),
    ] {
        let hits = search(&mut client, of(query)).await.hits;
        assert_eq!(hits.len(), found, "{query}: {hits:?}");
    }
    for query in ["NOT deadlock", "(((\""] {
        let refused = client.call::<Search>(of(query)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::QueryInvalid);
    }
    let sound = SearchParams { kinds: Some(vec!["sound".into()]), ..of("x") };
    let refused = client.call::<Search>(sound).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidParams);
}

/// Text that hooks and compactions of the daemon add to a session, as Codex and Claude Code record it.
#[tokio::test]
async fn text_that_the_daemon_gave_an_agent_is_not_found() {
    let home = tempfile::tempdir().unwrap();
    let context = "<longhaul_context about=\"resume\">\nThe turbine rule: never oil the turbine.\n</longhaul_context>";
    let memory = "<longhaul_memory>\nThe turbine likes grease.\n</longhaul_memory>";
    let view = "[SESSION_CHECKPOINT v1]\n[TASK]\n#1 Repair the turbine.";
    let mut rollout = Rollout::new(&id(1), Path::new("/home/dev/alpha"));
    rollout.message("developer", context).message("user", view);
    rollout.message("user", &format!("{memory}\nRepair the turbine."));
    rollout.command("longhaul checkpoint show", 0, "ok\n");
    rollout.message("assistant", "The turbine turns.");
    rollout.compacted(&[crate::support::message("user", view)]);
    rollout.write(home.path());

    let session = "5b1f0a52-7a51-4d0c-9d55-0a6f3c1d2e01";
    let lines = [
        serde_json::json!({"type": "attachment", "attachment": {"type": "hook_additional_context",
            "hookEvent": "SessionStart", "content": [context]}}),
        serde_json::json!({"type": "user", "message": {"role": "user", "content": view}}),
        serde_json::json!({"type": "user", "message": {"role": "user", "content": "Clean the turbine."}}),
    ];
    let lines = lines.iter().enumerate().map(|(number, body)| {
        let mut line = serde_json::json!({
            "parentUuid": (number > 0).then(|| format!("u{}", number - 1)), "isSidechain": false,
            "sessionId": session, "cwd": "/w", "version": "2.1.0", "uuid": format!("u{number}"),
            "timestamp": format!("2026-01-02T03:04:{number:02}.000Z"),
        });
        line.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        format!("{line}\n")
    });
    let folder = home.path().join(".claude/projects/-w");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{session}.jsonl")), lines.collect::<String>()).unwrap();

    let (_daemon, mut client) = Daemon::synced(home, "", session).await;
    client.indexed(5..).await;
    let mut found = texts(&mut client, of("turbine")).await;
    found.sort_unstable();
    assert_eq!(found, ["Clean the turbine.", "Repair the turbine.", "The turbine turns."]);
    for query in ["grease", "oil", "\"SESSION_CHECKPOINT\""] {
        assert_eq!(texts(&mut client, of(query)).await, [""; 0], "{query}");
    }
}

#[tokio::test]
async fn filters_narrow_a_search() {
    let home = tempfile::tempdir().unwrap();
    alpha().write(home.path());
    let mut beta = Rollout::new(&id(2), Path::new("/home/dev/beta"));
    beta.message("user", "Another deadlock, in beta.");
    beta.write(home.path());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    client.indexed(5..).await;
    let day = 24 * 3_600 * 1_000_i64;
    let written = 1_772_442_900_000_i64;
    for (params, found) in [
        (of("deadlock"), 3),
        (SearchParams { cwd: Some("/home/dev/beta".into()), ..of("deadlock") }, 1),
        (SearchParams { cwd: Some("/home/dev".into()), ..of("deadlock") }, 0),
        (SearchParams { thread_id: Some(id(1)), ..of("deadlock") }, 2),
        (SearchParams { source: Some("claude".into()), ..of("deadlock") }, 0),
        (SearchParams { kinds: Some(vec!["user_message".into()]), ..of("deadlock") }, 2),
        (
            SearchParams {
                since: Some(written - day),
                until: Some(written + day),
                ..of("deadlock")
            },
            3,
        ),
        (SearchParams { since: Some(written + day), ..of("deadlock") }, 0),
        (SearchParams { limit: Some(1), ..of("deadlock") }, 1),
        (SearchParams { max_tokens: Some(1), ..of("deadlock") }, 0),
    ] {
        assert_eq!(texts(&mut client, params.clone()).await.len(), found, "{params:?}");
    }
}

#[tokio::test]
async fn copies_are_found_once_and_secrets_not_at_all() {
    let home = tempfile::tempdir().unwrap();
    let secret = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let mut rollout = alpha();
    rollout.message("user", &format!("my token is {secret}, keep the zebra safe"));
    rollout.write(home.path());
    // A fork copies its parent's lines with new times.
    let mut fork = Rollout::new(&id(3), Path::new("/home/dev/alpha"));
    fork.message("assistant", "something before, so that times differ");
    fork.message("user", "Fix the deadlock in src/lock_table.rs, please.");
    fork.write(home.path());
    // In addition, an archived copy of the same thread.
    let archived = home.path().join(".codex/archived_sessions");
    fs::create_dir_all(&archived).unwrap();
    let path = rollout.write(home.path());
    fs::copy(&path, archived.join(path.file_name().unwrap())).unwrap();
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    client.indexed(7..).await;

    let result = search(&mut client, of("\"fix the deadlock\"")).await;
    assert_eq!(result.hits.len(), 1, "{result:?}");
    assert!(result.hits[0].copies >= 1, "{result:?}");
    assert!(texts(&mut client, of(secret)).await.is_empty());
    let shown = texts(&mut client, of("zebra")).await;
    assert!(shown[0].contains("REDACTED") && !shown[0].contains("ghp_"), "{shown:?}");
}

#[tokio::test]
async fn a_question_finds_items_with_some_of_its_words_after_those_with_all() {
    let home = tempfile::tempdir().unwrap();
    alpha().write(home.path());
    let mut fork = Rollout::new(&id(3), Path::new("/home/dev/alpha"));
    fork.message("assistant", "something before, so that times differ");
    fork.message("user", "Fix the deadlock in src/lock_table.rs, please.");
    fork.message("assistant", "The lock table is fixed; the benchmark of deadlocks comes next.");
    fork.write(home.path());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    client.indexed(7..).await;

    let asked = "please fix deadlock lock_table";
    let found = texts(&mut client, of(asked)).await;
    let all_words = found.iter().filter(|text| text.contains("please"));
    assert_eq!(all_words.count(), 1, "the fork's copy is the same hit: {found:?}");
    assert!(found[0].contains("please"), "what has all words comes first: {found:?}");
    assert!(found.iter().any(|text| text.contains("benchmark")), "some of its words: {found:?}");
    let meant = texts(&mut client, of("please AND fix AND benchmark")).await;
    assert!(meant.is_empty(), "an operator keeps its meaning: {meant:?}");
}

#[tokio::test]
async fn rewritten_items_are_no_longer_found_and_added_ones_are() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = alpha();
    let path = rollout.write(home.path());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    client.indexed(4..).await;

    rollout.message("user", "and now the giraffe");
    let root = path.ancestors().nth(6).unwrap().to_owned();
    rollout.write(&root);
    client.sync(&id(1)).await;
    client.indexed(5..).await;
    assert_eq!(texts(&mut client, of("giraffe")).await.len(), 1);

    let mut other = Rollout::new(&id(1), Path::new("/home/dev/alpha"));
    other.message("user", "A different beginning with an okapi.");
    other.write(&root);
    client.sync(&id(1)).await;
    client.indexed(1..).await;
    assert_eq!(texts(&mut client, of("okapi")).await.len(), 1);
    assert!(texts(&mut client, of("giraffe OR deadlock")).await.is_empty());
}

#[tokio::test]
async fn a_compressed_session_takes_the_place_of_the_plain_one() {
    let home = tempfile::tempdir().unwrap();
    let path = alpha().write(home.path());
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    client.indexed(4..).await;

    let packed = zstd::encode_all(fs::read(&path).unwrap().as_slice(), 1).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(path.with_extension("jsonl.zst"), packed).unwrap();
    let packed = path.with_extension("jsonl.zst");
    client.sync_file(&packed).await;
    client.indexed(4..).await;
    let result = search(&mut client, of("deadlock please")).await;
    let [hit] = &result.hits[..] else { panic!("one hit: {result:?}") };
    assert_eq!((hit.path.as_str(), hit.copies), (packed.to_str().unwrap(), 0));
    assert_eq!(result.indexed.items, 4);
}

#[tokio::test]
async fn words_of_a_deleted_session_leave_the_index_unless_the_archive_has_it() {
    let home = tempfile::tempdir().unwrap();
    let path = alpha().write(home.path());
    let mut other = Rollout::new(&id(2), Path::new("/home/dev/beta"));
    other.message("user", "Write the printer.");
    other.write(home.path());
    let config = "[archive]\nenabled = false\n";
    let (_daemon, mut client) = Daemon::with_client(home, config).await;
    client.indexed(5..).await;
    fs::remove_file(path).unwrap();
    until("the other session alone", async || client.status().await.search.items == 1).await;
}

#[tokio::test]
async fn items_are_listed_from_a_line_or_from_the_end() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(&id(1), Path::new("/home/dev/alpha"));
    for number in 0..200 {
        rollout.message("user", &format!("request {number}"));
    }
    rollout.write(home.path());
    let (_daemon, mut client) = Daemon::synced(home, "", &id(1)).await;
    let all = || ItemsParams { thread_id: id(1), ..Default::default() };
    let mut items =
        async |params: ItemsParams| -> ItemsResult { client.call::<Items>(params).await.unwrap() };
    let (mut seen, mut from) = (Vec::new(), 0);
    loop {
        let page = items(ItemsParams { from_seq: Some(from), limit: Some(70), ..all() }).await;
        assert!(page.items.len() <= 70);
        seen.extend(page.items.into_iter().map(|row| row.excerpt));
        from = page.next_seq;
        if !page.more {
            break;
        }
    }
    let expected: Vec<String> = (0..200).map(|number| format!("request {number}")).collect();
    assert_eq!((seen, from), (expected, 201));
    let last = items(ItemsParams { last: Some(3), ..all() }).await;
    assert_eq!((last.items[0].excerpt.as_str(), last.items[0].seq), ("request 197", 198));
    assert_eq!((last.next_seq, last.more, last.items.len()), (201, false, 3));
    assert!(last.items[0].at > Some(1_700_000_000_000));
    assert_eq!(items(ItemsParams { from_seq: Some(201), ..all() }).await.items, []);
    let both = ItemsParams { from_seq: Some(1), last: Some(1), ..all() };
    let error = client.call::<Items>(both).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn a_killed_daemon_continues_indexing_where_it_stopped() {
    let home = tempfile::tempdir().unwrap();
    const SESSIONS: u32 = 60;
    for session in 0..SESSIONS {
        let mut rollout = Rollout::new(&id(session), Path::new("/home/dev/alpha"));
        for number in 0..40 {
            let filler = format!("filler{session}x{number} ").repeat(400);
            rollout.message("user", &format!("needle{session}x{number} common {filler}"));
        }
        rollout.write(home.path());
    }
    let mut seen = 0;
    let mut kills = 0;
    loop {
        let (process, mut client) = Process::with_client(home.path()).await;
        let (items, is_idle) = found("a batch is indexed", async || {
            let search = client.status().await.search;
            let is_idle = search.state == IndexState::Idle;
            (search.items > seen || is_idle).then_some((search.items, is_idle))
        })
        .await;
        assert!(items >= seen, "what was indexed is lost: {items} of {seen}");
        if is_idle && items >= u64::from(SESSIONS) * 40 {
            for session in [0, 31, SESSIONS - 1] {
                for number in [0, 39] {
                    let query = format!("needle{session}x{number}");
                    let hits = search(&mut client, of(&query)).await.hits;
                    let copies: Vec<u64> = hits.iter().map(|hit| hit.copies).collect();
                    assert_eq!(copies, [0], "{query} is indexed once");
                }
            }
            assert_eq!(items, u64::from(SESSIONS) * 40);
            process.stopped().await;
            break;
        }
        seen = items;
        kills += 1;
        process.killed().await;
    }
    assert!(kills >= 2, "it was never killed in between");
}
