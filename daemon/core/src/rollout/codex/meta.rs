//! Identity and settings lines: `session_meta`, `turn_context`, the bare first line of 2025.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::super::{Body, Meta, TurnSettings};
use super::escape;
use super::fields::object;
use crate::thread::{HistoryBase, ThreadKind};
use crate::{limits, text};

/// There are few of these lines; they are large and their keys change with every release, so they are parsed
/// loosely, by name.
#[derive(Deserialize)]
struct Wire {
    id: Option<String>,
    timestamp: Option<String>,
    cwd: Option<String>,
    title: Option<String>,
    originator: Option<String>,
    cli_version: Option<String>,
    source: Option<Value>,
    thread_source: Option<Value>,
    parent_thread_id: Option<String>,
    forked_from_id: Option<String>,
    history_base: Option<Value>,
    memory_mode: Option<String>,
    /// Our mark: a continuation names its thread here, without a claim that Codex would see.
    longhaul: Option<Value>,
    git: Option<Value>,
}

object! {
    /// There is one of these lines for each request to the model, and some contain whole instructions: parse
    /// only the fields we keep.
    struct TurnContext {
        cwd = "cwd",
        model = "model",
        approval_policy = "approval_policy",
        sandbox_policy = "sandbox_policy",
        current_date = "current_date",
        timezone = "timezone",
        personality = "personality",
        collaboration_mode = "collaboration_mode",
    }
}

object! {
    /// A setting given as an object, with the word that names it.
    struct Setting {
        kind = "type",
        name = "name",
        mode = "mode",
    }
}

/// Parses a meta payload, or the bare meta line itself.
pub(super) fn read<'a>(payload: &str) -> Option<Body<'a>> {
    let wire = serde_json::from_str::<Wire>(payload).ok()?;
    let spawn =
        wire.source.as_ref().and_then(|s| s.pointer("/subagent/thread_spawn/parent_thread_id"));
    let parent = wire.parent_thread_id.or_else(|| spawn.and_then(Value::as_str).map(str::to_owned));
    let is_internal =
        wire.thread_source.as_ref().and_then(Value::as_str) == Some("memory_consolidation");
    Some(Body::Meta(Box::new(Meta {
        created_at_ms: wire.timestamp.as_deref().and_then(super::time),
        kind: if is_internal { ThreadKind::Other } else { kind(wire.source.as_ref()) },
        parent_thread_id: parent,
        forked_from: wire.forked_from_id,
        // If absent, the thread may be remembered.
        is_ephemeral: wire.memory_mode.is_some_and(|mode| mode != "enabled"),
        history_base: wire
            .history_base
            .as_ref()
            .or_else(|| wire.longhaul.as_ref()?.get("continues"))
            .and_then(history_base),
        git_branch: wire.git.and_then(|git| git["branch"].as_str().map(str::to_owned)),
        id: wire.id,
        cwd: wire.cwd,
        title: wire.title,
        originator: wire.originator,
        cli_version: wire.cli_version,
    })))
}

pub(super) fn settings<'a>(payload: &'a str) -> Option<Body<'a>> {
    let turn = TurnContext::of(payload)?;
    let short = |name: &str| text::prefix(name, limits::NAME_BYTES).to_owned();
    let name = |json| Some(escape::text(json)?.map(|name| short(&name)));
    // A word, or an object whose kind is a word: Codex has written both forms.
    let word = |json, of: fn(Setting<'a>) -> &'a str| {
        let word = escape::unescape(json).or_else(|| escape::unescape(of(Setting::of(json)?)));
        word.map(|word| short(&word))
    };
    Some(Body::Settings(Box::new(TurnSettings {
        cwd: escape::text(turn.cwd)?.map(Cow::into_owned),
        model: escape::text(turn.model)?.map(Cow::into_owned),
        approval_policy: word(turn.approval_policy, |setting| setting.kind),
        sandbox: word(turn.sandbox_policy, |setting| setting.kind),
        current_date: name(turn.current_date)?,
        timezone: name(turn.timezone)?,
        personality: word(turn.personality, |setting| setting.name),
        mode: word(turn.collaboration_mode, |setting| setting.mode),
    })))
}

/// `source` is a word or an object; without one, the thread came from the editor.
fn kind(source: Option<&Value>) -> ThreadKind {
    match source {
        None | Some(Value::Null) => ThreadKind::Interactive,
        Some(Value::String(word)) => match word.as_str() {
            "cli" | "vscode" => ThreadKind::Interactive,
            "exec" => ThreadKind::Exec,
            _ => ThreadKind::Other,
        },
        Some(object) if object.get("subagent").is_some() => ThreadKind::Subagent,
        Some(object) if object.get("custom").is_some() => ThreadKind::Interactive,
        Some(_) => ThreadKind::Other,
    }
}

fn history_base(value: &Value) -> Option<HistoryBase> {
    Some(HistoryBase {
        thread_id: value.get("thread_id")?.as_str()?.to_owned(),
        end_ordinal_exclusive: value.get("end_ordinal_exclusive")?.as_u64()?,
        end_byte_offset: value.get("end_byte_offset").and_then(Value::as_u64),
    })
}
