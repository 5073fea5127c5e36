use super::super::OBJECTS_MAX;
use super::*;

fn line(kind: &str, rest: &str) -> String {
    format!(
        r#"{{"parentUuid":"p","isSidechain":false,"sessionId":"s","cwd":"/w","version":"2.1.0","type":"{kind}","timestamp":"2026-01-01T00:00:00.000Z","uuid":"u",{rest}}}"#
    )
}

/// Describes the entries of a line.
fn entries(line: &str) -> Vec<String> {
    let mut entries = Vec::new();
    read(line.as_bytes(), false, &mut |entry| {
        entries.push(match entry.body {
            Body::Item(Item::Message { role, text, images }, _) => {
                format!("{role:?} {text} {}", images.count)
            }
            Body::Item(Item::Call(call), _) => format!("call {} {}", call.name, call.arguments),
            Body::Item(Item::Output { call_id, text, .. }, _) => format!("{call_id}: {text}"),
            Body::Item(Item::Reasoning { encrypted, .. }, tokens) => {
                format!("reasoning {encrypted:?} {tokens}")
            }
            Body::Compacted(compacted) => format!("compacted {}", compacted.message),
            Body::Usage(Usage { compacted_at: Some(tokens), .. }) => {
                format!("compacted at {tokens}")
            }
            Body::Usage(Usage { compaction: Some(report), .. }) => {
                format!("compaction of {:?}", report.tokens_before)
            }
            Body::Usage(usage) => format!("usage {:?}", usage.total_tokens),
            Body::Branch { parent } => format!("branch {parent:?}"),
            Body::Settings(settings) => format!("model {}", settings.model.unwrap_or_default()),
            Body::Folder { path } => format!("in {path}"),
            Body::Aside(_) => "aside".to_owned(),
            other => format!("{other:?}"),
        });
    });
    entries
}

#[test]
fn blocks_become_items() {
    let cases = [
        (
            line("user", r#""message":{"role":"user","content":"fix it"}"#),
            vec![r#"branch Some("p")"#, "User fix it 0"],
        ),
        (
            line(
                "assistant",
                r#""message":{"model":"claude-x","content":[{"type":"thinking","thinking":"12345678","signature":"s"},{"type":"text","text":"on it"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"cache_read_input_tokens":10,"output_tokens":2}}"#,
            ),
            vec![
                "model claude-x",
                "in /w",
                "reasoning None 2",
                "Assistant on it 0",
                r#"call Bash {"command":"ls"}"#,
                "usage Some(15)",
            ],
        ),
        (
            line(
                "user",
                r#""message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a"},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"b"}]}]}"#,
            ),
            vec!["t1: a", "t2: b"],
        ),
        (
            line("user", r#""isCompactSummary":true,"message":{"role":"user","content":"so far"}"#),
            vec!["compacted so far"],
        ),
        (
            line("user", r#""isMeta":true,"message":{"role":"user","content":"Base directory"}"#),
            vec!["Developer Base directory 0"],
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(entries(&line), expected, "{line}");
    }
}

#[test]
fn a_commands_exit_status_is_part_of_its_output() {
    let answer = |is_error: bool, content: &str, result: &str| {
        let content = serde_json::to_string(content).unwrap();
        let block = format!(
            r#"{{"type":"tool_result","tool_use_id":"t","content":{content},"is_error":{is_error}}}"#
        );
        let result = format!(r#""toolUseResult":{result}"#);
        let line = line("user", &format!(r#""message":{{"content":[{block}]}},{result}"#));
        entries(&line).remove(0)
    };
    let shell = r#"{"stdout":"ok","stderr":"","interrupted":false}"#;
    assert_eq!(answer(false, "ok", shell), "t: Exit code: 0\nOutput:\nok");
    assert_eq!(
        answer(true, "Exit code 2\nboom", r#""Error: Exit code 2\nboom""#),
        "t: Exit code: 2\nOutput:\nboom"
    );
    let late = r#"{"stdout":"","interrupted":true}"#;
    assert_eq!(answer(false, "cut", late), "t: cut");
    let background = r#"{"stdout":"","backgroundTaskId":"b7"}"#;
    assert_eq!(
        answer(false, "running", background),
        "t: Process running with session ID b7\nOutput:\nrunning"
    );
    let refused = "<tool_use_error>no such file</tool_use_error>";
    assert_eq!(answer(true, refused, r#""Error""#), format!("t: {refused}"));
    assert_eq!(answer(true, "no", r#""x""#), "t: execution error: no");
    assert_eq!(answer(false, "1\tfn a()", r#"{"type":"text","file":{}}"#), "t: 1\tfn a()");
}

#[test]
fn lines_outside_the_conversation() {
    let compacted = |trigger, tokens| {
        let metadata = format!(r#"{{"trigger":"{trigger}","preTokens":{tokens}}}"#);
        line("system", &format!(r#""subtype":"compact_boundary","compactMetadata":{metadata}"#))
    };
    for (line, expected) in [
        (line("progress", r#""data":{}"#), "Passed"),
        (line("system", r#""subtype":"compact_boundary""#), "Passed"),
        (compacted("manual", 1_150), "compaction of Some(1150)"),
        (compacted("auto", 166_800), "compacted at 166800"),
        (line("system", r#""subtype":"turn_duration""#), "TurnComplete"),
        (line("system", r#""subtype":"brand_new""#), "Unknown"),
        (line("brand-new", r#""x":1"#), "Unknown"),
        (line("attachment", r#""attachment":{"type":"brand_new"}"#), "Unknown"),
        (line("attachment", r#""attachment":{"type":"task_reminder","content":[]}"#), "Passed"),
        (
            line("attachment", r#""attachment":{"type":"skill_listing","content":"- a: b"}"#),
            "Developer - a: b 0",
        ),
        (
            r#"{"type":"custom-title","customTitle":"Parser","sessionId":"s"}"#.to_owned(),
            r#"Title { words: "Parser", by: Person }"#,
        ),
        ("[1]".to_owned(), "Malformed"),
        (r#"{"type":"user","#.to_owned(), "Malformed"),
        (r#"{"type":"user","message":{"content":7}}"#.to_owned(), "Unknown"),
    ] {
        assert_eq!(entries(&line), [expected], "{line}");
    }
    let queued =
        r#""attachment":{"type":"queued_command","prompt":"also this","commandMode":"prompt"}"#;
    assert_eq!(entries(&line("attachment", queued))[1], "User also this 0");
    let late = line(
        "assistant",
        r#""isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}"#,
    );
    assert_eq!(entries(&late), ["in /w", "Developer API Error 0"]);
}

#[test]
fn the_identity_of_a_thread_is_parsed() {
    let meta = |line: &str| {
        let mut meta = None;
        read(line.as_bytes(), true, &mut |entry| {
            if let Body::Meta(found) = entry.body {
                meta = Some(*found);
            }
        });
        meta
    };
    let main =
        line("user", r#""message":{"content":"x"},"gitBranch":"main"}"#.trim_end_matches('}'));
    let found = meta(&main).unwrap();
    assert_eq!((found.id.as_deref(), found.cwd.as_deref()), (Some("s"), Some("/w")));
    assert_eq!(found.git_branch.as_deref(), Some("main"));
    let agent = main.replace(r#""isSidechain":false"#, r#""isSidechain":true,"agentId":"a1""#);
    let found = meta(&agent).unwrap();
    assert_eq!((found.id.as_deref(), found.parent_thread_id.as_deref()), (Some("a1"), Some("s")));
    assert_eq!(found.kind, crate::thread::ThreadKind::Subagent);
    assert_eq!(entries(&agent).len(), 2);
    let inline = main.replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    assert_eq!((meta(&inline), entries(&inline)), (None, vec!["Passed".to_owned()]));
    let fork = main.replace(r#""version""#, r#""forkedFrom":{"sessionId":"s0"},"version""#);
    assert_eq!(meta(&fork).unwrap().forked_from.as_deref(), Some("s0"));
}

#[test]
fn items_leave_in_the_responses_form() {
    let image =
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#;
    let asked = line(
        "user",
        &format!(r#""message":{{"content":[{image},{{"type":"text","text":"why?"}}]}}"#),
    );
    let found = responses::items(asked.as_bytes());
    let content = &found[0]["content"];
    assert_eq!((&found[0]["role"], &content[0]["text"]), (&"user".into(), &"why?".into()));
    assert_eq!(content[1]["image_url"], "data:image/png;base64,aGk=");
    let seen = line(
        "user",
        &format!(
            r#""message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":[{image}]}}]}}"#
        ),
    );
    let found = responses::items(seen.as_bytes());
    assert_eq!(found[0]["output"][0]["type"], "input_image");
    let call = line(
        "assistant",
        r#""message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/w/a"}}]}"#,
    );
    let found = responses::items(call.as_bytes());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["arguments"], r#"{"file_path":"/w/a"}"#);
    for item in found {
        assert!(super::super::codex::read_item(&item.to_string()).is_some());
    }
}

#[test]
fn several_objects_on_a_line_are_parsed_and_reported() {
    let line = line("user", r#""message":{"role":"user","content":"fix it"}"#);
    let branch = r#"branch Some("p")"#;
    let once = entries(&line);
    assert_eq!(once, [branch, "User fix it 0"]);
    let expected_of = |times: usize| {
        let read = std::iter::repeat_n(once.clone(), times).flatten();
        read.chain(["Malformed".to_owned()]).collect::<Vec<_>>()
    };
    assert_eq!(entries(&format!("{line}{line}")), expected_of(2));
    assert_eq!(entries(&format!("{line} {{\"torn")), expected_of(1));
    assert_eq!(entries(&line.repeat(OBJECTS_MAX + 1)), expected_of(OBJECTS_MAX));
}
