use super::super::outline::outline;
use super::*;
use crate::rollout::patch::Op;
use crate::thread::ThreadKind;
use crate::tokens;

fn entries(line: &[u8]) -> Vec<String> {
    outline(|line, _, visit| read(line, visit), line)
}

fn envelope(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-02T03:04:05.678Z","type":"{kind}","payload":{payload}}}"#)
}

#[test]
fn lines_of_every_generation_are_read() {
    let time = r#""timestamp":"2025-05-07T17:24:21.597Z""#;
    let meta = r#"meta Some("s1") None Interactive None"#;
    for (line, expected) in [
        (format!(r#"{{"id":"s1",{time},"instructions":"be brief"}}"#), meta),
        (format!(r#"{{"id":"s1",{time},"instructions":null}}"#), meta),
        (r#"{"id":"s1","instructions":"be brief"}"#.to_owned(), meta),
        (r#"{"id":"s1"}"#.to_owned(), "Unknown"),
        (format!(r#"{{{time},"instructions":"be brief"}}"#), "Unknown"),
        (r#"{"record_type":"state"}"#.to_owned(), "Passed"),
        (r#"{"other":"state"}"#.to_owned(), "Unknown"),
        (
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"fix it"}]}"#
                .to_owned(),
            "User fix it 0",
        ),
        (r#"{"type": "event_msg", "payload": {"type": "agent_message"}}"#.to_owned(), "Passed"),
        (r#"{"type": "event_msg", "payload": {"type": "brand_new"}}"#.to_owned(), "Unknown"),
        (envelope("world_state", "{}"), "Passed"),
    ] {
        assert_eq!(entries(line.as_bytes()), [expected], "{line}");
    }
}

#[test]
fn a_line_whose_text_is_damaged_is_read_once() {
    let message =
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a#b"}]}"#;
    let line = envelope("response_item", message).replace('#', "\u{1}");
    let damaged: Vec<u8> = line.bytes().map(|byte| if byte == 1 { 0xff } else { byte }).collect();
    assert_eq!(entries(&damaged), ["User a\u{fffd}b 0"]);
    assert_eq!(entries(&damaged[..damaged.len() - 1]), ["Malformed"]);
    let halved = envelope("response_item", &message.replace('#', r"\ud83d"));
    assert_eq!(entries(halved.as_bytes()), ["User a\u{fffd}b 0"]);
}

#[test]
fn threads_are_classed_by_their_source() {
    for (source, expected) in [
        ("null", ThreadKind::Interactive),
        (r#""cli""#, ThreadKind::Interactive),
        (r#""vscode""#, ThreadKind::Interactive),
        (r#""exec""#, ThreadKind::Exec),
        (r#""mcp""#, ThreadKind::Other),
        (r#"{"subagent":"review"}"#, ThreadKind::Subagent),
        (r#"{"custom":"atlas"}"#, ThreadKind::Interactive),
        (r#"{"internal":"titles"}"#, ThreadKind::Other),
    ] {
        let line = envelope("session_meta", &format!(r#"{{"id":"s1","source":{source}}}"#));
        let mut kinds = Vec::new();
        read(line.as_bytes(), &mut |entry| {
            if let Body::Meta(meta) = entry.body {
                kinds.push(meta.kind);
            }
        });
        assert_eq!(kinds, [expected], "{source}");
    }
}

#[test]
fn a_transcript_names_the_one_it_continues() {
    let base = r#"{"thread_id":"s0","end_ordinal_exclusive":7}"#;
    let line = envelope("session_meta", &format!(r#"{{"id":"s1","history_base":{base}}}"#));
    let found = crate::rollout::history_base(crate::rollout::Source::Codex, line.as_bytes());
    assert_eq!(
        found.map(|base| (base.thread_id, base.end_ordinal_exclusive)),
        Some(("s0".into(), 7))
    );
}

#[test]
fn the_tokens_of_an_item_are_those_of_what_the_model_receives() {
    let bytes = |item: &str| tokens::of_bytes(item.len() as u64);
    let sealed = "x".repeat(2_000);
    let reasoning =
        format!(r#"{{"type":"reasoning","summary":[],"encrypted_content":"{sealed}"}}"#);
    assert_eq!(estimate(&reasoning), tokens::of_encrypted(2_000));
    let compaction = format!(r#"{{"type":"compaction","encrypted_content":"{sealed}"}}"#);
    assert_eq!(estimate(&compaction), tokens::of_encrypted(2_000));
    let open = r#"{"type":"compaction"}"#;
    assert_eq!(estimate(open), bytes(open));
    assert_eq!(estimate(r#"{"type":"ghost_snapshot","ghost_commit":{}}"#), 0);
    let unknown = r#"{"type":"brand_new","text":"some words"}"#;
    assert_eq!(estimate(unknown), bytes(unknown));
}

#[test]
fn events_report_failures_changes_and_commands() {
    let event = |payload: &str| {
        let line = envelope("event_msg", payload);
        let mut found = Vec::new();
        read(line.as_bytes(), &mut |entry| {
            found.push(match entry.body {
                Body::FilesChanged { call_id, success, changes } => {
                    let of = |op: Op| match op {
                        Op::Created { content } => format!("created {content:?}"),
                        op => format!("{op:?}"),
                    };
                    let changes: Vec<_> = changes
                        .into_iter()
                        .map(|it| format!("{}: {}", it.path, of(it.op)))
                        .collect();
                    format!("{call_id} {success} {}", changes.join(", "))
                }
                Body::CommandDone { call_id, command, exit_code } => {
                    format!("{call_id} {command} {exit_code:?}")
                }
                other => format!("{other:?}"),
            });
        });
        found.join("; ")
    };
    for (payload, expected) in [
        (
            r#"{"type":"error","message":"x","codex_error_info":"context_window_exceeded"}"#,
            "TurnFailed(ContextFull)",
        ),
        (
            r#"{"type":"error","message":"Codex ran out of room in the model's context window."}"#,
            "TurnFailed(ContextFull)",
        ),
        (
            r#"{"type":"error","message":"Error running remote compact task: x"}"#,
            "TurnFailed(Compaction)",
        ),
        (r#"{"type":"error","message":"stream closed","codex_error_info":"other"}"#, "Passed"),
        (
            r#"{"type":"item_completed","item":{"type":"FileChange","id":"c1","status":"completed","changes":{"a":{"type":"add","content":"x"},"b":{"type":"delete","content":"y"},"c":{"type":"update","unified_diff":""}}}}"#,
            r#"c1 true a: created Some("x"), b: Deleted, c: Edited"#,
        ),
        (
            r#"{"type":"item_completed","item":{"type":"FileChange","id":"c1","status":"failed","changes":{"a":{"type":"update","move_path":"d"}}}}"#,
            "c1 false a: Deleted, d: Edited",
        ),
        (
            r#"{"type":"item_completed","item":{"type":"FileChange","id":"c1","changes":{}}}"#,
            "c1 true ",
        ),
        (
            r#"{"type":"item_completed","item":{"type":"CommandExecution","id":"c2","command":"make all","exit_code":2}}"#,
            "c2 make all Some(2)",
        ),
        (
            r#"{"type":"exec_command_end","call_id":"c3","command":["bash","-lc","make all"],"exit_code":0}"#,
            "c3 make all Some(0)",
        ),
        (r#"{"type":"item_completed","item":{"type":"Plan","id":"c4"}}"#, "Passed"),
    ] {
        assert_eq!(event(payload), expected, "{payload}");
    }
}
