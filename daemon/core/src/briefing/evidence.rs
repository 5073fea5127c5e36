//! Lines of one kind, bounded.

use std::collections::{HashMap, VecDeque};

use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::telling;

/// A line and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Line {
    #[serde(rename = "s")]
    pub seq: u64,
    /// Turn, from 1; 0 before the first.
    #[serde(rename = "t")]
    pub turn: u32,
    /// How telling its form is, in percent of an ordinary line of its kind.
    #[serde(rename = "w")]
    pub strength: u16,
    /// File it belongs to, or who else says it; empty for the agent's own words.
    #[serde(rename = "g", default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    #[serde(rename = "h", default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    #[serde(rename = "x")]
    pub text: String,
}

/// Lines in the order they were seen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct EvidenceLines {
    lines: VecDeque<Line>,
    bytes: usize,
}

/// What is left of the strength of a line that was true only when it was said.
const PASSING_PERCENT: u16 = 35;

/// How often bytes of earlier turns count when there is no room.
const EARLIER_TIMES: usize = 4;

/// Bytes a line takes beside its texts.
const LINE_BYTES: usize = 40;

impl Line {
    fn bytes(&self) -> usize {
        self.text.len() + self.heading.len() + self.group.len() + LINE_BYTES
    }
}

impl EvidenceLines {
    pub(super) fn push(&mut self, line: Line, bytes_max: usize) {
        self.bytes += line.bytes();
        self.lines.push_back(line);
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

    /// What the last report asked, or told of the state of things, is answered or outdated by the next one.
    pub(super) fn weaken_last(&mut self) {
        let last = self.lines.back().map(|line| line.turn);
        let of_last = self.lines.iter_mut().rev().take_while(|line| Some(line.turn) == last);
        for line in of_last.filter(|line| telling::is_passing(&line.heading, &line.text)) {
            line.strength = line.strength * PASSING_PERCENT / 100;
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Drops at least `bytes`: weak lines before others, each time from the group that has the most, so that one long
    /// document does not cost what was read of the others. Groups of earlier turns count several times.
    fn evict(&mut self, bytes: usize) {
        let mut left = bytes;
        let mut is_kept = vec![true; self.lines.len()];
        for is_weak_only in [true, false] {
            if left == 0 {
                break;
            }
            let mut groups = self.groups(&is_kept, is_weak_only);
            while left > 0 {
                let Some(group) = groups.iter_mut().max_by_key(|group| group.rank()) else { break };
                let Some(index) = group.lines.pop_front() else { break };
                is_kept[index] = false;
                group.bytes -= self.lines[index].bytes();
                left = left.saturating_sub(self.lines[index].bytes());
            }
        }
        let mut kept = is_kept.into_iter();
        self.lines.retain(|_| kept.next().unwrap_or(true));
        self.bytes = self.lines.iter().map(Line::bytes).sum();
    }

    /// What each group has, with its oldest lines first that may go, or the weak ones of its older half.
    fn groups(&self, is_kept: &[bool], is_weak_only: bool) -> Vec<Group> {
        let newest = self.lines.back().map_or(0, |line| line.turn);
        let mut places: HashMap<&str, usize, FxBuildHasher> = HashMap::default();
        let mut groups: Vec<Group> = Vec::new();
        let kept = self.lines.iter().enumerate().filter(|(index, _)| is_kept[*index]);
        for (index, line) in kept {
            let place = *places.entry(&line.group).or_insert_with(|| {
                groups.push(Group::default());
                groups.len() - 1
            });
            let group = &mut groups[place];
            group.bytes += line.bytes();
            group.times = if line.turn < newest { EARLIER_TIMES } else { 1 };
            group.lines.push_back(index);
        }
        if is_weak_only {
            for group in &mut groups {
                group.lines.truncate(group.lines.len().div_ceil(2));
                group.lines.retain(|index| self.lines[*index].strength < 100);
            }
        }
        groups
    }
}

/// Lines of one group when some of them must go.
#[derive(Default)]
struct Group {
    bytes: usize,
    times: usize,
    lines: VecDeque<usize>,
}

impl Group {
    /// The group that ranks first loses a line.
    fn rank(&self) -> (bool, usize) {
        (!self.lines.is_empty(), self.bytes * self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_weak_old_lines_go_first() {
        let mut lines = EvidenceLines::default();
        for seq in 0..400 {
            let strength = if seq % 2 == 0 { 50 } else { 150 };
            let text = format!("line {seq} {}", "x".repeat(60));
            lines.push(
                Line { seq, turn: 1, strength, group: String::new(), heading: String::new(), text },
                8 << 10,
            );
            assert!(lines.bytes <= 8 << 10);
        }
        assert_eq!(lines.iter().next_back().unwrap().seq, 399);
        let oldest = lines.iter().take(10);
        assert!(oldest.filter(|line| line.strength == 150).count() >= 9);
    }

    #[test]
    fn a_long_document_does_not_cost_a_short_one() {
        let mut lines = EvidenceLines::default();
        let line = |seq, group: &str, strength| Line {
            seq,
            turn: 1,
            strength,
            group: group.to_owned(),
            heading: String::new(),
            text: format!("line {seq} {}", "x".repeat(60)),
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
