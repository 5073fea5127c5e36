//! `progress` lines: what a sub-agent is doing, as noted in the transcript of its parent.
//!
//! Its edits count as the parent's, so that the parent does not repeat the work of an agent that has not reported yet.
//! Its other calls are in its own transcript.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{Body, Item};
use super::block::{self, Content, Message};
use super::{Show, Text, aside, result};

/// The `data` of a line.
#[derive(Deserialize)]
struct Progress<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// A line of the sub-agent's own transcript.
#[derive(Deserialize)]
struct Noted<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// Tools that change files.
const WRITES: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// Longer answers are not those of an edit.
const ANSWER_BYTES: usize = 16 * 1_024;

pub(super) fn read(data: &RawValue, show: &mut Show<'_>) {
    if show_edits(data, show).is_none() {
        show(Body::Passed);
    }
}

fn show_edits(data: &RawValue, show: &mut Show<'_>) -> Option<()> {
    // Most lines are of hooks and commands.
    memchr::memmem::find(data.get().as_bytes(), b"agent_progress")?;
    let progress = serde_json::from_str::<Progress<'_>>(data.get()).ok()?;
    let noted = progress.message.filter(|_| progress.kind.0 == "agent_progress")?;
    let message = serde_json::from_str::<Noted<'_>>(noted.get()).ok()?.message?;
    let content = serde_json::from_str::<Message<'_>>(message.get()).ok()?.content?;
    let mut is_any = false;
    for (item, _) in block::items(Some(content)).into_iter().flatten() {
        if matches!(&item, Item::Call(call) if WRITES.contains(&call.name.as_ref())) {
            is_any = true;
            show(aside(item));
        }
    }
    let answers = Content::read(Some(content)).map(|content| content.answers);
    for answer in answers.into_iter().flatten().filter(|answer| answer.text.len() < ANSWER_BYTES) {
        is_any = true;
        show(aside(result::output(&answer, None).0));
    }
    is_any.then_some(())
}
