//! Evidence of one kind, with a size limit.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::kinds::EvidenceKind;
use super::spot::Spot;
use super::strength;

/// A quoted line and its position.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Line {
    pub seq: u64,
    /// Turn, from 1; 0 before the first.
    pub turn: u32,
    /// How informative its form is, in percent of an ordinary line of its kind.
    pub strength: u16,
    /// Its file, or its author if not the agent itself; otherwise empty.
    pub group: String,
    pub heading: String,
    pub text: String,
    /// A later line of its message was dropped for space.
    pub is_cut: bool,
    pub spot: Spot,
}

/// Lines in the order they were seen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct EvidenceLines {
    lines: Vec<Line>,
    bytes: usize,
}

/// Percent of its strength that a line keeps if it only described a moment.
const PASSING_PERCENT: u16 = 35;

/// Multiplier for bytes of earlier turns during eviction.
const EARLIER_TIMES: usize = 4;

/// Maximum strength of a pasted line.
pub(super) const PASTED_STRENGTH: u16 = 20;

/// Overhead in bytes per line, beyond its texts.
const LINE_BYTES: usize = 40;

/// Initial capacity of a group during eviction. Most fit.
const GROUP_LINES: usize = 64;

impl Line {
    /// Whether `next` is a later line of the same text below the same heading.
    fn is_above(&self, next: &Self) -> bool {
        self.seq == next.seq
            && self.spot.at < next.spot.at
            && (&self.group, &self.heading) == (&next.group, &next.heading)
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.heading.len() + self.group.len() + LINE_BYTES
    }
}

impl EvidenceLines {
    /// Adds a line of that kind if it has words.
    pub(super) fn add(&mut self, kind: EvidenceKind, line: Line) {
        if line.text.contains(char::is_alphanumeric) {
            self.push(line, kind.rule().bytes_max);
        }
    }

    pub(super) fn push(&mut self, line: Line, bytes_max: usize) {
        // Later the lines after it may be gone, and it must still be known that there were some.
        if let Some(last) = self.lines.last_mut().filter(|last| last.is_above(&line)) {
            last.spot.goes_on = true;
        }
        self.bytes += line.bytes();
        self.lines.push(line);
        if self.bytes > bytes_max {
            self.evict(self.bytes - bytes_max / 8 * 7);
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.lines.iter()
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&Line) -> bool) {
        self.lines.retain(keep);
        self.bytes = self.lines.iter().map(Line::bytes).sum();
    }

    pub(super) fn has_group(&self, group: &str) -> bool {
        self.lines.iter().any(|line| line.group == group)
    }

    /// Same as [`EvidenceLines::retain`], for the lines of one group.
    pub(super) fn retain_in(&mut self, group: &str, mut keep: impl FnMut(&Line) -> bool) {
        if self.has_group(group) {
            self.retain(|line| line.group != group || keep(line));
        }
    }

    /// Lowers the strength of questions and statuses in the last report, since the next report answers or
    /// outdates them.
    pub(super) fn weaken_last(&mut self) {
        let last = self.lines.last().map(|line| line.turn);
        let of_last = self.lines.iter_mut().rev().take_while(|line| Some(line.turn) == last);
        for line in of_last.filter(|line| strength::is_passing(&line.heading, &line.text)) {
            line.strength = line.strength * PASSING_PERCENT / 100;
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Drops at least `bytes`: the weakest lines first, each time from the largest group, so that one long document
    /// does not displace the others. Groups of earlier turns weigh more.
    fn evict(&mut self, bytes: usize) {
        let mut evicted = 0;
        let mut is_kept = vec![true; self.lines.len()];
        for is_weak_only in [true, false] {
            if evicted >= bytes {
                break;
            }
            let mut groups = self.groups(&is_kept, is_weak_only);
            while evicted < bytes {
                let Some(group) = groups.iter_mut().max_by_key(|group| group.rank()) else { break };
                let Some(index) = group.lines.pop() else { break };
                is_kept[index] = false;
                group.bytes -= self.lines[index].bytes();
                evicted += self.lines[index].bytes();
            }
        }
        self.mark_cuts(&is_kept);
        let mut kept = is_kept.into_iter();
        self.lines.retain(|_| kept.next().unwrap_or(true));
        self.bytes -= evicted;
    }

    /// Marks the lines whose message goes on in a line that is dropped.
    fn mark_cuts(&mut self, is_kept: &[bool]) {
        let mut before: Option<usize> = None;
        for (index, is_kept) in is_kept.iter().enumerate() {
            match before {
                Some(before) if !is_kept && self.lines[before].seq == self.lines[index].seq => {
                    self.lines[before].is_cut = true;
                }
                _ if *is_kept => before = Some(index),
                _ => {}
            }
        }
    }

    /// The size of each group with the lines to evict, the first one last: all of them, oldest first, or the pasted
    /// ones and the weak ones of the older half, weakest first.
    fn groups(&self, is_kept: &[bool], is_weak_only: bool) -> Vec<Group> {
        let newest = self.lines.last().map_or(0, |line| line.turn);
        let mut places: HashMap<&str, usize, FxBuildHasher> = HashMap::default();
        let mut groups: Vec<Group> = Vec::new();
        let kept = self.lines.iter().enumerate().filter(|(index, _)| is_kept[*index]);
        let mut last: Option<(&str, usize)> = None;
        for (index, line) in kept {
            // Neighbors are mostly of one group.
            let known = last.filter(|(group, _)| *group == line.group).map(|(_, place)| place);
            let place = known.unwrap_or_else(|| {
                *places.entry(&line.group).or_insert_with(|| {
                    let lines = Vec::with_capacity(GROUP_LINES);
                    groups.push(Group { lines, ..Group::default() });
                    groups.len() - 1
                })
            });
            last = Some((&line.group, place));
            let group = &mut groups[place];
            group.bytes += line.bytes();
            group.times = if line.turn < newest { EARLIER_TIMES } else { 1 };
            group.lines.push(index);
        }
        for group in &mut groups {
            if is_weak_only {
                let half = group.lines.get(group.lines.len().div_ceil(2)).copied();
                group.lines.retain(|index| {
                    let max =
                        if half.is_none_or(|half| *index < half) { 99 } else { PASTED_STRENGTH };
                    self.lines[*index].strength <= max
                });
                group.lines.sort_by_key(|index| self.lines[*index].strength);
            }
            group.lines.reverse();
        }
        groups
    }
}

/// A group of lines during eviction.
#[derive(Default)]
struct Group {
    bytes: usize,
    times: usize,
    lines: Vec<usize>,
}

impl Group {
    /// The group with the highest rank loses a line.
    fn rank(&self) -> (bool, usize) {
        (!self.lines.is_empty(), self.bytes * self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_and_weak_old_lines_are_evicted_first() {
        let mut lines = EvidenceLines::default();
        for seq in 0..400 {
            let strength = if seq % 2 == 0 { 50 } else { 150 };
            let text = format!("line {seq} {}", "x".repeat(60));
            lines.push(Line { seq, strength, text, turn: 1, ..Line::default() }, 8 << 10);
            assert!(lines.bytes <= 8 << 10);
        }
        assert_eq!(lines.iter().next_back().unwrap().seq, 399);
        let oldest = lines.iter().take(10);
        assert!(oldest.filter(|line| line.strength == 150).count() >= 9);
    }

    #[test]
    fn what_is_pasted_goes_before_what_was_typed_and_leaves_a_mark() {
        let mut lines = EvidenceLines::default();
        let line = |seq, strength, text: &str| Line {
            seq,
            turn: 1,
            strength,
            text: format!("{text} {}", "x".repeat(60)),
            ..Line::default()
        };
        for text in ["Only on this machine.", "The cloud may be used, too."] {
            lines.push(line(0, 85, text), 4 << 10);
        }
        for index in 0..60 {
            lines.push(
                line(1, if index == 0 { 110 } else { 20 }, &format!("pasted {index}")),
                4 << 10,
            );
        }
        let left: Vec<&Line> = lines.iter().collect();
        assert!(left[0].text.starts_with("Only") && left[1].text.starts_with("The cloud"));
        assert!(left[2].text.starts_with("pasted 0") && left[2].is_cut);
        assert!(!left[0].is_cut && !left[1].is_cut);
    }

    #[test]
    fn a_long_document_does_not_displace_a_short_one() {
        let mut lines = EvidenceLines::default();
        let line = |seq, group: &str, strength| Line {
            seq,
            turn: 1,
            strength,
            group: group.to_owned(),
            text: format!("line {seq} {}", "x".repeat(60)),
            ..Line::default()
        };
        for seq in 0..9 {
            lines.push(line(seq, "short.md", 45), 8 << 10);
        }
        lines.push(line(9, "short.md", 190), 8 << 10);
        for seq in 10..400 {
            lines.push(line(seq, "long.md", 45), 8 << 10);
        }
        let left = |group: &str| lines.iter().filter(|line| line.group == group).count();
        assert_eq!(left("short.md"), 10);
        assert!(left("long.md") > 30);
    }
}
