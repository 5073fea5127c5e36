//! What is searched for.

use longhaul_store::SearchFilter;

#[derive(Debug, Clone)]
pub struct SearchQuery {
    pub query: String,
    pub filter: SearchFilter,
    pub hits_max: usize,
    /// Tokens of all texts, at most.
    pub tokens_max: Option<u64>,
}
