//! Finds the next keyword of any rule, looking at every second byte of the text.
//!
//! Every text that is stored is read here at least once, and nearly all of it holds no secret, so what
//! counts is how fast nothing is found. An automaton must follow one byte to the next and takes five
//! cycles for each; here nothing depends on what came before, and half of the places are never looked at.
//!
//! # How
//!
//! A look takes four bytes. A table holds, by a hash of the first three, which fourth bytes continue a
//! keyword: one bit for every eighth of the bytes. That would be one look for each byte. But a keyword that
//! begins at an odd place shows its *second* byte at the even place after it, so bytes two to five of each
//! keyword are in the table as well, and one look at an even place answers for both. Keywords of three bytes
//! have only two left there, which are in a table of pairs.

use std::ops::Range;

/// The fewest bytes of a keyword.
const KEYWORD_BYTES_MIN: usize = 3;
/// The table of threes has two to this many entries. About three in a hundred are used; with half as many a
/// tenth more time goes to false candidates.
const THREES_BITS: u32 = 16;
/// Keywords are looked up in two to this many buckets.
const BUCKET_BITS: u32 = 12;
const BUCKETS: usize = 1 << BUCKET_BITS;
/// Bytes that are looked at between two branches.
const BLOCK_BYTES: usize = 8;

/// A set of keywords, each with the number of the rule it belongs to.
pub(super) struct Keywords {
    prefilter: Prefilter,
    /// By the buckets of their first three bytes, the longest first in each.
    keywords: Vec<Keyword>,
    /// Where the keywords of a bucket begin; the next one's beginning is its end.
    buckets: Box<[u32; BUCKETS + 1]>,
}

struct Keyword {
    head: [u8; KEYWORD_BYTES_MIN],
    text: Box<[u8]>,
    owner: usize,
}

impl Keywords {
    /// Takes keywords of at least three bytes; shorter ones would never be found. The first of equal ones
    /// counts.
    pub(super) fn new(mut keywords: Vec<(String, usize)>) -> Self {
        let mut set = Self {
            prefilter: Prefilter::new(),
            keywords: Vec::with_capacity(keywords.len()),
            buckets: Box::new([0; BUCKETS + 1]),
        };
        // The longest first: what is found first is what is meant.
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

    /// The first keyword that begins at or after `from`, the longest where several do, and its owner.
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
            Some(look) => self.prefilter.begins(*look),
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

/// Tells most places where no keyword is.
struct Prefilter {
    /// By the hash of three bytes: the fourth bytes that continue them, as bits of `CLASSES`.
    threes: Box<[u8; 1 << THREES_BITS]>,
    /// Not zero for a pair of bytes that ends a keyword of three.
    pairs: Box<[u8; 1 << 16]>,
}

/// The bit of each fourth byte. A table, since the processors compiled for have no cheap shift by a variable.
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

    /// The first even place at which a keyword may begin, or just before which it may have begun. The last
    /// three bytes are not looked at.
    ///
    /// A function of its own: among the rest of `find` the compiler keeps in memory what this loop needs.
    #[inline(never)]
    fn first(&self, text: &[u8]) -> Option<usize> {
        let (blocks, _) = text.as_chunks::<BLOCK_BYTES>();
        for (number, blocks) in blocks.windows(2).enumerate() {
            let block = u64::from_le_bytes(blocks[0]);
            let next = u64::from_le_bytes(blocks[1]);
            let looks = [block, block >> 16, block >> 32, block >> 48 | next << 16];
            let found = looks.map(|look| self.passes(((look & 0xffff_ffff) as u32).to_le_bytes()));
            if found != [0; 4] {
                let look = found.iter().take_while(|found| **found == 0).count();
                return Some(BLOCK_BYTES * number + 2 * look);
            }
        }
        let mut at = BLOCK_BYTES * blocks.len().saturating_sub(1);
        while let Some(look) = text.get(at..).and_then(<[u8]>::first_chunk) {
            if self.passes(*look) != 0 {
                return Some(at);
            }
            at += 2;
        }
        None
    }

    /// Not zero where these bytes may stand in a keyword.
    #[inline(always)]
    fn passes(&self, look: [u8; 4]) -> u8 {
        let [a, b, _, d] = look;
        let three = self.threes[hash(look)] & CLASSES[usize::from(d)];
        three | self.pairs[usize::from(u16::from_le_bytes([a, b]))]
    }

    /// Whether these bytes may be a whole keyword.
    fn ends(&self, [a, b, c]: [u8; KEYWORD_BYTES_MIN]) -> bool {
        self.threes[hash([a, b, c, 0])] == u8::MAX
    }

    /// Whether these bytes may begin a keyword.
    fn begins(&self, look: [u8; 4]) -> bool {
        self.threes[hash(look)] & CLASSES[usize::from(look[3])] != 0
    }
}

/// The place of the first three of these bytes in the table of threes: Fibonacci hashing in 24 bits.
#[inline(always)]
fn hash(look: [u8; 4]) -> usize {
    let bytes = u32::from_le_bytes(look) << 8;
    (bytes.wrapping_mul(0x009e_3779) >> (32 - THREES_BITS)) as usize
}

fn bucket([a, b, c]: [u8; KEYWORD_BYTES_MIN]) -> usize {
    hash([a, b, c, 0]) >> (THREES_BITS - BUCKET_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is meant, place by place.
    fn plain(words: &[(String, usize)], text: &[u8], from: usize) -> Option<(Range<usize>, usize)> {
        (from..text.len()).find_map(|at| {
            let here = words.iter().filter(|(word, _)| text[at..].starts_with(word.as_bytes()));
            // Of two equal words the first one counts.
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
            let expected = plain(&words, text.as_bytes(), from);
            prop_assert_eq!(keywords.find(text.as_bytes(), from), expected);
        }
    }
}
