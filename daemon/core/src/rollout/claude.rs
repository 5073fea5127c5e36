//! Claude Code: its table, and the parser of one line of its transcripts.
//!
//! Every line is parsed on its own, by its keys. Most lines of a conversation (`user`, `assistant`,
//! `attachment`) carry the thread's identity; the others hold titles, modes, hooks and progress, and are
//! skipped. A `user` or `assistant` line holds content blocks, nearly always one: each becomes an item, and a
//! handle refers to the line. Numbering the blocks inside a line would gain nothing, since whole lines are
//! digested, stored and returned.
//!
//! Old versions wrote sub-agents into their parent's file (`isSidechain` without `agentId`). Their messages are
//! not part of the thread's history, but the commands they ran and their changes to files are folded. Newer
//! versions write a file for each, which is a thread of its own.

mod attachment;
mod block;
mod continuation;
mod kind;
mod meta;
mod progress;
pub mod responses;
mod result;
pub(super) mod tool;
mod words;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::codex::{Text, time};
use super::repair::{intact, repair};
use super::source::{FilePattern, Folder, Home, Layout, SourceSpec};
use super::tool::slashed;
use super::{Body, Entry, Images, Item, Role, Show, Usage, each_object};
use crate::tokens;
use block::{Content, Message};
use words::UserText;

pub(super) const SPEC: SourceSpec = SourceSpec {
    title: "Claude Code",
    home: Some(Home { folder: ".claude", variable: "CLAUDE_CONFIG_DIR" }),
    folders: &[Folder { path: "projects", archived: false }],
    files: &[FilePattern { prefix: "", suffix: ".jsonl", layout: Layout::Lines }],
    read,
    is_item: |head| {
        [r#""type":"user""#, r#""type":"assistant""#, r#""type":"attachment""#]
            .iter()
            .any(|kind| head.contains(kind))
    },
    responses: Some(responses::items),
    interpret: Some(tool::interpret),
    resume: &["claude", "--resume"],
    session_undo: "If the longhaul plugin compacted the open session, type /compact undo in it.",
    continuation: Some(continuation::transcript),
    reads_agents_md: false,
    has_session_meta: false,
};

/// Any line, its contents unparsed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
    subtype: Option<Text<'a>>,
    timestamp: Option<Text<'a>>,
    session_id: Option<Text<'a>>,
    agent_id: Option<Text<'a>>,
    cwd: Option<Text<'a>>,
    version: Option<Text<'a>>,
    git_branch: Option<Text<'a>>,
    entrypoint: Option<Text<'a>>,
    parent_uuid: Option<Text<'a>>,
    forked_from: Option<&'a RawValue>,
    is_sidechain: Option<bool>,
    is_meta: Option<bool>,
    is_compact_summary: Option<bool>,
    is_api_error_message: Option<bool>,
    compact_metadata: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    tool_use_result: Option<&'a RawValue>,
    attachment: Option<&'a RawValue>,
    /// What a `progress` line reports.
    data: Option<&'a RawValue>,
    custom_title: Option<Text<'a>>,
    ai_title: Option<Text<'a>>,
    summary: Option<Text<'a>>,
    /// Our mark: the position that a continuation continues from.
    longhaul: Option<&'a RawValue>,
}

/// Parses a line given without its newline and passes the entries of each object on it to `visit`: first the
/// thread's identity, if `wants_meta`. Blank lines have none.
pub fn read(line: &[u8], wants_meta: bool, visit: &mut dyn FnMut(Entry<'_>)) {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return;
    }
    // To repair a line copies it.
    let read = intact(line).is_some_and(|text| read_objects(text, wants_meta, visit))
        || repair(line).is_some_and(|text| read_objects(&text, wants_meta, visit));
    if !read {
        visit(Entry { at_ms: None, body: Body::Malformed });
    }
}

/// Passes on the entries of each object; returns false, without passing on any, if the first is not an object.
fn read_objects(text: &str, wants_meta: bool, visit: &mut dyn FnMut(Entry<'_>)) -> bool {
    if let Ok(line) = serde_json::from_str::<Line<'_>>(text) {
        read_line(&line, wants_meta, visit);
        return true;
    }
    each_object(text, visit, |object, visit| {
        if !object.starts_with('{') {
            return false;
        }
        match serde_json::from_str::<Line<'_>>(object) {
            Ok(line) => read_line(&line, wants_meta, visit),
            Err(_) => visit(Entry { at_ms: None, body: Body::Unknown }),
        }
        true
    })
}

fn read_line(line: &Line<'_>, wants_meta: bool, visit: &mut dyn FnMut(Entry<'_>)) {
    let at_ms = line.timestamp.as_ref().and_then(|text| time(&text.0));
    let mut show = |body: Body<'_>| visit(Entry { at_ms, body });
    if wants_meta && let Some(meta) = meta::of(line) {
        show(Body::Meta(Box::new(meta)));
    }
    let kind = line.kind.as_ref().map_or("", |kind| kind.0.as_ref());
    let shown = match (kind, line.message, line.attachment) {
        ("user", Some(message), _) => user(line, message, &mut show),
        ("assistant", Some(message), _) => assistant(line, message, &mut show),
        ("attachment", _, Some(attachment)) => {
            attachment::read(line, attachment, &mut show);
            Some(())
        }
        ("progress", ..) if let Some(data) = line.data => {
            progress::read(data, &mut show);
            Some(())
        }
        _ => {
            show(kind::of(line, kind));
            Some(())
        }
    };
    if shown.is_none() {
        show(Body::Unknown);
    }
}

/// Whether the line belongs to a sub-agent inside its parent's file.
fn is_aside(line: &Line<'_>) -> bool {
    line.is_sidechain == Some(true) && line.agent_id.is_none()
}

fn user(line: &Line<'_>, raw: &RawValue, show: &mut Show<'_>) -> Option<()> {
    let message = serde_json::from_str::<Message<'_>>(raw.get()).ok()?;
    let content = Content::read(message.content)?;
    if line.is_compact_summary == Some(true) {
        show(Body::summary(content.text));
        return Some(());
    }
    for answer in content.answers {
        let item = result::output(&answer, line.tool_use_result);
        show(if is_aside(line) { aside(item.0) } else { Body::Item(item.0, item.1) });
    }
    if content.is_silent {
        return Some(());
    }
    if is_aside(line) {
        show(Body::Passed);
        return Some(());
    }
    user_text(line, &content.text, content.images, show);
    Some(())
}

/// Text in the person's role: theirs, or the harness's.
fn user_text(line: &Line<'_>, text: &str, images: Images, show: &mut Show<'_>) {
    let tokens = tokens::of_bytes(text.len() as u64 + images.cost);
    let words = match line.is_meta {
        Some(true) => UserText::Harness,
        _ => words::of(text),
    };
    let (role, text) = match words {
        UserText::Summary => return show(Body::summary(text)),
        UserText::Person(words) => {
            let parent = line.parent_uuid.as_ref().map(|parent| parent.0.as_ref().into());
            show(Body::Branch { parent });
            (Role::User, words)
        }
        UserText::Interrupt => {
            show(Body::TurnAborted);
            (Role::Developer, text.into())
        }
        UserText::Harness => {
            if let Some(failure) = words::failed_compaction(text) {
                show(Body::TurnFailed(failure));
            }
            show_ended(text, show);
            if line.is_meta == Some(true) && words::instructs(text) {
                show(Body::Instructions { text: text.into() });
            }
            (Role::Developer, text.into())
        }
    };
    show(Body::Item(Item::Message { role, text, images }, tokens));
}

/// Reports a command in the background that a notice says has ended.
fn show_ended(notice: &str, show: &mut Show<'_>) {
    if let Some((call_id, exit_code)) = words::ended_command(notice) {
        show(Body::CommandDone { call_id: call_id.into(), command: String::new(), exit_code });
    }
}

/// What a sub-agent did counts, but it is not an item of its parent.
fn aside(item: Item<'_>) -> Body<'_> {
    match item {
        Item::Call(_) | Item::Output { .. } => Body::Aside(item),
        _ => Body::Passed,
    }
}

fn assistant(line: &Line<'_>, raw: &RawValue, show: &mut Show<'_>) -> Option<()> {
    let message = serde_json::from_str::<Message<'_>>(raw.get()).ok()?;
    let items = block::items(message.content)?;
    let by_harness = line.is_api_error_message == Some(true)
        || message.model.as_ref().is_some_and(|model| model.0 == "<synthetic>");
    if let Some(model) = message.model.as_ref().filter(|_| !by_harness && !is_aside(line)) {
        show(Body::model(&model.0));
    }
    if let Some(cwd) = &line.cwd {
        show(Body::Folder { path: slashed(&cwd.0) });
    }
    // A checkout of a commit has no branch.
    let on = line.git_branch.as_ref().map(|name| name.0.as_ref());
    if let Some(name) = on.filter(|name| !name.is_empty() && *name != "HEAD" && !is_aside(line)) {
        show(Body::OnBranch { name: name.into() });
    }
    let is_end = message.stop_reason.is_some_and(|reason| reason.0 == "end_turn");
    for (mut item, tokens) in items {
        if let (true, Item::Message { role, text, .. }) = (by_harness, &mut item) {
            *role = Role::Developer;
            if line.is_api_error_message == Some(true)
                && !is_aside(line)
                && let Some(failure) = words::failure(text)
            {
                show(Body::TurnFailed(failure));
            }
        }
        show(if is_aside(line) { aside(item) } else { Body::Item(item, tokens) });
    }
    if is_aside(line) || by_harness {
        return Some(());
    }
    if let Some(usage) = message.usage {
        show(Body::Usage(Usage {
            total_tokens: usage.total(),
            input_tokens: usage.input(),
            cache_lifetime_ms: usage.cache_lifetime_ms(),
            ..Usage::default()
        }));
    }
    if is_end {
        show(Body::TurnComplete);
    }
    Some(())
}

#[cfg(test)]
mod tests;
