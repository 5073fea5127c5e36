//! Codex: its table, and the parser of one line of its rollouts, of any version.
//!
//! There are four shapes, sometimes in the same file: the envelope `{timestamp, type, payload}`, with or
//! without `ordinal` and `metadata`; the bare item of 2025; `{"record_type":"state"}`; and the bare meta line
//! `{id, timestamp, instructions, git}`. Kinds that we do not need are skipped unparsed; the others are parsed
//! once, borrowing from the line.

pub(super) mod continuation;
mod document;
mod escape;
mod event;
mod fields;
mod item;
mod meta;
mod scan;
mod time;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::repair::{intact, repair};
use super::source::{Assembly, FilePattern, Folder, Home, Layout, SourceSpec};
use super::{Body, Entry, Item, each_object};
pub(super) use time::time;

pub use item::{breakdown, estimate};

pub(super) const SPEC: SourceSpec = SourceSpec {
    title: "Codex",
    home: Some(Home { folder: ".codex", variable: "CODEX_HOME" }),
    folders: &[
        Folder { path: "sessions", archived: false },
        Folder { path: "archived_sessions", archived: true },
    ],
    files: &[
        FilePattern { prefix: "", suffix: ".jsonl", layout: Layout::Lines },
        // Codex's first command line wrote these until August 2025. The folder has other JSON files, too.
        FilePattern { prefix: "rollout-", suffix: ".json", layout: Layout::Assembled(DOCUMENT) },
    ],
    read: |line, _, visit| read(line, visit),
    is_item: |head| {
        head.contains(r#""type":"response_item""#) || head.contains(r#""type":"compacted""#)
    },
    responses: None,
    interpret: None,
    resume: &["codex", "resume"],
    session_undo: "If the session is open in Codex, run `longhaul undo {compaction_id}`.",
    continuation: Some(continuation::transcript),
    reads_agents_md: true,
    has_session_meta: true,
};

const DOCUMENT: Assembly = Assembly { within: None, marker: None, lines: document::lines };

/// A string that borrows from the line if it has no escapes.
#[derive(Deserialize, Debug, Default, Clone)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Any shape of line, its payload unparsed.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Envelope<'a> {
    timestamp: Option<&'a RawValue>,
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
    payload: Option<&'a RawValue>,
    record_type: Option<&'a RawValue>,
    instructions: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
}

/// Parses a line given without its newline and passes each object on it to `visit`. Blank lines have none.
pub fn read(line: &[u8], visit: &mut dyn FnMut(Entry<'_>)) {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return;
    }
    let scanned = scan::scan(line);
    if let Some(scanned) = &scanned
        && scan::is_passed(scanned, line)
    {
        return visit(Entry { at_ms: time(scanned.timestamp), body: Body::Passed });
    }
    if let Some(text) = intact(line) {
        if let Some(scanned) = scanned
            && let Some(body) =
                scan::payload(&scanned, text).and_then(|p| body_of_kind(scanned.kind, p))
        {
            return visit(Entry { at_ms: time(scanned.timestamp), body });
        }
        // Nearly always there is one object; parse it in one pass.
        if let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(text) {
            return visit(entry(&envelope, text));
        }
        if read_objects(text, visit) {
            return;
        }
    }
    match repair(line) {
        Some(repaired) if read_objects(&repaired, visit) => {}
        _ => visit(Entry { at_ms: None, body: Body::Malformed }),
    }
}

/// Passes on each object of the line; returns false, without passing on any, if the first is not an object.
fn read_objects(line: &str, visit: &mut dyn FnMut(Entry<'_>)) -> bool {
    each_object(line, visit, |object, visit| {
        let envelope = serde_json::from_str::<Envelope<'_>>(object);
        envelope.is_ok_and(|envelope| {
            visit(entry(&envelope, object));
            true
        })
    })
}

fn entry<'a>(envelope: &Envelope<'a>, object: &'a str) -> Entry<'a> {
    let timestamp =
        envelope.timestamp.and_then(|raw| serde_json::from_str::<Text<'_>>(raw.get()).ok());
    let at_ms = timestamp.and_then(|text| time(&text.0));
    let is_meta = envelope.id.is_some() && (envelope.instructions.is_some() || at_ms.is_some());
    let body = match (&envelope.kind, envelope.payload) {
        (Some(kind), Some(payload)) => body_of_kind(&kind.0, payload.get()),
        (Some(_), None) => item::read(object),
        (None, _) if envelope.record_type.is_some() => Some(Body::Passed),
        (None, None) if is_meta => meta::read(object),
        (None, _) => None,
    };
    Entry { at_ms, body: body.unwrap_or(Body::Unknown) }
}

/// Parses a payload by its envelope's kind; `None` if it does not have the shape of that kind.
fn body_of_kind<'a>(kind: &str, payload: &'a str) -> Option<Body<'a>> {
    match kind {
        "response_item" => item::read(payload),
        "session_meta" => meta::read(payload),
        "turn_context" => meta::settings(payload),
        "compacted" => item::compacted(payload),
        "event_msg" => event::read(payload),
        "world_state"
        | "token_usage_record"
        | "retained_context"
        | "security_risk_score"
        | "inter_agent_communication"
        | "inter_agent_communication_metadata" => Some(Body::Passed),
        _ => None,
    }
}

/// Parses one history item given as JSON and estimates its tokens; `None` if its kind is unknown.
pub fn read_item(item: &str) -> Option<(Item<'_>, u64)> {
    match item::read(item)? {
        Body::Item(item, tokens) => Some((item, tokens)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
