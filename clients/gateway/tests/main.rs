//! The gateway between a client and a provider that are both scripted, with a scripted daemon.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compact;
mod desk;
mod faults;
mod keys;
mod mid_turn;
mod pass;
mod provider;
mod recorded;
