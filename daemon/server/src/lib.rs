//! The longhaul daemon: the imperative shell around `longhaul-core` and `longhaul-store`.
//!
//! | floor | modules |
//! |---|---|
//! | whole | [`app`] puts everything together and takes it apart again; `main.rs` calls it |
//! | edge | [`socket`] bytes to answers through a method table; [`rpc`] the method table. They are strangers: `app` joins them |
//! | use-cases | [`service`] what methods work with |
//! | reading | [`ingest`] transcripts into the store |
//! | files | [`discovery`] which transcripts there are; [`transcript`] opened, split into lines, given back; [`archive`] what is kept of them |
//! | hub | [`events`] what happened, for whoever wants to know; [`recorder`] transcripts of clients that write none; [`message_history`] prompts for recall |
//! | ground | [`clock`] [`config`] [`paths`] [`peer`] [`args`] [`telemetry`] [`systemd`] [`shutdown`] [`link`] [`lock`] [`folder`] [`new_file`] [`heap`] [`descriptors`] [`runtime`]; [`sandbox`] a locked-in child; [`model`] |
//!
//! A module uses only floors below its own. Time and randomness are read in `clock` alone, the environment in `main.rs` and the
//! ground floor alone.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "read by who works on it: `cargo doc` with private items"
)]
#![allow(missing_docs, reason = "a program: a doc comment has to say more than the name does")]

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
pub mod link;
mod lock;
mod message_history;
mod metering;
mod model;
mod new_file;
pub mod paths;
mod peer;
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
