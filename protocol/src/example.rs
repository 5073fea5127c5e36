//! The examples: exchanges of a client and the daemon, replayed by the tests of both ends.
//!
//! They are JSON files under `protocol/examples/`, so that clients in any language can read them; its
//! `README.md` says how. This module is the Rust reader.

use serde::Deserialize;
use serde_json::Value;

use crate::method::EXAMPLES;

mod sample;

pub use sample::{placeholder, sample, substitute};

/// The exchanges of one method.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// Its place in a replay; an exchange may depend on earlier ones.
    pub order: u32,
    /// The method it shows; absent for behavior common to all methods.
    pub method: Option<String>,
    /// What the method is for.
    pub about: String,
    /// In the order of replay, on one connection.
    pub exchanges: Vec<Exchange>,
}

/// A request and its answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// What it shows.
    pub name: String,
    /// A message to the daemon, with placeholders.
    pub request: Value,
    /// The message it answers, with placeholders.
    pub response: Value,
}

/// Behavior common to all methods.
const ANY_METHOD: &str = include_str!("../examples/jsonrpc.errors.json");

/// Reads every example, in the order of replay.
///
/// # Errors
/// A file is not an [`Example`]; a test of this crate prevents that.
pub fn examples() -> Result<Vec<Example>, serde_json::Error> {
    let texts = std::iter::once(&ANY_METHOD).chain(EXAMPLES);
    let mut examples =
        texts.map(|text| serde_json::from_str(text)).collect::<Result<Vec<Example>, _>>()?;
    examples.sort_by_key(|example| example.order);
    Ok(examples)
}
