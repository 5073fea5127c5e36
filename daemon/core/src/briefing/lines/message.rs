//! Splits a message into its lines, with their headings.

use super::{
    GOES_ON, LABEL_BYTES, SENTENCE_BYTES, below_section, heading_of, is_deeper, is_nested, is_rule,
    item_of, leads, level_of, says_something, sentences, tidy,
};
use crate::briefing::spot::{Shape, Spot};
use crate::text;

/// A line of a message.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::briefing) struct MessageLine<'a> {
    pub heading: &'a str,
    /// The heading above the heading.
    pub section: &'a str,
    pub text: &'a str,
    pub shape: Shape,
    pub spot: Spot,
}

impl MessageLine<'_> {
    /// Its heading, below its section.
    pub(in crate::briefing) fn label(&self) -> String {
        below_section(
            &tidy(self.section, None, LABEL_BYTES),
            &tidy(self.heading, None, LABEL_BYTES),
        )
    }
}

/// Opens a line by which an agent tells Codex's application what it did with git: `::git-push{branch="main"}`.
const GIT_DIRECTIVE: &str = "::git-";

/// A heading in a message.
#[derive(Debug, Clone, Copy, Default)]
struct Above<'a> {
    title: &'a str,
    section: &'a str,
    /// The number of lines before it.
    from: usize,
}

/// Splits `message` and passes each line to `visit`. Words that end with a colon become the heading of
/// what is below them; an item is the heading of the items nested in it, and
/// a line of its own if it says something.
pub(in crate::briefing) fn split<'a>(message: &'a str, visit: impl FnMut(MessageLine<'a>)) {
    let mut reader = MessageReader { message, ..MessageReader::default() };
    let mut lines = message.lines().filter(|line| !line.trim().is_empty()).peekable();
    while let Some(line) = lines.next() {
        reader.read(line, lines.peek().copied());
    }
    reader.lines.into_iter().for_each(visit);
}

/// Reads a message line by line.
#[derive(Default)]
struct MessageReader<'a> {
    message: &'a str,
    lines: Vec<MessageLine<'a>>,
    /// Headings with the number of their hashes, the outermost first.
    titles: Vec<(usize, &'a str)>,
    section: Above<'a>,
    lead_in: Option<Above<'a>>,
    /// The parent of nested items, raw and as a heading.
    parent: Option<(&'a str, Above<'a>)>,
    /// The item of the last line, raw.
    item: Option<&'a str>,
    is_code: bool,
    has_items: bool,
}

impl<'a> MessageReader<'a> {
    fn read(&mut self, whole: &'a str, next: Option<&'a str>) {
        let line = whole.trim();
        if text::is_cut(line) {
            // The headings of what follows are gone.
            let Self { message, lines, .. } = std::mem::take(self);
            *self = Self { message, lines, ..Self::default() };
            return;
        }
        if line.starts_with("```") {
            self.is_code = !self.is_code;
            return;
        }
        if is_rule(line) || line.starts_with(GIT_DIRECTIVE) {
            return;
        }
        let is_code = self.is_code;
        self.parent = self.parent.filter(|(outer, _)| is_code || is_nested(whole, outer));
        let nested = self.parent.map(|(_, above)| above);
        let above = nested.or(self.lead_in).unwrap_or(self.section);
        let item = self.item.take();
        if is_code {
            self.has_items = true;
            self.add(above, line, Shape::Code);
        } else if let Some(title) = heading_of(line) {
            self.open(level_of(line), title);
        } else if line.starts_with('|') {
            self.has_items = true;
            self.add(above, line, Shape::Row);
        } else if let Some(item) = item_of(line) {
            self.has_items = true;
            let is_parent = nested.is_none() && next.is_some_and(|next| is_nested(next, whole));
            if !is_parent || says_something(item) {
                self.add(above, item, Shape::Item);
                self.item = Some(whole);
            }
            if is_parent {
                self.parent = Some((whole, self.below(above, item)));
            }
        } else if let Some(item) = item.filter(|item| is_deeper(whole, item)) {
            match leads_on(whole, next) {
                true => self.parent = Some((item, self.below(above, line))),
                false => self.go_on(item, line),
            }
        } else if leads(line, next) {
            self.lead_in = Some(self.below(self.section, line));
            self.has_items = false;
        } else if let Some(above) =
            self.lead_in.filter(|_| !self.has_items && line.ends_with(GOES_ON))
        {
            // Items typed without a bullet.
            self.add(above, line, Shape::Item);
        } else {
            // After a list, prose returns to the section's heading; directly after the lead-in, it belongs to
            // the lead-in.
            let has_items = self.has_items;
            let above = self.lead_in.take().filter(|_| !has_items).unwrap_or(self.section);
            sentences(line, |text| self.add(above, text, Shape::Prose));
        }
    }

    /// Joins a line to the item that it continues, or adds it below the same heading if that gets too long.
    fn go_on(&mut self, item: &'a str, line: &'a str) {
        let Some(last) = self.lines.last_mut() else { return };
        self.item = Some(item);
        let offset = |text: &str| text.as_ptr().addr() - self.message.as_ptr().addr();
        let (start, end) = (offset(last.text), offset(line) + line.len());
        if end - start <= SENTENCE_BYTES {
            last.text = &self.message[start..end];
            return;
        }
        let (title, section) = (last.heading, last.section);
        let above = Above { title, section, from: 0 };
        sentences(line, |text| self.add(above, text, Shape::Prose));
    }

    fn open(&mut self, level: usize, title: &'a str) {
        self.titles.retain(|(outer, _)| *outer < level);
        let section = self.titles.last().map_or("", |(_, title)| *title);
        self.titles.push((level, title));
        self.section = Above { title, section, from: self.lines.len() };
        self.lead_in = None;
    }

    /// A heading in the section of `above`.
    fn below(&self, above: Above<'a>, line: &'a str) -> Above<'a> {
        let title = line.trim_end_matches([':', '：', ' ']);
        Above { title, section: above.title, from: self.lines.len() }
    }

    fn add(&mut self, above: Above<'a>, text: &'a str, shape: Shape) {
        if !text.contains(char::is_alphanumeric) {
            return;
        }
        let opens = above.from == self.lines.len();
        let at = u32::try_from(self.lines.len()).unwrap_or(u32::MAX >> 4).saturating_add(1);
        let spot = Spot { at, shape, opens, goes_on: false };
        let Above { title: heading, section, .. } = above;
        self.lines.push(MessageLine { heading, section, text, shape, spot });
    }
}

/// Whether an indented line introduces a list, which is not indented less.
fn leads_on(line: &str, next: Option<&str>) -> bool {
    next.is_some_and(|next| !is_deeper(line, next)) && leads(line.trim(), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_cut_is_below_no_heading() {
        let mut seen = Vec::new();
        split("## Lexer\n- a\n\n…900 bytes cut…\n- b\n## Parser\n- c\n", |line| {
            seen.push((line.label(), line.text.to_owned()));
        });
        let expected = [("Lexer", "a"), ("", "b"), ("Parser", "c")];
        assert_eq!(seen, expected.map(|(label, text)| (label.to_owned(), text.to_owned())));
    }

    #[test]
    fn an_indented_line_continues_its_item() {
        let long =
            "The table is written by the generator, and nothing else may write it. ".repeat(3);
        let message = format!(
            "Done:\n- pushed: `e92efef`  \n  `chore: begin`\n- the old files stay\n  Later:\n  - remove them\n\
             - {long}\n  Its tests pass.\nBye.\n"
        );
        let mut seen = Vec::new();
        split(&message, |line| seen.push((line.heading.to_owned(), tidy(line.text, None, 400))));
        let expected = [
            ("Done", "pushed: `e92efef` `chore: begin`"),
            ("Done", "the old files stay"),
            ("Later", "remove them"),
            ("Done", long.trim()),
            ("Done", "Its tests pass."),
            ("", "Bye."),
        ];
        let expected = expected.map(|(heading, text)| (heading.to_owned(), text.to_owned()));
        assert_eq!(seen, expected);
    }
}
