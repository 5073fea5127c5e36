//! Full-text search over items: what is searchable, what a query means, how hits are ranked, and snippets.
//!
//! The store holds the index (an FTS5 table); all decisions are here. Text and query go through the same
//! [`word::spread`], so that a path, a `snake_case` or `camelCase` name or a run of CJK characters is found
//! as a whole and by its parts.

pub mod item;
pub mod loose;
pub mod query;
pub mod rank;
pub mod snippet;
pub mod word;
