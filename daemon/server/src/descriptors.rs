//! File descriptors: each client and each transcript being read takes one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for everything but clients: transcripts, watches, the database.
const BESIDES_CLIENTS: u64 = 1024;

/// The person's and the agents'.
const SOCKETS: u64 = 2;

/// Raises the process's own bound so that `connections_max` clients of each socket fit; answers the bound in force.
///
/// The usual bound of 1024 is there for programs that use `select`; raising it up to the hard bound needs no
/// right. Where the hard bound is lower than wanted, the accept loop lives with it.
pub fn raise(connections_max: usize) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = SOCKETS * connections_max as u64 + BESIDES_CLIENTS;
    let current = current?;
    if current >= wanted {
        return Some(current);
    }
    let raised = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => Some(raised),
        Err(error) => {
            tracing::warn!(%error, wanted, current, "bound on file descriptors not raised");
            Some(current)
        }
    }
}
