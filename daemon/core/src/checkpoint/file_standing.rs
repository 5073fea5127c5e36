//! Judges whether knowledge of a file is still valid, by the host's view of the disk.
//!
//! Nothing here is stored: it is computed whenever it is served, so it cannot become stale itself. Unknown
//! is not the same as unchanged.

use std::collections::BTreeMap;

use super::files::{File, FileState};
use crate::digest::ContentHash;

/// A file as the host sees it now, and as it was when the thread last touched it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OnDisk {
    /// Hash when the thread last touched it, if the host read it in time.
    pub then: Option<ContentHash>,
    /// The file had already changed when the host first read it: `then` does not show what the agent saw.
    pub late: bool,
    pub now: Now,
}

/// The current content at a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Now {
    /// Not inspected: outside the project, too large, or unreadable.
    #[default]
    Unknown,
    Missing,
    /// A file with this content.
    Content(ContentHash),
}

/// Files by key.
pub type Disk = BTreeMap<String, OnDisk>;

/// How far a thread's knowledge of a file can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Standing {
    /// Same content as then.
    Unchanged,
    /// Other content than then.
    Changed,
    /// It no longer exists.
    Gone,
    Unverified,
}

impl File {
    /// Judges the thread's knowledge of this file.
    pub fn standing(&self, disk: Option<&OnDisk>) -> Standing {
        standing(self.hash.as_ref(), self.state != FileState::Deleted, disk)
    }
}

/// Judges a file. `known` is its hash after the thread's last touch, if the transcript records it; `expected`
/// is whether it should exist.
fn standing(known: Option<&ContentHash>, expected: bool, disk: Option<&OnDisk>) -> Standing {
    let Some(disk) = disk else { return Standing::Unverified };
    let witness = known.or(disk.then.as_ref().filter(|_| !disk.late));
    match (&disk.now, witness) {
        (Now::Unknown, _) => Standing::Unverified,
        (Now::Missing, _) if expected => Standing::Gone,
        (Now::Missing, _) => Standing::Unchanged,
        (Now::Content(_), _) if !expected => Standing::Changed,
        (Now::Content(now), Some(witness)) if now == witness => Standing::Unchanged,
        (Now::Content(_), Some(_)) => Standing::Changed,
        // Read late: only a change since then is certain.
        (Now::Content(now), None) => match &disk.then {
            Some(then) if then != now => Standing::Changed,
            _ => Standing::Unverified,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_compares_the_content_with_what_was_seen() {
        let (a, b) = (ContentHash::of(b"a"), ContentHash::of(b"b"));
        let seen =
            |then: Option<&ContentHash>, late, now| OnDisk { then: then.cloned(), late, now };
        let content = |hash: &ContentHash| Now::Content(hash.clone());
        for (known, expected, disk, standing_) in [
            (None, true, seen(Some(&a), false, content(&a)), Standing::Unchanged),
            (None, true, seen(Some(&a), false, content(&b)), Standing::Changed),
            (None, true, seen(Some(&a), false, Now::Missing), Standing::Gone),
            (None, false, seen(None, false, Now::Missing), Standing::Unchanged),
            (None, false, seen(None, false, content(&a)), Standing::Changed),
            (None, true, seen(Some(&a), true, content(&a)), Standing::Unverified),
            (None, true, seen(Some(&a), true, content(&b)), Standing::Changed),
            (Some(&a), true, seen(Some(&b), true, content(&a)), Standing::Unchanged),
            (Some(&a), true, seen(None, false, content(&b)), Standing::Changed),
            (None, true, seen(Some(&a), false, Now::Unknown), Standing::Unverified),
        ] {
            assert_eq!(standing(known, expected, Some(&disk)), standing_, "{disk:?}");
        }
        assert_eq!(standing(Some(&a), true, None), Standing::Unverified);
    }
}
