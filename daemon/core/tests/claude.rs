//! Hand-made sessions in Claude Code's format.

use longhaul_core::checkpoint::view::ViewCaps;
use longhaul_core::fold::{Fold, Source, ThreadKind};
use longhaul_core::item::ItemKind;
use serde_json::{Value, json};

use crate::session::{push, view};

/// A growing transcript: each line continues the previous one.
#[derive(Default)]
struct Session {
    lines: Vec<Vec<u8>>,
    last: Option<String>,
}

impl Session {
    fn line(&mut self, kind: &str, more: &Value) -> String {
        let uuid = format!("u{}", self.lines.len());
        let mut line = json!({
            "parentUuid": self.last, "isSidechain": false, "sessionId": "s1", "cwd": "/w",
            "version": "2.1.0", "type": kind, "uuid": uuid, "timestamp": "2026-01-02T03:04:05.678Z",
        });
        let fields = more.as_object().unwrap().clone();
        line.as_object_mut().unwrap().extend(fields);
        self.lines.push(line.to_string().into_bytes());
        self.last = Some(uuid.clone());
        uuid
    }

    fn ask(&mut self, text: &str) -> String {
        self.line("user", &json!({"message": {"role": "user", "content": text}}))
    }

    fn say(&mut self, text: &str) -> String {
        let content = json!([{"type": "text", "text": text}]);
        self.line("assistant", &json!({"message": {"model": "claude-x", "content": content}}))
    }

    fn call(&mut self, tool: &str, input: &Value, answer: (&str, Option<bool>, Value)) {
        let id = format!("t{}", self.lines.len());
        let content = json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
        self.line("assistant", &json!({"message": {"model": "claude-x", "content": content}}));
        let (text, is_error, result) = answer;
        let content = json!([
            {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error},
        ]);
        self.line("user", &json!({"message": {"content": content}, "toolUseResult": result}));
    }

    fn bash(&mut self, command: &str, exit_code: i64, printed: &str) {
        let input = json!({"command": command});
        let result = json!({"stdout": printed, "stderr": "", "interrupted": false});
        match exit_code {
            0 => self.call("Bash", &input, (printed, Some(false), result)),
            code => {
                let text = format!("Exit code {code}\n{printed}");
                let result = Value::String(format!("Error: {text}"));
                self.call("Bash", &input, (&text, Some(true), result));
            }
        }
    }

    fn fold(&self) -> Fold {
        let mut fold = Fold::new(Source::Claude);
        self.lines.iter().for_each(|line| push(&mut fold, line));
        fold
    }
}

fn everything() -> Session {
    let mut session = Session::default();
    session.ask("Add a retry to the fetcher.<system-reminder>be terse</system-reminder>");
    let todos = json!({"todos": [
        {"content": "Read the fetcher", "status": "completed"},
        {"content": "Add fetch_retry", "status": "in_progress"},
    ]});
    session.call("TodoWrite", &todos, ("Todos have been modified", None, json!({})));
    session.call(
        "Read",
        &json!({"file_path": "/w/src/fetch.rs"}),
        ("1\tfn once()", None, json!({})),
    );
    let edit =
        json!({"file_path": "/w/src/fetch.rs", "old_string": "a", "new_string": "fetch_retry"});
    session.call("Edit", &edit, ("The file has been updated", None, json!({})));
    let refused = "<tool_use_error>String to replace not found</tool_use_error>";
    let edit = json!({"file_path": "/w/src/never.rs", "old_string": "a", "new_string": "b"});
    session.call("Edit", &edit, (refused, Some(true), json!("Error")));
    let write = json!({"file_path": "/w/tests/retry.rs", "content": "mod retry;"});
    session.call("Write", &write, ("File created successfully", None, json!({})));
    let write = json!({"file_path": "/w/src/fetch.rs", "content": "fn once() {}"});
    session.call("Write", &write, ("The file has been updated", None, json!({})));
    session.bash("cargo test --all", 101, "error[E0308]: mismatched types");
    session.bash("git status --short", 0, " M src/fetch.rs");
    session.say("Half of it is done.");
    session
}

#[test]
fn tools_map_to_files_commands_and_plan() {
    let fold = everything().fold();
    let head = fold.head();
    assert_eq!((head.thread_id.as_deref(), head.cwd.as_deref()), (Some("s1"), Some("/w")));
    assert_eq!((head.malformed, head.unknown), (0, 0));
    assert_eq!(head.title.as_deref(), Some("Add a retry to the fetcher."));
    assert_eq!(head.model.as_deref(), Some("claude-x"));
    let text = view(&fold, &ViewCaps::default(), 4_000);
    for part in ["fetch.rs", "retry.rs", "cargo test --all", "101", "mismatched", "Add fetch_retry"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("be terse"), "{text}");
    let files = &fold.checkpoint().files;
    let state = |path: &str| files.find(path, Some("/w")).map(|file| file.state.into_str());
    assert_eq!(state("src/fetch.rs"), Some("edited"));
    assert_eq!(state("tests/retry.rs"), Some("created"));
    assert_eq!(state("src/never.rs"), None, "a rejected edit changes nothing");
    let steps: Vec<_> = fold.checkpoint().plan.open().map(|step| step.text.as_str()).collect();
    assert_eq!(steps, ["Add fetch_retry"]);
}

#[test]
fn tasks_become_plan_steps_with_their_ids() {
    let mut session = Session::default();
    session.ask("go");
    for (id, subject) in [(1, "first"), (2, "second"), (3, "third")] {
        let answer = format!("Task #{id} created successfully: {subject}");
        session.call("TaskCreate", &json!({"subject": subject}), (&answer, None, json!({})));
    }
    for (id, status) in [("1", "completed"), ("3", "deleted"), ("2", "in_progress")] {
        let update = json!({"taskId": id, "status": status});
        session.call("TaskUpdate", &update, ("Updated", None, json!({})));
    }
    let fold = session.fold();
    let steps: Vec<_> = fold.checkpoint().plan.items.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(steps, ["first", "second"]);
    assert_eq!(fold.checkpoint().plan.open().count(), 1);
}

#[test]
fn a_request_changed_by_the_person_leaves_the_first_branch() {
    let mut session = Session::default();
    session.ask("one");
    let root = session.say("done one");
    session.ask("wrong turn");
    session.say("went wrong");
    session.last = Some(root);
    session.ask("right turn");
    let fold = session.fold();
    assert_eq!(fold.checkpoint().requests.active().map(|r| r.text.as_str()), Some("right turn"));
    let visible: Vec<u64> = (0..5).filter(|seq| fold.visible().holds(*seq)).collect();
    assert_eq!(visible, [0, 1, 4]);
    assert_eq!(fold.head().items, 5, "every line can still be read");
}

#[test]
fn compactions_replace_the_earlier_history() {
    let mut session = everything();
    let before = session.fold().head().tokens;
    session.line(
        "system",
        &json!({"subtype": "compact_boundary", "content": "Conversation compacted"}),
    );
    let summary =
        json!({"isCompactSummary": true, "message": {"role": "user", "content": "So far: x"}});
    session.line("user", &summary);
    session.ask("go on");
    let fold = session.fold();
    assert_eq!((fold.head().compactions, fold.head().unknown), (1, 0));
    assert!(fold.head().tokens < before, "{} {before}", fold.head().tokens);
    assert_eq!(fold.visible().base(), Some(session.lines.len() as u64 - 2));
    assert!(view(&fold, &ViewCaps::default(), 4_000).contains("Add a retry"), "the state is kept");
}

#[test]
fn sub_agents_have_their_own_thread_or_none() {
    let mut session = Session::default();
    session.line(
        "user",
        &json!({"isSidechain": true, "agentId": "a7", "message": {"content": "look around"}}),
    );
    let head = session.fold().head().clone();
    assert_eq!((head.thread_id.as_deref(), head.kind), (Some("a7"), ThreadKind::Subagent));
    assert_eq!(head.parent_thread_id.as_deref(), Some("s1"));
    let mut session = Session::default();
    session.ask("delegate");
    session.line("user", &json!({"isSidechain": true, "message": {"content": "inline"}}));
    let input = json!({"file_path": "/w/made.rs", "content": "x"});
    let content = json!([{"type": "tool_use", "id": "i", "name": "Write", "input": input}]);
    session.line("assistant", &json!({"isSidechain": true, "message": {"content": content}}));
    let content = json!([{"type": "tool_result", "tool_use_id": "i", "content": "created"}]);
    session.line("user", &json!({"isSidechain": true, "message": {"content": content}}));
    let fold = session.fold();
    assert_eq!(fold.head().items, 1);
    assert!(fold.checkpoint().files.find("/w/made.rs", None).is_some());
}

#[test]
fn several_blocks_on_a_line_are_one_row() {
    let mut session = Session::default();
    let content = json!([{"type": "text", "text": "12345678"}, {"type": "text", "text": "1234"}]);
    session.line("assistant", &json!({"message": {"content": content}}));
    let mut fold = Fold::new(Source::Claude);
    let line = &session.lines[0];
    let place = longhaul_core::fold::Place { line: 0, offset: 0, bytes: line.len() as u64 };
    let row = fold.line(place, line).unwrap();
    assert_eq!((row.kind, row.tokens), (ItemKind::AssistantMessage, 3));
    assert_eq!((fold.head().items, fold.head().tokens), (1, 3));
}

#[test]
fn the_title_comes_from_the_strongest_source() {
    let mut session = Session::default();
    session.ask("the request");
    session
        .lines
        .push(br#"{"type":"custom-title","customTitle":"Mine","sessionId":"s1"}"#.to_vec());
    session.lines.push(br#"{"type":"ai-title","aiTitle":"Its","sessionId":"s1"}"#.to_vec());
    assert_eq!(session.fold().head().title.as_deref(), Some("Mine"));
}

#[test]
fn planted_secrets_are_nowhere() {
    // Assembled here, so that no scanner reports this file.
    let token = format!("gh{}_{}", "p", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2");
    let key = format!("AK{}{}", "IA", "Q3EGTXVRWKLM5ZPD");
    let mut session = Session::default();
    session.ask(&format!("use {token} and {key}"));
    session.say(&format!("I use {token}, {key}"));
    session.bash(&format!("curl -H 'Authorization: Bearer {token}' x"), 1, &format!("no {key}"));
    session.call("Read", &json!({"file_path": format!("/w/{token}")}), (&key, None, json!({})));
    let write = json!({"file_path": format!("/w/{token}.rs"), "content": format!("k = \"{key}\"")});
    session.call("Write", &write, ("ok", None, json!({})));
    let todos = json!({"todos": [{"content": format!("try {token}"), "status": "pending"}]});
    session.call("TodoWrite", &todos, ("ok", None, json!({})));
    let subject = json!({"subject": format!("try {key}")});
    session.call("TaskCreate", &subject, ("Task #1 created", None, json!({})));
    session.call("Grep", &json!({"pattern": token, "path": key}), (&token, None, json!({})));
    session.call("Agent", &json!({"prompt": token, "description": key}), (&key, None, json!({})));
    let attachment = json!({"type": "file", "content": format!("{token} {key}")});
    session.line("attachment", &json!({"attachment": attachment}));
    session.line(
        "user",
        &json!({"isCompactSummary": true, "message": {"content": format!("used {token} {key}")}}),
    );
    session
        .lines
        .push(json!({"type": "custom-title", "customTitle": token}).to_string().into_bytes());
    let fold = session.fold();
    let mut rows = String::new();
    let mut again = Fold::new(Source::Claude);
    for (seq, line) in (0..).zip(&session.lines) {
        let place = longhaul_core::fold::Place { line: seq, offset: 0, bytes: line.len() as u64 };
        rows.push_str(&format!("{:?}", again.line(place, line)));
    }
    let saved = String::from_utf8_lossy(&fold.save().unwrap()).into_owned();
    let text = view(&fold, &ViewCaps::default(), 100_000);
    for secret in [&token, &key] {
        for place in [&saved, &text, &rows] {
            assert!(!place.contains(secret.as_str()), "{place}");
        }
    }
}

#[test]
fn reports_of_other_agents_are_part_of_the_history() {
    let mut session = Session::default();
    session.ask("Check the four claims.");
    session.say("I send an agent for each.");
    session.ask(
        "<task-notification>\n<task-id>a1</task-id>\n<result>restrictedFuncMap in \
         src/template/func_map.go leaves genSelfSignedCert.</result>\n</task-notification>",
    );
    let fold = session.fold();
    let text = view(&fold, &ViewCaps::default(), 1_000);
    assert!(text.contains("src/template/func_map.go"), "{text}");
    assert!(text.contains("genSelfSignedCert"), "{text}");
    let request = fold.checkpoint().requests.active().map(|request| request.text.as_str());
    assert_eq!(request, Some("Check the four claims."), "a report is not a request");
}

#[test]
fn work_in_another_folder_is_recorded_under_its_own_path() {
    let mut session = Session::default();
    session.ask("Write the page.");
    session.bash("cd web && cat > src/page.ts <<'EOF'\nexport function page() {}\nEOF", 0, "");
    session.bash("cat >> notes.md <<'EOF'\n- The page is written as one function.\nEOF", 0, "");
    session.bash(
        "cat > probe.ts <<'EOF'\nfunction probe() {}\nEOF\nnpx tsx probe.ts; rm probe.ts",
        0,
        "",
    );
    session.bash("cd \"$tmp\" && echo x > settings.json", 0, "");
    session.bash("cat gone.md", 1, "cat: gone.md: No such file or directory");
    let text = view(&session.fold(), &ViewCaps::default(), 2_000);
    assert!(text.contains("web/src/page.ts (written whole (1 line); holds page)"), "{text}");
    assert!(
        text.contains("notes.md (edited, +1 -0)"),
        "what is appended to is not written whole: {text}"
    );
    assert!(!text.contains("function probe") && !text.contains("\nsettings.json"), "{text}");
    assert!(!text.contains("gone.md (read"), "{text}");
}

#[test]
fn commands_after_a_heredoc_are_read() {
    let mut session = Session::default();
    session.ask("Add a test.");
    session.bash(
        "cat >> a_test.go <<'EOF'\nfunc TestA() {}\nEOF\ngofmt -l . && go test ./... && git add -A && git commit -q -m 'test: a'",
        0,
        "ok  \tx/a\t0.1s\n[main 1926682b] test: a\n",
    );
    let text = view(&session.fold(), &ViewCaps::default(), 2_000);
    for part in ["go test ./... → exit 0; ok", "[main 1926682b] test: a (newest commit)"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("no test seen"), "{text}");
}

#[test]
fn choices_in_a_dialog_are_the_persons_words() {
    let mut session = Session::default();
    session.ask("Store the index.");
    let questions = json!({"questions": [{"question": "Which store?"}]});
    let answer =
        "Your questions have been answered: \"Which store?\"=\"SQLite\". You can now continue.";
    session.call("AskUserQuestion", &questions, (answer, None, json!({})));
    let declined = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nno new crate";
    let bash = json!({"command": "cargo add sled"});
    session.call("Bash", &bash, (declined, Some(true), json!("User rejected tool use")));
    session.bash("cat notes.txt", 0, answer);
    let text = view(&session.fold(), &ViewCaps::default(), 2_000);
    assert!(text.contains("in a dialog: Which store? → SQLite)"), "{text}");
    assert!(text.contains("in a dialog: instead of cargo add sled: no new crate)"), "{text}");
    assert_eq!(text.matches("in a dialog").count(), 2, "{text}");
}
