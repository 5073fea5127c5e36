//! The Rust client of the longhaul protocol: find the daemon, negotiate a version, call it.
//!
//! ```no_run
//! use longhaul_client::{Client, ConnectOptions};
//! use longhaul_protocol::{compaction, thread};
//!
//! # async fn example() -> Result<(), longhaul_client::ClientError> {
//! let client = Client::connect(ConnectOptions::new("example", "1.0.0")).await?;
//! let newest = thread::ThreadListParams { limit: Some(1), ..Default::default() };
//! for thread in client.call::<thread::ThreadList>(newest).await?.threads {
//!     let wanted = compaction::RunParams { thread_id: Some(thread.thread_id), ..Default::default() };
//!     println!("{}", client.call::<compaction::Run>(wanted).await?.view);
//! }
//! # Ok(()) }
//! ```
//!
//! - [`socket`] finds the daemon's socket; `connect` opens it and shakes hands; `connection` exchanges lines;
//! - [`Client`] calls methods by their types; [`Subscription`] yields events;
//! - [`Conversation`] is the whole loop of a program with a model, in one struct: it stores the messages, compacts before
//!   the window is full, and continues while the daemon restarts or is not running;
//! - [`briefing`] replaces a history that an agent compacts; [`gateway`] has the settings of the Codex gateway;
//! - [`ClientError`] says what went wrong and what to do next. Nothing but [`Conversation`] retries by itself.
#![warn(missing_docs)]

pub mod briefing;
mod client;
pub mod clock;
mod connect;
mod connection;
mod conversation;
mod error;
pub mod gateway;
#[cfg(feature = "test-util")]
pub mod scripted;
pub mod socket;
mod subscription;
mod time_limit;

pub use client::Client;
pub use connect::ConnectOptions;
pub use conversation::{Conversation, ConversationOptions, Prompt};
pub use error::ClientError;
pub use subscription::Subscription;
