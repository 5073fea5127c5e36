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
    let by_sdk = main.replace(r#""version""#, r#""entrypoint":"sdk-ts","version""#);
    assert_eq!(meta(&by_sdk).unwrap().kind, crate::thread::ThreadKind::Exec);
    assert_eq!(meta(&main).unwrap().kind, crate::thread::ThreadKind::Interactive);
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

/// The items of a line with their estimated tokens.
fn weights(line: &str) -> Vec<u64> {
    let mut weights = Vec::new();
    read(line.as_bytes(), false, &mut |entry| {
        if let Body::Item(_, tokens) = entry.body {
            weights.push(tokens);
        }
    });
    weights
}

#[test]
fn attachments_are_read_as_what_the_model_receives() {
    for (attachment, expected) in [
        (r#"{"type":"token_usage","used":"9"}"#, vec!["Passed"]),
        (
            r#"{"type":"skill_listing","content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"image","source":{"media_type":"image/png","data":"AAAA"}},{"b":{"text":"c"}}]}"#,
            vec!["Developer a\nc 0"],
        ),
        (r#"{"type":"skill_listing","content":["",""]}"#, vec!["Passed"]),
        (r#"{"type":"queued_command","prompt":"","commandMode":"prompt"}"#, vec!["Passed"]),
        (r#"{"type":"queued_command","commandMode":"task-notification"}"#, vec!["Passed"]),
        (
            r#"{"type":"queued_command","prompt":"done","commandMode":"task-notification"}"#,
            vec!["Developer done 0"],
        ),
        (
            r#"{"type":"queued_command","prompt":[{"type":"text","text":"also"},{"type":"text","text":"this"}]}"#,
            vec![r#"branch Some("p")"#, "User also\nthis 0"],
        ),
    ] {
        let line = line("attachment", &format!(r#""attachment":{attachment}"#));
        assert_eq!(entries(&line), expected, "{attachment}");
        let aside = line.replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
        assert_eq!(entries(&aside), ["Passed"], "{attachment}");
    }
}

#[test]
fn titles_and_notices_outside_the_conversation() {
    for (rest, expected) in [
        (
            r#""type":"summary","summary":"Fix the parser""#,
            r#"Title { words: "Fix the parser", by: Summary }"#,
        ),
        (r#""type":"ai-title","aiTitle":"Parser""#, r#"Title { words: "Parser", by: Model }"#),
        (r#""type":"custom-title","customTitle":" ""#, "Passed"),
        (r#""type":"system","subtype":"informational""#, "Passed"),
        (r#""type":"system","content":"x""#, "Passed"),
    ] {
        assert_eq!(entries(&format!("{{{rest}}}")), [expected], "{rest}");
    }
}

#[test]
fn only_what_the_harness_prints_reports_a_failed_compaction() {
    for (text, expected) in [
        ("<local-command-stderr>Error during compaction: x</local-command-stderr>", true),
        ("<local-command-stdout>Compacted</local-command-stdout>", false),
    ] {
        let content = serde_json::to_string(text).unwrap();
        let found = entries(&line("user", &format!(r#""message":{{"content":{content}}}"#)));
        assert_eq!(found.iter().any(|it| it == "TurnFailed(Compaction)"), expected, "{text}");
    }
    let meta = line("user", r#""isMeta":true,"message":{"content":"Error during compaction"}"#);
    assert_eq!(entries(&meta), ["Developer Error during compaction 0"]);
}

#[test]
fn messages_by_the_harness_are_no_answers() {
    let counted = r#""stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}"#;
    let said = |flag: &str, model: &str| {
        let message = format!(
            r#"{flag}"message":{{"model":"{model}","content":[{{"type":"text","text":"Prompt is too long"}}],{counted}}}"#
        );
        entries(&line("assistant", &message))
    };
    let (flag, said_by_harness) =
        (r#""isApiErrorMessage":true,"#, "Developer Prompt is too long 0");
    let failed = ["in /w", "TurnFailed(ContextFull)", said_by_harness];
    assert_eq!(said(flag, "<synthetic>"), failed);
    assert_eq!(said(flag, "claude-x"), failed);
    assert_eq!(said("", "<synthetic>"), ["in /w", said_by_harness]);
    let own = [
        "model claude-x",
        "in /w",
        "Assistant Prompt is too long 0",
        "usage Some(5)",
        "TurnComplete",
    ];
    assert_eq!(said("", "claude-x"), own);
}

#[test]
fn a_request_that_counted_nothing_says_nothing_of_the_window() {
    let usage = |usage: &str| {
        let message = format!(r#""message":{{"model":"m","content":[],"usage":{usage}}}"#);
        let mut found = None;
        read(line("assistant", &message).as_bytes(), false, &mut |entry| {
            if let Body::Usage(usage) = entry.body {
                found = Some((usage.total_tokens, usage.cache_lifetime_ms));
            }
        });
        found.unwrap()
    };
    let written = |hour: u64, minutes: u64| {
        usage(&format!(
            r#"{{"input_tokens":1,"cache_creation":{{"ephemeral_1h_input_tokens":{hour},"ephemeral_5m_input_tokens":{minutes}}}}}"#
        ))
    };
    assert_eq!(usage(r#"{"input_tokens":0,"output_tokens":7}"#), (None, None));
    assert_eq!(written(5, 0), (Some(1), Some(3_600_000)));
    assert_eq!(written(5, 5), (Some(1), Some(3_600_000)));
    assert_eq!(written(0, 5), (Some(1), Some(300_000)));
    assert_eq!(written(0, 0), (Some(1), None));
}

#[test]
fn the_tokens_of_images_and_calls_count() {
    let image =
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#;
    let cost = tokens::image::cost_bytes("aGk=", false);
    let text = r#"{"type":"text","text":"why?"},{"type":"text","text":"how?"}"#;
    let asked = line("user", &format!(r#""message":{{"content":[{image},{image},{text}]}}"#));
    assert_eq!(entries(&asked)[1], "User why?\nhow? 2");
    assert_eq!(weights(&asked), [tokens::of_bytes(9 + 2 * cost)]);
    let seen = line(
        "user",
        &format!(
            r#""message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":[{image},{text}]}}]}}"#
        ),
    );
    assert_eq!(weights(&seen), [tokens::of_bytes(9 + cost)]);
    let arguments = format!(r#"{{"file_path":"/w/{}"}}"#, "a".repeat(400));
    let call = line(
        "assistant",
        &format!(
            r#""message":{{"content":[{{"type":"redacted_thinking","data":"{}"}},{{"type":"tool_use","id":"t","name":"Read","input":{arguments}}}]}}"#,
            "x".repeat(2_000)
        ),
    );
    let expected = [tokens::of_encrypted(2_000), tokens::of_bytes(arguments.len() as u64 + 4)];
    assert_eq!(weights(&call), expected);
    assert!(entries(&call)[1].starts_with("reasoning Some(2000)"), "{:?}", entries(&call));
}

#[test]
fn each_answer_leaves_with_its_own_images() {
    let block = |id: &str, data: &str| {
        format!(
            r#"{{"type":"tool_result","tool_use_id":"{id}","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}]}}"#
        )
    };
    let (one, two) = (block("t1", "AAAA"), block("t2", "BBBB"));
    let seen = line("user", &format!(r#""message":{{"content":[{one},{two}]}}"#));
    let urls: Vec<_> = responses::items(seen.as_bytes())
        .iter()
        .map(|item| item["output"][0]["image_url"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(urls, ["data:image/png;base64,AAAA", "data:image/png;base64,BBBB"]);
    let summary = line("user", r#""isCompactSummary":true,"message":{"content":"so far"}"#);
    let found = responses::items(summary.as_bytes());
    assert_eq!(
        (&found[0]["role"], &found[0]["content"][0]["text"]),
        (&"user".into(), &"so far".into())
    );
}

/// Agents cut texts between the halves of a pair; JavaScript writes what is left as an escape.
#[test]
fn half_a_character_is_replaced_and_the_rest_is_read() {
    for (half, expected) in [
        (r"\ud83d", "a\u{fffd}b"),
        (r"\uDE00", "a\u{fffd}b"),
        (r"\ud83d\ude00", "a😀b"),
        (r"\\ud83d", r"a\ud83db"),
    ] {
        let result = format!(r#"{{"type":"tool_result","tool_use_id":"t","content":"a{half}b"}}"#);
        let line = line("user", &format!(r#""message":{{"content":[{result}]}}"#));
        assert_eq!(entries(&line), [format!("t: {expected}")], "{half}");
    }
}

#[test]
fn edits_of_a_sub_agent_that_has_not_reported_are_read_from_its_progress() {
    let progress = |role: &str, block: &str| {
        let message = format!(r#"{{"role":"{role}","content":[{block}]}}"#);
        let noted = format!(r#"{{"type":"{role}","message":{message},"uuid":"v"}}"#);
        let prompt = "Write the parts of the plan. ".repeat(300);
        let data = format!(r#"{{"message":{noted},"type":"agent_progress","prompt":"{prompt}"}}"#);
        line("progress", &format!(r#""data":{data}"#))
    };
    let call = |name: &str| {
        let input = r#"{"file_path":"/w/a.rs","content":"fn a() {}"}"#;
        progress(
            "assistant",
            &format!(r#"{{"type":"tool_use","id":"t1","name":"{name}","input":{input}}}"#),
        )
    };
    assert_eq!(entries(&call("Write")), ["aside"]);
    assert_eq!(entries(&call("Read")), ["Passed"]);
    let answer = r#"{"type":"tool_result","tool_use_id":"t1","content":"File created"}"#;
    assert_eq!(entries(&progress("user", answer)), ["aside"]);
    let read = answer.replace("File created", &"fn a() {} ".repeat(500));
    assert_eq!(entries(&progress("user", &read)), ["Passed"]);
    assert_eq!(entries(&progress("user", r#"{"type":"text","text":"Write it."}"#)), ["Passed"]);
    let hook = r#""data":{"type":"hook_progress","hookName":"agent_progress"}"#;
    assert_eq!(entries(&line("progress", hook)), ["Passed"]);
}
