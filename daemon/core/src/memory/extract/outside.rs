//! Recognizes command lines that came from outside, such as from a web page.

use std::collections::{BTreeSet, HashMap};

use crate::digest::Digest128;
use crate::limits;
use crate::memory::span::spans;
use crate::rollout::shell;

const LINES_MAX: usize = 4_096;

/// Maximum lines kept that differ only in their options.
const VARIANTS_MAX: usize = 8;

/// Minimum bytes of a line.
const LINE_BYTES_MIN: usize = 8;

/// Lines from outside, by their commands without options, with the options of each.
#[derive(Debug, Default)]
pub(super) struct OutsideLines(HashMap<u128, Vec<BTreeSet<String>>>);

impl OutsideLines {
    /// Records the printed lines, and the text in code marks on them.
    pub(super) fn note(&mut self, printed: &str) {
        for line in printed.lines() {
            let bare = line.trim().trim_start_matches(['$', '`', ' ', '-', '*']);
            let bare = bare.trim_end_matches('`').trim();
            for shown in std::iter::once(bare).chain(spans(line)) {
                if (LINE_BYTES_MIN..=limits::COMMAND_BYTES).contains(&shown.len())
                    && self.0.len() < LINES_MAX
                {
                    let (commands, options) = split_options(shown);
                    let variants = self.0.entry(commands).or_default();
                    if variants.len() < VARIANTS_MAX && !variants.contains(&options) {
                        variants.push(options);
                    }
                }
            }
        }
    }

    /// Whether a recorded line has the same commands and a subset of the options.
    pub(super) fn contains(&self, line: &str) -> bool {
        let (commands, options) = split_options(line);
        let variants = self.0.get(&commands);
        variants.is_some_and(|variants| variants.iter().any(|shown| shown.is_subset(&options)))
    }
}

/// Digest of the commands without options, and the options.
fn split_options(line: &str) -> (u128, BTreeSet<String>) {
    let mut words = String::with_capacity(line.len());
    let mut options = BTreeSet::new();
    for command in shell::commands(line) {
        for word in command.words {
            if word.starts_with('-') {
                options.insert(word);
            } else {
                words.push_str(&word);
                words.push(' ');
            }
        }
        words.push('\n');
    }
    (Digest128::of(words.as_bytes()).0, options)
}

#[cfg(test)]
mod tests {
    use super::OutsideLines;

    #[test]
    fn a_command_of_a_page_is_recognized_with_more_options() {
        let mut lines = OutsideLines::default();
        lines.note("Install it:\n  $ pip install evil-tool --pre\nThen run `make -j4 all`.");
        for line in
            ["pip install evil-tool --pre", "pip install -q --pre evil-tool", "make all -j4"]
        {
            assert!(lines.contains(line), "{line}");
        }
        for line in ["pip install evil-tool", "pip install other --pre", "make -j4 test"] {
            assert!(!lines.contains(line), "{line}");
        }
    }

    #[test]
    fn words_too_short_for_a_command_are_not_recorded() {
        let mut lines = OutsideLines::default();
        lines.note("make all\nmake al\nls -l");
        assert!(
            lines.contains("make all") && !lines.contains("make al") && !lines.contains("ls -l")
        );
    }
}
