//! `progress` lines: what a sub-agent is doing, as noted in the transcript of its parent.
//!
//! Its edits count as the parent's, so that the parent does not repeat the work of an agent that has not reported yet.
//! Its other calls are in its own transcript.

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{Body, Item};
use super::block::{self, Content, Message};
use super::{Show, Text, aside, result};

/// The `data` of a line.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Progress<'a> {
    message: Option<Noted<'a>>,
}

/// A line of the sub-agent's own transcript.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Noted<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    message: Option<Message<'a>>,
}

/// Tools that change files.
const WRITES: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// A longer message without a call is not the answer of an edit. Most bytes are what sub-agents read.
const ANSWER_BYTES: usize = 4 * 1_024;

/// Between the sub-agent's message and its prompt, which may be long. No text has it: there, quotes are escaped.
const KIND: &[u8] = br#""type":"agent_progress""#;

pub(super) fn read(data: &RawValue, show: &mut Show<'_>) {
    if show_edits(data, show).is_none() {
        show(Body::Passed);
    }
}

fn show_edits(data: &RawValue, show: &mut Show<'_>) -> Option<()> {
    let text = data.get().as_bytes();
    // Most lines are of hooks and commands.
    let message_bytes = memmem::rfind(text, KIND)?;
    if message_bytes > ANSWER_BYTES {
        memmem::find(text, br#""type":"tool_use""#)?;
    }
    let noted = serde_json::from_str::<Progress<'_>>(data.get()).ok()?.message?;
    let content = noted.message?.content?;
    let mut is_any = false;
    if noted.kind.0 == "assistant" {
        for (item, _) in block::items(Some(content))? {
            if matches!(&item, Item::Call(call) if WRITES.contains(&call.name.as_ref())) {
                is_any = true;
                show(aside(item));
            }
        }
    } else {
        for answer in Content::read(Some(content))?.answers {
            is_any = true;
            show(aside(result::output(&answer, None).0));
        }
    }
    is_any.then_some(())
}
