//! Full-text search over items, on values: what of an item can be found, what a query means, which hits
//! come first, and the words around a match.
//!
//! The index itself (an FTS5 table) is the store's; here is everything that is decided. Text and query go
//! through the same [`word::spread`], so that a path, a `snake_case` or `camelCase` name or a run of CJK
//! characters is found by the whole and by its parts.

pub mod item;
pub mod loose;
pub mod query;
pub mod rank;
pub mod snippet;
pub mod word;
