use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use longhaul_client::scripted::{Reply, Script, ScriptedServer, field, set, text_at};
use longhaul_protocol::compaction::{AgentStep, Strategy, Trigger};
use longhaul_protocol::policy::StepEvent;
use longhaul_protocol::{ErrorKind, WireError};
use longhaul_protocol::{checkpoint, compaction, context, history, memory, policy, thread};
use serde_json::{Value, json};

use crate::answers::{COMPACTION, script, with};
use crate::{Desk, Done, program, run_with};

mod plugin;

const CODEX: &str = "/home/user/.codex/sessions/2026/11/21/rollout-2026-11-21T00-42-55-0199.jsonl";

const CLAUDE: &str = "/home/user/.claude/projects/-w/0199.jsonl";

fn payload(event: &str, more: &Value) -> String {
    let payload = json!({
        "session_id": "0199", "transcript_path": CODEX, "cwd": "/home/user/parser",
        "hook_event_name": event, "model": "gpt-5.5", "turn_id": "t1", "permission_mode": "default",
    });
    with(payload, more).to_string()
}

impl Desk {
    /// Runs the hook.
    fn hook(&self, payload: &str) -> Done {
        self.hook_with(&[], payload)
    }

    /// A request of the plugin, such as one between two turns.
    fn turn(&self, event: &str, more: &Value) -> Value {
        let payload = with(json!({ "protocol": 1, "transcript_path": CLAUDE }), more);
        let done = self.hook_with(&[event, "--agent", "claude"], &payload.to_string());
        assert_eq!(done.code, 0, "{done:?}");
        done.json()
    }

    /// The plugin's request before a compaction.
    fn compact(&self, more: &Value) -> Value {
        self.turn("SessionCompact", &with(json!({ "trigger": "manual" }), more))
    }

    fn hook_with(&self, args: &[&str], payload: &str) -> Done {
        let mut command = program(self.folder.path());
        command
            .arg("--socket")
            .arg(self.folder.path().join("v1.sock"))
            .arg("hook")
            .args(args)
            .env("CLAUDE_CONFIG_DIR", self.folder.path().join(".claude"))
            .env("LONGHAUL_AUTOSTART", "0");
        run_with(&mut command, payload)
    }
}

/// The context for the model; asserts that the answer has nothing else.
fn context(done: &Done, event: &str) -> String {
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    let answer = done.json();
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    assert_eq!(text_at(&answer, "hookSpecificOutput.hookEventName"), event);
    let text = text_at(&answer, "hookSpecificOutput.additionalContext");
    assert!(text.starts_with("<longhaul_context about="), "{text}");
    assert!(text.ends_with("</longhaul_context>"), "{text}");
    text.to_owned()
}

fn with_memory(script: Script) -> Script {
    script
        .result::<memory::Summary>(
            json!({ "text": "Use `just test`.", "tokens": 4, "generation": 1 }),
        )
        .result::<memory::Cite>(json!({ "kinds": [], "thread_ids": [] }))
        .result::<policy::Step>(stepped(&json!([])))
}

/// An answer of `policy/step` with these effects.
fn stepped(effects: &Value) -> Value {
    stepped_in("suggest", effects)
}

pub(crate) fn stepped_in(mode: &str, effects: &Value) -> Value {
    let watcher = json!({
        "phase": "idle", "mode": mode, "deferred": false, "held": false,
        "packet_kept": false, "state": {},
    });
    json!({ "thread_id": "0199", "watcher": watcher, "effects": effects })
}

#[test]
fn session_start_after_a_compaction_has_checkpoint_and_memory() {
    let desk = Desk::of_agents(with_memory(script()));
    let compacted = json!({ "source": "compact" });
    let done = desk.hook(&payload("SessionStart", &compacted));
    let text = context(&done, "SessionStart");
    assert!(text.contains("- Rename the parser."), "{text}");
    assert!(text.contains("remembers from earlier threads:\n\nUse `just test`.\n</"), "{text}");
    assert_eq!(desk.last_params::<thread::Sync>().path.as_deref(), Some(CODEX));
    let view = desk.last_params::<checkpoint::View>().max_tokens.unwrap();
    let memory = desk.last_params::<memory::Summary>();
    assert_eq!(memory.cwd.as_deref(), Some("/home/user/parser"));
    // Codex moves longer context into a file.
    assert_eq!(memory.brief, Some(true));
    assert!(view + memory.max_tokens.unwrap() <= 2_400);
}

/// The last items of a thread, oldest first: kind and excerpt.
fn ending(items: &[(&str, &str)]) -> Value {
    let item = |(seq, (kind, excerpt)): (usize, &(&str, &str))| json!({ "seq": seq, "kind": kind, "tokens": 1, "handle": "h", "excerpt": excerpt });
    let items: Vec<Value> = items.iter().enumerate().map(item).collect();
    json!({ "items": items, "next_seq": 9, "more": false })
}

/// Codex runs its hooks for a resume and for the compaction during it.
#[test]
fn resume_with_a_compaction_gets_one_checkpoint() {
    let (worked, asked) = (("assistant_message", "Done."), ("user_message", "and the lexer"));
    let compacted = ("compaction", "We renamed the parser.");
    let ours = "<longhaul_context about=\"compaction\"> The state of this thread";
    for (source, end, about) in [
        ("resume", &[worked][..], Some("resume")),
        ("resume", &[worked, compacted], Some("compaction")),
        ("resume", &[compacted, worked, asked], Some("resume")),
        ("compact", &[worked, compacted, asked], Some("compaction")),
        ("compact", &[compacted, ("context", ours)], None),
        ("compact", &[compacted, ("context", ours), asked], None),
        ("resume", &[compacted, ("context", ours), asked, worked], Some("resume")),
        // The compaction itself left our view: `longhaul continue`, or our plugin.
        ("resume", &[("compaction", "[SESSION_CHECKPOINT v1] [PERSON]")], None),
        ("resume", &[("user_message", "The conversation so far was compacted. Below")], None),
        // An older one was compacted.
        ("compact", &[("context", ours), compacted], Some("compaction")),
    ] {
        let nothing = json!({ "text": "", "tokens": 0, "generation": 0 });
        let script =
            script().result::<memory::Summary>(nothing).result::<thread::Items>(ending(end));
        let desk = Desk::of_agents(script);
        let done = desk.hook(&payload("SessionStart", &json!({ "source": source })));
        match about {
            None => assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{source} {end:?}"),
            Some(about) => {
                let text = context(&done, "SessionStart");
                assert!(text.contains(&format!("about=\"{about}\"")), "{source} {end:?}: {text}");
                assert_eq!(text.matches("- Rename the parser.").count(), 1, "{text}");
                let tokens = if about == "resume" { 1_000 } else { 1_700 };
                let asked = desk.last_params::<checkpoint::View>();
                assert_eq!(asked.max_tokens, Some(tokens), "{end:?}");
            }
        }
    }
}

#[test]
fn guide_explains_the_words_of_the_view() {
    let desk = Desk::of_agents(with_memory(script()));
    let text = context(
        &desk.hook(&payload("SessionStart", &json!({ "source": "compact" }))),
        "SessionStart",
    );
    for word in ["SUSPECT", "`unchanged`", "open step", "`#747`"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn new_thread_without_memory_gets_nothing() {
    let nothing = json!({ "text": "", "tokens": 0, "generation": 0 });
    let desk = Desk::of_agents(script().result::<memory::Summary>(nothing));
    let done = desk.hook(&payload("SessionStart", &json!({ "source": "startup" })));
    assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{done:?}");
    let resumed = desk.hook(&payload("SessionStart", &json!({ "source": "resume" })));
    let text = context(&resumed, "SessionStart");
    assert!(text.contains("Rename the parser") && !text.contains("remembers"), "{text}");
}

#[test]
fn resume_with_a_cold_cache_shows_both_prices() {
    let price = |is_cold: bool, history: u64| {
        json!({ "idle_ms": 10_800_000, "cache_lifetime_ms": 300_000, "cache_lifetime_source": "default",
            "is_cold": is_cold, "history_tokens": history, "briefing_tokens": 6_100,
            "history_price": { "micros": 910_000, "currency": "USD" } })
    };
    for (price, is_shown) in [
        (price(true, 182_000), true),
        (price(false, 182_000), false),
        (price(true, 9_000), false),
        (Value::Null, false),
    ] {
        let mut usage = crate::answers::usage();
        set(&mut usage, "resume", price);
        let desk = Desk::of_agents(script().result::<context::Usage>(usage));
        let done = desk.hook(&payload("SessionStart", &json!({ "source": "resume" })));
        let line = "longhaul: the prompt cache is cold after 3 h. The next request sends 182k tokens uncached \
                    (0.91 USD); `longhaul continue 0198";
        let shown = done.stdout.contains(line) && done.stdout.contains("about 6.1k.");
        assert_eq!((shown, done.stdout.contains("cold")), (is_shown, is_shown), "{done:?}");
    }
}

#[test]
fn pre_compact_records_the_state_and_tells_the_person() {
    let desk = Desk::of_agents(script());
    let done = desk.hook(&payload("PreCompact", &json!({ "trigger": "auto" })));
    let answer = done.json();
    // Codex accepts no other member for this event.
    assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), ["systemMessage"]);
    assert!(text_at(&answer, "systemMessage").contains(COMPACTION), "{answer}");
    let asked = desk.last_params::<compaction::Run>();
    assert_eq!(asked.strategy, Some(Strategy::Checkpoint));
    assert_eq!(asked.trigger, Some(Trigger::Auto));
    assert_eq!(asked.agent_step, Some(AgentStep::Announced), "shares one record with the answer");
    let named = json!({ "trigger": "manual", "custom_instructions": " the lexer\n" });
    desk.hook(&payload("PreCompact", &named));
    assert_eq!(desk.last_params::<compaction::Run>().focus.as_deref(), Some("the lexer"));
    let worthless = |_| Reply::Error(WireError::new(ErrorKind::NotWorthwhile, "too short"));
    let desk = Desk::of_agents(script().on::<compaction::Run>(worthless));
    let done = desk.hook(&payload("PreCompact", &json!({ "trigger": "manual" })));
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
}

#[test]
fn nearly_full_known_window_is_announced() {
    for (used, is_known, is_told) in
        [(10_000, true, false), (200_000, true, true), (470_000, false, false)]
    {
        let desk = Desk::of_agents(script().on::<context::Usage>(move |_| {
            let mut usage = crate::answers::usage();
            set(&mut usage, "tokens.used", used);
            set(&mut usage, "window.tokens", 240_000);
            set(&mut usage, "window.trigger", 216_000);
            set(&mut usage, "window.is_known", is_known);
            Reply::Result(usage)
        }));
        let done = desk.hook(&payload("UserPromptSubmit", &json!({ "prompt": "go on" })));
        if is_told {
            let text = context(&done, "UserPromptSubmit");
            assert!(text.contains("200000 of 240000") && text.contains("216000"), "{text}");
        } else {
            assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (0, "", ""));
        }
    }
}

#[test]
fn stop_cites_the_memory_that_the_answer_used() {
    let desk = Desk::of_agents(with_memory(script()));
    let done = desk.hook(&payload("Stop", &json!({ "last_assistant_message": "Done." })));
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (0, "", ""));
    assert_eq!(desk.last_params::<memory::Cite>().answer.as_deref(), Some("Done."));
}

#[test]
fn stop_shows_the_advice_of_the_policy() {
    let text = "60 % of the window left (asap: commit): a good moment to compact";
    for (effects, expected) in [
        (json!([{ "effect": "notify", "text": text }]), format!("longhaul: {text} (/compact)")),
        (json!([]), String::new()),
    ] {
        let desk = Desk::of_agents(with_memory(script()).result::<policy::Step>(stepped(&effects)));
        let done = desk.hook(&payload("Stop", &json!({ "last_assistant_message": "Done." })));
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
        // A hook cannot compact, so it only notifies.
        let expected_event = StepEvent::TurnEnded {
            message: Some("Done.".to_owned()),
            boundaries: None,
            notify_only: Some(true),
            compact_only: None,
        };
        assert_eq!(desk.last_params::<policy::Step>().event, expected_event);
        match expected.as_str() {
            "" => assert_eq!(done.stdout, ""),
            expected => {
                assert_eq!(done.json(), json!({ "systemMessage": expected }));
            }
        }
    }
}

#[test]
fn failures_never_stop_the_agent() {
    let script = || {
        let nothing = json!({ "text": "", "tokens": 0, "generation": 0 });
        script().result::<memory::Summary>(nothing)
    };
    // A daemon that does not answer, one that disconnects, one that rejects.
    let silent = || script().on::<checkpoint::View>(|_| Reply::Lines(Vec::new()));
    let closing =
        || script().on::<thread::Sync>(|_| Reply::Close).on::<checkpoint::View>(|_| Reply::Close);
    let refusing = || {
        let refuse = |_| Reply::Error(WireError::new(ErrorKind::Internal, "a defect"));
        script().on::<checkpoint::View>(refuse)
    };
    let compacted = payload("SessionStart", &json!({ "source": "compact" }));
    for script in [silent(), closing(), refusing()] {
        let done = Desk::of_agents(script).hook(&compacted);
        assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{done:?}");
        assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    }
    // Unexpected payloads.
    for wrong in ["no json\n", "[]", "{}", r#"{"hook_event_name":"PreToolUse"}"#] {
        let done = Desk::of_agents(script()).hook(wrong);
        assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{wrong}: {done:?}");
        assert_eq!(done.stderr.lines().count(), 1, "{wrong}: {done:?}");
    }
    // No daemon.
    let folder = tempfile::tempdir().unwrap();
    let mut command = program(folder.path());
    command.args(["--socket", "/nowhere/v1.sock", "hook"]).env("LONGHAUL_AUTOSTART", "0");
    let done = crate::run(command.stdin(Stdio::null()));
    assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{done:?}");
}

#[test]
fn compaction_by_the_gateway_gets_no_second_checkpoint() {
    let compaction = json!({ "seq": 9, "kind": "compaction", "tokens": 1, "handle": "h9", "excerpt": "Another model" });
    let event_sent = |content: &str| {
        let made = json!({ "type": "compaction", "encrypted_content": content });
        let script = with_memory(script())
            .result::<thread::Items>(
                json!({ "items": [compaction], "next_seq": 10, "more": false }),
            )
            .result::<history::Expand>(
                json!({ "items": [made], "path": "/r", "byte_range": [0, 9] }),
            );
        let desk = Desk::of_agents(script);
        let done = desk.hook(&payload("SessionStart", &json!({ "source": "compact" })));
        context(&done, "SessionStart").contains("[SESSION_CHECKPOINT v1]")
    };
    assert!(event_sent("gAAAA"), "by a model");
    assert!(!event_sent("longhaul-view-1.KLUv"), "a marker");
    assert!(
        !event_sent("Here it is: The conversation so far was compacted. [SESSION_CHECKPOINT v1]"),
        "a summary"
    );
}

#[test]
fn plugin_compacts_for_the_policy_and_reports_the_outcome() {
    let compact = json!([{ "effect": "compact", "packet": "the words" }]);
    let desk = Desk::of_agents(script().result::<policy::Step>(stepped(&compact)));
    let expected = json!({ "last_assistant_message": "Done.", "context_window": 200_000, "context_tokens": 90_000 });
    let answer = desk.turn("TurnComplete", &expected);
    assert_eq!(
        answer,
        json!({ "protocol": 1, "compact": true, "mid_turn": false }),
        "the packet stays with the daemon"
    );
    let asked = desk.last_params::<policy::Step>();
    let expected_event = StepEvent::TurnEnded {
        message: Some("Done.".to_owned()),
        boundaries: None,
        notify_only: None,
        compact_only: Some(true),
    };
    assert_eq!(asked.event, expected_event);
    assert_eq!(asked.context_window, None, "the daemon keeps the agent's report");
    let synced = desk.last_params::<thread::Sync>();
    assert_eq!(synced.path.as_deref(), Some(CLAUDE));
    assert_eq!((synced.context_window, synced.context_tokens), (Some(200_000), Some(90_000)));

    let warn = json!([{ "effect": "warn", "text": "the compaction failed: a turn is running" }]);
    let desk = Desk::of_agents(script().result::<policy::Step>(stepped(&warn)));
    let answer = desk.turn("CompactionEnded", &json!({ "not_made": "a turn is running" }));
    assert_eq!(text_at(&answer, "text"), "longhaul: the compaction failed: a turn is running");
    assert_eq!(field(&answer, "compact"), false);
    let reason = Some("a turn is running".to_owned());
    let expected_event = StepEvent::CompactionEnded { tokens_after: None, reason };
    assert_eq!(desk.last_params::<policy::Step>().event, expected_event);
    // In the middle of a turn; the setting is passed on, so that the plugin asks again.
    let mut stepped_mid_turn = stepped_in("auto", &compact);
    set(&mut stepped_mid_turn, "watcher.mid_turn", true);
    let desk = Desk::of_agents(script().result::<policy::Step>(stepped_mid_turn));
    let answer = desk.turn("ToolsComplete", &json!({ "context_window": 200_000 }));
    assert_eq!(answer, json!({ "protocol": 1, "compact": true, "mid_turn": true }));
    let expected_event = StepEvent::MidTurn { boundaries: None, compact_only: Some(true) };
    assert_eq!(desk.last_params::<policy::Step>().event, expected_event);
    // No daemon, or a plugin of another version: do nothing.
    let away = Desk::new(script());
    assert_eq!(away.turn("TurnComplete", &json!({})), json!({ "protocol": 1, "compact": false }));
    let other = desk.turn("TurnComplete", &json!({ "protocol": 2 }));
    assert_eq!(other, json!({ "protocol": 1, "compact": false }));
}

#[test]
fn stop_leaves_the_policy_to_the_plugin() {
    let notify = json!([{ "effect": "notify", "text": "a good moment to compact" }]);
    let claude =
        json!({ "transcript_path": CLAUDE, "turn_id": null, "last_assistant_message": "Done." });
    for (mode, has_plugin, is_told) in
        [("auto", true, false), ("auto", false, true), ("suggest", true, true)]
    {
        let script = with_memory(script()).result::<policy::Step>(stepped_in(mode, &notify));
        let desk = Desk::of_agents(script);
        if has_plugin {
            let settings = json!({ "enabledPlugins": { "longhaul@longhaul": true } });
            let folder = desk.folder.path().join(".claude");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
        }
        let done = desk.hook(&payload("Stop", &claude));
        assert_eq!(done.stdout.contains("a good moment"), is_told, "{mode} {has_plugin}: {done:?}");
    }
}
