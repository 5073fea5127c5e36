//! Confines a process, if the system can: [`confine_client`] leaves it its open connection, [`confine_reader`] some
//! places to read and one program to execute. If that fails they say why, and the process must not continue.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unconfined;

#[cfg(all(target_os = "linux", feature = "test-util"))]
pub use linux::without_landlock;
#[cfg(target_os = "linux")]
pub use linux::{Reach, bound_client, bound_reader, confine_client, confine_reader};
#[cfg(not(target_os = "linux"))]
pub use unconfined::{Reach, bound_client, bound_reader, confine_client, confine_reader};
