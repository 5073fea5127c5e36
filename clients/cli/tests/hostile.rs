//! A daemon that does not sanitize its answers: the program prints only text and its own colors.

use longhaul_client::scripted::Reply;
use longhaul_printable::is_hidden;
use longhaul_protocol::{history, thread};
use serde_json::{Value, json};

use crate::answers::{COMPACTION, THREAD, script};
use crate::{Desk, Done};

const HOSTILE: &str = "\u{1b}[7mEVIL\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{7f}\u{202e}b\u{2066}\u{200b}\u{e0041}\r";

/// Fields with untrusted text. The rest are ids, our own names and numbers.
const WORDS: &[&str] = &[
    "agent",
    "answer",
    "arguments",
    "branch",
    "call_id",
    "cli_version",
    "cwd",
    "detail",
    "excerpt",
    "failure",
    "git_branch",
    "hint",
    "instructions",
    "key",
    "message",
    "model",
    "name",
    "originator",
    "output",
    "path",
    "project",
    "prompt",
    "quote",
    "role",
    "root",
    "socket",
    "state_dir",
    "subject",
    "summary",
    "text",
    "title",
    "value",
    "view",
    "worker",
];

/// Commands that print the daemon's answers.
const PRINTING: &[&[&str]] = &[
    &["status"],
    &["thread", "list"],
    &["thread", "show", THREAD],
    &["thread", "tail"],
    &["thread", "open", "--key", "notes"],
    &["thread", "close", THREAD],
    &["usage"],
    &["context", "estimate", "Cargo.toml"],
    &["context", "truncate", "Cargo.toml", "--tokens", "1"],
    &["search", "connection", "refused"],
    &["compact"],
    &["compact", "--view-only"],
    &["continue", THREAD],
    &["expand", "h2"],
    &["history", THREAD],
    &["history", THREAD, "--full"],
    &["undo", COMPACTION],
    &["compaction", "list"],
    &["compaction", "show", COMPACTION],
    &["compaction", "templates"],
    &["checkpoint", "show"],
    &["checkpoint", "show", "--state"],
    &["memory", "show"],
    &["memory", "show", "MEMORY.md"],
    &["memory", "search", "dates"],
    &["memory", "status"],
    &["memory", "run"],
    &["memory", "note", "Use tabs."],
    &["prompts"],
    &["prompts", "--add", "Fix it."],
    &["job", "list"],
    &["job", "show", "consolidate"],
    &["job", "why", "consolidate"],
    &["policy", "check"],
    &["policy", "templates"],
    &["policy", "log", THREAD],
    &["policy", "explain", "d1"],
    &["policy", "report", THREAD],
    &["config", "show"],
    &["metrics"],
    &["doctor"],
];

/// The answer with hostile characters in every untrusted text.
fn poisoned(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(name, field): (String, Value)| {
                let field = match field {
                    Value::String(text) if WORDS.contains(&name.as_str()) => {
                        json!(format!("{text}{HOSTILE}"))
                    }
                    other => poisoned(other),
                };
                (name, field)
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        Value::Array(items) => items.into_iter().map(poisoned).collect(),
        other => other,
    }
}

fn desk() -> Desk {
    let item = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "x" }] });
    let call =
        json!({ "type": "function_call", "name": "shell", "arguments": "ls", "call_id": "c" });
    let origin = json!({ "seq": 1, "kind": "user_message", "tokens": 3 });
    let history = json!({
        "thread_id": THREAD, "seq": 9, "base": { "kind": "start", "seq": 0 }, "items": [item, call],
        "origins": [origin, origin], "tokens": 6,
    });
    let script = script().result::<history::HistoryGet>(history).changed(poisoned);
    let desk = Desk::new(script);
    std::fs::write(desk.folder.path().join("Cargo.toml"), "text\n").unwrap();
    desk
}

/// Unexpected hidden characters in the output.
fn odd(done: &Done, is_color: bool) -> String {
    let own = ["0", "1", "2", "22", "31", "32", "33", "39"].map(|code| format!("\x1b[{code}m"));
    let all = [done.stdout.as_str(), done.stderr.as_str()].concat();
    let text = match is_color {
        true => own.iter().fold(all, |text, color| text.replace(color, "")),
        false => all,
    };
    let odd = text.chars().filter(|c| is_hidden(*c) && !matches!(c, '\n' | '\t'));
    odd.map(|c| c.escape_unicode().to_string()).collect()
}

#[test]
fn no_command_prints_hidden_characters() {
    let desk = desk();
    let mut shown = 0;
    for args in PRINTING {
        for more in [&["--color", "never"][..], &["--color", "always"], &["--json"]] {
            let done = desk.run(&[args, more].concat());
            assert_ne!((done.code, done.stdout.len()), (64, 0), "{args:?}: {done:?}");
            assert_eq!(odd(&done, more.contains(&"always")), "", "{args:?} {more:?}: {done:?}");
            let all = done.stdout + &done.stderr;
            shown += usize::from(all.contains("\\u{202e}") || all.contains("\\u202e"));
        }
    }
    assert!(shown > PRINTING.len(), "planted characters are shown escaped: {shown}");
}

#[test]
fn errors_are_printed_without_hidden_characters() {
    let error = longhaul_protocol::WireError::new(
        longhaul_protocol::ErrorKind::ThreadNotFound,
        format!("no thread {HOSTILE}"),
    );
    let script =
        script().on::<thread::ThreadGet>(move |_| Reply::Error(error.clone().with_hint(HOSTILE)));
    let desk = Desk::new(script);
    for more in [&["--color", "always"][..], &["--json"]] {
        let done = desk.run(&[&["thread", "show", THREAD], more].concat());
        assert_eq!((done.code, odd(&done, false).as_str()), (1, ""), "{done:?}");
    }
    let done = desk.run(&["thread", "show", "--no-such", HOSTILE]);
    assert_eq!((done.code, odd(&done, false).as_str()), (64, ""), "{done:?}");
}

#[test]
fn escaped_json_is_the_same_value() {
    let item = json!({ "type": "message", "text": HOSTILE });
    let answer = json!({ "items": [item], "path": "p", "byte_range": [0, 1] });
    let desk = Desk::new(script().result::<history::Expand>(answer.clone()));
    let done = desk.run(&["expand", "h1", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&done.stdout).unwrap(), answer, "{done:?}");
}
