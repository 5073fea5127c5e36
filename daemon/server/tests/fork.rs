//! Compacting a thread that continues another transcript by reference: the account covers both.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::rollout::Rollout;
use crate::support::{Client, Daemon, kind, soon};

const BASE: &str = "019cadd3-0000-7000-8000-000000000001";
const FORK: &str = "019cadd3-0000-7000-8000-000000000002";

/// Lines of the base that the fork continues: the cut lies inside a page of the index.
const CUT: usize = 151;

struct Forked {
    _daemon: Daemon,
    client: Client,
    /// Lines of the lineage as the files hold them, by seq.
    lines: Vec<String>,
}

async fn forked(own: &[&str]) -> Forked {
    let home = tempfile::tempdir().unwrap();
    let mut base = Rollout::new(BASE, Path::new("/w"));
    base.message("user", "Make the fetcher retry.");
    for round in 0..100 {
        base.command(&format!("cargo test fetch_{round}"), 0, "running tests\n");
        base.message("assistant", &format!("Round {round} is through."));
    }
    let mut fork = Rollout::forked(FORK, &base, CUT);
    for text in own {
        fork.message("user", text).message("assistant", "I go another way.");
    }
    let paths = [base.write(home.path()), fork.write(home.path())];
    let [base, fork] = paths.map(|path| fs::read_to_string(path).unwrap());
    let lines = base.lines().take(CUT).chain(fork.lines()).map(str::to_owned).collect();
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    for thread in [BASE, FORK] {
        client.call("thread/sync", json!({ "thread_id": thread })).await;
    }
    Forked { _daemon: daemon, client, lines }
}

/// All items behind a handle, page by page.
async fn expand(client: &mut Client, handle: &Value) -> Vec<Value> {
    let (mut items, mut params) = (Vec::new(), json!({ "handle": handle }));
    loop {
        let answer = client.call("history/expand", params.clone()).await;
        let page = answer["result"]["items"].as_array().unwrap_or_else(|| panic!("{answer}"));
        items.extend(page.iter().cloned());
        let Some(cursor) = answer["result"]["next_cursor"].as_str() else { return items };
        params["cursor"] = cursor.into();
    }
}

fn payload(line: &str) -> Value {
    serde_json::from_str::<Value>(line).unwrap()["payload"].take()
}

fn entries(receipt: &Value) -> Vec<Value> {
    let lists = ["kept", "shortened", "dropped"].map(|list| receipt[list].as_array().unwrap());
    lists.into_iter().flatten().cloned().collect()
}

#[tokio::test]
async fn a_fork_s_receipt_accounts_for_what_it_continues() {
    for own in [&["Go another way."][..], &[]] {
        let Forked { _daemon, mut client, lines } = forked(own).await;
        let answer = client.call("compaction/run", json!({ "thread_id": FORK })).await;
        let result = &answer["result"];
        let sum = |what: &str| -> u64 {
            entries(&result["receipt"]).iter().map(|entry| entry[what].as_u64().unwrap()).sum()
        };
        // All lines but the meta line of each file.
        assert_eq!(sum("items"), lines.len() as u64 - 2, "{own:?}");
        assert_eq!(sum("tokens"), result["tokens"]["before"].as_u64().unwrap(), "{own:?}");
        let mut given_back = 0;
        for entry in entries(&result["receipt"]) {
            let items = expand(&mut client, &entry["handle"]).await;
            assert_eq!(items.len() as u64, entry["items"].as_u64().unwrap(), "{entry}");
            given_back += items.len();
        }
        assert_eq!(given_back, lines.len() - 2);
        let request = own.last().copied().unwrap_or("Make the fetcher retry.");
        let history = result["history"].as_array().unwrap();
        assert_eq!(history.last().unwrap()["content"][0]["text"], request);
        assert_eq!(result["warnings"], json!([]), "the request's line was read, also in the base");
    }
}

#[tokio::test]
async fn a_handle_in_the_base_or_across_the_cut_gives_the_exact_items() {
    let Forked { _daemon, mut client, lines } = forked(&["Go another way."]).await;
    let one = expand(&mut client, &json!(format!("{FORK}#7"))).await;
    assert_eq!(one, [payload(&lines[7])]);
    let across = expand(&mut client, &json!(format!("{FORK}#{}-{}", CUT - 2, CUT + 2))).await;
    let expected: Vec<Value> =
        [CUT - 2, CUT - 1, CUT + 1, CUT + 2].iter().map(|seq| payload(&lines[*seq])).collect();
    assert_eq!(across, expected);
    // The base's own line after the cut is none of the fork's.
    let answer = client.call("history/expand", json!({ "handle": format!("{FORK}#160") })).await;
    assert_eq!(kind(&answer), "handle_not_found");
}

#[tokio::test]
async fn undoing_a_fork_s_compaction_gives_the_whole_history_back() {
    let Forked { _daemon, mut client, lines } = forked(&["Go another way."]).await;
    let run = client.call("compaction/run", json!({ "thread_id": FORK })).await;
    let id = run["result"]["compaction_id"].clone();
    let undone = client.call("compaction/undo", json!({ "compaction_id": id })).await;
    let expected: Vec<Value> = lines
        .iter()
        .enumerate()
        .filter(|(seq, _)| ![0, CUT].contains(seq))
        .map(|(_, line)| payload(line))
        .collect();
    assert_eq!(undone["result"]["history"], json!(expected), "{}", undone["error"]);
}

#[tokio::test]
async fn a_fork_whose_base_is_nowhere_is_told_once_nothing_waits_to_be_read() {
    let home = tempfile::tempdir().unwrap();
    let mut base = Rollout::new(BASE, Path::new("/w"));
    base.message("user", "Make the fetcher retry.");
    Rollout::forked(FORK, &base, 1).write(home.path());
    let daemon = Daemon::over(home, "").await;
    let mut client = daemon.connect().await;
    client.call("thread/sync", json!({ "thread_id": FORK })).await;
    let told = soon("the warning", async {
        loop {
            let status = client.call("daemon/status", json!({})).await["result"].take();
            if let Some(warning) = status["warnings"].as_array().unwrap().first() {
                return warning["kind"].clone();
            }
        }
    });
    assert_eq!(told.await, "base_missing");
}
