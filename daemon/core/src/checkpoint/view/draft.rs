//! A view being packed: lines by section, and the bytes they take.

use super::super::files::FileState;

/// Sections in the order of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Earlier,
    Plan,
    Changed,
    Recent,
    Decisions,
    FactsValid,
    FactsSuspect,
    Errors,
    Words,
    Task,
}

impl Section {
    /// Bytes that the title of [`Section::Task`] and its line's end take.
    pub(super) const TITLE_BYTES: usize = "[TASK]\n\n".len();
}

const SECTIONS: [(Section, &str); 10] = [
    (Section::Earlier, "[EARLIER_REQUESTS]"),
    (Section::Plan, "[PLAN]"),
    (Section::Changed, "[CHANGED_FILES]"),
    (Section::Recent, "[RECENT_ARTIFACTS]"),
    (Section::Decisions, "[DECISIONS]"),
    (Section::FactsValid, "[FACTS_VALID]"),
    (Section::FactsSuspect, "[FACTS_SUSPECT]"),
    (Section::Errors, "[ERRORS]"),
    (Section::Words, "[LAST_WORDS]"),
    (Section::Task, "[TASK]"),
];

/// Bytes of the smallest view that shows prices: 1,500 tokens.
const PRICED_BYTES_MIN: usize = 6_000;

/// A line and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The text, without a newline at its end.
    pub text: String,
    /// Names of this place are added here.
    pub place: Option<Place>,
    /// Names added so far.
    pub names: usize,
    /// Ranks lines within the section's share: smaller is kept first.
    pub rank: u64,
}

/// A place that names belong to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    File(String),
    Command(u64),
    Talk,
    /// Files of which nothing else is told stand together, by what became of them.
    Files(FileState),
}

impl Line {
    pub(super) fn new(rank: u64, text: String) -> Self {
        Self { text, place: None, names: 0, rank }
    }

    pub(super) fn at(rank: u64, place: Place, text: String) -> Self {
        Self { text, place: Some(place), names: 0, rank }
    }
}

/// Lines packed so far. The sum of all lines and titles, newlines included, never exceeds the
/// budget.
pub(super) struct Draft {
    header: String,
    sections: Vec<(Section, Vec<Line>)>,
    budget: usize,
    used: usize,
}

impl Draft {
    pub(super) fn new(budget: usize) -> Self {
        let sections = SECTIONS.iter().map(|(section, _)| (*section, Vec::new())).collect();
        Self { header: String::new(), sections, budget, used: 0 }
    }

    /// Sets the first lines: the longest of `candidates` that fits; false when none does.
    pub(super) fn open(&mut self, candidates: Vec<String>) -> bool {
        let Some(header) = candidates.into_iter().find(|header| header.len() < self.budget) else {
            return false;
        };
        self.used = header.len() + 1;
        self.header = header;
        true
    }

    /// Whether prices and standings may be shown: in a small view they would cost names.
    pub(super) fn is_priced(&self) -> bool {
        self.budget >= PRICED_BYTES_MIN
    }

    /// Bytes left.
    pub(super) fn room(&self) -> usize {
        self.budget - self.used
    }

    /// Adds the lines that fit into `share` bytes, best rank first, and keeps them in the order
    /// given.
    pub(super) fn pack(&mut self, section: Section, share: usize, lines: Vec<Line>) {
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|index| lines[*index].rank);
        let mut left = share.min(self.room());
        let mut kept = vec![false; lines.len()];
        let mut titled = !self.lines(section).is_empty();
        for index in order {
            let title = if titled { 0 } else { title(section).len() + 1 };
            let cost = lines[index].text.len() + 1 + title;
            if cost <= left {
                left -= cost;
                self.used += cost;
                kept[index] = true;
                titled = true;
            }
        }
        let chosen = lines.into_iter().zip(kept).filter_map(|(line, kept)| kept.then_some(line));
        self.lines_mut(section).extend(chosen);
    }

    /// Adds one line if it fits.
    pub(super) fn push(&mut self, section: Section, line: Line) -> bool {
        let before = self.lines(section).len();
        self.pack(section, usize::MAX, vec![line]);
        self.lines(section).len() > before
    }

    /// Puts a line in place of the section's first one, if it is longer and fits.
    pub(super) fn lengthen(&mut self, section: Section, line: Line) {
        let room = self.room();
        let Some(first) = self.lines_mut(section).first_mut() else { return };
        let Some(more) = line.text.len().checked_sub(first.text.len()) else { return };
        if more <= room {
            *first = line;
            self.used += more;
        }
    }

    /// Adds a name to the line of its place; false when there is no such line or it does not fit.
    pub(super) fn name(&mut self, place: &Place, name: &str) -> bool {
        let room = self.room();
        let mut lines = self.sections.iter_mut().flat_map(|(_, lines)| lines.iter_mut());
        let Some(line) = lines.find(|line| line.place.as_ref() == Some(place)) else {
            return false;
        };
        let separator = if line.names == 0 { ": " } else { " " };
        // Names stand between blanks; one that holds a blank, as a file's may, is quoted.
        let quote = if name.contains(' ') { "\"" } else { "" };
        let cost = separator.len() + name.len() + 2 * quote.len();
        if cost > room {
            return false;
        }
        for part in [separator, quote, name, quote] {
            line.text.push_str(part);
        }
        line.names += 1;
        self.used += cost;
        true
    }

    /// Whether the text already holds this name, not only as part of a longer one.
    pub(super) fn holds(&self, name: &str) -> bool {
        let lines = self.sections.iter().flat_map(|(_, lines)| lines);
        lines.map(|line| line.text.as_str()).any(|text| holds(text, name))
    }

    /// Whether a place has a line.
    pub(super) fn has(&self, place: &Place) -> bool {
        let mut lines = self.sections.iter().flat_map(|(_, lines)| lines);
        lines.any(|line| line.place.as_ref() == Some(place))
    }

    pub(super) fn lines(&self, section: Section) -> &[Line] {
        self.sections.iter().find(|(s, _)| *s == section).map_or(&[], |(_, lines)| lines)
    }

    pub(super) fn render(self) -> String {
        let mut text = String::with_capacity(self.used);
        text.push_str(&self.header);
        text.push('\n');
        for (section, lines) in self.sections {
            if lines.is_empty() {
                continue;
            }
            text.push_str(title(section));
            text.push('\n');
            for line in lines {
                text.push_str(&line.text);
                text.push('\n');
            }
        }
        text
    }

    fn lines_mut(&mut self, section: Section) -> &mut Vec<Line> {
        // Every section has its list from the start.
        let at = self.sections.iter().position(|(s, _)| *s == section).unwrap_or(0);
        &mut self.sections[at].1
    }
}

fn title(section: Section) -> &'static str {
    SECTIONS.iter().find(|(s, _)| *s == section).map_or("", |(_, title)| title)
}

fn holds(text: &str, name: &str) -> bool {
    let is_word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    memchr::memmem::find_iter(text.as_bytes(), name).any(|at| {
        let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        !is_word(before) && !is_word(text.as_bytes().get(at + name.len()))
    })
}
