//! Parses one line of a Gemini CLI session, as written by [`assemble`]. Gemini's files are documents or
//! journals in which the last state of a message counts, so they are read as a whole.
//!
//! A line is the session's header, a message, a call of a tool, its answer, or a change (`$set`, `$rewindTo`).
//! Each is parsed on its own, by its keys.

pub mod assemble;
mod output;
pub mod tool;

use serde_json::Value;

use super::codex::time;
use super::source::{Assembly, FilePattern, Folder, Home, Layout, SourceSpec};
use super::{
    Body, Compacted, Entry, Images, Item, Meta, Object, Replacement, Role, Show, TitleBy, Usage,
    object_of, responses, text,
};
use crate::item::breakdown::{Breakdown, ContextKind};
use crate::thread::ThreadKind;
use crate::tokens;

pub(super) const SPEC: SourceSpec = SourceSpec {
    title: "Gemini CLI",
    home: Some(Home { folder: ".gemini", variable: "LONGHAUL_GEMINI_HOME" }),
    folders: &[Folder { path: "tmp", archived: false }],
    files: &[
        FilePattern { prefix: "", suffix: ".jsonl", layout: Layout::Assembled(ASSEMBLY) },
        FilePattern { prefix: "", suffix: ".json", layout: Layout::Assembled(ASSEMBLY) },
    ],
    read,
    is_item: |head| {
        let kinds =
            [r#""type":"user""#, r#""type":"gemini""#, r#""toolCall":"#, r#""toolResult":"#];
        kinds.iter().any(|kind| head.contains(kind))
    },
    responses: Some(responses),
    interpret: Some(tool::interpret),
    resume: &["gemini", "--resume"],
    session_undo: "",
    continuation: None,
    reads_agents_md: false,
    has_session_meta: false,
};

const ASSEMBLY: Assembly = Assembly {
    within: Some(assemble::FOLDER),
    marker: Some(".project_root"),
    lines: |file, place| Some(assemble::assemble(file, place)),
};

/// Prefixes of what Gemini CLI sends to the model in the person's name.
const HARNESS: [&str; 4] = ["<session_context>", "<hook_context>", "<loaded_context>", "<system"];

/// Opens the summary of a compression, after the model's notes to itself.
const SNAPSHOT: &str = "<state_snapshot>";

/// Parses a line given without its newline and passes its entries to `visit`.
pub fn read(line: &[u8], _wants_meta: bool, visit: &mut dyn FnMut(Entry<'_>)) {
    let Some(object) = object_of(line, visit) else { return };
    let at_ms = text(&object, "timestamp").and_then(time);
    let mut show = |body: Body<'_>| visit(Entry { at_ms, body });
    read_object(&object, &mut show);
}

fn read_object(object: &Object, show: &mut Show<'_>) {
    if let Some(set) = object.get("$set") {
        return change(set, show);
    }
    if object.contains_key("$rewindTo") {
        let turns = object.get("turns").and_then(Value::as_u64).unwrap_or(0);
        return show(if turns > 0 { Body::RolledBack { turns } } else { Body::Passed });
    }
    if let Some(call) = object.get("toolCall").and_then(Value::as_object) {
        return show(Body::Item(Item::Call(tool::call(call)), tokens_of(object.get("toolCall"))));
    }
    if let Some(result) = object.get("toolResult").and_then(Value::as_object) {
        return show(answer(result));
    }
    match text(object, "type") {
        Some("user") => user(object, show),
        Some("gemini") => model(object, show),
        Some("info" | "error" | "warning") => notice(object, show),
        None if object.contains_key("sessionId") => header(object, show),
        _ => show(Body::Unknown),
    }
}

fn header(object: &Object, show: &mut Show<'_>) {
    let owned = |key: &str| text(object, key).map(str::to_owned);
    let is_subagent = text(object, "kind") == Some("subagent");
    let directory = || Some(object.get("directories")?.get(0)?.as_str()?.to_owned());
    show(Body::Meta(Box::new(Meta {
        id: owned("sessionId"),
        created_at_ms: text(object, "startTime").and_then(time),
        cwd: owned("cwd").or_else(directory),
        originator: Some("gemini-cli".to_owned()),
        kind: if is_subagent { ThreadKind::Subagent } else { ThreadKind::Interactive },
        parent_thread_id: owned("parentSessionId"),
        ..Meta::default()
    })));
}

fn change(set: &Value, show: &mut Show<'_>) {
    show(match set["summary"].as_str().filter(|words| !words.trim().is_empty()) {
        Some(words) => Body::Title { words: words.into(), by: TitleBy::Summary },
        None => Body::Passed,
    });
}

/// What the program shows to the person. The model receives none of it.
fn notice(object: &Object, show: &mut Show<'_>) {
    let is_interruption = text(object, "content") == Some("Request cancelled.");
    show(if is_interruption { Body::TurnAborted } else { Body::Passed });
}

fn user(object: &Object, show: &mut Show<'_>) {
    let content = Parts::of(object.get("content"));
    for response in &content.responses {
        show(answer(response));
    }
    let words = content.text.trim();
    if words.is_empty() && content.images == Images::default() {
        if content.responses.is_empty() {
            show(Body::Passed);
        }
        return;
    }
    if words.contains(SNAPSHOT) {
        let message = words[words.find(SNAPSHOT).unwrap_or(0)..].into();
        let tokens = Breakdown::of(ContextKind::Summary, tokens::of_text(&content.text));
        let replacement = Some(Replacement { items: 1, tokens });
        return show(Body::Compacted(Compacted { message, replacement, is_sealed_view: false }));
    }
    // Commands of the program itself, which are stored and not sent.
    if words.starts_with('/') || words.starts_with('?') {
        return show(Body::Passed);
    }
    let role = match HARNESS.iter().any(|opening| words.starts_with(opening)) {
        true => Role::Developer,
        false => Role::User,
    };
    // The person's typed text, without the contents of the files they named.
    let typed = Parts::of(object.get("displayContent")).text;
    match words.strip_prefix(typed.trim()).filter(|more| !typed.is_empty() && !more.is_empty()) {
        Some(more) => {
            show(Body::message(role, typed.trim(), Images::default()));
            show(Body::message(Role::Developer, more.trim(), content.images));
        }
        None => show(Body::message(role, words, content.images)),
    }
}

fn model(object: &Object, show: &mut Show<'_>) {
    if let Some(model) = text(object, "model") {
        show(Body::model(model));
    }
    let content = Parts::of(object.get("content"));
    let thoughts = object.get("thoughts").and_then(Value::as_array);
    let mut thought = content.thought;
    for thought_part in thoughts.into_iter().flatten() {
        let words = |key: &str| thought_part.get(key).and_then(Value::as_str).unwrap_or_default();
        push_line(&mut thought, words("subject"));
        push_line(&mut thought, words("description"));
    }
    if !thought.is_empty() {
        let tokens = tokens::of_text(&thought);
        let text = thought.into();
        show(Body::Item(Item::Reasoning { encrypted: None, text }, tokens));
    }
    if !content.text.trim().is_empty() {
        show(Body::message(Role::Assistant, &content.text, content.images));
    }
    for call in &content.calls {
        show(Body::Item(Item::Call(tool::call(call)), tokens::of_text(&json(call))));
    }
    let total = object.get("tokens").and_then(|tokens| tokens.get("total")?.as_u64());
    if let Some(total) = total.filter(|total| *total > 0) {
        show(Body::Usage(Usage { total_tokens: Some(total), ..Usage::default() }));
    }
    let calls = object.get("calls").and_then(Value::as_u64).unwrap_or(0);
    if calls == 0 && content.calls.is_empty() && !content.text.trim().is_empty() {
        show(Body::TurnComplete);
    }
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !line.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

fn answer(result: &Object) -> Body<'static> {
    Body::output(text(result, "id").unwrap_or_default(), output::text(result))
}

/// The parts of a message, by kind.
#[derive(Default)]
struct Parts<'a> {
    text: String,
    images: Images,
    thought: String,
    calls: Vec<&'a Object>,
    responses: Vec<&'a Object>,
}

impl<'a> Parts<'a> {
    /// Content is a string, a part, or a list of both.
    fn of(value: Option<&'a Value>) -> Self {
        let mut content = Self::default();
        match value {
            Some(Value::Array(parts)) => parts.iter().for_each(|part| content.push(part)),
            Some(part) => content.push(part),
            None => {}
        }
        content
    }

    fn push(&mut self, part: &'a Value) {
        let words = part.as_str().or_else(|| part.get("text")?.as_str());
        match words.filter(|words| !words.is_empty()) {
            Some(words) if part.get("thought").and_then(Value::as_bool) == Some(true) => {
                push_line(&mut self.thought, words);
            }
            Some(words) => push_line(&mut self.text, words),
            None => {}
        }
        if let Some(data) = inline_data(part) {
            self.images.push(data, false);
        }
        self.calls.extend(part.get("functionCall").and_then(Value::as_object));
        self.responses.extend(part.get("functionResponse").and_then(Value::as_object));
    }
}

/// The base64 text of an inline image.
fn inline_data(part: &Value) -> Option<&str> {
    let data = part.get("inlineData")?;
    let is_image = data.get("mimeType")?.as_str()?.starts_with("image/");
    data.get("data")?.as_str().filter(|_| is_image)
}

/// The items of a line in the Responses form; none for lines that no model sees.
pub fn responses(line: &[u8]) -> Vec<Value> {
    let object = serde_json::from_slice::<Object>(line).unwrap_or_default();
    let urls = || {
        let parts = object.get("content").or_else(|| object.get("toolResult")?.get("result"));
        let parts = parts.and_then(Value::as_array).into_iter().flatten();
        let nested = |part: &Value| part["functionResponse"]["parts"].as_array().cloned();
        let parts = parts.flat_map(|part| {
            nested(part).unwrap_or_default().into_iter().chain([part.clone()]).collect::<Vec<_>>()
        });
        let url = |part: Value| {
            let data = inline_data(&part)?;
            Some(format!("data:{};base64,{data}", part["inlineData"]["mimeType"].as_str()?))
        };
        parts.filter_map(url).collect()
    };
    responses::of_line(read, line, |_| urls())
}

fn json(object: &Object) -> String {
    serde_json::to_string(object).unwrap_or_default()
}

fn tokens_of(value: Option<&Value>) -> u64 {
    value.map_or(0, |value| tokens::of_text(&value.to_string()))
}

#[cfg(test)]
mod tests;
