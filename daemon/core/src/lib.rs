//! Placeholder.

pub mod redact;
