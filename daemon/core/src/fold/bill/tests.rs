//! Hand-made transcripts: what a compaction in them cost, and what came after it.

use serde_json::{Value, json};

use super::{CompactionBill, CompactionCosts, RequestTokens};
use crate::fold::{Fold, Place, Source};
use crate::limits;
use crate::rollout::contextual::{CHECKPOINT_OPENING, VIEW_HEADER};

fn folded(source: Source, lines: &[Value]) -> CompactionCosts {
    let mut fold = Fold::new(source);
    for (line, value) in (0..).zip(lines) {
        let text = value.to_string();
        let place = Place { line, offset: line * 1_000, bytes: text.len() as u64 };
        fold.line(place, text.as_bytes());
        // A transcript may be cut anywhere.
        fold = Fold::load(&fold.save().unwrap()).unwrap();
    }
    fold.bill().clone()
}

fn only(bill: &CompactionCosts) -> &CompactionBill {
    let all: Vec<_> = bill.compactions().collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]
}

/// A line of Codex, `ms` after the hour.
fn codex(ms: u64, kind: &str, payload: &Value) -> Value {
    let time = format!("2026-01-01T00:00:{:02}.{:03}Z", ms / 1_000, ms % 1_000);
    json!({ "timestamp": time, "type": kind, "payload": payload })
}

fn assistant(ms: u64, words: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": words }]);
    let message = json!({ "type": "message", "role": "assistant", "content": content });
    codex(ms, "response_item", &message)
}

fn asked(ms: u64, words: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": words }]);
    codex(ms, "response_item", &json!({ "type": "message", "role": "user", "content": content }))
}

fn ran(ms: u64, id: &str, script: &str) -> [Value; 2] {
    let arguments = json!({ "cmd": script }).to_string();
    let call = json!({ "type": "function_call", "name": "exec_command", "arguments": arguments,
        "call_id": id });
    let output = json!({ "type": "function_call_output", "call_id": id,
        "output": "Process exited with code 0\nOutput:\n" });
    [codex(ms, "response_item", &call), codex(ms + 100, "response_item", &output)]
}

fn counted(ms: u64, input: u64, output: u64) -> Value {
    let usage = json!({ "input_tokens": input, "output_tokens": output,
        "total_tokens": input + output });
    let info = json!({ "total_token_usage": usage, "last_token_usage": usage,
        "model_context_window": 258_400 });
    codex(ms, "event_msg", &json!({ "type": "token_count", "info": info }))
}

fn compacted(ms: u64, message: &str) -> Value {
    codex(ms, "compacted", &json!({ "message": message, "replacement_history": [] }))
}

/// The work before: a file is read, and the agent asks its model at 1,100 ms.
fn work() -> Vec<Value> {
    let mut lines = vec![asked(0, "fix it")];
    lines.extend(ran(1_000, "a", "sed -n 1,80p /w/src/fetch.rs"));
    lines.push(counted(1_100, 41_000, 80));
    lines
}

/// A compaction, and the harness's own measure of it.
fn timed_compaction() -> Vec<Value> {
    let item = json!({ "type": "ContextCompaction" });
    let done = json!({ "type": "item_completed", "item": item, "started_at_ms": 1_000, "completed_at_ms": 3_500 });
    vec![compacted(6_000, ""), codex(6_001, "event_msg", &done)]
}

#[test]
fn the_request_of_a_compaction_is_told_from_those_around_it() {
    let is_known = |input, output| Some(RequestTokens { input, output: Some(output) });
    let summary = "**Summary**: the fetcher is to be fixed.";
    let message = format!("Another language model started.\n{summary}");
    for (what, last, expected, duration_ms) in [
        (
            "a summary, its count, the compaction",
            vec![assistant(5_000, summary), counted(5_001, 900, 120), compacted(5_002, &message)],
            is_known(900, 120),
            Some(3_902),
        ),
        (
            "the count is the same as the one before",
            vec![assistant(5_000, summary), counted(5_001, 41_000, 80), compacted(5_002, &message)],
            None,
            Some(3_902),
        ),
        ("a provider made it, and counts nothing", vec![compacted(6_000, "")], None, Some(4_900)),
        (
            "preceded by an answer to the person",
            vec![assistant(5_000, "Done."), counted(5_001, 42_000, 90), compacted(9_000, "")],
            None,
            None,
        ),
        (
            "the agent asks its model again after an answer",
            vec![
                assistant(5_000, "Done."),
                codex(8_000, "turn_context", &json!({ "model": "m" })),
                compacted(9_000, ""),
            ],
            None,
            Some(1_000),
        ),
        (
            "a line without a time does not hide the one before",
            vec![json!({ "type": "reasoning", "summary": [] }), compacted(6_000, "")],
            None,
            Some(4_900),
        ),
        (
            "the compaction has no time",
            vec![json!({ "type": "compacted", "payload": { "message": "" } })],
            None,
            None,
        ),
        (
            "its words were never shown, and no count came early",
            vec![compacted(6_000, summary)],
            None,
            Some(4_900),
        ),
        ("the harness says how long it took", timed_compaction(), None, Some(2_500)),
    ] {
        let bill = folded(Source::Codex, &[work(), last].concat());
        let compaction = only(&bill);
        assert_eq!(compaction.tokens, expected, "{what}");
        assert_eq!(compaction.duration_ms, duration_ms, "{what}");
        assert!(!compaction.is_ours, "{what}");
    }
}

#[test]
fn a_request_without_a_time_has_no_duration() {
    let mut ask = asked(0, "fix it");
    ask.as_object_mut().unwrap().remove("timestamp");
    let bill = folded(Source::Codex, &[ask, compacted(6_000, "")]);
    assert_eq!(only(&bill).duration_ms, None);
}

#[test]
fn the_harness_reports_a_compaction_within_a_few_lines() {
    let completed = json!({ "type": "item_completed", "item": { "type": "ContextCompaction" },
        "started_at_ms": 1_000, "completed_at_ms": 3_500 });
    for (between, duration_ms) in [(0, 2_500), (15, 2_500), (16, 4_900)] {
        let passed = vec![codex(6_000, "world_state", &json!({})); between];
        let report = vec![codex(6_001, "event_msg", &completed)];
        let lines = [work(), vec![compacted(6_000, "")], passed, report].concat();
        let bill = folded(Source::Codex, &lines);
        assert_eq!(only(&bill).duration_ms, Some(duration_ms), "after {between} lines");
    }
}

#[test]
fn counts_that_come_before_their_answers_are_of_the_compaction_where_none_follows() {
    let mut lines = vec![asked(0, "fix it"), counted(500, 41_000, 80)];
    lines.extend(ran(1_000, "a", "ls"));
    lines.extend([counted(4_000, 46_000, 90), compacted(4_000, "the state so far")]);
    let bill = folded(Source::Codex, &lines);
    let tokens = only(&bill).tokens;
    assert_eq!(tokens, Some(RequestTokens { input: 46_000, output: Some(90) }));
    assert_eq!(only(&bill).duration_ms, Some(2_900));
}

#[test]
fn a_view_of_ours_is_no_compaction_of_the_agents() {
    let view = format!("{CHECKPOINT_OPENING}\n{VIEW_HEADER}\n[TASK]\nfix it");
    let behind = format!("Another language model started to solve this problem and so on:\n{view}");
    let sealed = json!([{ "type": "compaction", "encrypted_content": "longhaul-view-1.KLUv" }]);
    let sealed = json!({ "message": "", "replacement_history": sealed });
    for (what, line, is_ours) in [
        ("a view as text", compacted(2_000, &view), true),
        ("a view behind words of Codex's", compacted(2_000, &behind), true),
        ("a view alone", compacted(2_000, VIEW_HEADER), true),
        ("a view that the gateway sealed", codex(2_000, "compacted", &sealed), true),
        ("a provider's", compacted(2_000, ""), false),
    ] {
        let bill = folded(Source::Codex, &[work(), vec![line]].concat());
        assert_eq!(only(&bill).is_ours, is_ours, "{what}");
        assert_eq!(only(&bill).tokens, None, "{what}");
    }
}

#[test]
fn claude_reports_a_compaction_ahead_of_it() {
    let boundary = json!({ "type": "system", "subtype": "compact_boundary", "sessionId": "s",
        "timestamp": "2026-01-01T00:01:00.000Z", "compactMetadata":
        { "trigger": "auto", "preTokens": 998_659, "durationMs": 156_437 } });
    let summary = json!({ "type": "user", "sessionId": "s", "isCompactSummary": true,
        "timestamp": "2026-01-01T00:01:00.000Z",
        "message": { "role": "user", "content": "This session is being continued" } });
    let usage = json!({ "input_tokens": 2, "cache_creation_input_tokens": 700,
        "cache_read_input_tokens": 9_000, "output_tokens": 50,
        "cache_creation": { "ephemeral_1h_input_tokens": 700 } });
    let answer = json!({ "type": "assistant", "sessionId": "s",
        "timestamp": "2026-01-01T00:01:09.000Z", "message": { "role": "assistant",
        "content": [{ "type": "text", "text": "Going on." }], "usage": usage } });
    let bill = folded(Source::Claude, &[boundary, summary, answer]);
    let compaction = only(&bill);
    assert_eq!(compaction.tokens, Some(RequestTokens { input: 998_659, output: None }));
    assert_eq!((compaction.tokens_before, compaction.duration_ms), (998_659, Some(156_437)));
    assert_eq!(bill.cache_lifetime_ms(), Some(3_600_000));
}

#[test]
fn compactions_of_claude_that_follow_each_other_have_their_own_reports() {
    let boundary = |tokens: u64, duration: u64| {
        json!({ "type": "system", "subtype": "compact_boundary", "sessionId": "s",
            "compactMetadata": { "trigger": "auto", "preTokens": tokens, "durationMs": duration } })
    };
    let summary = json!({ "type": "user", "sessionId": "s", "isCompactSummary": true,
        "message": { "role": "user", "content": "This session is being continued" } });
    let lines = [boundary(170_000, 50), summary.clone(), boundary(180_000, 60), summary];
    let bill = folded(Source::Claude, &lines);
    let found = bill.compactions().map(|it| (it.tokens_before, it.duration_ms));
    assert_eq!(found.collect::<Vec<_>>(), [(170_000, Some(50)), (180_000, Some(60))]);
}

#[test]
fn the_newest_compactions_are_kept() {
    let kept = limits::COMPACTION_POINTS as u64;
    let lines: Vec<Value> = (0..kept + 9).map(|_| compacted(0, "")).collect();
    let bill = folded(Source::Codex, &lines);
    let seqs: Vec<u64> = bill.compactions().map(|compaction| compaction.seq).collect();
    assert_eq!(seqs, (9..kept + 9).collect::<Vec<_>>());
}

#[test]
fn files_that_are_read_again_are_all_counted_and_the_first_are_named() {
    let names: Vec<String> =
        (0..limits::REREAD_NAMES + 2).map(|n| format!("src/f{n}.rs")).collect();
    let read: Vec<Value> = names.iter().flat_map(|it| ran(0, it, &format!("cat {it}"))).collect();
    let lines = [read.clone(), vec![compacted(2_000, "")], read].concat();
    let bill = folded(Source::Codex, &lines);
    let after = &only(&bill).after;
    assert_eq!(after.reread, names.len() as u64);
    assert_eq!(after.reread_paths, names[..limits::REREAD_NAMES]);
}

#[test]
fn an_image_is_a_file_and_a_poll_is_no_action() {
    let call = |id: &str, tool: &str, arguments: &Value| {
        let arguments = arguments.to_string();
        let call = json!({ "type": "function_call", "name": tool, "arguments": arguments,
            "call_id": id });
        codex(2_000, "response_item", &call)
    };
    let image = |id: &str| call(id, "view_image", &json!({ "path": "/w/a.png" }));
    let runs = json!({ "type": "function_call_output", "call_id": "r",
        "output": "Process running with session ID 7\nOutput:\n" });
    let lines = [
        image("a"),
        compacted(2_000, ""),
        image("b"),
        call("r", "exec_command", &json!({ "cmd": "just test" })),
        codex(2_000, "response_item", &runs),
        call("p", "write_stdin", &json!({ "session_id": 7, "chars": "" })),
    ];
    let bill = folded(Source::Codex, &lines);
    let after = &only(&bill).after;
    assert_eq!((after.actions, after.reread), (2, 1));
    assert_eq!(after.reread_paths, ["/w/a.png"]);
}

#[test]
fn actions_are_counted_up_to_the_first_edit_and_files_read_again_once() {
    let look = |id: &str, script: &str| ran(3_000, id, script).to_vec();
    let again = |id: &str| look(id, "cat src/fetch.rs");
    let edit = |id: &str| look(id, "sed -i s/a/b/ src/fetch.rs");
    for (what, after, expected) in [
        ("nothing yet", vec![], (0, false, 0)),
        ("another file", vec![look("b", "cat src/new.rs")], (1, false, 0)),
        ("the same file", vec![again("b")], (1, false, 1)),
        ("the same file, twice", vec![again("b"), again("c")], (2, false, 1)),
        ("three times", vec![again("b"), again("c"), again("d")], (3, false, 1)),
        ("an edit ends the count", vec![again("b"), edit("c"), again("d")], (1, true, 1)),
        (
            "what was read since is no repetition",
            vec![edit("b"), again("c"), again("d")],
            (0, true, 1),
        ),
    ] {
        let begun = [work(), vec![compacted(2_000, "")]].concat();
        let meta = codex(0, "session_meta", &json!({ "id": "t", "cwd": "/w" }));
        let lines = [vec![meta], begun, after.concat()].concat();
        let bill = folded(Source::Codex, &lines);
        let after = &only(&bill).after;
        assert_eq!((after.actions, after.has_edited, after.reread), expected, "{what}");
        let paths = usize::try_from(after.reread).unwrap();
        assert_eq!(after.reread_paths, vec!["src/fetch.rs"; paths], "{what}");
    }
}
