//! The items a model-made summary is made of: what was visible of the history, byte for byte.
//!
//! Read only when a rung asks a model: the checkpoint needs none of them.

use longhaul_core::compaction::assemble;
use longhaul_core::fold::Fold;
use longhaul_core::item::ItemRow;
use longhaul_store::FileRow;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::service::transcript::Lines;
use crate::service::{ServiceError, Services};

/// Bytes of a history that are read for a model: several times the largest window there is.
const HISTORY_BYTES_MAX: u64 = 64 << 20;

/// Where the items of a history are.
pub(super) enum Original {
    /// In a transcript.
    Transcript(Box<FileRow>),
    /// Given by the caller, secrets replaced.
    Given(Vec<Value>),
}

/// A history: each item with the line it stands on.
pub(super) type Items = Vec<(u64, Box<RawValue>)>;

impl Services {
    /// Reads the visible items; `None` when they are more than any model reads.
    pub(super) async fn original_items(
        &self,
        original: &Original,
        fold: &Fold,
    ) -> Result<Option<Items>, ServiceError> {
        let file = match original {
            Original::Given(items) => {
                let raw = |(seq, item): (u64, &Value)| Some((seq, to_raw_value(item).ok()?));
                return Ok(Some((0..).zip(items).filter_map(raw).collect()));
            }
            Original::Transcript(file) => file,
        };
        let visible = fold.visible();
        let last = fold.next_seq().saturating_sub(1);
        let mut pieces = self.lineage_rows(file, visible.from(), last).await?;
        pieces.iter_mut().for_each(|(_, rows)| rows.retain(|row| visible.holds(row.seq)));
        let rows = pieces.iter().flat_map(|(_, rows)| rows);
        if rows.map(|row| row.bytes).sum::<u64>() > HISTORY_BYTES_MAX {
            return Ok(None);
        }
        let read_all = move || {
            let mut items = Items::new();
            for (path, rows) in &pieces {
                items.extend(read(path, rows)?);
            }
            Ok(Some(items))
        };
        tokio::task::spawn_blocking(read_all).await?
    }
}

/// Lines that changed since they were read are left out: a summary of the rest is better than none.
fn read(path: &std::path::Path, rows: &[ItemRow]) -> Result<Items, ServiceError> {
    let mut lines = Lines::open(path).map_err(|error| ServiceError::file(path, error))?;
    let mut items = Items::new();
    for row in rows {
        for item in lines.items(row).unwrap_or_default() {
            let seen = visible(item);
            items.extend(seen.into_iter().map(|item| (row.seq, item)));
        }
    }
    Ok(items)
}

/// What a model sees of a line: the item, or for a compaction of the agent's own the history it put
/// in place, or the summary alone where it kept no history.
fn visible(item: Box<RawValue>) -> Vec<Box<RawValue>> {
    #[derive(serde::Deserialize)]
    struct Compacted {
        message: Option<String>,
        replacement_history: Option<Vec<Box<RawValue>>>,
    }
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(rename = "type")]
        _kind: String,
    }
    if serde_json::from_str::<Kind>(item.get()).is_ok() {
        return vec![item];
    }
    let Ok(compacted) = serde_json::from_str::<Compacted>(item.get()) else { return Vec::new() };
    match (compacted.replacement_history, compacted.message) {
        (Some(items), _) => items,
        (None, Some(summary)) if !summary.is_empty() => {
            to_raw_value(&assemble::message("user", &summary)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
