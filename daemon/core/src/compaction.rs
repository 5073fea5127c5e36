//! Replaces a history by a shorter one and accounts for every item.
//!
//! The checkpoint strategy needs no model and cannot fail: its text is a view of any size, and the only item it
//! keeps is the current request.

pub mod agent_costs;
pub mod agent_limit;
pub mod assemble;
pub mod classify;
pub mod growth;
pub mod handle;
pub mod initial_context;
pub mod ladder;
pub mod quoted;
pub mod receipt;
pub mod remote;
pub mod replacement_check;
pub mod succession;
pub mod summary;

use serde::{Deserialize, Serialize};

/// Where in a turn a compaction takes place; decides whether the initial context is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Phase {
    #[default]
    Standalone,
    /// Before a request is sent: the harness adds its context itself.
    PreTurn,
    /// Between two model calls of one turn: the harness will not add its context again.
    MidTurn,
}
