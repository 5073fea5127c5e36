//! Estimates the cost of resuming a thread with its whole history or with a briefing.

use longhaul_core::checkpoint::view::{self, ViewCaps};
use longhaul_core::context::cache::PromptCache;
use longhaul_core::fold::Fold;
use longhaul_core::tokens;
use longhaul_protocol::thread::{Price, ResumePrice};

use crate::clock::Clock;
use crate::config::{Config, Live};
use crate::service::snapshot::Snapshot;

/// The cost of a thread's next request; `None` if the provider's cache is unknown. `replacement_tokens` is the size of the text
/// that replaces the history.
pub fn price(
    config: &Config,
    fold: &Fold,
    now_ms: i64,
    replacement_tokens: u64,
) -> Option<ResumePrice> {
    let head = fold.head();
    let idle_ms = u64::try_from(now_ms.saturating_sub(head.updated_at_ms)).unwrap_or(0);
    let configured = config.cache_lifetime_ms_of(head.source);
    let reported = fold.bill().cache_lifetime_ms();
    let cache = PromptCache::of(head.source, (configured, reported), idle_ms)?;
    let per_million = config.input_price_of(head.source, head.model.as_deref());
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^64 millionths")]
    let price = |tokens: u64| {
        // The price is per million tokens, so the product is in millionths.
        let micros = (per_million? * tokens as f64).round() as u64;
        Some(Price { micros, currency: config.context.currency.value.clone() })
    };
    let history_tokens = fold.used();
    let briefing_tokens = replacement_tokens.saturating_add(fold.meter().overhead());
    Some(ResumePrice {
        idle_ms,
        cache_lifetime_ms: cache.lifetime_ms,
        cache_lifetime_source: cache.origin.into_str().to_owned(),
        is_cold: cache.is_cold,
        history_tokens,
        briefing_tokens,
        history_price: price(history_tokens),
        briefing_price: price(briefing_tokens),
    })
}

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
        price(&self.config.now(), fold, self.clock.now_ms(), replacement)
    }
}
