//! Scripted answers of a daemon with a few threads; times are relative to now.

use longhaul_client::scripted::{Reply, Script, set};
use longhaul_protocol::{ErrorKind, WireError};
use longhaul_protocol::{
    archive, checkpoint, compaction, context, daemon, history, message_history, thread,
};
use serde_json::{Value, json};

pub(crate) const THREAD: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";
pub(crate) const OTHER: &str = "0199a213-0000-7000-8000-000000000002";
pub(crate) const COMPACTION: &str = "cmp_0199b000-0000-7000-8000-0000000000c1";

/// The protocol's examples, with readable values in printed fields.
pub(crate) fn script() -> Script {
    of_archive(Script::from_examples().unwrap())
        .result::<daemon::Status>(status())
        .result::<thread::ThreadList>(json!({ "threads": [thread(), other()], "next_cursor": "c2" }))
        .on::<thread::ThreadGet>(|params| match params.thread_id.as_str() {
            THREAD => Reply::Result(json!({
                "thread": thread(),
                "files": [
                    { "path": "/home/user/.codex/sessions/a.jsonl", "bytes": 2_500_000, "offset": 2_500_000, "generation": 0, "current": true },
                    { "path": "/home/user/.codex/archived_sessions/a.jsonl.zst", "bytes": 2_000_000, "offset": 500_000, "generation": 1, "current": false },
                ],
                "checkpoint_seq": 4_321,
            })),
            _ => Reply::Error(WireError::new(ErrorKind::ThreadNotFound, "no such thread")),
        })
        .result::<context::Usage>(usage())
        .result::<thread::Bill>(bill())
        .result::<compaction::Run>(run_result())
        .result::<compaction::CompactionList>(json!({ "compactions": [summary()] }))
        .result::<compaction::CompactionGet>({
            let mut result = run_result();
            set(&mut result, "summary", summary());
            result
        })
        .result::<checkpoint::View>(json!({ "text": "[SESSION_CHECKPOINT v1]\n[TASK]\n- Rename the parser.", "tokens": 14, "digest": "d1", "seq": 4_321 }))
        .result::<checkpoint::Choose>(pinned())
        .result::<history::Expand>(json!({
            "items": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Rename the parser." }] },
                { "type": "function_call_output", "call_id": "call_1", "output": "ok" },
            ],
            "path": "/home/user/.codex/sessions/a.jsonl",
            "byte_range": [100, 900],
        }))
        .result::<message_history::Lookup>(json!({
            "messages": [
                { "source": "longhaul", "log_id": "l1", "offset": 3, "at": now() - 330_000, "text": "Rename parse()\nto parse_line()." },
                { "source": "codex", "log_id": "codex-7", "offset": 0, "at": now() - 90_000_000, "text": "Why does parse_line() fail?" },
            ],
            "logs": [], "next_cursor": "c2",
        }))
        .result::<thread::Items>(json!({
            "items": [
                { "seq": 4_318, "at": 1_763_683_200_000_i64, "kind": "user_message", "tokens": 12, "handle": "h4", "excerpt": "Rename the parser." },
                { "seq": 4_319, "kind": "tool_output", "tokens": 12_345, "handle": "h5", "excerpt": "ok" },
            ],
            "next_seq": 4_320, "more": false,
        }))
        .result::<thread::Search>(json!({
            "hits": [{
                "source": "codex", "thread_id": THREAD, "seq": 7, "handle": "h7", "path": "/home/user/.codex/sessions/a.jsonl",
                "line_start": 8, "line_end": 8, "byte_range": [100, 900], "at": now() - 90_000_000, "kind": "tool_output",
                "title": "Rename the parser", "cwd": "/home/user/project", "score": 3.25,
                "text": "error: connection refused by 127.0.0.1:5432", "matches": [[7, 25]], "copies": 2,
            }],
            "truncated": true,
            "indexed": { "state": "indexing", "items": 98_765, "files_behind": 4, "bytes": 31_000_000 },
        }))
        .result::<compaction::Undo>(json!({
            "compaction_id": COMPACTION, "undone_at": now(), "history": [{}, {}],
            "handles": [entry("h9", 3, 70_000)], "complete": false,
        }))
}

fn pinned() -> Value {
    json!({
        "choice": {
            "choice_id": "3fa2b1c4", "thread_id": THREAD, "action": "pin", "text": "Keep the public API as it is.",
            "tokens": 9, "created_at": now() - 1_000,
        },
        "was_there": false,
    })
}

/// An archive with one damaged thread; three of its four transcripts are gone.
fn of_archive(script: Script) -> Script {
    let damaged = "0199a213-0000-7000-8000-000000000003";
    let row = |id: &str, title: Value, gone: bool| {
        json!({
            "thread_id": id, "source": "codex", "path": "/home/user/.codex/sessions/a.jsonl", "cwd": "/home/user/project",
            "title": title, "bytes": 2_500_000, "updated_at": now() - 330_000, "gone": gone, "redacted": false,
        })
    };
    let titles = ["Rename the parser", "A title\nof two lines"].map(Value::from);
    let [first, second] = titles;
    let threads = [
        row(THREAD, first.clone(), true),
        row(THREAD, first, false),
        row(OTHER, second, true),
        row(damaged, Value::Null, true),
    ];
    script
        .result::<archive::Overview>(json!({
            "state": "archiving", "path": "/home/user/state/archive", "bytes": 290_000_000, "text_bytes": 2_400_000_000_u64,
            "stored_text_bytes": 2_100_000_000_u64, "threads": 300, "transcripts": 332, "gone": 41, "evicted": 11, "files_behind": 12,
            "oldest_at": now() - 90 * 86_400_000, "verified_at": now() - 200_000_000, "damaged": 1,
            "max_bytes": 5_000_000_000_u64, "max_age_days": 0, "redacts": false,
        }))
        .result::<archive::ArchiveList>(json!({ "threads": threads }))
        .result::<archive::Verify>(json!({
            "files": 31, "bytes": 290_000_000, "damaged": 1, "damaged_threads": [damaged],
        }))
        .result::<archive::Forget>(json!({ "removed_bytes": 2_500_000, "only_copy": true }))
        .on::<archive::Restore>(move |params| {
            let refused = |kind| Reply::Error(WireError::new(kind, "no"));
            let id = params.thread_id.as_str();
            match id {
                OTHER => refused(ErrorKind::FileExists),
                id if id == damaged => refused(ErrorKind::ArchiveDamaged),
                _ => Reply::Result(json!({
                    "thread_id": id, "redacted": false,
                    "files": [{ "path": "/home/user/.codex/sessions/a.jsonl", "bytes": 2_500_000 }],
                    "command": ["codex", "resume", id],
                })),
            }
        })
}

/// An object with more fields, which replace its own.
pub(crate) fn with(mut object: Value, more: &Value) -> Value {
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

pub(crate) fn status() -> Value {
    json!({
        "version": "0.1.0", "protocol": 1, "pid": 4242, "instance_id": "i1",
        "started_at": now() - 7_300_000, "uptime_ms": 7_300_000,
        "socket": "/home/user/run/v1.sock", "state_dir": "/home/user/state",
        "store": { "path": "/home/user/state/longhaul.db", "schema_version": 1 },
        "sources": [
            { "source": "codex", "root": "/home/user/.codex", "exists": true, "files": 332, "threads": 300, "bytes": 179_000_000 },
            { "source": "claude", "root": "/home/user/.claude", "exists": false, "files": 0, "threads": 0, "bytes": 0 },
        ],
        "ingest": {
            "state": "catching_up", "queued_files": 12, "bytes_done": 89_000_000, "bytes_total": 179_000_000,
            "last_scan_at": now() - 90_000, "lines": 130_301, "malformed": 3, "oversized": 0, "unknown": 17,
            "errors": [{ "path": "/home/user/.codex/sessions/b.jsonl", "message": "permission denied", "at": now() - 90_000 }],
        },
        "search": { "state": "indexing", "items": 98_765, "files_behind": 4, "bytes": 31_000_000 },
        "connections": 1, "requests": 1_234, "panics": 0,
        "compactions": {
            "compactions": 12, "since": now() - 260_000_000, "requests": 1, "tokens": 8_200, "duration_ms": 540,
            "history_tokens": 1_900_000, "agent_compactions": 9, "agent_tokens": 158_300, "agent_duration_ms": 96_000,
        },
        "warnings": [{ "kind": "clock", "message": "the clock jumped", "hint": "set it" }],
    })
}

pub(crate) fn thread() -> Value {
    json!({
        "thread_id": THREAD, "source": "codex", "path": "/home/user/.codex/sessions/a.jsonl",
        "cwd": "/home/user/project", "title": "Rename the parser", "created_at": now() - 90_000_000,
        "updated_at": now() - 330_000, "items": 1_234, "tokens": 123_456, "compactions": 2, "lines": 4_321,
        "bytes": 2_500_000, "malformed": 1, "unknown": 0, "oversized": 0, "archived": false,
        "cli_version": "0.169.0", "model": "gpt-5-codex", "git_branch": "main", "kind": "interactive",
    })
}

fn other() -> Value {
    let mut other = thread();
    set(&mut other, "thread_id", OTHER);
    set(&mut other, "cwd", Value::Null);
    set(&mut other, "title", "A title\nof two lines");
    set(&mut other, "updated_at", now() - 200_000_000);
    other
}

pub(crate) fn usage() -> Value {
    let points: Vec<Value> = (0..60_u64)
        .map(|n| json!({ "seq": n * 72, "turn": n / 5 + 1, "tokens": 9_000 + n % 20 * 11_000 }))
        .collect();
    let steps = [1_440, 2_880].map(|seq| json!({ "seq": seq, "before": 218_000, "after": 9_000 }));
    json!({
        "thread_id": THREAD, "seq": 4_321, "model": "gpt-5-codex",
        "tokens": { "used": 218_000, "estimated": 205_500, "reported": 216_000, "reported_seq": 4_300, "overhead": 9_500 },
        "by_kind": { "user": 6_100, "assistant": 21_000, "tool_calls": 30_400, "tool_outputs": 131_000, "reasoning": 9_000, "initial_context": 8_000, "instructions_and_tools": 9_500, "not_attributed": 3_000 },
        "window": {
            "tokens": 272_000, "source": "transcript", "effective": 258_400, "trigger": 200_000,
            "trigger_source": "config", "is_known": true, "percent_used": 84, "percent_remaining": 16,
        },
        "timeline": { "turns": 12, "points": points, "compactions": steps },
        "warnings": [{ "kind": "over_trigger", "message": "218000 tokens are at the compaction limit of 200000", "hint": "compact now, while a summary still fits" }],
    })
}

/// Two compactions, of which the agent uses one, and a cold cache.
fn bill() -> Value {
    let after = json!({ "actions": 3, "edited": true, "files_reread": 1, "files_reread_paths": ["parse.rs"] });
    json!({
        "thread_id": THREAD,
        "compactions": [
            { "summary": summary() },
            { "summary": summary(), "in_force_seq": 4_330, "after": after },
        ],
        "agent": { "source": "thread", "compactions": 2, "input_tokens": 156_000, "output_tokens": 2_300, "duration_ms": 96_000 },
        "agent_compactions": [],
        "resume": {
            "idle_ms": 10_800_000, "cache_lifetime_ms": 300_000, "cache_lifetime_source": "default", "is_cold": true,
            "history_tokens": 182_000, "briefing_tokens": 6_100,
            "history_price": { "micros": 910_000, "currency": "USD" },
            "briefing_price": { "micros": 30_500, "currency": "USD" },
        },
    })
}

fn run_result() -> Value {
    let total = |items: u64, tokens: u64| json!({ "items": items, "tokens": tokens });
    json!({
        "compaction_id": COMPACTION, "strategy_used": "checkpoint",
        "ladder": [
            { "strategy": "summary", "outcome": "skipped", "reason": "not_configured", "duration_ms": 0 },
            { "strategy": "checkpoint", "outcome": "used", "duration_ms": 4 },
        ],
        "history": [{ "type": "message" }],
        "view": "[SESSION_CHECKPOINT v1]\n[TASK]\n- Rename the parser.\n",
        "tokens": { "before": 123_456, "after": 1_960 },
        "receipt": {
            "kept": [entry("h1", 1, 120)], "shortened": [], "dropped": [entry("h2", 1_200, 120_000), entry("h3", 1, 900)],
            "totals": { "kept": total(30, 1_100), "shortened": total(0, 0), "dropped": total(1_204, 122_356) },
            "redacted": 2,
        },
        "warnings": [],
    })
}

pub(crate) fn summary() -> Value {
    json!({
        "compaction_id": COMPACTION, "thread_id": THREAD, "created_at": now() - 330_000,
        "strategy_used": "checkpoint", "reason": "user_requested", "phase": "standalone", "trigger": "manual",
        "tokens": { "before": 123_456, "after": 1_960 }, "seq": 4_321, "duration_ms": 4,
        "undone_at": now() - 90_000,
    })
}

fn entry(handle: &str, items: u64, tokens: u64) -> Value {
    let kind = if items > 1 { "span" } else { "tool_output" };
    json!({ "handle": handle, "kind": kind, "tokens": tokens, "items": items, "seq_first": 7, "seq_last": 6 + items })
}

#[expect(clippy::disallowed_methods, reason = "the program under test reads the clock too")]
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
