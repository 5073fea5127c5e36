//! What is searched for.

use longhaul_store::SearchFilter;

/// What to look for.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    /// The words.
    pub query: String,
    /// Where.
    pub filter: SearchFilter,
    /// Hits, at most.
    pub hits_max: usize,
    /// Tokens of all texts, at most.
    pub tokens_max: Option<u64>,
}
