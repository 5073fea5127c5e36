use longhaul_client::scripted::{Reply, set};
use longhaul_protocol::compaction::Strategy;
use longhaul_protocol::{ErrorKind, WireError};
use longhaul_protocol::{checkpoint, compaction, context, history, job, memory, thread};
use serde_json::{Value, json};

use crate::answers::{OTHER, THREAD, script};
use crate::{Desk, Done, run};

/// A daemon with a thread in the folder `project`, and one elsewhere; the program runs in `project/src`.
fn desk_in_a_project(has_thread: bool) -> Desk {
    let desk = Desk::new(script().on::<thread::ThreadList>(move |params| {
        let is_project = params.cwd.as_ref().is_some_and(|cwd| cwd.ends_with("/project"));
        let threads = match (params.cwd.is_none(), is_project && has_thread) {
            (true, _) => json!([summary(OTHER, 400, None)]),
            (_, true) => json!([summary(THREAD, 400, None)]),
            _ => json!([]),
        };
        Reply::Result(json!({ "threads": threads }))
    }));
    std::fs::create_dir_all(desk.folder.path().join("project/.git")).unwrap();
    std::fs::create_dir_all(desk.folder.path().join("project/src")).unwrap();
    desk
}

impl Desk {
    fn run_in(&self, folder: &str, args: &[&str]) -> Done {
        run(self.program().current_dir(self.folder.path().join(folder)).args(args))
    }
}

#[test]
fn default_thread_is_the_newest_of_this_project_else_of_all() {
    let desk = desk_in_a_project(false);
    desk.run_in("project/src", &["compact"]);
    let lists = desk.server.calls::<thread::ThreadList>().unwrap();
    let root = desk.folder.path().canonicalize().unwrap().join("project");
    let list = |cwd: Option<&std::path::Path>| {
        let cwd = cwd.map(|cwd| cwd.display().to_string());
        thread::ThreadListParams { cwd, limit: Some(100), ..Default::default() }
    };
    assert_eq!(lists, [list(Some(&root.join("src"))), list(Some(&root)), list(None)]);
    assert_eq!(desk.last_params::<compaction::Run>().thread_id.as_deref(), Some(OTHER));

    let desk = desk_in_a_project(true);
    desk.run_in("project/src", &["compact"]);
    assert_eq!(desk.last_params::<compaction::Run>().thread_id.as_deref(), Some(THREAD));
    let done = desk.run_in("project/src", &["thread", "list", "--here"]);
    assert!(done.stdout.contains("0199a213-81c0"), "{done:?}");
    desk.run_in("project/src", &["search", "--here", "parser"]);
    let root = desk.folder.path().canonicalize().unwrap().join("project");
    let searched = desk.last_params::<thread::Search>().cwd;
    assert_eq!(searched.as_deref(), root.to_str());
}

/// The daemon compares folders by their names.
#[test]
fn folders_are_sent_as_agents_record_them() {
    let desk = desk_in_a_project(true);
    let folder = desk.folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(folder.join("project"), folder.join("link")).unwrap();
    let root = folder.join("project").display().to_string();
    for named in ["..", "../../link", "../../project/src/.."] {
        desk.run_in("project/src", &["thread", "list", "--cwd", named]);
        let listed = desk.last_params::<thread::ThreadList>().cwd;
        assert_eq!(listed.as_deref(), Some(root.as_str()), "{named}");
        desk.run_in("project/src", &["thread", "open", "--cwd", named]);
        assert_eq!(desk.last_params::<thread::Open>().cwd, root, "{named}");
    }
    desk.run_in("project", &["thread", "open"]);
    assert_eq!(desk.last_params::<thread::Open>().cwd, root);
}

#[test]
fn a_thread_of_another_project_is_not_changed_unless_named() {
    let commands: [&[&str]; 6] = [
        &["pin", "words"],
        &["drop", "words"],
        &["undo"],
        &["continue"],
        &["compact", "--install"],
        &["pin", "--remove", "3fa2b1c4"],
    ];
    for command in commands {
        let desk = desk_in_a_project(false);
        let done = desk.run_in("project/src", command);
        assert_eq!((done.code, done.stdout.as_str()), (1, ""), "{command:?}: {done:?}");
        assert!(done.stderr.contains("THREAD"), "{command:?}: {done:?}");
        assert_eq!(desk.server.calls::<thread::Sync>().unwrap(), [], "{command:?}");
        let desk = desk_in_a_project(true);
        desk.run_in("project/src", command);
        assert_eq!(desk.last_params::<thread::Sync>().thread_id.as_deref(), Some(THREAD));
    }
}

/// As the hook at a session's start asks for it.
#[test]
fn memory_show_shows_what_a_new_thread_is_told() {
    let desk = Desk::new(script());
    assert_eq!(desk.run(&["memory", "show"]).code, 0);
    let sent = desk.last_params::<memory::Summary>();
    assert_eq!((sent.brief, sent.max_tokens, sent.framed), (Some(true), Some(270), None));
    assert_eq!(desk.run(&["memory", "show", "--full", "--max-tokens", "900"]).code, 0);
    let sent = desk.last_params::<memory::Summary>();
    assert_eq!((sent.brief, sent.max_tokens, sent.framed), (None, Some(900), Some(false)));
    assert_eq!(desk.run(&["memory", "show", "--max-tokens", "900"]).code, 64);
}

#[test]
fn compact_syncs_and_sends_its_flags() {
    let desk = Desk::new(script());
    let done = desk.run(&["compact", THREAD, "--max-tokens", "2000", "--strategy", "checkpoint"]);
    assert_eq!(done.code, 0, "{done:?}");
    let expected = compaction::RunParams {
        thread_id: Some(THREAD.to_owned()),
        strategy: Some(Strategy::Checkpoint),
        max_tokens: Some(2000),
        ..Default::default()
    };
    assert_eq!(desk.last_params::<compaction::Run>(), expected);
    let synced = thread::SyncParams { thread_id: Some(THREAD.to_owned()), ..Default::default() };
    assert_eq!(desk.last_params::<thread::Sync>(), synced);

    desk.run(&["compact", THREAD, "--as-of", "7"]);
    assert_eq!(desk.last_params::<compaction::Run>().as_of, Some(7));
}

/// A thread that began at 0.
fn summary(id: &str, updated_at: i64, continues: Option<&str>) -> Value {
    let mut thread = json!({ "thread_id": id, "source": "codex", "path": "p", "cwd": null, "title": null, "created_at": 0, "updated_at": updated_at, "items": 0, "tokens": 0, "compactions": 1, "lines": 3, "bytes": 0, "malformed": 0, "unknown": 0, "oversized": 0, "archived": false, "kind": "other" });
    if let Some(continues) = continues {
        set(&mut thread, "continues", continues);
        set(&mut thread, "unresumed", updated_at == 0);
    }
    thread
}

/// Codex's have two lines, those of Claude Code one for each message; all have the time at which they were made.
#[test]
fn default_thread_skips_continuations_not_resumed() {
    for (updated_at, expected) in [(0, THREAD), (9, OTHER)] {
        let made = summary(OTHER, updated_at, Some(THREAD));
        let list = json!({ "threads": [made, summary(THREAD, 400, None)] });
        let desk = Desk::new(script().result::<thread::ThreadList>(list));
        desk.run(&["compact"]);
        let compacted = desk.last_params::<compaction::Run>().thread_id;
        assert_eq!(compacted.as_deref(), Some(expected), "{updated_at}");
        desk.run(&["continue"]);
        assert_eq!(desk.last_params::<thread::Continue>().thread_id, expected, "{updated_at}");
        let shown = desk.run(&["thread", "list"]).stdout;
        assert_eq!(shown.contains("(not resumed)"), updated_at == 0, "{shown}");
        let shown = json!({ "thread": summary(OTHER, updated_at, Some(THREAD)), "files": [], "checkpoint_seq": 1 });
        let desk = Desk::new(script().result::<thread::ThreadGet>(shown));
        let shown = desk.run(&["thread", "show", OTHER]).stdout;
        let command = format!("codex resume {OTHER}");
        assert_eq!(shown.contains(&command), updated_at == 0, "{shown}");
        assert_eq!(shown.contains("never by its agent"), updated_at != 0, "{shown}");
    }
}

#[test]
fn compact_sends_the_prompt_file() {
    let desk = Desk::new(script());
    let file = desk.folder.path().join("ask.md");
    std::fs::write(&file, "List what was done in {cwd}.").unwrap();
    let done = desk.run(&["compact", THREAD, "--prompt", file.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    let sent = desk.last_params::<compaction::Run>().templates.unwrap().summary_prompt;
    assert_eq!(sent.as_deref(), Some("List what was done in {cwd}."));

    let done = desk.run(&["compact", THREAD, "--prompt", "nowhere.md"]);
    assert_eq!(done.code, 64, "{done:?}");
    assert!(done.stderr.contains("cannot read nowhere.md"), "{done:?}");
    assert!(done.stderr.contains("hint: longhaul compaction templates --seed"), "{done:?}");
}

#[test]
fn ambiguous_id_lists_candidates() {
    let desk = Desk::new(script().on::<thread::ThreadGet>(|_| {
        let message = "thread \"0199a213\" could be 2 of them";
        let error =
            WireError::new(ErrorKind::Ambiguous, message).with_hint("give more of it: a, b");
        Reply::Error(error.with_detail(json!({ "candidates": ["a", "b"] })))
    }));
    let done = desk.run(&["thread", "show", "0199a213"]);
    assert_eq!(done.code, 64, "{done:?}");
    assert!(done.stderr.contains("could be 2 of them\nhint: give more of it: a, b"), "{done:?}");
    assert_eq!(desk.last_params::<thread::ThreadGet>().thread_id, "0199a213");
    let json = desk.run(&["thread", "show", "0199a213", "--json"]);
    assert!(json.stderr.contains(r#""candidates":["a","b"]"#), "{json:?}");
}

#[test]
fn updates_are_applied_in_order_until_one_is_rejected() {
    let desk = Desk::new(script().on::<checkpoint::Apply>(|params| {
        Reply::Result(match matches!(params.update, checkpoint::Update::Plan(_)) {
            true => json!({ "accepted": true, "seq": 7 }),
            false => json!({ "accepted": false, "rule": "evidence", "reason": "no such call", "hint": "name one", "seq": 7 }),
        })
    }));
    let file = desk.folder.path().join("updates.json");
    let apply = |updates: Value| {
        std::fs::write(&file, updates.to_string()).unwrap();
        desk.run(&["checkpoint", "apply", file.to_str().unwrap(), "--thread", THREAD])
    };
    let plan = json!({ "kind": "plan", "steps": [{ "id": "1", "text": "Rename it" }] });
    let fact = json!({ "kind": "fact", "key": "port", "value": "5433", "evidence": { "source": "tool_output", "ref": "c" } });
    let done = apply(plan.clone());
    assert_eq!((done.code, done.stdout.contains("1 update applied")), (0, true), "{done:?}");
    let done = apply(json!([plan, fact, plan]));
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.stderr.contains("update 2 of 3 (fact \"port\") was rejected: no such call"),
        "{done:?}"
    );
    assert!(done.stderr.contains("hint: name one; 1 update before it kept"), "{done:?}");
    let done = apply(json!([plan, { "kind": "policy" }]));
    assert_eq!(done.code, 64, "{done:?}");
    assert!(done.stderr.contains("update 2 of 2 cannot be read"), "{done:?}");
}

#[test]
fn checkpoint_is_exported_to_a_file_or_stdout() {
    let document = json!({
        "schema_version": 1, "seq": 7, "cwd": "/w", "task": null,
        "plan": { "steps": [], "done": {}, "in_progress": [] }, "decisions": [],
        "artifacts": { "/w/a.rs": { "uri": "a.rs", "kind": "file", "last_observed_seq": 3, "state": "read" } },
        "facts": {}, "recent_artifacts": ["/w/a.rs"], "requests": [], "errors": [],
    });
    let state = json!({ "checkpoint": document, "seq": 7, "digest": "d" });
    let desk = Desk::new(script().result::<checkpoint::CheckpointGet>(state));
    let done = desk.run(&["checkpoint", "export", THREAD]);
    assert_eq!(done.code, 0, "{done:?}");
    let expected = json!({
        "schemaVersion": 1, "seq": 7, "task": null, "plan": { "steps": [], "done": {} }, "decisions": [],
        "artifacts": { "a.rs": { "uri": "a.rs", "kind": "file", "lastObservedSeq": 3 } },
        "facts": {}, "recentArtifacts": ["a.rs"],
    });
    assert_eq!(done.json(), expected);
    let file = desk.folder.path().join("checkpoint_v1.json");
    assert_eq!(desk.run(&["checkpoint", "export", THREAD, "--json"]).stdout.lines().count(), 1);
    let to_file = desk.run(&["checkpoint", "export", THREAD, "--output", file.to_str().unwrap()]);
    assert_eq!(to_file.code, 0, "{to_file:?}");
    assert!(to_file.stdout.ends_with("checkpoint_v1.json\n"), "{to_file:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), done.stdout);
    let again = desk.run(&["checkpoint", "export", THREAD, "--output", file.to_str().unwrap()]);
    assert!(again.stdout.contains("in place of the file that was there"), "{again:?}");
}

#[test]
fn number_is_an_item_of_the_named_or_newest_thread() {
    let desk = Desk::new(script());
    for (args, thread) in
        [(&["expand", "#747"][..], THREAD), (&["expand", "747", "--thread", "0199"], "0199")]
    {
        let done = desk.run(args);
        assert_eq!(done.code, 0, "{done:?}");
        let params = desk.last_params::<history::Expand>();
        assert_eq!((params.handle.as_str(), params.thread_id.as_deref()), (args[1], Some(thread)));
    }
    desk.run(&["usage", THREAD, "--as-of", "#42"]);
    assert_eq!(desk.last_params::<context::Usage>().as_of, Some(42));
}

#[test]
fn job_is_named_by_its_kind_or_a_prefix() {
    let desk = Desk::new(script().on::<job::JobList>(|params| {
        let job = |name: &str| {
            json!({ "job": name, "kind": params.kind, "subject": "", "state": "done", "epoch": 1, "attempts": 0, "priority": 0, "is_pending": false, "created_at": 0, "updated_at": 0 })
        };
        let jobs = match params.kind.as_deref() {
            Some("extract") => vec![job("extract/0199a213"), job("extract/0199a2")],
            Some("consolidate") => vec![job("consolidate/")],
            _ => Vec::new(),
        };
        Reply::Result(json!({ "jobs": jobs }))
    }));
    for (named, expected) in [
        ("consolidate", "consolidate/"),
        ("extract/0199a21", "extract/0199a213"),
        ("extract/0199a2", "extract/0199a2"),
        ("prune", "prune/"),
        (&format!("extract/{THREAD}"), &format!("extract/{THREAD}")),
    ] {
        let done = desk.run(&["job", "retry", named]);
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(desk.last_params::<job::Retry>().job, expected, "{named}");
    }
    let done = desk.run(&["job", "why", "extract/0"]);
    assert_eq!(done.code, 64, "{done:?}");
    assert!(done.stderr.contains("hint: use a longer prefix: extract/0199a2"), "{done:?}");
}

#[test]
fn expand_prints_all_pages_but_one_with_json() {
    let pages = |params: history::ExpandParams| {
        let mut page = json!({ "items": [{ "type": "x" }], "path": "p", "byte_range": [0, 1] });
        if params.cursor.is_none() {
            set(&mut page, "next_cursor", "c2");
        }
        Reply::Result(page)
    };
    let desk = Desk::new(script().on::<history::Expand>(pages));
    assert_eq!(desk.run(&["expand", "h1"]).stdout.matches("bytes 0 to 1").count(), 2);
    assert_eq!(desk.run(&["expand", "h1", "--json"]).stdout.lines().count(), 1);
}

#[test]
fn expand_keeps_the_json_text_of_items() {
    let raw = r#"{"zeta":1.10,"alpha":12345678901234567890123,"text":"a\/b"}"#;
    let answer = format!(r#"{{"items":[{raw}],"path":"p","byte_range":[0,1]}}"#);
    let line =
        move |_| Reply::Lines(vec![format!(r#"{{"jsonrpc":"2.0","id":1,"result":{answer}}}"#)]);
    let done = Desk::new(script().on::<history::Expand>(line)).run(&["expand", "t#1", "--json"]);
    assert!(done.stdout.contains(raw), "{done:?}");
}

fn append(desk: &Desk, input: &str, args: &[&str]) -> Done {
    let file = desk.folder.path().join("input");
    std::fs::write(&file, input).unwrap();
    let mut command = desk.program();
    command.args(["thread", "append", THREAD]).args(args);
    run(command.stdin(std::fs::File::open(file).unwrap()))
}

#[test]
fn append_to_a_thread_of_an_agent_is_explained() {
    let answer = |_| Reply::Error(WireError::new(ErrorKind::ThreadNotFound, "no thread"));
    let desk = Desk::new(script().on::<thread::Append>(answer));
    let done = append(&desk, "{\"client_item_id\":\"a\",\"item\":{}}\n", &[]);
    assert!(done.stderr.contains("only a thread of longhaul thread open"), "{done:?}");
}

#[test]
fn append_and_close_take_a_prefix_and_look_up_no_full_id() {
    for (named, looked_up) in [(THREAD, 0), (&THREAD[..13], 1)] {
        let summary = crate::answers::thread();
        let found = json!({ "thread": summary, "files": [], "checkpoint_seq": 1 });
        let script = script().on::<thread::ThreadGet>(move |_| Reply::Result(found.clone()));
        let desk = Desk::new(script);
        assert_eq!(desk.run(&["thread", "close", named]).code, 0);
        assert_eq!(desk.last_params::<thread::Close>().thread_id, THREAD);
        assert_eq!(desk.run(&["thread", "append", named]).code, 0);
        assert_eq!(desk.last_params::<thread::Append>().thread_id, THREAD);
        assert_eq!(desk.server.calls::<thread::ThreadGet>().unwrap().len(), 2 * looked_up);
    }
}

#[test]
fn append_names_a_line_that_is_longer_than_an_item_may_be() {
    let text = "a".repeat(6 << 20);
    let lines = format!("{{\"type\":\"message\"}}\n{{\"content\":\"{text}\"}}\n");
    let done = append(&Desk::new(script()), &lines, &["--ids", "chat"]);
    assert_eq!(done.code, 64, "{done:?}");
    let expected = "error: line 2 of the input is too long\nhint: an item may have 4194304 bytes\n";
    assert_eq!(done.stderr, expected);
}

/// Every `thread/append`: number of items, first and last id, expected seq.
fn batches(desk: &Desk) -> Vec<(usize, String, String, Option<u64>)> {
    let shown = |params: thread::AppendParams| {
        let id = |item: Option<&thread::AppendItem>| item.unwrap().client_item_id.clone();
        let items = &params.items;
        (items.len(), id(items.first()), id(items.last()), params.expected_seq)
    };
    desk.server.calls::<thread::Append>().unwrap().into_iter().map(shown).collect()
}

#[test]
fn append_sends_consecutive_batches() {
    let answer = json!({ "thread_id": THREAD, "seq": 70, "offset": 9, "appended": 2, "duplicates": 1, "redacted": 1 });
    let desk = Desk::new(script().result::<thread::Append>(answer));
    let item = "{\"type\":\"message\",\"role\":\"user\",\"content\":\"x\"}\n";
    let done = append(&desk, &item.repeat(300), &["--ids", "chat", "--expected-seq", "7"]);
    assert_eq!(done.stdout, "appended 4 items, 2 already there, 2 secrets replaced, seq 70\n");
    let expected = [
        (256, "chat-1".to_owned(), "chat-256".to_owned(), Some(7)),
        (44, "chat-257".to_owned(), "chat-300".to_owned(), Some(70)),
    ];
    assert_eq!(batches(&desk), expected);
    // The last line needs no newline, and blank lines are skipped.
    let desk = Desk::new(script());
    let lines = format!("\n{{\"client_item_id\":\"a\",\"item\":{}}}", item.trim());
    assert_eq!(append(&desk, &lines, &[]).code, 0);
    assert_eq!(batches(&desk), [(1, "a".to_owned(), "a".to_owned(), None)]);
}

#[test]
fn invalid_line_is_named_and_its_batch_not_sent() {
    let desk = Desk::new(script());
    let done =
        append(&desk, "{\"client_item_id\":\"a\",\"item\":{}}\n{\"type\":\"message\"}\n", &[]);
    assert_eq!(done.code, 64, "{done:?}");
    assert!(
        done.stderr.contains("line 2 of the input") && done.stderr.contains("--ids"),
        "{done:?}"
    );
    assert!(batches(&desk).is_empty());
}
