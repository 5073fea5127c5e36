//! The item index: where each history item of a transcript is; [`MessageItem`] reads its text.
//!
//! Rows are stored in pages of [`PAGE_ITEMS`], one row of the store each: a transcript of ten thousand
//! items is 160 small writes, and a compaction's receipt needs only the page heads.

pub mod breakdown;
mod message;

use serde::{Deserialize, Serialize};

use crate::digest::Digest128;

pub use message::MessageItem;

pub const PAGE_ITEMS: usize = 64;

/// Size that fits most pages.
const PAGE_BYTES: usize = 16 * 1_024;

/// Coarse kind of a history item, for receipts and totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ItemKind {
    /// Message of the person (or of a parent agent).
    UserMessage,
    AssistantMessage,
    /// Instructions and context from the harness: developer, system, environment, AGENTS.md.
    Context,
    /// The model's reasoning, usually encrypted.
    Reasoning,
    ToolCall,
    ToolOutput,
    /// The agent's own compaction: a summary or an opaque item.
    Compaction,
    /// A line over the size limit; only its offset and digest are known.
    Oversized,
    /// A response item of a kind this version does not know.
    Other,
}

/// Location of a history item in its transcript. A page has them in postcard, without field
/// names; the short names are the keys of older pages, which are JSON.
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
    #[serde(rename = "k")]
    pub kind: ItemKind,
    /// Estimated tokens by the rules of [`crate::tokens`].
    #[serde(rename = "t")]
    pub tokens: u64,
    #[serde(rename = "d")]
    pub digest: Digest128,
    /// Redacted beginning of its text, at most [`crate::limits::EXCERPT_BYTES`] bytes.
    #[serde(rename = "e", default)]
    pub excerpt: String,
    /// Pairs a call with its output.
    #[serde(rename = "c", default)]
    pub call_id: Option<String>,
}

/// The stored page has an unknown format.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    #[error("item page cannot be read: {0}")]
    Rows(#[from] postcard::Error),
    /// Not valid in the JSON format used before version 14 of the fold.
    #[error("item page cannot be read: {0}")]
    Json(#[from] serde_json::Error),
}

/// Renders at most [`PAGE_ITEMS`] rows as the bytes of a page.
pub fn encode_page(rows: &[ItemRow]) -> Vec<u8> {
    // Rows hold only numbers and strings: serializing them to memory cannot fail.
    let mut bytes = postcard::to_extend(rows, Vec::with_capacity(PAGE_BYTES)).unwrap_or_default();
    // Many pages may wait to be stored together.
    bytes.shrink_to_fit();
    bytes
}

/// Parses the bytes of a page. If they are not a page, the caller folds the file again.
pub fn decode_page(bytes: &[u8]) -> Result<Vec<ItemRow>, PageError> {
    // A page begins with its row count, at most 64. Pages older than version 14 are JSON, and those of
    // deleted files are never rewritten.
    if bytes.starts_with(b"[") {
        return Ok(serde_json::from_slice(bytes)?);
    }
    Ok(postcard::from_bytes(bytes)?)
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
        let full = vec![rows[0].clone(); PAGE_ITEMS];
        assert_eq!(decode_page(&encode_page(&full)).unwrap(), full);
        for broken in ["{", "[", "", "\u{1}"] {
            assert!(decode_page(broken.as_bytes()).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn a_page_of_an_older_version_is_still_read() {
        let page = br#"[{"seq":7,"o":1000,"b":250,"k":"tool_call","t":63,"d":"000000000000000000000000000000ff","e":"cargo test","c":"call_1"},
            {"seq":8,"o":1251,"b":9,"k":"reasoning","t":3,"d":"00000000000000000000000000000001"}]"#;
        let rows = decode_page(page).unwrap();
        assert_eq!(
            (rows[0].offset, rows[0].digest, rows[0].call_id.as_deref()),
            (1_000, Digest128(255), Some("call_1"))
        );
        assert_eq!((rows[1].kind, rows[1].excerpt.as_str()), (ItemKind::Reasoning, ""));
    }
}
