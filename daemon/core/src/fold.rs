//! Lines in order → identity, totals, checkpoint and index rows. (Skeleton: the reducer follows.)

use serde::{Deserialize, Serialize};

use crate::digest::Digest128;
use crate::item::{ItemKind, ItemRow};
pub use crate::thread::{HistoryBase, Source, ThreadHead, ThreadKind};

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Index of the line in the thread's lineage, from 0: its `seq`.
    pub line: u64,
    /// First byte in the (decompressed) file.
    pub offset: u64,
    /// Bytes without the newline.
    pub bytes: u64,
}

/// A file that lines read or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// Path as the agent wrote it.
    pub path: String,
    /// Line that touched it.
    pub seq: u64,
    /// When, Unix milliseconds; 0 unknown.
    pub at_ms: i64,
    /// Folder a relative path starts from.
    pub cwd: Option<String>,
}

/// A saved fold cannot be taken up: the caller folds the file from its start.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    /// Written by another version.
    #[error("saved fold has version {found}, this is version {expected}")]
    Version {
        /// Version in the saved bytes.
        found: u32,
        /// Version of this program.
        expected: u32,
    },
    /// Not the bytes of a saved fold.
    #[error("saved fold cannot be read: {0}")]
    Broken(#[from] serde_json::Error),
}

/// The state after some lines of a transcript.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fold {
    version: u32,
    next_seq: u64,
    head: ThreadHead,
}

impl Fold {
    /// Version of the saved form.
    pub const VERSION: u32 = 1;

    /// The state before the first line.
    pub fn new(source: Source) -> Self {
        let head = ThreadHead {
            thread_id: None,
            source,
            cwd: None,
            title: None,
            kind: ThreadKind::default(),
            originator: None,
            cli_version: None,
            model: None,
            git_branch: None,
            parent_thread_id: None,
            forked_from: None,
            history_base: None,
            created_at_ms: 0,
            updated_at_ms: 0,
            items: 0,
            tokens: 0,
            compactions: 0,
            lines: 0,
            malformed: 0,
            unknown: 0,
            oversized: 0,
        };
        Self { version: Self::VERSION, next_seq: 0, head }
    }

    /// The state of a fork or revert before its own first line: what `base` knows of the work, with
    /// an identity still to be read and line counters at zero.
    pub fn branch(base: &Fold) -> Self {
        let mut fold = Self::new(base.head.source);
        fold.next_seq = base.next_seq;
        fold.head.items = base.head.items;
        fold.head.tokens = base.head.tokens;
        fold
    }

    /// Folds one complete line, given without its newline.
    pub fn line(&mut self, place: Place, line: &[u8]) -> Option<ItemRow> {
        self.next_seq = place.line + 1;
        if line.iter().all(|b| b.is_ascii_whitespace()) {
            return None;
        }
        self.head.lines += 1;
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(line) else {
            self.head.malformed += 1;
            return None;
        };
        let payload = value.get("payload").unwrap_or(&value);
        if value.get("type").and_then(|t| t.as_str()) == Some("session_meta")
            && self.head.thread_id.is_none()
        {
            self.head.thread_id = payload["id"].as_str().map(str::to_owned);
            self.head.cwd = payload["cwd"].as_str().map(str::to_owned);
            self.head.history_base = serde_json::from_value(payload["history_base"].clone()).ok();
        }
        if value.get("type").and_then(|t| t.as_str()) != Some("response_item") {
            return None;
        }
        self.head.items += 1;
        let tokens = crate::tokens::of_bytes(place.bytes);
        self.head.tokens += tokens;
        Some(ItemRow {
            seq: place.line,
            offset: place.offset,
            bytes: place.bytes,
            kind: ItemKind::Other,
            tokens,
            digest: Digest128::of(line),
            excerpt: String::new(),
            call_id: None,
        })
    }

    /// Folds a line over the bound by its first bytes (at most 4 KiB) and the digest of all.
    pub fn oversized(&mut self, place: Place, head: &[u8], digest: Digest128) -> Option<ItemRow> {
        let _ = head;
        self.next_seq = place.line + 1;
        self.head.lines += 1;
        self.head.oversized += 1;
        self.head.items += 1;
        Some(ItemRow {
            seq: place.line,
            offset: place.offset,
            bytes: place.bytes,
            kind: ItemKind::Oversized,
            tokens: crate::tokens::of_bytes(place.bytes),
            digest,
            excerpt: String::new(),
            call_id: None,
        })
    }

    /// Identity and totals.
    pub fn head(&self) -> &ThreadHead {
        &self.head
    }

    /// The seq the next line must have.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Files touched since the last call.
    pub fn touched(&mut self) -> Vec<Touch> {
        Vec::new()
    }

    /// Renders the state; [`Fold::load`] gives back an equal one.
    pub fn save(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Takes up a saved state.
    ///
    /// # Errors
    /// Another version, or not a saved state.
    pub fn load(bytes: &[u8]) -> Result<Self, FoldError> {
        let fold: Self = serde_json::from_slice(bytes)?;
        if fold.version != Self::VERSION {
            return Err(FoldError::Version { found: fold.version, expected: Self::VERSION });
        }
        Ok(fold)
    }
}
