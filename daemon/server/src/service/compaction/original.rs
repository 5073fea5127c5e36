//! The items a model-made summary is made of: what the model saw of the history, byte for byte.
//!
//! Read only when a rung asks a model: the checkpoint needs none of them.

use longhaul_core::compaction::rearm::EarlierCompaction;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::gather::Gathered;
use crate::service::history::{Opaque, Position, Query};
use crate::service::{ServiceError, Services};

/// Bytes of a history that are read for a model: several times the largest window there is.
const HISTORY_BYTES_MAX: u64 = 64 << 20;

/// Where the items of a history are.
#[derive(Debug)]
pub(super) enum Original {
    /// In a transcript.
    Transcript(Box<longhaul_store::FileRow>),
    /// Given by the caller, secrets replaced.
    Given {
        /// The items.
        items: Vec<Value>,
        /// Number of the first.
        first_seq: u64,
        /// What was compacted before them.
        past: Past,
    },
}

/// The compactions a given history goes on from.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    /// Each of them, the newest first.
    pub earlier: Vec<EarlierCompaction>,
    /// Estimated tokens since the last one; `None` where there was none.
    pub grown: Option<u64>,
}

/// A history: the line of each item, and the items.
pub(super) type Items = (Vec<u64>, Vec<Box<RawValue>>);

impl Services {
    /// Reads the items a model sees; `None` when they are more than any model reads. With
    /// [`Opaque::StandIn`] our checkpoint stands for what only another provider could read.
    pub(super) async fn original_items(
        &self,
        gathered: &Gathered,
        opaque: Opaque,
    ) -> Result<Option<Items>, ServiceError> {
        let (items, first_seq) = match &gathered.original {
            Original::Given { items, first_seq, .. } => (items, *first_seq),
            Original::Transcript(_) => {
                let query = Query {
                    thread_id: gathered.of.clone(),
                    as_of: Some(gathered.seq),
                    from: Position::default(),
                    max_bytes: HISTORY_BYTES_MAX,
                    opaque,
                };
                let history = self.visible_history(query).await?;
                let seqs = history.places.iter().map(|place| place.seq).collect();
                return Ok(history.next.is_none().then_some((seqs, history.items)));
            }
        };
        let raw = |(seq, item): (u64, &Value)| Some((seq, to_raw_value(item).ok()?));
        Ok(Some((first_seq..).zip(items).filter_map(raw).unzip()))
    }
}
