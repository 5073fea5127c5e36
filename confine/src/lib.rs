//! Confines a process, if the system can: [`confine_client`] leaves it its open connection, [`confine_reader`] some
//! places to read and one program to execute. If that fails they say why, and the process must not continue.

use std::path::PathBuf;

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unconfined;

#[cfg(all(target_os = "linux", feature = "test-util"))]
pub use linux::without_landlock;
#[cfg(target_os = "linux")]
pub use linux::{bound_client, bound_reader, confine_client, confine_reader};
#[cfg(not(target_os = "linux"))]
pub use unconfined::{bound_client, bound_reader, confine_client, confine_reader};

/// What a confined reader may reach.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Files and folders to read, recursively; missing ones are ignored.
    pub read: Vec<PathBuf>,
    /// Files to execute: the program and its loader.
    pub run: Vec<PathBuf>,
}
