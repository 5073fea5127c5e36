//! The archive's decisions: where a text is cut, what a pack says of itself, what goes first.

pub mod chunk;
pub mod eviction;
pub mod pack;
