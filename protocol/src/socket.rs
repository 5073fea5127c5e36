//! The two sockets of a daemon: the person's, and next to it that of agents.

use std::path::{Path, PathBuf};

/// Maximum bytes of a socket's path: the kernel's `sockaddr_un` without the closing zero.
///
/// # Source
/// unix(7): `sun_path` has 108 bytes on Linux, 104 elsewhere.
pub const PATH_BYTES_MAX: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The agents' socket of the daemon whose person's socket is `socket`: next to it, so that one private folder holds
/// both. `v1.sock` has `v1.agents.sock`.
///
/// ```
/// # use std::path::Path;
/// let agents = longhaul_protocol::socket::of_agents(Path::new("/run/user/1000/longhaul/v1.sock"));
/// assert_eq!(agents, Path::new("/run/user/1000/longhaul/v1.agents.sock"));
/// ```
#[must_use]
pub fn of_agents(socket: &Path) -> PathBuf {
    socket.with_extension("agents.sock")
}

/// Whether `socket` has the name of an agents' socket.
#[must_use]
pub fn is_of_agents(socket: &Path) -> bool {
    socket.as_os_str().as_encoded_bytes().ends_with(b".agents.sock")
}
