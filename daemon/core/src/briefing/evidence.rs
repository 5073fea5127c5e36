//! Lines of one kind, bounded.

use std::collections::VecDeque;

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

    /// Drops at least `bytes`: first the weak lines of the older half, then the oldest lines.
    fn evict(&mut self, bytes: usize) {
        let mut left = bytes;
        let older = self.lines.len() / 2;
        let mut index = 0;
        self.lines.retain(|line| {
            let is_weak = index < older && line.strength < 100;
            index += 1;
            if is_weak && left > 0 {
                left = left.saturating_sub(line.bytes());
                return false;
            }
            true
        });
        while left > 0 {
            let Some(oldest) = self.lines.pop_front() else { break };
            left = left.saturating_sub(oldest.bytes());
        }
        self.bytes = self.lines.iter().map(Line::bytes).sum();
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
}
