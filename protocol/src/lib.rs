//! The wire contract of longhaul, version 1.
//!
//! A client and the daemon exchange JSON-RPC 2.0 messages over a Unix stream socket, one message per
//! line. This crate contains everything both ends must agree on, and depends on neither:
//!
//! - [`method`]: what a method is ([`Method`]) and the table of them ([`METHODS`]);
//! - [`version`]: which revisions exist and how two ends agree on one;
//! - [`error`]: the error table: number, kind, what a caller should do next;
//! - [`limit`]: the bounds both sides must know;
//! - [`frame`]: bytes to lines and back, without I/O; [`socket`]: the names of the two sockets;
//! - one module per namespace of methods, with their params and results: [`archive`], [`checkpoint`], [`compaction`],
//!   [`context`], [`daemon`], [`event`], [`history`], [`job`], [`memory`], [`message_history`],
//!   [`policy`], [`thread`];
//! - [`example`]: exchanges that the tests of every end replay; [`schema`]: all of it as JSON Schema.
//!
//! Conventions: fields are `snake_case`, ids are strings, times are integer milliseconds since the Unix
//! epoch, percentages are integers, token counts are estimates (bytes ÷ 4). Unknown fields of params are refused, unknown
//! fields of results ignored. History items stay [`serde_json::Value`]s in the Responses API form.
//!
//! `PROTOCOL.md` describes it for people, `schema/longhaul-v1.schema.json` for machines.
#![warn(missing_docs)]

pub mod archive;
pub mod checkpoint;
pub mod compaction;
pub mod context;
pub mod daemon;
pub mod error;
pub mod event;
pub mod example;
pub mod frame;
pub mod history;
pub mod job;
pub mod limit;
pub mod memory;
pub mod message_history;
pub mod method;
pub mod policy;
pub mod schema;
pub mod socket;
pub mod text;
pub mod thread;
pub mod version;
pub mod warning;

pub use error::{ErrorData, ErrorKind, Retry, WireError};
pub use method::{AgentAccess, METHODS, Method, MethodInfo};
pub use text::{Block, Raw};
pub use version::{PROTOCOL_MAJOR, PROTOCOL_REVISION, RevisionRange};
pub use warning::Warning;
