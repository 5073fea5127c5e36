//! The contract against its examples, its schema and its page for people.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod contract;
mod examples;
