//! The input of a compaction, and the bounds derived from it: the size of its view, and the required gain.

use std::sync::Arc;

use longhaul_core::checkpoint::file_standing::Disk;
use longhaul_core::checkpoint::semantic::Semantics;
use longhaul_core::checkpoint::view::{self, Rendered, ViewCaps, ViewInputs};
use longhaul_core::choice::{self, Choices};
use longhaul_core::compaction::assemble::{self, KeptRequest};
use longhaul_core::compaction::classify::{Class, classify, model_switch_alone};
use longhaul_core::compaction::replacement_check::{self, Sizes};
use longhaul_core::fold::Fold;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::record::Notice;
use super::request::Request;
use crate::service::error::ServiceError;
use crate::service::history::{Histories, HistoryQuery, Opaque};

/// Maximum bytes of a history read for a model: several times the largest window there is.
const HISTORY_BYTES_MAX: u64 = 64 << 20;

/// Tokens around a view: the guide, prefixes, the frames of items.
const AROUND_TOKENS: u64 = 600;

pub(super) struct Input {
    pub of: String,
    pub thread_id: Option<String>,
    pub fold: Arc<Fold>,
    pub semantics: Semantics,
    pub disk: Disk,
    pub items: ItemSource,
    /// Line and end of the current request, for the receipt.
    pub request_seq: Option<u64>,
    pub kept: Option<KeptRequest>,
    /// Line and item of the newest model-switch instructions.
    pub model_switch: Option<(u64, KeptRequest)>,
    /// File snapshots among given items. A transcript's are not indexed: the programs that wrote them no longer
    /// read them.
    pub ghosts: Vec<Value>,
    /// The summary prompt from the person's agent configuration.
    pub agent_prompt: Option<String>,
    pub warnings: Vec<Notice>,
    pub redacted: u64,
    pub seq: u64,
    /// Tokens in the window of the model that will read the replacement.
    pub window: u64,
    /// What the view is to be about; empty if the caller did not say.
    pub focus: String,
}

#[derive(Debug)]
pub(super) enum ItemSource {
    Transcript(Box<longhaul_store::FileRow>),
    /// Given by the caller, with secrets replaced.
    Given {
        items: Vec<Value>,
        first_seq: u64,
        /// Compactions before them.
        past: Past,
    },
}

/// The compactions that a given history continues.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    /// The last line that each covers, newest first.
    pub earlier: Vec<u64>,
    /// Estimated tokens added since the last one; `None` if there is none.
    pub grown: Option<u64>,
}

impl Input {
    /// Token limit of the view: the caller's or the default, reduced to what the ceiling leaves besides the request
    /// and the initial context.
    pub(super) fn view_tokens(&self, request: &Request) -> u64 {
        let is_compacted = self.fold.checkpoint().compactions > 0;
        // Pins do not reduce the room for the rest of the view.
        let pinned = || choice::cost(&choice::pinned(self.choices().pins(), u64::MAX).text);
        let tokens = self.fold.visible().tokens();
        let default = || view::default_tokens(tokens, is_compacted) + pinned();
        let wanted = request.max_tokens.unwrap_or_else(default);
        let beside = assemble::estimate(&request.initial_context) + AROUND_TOKENS;
        let ceiling = replacement_check::ceiling(self.window);
        wanted.min(ceiling.saturating_sub(self.kept_tokens() + beside)).max(view::TOKENS_MIN)
    }

    /// Tokens of the request, and of what else is kept with it.
    pub(super) fn kept_tokens(&self) -> u64 {
        let switch = self.model_switch.iter().map(|(_, switch)| switch);
        self.kept.iter().chain(switch).map(|kept| assemble::estimate([&kept.item])).sum()
    }

    /// Sizes before and after replacing the history.
    pub(super) fn sizes(&self, history: &[Value]) -> Sizes {
        let before = self.fold.visible().tokens();
        Sizes { before, after: assemble::estimate(history), window: self.window }
    }

    pub(super) fn choices(&self) -> &Choices {
        &self.semantics.choices
    }

    pub(super) fn view(&self, max_tokens: u64) -> Rendered {
        self.view_below("", max_tokens)
    }

    /// Renders the view that goes below a summary.
    pub(super) fn view_below(&self, summary: &str, max_tokens: u64) -> Rendered {
        let inputs = ViewInputs {
            thread_id: Some(&self.of),
            state: self.fold.checkpoint(),
            semantics: &self.semantics,
            disk: &self.disk,
            focus: &self.focus,
        };
        view::render_below(summary, &inputs, &ViewCaps::default(), max_tokens)
    }
}

#[derive(Debug, Default)]
pub(super) struct NumberedItems {
    /// The line of each item.
    pub(super) seqs: Vec<u64>,
    pub(super) items: Vec<Box<RawValue>>,
}

/// Reads the items a model sees; `None` if they exceed any model's window. With [`Opaque::StandIn`], our
/// checkpoint replaces what only another provider could read.
pub(super) async fn visible_items(
    histories: &Histories,
    input: &Input,
    opaque: Opaque,
) -> Result<Option<NumberedItems>, ServiceError> {
    let (items, first_seq) = match &input.items {
        ItemSource::Given { items, first_seq, .. } => (items, *first_seq),
        ItemSource::Transcript(_) => {
            let query = HistoryQuery::as_is(&input.of, Some(input.seq), HISTORY_BYTES_MAX);
            let history = histories.visible(HistoryQuery { opaque, ..query }).await?;
            let seqs = history.places.iter().map(|place| place.seq).collect();
            let items = history.items;
            return Ok(history.next.is_none().then_some(NumberedItems { seqs, items }));
        }
    };
    let raw = |(seq, item): (u64, &Value)| Some((seq, to_raw_value(item).ok()?));
    let (seqs, items) = (first_seq..).zip(items).filter_map(raw).unzip();
    Ok(Some(NumberedItems { seqs, items }))
}

pub(super) fn newest_switch(items: &[Box<RawValue>]) -> Option<KeptRequest> {
    let classified = classify(items);
    let switch = classified.iter().rfind(|classified| classified.class == Class::ModelSwitch)?;
    let alone = model_switch_alone(switch.raw)?;
    let is_part = serde_json::from_str::<Value>(switch.raw.get()).is_ok_and(|all| all != alone);
    let kept = assemble::keep_request(alone);
    Some(KeptRequest { cut: kept.cut || is_part, ..kept })
}
