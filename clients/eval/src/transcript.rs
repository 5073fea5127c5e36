//! Reads a Codex rollout of any generation, or a transcript of Claude Code, into steps.
//!
//! It deliberately shares no code with the daemon's parser, so that a blind spot there shows in the measurement. Every
//! line is judged alone, never by file or version, because real files change generation in the middle. Nothing is an
//! error: a line that is not one JSON object is counted, and the objects at its beginning are read.

mod call;
pub(crate) mod claude;
mod output;
mod patch;

pub use call::{Call, PlanState, PlanStep};
pub use output::{Output, REFUSED};
pub use patch::PatchAction;

use serde_json::{Map, Value};

/// Maximum objects read from one line, as in the daemon.
const OBJECTS_MAX: usize = 8;

/// A rollout as a list of steps, in file order.
#[derive(Debug, Default)]
pub struct Transcript {
    /// The thread id of the first session header, if any.
    pub thread_id: Option<String>,
    /// Working directories named by headers, in order of first appearance, without duplicates.
    pub cwds: Vec<String>,
    /// Several steps may come from one line.
    pub steps: Vec<Step>,
    /// Readable summaries that replaced the agent's history.
    pub summaries: Vec<Summary>,
    /// Complete lines that are not a JSON object.
    pub malformed: u64,
}

/// A model's summary of a compacted history.
#[derive(Debug)]
pub struct Summary {
    pub step: usize,
    /// Byte offset of its line; it summarizes what is before.
    pub before: usize,
    pub text: String,
}

/// A step, and where its line ends.
#[derive(Debug)]
pub struct Step {
    /// Byte offset after the line and its newline: truncating the file here keeps this step and hides everything after.
    pub end: usize,
    pub kind: StepKind,
}

/// The kinds of step a scorer distinguishes. Encrypted reasoning and event-only lines are not steps.
#[derive(Debug)]
pub enum StepKind {
    /// Text that a client always injects: base instructions, AGENTS.md, environment, permissions.
    Context(String),
    /// Text in the user's role; `request` is false for notices by a client (an aborted turn, a skill body).
    User {
        /// The text, without the frame an IDE puts around it.
        text: String,
        /// Whether it is a person's request.
        request: bool,
    },
    /// Text by the agent: messages, readable reasoning, readable compaction summaries.
    Assistant(String),
    Call(Call),
    /// What a tool call returned.
    Output(Output),
}

impl Transcript {
    /// Parses the bytes of one rollout file. A torn last line is read if it happens to be whole.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut transcript = Self::default();
        let mut start = 0;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let end = start + line.len();
            transcript.line(line, end);
            start = end;
        }
        transcript
    }

    /// Estimated tokens of all steps (bytes of decoded text / 4, rounded up per step).
    pub fn tokens(&self) -> u64 {
        self.steps.iter().map(Step::tokens).sum()
    }

    /// Calls from a step up to and including the first that changes a file.
    pub fn calls_to_edit(&self, step: usize) -> Option<u64> {
        let calls = self.steps[step..].iter().filter_map(Step::call);
        (1..).zip(calls).find(|(_, call)| !call.patches.is_empty()).map(|(number, _)| number)
    }

    fn line(&mut self, line: &[u8], end: usize) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return;
        }
        let mut objects = serde_json::Deserializer::from_str(text).into_iter();
        let (mut read, mut rest) = (0, text);
        while read < OBJECTS_MAX
            && let Some(Ok(Value::Object(object))) = objects.next()
        {
            self.object(object, end - line.len(), end);
            (read, rest) = (read + 1, &text[objects.byte_offset()..]);
        }
        self.malformed += u64::from(read != 1 || !rest.trim().is_empty());
    }

    fn object(&mut self, object: Map<String, Value>, start: usize, end: usize) {
        if claude::is_line(&object) {
            return self.claude_line(&object, start, end);
        }
        match (object.get("type").and_then(Value::as_str), object.get("payload")) {
            (Some("session_meta"), Some(payload)) => self.header(payload, end),
            (Some("turn_context"), Some(payload)) => self.turn_context(payload, end),
            (Some("response_item"), Some(payload)) => self.item(payload, end),
            (Some("compacted"), Some(payload)) => {
                self.push(end, StepKind::Assistant(string(payload, "message")));
            }
            // Generation 1: the line is the item itself, and the header has an id but no type.
            (Some(_), None) => self.item(&Value::Object(object), end),
            (None, None) if object.contains_key("id") => self.header(&Value::Object(object), end),
            _ => {}
        }
    }

    fn header(&mut self, payload: &Value, end: usize) {
        if self.thread_id.is_none() {
            self.thread_id = payload.get("id").and_then(Value::as_str).map(str::to_owned);
        }
        self.add_cwd(&string(payload, "cwd"));
        self.push(end, StepKind::Context(string(payload, "instructions")));
        let base = payload.get("base_instructions");
        let base = base.map_or_else(String::new, |value| match value {
            Value::String(text) => text.clone(),
            other => string(other, "text"),
        });
        self.push(end, StepKind::Context(base));
    }

    fn turn_context(&mut self, payload: &Value, end: usize) {
        self.add_cwd(&string(payload, "cwd"));
        self.push(end, StepKind::Context(string(payload, "user_instructions")));
    }

    fn item(&mut self, item: &Value, end: usize) {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "message" => self.message(item, end),
            "reasoning" => {
                for part in parts(item.get("summary")).chain(parts(item.get("content"))) {
                    self.push(end, StepKind::Assistant(part));
                }
            }
            _ if kind.ends_with("_call_output") || kind == "tool_search_output" => {
                self.push(end, StepKind::Output(Output::read(item)));
            }
            _ if kind.ends_with("_call") => self.push(end, StepKind::Call(Call::read(item))),
            _ => {}
        }
    }

    fn message(&mut self, item: &Value, end: usize) {
        let role = item.get("role").and_then(Value::as_str).unwrap_or_default();
        for text in parts(item.get("content")) {
            let kind = match role {
                "assistant" => StepKind::Assistant(text),
                "user" => user_step(text),
                _ => StepKind::Context(text),
            };
            if let StepKind::Context(text) = &kind
                && let Some(cwd) = between(text, "<cwd>", "</cwd>")
            {
                let cwd = cwd.to_owned();
                self.add_cwd(&cwd);
            }
            self.push(end, kind);
        }
    }

    fn add_cwd(&mut self, cwd: &str) {
        let cwd = cwd.trim().trim_end_matches('/');
        if !cwd.is_empty() && !self.cwds.iter().any(|known| known == cwd) {
            self.cwds.push(cwd.to_owned());
        }
        // A path of Windows is found in text without its drive.
        if let Some((drive, rest)) = cwd.split_once(':')
            && drive.len() == 1
            && rest.starts_with(['/', '\\'])
        {
            self.add_cwd(&rest.replace('\\', "/"));
        }
    }

    fn push(&mut self, end: usize, kind: StepKind) {
        let empty = match &kind {
            StepKind::Context(text) | StepKind::Assistant(text) | StepKind::User { text, .. } => {
                text.trim().is_empty()
            }
            StepKind::Call(_) | StepKind::Output(_) => false,
        };
        if !empty {
            self.steps.push(Step { end, kind });
        }
    }
}

impl Step {
    /// Estimated tokens of the step's decoded text (bytes / 4, rounded up).
    pub fn tokens(&self) -> u64 {
        let bytes = match &self.kind {
            StepKind::Context(text) | StepKind::Assistant(text) | StepKind::User { text, .. } => {
                text.len()
            }
            StepKind::Call(call) => {
                call.name.len() + call.arguments.iter().map(String::len).sum::<usize>()
            }
            StepKind::Output(output) => output.text.len(),
        };
        (bytes as u64).div_ceil(4)
    }

    pub fn call(&self) -> Option<&Call> {
        match &self.kind {
            StepKind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The text of a person's request.
    pub fn request(&self) -> Option<&str> {
        match &self.kind {
            StepKind::User { text, request: true } => Some(text),
            _ => None,
        }
    }

    /// Whether it is an observation from outside the agent.
    pub fn is_observation(&self) -> bool {
        matches!(self.kind, StepKind::User { .. } | StepKind::Output(_))
    }
}

/// Starts of user-role texts that clients inject before every turn.
const CONTEXT_STARTS: [&str; 6] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<INSTRUCTIONS>",
    "<collaboration_mode>",
    "# AGENTS.md instructions",
];

/// How an IDE or the desktop app marks the request in a message with files.
const IDE_FRAMES: [&str; 2] = ["# Context from my IDE", "# Files mentioned by the user"];
const IDE_REQUEST: &str = "## My request for Codex:";

fn user_step(text: String) -> StepKind {
    let trimmed = text.trim();
    if CONTEXT_STARTS.iter().any(|start| trimmed.starts_with(start)) {
        return StepKind::Context(text);
    }
    if IDE_FRAMES.iter().any(|frame| trimmed.starts_with(frame))
        && let Some((_, request)) = trimmed.split_once(IDE_REQUEST)
    {
        return StepKind::User { text: request.trim().to_owned(), request: true };
    }
    let request = !is_tagged_notice(trimmed);
    StepKind::User { text, request }
}

/// True for `<tag …>…</tag>` as a whole: clients write those, people do not.
fn is_tagged_notice(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('<') else { return false };
    let name: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect();
    !name.is_empty() && text.ends_with(&format!("</{name}>"))
}

/// The texts of a content value: a string, or a list of parts with `text`.
fn parts(content: Option<&Value>) -> impl Iterator<Item = String> {
    let texts = match content {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => {
            items.iter().filter_map(|item| item.get("text")?.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    texts.into_iter()
}

/// The string field `key`, or an empty string.
fn string(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    Some(text.split_once(open)?.1.split_once(close)?.0)
}

#[cfg(test)]
mod tests;
