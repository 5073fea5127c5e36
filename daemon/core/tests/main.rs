//! The integration tests of the core in one binary: invariants for any transcript.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod claude;
mod corpus;
mod golden;
mod normalize;
mod policy;
mod policy_defects;
mod policy_takeover;
mod properties;
mod secrets;
mod session;
