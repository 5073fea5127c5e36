//! Versions: the major is in the socket's name, the revision is negotiated.
//!
//! An incompatible change makes a new major and a new socket name (`v2.sock`), so that an old daemon
//! can never answer a new client by mistake. A compatible addition (a method, a field of a result, an
//! optional param) makes a new *revision* of the same major. `initialize` picks the newest revision
//! both ends speak; a connection that skips it speaks revision [`PROTOCOL_REVISION_MIN`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The major version, as in `v1.sock`.
pub const PROTOCOL_MAJOR: u32 = 1;
/// The newest revision of the major that this crate describes.
pub const PROTOCOL_REVISION: u32 = 1;
/// The oldest revision of the major that is still supported.
pub const PROTOCOL_REVISION_MIN: u32 = 1;

/// The revisions one end speaks; `min` and `max` included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevisionRange {
    /// The oldest revision spoken.
    pub min: u32,
    /// The newest revision spoken, `min` ≤ `max`.
    pub max: u32,
}

impl RevisionRange {
    /// What this build speaks.
    pub const OURS: Self = Self { min: PROTOCOL_REVISION_MIN, max: PROTOCOL_REVISION };

    /// The newest revision in both ranges.
    ///
    /// # Errors
    /// [`Disagreement`] if there is none; it says which end must be updated.
    pub fn agree(self, client: Self) -> Result<u32, Disagreement> {
        let (newest, oldest) = (self.max.min(client.max), self.min.max(client.min));
        match oldest <= newest {
            true => Ok(newest),
            false if client.max < self.min => Err(Disagreement::ClientTooOld),
            false => Err(Disagreement::DaemonTooOld),
        }
    }
}

/// Two ends without a common revision: which of them is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disagreement {
    /// The client speaks only revisions the daemon no longer supports.
    ClientTooOld,
    /// The client asks for revisions the daemon does not know yet.
    DaemonTooOld,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn range(min: u32, max: u32) -> RevisionRange {
        RevisionRange { min, max }
    }

    #[test]
    fn the_newest_common_revision_wins_and_disagreement_names_the_older_end() {
        let daemon = range(3, 5);
        assert_eq!(daemon.agree(range(1, 3)), Ok(3));
        assert_eq!(daemon.agree(range(4, 9)), Ok(5));
        assert_eq!(daemon.agree(range(4, 4)), Ok(4));
        assert_eq!(daemon.agree(range(1, 2)), Err(Disagreement::ClientTooOld));
        assert_eq!(daemon.agree(range(6, 9)), Err(Disagreement::DaemonTooOld));
    }
}
