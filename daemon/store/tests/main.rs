//! The one integration test binary of the store.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod archive;
mod commit;
mod crash;
mod damage;
mod erase;
mod job;
mod lists;
mod memory;
mod model;
mod older_version;
mod policy;
mod salvage;
mod sample;
mod seal;
mod search;
mod session_database;
mod update;
