//! The program over its pipes, with a scripted daemon.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "calls read better with values")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use longhaul_client::scripted::{Reply, Script, ScriptedServer, field, text_at};
use longhaul_protocol::socket::of_agents;
use longhaul_protocol::{ErrorKind, Method, WireError};
use longhaul_protocol::{checkpoint, daemon, history, memory, thread};
use serde_json::{Value, json};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The agent's side of the program's pipes.
struct Agent {
    child: Child,
    stdin: ChildStdin,
    lines: mpsc::Receiver<String>,
    next_id: u64,
}

impl Agent {
    fn start(socket: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul-mcp"));
        command.env_clear().env("HOME", "/home/user").args(["--no-start", "--socket"]);
        // It gets the person's socket and uses the agents' socket beside it.
        command.arg(socket.with_file_name("v1.sock"));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = mpsc::sync_channel(16);
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.for_each(|line| sender.send(line).unwrap_or_default());
        });
        let mut agent = Self { child, stdin, lines, next_id: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "an agent", "version": "1" },
        });
        let welcome = agent.ask("initialize", hello);
        let instructions = text_at(&welcome, "result.instructions");
        assert!(instructions.contains("checkpoint_view"), "{instructions}");
        agent.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    fn say(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn hear(&self) -> Value {
        serde_json::from_str(&self.lines.recv_timeout(ANSWER_TIMEOUT).unwrap()).unwrap()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let answer = self.hear();
            if answer.get("id") == Some(&json!(id)) {
                return answer;
            }
        }
    }

    /// Calls a tool; returns its text and whether it failed.
    fn tool(&mut self, name: &str, arguments: Value, thread: Option<&str>) -> (String, bool) {
        let meta = thread.map_or_else(|| json!({}), |thread| json!({ "threadId": thread }));
        let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
        let answer = self.ask("tools/call", params);
        let is_error = field(&answer, "result").get("isError") == Some(&json!(true));
        (text_at(&answer, "result.content.0.text").to_owned(), is_error)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A daemon and the folder of its socket. The server must be dropped first, since it needs its path.
fn desk(script: Script) -> (tempfile::TempDir, ScriptedServer) {
    let folder = tempfile::tempdir().unwrap();
    let server = ScriptedServer::start(&of_agents(&folder.path().join("v1.sock")), script).unwrap();
    (folder, server)
}

fn examples() -> Script {
    let view = json!({ "text": "[TASK]\n- Go on.", "tokens": 4, "digest": "d", "seq": 9 });
    Script::from_examples().unwrap().result::<checkpoint::View>(view)
}

fn with_memory() -> Script {
    let hit = json!({
        "source": "memory_md", "path": "MEMORY.md", "line_start": 3, "line_end": 4,
        "thread_id": "t9", "at": 0, "score": 1.0, "text": "Use just.",
    });
    let lines =
        json!({ "path": "MEMORY.md", "line_start": 3, "line_end": 3, "text": "line three" });
    let note = json!({ "note_id": "n", "text": "Use just.", "project": "parser", "generation": 2 });
    let summary = json!({ "text": "# What is known", "tokens": 4, "generation": 1 });
    examples()
        .result::<memory::Search>(json!({ "hits": [hit], "generation": 1 }))
        .result::<memory::Summary>(summary)
        .result::<memory::Read>(lines)
        .result::<memory::AddNote>(note)
}

fn calls<M: Method>(server: &ScriptedServer) -> Vec<M::Params> {
    server.calls::<M>().unwrap()
}

fn continued(thread_id: &str, to: Option<&str>) -> thread::ContinueParams {
    let to = to.map(str::to_owned);
    thread::ContinueParams { thread_id: thread_id.to_owned(), to, ..Default::default() }
}

#[test]
fn every_tool_has_a_description() {
    let (_folder, server) = desk(examples());
    let answer = Agent::start(server.path()).ask("tools/list", json!({}));
    let tools = field(&answer, "result.tools").as_array().unwrap();
    let mut names: Vec<&str> = tools.iter().map(|tool| text_at(tool, "name")).collect();
    names.sort_unstable();
    let expected = [
        "checkpoint_apply",
        "checkpoint_view",
        "context_usage",
        "expand",
        "memory_note",
        "memory_read",
        "memory_search",
        "thread_continue",
        "thread_rescue",
        "thread_search",
    ];
    assert_eq!(names, expected);
    for tool in tools {
        assert!(text_at(tool, "description").len() > 40, "{tool}");
        assert_eq!(text_at(tool, "inputSchema.type"), "object");
        let writing = ["memory_note", "checkpoint_apply", "thread_continue", "thread_rescue"];
        let is_writing = writing.contains(&text_at(tool, "name"));
        assert_eq!(field(tool, "annotations.readOnlyHint"), !is_writing, "{tool}");
    }
}

#[test]
fn calls_default_to_the_calling_thread() {
    let (_folder, server) = desk(examples());
    let mut agent = Agent::start(server.path());
    let (text, failed) = agent.tool("checkpoint_view", json!({}), Some("mine"));
    assert_eq!((text.as_str(), failed), ("[TASK]\n- Go on.", false));
    agent.tool("checkpoint_view", json!({ "thread_id": "other" }), Some("mine"));
    agent.tool("checkpoint_view", json!({}), None);
    let views = calls::<checkpoint::View>(&server);
    assert_eq!([&views[0].thread_id, &views[1].thread_id], ["mine", "other"]);
    // Without either, the newest of this folder.
    let here = std::env::current_dir().unwrap();
    assert_eq!(calls::<thread::ThreadList>(&server)[0].cwd.as_deref(), here.to_str());
    for (tool, arguments) in [
        ("context_usage", json!({})),
        ("expand", json!({ "handle": "h1" })),
        ("thread_search", json!({ "query": "connection refused" })),
    ] {
        let (text, failed) = agent.tool(tool, arguments, Some("mine"));
        assert!(!failed && !text.is_empty(), "{tool}: {text}");
    }
    agent.tool("expand", json!({ "handle": "#7", "thread_id": "0199" }), Some("mine"));
    agent.tool("expand", json!({ "handle": "#7" }), None);
    let threads: Vec<_> =
        calls::<history::Expand>(&server).into_iter().map(|call| call.thread_id.unwrap()).collect();
    assert_eq!(threads, ["mine", "0199", "01980000-0000-7000-8000-000000000001"]);
}

#[test]
fn thread_continue_returns_the_command_for_the_user() {
    let (_folder, server) = desk(examples());
    let mut agent = Agent::start(server.path());
    let (text, failed) = agent.tool("thread_continue", json!({ "to": "claude" }), Some("mine"));
    assert!(!failed && text.contains("codex resume") && text.contains("Working tree: "), "{text}");
    let requests = calls::<thread::Continue>(&server);
    assert_eq!(requests, [continued("mine", Some("claude"))]);
}

#[test]
fn a_hand_over_reports_progress_to_an_agent_that_asks_for_it() {
    let (finish, finished) = mpsc::sync_channel(1);
    let finished = Mutex::new(finished);
    let slow = examples().on::<thread::Continue>(move |_| {
        finished.lock().unwrap().recv_timeout(ANSWER_TIMEOUT).unwrap();
        Reply::Close
    });
    let (_folder, server) = desk(slow);
    let mut agent = Agent::start(server.path());
    for meta in [json!({ "progressToken": "p1" }), json!({})] {
        let arguments = json!({ "thread_id": "t" });
        let params = json!({ "name": "thread_continue", "arguments": arguments, "_meta": meta });
        agent.say(&json!({ "jsonrpc": "2.0", "id": 90, "method": "tools/call", "params": params }));
        if meta.get("progressToken").is_some() {
            let progress = agent.hear();
            assert_eq!(text_at(&progress, "params.progressToken"), "p1", "{progress}");
            assert!(text_at(&progress, "params.message").contains("briefing"), "{progress}");
        }
        finish.send(()).unwrap();
        let answer = agent.hear();
        assert_eq!(answer.get("id"), Some(&json!(90)), "{answer}");
    }
}

#[test]
fn the_newest_thread_is_one_that_someone_worked_in() {
    let thread = |id: &str, is_unresumed: bool| {
        json!({
            "thread_id": id, "source": "codex", "path": "/r.jsonl", "cwd": "/work", "title": null,
            "created_at": 0, "updated_at": 1, "items": 1, "tokens": 1, "compactions": 0, "lines": 1, "bytes": 1,
            "malformed": 0, "unknown": 0, "oversized": 0, "archived": false, "kind": "interactive",
            "unresumed": is_unresumed,
        })
    };
    let list = json!({ "threads": [thread("new", true), thread("old", false)] });
    let (_folder, server) = desk(examples().result::<thread::ThreadList>(list));
    Agent::start(server.path()).tool("checkpoint_view", json!({}), None);
    assert_eq!(calls::<checkpoint::View>(&server)[0].thread_id, "old");
}

/// Examples in which these threads are blocked.
fn with_blocked(ids: &'static [&'static str]) -> Script {
    examples().on::<thread::ThreadList>(move |params| {
        let expected = thread::ThreadListParams {
            blocked: Some(true),
            limit: Some(20),
            ..Default::default()
        };
        assert_eq!(params, expected, "the whole project");
        let threads = ids.iter().map(|id| {
            json!({
                "thread_id": id, "source": "codex", "path": "/r.jsonl", "cwd": "/work", "title": "Fix the parser",
                "created_at": 0, "updated_at": 0, "items": 1, "tokens": 1, "compactions": 0, "lines": 1, "bytes": 1,
                "malformed": 0, "unknown": 0, "oversized": 0, "archived": false, "kind": "interactive",
                "blocked": { "cause": "context_full", "failures": 2 },
            })
        });
        Reply::Result(json!({ "threads": threads.collect::<Vec<_>>() }))
    })
}

#[test]
fn a_blocked_thread_is_rescued_and_several_are_listed() {
    let (_folder, server) = desk(with_blocked(&["one-1"]));
    let (text, failed) =
        Agent::start(server.path()).tool("thread_rescue", json!({ "to": "claude" }), Some("mine"));
    assert!(!failed && text.contains("codex resume"), "{text}");
    let asked = calls::<thread::Continue>(&server);
    assert_eq!(asked, [continued("one-1", Some("claude"))]);

    let (_folder, server) = desk(with_blocked(&["one-1", "two-2"]));
    let mut agent = Agent::start(server.path());
    let (text, failed) = agent.tool("thread_rescue", json!({}), Some("mine"));
    assert!(!failed && text.contains("two-2: its window is full: Fix the parser"), "{text}");
    assert!(calls::<thread::Continue>(&server).is_empty());
    agent.tool("thread_rescue", json!({ "thread_id": "two" }), None);
    assert_eq!(calls::<thread::Continue>(&server), [continued("two-2", None)]);
    let (text, failed) = agent.tool("thread_rescue", json!({ "thread_id": "mine" }), None);
    assert!(failed && text.contains("no blocked thread"), "{text}");

    let (_folder, server) = desk(with_blocked(&[]));
    let (text, failed) = Agent::start(server.path()).tool("thread_rescue", json!({}), None);
    assert_eq!((text.as_str(), failed), ("No thread of this project is blocked.", false));
}

#[test]
fn updates_are_applied_in_order_until_one_is_rejected() {
    let script = examples().on::<checkpoint::Apply>(|params| {
        let checkpoint::Update::Fact(fact) = params.update else { panic!("{params:?}") };
        Reply::Result(match fact.key == "port" {
            true => json!({ "accepted": true, "seq": 7 }),
            false => json!({ "accepted": false, "rule": "evidence", "reason": "no such call", "hint": "name one", "seq": 7 }),
        })
    });
    let (_folder, server) = desk(script);
    let mut agent = Agent::start(server.path());
    let fact = |key: &str| {
        let evidence = json!({ "source": "tool_output", "ref": "call_1" });
        json!({ "kind": "fact", "key": key, "value": "5433", "evidence": evidence })
    };
    let (text, failed) =
        agent.tool("checkpoint_apply", json!({ "updates": [fact("port")] }), Some("mine"));
    assert!(!failed && text.contains("Recorded 1"), "{text}");
    assert_eq!(calls::<checkpoint::Apply>(&server)[0].thread_id, "mine");
    let updates = json!({ "updates": [fact("port"), fact("host"), fact("port")] });
    let (text, failed) = agent.tool("checkpoint_apply", updates, Some("mine"));
    assert!(failed && text.contains("update 2 of 3"), "{text}");
    for word in ["update_rejected", "host", "no such call", "name one", "1 before it"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(calls::<checkpoint::Apply>(&server).len(), 3, "the third is not sent");
    let unread = json!({ "updates": [fact("port"), { "kind": "policy" }] });
    let (text, failed) = agent.tool("checkpoint_apply", unread, Some("mine"));
    assert!(failed && text.contains("update 2 of 2 cannot be read"), "{text}");
    assert_eq!(calls::<checkpoint::Apply>(&server).len(), 3, "none is sent");
}

#[test]
fn memory_tools_and_resource_work() {
    let (_folder, server) = desk(with_memory());
    let mut agent = Agent::start(server.path());
    let (text, _) = agent.tool("memory_search", json!({ "query": "tests" }), None);
    assert_eq!(text, "MEMORY.md:3-4, thread t9\nUse just.");
    let (text, _) = agent.tool("memory_read", json!({ "path": "MEMORY.md", "line": 3 }), None);
    assert_eq!(text, "line three");
    let (text, _) = agent.tool("memory_note", json!({ "text": "Use just." }), None);
    assert_eq!(text, "Noted for parser: Use just.");
    let read = agent.ask("resources/read", json!({ "uri": "longhaul://memory/summary" }));
    assert_eq!(text_at(&read, "result.contents.0.text"), "# What is known", "{read}");
    assert_eq!(text_at(&read, "result.contents.0.mimeType"), "text/markdown");
    let listed = agent.ask("resources/list", json!({}));
    assert_eq!(text_at(&listed, "result.resources.0.uri"), "longhaul://memory/summary");
    let unknown = agent.ask("resources/read", json!({ "uri": "longhaul://nothing" }));
    assert!(!text_at(&unknown, "error.message").is_empty(), "{unknown}");
}

#[test]
fn restart_repeats_reads_but_not_notes() {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let script = with_memory()
        .on::<checkpoint::View>(move |_| match seen.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::Close,
            _ => {
                Reply::Result(json!({ "text": "still here", "tokens": 2, "digest": "d", "seq": 1 }))
            }
        })
        .on::<memory::AddNote>(|_| Reply::Close);
    let (_folder, server) = desk(script);
    let mut agent = Agent::start(server.path());
    // The connection ends during a call, then between two.
    assert_eq!(agent.tool("checkpoint_view", json!({}), Some("t")), ("still here".into(), false));
    server.close_all();
    assert_eq!(agent.tool("checkpoint_view", json!({}), Some("t")), ("still here".into(), false));
    let (text, failed) = agent.tool("memory_note", json!({ "text": "Use just." }), None);
    assert!(failed && text.contains("connection_broken"), "{text}");
    assert_eq!(calls::<memory::AddNote>(&server).len(), 1);
}

/// Also by an agent that may not start the daemon: it is known to have been there.
#[test]
fn a_call_waits_for_a_daemon_that_restarts_in_the_middle_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let socket = of_agents(&folder.path().join("v1.sock"));
    let link = socket.clone();
    let stops = examples().on::<checkpoint::View>(move |_| {
        std::fs::remove_file(&link).unwrap();
        Reply::Close
    });
    let stopped = ScriptedServer::start(&folder.path().join("stopped.sock"), stops).unwrap();
    std::os::unix::fs::symlink(stopped.path(), &socket).unwrap();
    let mut agent = Agent::start(&socket);
    let params = json!({ "name": "checkpoint_view", "arguments": { "thread_id": "t" } });
    agent.say(&json!({ "jsonrpc": "2.0", "id": 90, "method": "tools/call", "params": params }));
    let early = agent.lines.recv_timeout(Duration::from_millis(500));
    assert!(early.is_err() && !socket.exists(), "{early:?}");
    let _started = ScriptedServer::start(&socket, examples()).unwrap();
    assert_eq!(text_at(&agent.hear(), "result.content.0.text"), "[TASK]\n- Go on.");
}

#[test]
fn missing_daemon_and_other_version_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(&folder.path().join("v1.sock"));
    let (text, failed) = agent.tool("context_usage", json!({}), Some("t"));
    assert!(
        failed && text.contains("daemon_not_running") && text.contains("longhaul up"),
        "{text}"
    );

    let older = |_| {
        let error = WireError::new(ErrorKind::VersionUnsupported, "this daemon speaks 1 to 1");
        let end = longhaul_protocol::version::Disagreement::DaemonTooOld;
        Reply::Error(error.with_detail(json!({ "disagreement": end })))
    };
    let (_folder, server) = desk(examples().on::<daemon::Initialize>(older));
    let (text, failed) = Agent::start(server.path()).tool("expand", json!({ "handle": "h" }), None);
    assert!(failed && text.contains("version_unsupported"), "{text}");
    assert!(text.contains("restart the daemon"), "{text}");
}
