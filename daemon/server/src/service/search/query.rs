//! A search query.

use longhaul_store::SearchFilter;

#[derive(Debug, Clone)]
pub struct SearchQuery {
    pub query: String,
    pub filter: SearchFilter,
    pub hits_max: usize,
    pub tokens_max: Option<u64>,
}
