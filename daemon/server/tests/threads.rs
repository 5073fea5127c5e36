//! Threads of clients without transcripts: opened, appended to, read back, killed in between.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};

use crate::support::{Client, Daemon, Process, command, kind, soon};

fn message(role: &str, text: &str) -> Value {
    json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] })
}

fn addition(id: &str, item: impl Into<Value>) -> Value {
    json!({ "client_item_id": id, "item": item.into() })
}

async fn open(client: &mut Client, key: &str) -> Value {
    let params = json!({ "client_thread_id": key, "cwd": "/w/demo", "originator": "editor" });
    client.call("thread/open", params).await["result"].take()
}

async fn append(client: &mut Client, thread: &Value, items: Value) -> Value {
    client.call("thread/append", json!({ "thread_id": thread["thread_id"], "items": items })).await
}

/// The client ids in a transcript of ours, in their order.
fn ids(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    let id = |line: Value| line["metadata"]["client_item_id"].as_str().map(str::to_owned);
    text.lines().filter_map(|text| id(line(text))).collect()
}

fn path(thread: &Value) -> &Path {
    Path::new(thread["path"].as_str().unwrap())
}

#[tokio::test]
async fn what_is_appended_is_seen_by_whatever_is_asked_next() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let thread = open(&mut client, "k").await;
    let list = client.call("thread/list", json!({ "source": "longhaul" })).await;
    assert_eq!(list["result"]["threads"][0]["thread_id"], thread["thread_id"], "{list}");
    assert_eq!(list["result"]["threads"][0]["path"], thread["path"]);
    for turn in 0..20 {
        let ask = format!("Request number {turn}: rename parse_{turn} in src/m{turn}.rs");
        let patch = format!(
            "*** Begin Patch\n*** Add File: src/m{turn}.rs\n+fn parse_{turn}() {{}}\n*** End Patch"
        );
        let call = json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": patch });
        let output =
            json!({ "type": "custom_tool_call_output", "call_id": "c", "output": "Success." });
        let items = json!([
            addition(&format!("{turn}u"), message("user", &ask)),
            addition(&format!("{turn}c"), call),
            addition(&format!("{turn}o"), output),
            addition(&format!("{turn}a"), message("assistant", &"Done, as asked. ".repeat(200))),
            { "client_item_id": format!("{turn}e"), "marker": { "type": "turn_complete" } },
        ]);
        let appended = append(&mut client, &thread, items).await["result"].take();
        let of = json!({ "thread_id": thread["thread_id"], "max_tokens": 2000 });
        let run = client.call("compaction/run", of).await;
        let view = run["result"]["view"].as_str().unwrap_or_else(|| panic!("{run}"));
        assert_eq!(run["result"]["warnings"], json!([]), "{run}");
        assert!(view.contains(&format!("Request number {turn}:")), "{view}");
        assert!(view.contains(&format!("src/m{turn}.rs")), "{view}");
        let sync = json!({ "thread_id": thread["thread_id"], "min_seq": appended["seq"], "min_offset": appended["offset"] });
        let synced = client.call("thread/sync", sync).await["result"].take();
        assert_eq!((&synced["seq"], &synced["offset"]), (&appended["seq"], &appended["offset"]));
    }
    let of = json!({ "thread_id": thread["thread_id"], "max_tokens": 500 });
    let run = client.call("compaction/run", of).await["result"].take();
    let handle = &run["receipt"]["dropped"][0]["handle"];
    let expanded = client.call("history/expand", json!({ "handle": handle })).await;
    assert_eq!(expanded["result"]["path"], thread["path"], "{expanded}");
    let got = client.call("thread/get", json!({ "thread_id": thread["thread_id"] })).await;
    let summary = &got["result"]["thread"];
    assert_eq!((&summary["source"], &summary["cwd"]), (&json!("longhaul"), &json!("/w/demo")));
    assert_eq!((&summary["items"], &summary["unknown"]), (&json!(80), &json!(0)));
    assert_eq!(
        (&summary["originator"], &summary["kind"]),
        (&json!("editor"), &json!("interactive"))
    );
}

#[tokio::test]
async fn a_bad_item_refuses_its_batch_and_is_named() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let thread = open(&mut client, "k").await;
    let good = addition("good", message("user", "x"));
    let token = ["gh", "p_", &"a1B2c3D4".repeat(5)[..36]].concat();
    let long = "x".repeat(5 << 20);
    let compacted = json!({ "type": "compacted", "replacement_history": [{ "type": "mesage" }] });
    for (bad, expected) in [
        (addition("bad", json!("text")), "invalid_params"),
        (addition("bad", json!({ "type": "message", "role": "user" })), "invalid_params"),
        (addition("bad", message("robot", "x")), "invalid_params"),
        (addition("good", message("user", "y")), "invalid_params"),
        (addition("", message("user", "y")), "invalid_params"),
        (addition("new\nline", message("user", "y")), "invalid_params"),
        (addition(&"i".repeat(200), message("user", "y")), "invalid_params"),
        (addition(&token, message("user", "y")), "invalid_params"),
        (addition("bad", message("user", &long)), "limit_exceeded"),
        (json!({ "client_item_id": "bad" }), "invalid_params"),
        (
            json!({ "client_item_id": "bad", "marker": { "type": "settings", "cwd": "w" } }),
            "invalid_params",
        ),
        (json!({ "client_item_id": "bad", "marker": compacted }), "invalid_params"),
    ] {
        let answer = append(&mut client, &thread, json!([good, bad])).await;
        assert_eq!(kind(&answer), expected, "{answer}");
        let detail = &answer["error"]["data"]["detail"];
        assert_eq!(detail["index"], 1, "{answer}");
        assert!(detail["reason"].is_string() && detail["client_item_id"].is_string(), "{answer}");
    }
    let many: Vec<Value> =
        (0..257).map(|n| addition(&n.to_string(), message("user", "x"))).collect();
    assert_eq!(kind(&append(&mut client, &thread, json!(many)).await), "limit_exceeded");
    let shape = append(&mut client, &thread, json!([{ "client_item_id": "a", "itm": {} }])).await;
    assert_eq!(kind(&shape), "invalid_params");
    assert!(ids(path(&thread)).is_empty(), "nothing of it was written");
    let empty = append(&mut client, &thread, json!([])).await;
    assert_eq!(empty["result"]["seq"], 0);
}

#[tokio::test]
async fn what_cannot_be_opened_is_refused() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    for (params, expected) in [
        (json!({ "cwd": "w", "originator": "e" }), "invalid_params"),
        (json!({ "cwd": "/w", "originator": "" }), "invalid_params"),
        (json!({ "cwd": "/w", "originator": "e".repeat(129) }), "limit_exceeded"),
        (json!({ "cwd": "/w", "originator": "e", "client_thread_id": "a\u{0}" }), "invalid_params"),
        (
            json!({ "cwd": "/w", "originator": "e", "client_thread_id": "a", "thread_id": "b" }),
            "invalid_params",
        ),
        (json!({ "cwd": "/w", "originator": "e", "thread_id": "../../etc" }), "thread_not_found"),
        (json!({ "cwd": "/w", "originator": "e", "kind": "robot" }), "invalid_params"),
        (
            json!({ "cwd": "/w", "originator": "e", "kind": "exec", "parent_thread_id": "p" }),
            "invalid_params",
        ),
    ] {
        let answer = client.call("thread/open", params.clone()).await;
        assert_eq!(kind(&answer), expected, "{params}: {answer}");
    }
    let none = json!({ "thread_id": "nobody", "items": [] });
    assert_eq!(kind(&client.call("thread/append", none).await), "thread_not_found");
}

#[tokio::test]
async fn secrets_are_replaced_before_they_reach_the_file() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let token = ["gh", "p_", &"a1B2c3D4".repeat(5)[..36]].concat();
    let params = json!({ "cwd": "/w", "originator": "e", "title": format!("use {token}") });
    let thread = client.call("thread/open", params).await["result"].take();
    let arguments = json!({ "cmd": format!("export T={token}\ncurl x") }).to_string();
    let call =
        json!({ "type": "function_call", "name": "shell", "call_id": "c", "arguments": arguments });
    let items = json!([
        addition("1", message("user", &format!("line\n{token}"))),
        addition("2", call),
        addition("3", message("user", "no secret")),
    ]);
    let answer = append(&mut client, &thread, items.clone()).await;
    assert_eq!(answer["result"]["redacted"], 2, "{answer}");
    let again = append(&mut client, &thread, items).await;
    assert_eq!(
        (&again["result"]["duplicates"], &again["result"]["redacted"]),
        (&json!(3), &json!(0))
    );
    let prompt = json!({ "text": format!("key {token}") });
    let kept = client.call("message_history/append", prompt).await;
    assert_eq!(kept["result"]["redacted"], 1, "{kept}");
    let text = fs::read_to_string(path(&thread)).unwrap();
    assert!(!text.contains(&token) && text.contains("no secret"), "{text}");
    let home = daemon.stopped().await;
    let history = home.path().join(".local/state/longhaul/message_history.jsonl");
    assert!(!fs::read_to_string(history).unwrap().contains(&token));
}

#[tokio::test]
async fn ids_survive_a_restart_of_the_daemon() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let thread = open(&mut client, "k").await;
    append(&mut client, &thread, json!([addition("a", message("user", "x"))])).await;
    drop(client);
    let daemon = Daemon::over(daemon.stopped().await, "").await;
    let mut client = daemon.connect().await;
    let again = open(&mut client, "k").await;
    assert_eq!((&again["thread_id"], &again["seq"]), (&thread["thread_id"], &json!(1)));
    let items = json!([addition("a", message("user", "x")), addition("b", message("user", "y"))]);
    let answer = append(&mut client, &again, items).await["result"].take();
    assert_eq!((&answer["appended"], &answer["duplicates"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn two_editors_on_one_thread_are_ordered_and_told_of_each_other() {
    let daemon = Daemon::start().await;
    let (mut one, mut two) = (daemon.connect().await, daemon.connect().await);
    let thread = open(&mut one, "shared").await;
    let params = |id: &str, seq: u64| json!({ "thread_id": thread["thread_id"], "expected_seq": seq, "items": [addition(id, message("user", id))] });
    let (first, second) = tokio::join!(
        one.call("thread/append", params("one", 0)),
        two.call("thread/append", params("two", 0))
    );
    let refused: Vec<&Value> =
        [&first, &second].into_iter().filter(|answer| answer["error"].is_object()).collect();
    let [refused] = refused[..] else { panic!("one of them: {first} {second}") };
    assert_eq!(kind(refused), "stale_base");
    assert_eq!(refused["error"]["data"]["retry"], "refresh");
    assert_eq!(refused["error"]["data"]["detail"], json!({ "present": 1, "expected": 0 }));
    assert_eq!(ids(path(&thread)).len(), 1);
}

#[tokio::test]
async fn a_killed_daemon_has_what_it_answered_exactly_once() {
    const ITEMS: usize = 60;
    let home = tempfile::tempdir().unwrap();
    let (mut acknowledged, mut thread) = (BTreeSet::new(), Value::Null);
    let text = |number: usize| "x".repeat(3_000 * (1 + number % 7));
    for round in 0..6_usize {
        let process = Process::start(home.path()).await;
        let mut client = Client::connect(&process.socket).await;
        thread = open(&mut client, "k").await;
        // What was not answered is sent again, as a client does.
        let mut asked = BTreeMap::new();
        for number in (0..ITEMS).filter(|number| !acknowledged.contains(number)).take(20) {
            let items = json!([addition(&number.to_string(), message("user", &text(number)))]);
            let params = json!({ "thread_id": thread["thread_id"], "items": items });
            asked.insert(client.ask("thread/append", params).await, number);
        }
        // Killed after a different number of answers each time, the rest is under way.
        for _ in 0..round * 3 {
            let answer = client.hear().await.unwrap();
            assert!(answer["error"].is_null(), "{answer}");
            acknowledged.insert(asked[&answer["id"].as_u64().unwrap()]);
        }
        process.signal(Signal::KILL);
        process.exit_code().await;
    }
    let left = whole_ids(path(&thread));
    let once: BTreeSet<usize> = left.iter().map(|id| id.parse().unwrap()).collect();
    assert_eq!(once.len(), left.len(), "something is there twice: {left:?}");
    assert!(acknowledged.is_subset(&once), "lost: {:?}", acknowledged.difference(&once));
    assert!(acknowledged.len() >= 40, "{acknowledged:?}");

    let process = Process::start(home.path()).await;
    let mut client = Client::connect(&process.socket).await;
    let all = (0..ITEMS).map(|n| addition(&n.to_string(), message("user", &text(n))));
    let answer = append(&mut client, &thread, all.collect()).await["result"].take();
    assert_eq!(answer["duplicates"], left.len(), "{answer}");
    assert_eq!(ids(path(&thread)).len(), ITEMS);
    client.call("thread/close", json!({ "thread_id": thread["thread_id"] })).await;
    let got = client.call("thread/get", json!({ "thread_id": thread["thread_id"] })).await;
    assert_eq!(got["result"]["thread"]["items"], ITEMS, "{got}");
    assert_eq!(got["result"]["thread"]["malformed"], 0, "{got}");
    process.signal(Signal::TERM);
    assert_eq!(process.exit_code().await, Some(0));
}

/// The client ids of the whole lines in a file whose end may be torn.
fn whole_ids(path: &Path) -> Vec<String> {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let id = |line: Value| line["metadata"]["client_item_id"].as_str().map(str::to_owned);
    lines.filter_map(id).collect()
}

/// A daemon whose files can be bounded in size, which stands for the full disk; ignored, the signal of the
/// bound becomes an error.
fn bounded(home: &Path) -> Command {
    let longhauld = command(home).get_program().to_owned();
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\""]).arg(longhauld);
    shell.env_clear().env("HOME", home);
    shell
}

fn limit(process: &Process, bytes: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(process.id()).unwrap());
    let old = prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    assert_eq!(old.maximum, None);
}

#[tokio::test]
async fn a_full_disk_is_a_typed_error_and_the_next_append_succeeds() {
    let home = tempfile::tempdir().unwrap();
    let process = Process::spawn(bounded(home.path()), home.path()).await;
    let mut client = Client::connect(&process.socket).await;
    let thread = open(&mut client, "k").await;
    append(&mut client, &thread, json!([addition("a", message("user", "before"))])).await;
    let close = json!({ "thread_id": thread["thread_id"] });
    client.call("thread/close", close).await;

    let before = fs::read(path(&thread)).unwrap();
    limit(&process, Some(before.len() as u64 + 2_000));
    let items = json!([
        addition("b", message("user", &"x".repeat(1_500))),
        addition("c", message("user", &"y".repeat(9_000)))
    ]);
    let refused = append(&mut client, &thread, items.clone()).await;
    assert_eq!(kind(&refused), "disk_full", "{refused}");
    assert_eq!(fs::read(path(&thread)).unwrap(), before, "taken back to the byte");
    limit(&process, None);
    let appended = append(&mut client, &thread, items).await["result"].take();
    assert_eq!((&appended["appended"], &appended["duplicates"]), (&json!(2), &json!(0)));
    assert_eq!(ids(path(&thread)), ["a", "b", "c"]);
    let sync = json!({ "thread_id": thread["thread_id"], "min_seq": 3, "timeout_ms": 15_000 });
    assert_eq!(client.call("thread/sync", sync).await["result"]["seq"], 3);
    process.signal(Signal::TERM);
    assert_eq!(soon("the end", process.exit_code()).await, Some(0));
}

#[tokio::test]
async fn a_full_disk_keeps_no_compaction_back_and_is_written_to_again_once_it_has_room() {
    let home = tempfile::tempdir().unwrap();
    let process = Process::spawn(bounded(home.path()), home.path()).await;
    let mut client = Client::connect(&process.socket).await;
    let thread = open(&mut client, "k").await;
    let items = json!([
        addition("a", message("user", "Rename parse().")),
        addition("b", message("assistant", &"Looking at it. ".repeat(500))),
    ]);
    append(&mut client, &thread, items).await;
    let of = json!({ "thread_id": thread["thread_id"] });
    client.call("thread/close", of.clone()).await;

    limit(&process, Some(1));
    for _ in 0..3 {
        let made = client.call("compaction/run", of.clone()).await;
        assert!(made["result"]["view"].as_str().unwrap().contains("Rename parse()."), "{made}");
        assert_eq!(made["result"]["warnings"][0]["kind"], "not_kept", "{made}");
        let of = json!({ "compaction_id": made["result"]["compaction_id"] });
        let found = client.call("compaction/get", of).await;
        assert_eq!(kind(&found), "compaction_not_found", "{found}");
    }
    let given = json!({ "items": [message("user", "Rename parse().")] });
    let refused = client.call("compaction/run", given).await;
    assert_eq!(kind(&refused), "disk_full", "{refused}");

    limit(&process, None);
    let made = client.call("compaction/run", of).await["result"].take();
    assert_eq!(made["warnings"], json!([]), "{made}");
    let of = json!({ "compaction_id": made["compaction_id"] });
    let found = client.call("compaction/get", of).await;
    assert_eq!(found["result"]["view"], made["view"], "{found}");
}

#[tokio::test]
async fn an_id_that_comes_again_with_other_content_refuses_the_batch() {
    let daemon = Daemon::start().await;
    let mut client = daemon.connect().await;
    let thread = open(&mut client, "k").await;
    let first = json!([addition("a", message("user", "one"))]);
    append(&mut client, &thread, first.clone()).await;
    let before = fs::read(path(&thread)).unwrap();
    let other =
        json!([addition("b", message("user", "two")), addition("a", message("user", "not one"))]);
    for _ in 0..2 {
        let refused = append(&mut client, &thread, other.clone()).await;
        assert_eq!(kind(&refused), "invalid_params", "{refused}");
        let detail = &refused["error"]["data"]["detail"];
        assert_eq!((&detail["index"], &detail["client_item_id"]), (&json!(1), &json!("a")));
        assert_eq!(fs::read(path(&thread)).unwrap(), before, "nothing was written");
        // The second time the thread is read from its file.
        client.call("thread/close", json!({ "thread_id": thread["thread_id"] })).await;
    }
    let again = append(&mut client, &thread, first).await;
    assert_eq!(again["result"]["duplicates"], 1, "{again}");
}

/// The file is full from the beginning on, so that most prompts trim it.
#[tokio::test]
async fn a_daemon_killed_while_it_trims_has_every_prompt_it_answered_and_their_numbers() {
    const ROOM: usize = 4_096;
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join(".config/longhaul");
    fs::create_dir_all(&config).unwrap();
    let text = format!("[message_history]\nmax_bytes = {ROOM}\n");
    fs::write(config.join("config.toml"), text).unwrap();
    let (mut kept, mut sent) = (BTreeMap::new(), 0_u64);
    let text = |number: u64| format!("{number} {}", "x".repeat(700));
    for round in 1..6_u64 {
        let process = Process::start(home.path()).await;
        let mut client = Client::connect(&process.socket).await;
        let mut asked = BTreeMap::new();
        for number in sent..sent + 30 {
            let params = json!({ "text": text(number) });
            asked.insert(client.ask("message_history/append", params).await, number);
        }
        sent += 30;
        for _ in 0..round * 4 {
            let answer = client.hear().await.unwrap();
            assert!(answer["error"].is_null(), "{answer}");
            let offset = answer["result"]["offset"].as_u64().unwrap();
            kept.insert(offset, asked[&answer["id"].as_u64().unwrap()]);
        }
        process.signal(Signal::KILL);
        process.exit_code().await;

        // Those that still have room must be there, under the numbers that were answered.
        let process = Process::start(home.path()).await;
        let mut client = Client::connect(&process.socket).await;
        let found = client.call("message_history/lookup", json!({})).await["result"].take();
        let (first, next) = (&found["logs"][0]["first"], &found["logs"][0]["next"]);
        let (first, next) = (first.as_u64().unwrap(), next.as_u64().unwrap());
        assert!(next > *kept.last_key_value().unwrap().0, "{found}");
        assert!(next - first >= 3, "a trim keeps what has room: {found}");
        let messages = found["messages"].as_array().unwrap();
        let at = |message: &Value| message["offset"].as_u64().unwrap();
        let there: BTreeMap<u64, &Value> = messages.iter().map(|m| (at(m), &m["text"])).collect();
        assert_eq!(
            there.len() as u64,
            next - first,
            "a number is missing or stands twice: {found}"
        );
        for (offset, number) in kept.range(first..) {
            assert_eq!(there[offset], &json!(text(*number)), "round {round}");
        }
        process.signal(Signal::KILL);
        process.exit_code().await;
    }
    assert!(kept.len() >= 50, "{kept:?}");
}

#[tokio::test]
async fn no_prompt_is_written_when_the_configuration_says_so() {
    let daemon = Daemon::with_config("[message_history]\npersistence = \"none\"\n").await;
    let mut client = daemon.connect().await;
    let answer = client.call("message_history/append", json!({ "text": "x" })).await;
    assert_eq!(answer["result"], json!({ "persisted": false, "redacted": 0, "trimmed": 0 }));
    let found = client.call("message_history/lookup", json!({})).await;
    assert_eq!(found["result"], json!({ "messages": [], "logs": [] }));
    assert_eq!(
        kind(&client.call("message_history/append", json!({ "text": " " })).await),
        "invalid_params"
    );
    let long = json!({ "text": "x".repeat(300_000) });
    assert_eq!(kind(&client.call("message_history/append", long).await), "limit_exceeded");
}
