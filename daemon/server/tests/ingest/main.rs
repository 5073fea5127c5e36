//! Ingests transcripts into the store through the public handle.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod change;
mod corpus;
mod crash;
mod document;
mod lineage;
mod lines;
mod many;
mod rig;
mod sync;
mod watch;
