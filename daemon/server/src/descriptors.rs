//! The limit of file descriptors: each client and each open transcript takes one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for everything except clients: transcripts, watches, the database.
const BESIDES_CLIENTS: u64 = 1024;

/// The person's socket and the agents'.
const SOCKETS: u64 = 2;

/// Raises the process's limit so that `connections_max` clients of each socket fit; returns the resulting limit.
///
/// The usual limit of 1024 exists for programs that use `select`; raising it up to the hard limit needs no privilege. If
/// the hard limit is too low, the accept loop handles the shortage.
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
            tracing::warn!(%error, wanted, current, "cannot raise the limit of file descriptors");
            Some(current)
        }
    }
}
