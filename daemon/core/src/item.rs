//! The item index: where each history item of a transcript is, not what it says; [`Message`] reads that.
//!
//! Rows are kept in pages of [`PAGE_ITEMS`], one row of the store each: a transcript of ten
//! thousand items is 160 small writes, and a compaction's receipt needs only the pages' heads.

pub mod breakdown;
mod message;

use serde::{Deserialize, Serialize};

use crate::digest::Digest128;

pub use message::Message;

/// Items in a full page.
pub const PAGE_ITEMS: usize = 64;

/// What a history item is, coarsely enough for receipts and totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// Words of the person (or of a parent agent).
    UserMessage,
    /// Words of the model.
    AssistantMessage,
    /// Instructions and context put in by the harness: developer, system, environment, AGENTS.md.
    Context,
    /// The model's reasoning, usually encrypted.
    Reasoning,
    /// A call of any tool.
    ToolCall,
    /// What a tool answered.
    ToolOutput,
    /// A compaction the agent itself made: a summary or an opaque item.
    Compaction,
    /// A line longer than is read; only its place and digest are known.
    Oversized,
    /// A response item of a kind this version does not know.
    Other,
}

/// Where one history item stands in its transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRow {
    /// Index of its line in the thread's lineage, from 0.
    pub seq: u64,
    /// First byte of the line in the (decompressed) file.
    #[serde(rename = "o")]
    pub offset: u64,
    /// Bytes of the line without its newline.
    #[serde(rename = "b")]
    pub bytes: u64,
    /// What it is.
    #[serde(rename = "k")]
    pub kind: ItemKind,
    /// Estimated tokens, bytes/4 with the rules of [`crate::tokens`].
    #[serde(rename = "t")]
    pub tokens: u64,
    /// Digest of the line's bytes.
    #[serde(rename = "d")]
    pub digest: Digest128,
    /// Redacted beginning of its text, at most [`crate::limits::EXCERPT_BYTES`] bytes.
    #[serde(rename = "e", default, skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
    /// Pairs a call with its output.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

/// The stored page is not one that this version wrote.
#[derive(Debug, thiserror::Error)]
#[error("item page cannot be read: {0}")]
pub struct PageError(#[from] serde_json::Error);

/// Renders rows as the bytes of a page.
pub fn encode_page(rows: &[ItemRow]) -> Vec<u8> {
    // Rows hold only numbers and strings: serialising them to memory cannot fail.
    serde_json::to_vec(rows).unwrap_or_default()
}

/// Reads the bytes of a page.
///
/// # Errors
/// The bytes are not a page; the caller re-folds the file.
pub fn decode_page(bytes: &[u8]) -> Result<Vec<ItemRow>, PageError> {
    Ok(serde_json::from_slice(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_back_as_written() {
        let row = ItemRow {
            seq: 7,
            offset: 1_000,
            bytes: 250,
            kind: ItemKind::ToolCall,
            tokens: 63,
            digest: Digest128::of(b"x"),
            excerpt: "cargo test".into(),
            call_id: Some("call_1".into()),
        };
        let rows = vec![row.clone(), ItemRow { call_id: None, excerpt: String::new(), ..row }];
        assert_eq!(decode_page(&encode_page(&rows)).unwrap(), rows);
        assert!(decode_page(b"{").is_err());
    }
}
