//! Finds the next keyword of any rule, probing every second byte of the text.
//!
//! Every stored text is searched here at least once, and nearly all of it contains no secret, so the speed of
//! finding nothing matters most. An automaton must follow one byte to the next and takes five cycles for each;
//! here probes are independent, and half of the positions are skipped.
//!
//! # How
//!
//! A probe reads four bytes. A table indexed by a hash of the first three says which fourth bytes continue a
//! keyword: one bit for each of eight classes of bytes. That alone would need a probe per byte. But a keyword that
//! begins at an odd position has its *second* byte at the next even one, so bytes two to five of each keyword are
//! in the table as well, and one probe at an even position covers both. Three-byte keywords have only two bytes
//! left there; these are in a table of pairs.

use std::ops::Range;

const KEYWORD_BYTES_MIN: usize = 3;
/// Log2 of the entries in the table of threes. About 3 % are used; with half as many entries, false candidates
/// cost a tenth more time.
const THREES_BITS: u32 = 16;
/// Log2 of the number of keyword buckets.
const BUCKET_BITS: u32 = 12;
const BUCKETS: usize = 1 << BUCKET_BITS;
/// Bytes probed per branch.
const BLOCK_BYTES: usize = 8;

/// Keywords, each with its rule's number.
pub(super) struct Keywords {
    prefilter: Prefilter,
    /// Sorted by the bucket of their first three bytes, then longest first.
    keywords: Vec<Keyword>,
    /// Start index of each bucket; the next bucket's start is its end.
    buckets: Box<[u32; BUCKETS + 1]>,
}

struct Keyword {
    head: [u8; KEYWORD_BYTES_MIN],
    text: Box<[u8]>,
    owner: usize,
}

impl Keywords {
    /// Keywords must have at least three bytes; shorter ones are never found. The first of equal ones wins.
    pub(super) fn new(mut keywords: Vec<(String, usize)>) -> Self {
        let mut set = Self {
            prefilter: Prefilter::new(),
            keywords: Vec::with_capacity(keywords.len()),
            buckets: Box::new([0; BUCKETS + 1]),
        };
        // Longest first, so that the longest match is found first.
        keywords.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        keywords.dedup_by(|(a, _), (b, _)| a == b);
        for (text, owner) in keywords {
            let Some(&head) = text.as_bytes().first_chunk() else { continue };
            set.prefilter.add(text.as_bytes());
            set.keywords.push(Keyword { head, text: text.into_bytes().into(), owner });
        }
        set.keywords.sort_by_key(|keyword| bucket(keyword.head));
        for keyword in &set.keywords {
            let after = &mut set.buckets[bucket(keyword.head) + 1..];
            after.iter_mut().for_each(|begin| *begin += 1);
        }
        set
    }

    /// The first keyword at or after `from`, the longest if several begin there, and its owner.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<(Range<usize>, usize)> {
        let mut at = from;
        while let Some(found) = self.prefilter.first(text.get(at..)?) {
            let here = at + found;
            let before = here.saturating_sub(1).max(from);
            if let Some(hit) = (before..=here).find_map(|at| self.at(text, at)) {
                return Some(hit);
            }
            at = here + 2;
        }
        let unseen = text.len().saturating_sub(KEYWORD_BYTES_MIN + 1).max(from);
        let end = text.len().saturating_sub(KEYWORD_BYTES_MIN - 1);
        (unseen..end).find_map(|at| self.at(text, at))
    }

    /// The longest keyword that begins at `at`.
    fn at(&self, text: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
        let rest = text.get(at..)?;
        let head = *rest.first_chunk()?;
        let begins = match rest.first_chunk() {
            Some(probe) => self.prefilter.begins(*probe),
            None => self.prefilter.ends(head),
        };
        if !begins {
            return None;
        }
        let bucket = bucket(head);
        let (begin, end) = (self.buckets[bucket] as usize, self.buckets[bucket + 1] as usize);
        let mut keywords = self.keywords.get(begin..end)?.iter();
        let found =
            keywords.find(|keyword| keyword.head == head && rest.starts_with(&keyword.text))?;
        Some((at..at + found.text.len(), found.owner))
    }
}

/// Rules out most positions without a keyword.
struct Prefilter {
    /// Indexed by the hash of three bytes: the fourth bytes that continue them, as bits of `CLASSES`.
    threes: Box<[u8; 1 << THREES_BITS]>,
    /// Nonzero for a pair of bytes that ends a three-byte keyword.
    pairs: Box<[u8; 1 << 16]>,
}

/// The bit of each fourth byte. A table, because variable shifts are slow on the target processors.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < classes.len() {
        classes[byte] = 1 << (byte % 8);
        byte += 1;
    }
    classes
};

impl Prefilter {
    fn new() -> Self {
        Self { threes: Box::new([0; 1 << THREES_BITS]), pairs: Box::new([0; 1 << 16]) }
    }

    fn add(&mut self, keyword: &[u8]) {
        for rest in [keyword, &keyword[1..]] {
            match *rest {
                [a, b, c, d, ..] => self.threes[hash([a, b, c, d])] |= CLASSES[usize::from(d)],
                [a, b, c] => self.threes[hash([a, b, c, 0])] = u8::MAX,
                [a, b] => self.pairs[usize::from(u16::from_le_bytes([a, b]))] = u8::MAX,
                _ => {}
            }
        }
    }

    /// The first even position at which, or one byte before which, a keyword may begin. Ignores the last three bytes.
    ///
    /// Not inlined: inside `find` the compiler spills this loop's registers.
    #[inline(never)]
    fn first(&self, text: &[u8]) -> Option<usize> {
        let (blocks, _) = text.as_chunks::<BLOCK_BYTES>();
        for (number, blocks) in blocks.windows(2).enumerate() {
            let block = u64::from_le_bytes(blocks[0]);
            let next = u64::from_le_bytes(blocks[1]);
            let probes = [block, block >> 16, block >> 32, block >> 48 | next << 16];
            let found =
                probes.map(|probe| self.passes(((probe & 0xffff_ffff) as u32).to_le_bytes()));
            if found != [0; 4] {
                let probe = found.iter().take_while(|found| **found == 0).count();
                return Some(BLOCK_BYTES * number + 2 * probe);
            }
        }
        let mut at = BLOCK_BYTES * blocks.len().saturating_sub(1);
        while let Some(probe) = text.get(at..).and_then(<[u8]>::first_chunk) {
            if self.passes(*probe) != 0 {
                return Some(at);
            }
            at += 2;
        }
        None
    }

    /// Nonzero if these bytes may be in a keyword.
    #[inline(always)]
    fn passes(&self, probe: [u8; 4]) -> u8 {
        let [a, b, _, d] = probe;
        let three = self.threes[hash(probe)] & CLASSES[usize::from(d)];
        three | self.pairs[usize::from(u16::from_le_bytes([a, b]))]
    }

    /// Whether these bytes may be a whole keyword.
    fn ends(&self, [a, b, c]: [u8; KEYWORD_BYTES_MIN]) -> bool {
        self.threes[hash([a, b, c, 0])] == u8::MAX
    }

    /// Whether these bytes may begin a keyword.
    fn begins(&self, probe: [u8; 4]) -> bool {
        self.threes[hash(probe)] & CLASSES[usize::from(probe[3])] != 0
    }
}

/// Index of the first three bytes in the table of threes: Fibonacci hashing in 24 bits.
#[inline(always)]
fn hash(probe: [u8; 4]) -> usize {
    let bytes = u32::from_le_bytes(probe) << 8;
    (bytes.wrapping_mul(0x009e_3779) >> (32 - THREES_BITS)) as usize
}

fn bucket([a, b, c]: [u8; KEYWORD_BYTES_MIN]) -> usize {
    hash([a, b, c, 0]) >> (THREES_BITS - BUCKET_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reference for `find`: checks every position.
    fn find_slowly(
        words: &[(String, usize)],
        text: &[u8],
        from: usize,
    ) -> Option<(Range<usize>, usize)> {
        (from..text.len()).find_map(|at| {
            let here = words.iter().filter(|(word, _)| text[at..].starts_with(word.as_bytes()));
            // The first of equal words wins.
            let (word, owner) = here.rev().max_by_key(|(word, _)| word.len())?;
            Some((at..at + word.len(), *owner))
        })
    }

    proptest! {
        #[test]
        fn every_keyword_is_found_where_it_begins(
            words in prop::collection::vec("[abc]{3,6}", 0..60),
            text in "[abcd]{0,40}",
            from in 0..44_usize,
        ) {
            let words: Vec<(String, usize)> = words.into_iter().zip(0..).collect();
            let keywords = Keywords::new(words.clone());
            let expected = find_slowly(&words, text.as_bytes(), from);
            prop_assert_eq!(keywords.find(text.as_bytes(), from), expected);
        }
    }
}
