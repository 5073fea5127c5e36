//! Binds a fact to the content of the files it depends on.

use super::validate::{Rejection, Rule};
use crate::checkpoint::file_standing::{Now, OnDisk, Standing};
use crate::checkpoint::files::File;
use crate::digest::ContentHash;

/// Minimum digits of a hash to compare; a view shows twelve.
const HASH_DIGITS_MIN: usize = 7;

/// The content of `file` that a fact depends on: the content that the thread saw last. That is the content on disk,
/// unless it changed since the thread's last touch; then it is the previous content, or `None` if that is unknown.
/// In both cases the fact is suspect from the start.
///
/// `claimed` is the hash in the update. It is only checked, since hashes come from the host alone; a mismatch means
/// that the update's author has not seen this content.
///
/// # Errors
/// [`Rule::Hash`]: `claimed` is the hash of other content.
pub fn bound(
    file: &File,
    disk: Option<&OnDisk>,
    claimed: Option<&str>,
) -> Result<Option<ContentHash>, Rejection> {
    let seen = match file.standing(disk) {
        Standing::Changed | Standing::Gone => {
            let then = disk.filter(|disk| !disk.late).and_then(|disk| disk.then.as_ref());
            file.hash.as_ref().or(then).cloned()
        }
        Standing::Unchanged | Standing::Unverified => match disk.map(|disk| &disk.now) {
            Some(Now::Content(hash)) => Some(hash.clone()),
            Some(Now::Missing | Now::Unknown) | None => None,
        },
    };
    if let (Some(claimed), Some(seen)) = (claimed.map(str::trim), &seen) {
        let is_of_it = claimed.len() >= HASH_DIGITS_MIN
            && seen.as_str().starts_with(&claimed.to_ascii_lowercase());
        if !is_of_it {
            let reason = format!("{} has the hash {}, not {claimed:?}", file.path, seen.short());
            return Err(Rejection { rule: Rule::Hash, reason });
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::files::FileState;

    fn read(hash: Option<&ContentHash>) -> File {
        File {
            path: "src/a.rs".into(),
            state: FileState::Read,
            seq: 1,
            at_ms: 0,
            changes: 0,
            read_seq: None,
            reads: 1,
            hash: hash.cloned(),
            printed: None,
        }
    }

    #[test]
    fn a_fact_depends_on_the_content_the_thread_saw() {
        let (a, b) = (ContentHash::of(b"a"), ContentHash::of(b"b"));
        let disk = |then: Option<&ContentHash>, late, now: &ContentHash| OnDisk {
            then: then.cloned(),
            late,
            now: Now::Content(now.clone()),
        };
        for (known, disk, expected) in [
            (None, disk(Some(&a), false, &a), Some(&a)),
            // Changed by somebody else since: the thread knows the old content.
            (None, disk(Some(&a), false, &b), Some(&a)),
            (Some(&a), disk(None, false, &b), Some(&a)),
            (None, disk(Some(&a), true, &b), None),
            // Never seen in time: the current content is the best available.
            (None, disk(None, false, &b), Some(&b)),
            (None, OnDisk { then: Some(a.clone()), late: false, now: Now::Missing }, Some(&a)),
            (None, OnDisk::default(), None),
        ] {
            let file = read(known);
            assert_eq!(bound(&file, Some(&disk), None), Ok(expected.cloned()), "{disk:?}");
        }
    }

    #[test]
    fn a_hash_of_other_content_is_rejected_and_never_stored() {
        let hash = ContentHash::of(b"a");
        let file = read(None);
        let disk = OnDisk { then: None, late: false, now: Now::Content(hash.clone()) };
        let of = |claimed: &str| {
            bound(&file, Some(&disk), Some(claimed)).map_err(|refused| refused.rule)
        };
        assert_eq!(of(hash.as_str()), Ok(Some(hash.clone())));
        assert_eq!(of(&hash.as_str()[..12].to_uppercase()), Ok(Some(hash.clone())));
        for claimed in ["", "abc", "deadbeefdeadbeef", &hash.as_str()[..3]] {
            assert_eq!(of(claimed), Err(Rule::Hash), "{claimed}");
        }
        // Nothing to compare with: unknown content is suspect for any hash.
        assert_eq!(bound(&file, None, Some("deadbeef")), Ok(None));
    }
}
