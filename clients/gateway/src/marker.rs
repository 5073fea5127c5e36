//! The marker that represents a view in an agent's history, if the agent only stores what its provider encrypted.
//!
//! The marker contains the view itself, compressed, so the gateway stores nothing: it can open the marker after a
//! restart, in a fork, or in a copy of the session on another machine. The checksum is zstd's.

use std::io::{self, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use longhaul_client::gateway::MARKER;

/// Prefix of this version's markers; [`MARKER`] is that of any version.
const PREFIX: &str = "longhaul-view-1.";
const LEVEL: i32 = 3;
/// Maximum bytes of a view; one has 64 KiB at the largest budget.
const VIEW_BYTES_MAX: u64 = 1024 * 1024;

/// A view as a marker.
pub(crate) fn sealed(view: &str) -> io::Result<String> {
    let mut packing = zstd::stream::Encoder::new(Vec::new(), LEVEL)?;
    packing.include_checksum(true)?;
    packing.write_all(view.as_bytes())?;
    Ok(PREFIX.to_owned() + &STANDARD.encode(packing.finish()?))
}

pub(crate) fn is_marker(text: &str) -> bool {
    text.starts_with(MARKER)
}

/// The view in a marker; `None` if it is corrupted or of another version.
pub(crate) fn opened(marker: &str) -> Option<String> {
    let packed = STANDARD.decode(marker.strip_prefix(PREFIX)?).ok()?;
    let mut view = String::new();
    let unpacking = zstd::stream::Decoder::new(packed.as_slice()).ok()?;
    let read = unpacking.take(VIEW_BYTES_MAX + 1).read_to_string(&mut view).ok()?;
    (read as u64 <= VIEW_BYTES_MAX).then_some(view)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_comes_out_of_its_marker_as_it_went_in() {
        for view in ["", "one line", "[SESSION_CHECKPOINT v1]\n\"quoted\" \u{1f980}\n"] {
            let marker = sealed(view).unwrap();
            assert!(is_marker(&marker));
            assert_eq!(opened(&marker).as_deref(), Some(view));
        }
    }

    #[test]
    fn a_marker_that_was_changed_gives_nothing_and_stays_a_marker() {
        let marker = sealed(&"a view of some length. ".repeat(40)).unwrap();
        let mut changed = marker.clone().into_bytes();
        let at = changed.len() - 12;
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        for text in [&marker[..marker.len() - 8], &changed, "longhaul-view-2.AAAA", PREFIX] {
            assert!(is_marker(text), "{text}");
            assert_eq!(opened(text), None, "{text}");
        }
    }

    #[test]
    fn a_marker_that_unpacks_to_more_than_a_view_is_none() {
        let marker = sealed(&"x".repeat(2 << 20)).unwrap();
        assert_eq!(opened(&marker), None);
    }
}
