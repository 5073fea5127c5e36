//! Finds the next keyword of any rule, looking at every second byte of the text.
//!
//! Every text that is stored is read here at least once, and nearly all of it holds no secret, so what
//! counts is how fast nothing is found. An automaton must follow one byte to the next and takes five
//! cycles for each; here nothing depends on what came before, and half of the places are never looked at.
//!
//! # How
//!
//! The keywords are dealt out to 32 lanes. For a place in the text, three tables tell by the three bytes
//! there which lanes have a keyword with that first, second and third byte; the lanes that all three
//! name may have one that begins here, and theirs are compared. At nearly all places there is none.
//!
//! That would be one look for each byte. But a keyword that begins at an odd place shows its *second*
//! byte at the even place after it. So each lane has a second bit, set by bytes two to four of its
//! keywords, and one look at an even place answers for both. Keywords of three bytes have no fourth: any
//! byte will do.
//!
//! A lane with the keywords `pwd` and `sig=` also stops at `swg`. How the keywords are dealt out changes
//! nothing that is found, but how often a look is for nothing: each goes to the lane where it makes
//! that least likely, which leaves about one look in thirty.

use std::ops::Range;

/// The fewest bytes of a keyword.
const KEYWORD_BYTES_MIN: usize = 3;
/// Groups of keywords. Two bits for each make a word of the machine.
const LANES: usize = 32;
/// The lanes' bits for keywords that begin at the place looked at; those above are for the place before.
const HERE: u64 = (1 << LANES) - 1;

/// The commonest bytes of what tools print, the commonest first.
const COMMON: &[u8] = b" etaoinsrlcdpmu\nfg_h.y0b1v-/:2\"w3,()k4=5x6'78";

/// A set of keywords, each with the number of the rule it belongs to.
pub(super) struct Keywords {
    /// By what stands at a place, one byte after it, and two bytes after it: the lanes it allows.
    tables: Box<[[u64; 256]; 3]>,
    lanes: Vec<Vec<Keyword>>,
}

struct Keyword {
    head: [u8; KEYWORD_BYTES_MIN],
    text: Box<[u8]>,
    owner: usize,
}

impl Keywords {
    /// Assigns keywords of at least three bytes; shorter ones would never be found. The first of equal ones
    /// counts.
    pub(super) fn new(mut keywords: Vec<(String, usize)>) -> Self {
        keywords.sort_by(|(a, _), (b, _)| a.cmp(b));
        keywords.dedup_by(|(a, _), (b, _)| a == b);
        let mut dealer = LaneAssigner::default();
        let mut lanes: Vec<Vec<Keyword>> = (0..LANES).map(|_| Vec::new()).collect();
        for (text, owner) in keywords {
            let Some(head) = text.as_bytes().first_chunk().copied() else { continue };
            let lane = dealer.deal(text.as_bytes());
            lanes[lane].push(Keyword { head, text: text.into_bytes().into(), owner });
        }
        Self { tables: dealer.tables, lanes }
    }

    /// The first keyword that begins at or after `from`, the longest where several do, and its owner.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<(Range<usize>, usize)> {
        let rest = text.get(from..)?;
        let (pairs, _) = rest.as_chunks::<2>();
        for (number, window) in pairs.windows(2).enumerate() {
            let [[first, second], [third, _]] = window else { break };
            let lanes = self.lanes_at(*first, *second, *third);
            if lanes != 0 {
                let here = from + 2 * number;
                let before = (lanes > HERE && number > 0).then(|| self.at(text, here - 1));
                if let Some(hit) = before.flatten().or_else(|| self.at(text, here)) {
                    return Some(hit);
                }
            }
        }
        let unseen = from + (2 * pairs.len()).saturating_sub(3);
        (unseen..text.len()).find_map(|at| self.at(text, at))
    }

    fn lanes_at(&self, first: u8, second: u8, third: u8) -> u64 {
        let [one, two, three] = &*self.tables;
        one[usize::from(first)] & two[usize::from(second)] & three[usize::from(third)]
    }

    /// The longest keyword that begins at `at`.
    fn at(&self, text: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
        let rest = text.get(at..)?;
        let head: &[u8; KEYWORD_BYTES_MIN] = rest.first_chunk()?;
        let mut lanes = self.lanes_at(head[0], head[1], head[2]) & HERE;
        let mut longest: Option<&Keyword> = None;
        while lanes != 0 {
            for keyword in &self.lanes[lanes.trailing_zeros() as usize] {
                let is_longest = longest.is_none_or(|found| found.text.len() < keyword.text.len());
                if keyword.head == *head && is_longest && rest.starts_with(&keyword.text) {
                    longest = Some(keyword);
                }
            }
            lanes &= lanes - 1;
        }
        longest.map(|keyword| (at..at + keyword.text.len(), keyword.owner))
    }
}

/// Assigns keywords to lanes so that few positions look like the start of one.
struct LaneAssigner {
    tables: Box<[[u64; 256]; 3]>,
    /// For each lane, by phase (a keyword begins here, or one byte before) and table: how common the
    /// bytes are that it allows, together. The product of three is how often the lane is looked at.
    weights: [[[u64; 3]; 2]; LANES],
}

impl Default for LaneAssigner {
    fn default() -> Self {
        Self { tables: Box::new([[0; 256]; 3]), weights: [[[0; 3]; 2]; LANES] }
    }
}

impl LaneAssigner {
    /// Enters a keyword into the tables; its lane.
    fn deal(&mut self, keyword: &[u8]) -> usize {
        let cost = |weights: &[[u64; 3]; 2]| -> u64 {
            weights.iter().map(|phase| phase.iter().product::<u64>()).sum()
        };
        let growth = |lane: &usize| cost(&self.with(keyword, *lane)) - cost(&self.weights[*lane]);
        let lane = (0..LANES).min_by_key(growth).unwrap_or(0);
        self.weights[lane] = self.with(keyword, lane);
        for phase in 0..2 {
            let bit = 1 << (phase * LANES + lane);
            for (at, table) in self.tables.iter_mut().enumerate() {
                match keyword.get(at + phase) {
                    Some(byte) => table[usize::from(*byte)] |= bit,
                    None => table.iter_mut().for_each(|lanes| *lanes |= bit),
                }
            }
        }
        lane
    }

    /// The weights of a lane if it had the keyword too.
    fn with(&self, keyword: &[u8], lane: usize) -> [[u64; 3]; 2] {
        let mut weights = self.weights[lane];
        for (phase, weights) in weights.iter_mut().enumerate() {
            let bit = 1 << (phase * LANES + lane);
            for (at, weight) in weights.iter_mut().enumerate() {
                match keyword.get(at + phase) {
                    Some(byte) if self.tables[at][usize::from(*byte)] & bit == 0 => {
                        *weight += COMMONNESS[usize::from(*byte)];
                    }
                    Some(_) => {}
                    None => *weight = COMMONNESS.iter().sum(),
                }
            }
        }
        weights
    }
}

/// How common each byte is: about as one over its rank.
static COMMONNESS: [u64; 256] = {
    let mut commonness = [4; 256];
    let mut rank = 0;
    while rank < COMMON.len() {
        commonness[COMMON[rank] as usize] = 1_300 / (rank as u64 + 9);
        rank += 1;
    }
    commonness
};

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
