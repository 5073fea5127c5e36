//! Requests of the Claude Code plugin: a briefing or why there is none, and an undo.

use super::*;

#[test]
fn briefing_fits_the_window() {
    let desk = Desk::of_agents(with_memory(script()));
    let wish = json!({ "context_window": 200_000, "trigger": "auto", "instructions": "the lexer" });
    let answer = desk.compact(&wish);
    let text = text_at(&answer, "text");
    assert!(text.starts_with("The conversation so far was compacted."), "{text}");
    let places = ["> the lexer", "[SESSION_CHECKPOINT v1]", "Use `just test`."];
    let places = places.map(|words| text.find(words).unwrap());
    assert!(places.is_sorted(), "the person's words, the view, the memory: {text}");
    assert_eq!(field(&answer, "protocol"), 1);
    assert_eq!(field(&answer, "tail_tokens"), 16_666);
    assert_eq!(text_at(&answer, "compaction_id"), COMPACTION);
    let asked = desk.last_params::<compaction::Run>();
    assert_eq!((asked.max_tokens, asked.trigger), (Some(8_000), Some(Trigger::Auto)));
    assert_eq!(asked.focus.as_deref(), Some("the lexer"));
    assert_eq!(desk.last_params::<thread::Sync>().path.as_deref(), Some(CLAUDE));

    desk.compact(&json!({ "agent_id": "a1" }));
    let path = "/home/user/.claude/projects/-w/0199/subagents/agent-a1.jsonl";
    assert_eq!(desk.last_params::<thread::Sync>().path.as_deref(), Some(path));
}

/// If the daemon does not answer, Claude Code compacts by itself without waiting for minutes.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test measures the time")]
fn slow_daemon_is_declined_in_time() {
    let nothing = || Reply::Lines(Vec::new());
    for (silent, script) in [
        ("thread/sync", script().on::<thread::Sync>(move |_| nothing())),
        ("compaction/run", script().on::<compaction::Run>(move |_| nothing())),
    ] {
        let desk = Desk::of_agents(script);
        let begun = std::time::Instant::now();
        let answer = desk.compact(&json!({}));
        let took = begun.elapsed();
        assert!(text_at(&answer, "declined").contains("1000 ms"), "{silent}: {answer}");
        // The plugin itself waits two seconds.
        assert!(took < std::time::Duration::from_millis(1_900), "{silent}: {took:?}");
        assert_eq!((field(&answer, "protocol"), answer.get("text")), (&json!(1), None), "{silent}");
    }
}

#[test]
fn late_first_lines_of_a_transcript_are_awaited() {
    let asked = AtomicUsize::new(0);
    let late = script().on::<thread::Sync>(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Reply::Error(WireError::new(ErrorKind::ThreadNotFound, "no thread")),
        _ => Reply::Result(json!({ "thread_id": "0199", "offset": 9, "seq": 9 })),
    });
    let answer = Desk::of_agents(late).compact(&json!({}));
    assert!(!text_at(&answer, "text").is_empty(), "{answer}");

    let never = |_| Reply::Error(WireError::new(ErrorKind::ThreadNotFound, "no thread"));
    let answer = Desk::of_agents(script().on::<thread::Sync>(never)).compact(&json!({}));
    assert!(text_at(&answer, "declined").contains("no thread"), "{answer}");
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
        assert!(text_at(&answer, "declined").contains(why), "{answer}");
        assert_eq!(answer.get("text"), None, "{answer}");
    }
    // The plugin uses the agents' socket, and only the person's exists here.
    let away = Desk::new(script());
    let answer = away.compact(&json!({}));
    assert!(text_at(&answer, "declined").contains("no daemon answers"), "{answer}");
}

#[test]
fn undo_finds_the_compaction_by_its_briefing() {
    let said = |text: &str| json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let undone = json!({
        "compaction_id": COMPACTION, "undone_at": 1, "history": [said("rename the parser")],
        "handles": [], "complete": true,
    });
    let whole = script().result::<compaction::Undo>(undone);
    // It is the person's command, so it uses the person's socket.
    let desk = Desk::of_agents(script());
    let person = ScriptedServer::start(&desk.folder.path().join("v1.sock"), whole).unwrap();
    let view = "[SESSION_CHECKPOINT v1]\n[TASK]\n- Rename the parser.";
    let stands = json!({ "instructions": "undo", "briefing": format!("It was compacted.\n\n{view}\n\nMemory") });
    let answer = desk.compact(&stands);
    let restored = field(&answer, "restored").as_array().unwrap();
    let texts: Vec<&str> = restored.iter().map(|it| text_at(it, "text")).collect();
    assert_eq!(
        texts,
        ["[longhaul put back below what a compaction had replaced]", "rename the parser"]
    );
    let asked = person.calls::<compaction::Undo>().unwrap().pop().unwrap();
    assert_eq!(asked.compaction_id, COMPACTION);

    for (more, why) in [
        (json!({ "instructions": "undo" }), "no briefing"),
        (json!({ "instructions": "undo", "briefing": "of another daemon" }), "no compaction with"),
    ] {
        let answer = desk.compact(&more);
        assert!(text_at(&answer, "declined").contains(why), "{answer}");
    }
    // A history too large for one message is not restored in part.
    let desk = Desk::of_agents(script());
    let _person = ScriptedServer::start(&desk.folder.path().join("v1.sock"), script()).unwrap();
    let answer = desk.compact(&stands);
    assert!(text_at(&answer, "declined").contains("too large for one message"), "{answer}");
}
