//! Converts lines of Claude Code to items of the Responses API, the only form in which histories leave the
//! daemon.
//!
//! Drops signed or encrypted thinking, which no other provider can read, and the messages of inline sub-agents.
//! The summary of a compaction becomes a user message.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{Item, responses};
use super::Line;
use super::block::{self, Block, Message};

/// The items of a line, given without its newline; none for lines that no model sees.
pub fn items(line: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(line);
    let content = content(&text);
    let images = |item: &Item<'_>| match item {
        Item::Output { call_id, .. } => images_of(answer(content, call_id)),
        _ => images_of(content),
    };
    responses::of_line(super::read, line, images)
}

/// The content blocks of a line's message.
fn content(line: &str) -> Option<&RawValue> {
    let line = serde_json::from_str::<Line<'_>>(line.trim()).ok()?;
    serde_json::from_str::<Message<'_>>(line.message?.get()).ok()?.content
}

fn blocks(content: Option<&RawValue>) -> Vec<Block<'_>> {
    content.and_then(block::blocks).unwrap_or_default()
}

fn images_of(content: Option<&RawValue>) -> Vec<String> {
    blocks(content).iter().filter_map(Block::image_url).collect()
}

fn answer<'a>(content: Option<&'a RawValue>, call_id: &str) -> Option<&'a RawValue> {
    blocks(content).into_iter().find(|block| block.answers(call_id))?.content
}
