//! Locks a process in, where the system can.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unconfined;

#[cfg(target_os = "linux")]
pub use linux::{Reach, bound, bound_reader, confine, confine_reader};
#[cfg(not(target_os = "linux"))]
pub use unconfined::{Reach, bound, bound_reader, confine, confine_reader};
