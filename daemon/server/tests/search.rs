//! Search and the item index over the socket, on a whole daemon.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, Process, kind, soon};

fn id(number: u32) -> String {
    format!("019cadd3-0000-7000-8000-{number:012}")
}

/// Waits until everything that is written is indexed.
async fn indexed(client: &mut Client, items: u64) {
    let poll = async {
        loop {
            let status = client.call("daemon/status", json!({})).await;
            let search = &status["result"]["search"];
            if search["state"] == "idle" && search["items"].as_u64() >= Some(items) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    soon("the index has everything", poll).await;
}

async fn search(client: &mut Client, params: Value) -> Value {
    let answer = client.call("thread/search", params).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

async fn texts(client: &mut Client, params: Value) -> Vec<String> {
    let result = search(client, params).await;
    let hits = result["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["text"].as_str().unwrap().to_owned()).collect()
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
async fn words_are_found_where_they_stand_with_the_way_back() {
    let home = tempfile::tempdir().unwrap();
    alpha().write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    indexed(&mut client, 4).await;

    let result = search(&mut client, json!({ "query": "deadlock", "limit": 5 })).await;
    let hits = result["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 2, "{result}");
    let first = &hits[0];
    assert_eq!((&first["kind"], &first["seq"]), (&json!("user_message"), &json!(1)), "{first}");
    assert_eq!((&first["line_start"], &first["line_end"]), (&json!(2), &json!(2)));
    assert_eq!(first["title"], "Fix the deadlock in src/lock_table.rs, please.");
    let [from, to] = [0, 1]
        .map(|end| first["matches"][0][end].as_u64().unwrap())
        .map(|at| usize::try_from(at).unwrap());
    assert_eq!(&first["text"].as_str().unwrap()[from..to], "deadlock");
    let expanded = client.call("history/expand", json!({ "handle": first["handle"] })).await;
    assert_eq!(expanded["result"]["byte_range"], first["byte_range"], "{expanded}");

    for (query, found) in [
        ("lock_table.rs", 2),
        ("\"lock table\"", 2),
        ("acquirelock", 3),
        ("acquire", 3),
        ("src/lock_table.rs NOT fn", 1),
        ("检索", 1),
        ("absent OR 全文", 1),
        ("deadl*", 2),
        ("(((\"", 0),
        ("exec_command", 1),
    ] {
        let answer = client.call("thread/search", json!({ "query": query })).await;
        let hits = answer["result"]["hits"].as_array().map_or(0, Vec::len);
        assert_eq!(hits, found, "{query}: {answer}");
    }
    let refused = client.call("thread/search", json!({ "query": "NOT deadlock" })).await;
    assert_eq!(kind(&refused), "query_invalid");
    let refused = client.call("thread/search", json!({ "query": "x", "kinds": ["sound"] })).await;
    assert_eq!(kind(&refused), "invalid_params");
}

#[tokio::test]
async fn filters_bound_what_is_found() {
    let home = tempfile::tempdir().unwrap();
    alpha().write(home.path());
    let mut beta = Rollout::new(&id(2), Path::new("/home/dev/beta"));
    beta.message("user", "Another deadlock, in beta.");
    beta.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    indexed(&mut client, 5).await;
    let day = 24 * 3_600 * 1_000_i64;
    let written = 1_772_442_900_000_i64;
    for (params, found) in [
        (json!({ "query": "deadlock" }), 3),
        (json!({ "query": "deadlock", "cwd": "/home/dev/beta" }), 1),
        (json!({ "query": "deadlock", "cwd": "/home/dev" }), 0),
        (json!({ "query": "deadlock", "thread_id": id(1) }), 2),
        (json!({ "query": "deadlock", "source": "claude" }), 0),
        (json!({ "query": "deadlock", "kinds": ["user_message"] }), 2),
        (json!({ "query": "deadlock", "since": written - day, "until": written + day }), 3),
        (json!({ "query": "deadlock", "since": written + day }), 0),
        (json!({ "query": "deadlock", "limit": 1 }), 1),
        (json!({ "query": "deadlock", "max_tokens": 1 }), 0),
    ] {
        assert_eq!(texts(&mut client, params.clone()).await.len(), found, "{params}");
    }
}

#[tokio::test]
async fn a_copy_is_not_found_twice_and_a_secret_not_at_all() {
    let home = tempfile::tempdir().unwrap();
    let secret = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let mut rollout = alpha();
    rollout.message("user", &format!("my token is {secret}, keep the zebra safe"));
    rollout.write(home.path());
    // A fork copies its parent's lines with times of its own.
    let mut fork = Rollout::new(&id(3), Path::new("/home/dev/alpha"));
    fork.message("assistant", "something before, so that times differ");
    fork.message("user", "Fix the deadlock in src/lock_table.rs, please.");
    fork.write(home.path());
    // And an archived twin of the same thread lies beside it.
    let archived = home.path().join(".codex/archived_sessions");
    fs::create_dir_all(&archived).unwrap();
    let path = rollout.write(home.path());
    fs::copy(&path, archived.join(path.file_name().unwrap())).unwrap();
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    indexed(&mut client, 7).await;

    let result = search(&mut client, json!({ "query": "\"fix the deadlock\"" })).await;
    let hits = result["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 1, "{result}");
    assert!(hits[0]["copies"].as_u64() >= Some(1), "{result}");
    assert!(texts(&mut client, json!({ "query": secret })).await.is_empty());
    let shown = texts(&mut client, json!({ "query": "zebra" })).await;
    assert!(shown[0].contains("REDACTED") && !shown[0].contains("ghp_"), "{shown:?}");
}

#[tokio::test]
async fn a_question_finds_what_has_some_of_its_words_and_no_copy_of_what_has_all() {
    let home = tempfile::tempdir().unwrap();
    alpha().write(home.path());
    let mut fork = Rollout::new(&id(3), Path::new("/home/dev/alpha"));
    fork.message("assistant", "something before, so that times differ");
    fork.message("user", "Fix the deadlock in src/lock_table.rs, please.");
    fork.message("assistant", "The lock table is fixed; the benchmark of deadlocks comes next.");
    fork.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    indexed(&mut client, 7).await;

    let asked = "please fix deadlock lock_table";
    let found = texts(&mut client, json!({ "query": asked })).await;
    let all_words = found.iter().filter(|text| text.contains("please"));
    assert_eq!(all_words.count(), 1, "the fork's copy is the same hit: {found:?}");
    assert!(found[0].contains("please"), "what has all words comes first: {found:?}");
    assert!(found.iter().any(|text| text.contains("benchmark")), "some of its words: {found:?}");
    let meant = texts(&mut client, json!({ "query": "please AND fix AND benchmark" })).await;
    assert!(meant.is_empty(), "an operator is meant as it stands: {meant:?}");
}

#[tokio::test]
async fn what_was_rewritten_or_deleted_is_no_longer_found_and_what_is_added_is() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = alpha();
    let path = rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    indexed(&mut client, 4).await;

    rollout.message("user", "and now the giraffe");
    let root = path.ancestors().nth(6).unwrap().to_owned();
    rollout.write(&root);
    client.call("thread/sync", json!({ "thread_id": id(1) })).await;
    indexed(&mut client, 5).await;
    assert_eq!(texts(&mut client, json!({ "query": "giraffe" })).await.len(), 1);

    let mut other = Rollout::new(&id(1), Path::new("/home/dev/alpha"));
    other.message("user", "A different beginning with an okapi.");
    other.write(&root);
    client.call("thread/sync", json!({ "thread_id": id(1) })).await;
    indexed(&mut client, 1).await;
    assert_eq!(texts(&mut client, json!({ "query": "okapi" })).await.len(), 1);
    assert!(texts(&mut client, json!({ "query": "giraffe OR deadlock" })).await.is_empty());
}

#[tokio::test]
async fn a_compressed_session_takes_the_place_of_the_plain_one() {
    let home = tempfile::tempdir().unwrap();
    let path = alpha().write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    indexed(&mut client, 4).await;

    let packed = zstd::encode_all(fs::read(&path).unwrap().as_slice(), 1).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(path.with_extension("jsonl.zst"), packed).unwrap();
    let packed = path.with_extension("jsonl.zst");
    client.call("thread/sync", json!({ "path": packed })).await;
    indexed(&mut client, 4).await;
    let result = search(&mut client, json!({ "query": "deadlock please" })).await;
    assert_eq!(result["hits"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(result["hits"][0]["path"], json!(packed), "{result}");
    assert_eq!(result["hits"][0]["copies"], 0);
    assert_eq!(result["indexed"]["items"], 4);
}

#[tokio::test]
async fn items_are_listed_from_a_place_on_and_from_the_end() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = Rollout::new(&id(1), Path::new("/home/dev/alpha"));
    for number in 0..200 {
        rollout.message("user", &format!("request {number}"));
    }
    rollout.write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": id(1) })).await;
    let mut items = async |params: Value| {
        let mut all = json!({ "thread_id": id(1) });
        all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        let answer = client.call("thread/items", all).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    };
    let (mut seen, mut from) = (Vec::new(), 0);
    loop {
        let page = items(json!({ "from_seq": from, "limit": 70 })).await;
        let rows = page["items"].as_array().unwrap().clone();
        assert!(rows.len() <= 70);
        seen.extend(rows.into_iter().map(|row| row["excerpt"].as_str().unwrap().to_owned()));
        from = page["next_seq"].as_u64().unwrap();
        if page["more"] == false {
            break;
        }
    }
    let expected: Vec<String> = (0..200).map(|number| format!("request {number}")).collect();
    assert_eq!((seen, from), (expected, 201));
    let last = items(json!({ "last": 3 })).await;
    assert_eq!(last["items"][0]["excerpt"], "request 197");
    assert_eq!((&last["next_seq"], &last["more"]), (&json!(201), &json!(false)));
    assert!(last["items"][0]["at"].as_i64() > Some(1_700_000_000_000));
    assert_eq!(items(json!({ "from_seq": 201 })).await["items"], json!([]));
    let both = json!({ "thread_id": id(1), "from_seq": 1, "last": 1 });
    assert_eq!(kind(&client.call("thread/items", both).await), "invalid_params");
}

#[tokio::test]
async fn a_killed_daemon_goes_on_indexing_where_it_stopped() {
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
        let process = Process::start(home.path()).await;
        let mut client = Client::connect(&process.socket).await;
        let poll = async {
            loop {
                let status = client.call("daemon/status", json!({})).await;
                let search = status["result"]["search"].clone();
                let items = search["items"].as_u64().unwrap();
                if items > seen || search["state"] == "idle" {
                    return (items, search["state"] == "idle");
                }
            }
        };
        let (items, is_idle) = soon("a batch is indexed", poll).await;
        assert!(items >= seen, "what was indexed is lost: {items} of {seen}");
        if is_idle && items >= u64::from(SESSIONS) * 40 {
            for session in [0, 31, SESSIONS - 1] {
                for number in [0, 39] {
                    let query = format!("needle{session}x{number}");
                    let result = search(&mut client, json!({ "query": query })).await;
                    assert_eq!(result["hits"].as_array().unwrap().len(), 1, "{query}");
                    assert_eq!(result["hits"][0]["copies"], 0, "{query} is indexed twice");
                }
            }
            assert_eq!(items, u64::from(SESSIONS) * 40);
            process.signal(Signal::TERM);
            process.exit_code().await;
            break;
        }
        seen = items;
        kills += 1;
        process.signal(Signal::KILL);
        process.exit_code().await;
    }
    assert!(kills >= 2, "it was never killed in between");
}
