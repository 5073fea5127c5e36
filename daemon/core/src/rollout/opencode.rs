//! Parses one line of an OpenCode session, as written by [`assemble`]. OpenCode stores a session as rows or
//! files: one for the session, one for each message and one for each part of a message.
//!
//! A line is the session, a part with the heading of its message, the end of a message, or what the person took
//! back. Each is parsed on its own.

pub mod assemble;
mod output;
pub mod tool;

use serde_json::Value;

use super::records::{RecordFolders, RecordStorage, Records};
use super::source::{FilePattern, Folder, Home, Layout, SourceSpec};
use super::{
    Body, Entry, Images, Item, Meta, Object, Role, Show, TitleBy, Usage, object_of, responses, text,
};
use crate::thread::ThreadKind;
use crate::tokens::{self, image};

pub(super) const SPEC: SourceSpec = SourceSpec {
    title: "OpenCode",
    home: Some(Home { folder: ".local/share/opencode", variable: "LONGHAUL_OPENCODE_HOME" }),
    folders: &[
        Folder { path: "storage/session", archived: false },
        Folder { path: "opencode.db", archived: false },
    ],
    files: &[
        FilePattern { prefix: "ses_", suffix: ".json", layout: records(FOLDERS) },
        FilePattern { prefix: "ses_", suffix: "", layout: records(RecordStorage::Database) },
    ],
    read,
    is_item: |head| [r#""part":{"#, r#""output":{"#].iter().any(|key| head.contains(key)),
    responses: Some(responses),
    interpret: Some(tool::interpret),
    resume: &["opencode", "-s"],
    session_undo: "",
    continuation: None,
    reads_agents_md: true,
    has_session_meta: false,
};

/// Until 1.1; later versions have a database.
const FOLDERS: RecordStorage = RecordStorage::Folders(RecordFolders {
    sessions: "session",
    messages: "message",
    parts: "part",
});

const fn records(storage: RecordStorage) -> Layout {
    Layout::Records(Records { storage, lines: assemble::assemble })
}

/// Prefixes of default titles, before a model has named the session.
const NAMELESS: [&str; 2] = ["New session - ", "Child session - "];

/// Parts that are not sent to a model: marks of steps, snapshots for undo, retries.
const PASSED: [&str; 8] =
    ["step-start", "step-finish", "patch", "snapshot", "agent", "retry", "compaction", "subtask"];

/// Parses a line given without its newline and passes its entries to `visit`.
pub fn read(line: &[u8], _wants_meta: bool, visit: &mut dyn FnMut(Entry<'_>)) {
    let Some(object) = object_of(line, visit) else { return };
    let at_ms = object.get("at").and_then(Value::as_i64);
    let mut show = |body: Body<'_>| visit(Entry { at_ms, body });
    let message = object.get("message").and_then(Value::as_object);
    let part = |key: &str| object.get(key).and_then(Value::as_object);
    if let Some(session) = part("session") {
        return self::session(session, &mut show);
    }
    if let Some(reverted) = part("reverted") {
        let turns = reverted.get("turns").and_then(Value::as_u64).unwrap_or(0);
        return show(if turns > 0 { Body::RolledBack { turns } } else { Body::Passed });
    }
    match (message, part("part"), part("output")) {
        (Some(message), Some(part), _) => self::part(message, part, &mut show),
        (Some(_), None, Some(output)) => show(output::answer(output)),
        (Some(message), None, None) => end(message, &mut show),
        (None, ..) => show(Body::Unknown),
    }
}

fn session(session: &Object, show: &mut Show<'_>) {
    let owned = |key: &str| text(session, key).map(str::to_owned);
    let parent = owned("parentID");
    let created = session.get("time").and_then(|time| time.get("created")?.as_i64());
    show(Body::Meta(Box::new(Meta {
        id: owned("id"),
        created_at_ms: created,
        cwd: owned("directory"),
        originator: Some("opencode".to_owned()),
        cli_version: owned("version"),
        kind: if parent.is_some() { ThreadKind::Subagent } else { ThreadKind::Interactive },
        parent_thread_id: parent,
        ..Meta::default()
    })));
    let title = text(session, "title").filter(|title| !title.trim().is_empty());
    if let Some(title) = title.filter(|title| !NAMELESS.iter().any(|mark| title.starts_with(mark)))
    {
        show(Body::Title { words: title.into(), by: TitleBy::Model });
    }
}

fn part(message: &Object, part: &Object, show: &mut Show<'_>) {
    let is_user = text(message, "role") == Some("user");
    let is_summary = message.get("summary").and_then(Value::as_bool) == Some(true);
    let words = text(part, "text").unwrap_or_default();
    match text(part, "type") {
        Some("text") if is_summary => show(Body::summary(words)),
        Some("text") if is_user => {
            let flag = |key: &str| part.get(key).and_then(Value::as_bool) == Some(true);
            match (flag("ignored"), flag("synthetic")) {
                (true, _) => show(Body::Passed),
                (false, true) => message_of(Role::Developer, words, Images::default(), show),
                (false, false) => message_of(Role::User, words, Images::default(), show),
            }
        }
        Some("text") => {
            settings(message, show);
            message_of(Role::Assistant, words, Images::default(), show);
        }
        Some("reasoning") if is_summary || words.is_empty() => show(Body::Passed),
        Some("reasoning") => {
            let tokens = tokens::of_text(words);
            let text = words.into();
            show(Body::Item(Item::Reasoning { encrypted: None, text }, tokens));
        }
        Some("file") => file(part, show),
        Some("tool") => {
            settings(message, show);
            let call = tool::call(part);
            let tokens = tokens::of_text(&call.arguments);
            show(Body::Item(Item::Call(call), tokens));
        }
        Some(kind) if PASSED.contains(&kind) => show(Body::Passed),
        _ => show(Body::Unknown),
    }
}

fn message_of(role: Role, words: &str, images: Images, show: &mut Show<'_>) {
    if words.trim().is_empty() && images == Images::default() {
        return show(Body::Passed);
    }
    show(Body::message(role, words, images));
}

/// A file that the person attached. Its text is a separate part.
fn file(part: &Object, show: &mut Show<'_>) {
    let images = images(part);
    if images == Images::default() {
        return show(Body::Passed);
    }
    message_of(Role::Developer, text(part, "filename").unwrap_or_default(), images, show);
}

/// The inline image of a file part, or those that a tool attached.
fn images(part: &Object) -> Images {
    let mut images = Images::default();
    for payload in urls(part).filter_map(image::payload) {
        images.push(payload, false);
    }
    images
}

/// URLs of the file that a part is, or of those that a tool attached.
fn urls(part: &Object) -> impl Iterator<Item = &str> {
    let attached = part.get("attachments").and_then(Value::as_array).into_iter().flatten();
    attached.filter_map(|file| file.get("url")?.as_str()).chain(text(part, "url"))
}

fn settings(message: &Object, show: &mut Show<'_>) {
    if let Some(model) = text(message, "modelID") {
        show(Body::model(model));
    }
    if let Some(path) = message.get("path").and_then(|path| path.get("cwd")?.as_str()) {
        show(Body::Folder { path: path.into() });
    }
}

/// The end of a message. The token counts of a summary do not apply to the history after it.
fn end(message: &Object, show: &mut Show<'_>) {
    let is_summary = message.get("summary").and_then(Value::as_bool) == Some(true);
    if text(message, "role") != Some("assistant") || is_summary {
        return show(Body::Passed);
    }
    if let Some(total) = message.get("tokens").and_then(total).filter(|total| *total > 0) {
        show(Body::Usage(Usage { total_tokens: Some(total), ..Usage::default() }));
    }
    let error = message.get("error").and_then(|error| error.get("name")?.as_str());
    match (error, text(message, "finish")) {
        (Some("MessageAbortedError"), _) => show(Body::TurnAborted),
        (None, Some("tool-calls" | "unknown") | None) | (Some(_), _) => show(Body::Passed),
        (None, Some(_)) => show(Body::TurnComplete),
    }
}

/// Tokens of the request and its answer; older versions do not report the sum.
fn total(tokens: &Value) -> Option<u64> {
    let count = |pointer: &str| tokens.pointer(pointer).and_then(Value::as_u64);
    count("/total").or_else(|| {
        let parts = ["/input", "/output", "/reasoning", "/cache/read", "/cache/write"];
        Some(parts.into_iter().filter_map(count).fold(0, u64::saturating_add))
    })
}

/// The items of a line in the Responses form; none for lines that no model sees.
pub fn responses(line: &[u8]) -> Vec<Value> {
    let object = serde_json::from_slice::<Object>(line).unwrap_or_default();
    let urls = || {
        let holder = object.get("part").or_else(|| object.get("output")?.get("state"));
        let holder = holder.and_then(Value::as_object);
        let urls = holder.into_iter().flat_map(urls);
        urls.filter(|url| url.starts_with("data:image/")).map(str::to_owned).collect()
    };
    responses::of_line(read, line, |_| urls())
}

#[cfg(test)]
mod tests;
