use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use longhaul_client::scripted::{Reply, Script, ScriptedServer, field, set, text_at};
use longhaul_protocol::limit::Limits;
use longhaul_protocol::{ErrorKind, WireError};
use longhaul_protocol::{daemon, policy, thread};
use serde_json::{Value, json};

use crate::Desk;
use crate::answers::{COMPACTION, THREAD, script, status, thread, with};

/// Commands with golden output.
const SHOWN: &[(&str, &[&str])] = &[
    ("status", &["status"]),
    ("up", &["up"]),
    ("down", &["down"]),
    ("thread_list", &["thread", "list"]),
    ("thread_show", &["thread", "show", THREAD]),
    ("usage", &["usage"]),
    ("thread_tail", &["thread", "tail"]),
    ("search", &["search", "connection", "refused"]),
    ("compact", &["compact"]),
    ("compact_view_only", &["compact", "--view-only"]),
    ("compaction_list", &["compaction", "list"]),
    ("compaction_show", &["compaction", "show", COMPACTION]),
    ("checkpoint_show", &["checkpoint", "show"]),
    ("checkpoint_state", &["checkpoint", "show", "--state"]),
    ("expand", &["expand", "h2"]),
    ("undo", &["undo", COMPACTION]),
    ("thread_open", &["thread", "open", "--key", "notes"]),
    ("thread_append", &["thread", "append", THREAD]),
    ("thread_close", &["thread", "close", THREAD]),
    ("thread_forget", &["thread", "forget", THREAD, "--yes"]),
    ("pin", &["pin", "Keep the public API as it is.", "--thread", THREAD]),
    ("prompts", &["prompts", "parse_line"]),
    ("prompts_add", &["prompts", "--add", "Fix the parser."]),
    ("archive_status", &["archive", "status"]),
    ("archive_list", &["archive", "list", "--gone"]),
    ("archive_verify", &["archive", "verify"]),
    ("archive_restore", &["archive", "restore", THREAD]),
    ("archive_export", &["archive", "export", "/home/user/threads"]),
    ("archive_forget", &["archive", "forget", THREAD, "--yes"]),
];

/// The archive of the script is damaged.
fn code(name: &str) -> i32 {
    i32::from(["archive_verify", "archive_export"].contains(&name))
}

#[test]
fn output_matches_the_golden_files() {
    for (name, args) in SHOWN {
        // `down` waits for the connection's end.
        let script = script().on::<daemon::Shutdown>(|_| {
            Reply::ResultThen(
                serde_json::json!({ "pid": 0, "requests_in_flight": 0 }),
                vec!["this is no JSON and ends the connection".into()],
            )
        });
        let done = Desk::new(script).run(args);
        assert_eq!(done.code, code(name), "{args:?}: {done:?}");
        assert_eq!(done.stderr.is_empty(), done.code == 0, "{args:?}: {done:?}");
        assert_golden(&format!("{name}.txt"), &done.stdout);
    }
}

#[test]
fn json_is_the_daemons_answer_on_one_line() {
    for (name, args) in SHOWN.iter().filter(|(name, _)| *name != "down") {
        let done = Desk::new(script()).run(&[args, &["--json"][..]].concat());
        // `tail` prints a line per item.
        let lines = if *name == "thread_tail" { 2 } else { 1 };
        assert_eq!(
            (done.code, done.stdout.lines().count()),
            (code(name), lines),
            "{name}: {done:?}"
        );
        done.stdout.lines().for_each(|line| drop(serde_json::from_str::<Value>(line).unwrap()));
    }
    let done = Desk::new(script()).run(&["compact", "--json"]);
    assert_eq!(text_at(&done.json(), "receipt.dropped.0.handle"), "h2");
}

#[test]
fn colors_are_off_without_a_terminal() {
    let desk = Desk::new(script());
    assert!(!desk.run(&["status"]).stdout.contains('\x1b'));
    assert!(desk.run(&["status", "--color", "always"]).stdout.contains('\x1b'));
}

#[test]
fn doctor_reports_problems_with_hints() {
    let desk = Desk::new(script());
    let done = desk.run(&["doctor", "--json"]);
    let states = ["socket", "daemon", "reading", "clock"].map(|name| done.check(name).0);
    // The scripted socket has the test's umask.
    assert_eq!((states, done.code), (["fail", "ok", "warn", "ok"].map(str::to_owned), 78));
    let text = desk.run(&["doctor"]).stdout;
    assert!(text.contains("chmod 600"), "{text}");
}

#[test]
fn all_pages_report_unreadable_lines_alike() {
    let counts = json!({ "lines": 2_000, "malformed": 3, "oversized": 1, "unknown": 17 });
    let counted = |of: Value| with(of, &counts);
    let mut status = status();
    set(&mut status, "ingest.state", "idle");
    set(&mut status, "ingest.errors", json!([]));
    let ingest = counted(field(&status, "ingest").clone());
    set(&mut status, "ingest", ingest);
    let shown = json!({ "thread": counted(thread()), "files": [], "checkpoint_seq": 1 });
    let desk =
        Desk::new(script().result::<daemon::Status>(status).result::<thread::ThreadGet>(shown));
    for args in [&["status"][..], &["doctor"], &["thread", "show", THREAD]] {
        let page = desk.run(args).stdout;
        let is_reported = page.lines().any(|line| {
            line.contains("2,000")
                && line.contains(", 3 damaged, 1 too long, 17 of an unknown kind")
        });
        assert!(is_reported, "{args:?}: {page}");
    }
}

/// Doctor's checks of the agents' socket: states, text and requests.
fn of_agents_socket(agents: Option<Script>) -> (Vec<String>, String, Vec<(String, Value)>) {
    let desk = Desk::new(script());
    let path = longhaul_protocol::socket::of_agents(desk.server.path());
    let server = agents.map(|script| {
        let server = ScriptedServer::start(&path, script).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        server
    });
    let own = desk.run(&["doctor", "--json"]).checks("agents' socket");
    let states = own.iter().map(|check| text_at(check, "state").to_owned()).collect();
    let requests = server.map(|server| server.requests()).unwrap_or_default();
    (states, format!("{own:?}"), requests)
}

#[test]
fn doctor_tests_the_agents_socket() {
    let hello = |methods: &[&str]| {
        let server = json!({ "name": "longhauld", "version": "1", "instance_id": "i", "pid": 1 });
        json!({
            "protocol": 1, "server": server, "capabilities": [], "methods": methods, "limits": Limits::OURS,
        })
    };
    let forbidden = || Reply::Error(WireError::new(ErrorKind::Forbidden, "not for agents"));
    let agents = || {
        let script = script().result::<daemon::Initialize>(hello(&["thread/list"]));
        script.on::<daemon::Shutdown>(move |_| forbidden())
    };
    let (states, words, _) = of_agents_socket(Some(agents()));
    assert_eq!(states, ["ok", "ok"], "{words}");
    let (states, words, _) = of_agents_socket(None);
    assert_eq!(states, ["fail"], "{words}");
    assert!(words.contains("does not exist"), "{words}");
    let (states, words, _) =
        of_agents_socket(Some(agents().on::<thread::ThreadList>(move |_| forbidden())));
    assert_eq!(states, ["ok", "warn"], "{words}");
    assert!(words.contains("server.trust_stated_folder"), "{words}");
    let obeys = |_| Reply::Result(json!({ "pid": 1, "requests_in_flight": 0 }));
    let (states, words, _) = of_agents_socket(Some(agents().on::<daemon::Shutdown>(obeys)));
    assert_eq!(states, ["ok", "fail"], "{words}");
    let offers = agents().result::<daemon::Initialize>(hello(&["daemon/shutdown"]));
    let (states, words, requests) = of_agents_socket(Some(offers));
    assert_eq!(states, ["ok", "fail"], "{words}");
    assert!(requests.iter().all(|(method, _)| method != "daemon/shutdown"), "it would have obeyed");
}

#[test]
fn a_logged_decision_in_the_words_of_another_version_is_the_same_decision() {
    let decision = |action: &str, rule: &str, text: &str| {
        let reason = json!({ "rule": rule, "passed": true, "text": text });
        json!({
            "policy": "default", "action": action, "tier": "asap", "percent_remaining": 20,
            "boundaries": ["commit"], "satisfied": ["commit"], "reasons": [reason],
        })
    };
    let explained = |logged: Value| {
        let result = json!({
            "logged": {
                "thread_id": THREAD, "at": 0, "seq": 9, "turn": 1, "is_shadow": false, "decision": logged,
            },
            "is_reproduced": false,
            "decision": decision("compact", "growth", "no earlier compaction"),
            "situation": {},
            "settings": {},
        });
        let desk = Desk::new(script().result::<policy::Explain>(result));
        desk.run(&["policy", "explain", "--decision", "1"]).stdout
    };
    let page = explained(decision("compact", "rearm", "nothing was compacted before"));
    assert!(page.contains("the same, in other words") && !page.contains("Now:"), "{page}");
    let page = explained(decision("wait", "rearm", "nothing was compacted before"));
    assert!(page.contains("decides differently") && page.contains("Now: compact"), "{page}");
}

fn assert_golden(name: &str, shown: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, shown).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, committed, "{name}: UPDATE_GOLDEN=1 writes it, then read it");
}
