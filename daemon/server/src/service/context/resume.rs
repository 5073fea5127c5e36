//! What resuming a thread costs, with its whole history or with a briefing.

use longhaul_core::context::cache::PromptCache;
use longhaul_core::fold::Fold;

use crate::config::Config;

/// What the next request of a thread costs.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumePrice {
    pub idle_ms: u64,
    pub cache: PromptCache,
    /// Tokens of the request with the whole history.
    pub history_tokens: u64,
    /// The same with a briefing in its place.
    pub briefing_tokens: u64,
    /// Of a million tokens of input, and its unit.
    pub input_price: Option<(f64, String)>,
}

impl ResumePrice {
    /// `None` where nothing is known of the provider's cache. `replacement_tokens`: of what takes the history's place.
    #[must_use]
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
