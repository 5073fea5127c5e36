//! The context manager: the cost of a history, truncation, and the settings to send again.
//!
//! Pure functions on values. Items are the JSON texts of Responses API items, as in transcripts; invalid ones
//! are counted by their bytes and passed on, never an error.

pub mod budget;
pub mod cache;
pub mod diff;
pub mod estimate;
pub mod normalize;
pub mod project;
pub mod reference;
pub mod tokenizer;
pub mod truncate;
pub mod usage;
pub mod window;
