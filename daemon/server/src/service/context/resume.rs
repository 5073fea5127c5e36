//! Estimates the cost of resuming a thread with its whole history or with a briefing.

use longhaul_core::checkpoint::view::{self, ViewCaps};
use longhaul_core::context::cache::PromptCache;
use longhaul_core::fold::Fold;
use longhaul_core::tokens;

use crate::clock::Clock;
use crate::config::{Config, Live};
use crate::service::snapshot::Snapshot;

/// Cost of a thread's next request.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumePrice {
    pub idle_ms: u64,
    pub cache: PromptCache,
    /// Tokens of the request with the whole history.
    pub history_tokens: u64,
    /// The same with a briefing instead.
    pub briefing_tokens: u64,
    /// Price of a million input tokens, and its currency.
    pub input_price: Option<(f64, String)>,
}

impl ResumePrice {
    /// `None` if the provider's cache is unknown. `replacement_tokens` is the size of the text that replaces the
    /// history.
    pub fn of(config: &Config, fold: &Fold, now_ms: i64, replacement_tokens: u64) -> Option<Self> {
        let head = fold.head();
        let idle_ms = u64::try_from(now_ms.saturating_sub(head.updated_at_ms)).unwrap_or(0);
        let configured = config.cache_lifetime_ms_of(head.source);
        let reported = fold.bill().cache_lifetime_ms();
        let cache = PromptCache::of(head.source, (configured, reported), idle_ms)?;
        let price = config.input_price_of(head.source, head.model.as_deref());
        Some(Self {
            idle_ms,
            cache,
            history_tokens: fold.used(),
            briefing_tokens: replacement_tokens.saturating_add(fold.meter().overhead()),
            input_price: price.map(|price| (price, config.context.currency.value.clone())),
        })
    }
}

/// Prices the next requests of threads.
#[derive(Clone)]
pub struct ResumePrices {
    pub(in crate::service) config: Live,
    pub(in crate::service) clock: Clock,
}

impl ResumePrices {
    /// What the next request of a thread costs, with its history or with a briefing.
    pub(super) fn of(&self, snapshot: &Snapshot) -> Option<ResumePrice> {
        let fold = &snapshot.fold;
        let budget = view::default_tokens(fold.used(), fold.head().compactions > 0);
        let briefing = view::render(&snapshot.view_inputs(), &ViewCaps::default(), budget);
        let replacement = tokens::of_text(&briefing);
        ResumePrice::of(&self.config.now(), fold, self.clock.now_ms(), replacement)
    }
}
