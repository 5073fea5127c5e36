//! Finds the next keyword of any rule, looking at every second byte of the text.
//!
//! Every text that is stored is read here at least once, and nearly all of it holds no secret, so what
//! counts is how fast nothing is found. An automaton must follow one byte to the next and takes five
//! cycles for each; here nothing depends on what came before, and half of the places are never looked at.
//!
//! # How
//!
//! A set of bits, by a hash of three bytes, tells whether those three begin a keyword. That would be one look
//! for each byte. But a keyword that begins at an odd place shows its *second* byte at the even place after
//! it, so bytes two to four of each keyword are in the set as well, and one look at an even place answers for
//! both. Keywords of three bytes have no fourth: their last two are in a set of pairs.

use std::ops::Range;

/// The fewest bytes of a keyword.
const KEYWORD_BYTES_MIN: usize = 3;
/// The size of the set of threes is two to this: about one bit in a hundred is set, and all fit a first-level cache.
const TRIPLE_BITS: u32 = 18;

/// Keywords are looked up in two to this many buckets.
const BUCKET_BITS: u32 = 12;
const BUCKETS: usize = 1 << BUCKET_BITS;

type Head = [u8; KEYWORD_BYTES_MIN];

/// A set of keywords, each with the number of the rule it belongs to.
pub(super) struct Keywords {
    triples: Box<[u64; 1 << (TRIPLE_BITS - 6)]>,
    pairs: Box<[u64; 1 << (16 - 6)]>,
    /// By their heads' buckets, the longest first in each.
    keywords: Vec<Keyword>,
    /// Where the keywords of a bucket begin; the next one's beginning is its end.
    buckets: Box<[u32; BUCKETS + 1]>,
}

struct Keyword {
    head: Head,
    text: Box<[u8]>,
    owner: usize,
}

impl Keywords {
    /// Takes keywords of at least three bytes; shorter ones would never be found. The first of equal ones
    /// counts.
    pub(super) fn new(mut keywords: Vec<(String, usize)>) -> Self {
        let mut set = Self {
            triples: Box::new([0; 1 << (TRIPLE_BITS - 6)]),
            pairs: Box::new([0; 1 << (16 - 6)]),
            keywords: Vec::with_capacity(keywords.len()),
            buckets: Box::new([0; BUCKETS + 1]),
        };
        // The longest first: what is found first is what is meant.
        keywords.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        keywords.dedup_by(|(a, _), (b, _)| a == b);
        for (text, owner) in keywords {
            let Some(&head) = text.as_bytes().first_chunk::<KEYWORD_BYTES_MIN>() else { continue };
            insert(&mut *set.triples, triple(head));
            match *text.as_bytes() {
                [_, b, c, d, ..] => insert(&mut *set.triples, triple([b, c, d])),
                [_, b, c] => insert(&mut *set.pairs, pair([b, c])),
                _ => {}
            }
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
        let rest = text.get(from..)?;
        let (words, _) = rest.as_chunks::<2>();
        for (number, window) in words.windows(2).enumerate() {
            let [[a, b], [c, _]] = *window else { break };
            if has(&self.triples, triple([a, b, c])) || has(&self.pairs, pair([a, b])) {
                let here = from + 2 * number;
                let before = (number > 0).then(|| self.at(text, here - 1)).flatten();
                if let Some(hit) = before.or_else(|| self.at(text, here)) {
                    return Some(hit);
                }
            }
        }
        let unseen = from + (2 * words.len()).saturating_sub(3);
        (unseen..text.len()).find_map(|at| self.at(text, at))
    }

    /// The longest keyword that begins at `at`.
    fn at(&self, text: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
        let rest = text.get(at..)?;
        let head = *rest.first_chunk()?;
        if !has(&self.triples, triple(head)) {
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

/// The place of three bytes in the set of threes.
fn triple([a, b, c]: Head) -> usize {
    let bytes = u32::from_le_bytes([a, b, c, 0]);
    (bytes.wrapping_mul(0x9e37_79b1) >> (32 - TRIPLE_BITS)) as usize
}

fn bucket(head: Head) -> usize {
    triple(head) >> (TRIPLE_BITS - BUCKET_BITS)
}

fn pair([a, b]: [u8; 2]) -> usize {
    usize::from(u16::from_le_bytes([a, b]))
}

fn insert(set: &mut [u64], bit: usize) {
    set[bit / 64] |= 1 << (bit % 64);
}

fn has<const WORDS: usize>(set: &[u64; WORDS], bit: usize) -> bool {
    set[bit / 64] >> (bit % 64) & 1 != 0
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
