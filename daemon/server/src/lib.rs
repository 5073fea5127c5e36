//! The longhaul daemon: the imperative shell around `longhaul-core` and `longhaul-store`.
//!
//! | floor | modules |
//! |---|---|
//! | whole | [`app`] builds, runs and stops the daemon; `main.rs` calls it |
//! | edge | [`socket`] bytes to answers through a method table; [`rpc`] the method table. Neither knows the other: `app` joins them |
//! | use-cases | [`service`] the logic behind the methods |
//! | reading | [`ingest`] transcripts into the store |
//! | files | [`discovery`] lists transcripts; [`transcript`] opens them and splits them into lines; [`archive`] stores copies of them |
//! | hub | [`events`] the event hub; [`recorder`] transcripts of clients that write none; [`message_history`] prompts for recall |
//! | ground | [`clock`] [`config`] [`paths`] [`work_folder`] [`args`] [`telemetry`] [`systemd`] [`shutdown`] [`peer`] [`lock`] [`folder`] [`new_file`] [`no_follow`] [`heap`] [`descriptors`] [`runtime`]; [`sandbox`] a confined child; [`model`] |
//!
//! A module uses only lower floors. Only `clock` reads time and randomness; only `main.rs` and the ground floor read the
//! environment.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the documentation is for developers: `cargo doc` with private items"
)]
#![allow(missing_docs, reason = "a program: a doc comment must say more than the name")]

mod agent_settings;
pub mod app;
mod archive;
pub mod args;
pub mod clock;
pub mod config;
pub mod descriptors;
mod discovery;
mod events;
mod folder;
pub mod heap;
pub mod ingest;
pub mod jobs;
mod lock;
mod message_history;
mod metering;
mod model;
mod new_file;
mod no_follow;
pub mod paths;
pub mod peer;
mod project_instructions;
mod recorder;
pub mod repository;
mod rpc;
pub mod runtime;
pub mod sandbox;
pub mod service;
mod shutdown;
pub mod socket;
mod systemd;
pub mod telemetry;
mod thread_names;
pub mod transcript;
mod work_folder;
