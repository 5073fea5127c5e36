//! Locks a process into one folder, where the system can.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unconfined;

#[cfg(target_os = "linux")]
pub use linux::{bound, confine};
#[cfg(not(target_os = "linux"))]
pub use unconfined::{bound, confine};
