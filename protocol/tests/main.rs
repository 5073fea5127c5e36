//! The contract against its examples, its schema and its page for people.

mod contract;
mod examples;
