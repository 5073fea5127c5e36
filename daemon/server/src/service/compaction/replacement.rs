//! The result of a rung, and the checkpoint rung, which needs no model.

use std::collections::BTreeMap;

use longhaul_core::checkpoint::view::{self, Rendered, ViewLine};
use longhaul_core::compaction::assemble::{self, KeptRequest, Parts};
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::quoted::QuotedItems;
use longhaul_core::compaction::receipt::{Disposition, UnseenItems};
use longhaul_core::compaction::{Phase, classify, replacement_check};
use longhaul_core::item::ItemRow;
use longhaul_core::template::Kind;
use longhaul_core::text::grouped;
use serde_json::Value;

use super::input::Input;
use super::record::{Notice, TextUsed};
use super::request::Request;
use super::texts::CompactionTexts;

#[derive(Debug)]
pub(super) struct Replacement {
    pub(super) strategy: Strategy,
    pub(super) history: Vec<Value>,
    pub(super) view: String,
    /// Token limit of the view.
    pub(super) view_tokens: u64,
    /// The lines that were chosen for the view.
    pub(super) lines: Vec<ViewLine>,
    pub(super) quoted: QuotedItems,
    /// Dispositions of lines whose items are in the replacement besides the view.
    pub(super) dispositions: BTreeMap<u64, Disposition>,
    pub(super) redacted: u64,
    pub(super) texts: Vec<TextUsed>,
    pub(super) unseen: Option<UnseenItems>,
    pub(super) notices: Vec<Notice>,
}

impl Replacement {
    pub(super) fn check(&self, input: &Input) -> Result<(), replacement_check::Flaw> {
        let request = input.kept.as_ref().map(|kept| &kept.item);
        replacement_check::check(&self.history, request, input.sizes(&self.history))
    }

    /// What happened to an item; `None` if it was dropped.
    pub(super) fn disposition(&self, row: &ItemRow) -> Option<Disposition> {
        self.dispositions.get(&row.seq).copied().or_else(|| self.quoted.disposition(row))
    }

    /// Lines that a receipt lists individually.
    pub(super) fn lines_alone(&self) -> impl Iterator<Item = u64> {
        let unseen = self.unseen.iter().map(|unseen| unseen.first);
        self.dispositions.keys().copied().chain(self.quoted.seqs()).chain(unseen)
    }

    /// Warns of more tokens than the caller allows.
    pub(super) fn limit_notice(&self, request: &Request, input: &Input) -> Option<Notice> {
        let over = tokens_over(request, &self.history);
        let most = request.max_tokens.filter(|_| over > 0)?;
        let message = format!(
            "the replacement has {} tokens, more than the {} asked for: a view has at least {}, and the last request, \
             which is kept, has {}",
            grouped(most + over),
            grouped(most),
            view::TOKENS_MIN,
            grouped(input.kept_tokens())
        );
        Some(Notice::new("over_max_tokens", message))
    }
}

/// Tokens of a replacement beyond the caller's limit. The caller's own context does not count.
fn tokens_over(request: &Request, history: &[Value]) -> u64 {
    let Some(most) = request.replacement_tokens_max() else { return 0 };
    let context = match request.phase {
        Phase::MidTurn => assemble::estimate(&request.initial_context),
        Phase::Standalone | Phase::PreTurn => 0,
    };
    assemble::estimate(history).saturating_sub(context + most)
}

/// The texts in a strategy's result or its prompts.
pub(super) fn texts_of(strategy: Strategy) -> &'static [Kind] {
    match strategy {
        Strategy::Summary => &[Kind::SummaryPrompt, Kind::SummaryPrefix],
        Strategy::Hybrid | Strategy::Auto => {
            &[Kind::SummaryPrompt, Kind::SummaryPrefix, Kind::CheckpointGuide]
        }
        Strategy::Remote | Strategy::Checkpoint => &[Kind::CheckpointGuide],
    }
}

/// The checkpoint rung: the view and the request, from the gathered input.
pub(super) fn of_checkpoint(
    request: &Request,
    input: &Input,
    texts: &CompactionTexts,
) -> Replacement {
    let Input { kept, model_switch, .. } = input;
    let guide = texts.guide();
    let is_brought = classify::brings_model_switch(request.phase, &request.initial_context);
    let model_switch = model_switch.as_ref().filter(|_| !is_brought);
    let with_view = |view: &str| {
        let parts = Parts {
            ghosts: &input.ghosts,
            guide: &guide,
            view,
            model_switch: model_switch.map(|(_, switch)| &switch.item),
            request: kept.as_ref(),
            initial_context: &request.initial_context,
        };
        assemble::replacement(parts, request.phase)
    };
    let mut view_tokens = input.view_tokens(request);
    let (rendered, history) = loop {
        let rendered = input.view(view_tokens);
        let history = with_view(&rendered.text);
        let over = tokens_over(request, &history);
        if over == 0 || view_tokens <= view::TOKENS_MIN {
            break (rendered, history);
        }
        view_tokens = view_tokens.saturating_sub(over).max(view::TOKENS_MIN);
    };
    let quoted = QuotedItems::of(&rendered);
    let Rendered { text: view, lines, pins_incomplete, .. } = rendered;
    let notices = pins_notice(pins_incomplete).into_iter().collect();
    let request = kept.as_ref().and_then(|kept| Some((input.request_seq?, kept)));
    let switch = model_switch.map(|(seq, switch)| (*seq, switch));
    let stay = request.into_iter().chain(switch);
    let dispositions = stay.map(|(seq, kept)| (seq, fate_of(kept))).collect();
    let redacted = kept.iter().chain(model_switch.map(|(_, switch)| switch));
    let redacted = redacted.map(|kept| u64::from(kept.redacted)).sum();
    let texts = texts.used(texts_of(Strategy::Checkpoint));
    Replacement {
        strategy: Strategy::Checkpoint,
        history,
        view,
        view_tokens,
        lines,
        quoted,
        dispositions,
        redacted,
        texts,
        unseen: None,
        notices,
    }
}

pub(super) fn pins_notice(incomplete: usize) -> Option<Notice> {
    let texts = match incomplete {
        0 => return None,
        1 => "1 pinned text does".to_owned(),
        more => format!("{more} pinned texts do"),
    };
    let message = format!("{texts} not fit completely in the view; a larger max_tokens makes room");
    Some(Notice::new("pins_incomplete", message))
}

fn fate_of(kept: &KeptRequest) -> Disposition {
    if kept.cut || kept.redacted > 0 { Disposition::Shortened } else { Disposition::Kept }
}
