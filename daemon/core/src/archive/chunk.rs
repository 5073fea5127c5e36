//! Content-defined chunking: equal runs of lines are stored once.
//!
//! A chunk is a run of whole lines. It ends after the first line beyond [`BYTES_MIN`] whose hash selects it, or before
//! it would exceed [`BYTES_MAX`]. So texts that share lines are soon cut at the same lines, whatever precedes them:
//! forks, resumed threads and copies share chunks. A chunk's end depends only on its own bytes: a growing text keeps
//! all chunks but the last.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use xxhash_rust::xxh3::xxh3_64;

/// Minimum bytes of a complete chunk.
pub const BYTES_MIN: usize = 16 << 10;

/// Maximum bytes of a chunk; only a longer line is cut in its middle.
pub const BYTES_MAX: usize = 256 << 10;

/// On average one line in this many ends a chunk: with lines of one to two KiB, chunks have about 28 KiB.
///
/// # Source
/// Chosen: a chunk costs about 150 bytes of index, which is then less than a twentieth of its compressed bytes.
const LINES_PER_CUT: u64 = 8;

/// SHA-256 of a chunk, its address. Transcripts contain untrusted text, so collisions must be infeasible.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChunkDigest(pub [u8; 32]);

impl ChunkDigest {
    pub fn of(chunk: &[u8]) -> Self {
        Self(sha2::Sha256::digest(chunk).into())
    }
}

impl fmt::Debug for ChunkDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "ChunkDigest({a:02x}{b:02x}{c:02x}{d:02x}…)")
    }
}

/// The end of the first chunk of `text`; `None` while more text may belong to it.
pub fn first_cut(text: &[u8]) -> Option<usize> {
    let bounded = &text[..text.len().min(BYTES_MAX)];
    let (short, rest) = bounded.split_at_checked(BYTES_MIN)?;
    let mut line = memchr::memrchr(b'\n', short).map_or(0, |at| at + 1);
    let mut border = None;
    for newline in memchr::memchr_iter(b'\n', rest) {
        let end = BYTES_MIN + newline + 1;
        if xxh3_64(&bounded[line..end]).is_multiple_of(LINES_PER_CUT) {
            return Some(end);
        }
        (line, border) = (end, Some(end));
    }
    (text.len() >= BYTES_MAX).then(|| border.unwrap_or(BYTES_MAX))
}

/// The chunks of `text`, which must start at a chunk. More text may extend the last one.
pub fn chunks(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let (chunk, rest) = text.split_at(first_cut(text).unwrap_or(text.len()));
        text = rest;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// Lines of a made-up transcript; different seeds give different lines.
    fn lines(seed: u64, count: usize) -> String {
        let mut state = seed;
        let mut line = |number: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let length = usize::try_from(state >> 54).unwrap_or(0);
            format!("{{\"n\":{number},\"text\":\"{state:x}{}\"}}\n", "word ".repeat(length / 2))
        };
        (0..count).map(&mut line).collect()
    }

    fn digests(text: &str) -> HashSet<ChunkDigest> {
        chunks(text.as_bytes()).map(ChunkDigest::of).collect()
    }

    #[test]
    fn shared_lines_share_chunks_whatever_precedes_them() {
        let shared = lines(7, 2_000);
        assert!(shared.len() > 1 << 20, "{}", shared.len());
        let whole = digests(&shared);
        for before in ["", "{\"another\":\"first line\"}\n", &lines(9, 3), &lines(11, 321)] {
            let text = format!("{before}{shared}");
            let found = digests(&text);
            let lost = whole.difference(&found).count();
            assert!(
                lost * 10 <= whole.len(),
                "{lost} of {} after {} bytes",
                whole.len(),
                before.len()
            );
        }
    }

    #[test]
    fn a_change_in_the_middle_changes_only_nearby_chunks() {
        let text = lines(3, 2_000);
        let at = text[text.len() / 2..].find('\n').unwrap() + text.len() / 2 + 1;
        let changed = format!("{}{{\"new\":1}}\n{}", &text[..at], &text[at..]);
        assert!(digests(&text).difference(&digests(&changed)).count() <= 4);
    }

    #[test]
    fn the_line_across_the_minimum_is_judged_by_its_own_bytes() {
        let is_cut =
            |before: &str, line: &str| first_cut(format!("{before}{line}\n").as_bytes()).is_some();
        let filler = "x".repeat(BYTES_MIN);
        let judged: Vec<_> = (0..64)
            .map(|number| {
                let line = format!("{number}{filler}");
                let alone = is_cut("", &line);
                assert_eq!(is_cut("a\n", &line), alone, "{number}");
                assert_eq!(is_cut("b\n", &line), alone, "{number}");
                alone
            })
            .collect();
        assert!(judged.contains(&true) && judged.contains(&false));
    }

    #[test]
    fn chunks_end_at_lines_except_inside_an_oversized_line() {
        let long = format!("{}{}\n{}", lines(1, 50), "x".repeat(3 * BYTES_MAX), lines(2, 500));
        let mut seen = 0;
        for chunk in chunks(long.as_bytes()) {
            seen += chunk.len();
            assert!(chunk.len() <= BYTES_MAX);
            let is_inside = !chunk.ends_with(b"\n") && seen < long.len();
            assert!(!is_inside || chunk.len() == BYTES_MAX, "cut inside a short line");
        }
        assert_eq!(seen, long.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn chunks_do_not_depend_on_how_a_text_grew(
            seed in any::<u64>(),
            count in 1_usize..400,
            parts in prop::collection::vec(1_usize..200_000, 1..12),
            long in prop::option::of(0_usize..600_000),
        ) {
            let mut text = lines(seed, count);
            if let Some(long) = long {
                text += &"y".repeat(long);
                text.push('\n');
                text += &lines(seed ^ 1, count);
            }
            let text = text.as_bytes();
            let at_once: Vec<&[u8]> = chunks(text).collect();
            prop_assert_eq!(at_once.concat(), text);
            // Like the archive: chunk the last one again with the new text.
            let mut stored: Vec<Vec<u8>> = Vec::new();
            let mut at = 0_usize;
            for part in parts.iter().copied().chain([usize::MAX]) {
                let end = at.max(at.saturating_add(part).min(text.len()));
                let open = stored.pop().unwrap_or_default();
                let grown = [open.as_slice(), &text[at..end]].concat();
                stored.extend(chunks(&grown).map(<[u8]>::to_vec));
                at = end;
            }
            prop_assert_eq!(stored, at_once);
        }

        #[test]
        fn chunks_of_any_bytes_concatenate_to_the_text(bytes in prop::collection::vec(any::<u8>(), 0..40_000), times in 1_usize..20) {
            let text = bytes.repeat(times);
            prop_assert_eq!(chunks(&text).collect::<Vec<_>>().concat(), text);
        }
    }
}
