//! Requests of the Claude Code plugin: a briefing or why there is none, and an undo.

use super::*;

#[test]
fn briefing_fits_the_window() {
    let desk = Desk::of_agents(with_memory(script()));
    let wish = json!({ "context_window": 200_000, "trigger": "auto", "instructions": "the lexer" });
    let answer = desk.compact(&wish);
    let text = answer["text"].as_str().unwrap();
    assert!(text.starts_with("The conversation so far was compacted."), "{text}");
    let places = ["> the lexer", "[SESSION_CHECKPOINT v1]", "Use `just test`."];
    let places = places.map(|words| text.find(words).unwrap());
    assert!(places.is_sorted(), "the person's words, the view, the memory: {text}");
    assert_eq!((&answer["protocol"], &answer["tail_tokens"]), (&json!(1), &json!(16_666)));
    assert_eq!(answer["compaction_id"], COMPACTION);
    let asked = desk.last_params("compaction/run");
    assert_eq!((&asked["max_tokens"], &asked["trigger"]), (&json!(8_000), &json!("auto")));
    assert_eq!(asked["focus"], "the lexer");
    assert_eq!(desk.last_params("thread/sync")["path"], CLAUDE);

    desk.compact(&json!({ "agent_id": "a1" }));
    let path = "/home/user/.claude/projects/-w/0199/subagents/agent-a1.jsonl";
    assert_eq!(desk.last_params("thread/sync")["path"], path);
}

/// If the daemon does not answer, Claude Code compacts by itself without waiting for minutes.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test measures the time")]
fn slow_daemon_is_declined_in_time() {
    for silent in ["thread/sync", "compaction/run"] {
        let desk = Desk::of_agents(script().on(silent, |_| Reply::Lines(Vec::new())));
        let begun = std::time::Instant::now();
        let answer = desk.compact(&json!({}));
        let took = begun.elapsed();
        let declined = answer["declined"].as_str().unwrap();
        assert!(declined.contains("1000 ms"), "{silent}: {answer}");
        // The plugin itself waits two seconds.
        assert!(took < std::time::Duration::from_millis(1_900), "{silent}: {took:?}");
        assert_eq!((&answer["protocol"], answer.get("text")), (&json!(1), None), "{silent}");
    }
}

#[test]
fn late_first_lines_of_a_transcript_are_awaited() {
    let asked = AtomicUsize::new(0);
    let late = script().on("thread/sync", move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Reply::Error(WireError::new(ErrorKind::ThreadNotFound, "no thread")),
        _ => Reply::Result(json!({ "thread_id": "0199", "offset": 9, "seq": 9 })),
    });
    let answer = Desk::of_agents(late).compact(&json!({}));
    assert!(answer["text"].is_string(), "{answer}");

    let never = |_: &Value| Reply::Error(WireError::new(ErrorKind::ThreadNotFound, "no thread"));
    let answer = Desk::of_agents(script().on("thread/sync", never)).compact(&json!({}));
    assert!(answer["declined"].as_str().unwrap().contains("no thread"), "{answer}");
}

#[test]
fn missing_briefing_has_a_reason() {
    let desk = Desk::of_agents(script());
    let unread = desk.folder.path().join("long.jsonl");
    std::fs::write(&unread, vec![b'\n'; 3_000_000]).unwrap();
    for (more, why) in [
        (json!({ "protocol": 2 }), "the plugin's protocol is version 2, this program's 1"),
        (json!({ "transcript_path": "" }), "writes no transcript"),
        (json!({ "agent_id": "../x" }), "is not a file name"),
        (json!({ "transcript_path": unread }), "of 3000000 bytes"),
    ] {
        let answer = desk.compact(&more);
        let declined = answer["declined"].as_str().unwrap();
        assert!(declined.contains(why) && answer["text"].is_null(), "{answer}");
    }
    // The plugin uses the agents' socket, and only the person's exists here.
    let away = Desk::new(script());
    assert!(away.compact(&json!({}))["declined"].as_str().unwrap().contains("no daemon answers"));
}

#[test]
fn undo_finds_the_compaction_by_its_briefing() {
    let said = |text: &str| json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let undone = json!({
        "compaction_id": COMPACTION, "undone_at": 1, "history": [said("rename the parser")],
        "handles": [], "complete": true,
    });
    let whole = script().result("compaction/undo", undone);
    // It is the person's command, so it uses the person's socket.
    let desk = Desk::of_agents(script());
    let person = ScriptedServer::start(&desk.folder.path().join("v1.sock"), whole).unwrap();
    let view = "[SESSION_CHECKPOINT v1]\n[TASK]\n- Rename the parser.";
    let stands = json!({ "instructions": "undo", "briefing": format!("It was compacted.\n\n{view}\n\nMemory") });
    let answer = desk.compact(&stands);
    let texts: Vec<&Value> =
        answer["restored"].as_array().unwrap().iter().map(|it| &it["text"]).collect();
    assert_eq!(
        texts,
        ["[longhaul put back below what a compaction had replaced]", "rename the parser"]
    );
    let asked = person.requests().into_iter().rev().find(|(method, _)| method == "compaction/undo");
    assert_eq!(asked.unwrap().1["compaction_id"], COMPACTION);

    for (more, why) in [
        (json!({ "instructions": "undo" }), "no briefing"),
        (json!({ "instructions": "undo", "briefing": "of another daemon" }), "no compaction with"),
    ] {
        let declined = desk.compact(&more)["declined"].clone();
        assert!(declined.as_str().unwrap().contains(why), "{declined}");
    }
    // A history too large for one message is not restored in part.
    let desk = Desk::of_agents(script());
    let _person = ScriptedServer::start(&desk.folder.path().join("v1.sock"), script()).unwrap();
    let declined = desk.compact(&stands)["declined"].clone();
    assert!(declined.as_str().unwrap().contains("too large for one message"), "{declined}");
}
