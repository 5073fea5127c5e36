//! The archive's decisions: where to cut a text, the index of a pack, and what to evict.

pub mod chunk;
pub mod eviction;
pub mod pack;
