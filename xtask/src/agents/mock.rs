//! A mock model on the loopback interface, with the parts of the Responses API that agents use.
//!
//! It has no script. It answers a summary request with a summary, the first other request of a run with a command for
//! the offered shell tool, and all later ones with text, so that a run ends even if a compaction removed the command.

mod messages;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use serde_json::{Value, json};

pub(super) use messages::{FILL, MOST, PART, is_summary_request, unpaired};

/// Texts in Codex's requests for a summary, in all versions.
const COMPACTION_MARKS: [&str; 3] = ["CONTEXT CHECKPOINT COMPACTION", "handoff summary", "memento"];

/// Begins a prompt that makes the model call a tool. The tool and its arguments in JSON follow.
pub(super) const ASK_LONGHAUL: &str = "ask longhaul: ";

const BODY_BYTES_MAX: usize = 16 << 20;

/// Tokens reported for a request, and for one after a compaction in the same run: old versions end a run
/// that is still over the limit.
const INPUT_TOKENS: u64 = 3_000;
const COMPACTED_TOKENS: u64 = 500;

type Requests = Arc<Mutex<Vec<Value>>>;

/// The mock model. It runs until the process ends.
pub(super) struct Mock {
    address: String,
    requests: Requests,
    /// Rejects every request of Codex as too long.
    is_full: Arc<AtomicBool>,
}

impl Mock {
    pub(super) fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let requests = Requests::default();
        let seen = Arc::clone(&requests);
        let is_full = Arc::new(AtomicBool::new(false));
        let full = Arc::clone(&is_full);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, full) = (Arc::clone(&seen), Arc::clone(&full));
                std::thread::spawn(move || drop(serve(stream, &seen, &full)));
            }
        });
        Ok(Self { address, requests, is_full })
    }

    /// Sets whether Codex's requests, including compactions, are rejected as longer than the window.
    pub(super) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Requests since the last `take`.
    pub(super) fn count(&self) -> usize {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The bodies of requests since the last call, oldest first.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers one request and closes.
fn serve(stream: TcpStream, seen: &Requests, is_full: &AtomicBool) -> anyhow::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).context("no request line")?.to_owned();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        is_chunked |= header.starts_with("transfer-encoding:") && header.ends_with("chunked");
    }
    let body = if is_chunked { chunks(&mut reader)? } else { exactly(&mut reader, length)? };
    if line.starts_with("GET") {
        let models = json!({ "object": "list", "data": [], "models": [] });
        return respond(stream, "application/json", &models.to_string());
    }
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    if path.contains("/messages") {
        let (kind, body) = match path.contains("count_tokens") {
            true => ("application/json", json!({ "input_tokens": 1000 }).to_string()),
            false => messages::answer(&request),
        };
        let refused = unpaired(&request);
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        return match refused {
            None => respond(stream, kind, &body),
            Some(why) => respond_with(
                stream,
                "400 Bad Request",
                "application/json",
                &messages::refusal(&why),
            ),
        };
    }
    if is_full.load(Ordering::Relaxed) {
        let error = json!({ "code": "context_length_exceeded",
            "message": "Your input exceeds the context window of this model." });
        let failed = json!({ "type": "response.failed",
            "response": { "id": new_id("resp"), "status": "failed", "error": error } });
        let event = format!("event: response.failed\ndata: {failed}\n\n");
        return respond(stream, "text/event-stream", &event);
    }
    let is_plain = path.ends_with("/compact");
    let mut words = items(&request).iter().rev().filter(|item| item["role"] == "user");
    let is_part = words.next().is_some_and(|words| words.to_string().contains(PART));
    let (items, tokens) = {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = seen.iter().all(|earlier| compaction(earlier).is_some());
        let items = answer(&request, is_first);
        seen.push(request);
        let is_compacted = seen.iter().any(|earlier| compaction(earlier).is_some());
        let tokens = match (is_part, is_compacted) {
            (true, _) => messages::PART_TOKENS,
            (false, true) => COMPACTED_TOKENS,
            (false, false) => INPUT_TOKENS,
        };
        (items, tokens)
    };
    match is_plain {
        true => respond(stream, "application/json", &json!({ "output": items }).to_string()),
        false => respond(stream, "text/event-stream", &events(&items, tokens)),
    }
}

fn exactly(reader: &mut impl std::io::Read, length: usize) -> anyhow::Result<Vec<u8>> {
    anyhow::ensure!(length <= BODY_BYTES_MAX, "a body of {length} bytes");
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn chunks(reader: &mut BufReader<TcpStream>) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16)?;
        anyhow::ensure!(body.len() + size <= BODY_BYTES_MAX, "a body without end");
        reader.by_ref().take(size as u64).read_to_end(&mut body)?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn respond(stream: TcpStream, kind: &str, body: &str) -> anyhow::Result<()> {
    respond_with(stream, "200 OK", kind, body)
}

fn respond_with(mut stream: TcpStream, status: &str, kind: &str, body: &str) -> anyhow::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    Ok(())
}

/// The items of the answer.
fn answer(request: &Value, is_first: bool) -> Vec<Value> {
    match compaction(request) {
        Some(item) => vec![item],
        None if is_first && requested_call(request).is_some() => {
            requested_call(request).into_iter().collect()
        }
        None if is_first => vec![message("Looking."), command(request, items(request))],
        None => vec![message("Done.")],
    }
}

/// The answer to a compaction request; `None` for other requests.
fn compaction(request: &Value) -> Option<Value> {
    let input = items(request);
    if input.iter().any(|item| item["type"] == "compaction_trigger") {
        return Some(json!({ "type": "compaction", "encrypted_content": "x".repeat(600) }));
    }
    let last = input.last().map(Value::to_string).unwrap_or_default();
    let is_asked = COMPACTION_MARKS.iter().any(|mark| last.contains(mark));
    is_asked.then(|| message("SUMMARY: the tasks so far are done."))
}

/// Whether a request asks for a compaction.
pub(super) fn is_compaction(request: &Value) -> bool {
    compaction(request).is_some()
}

/// A prompt that makes the model call a tool.
pub(super) fn ask(tool: &str, arguments: &Value) -> String {
    format!("{ASK_LONGHAUL}{tool} {arguments}")
}

/// The tool and arguments that a prompt requests.
fn requested_tool(prompt: &str) -> Option<(&str, Value)> {
    let (_, call) = prompt.rsplit_once(ASK_LONGHAUL)?;
    let (tool, arguments) = call.split_once(' ')?;
    let arguments = serde_json::Deserializer::from_str(arguments).into_iter().next()?.ok()?;
    Some((tool, arguments))
}

/// The call that the last prompt requests, by the names that new versions give to our tools.
fn requested_call(request: &Value) -> Option<Value> {
    let mut words = items(request).iter().rev().filter(|item| item["role"] == "user");
    let words = words.find_map(|item| {
        let texts = item["content"].as_array()?.iter();
        texts.filter_map(|part| part["text"].as_str()).find(|text| text.contains(ASK_LONGHAUL))
    });
    let (tool, arguments) = requested_tool(words?)?;
    let mut call = json!({
        "type": "function_call", "id": new_id("fc"), "call_id": new_id("call"), "status": "completed",
        "name": tool, "arguments": arguments.to_string(),
    });
    // Resources are read by a tool of Codex.
    if !tool.ends_with("_mcp_resource") {
        call["namespace"] = "mcp__longhaul".into();
    }
    Some(call)
}

fn items(request: &Value) -> &[Value] {
    request["input"].as_array().map_or(&[], Vec::as_slice)
}

fn message(text: &str) -> Value {
    let content = [json!({ "type": "output_text", "text": text, "annotations": [] })];
    json!({ "type": "message", "role": "assistant", "id": new_id("msg"), "status": "completed", "content": content })
}

/// A shell command for the offered tool.
fn command(request: &Value, input: &[Value]) -> Value {
    let in_input = input.iter().filter(|item| item["type"] == "additional_tools");
    let lists = std::iter::once(&request["tools"]).chain(in_input.map(|item| &item["tools"]));
    let tools: Vec<&str> = lists
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(|tool| tool["name"].as_str().or(tool["type"].as_str()))
        .collect();
    let script = "echo one";
    let argv = json!(["bash", "-lc", script]);
    let has = |name: &&str| tools.contains(name);
    let (id, call_id) = (new_id("fc"), new_id("call"));
    let name = ["exec_command", "shell_command", "local_shell"].into_iter().find(has);
    let arguments = match name {
        Some("local_shell") => {
            let action =
                json!({ "type": "exec", "command": argv, "timeout_ms": 10_000, "env": {} });
            return json!({ "type": "local_shell_call", "id": id, "call_id": call_id, "status": "completed", "action": action });
        }
        Some("exec_command") => json!({ "cmd": script }),
        Some(_) => json!({ "command": script }),
        None => json!({ "command": argv }),
    };
    json!({
        "type": "function_call", "id": id, "call_id": call_id, "status": "completed",
        "name": name.unwrap_or("shell"), "arguments": arguments.to_string(),
    })
}

/// The event stream of an answer.
fn events(items: &[Value], tokens: u64) -> String {
    let id = new_id("resp");
    let usage = json!({
        "input_tokens": tokens, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 10, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": tokens + 10,
    });
    let response = |status: &str| json!({ "id": id, "object": "response", "status": status });
    let mut events =
        vec![json!({ "type": "response.created", "response": response("in_progress") })];
    for (index, item) in items.iter().enumerate() {
        for kind in ["response.output_item.added", "response.output_item.done"] {
            events.push(json!({ "type": kind, "output_index": index, "item": item }));
        }
    }
    let mut done = response("completed");
    done["output"] = items.into();
    done["usage"] = usage;
    events.push(json!({ "type": "response.completed", "response": done }));
    let line = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(line).collect()
}

/// An id unique in this process.
fn new_id(kind: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{kind}_{:08}", COUNT.fetch_add(1, Ordering::Relaxed))
}
