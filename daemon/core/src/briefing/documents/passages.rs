//! Splits a document into passages worth quoting, each with its heading and its place.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::super::lines::{self, without_number};
use super::super::openapi;
use super::super::spot::{Shape, Spot};
use super::front_matter::front_matter;
use super::steps::step_in;
use super::worth::{is_command, is_requirement, is_setting, strength};
use super::{ends_with, is_instructions, is_prose};
use crate::rollout::patch::ANOTHER_PLACE;
use crate::text;

/// A line of a document, with its heading.
pub(in crate::briefing) struct Passage<'a> {
    /// Cut to what is quoted of it.
    pub heading: &'a str,
    pub text: &'a str,
    pub strength: u16,
    /// Code in prose usually shows an example; a command is worth quoting by itself.
    pub is_sample: bool,
    pub spot: Spot,
}

/// Maximum lines of a document to inspect.
const LINES_MAX: usize = 400;

/// Shorter lines mean little alone, except for the settings in the first lines of a document.
const LINE_BYTES_MIN: usize = 16;
const HEAD_LINES: usize = 16;

/// The heading of a front matter.
pub(in crate::briefing) const FRONT_MATTER: &str = "front matter";

/// Maximum bytes of a lead-in to what follows.
const LEAD_IN_BYTES: usize = 80;

/// A block of code of at most this many lines is quoted whole or not at all.
pub(in crate::briefing) const CODE_LINES: usize = 8;

/// Maximum lines of a short configuration.
const SHORT_LINES: usize = 120;

/// Maximum bytes of configuration lines quoted together, and their strength.
const SETTINGS_BYTES: usize = 200;
const SETTINGS_STRENGTH: u16 = 70;

/// Lines from which a comment of a configuration stays apart, and its strength: a short one explains a key.
const COMMENT_LINES: usize = 4;
const COMMENT_STRENGTH: u16 = 30;

/// An API operation says more than any single line of its description.
const OPERATION_STRENGTH: u16 = 160;

/// The level of a part of instructions, below those of all headings.
const PART_LEVEL: usize = 8;

/// A step with a longer name is not named above its parts.
const STEP_BYTES: usize = 24;

/// Longer paragraphs are split.
const PARAGRAPH_BYTES: usize = 400;

/// Visits the passages of a document worth quoting, from at most [`LINES_MAX`] lines.
pub(in crate::briefing) fn passages(path: &str, text: &str, mut visit: impl FnMut(Passage<'_>)) {
    let is_prose = is_prose(path);
    if ends_with(path, &[".yaml", ".yml"]) {
        let (heading, strength, is_sample) = ("", OPERATION_STRENGTH, false);
        for text in &openapi::operations(text) {
            visit(Passage { heading, text, strength, is_sample, spot: Spot::default() });
        }
    }
    // Each line of a short configuration is a deliberate choice.
    if !is_prose && text.lines().nth(SHORT_LINES).is_none() {
        return settings(text, visit);
    }
    let lines: Vec<&str> = text.lines().take(LINES_MAX).collect();
    let mut reader = DocumentReader {
        visit: &mut visit,
        is_prose,
        is_marked_up: is_instructions(path),
        is_markdown: ends_with(path, &[".md"]),
        repeated: if is_prose { repeated(&lines) } else { HashSet::default() },
        titles: Vec::new(),
        section: Above::default(),
        lead_in: None,
        has_items: false,
        parent: None,
        first: "",
        paragraph: String::new(),
        code: Code::None,
        left_out: None,
        is_begun: false,
        read: 0,
        at: 0,
    };
    let (front, front_lines) = if is_prose { front_matter(text) } else { (String::new(), 0) };
    reader.front_matter(front);
    for index in front_lines..lines.len() {
        reader.line(lines[index], &lines[index + 1..]);
    }
    reader.end(None);
}

/// Titles and lead-ins that occur more than once: only with what is above them do they say where they belong.
fn repeated<'t>(lines: &[&'t str]) -> HashSet<&'t str, FxBuildHasher> {
    let mut times: HashMap<&str, u32, FxBuildHasher> = HashMap::default();
    for line in lines {
        let line = without_number(line.trim_start_matches(ANOTHER_PLACE)).trim();
        let lead_in = line.strip_suffix(':').filter(|title| title.len() < LEAD_IN_BYTES);
        if let Some(title) = lines::heading_of(line).or(lead_in) {
            *times.entry(title).or_default() += 1;
        }
    }
    times.into_iter().filter(|(_, times)| *times > 1).map(|(title, _)| title).collect()
}

/// A heading, with the number of passages before it.
#[derive(Debug, Clone, Default)]
struct Above {
    title: String,
    from: u32,
}

/// Whether the reader is in a block of code, and whether that is short.
#[derive(Clone, Copy, PartialEq)]
enum Code {
    None,
    Short,
    Long,
}

/// Reads a document line by line.
struct DocumentReader<'v, 't> {
    visit: &'v mut dyn FnMut(Passage<'_>),
    is_prose: bool,
    is_marked_up: bool,
    is_markdown: bool,
    repeated: HashSet<&'t str, FxBuildHasher>,
    /// Headings with their levels, the outermost first.
    titles: Vec<(usize, Cow<'t, str>)>,
    section: Above,
    /// A line that ends with a colon is the heading of the list below it.
    lead_in: Option<Above>,
    has_items: bool,
    /// An item is the heading of the items nested in it.
    parent: Option<(&'t str, Above)>,
    /// The first line of the paragraph, raw.
    first: &'t str,
    paragraph: String,
    code: Code,
    /// What ends a part that is not quoted.
    left_out: Option<&'static str>,
    is_begun: bool,
    /// Lines read.
    read: usize,
    /// Passages read.
    at: u32,
}

impl<'t> DocumentReader<'_, 't> {
    fn front_matter(&mut self, front: String) {
        self.section.title = FRONT_MATTER.to_owned();
        self.paragraph = front;
        self.end(None);
        self.section = Above { title: String::new(), from: self.at };
    }

    fn line(&mut self, whole: &'t str, rest: &[&'t str]) {
        self.read += 1;
        if let Some(above) = whole.strip_prefix(ANOTHER_PLACE) {
            self.end(None);
            return self.go_to(lines::heading_of(above.trim()).unwrap_or_default());
        }
        let raw = without_number(whole);
        let line = raw.trim();
        if let Some(end) = self.left_out.or(self.opens_left_out(line)) {
            self.left_out = Some(end).filter(|end| !line.contains(end));
            return;
        }
        self.is_begun |= !line.is_empty();
        let line = without_comment_marks(line);
        let opens_tag = line.starts_with('<');
        let has_tags = self.is_marked_up && (opens_tag || !self.is_markdown);
        if has_tags && self.reads_part(raw, line) {
            return;
        }
        let bare = has_tags.then(|| without_tags(line));
        let text = bare.as_deref().unwrap_or(line);
        if text.starts_with("```") {
            self.end(Some(raw));
            self.code = match self.code {
                Code::None if is_short(rest) => Code::Short,
                Code::None => Code::Long,
                Code::Short | Code::Long => Code::None,
            };
            return;
        }
        if self.code == Code::None
            && let Some(title) = lines::heading_of(line)
        {
            self.end(Some(raw));
            return self.open(lines::level_of(line), Cow::Borrowed(title));
        }
        // Wrapped prose is joined; an item, a row, a key, an id or an element starts a new passage.
        let begins = text.is_empty()
            || has_tags && opens_tag
            || text.starts_with(['-', '*', '|', '>', '`', '+'])
            || text.starts_with(|c: char| c.is_ascii_digit())
            || is_requirement(text)
            || self.code != Code::None
            || !self.is_prose;
        // Brackets in a short block belong to the line above them.
        let is_bracket = self.code == Code::Short && !text.contains(char::is_alphanumeric);
        if begins && !is_bracket || self.paragraph.len() > PARAGRAPH_BYTES {
            let is_blank = |next: &&&str| without_number(next).trim().is_empty();
            let below =
                || rest.iter().find(|next| !is_blank(next)).map(|next| without_number(next));
            self.end(if text.is_empty() { below() } else { Some(raw) });
        }
        if text.is_empty() {
            return;
        }
        if self.paragraph.is_empty() {
            self.first = raw;
        } else {
            self.paragraph.push(' ');
        }
        self.paragraph.push_str(text);
        // Two spaces or a backslash break a line.
        let is_broken = raw.ends_with("  ") || raw.ends_with('\\');
        if is_broken && self.is_prose && self.code == Code::None {
            let length = self.paragraph.trim_end_matches('\\').len();
            self.paragraph.truncate(length);
            self.end(rest.first().map(|next| without_number(next)));
        }
    }

    /// What ends the part that a line opens, if that is not quoted. A comment inside a template addresses its author, but
    /// at the start of a document it describes the document; an output of instructions is a text to show the person.
    fn opens_left_out(&self, line: &str) -> Option<&'static str> {
        match () {
            () if line.starts_with("<!--") && self.is_begun => Some("-->"),
            () if self.is_marked_up && line.starts_with("<output>") => Some("</output>"),
            () => None,
        }
    }

    /// Whether a line of instructions only opens a part that is named by its purpose or condition, or ends such parts.
    /// Parts are below all headings, and nested as they are indented.
    fn reads_part(&mut self, raw: &'t str, line: &'t str) -> bool {
        let level = PART_LEVEL + raw.len() - raw.trim_start().len();
        let title = self.purpose_of(line);
        let ends = line.starts_with("</") && self.titles.iter().any(|(outer, _)| *outer >= level);
        if title.is_none() && !ends {
            return false;
        }
        self.end(Some(raw));
        if let Some(title) = title {
            self.titles.retain(|(outer, _)| *outer < level);
            self.open(level, title);
            return true;
        }
        self.titles.retain(|(outer, _)| *outer < level);
        let title = self.titles.last().map_or("", |(_, title)| title).to_owned();
        // What follows is not the first below it.
        (self.section, self.lead_in, self.parent) = (Above { title, from: u32::MAX }, None, None);
        true
    }

    /// The purpose or the condition of a part of instructions, with the number of the step that it is or is in:
    /// `<check if="…">`.
    fn purpose_of(&self, line: &'t str) -> Option<Cow<'t, str>> {
        let tag = line.strip_prefix('<')?.strip_suffix('>').filter(|tag| !tag.ends_with('/'))?;
        let opening = tag.split(" if=").next().filter(|_| !tag.contains("</"))?;
        let number = opening.strip_prefix("step ").and_then(|_| attribute(opening, " n=\""));
        let goal = attribute(opening, " goal=\"").or_else(|| attribute(opening, " title=\""));
        match (number, goal, attribute(tag, " if=\"")) {
            (Some(number), Some(goal), _) => Some(format!("step {number}: {goal}").into()),
            (Some(number), ..) => Some(format!("step {number}").into()),
            (None, Some(goal), _) => Some(goal.into()),
            (None, None, Some(condition))
                if self.titles.iter().any(|(_, it)| step_in(it).is_some()) =>
            {
                Some(self.in_step(&format!("if {condition}")).into())
            }
            (None, None, Some(condition)) => Some(condition.into()),
            (None, None, None) => None,
        }
    }

    /// A title with the numbered step that it stands in: `step 4, if …`.
    fn in_step(&self, title: &str) -> String {
        let mut steps = self.titles.iter().rev().filter(|(_, outer)| step_in(outer).is_some());
        let step = steps.next().and_then(|(_, outer)| outer.split([':', ',', '—', '–']).next());
        match step.map(str::trim).filter(|step| step.len() <= STEP_BYTES) {
            Some(step) => format!("{step}, {title}"),
            None => title.to_owned(),
        }
    }

    /// Continues elsewhere in the document, below `title`.
    fn go_to(&mut self, title: &'t str) {
        self.at += 1;
        self.open(0, Cow::Borrowed(title));
        self.titles.clear();
    }

    fn open(&mut self, level: usize, title: Cow<'t, str>) {
        self.titles.retain(|(outer, _)| *outer < level);
        let above = self.titles.last().map_or("", |(_, title)| title);
        self.section = self.below(above, &title);
        self.titles.push((level, title));
        (self.lead_in, self.parent) = (None, None);
    }

    fn below(&self, above: &str, title: &str) -> Above {
        let above = if self.repeated.contains(title) { above } else { "" };
        Above { title: lines::below_section(above, title), from: self.at }
    }

    /// Ends the paragraph; `next` is the line below it.
    fn end(&mut self, next: Option<&'t str>) {
        let text = std::mem::take(&mut self.paragraph);
        if !text.contains(char::is_alphanumeric) {
            return;
        }
        let is_code = self.code != Code::None;
        let is_lead_in = !is_code && text.len() < LEAD_IN_BYTES && text.ends_with([':', '：']);
        let is_listed = || lines::item_of(&text).is_some() || !is_lead_in && is_requirement(&text);
        let is_item = !is_code && self.is_prose && is_listed();
        let shape = match () {
            () if is_code => Shape::Code,
            () if is_item => Shape::Item,
            () if text.starts_with('|') => Shape::Row,
            () => Shape::Prose,
        };
        let first = self.first;
        self.parent = self.parent.take().filter(|(outer, _)| {
            is_code || lines::is_nested(first, outer) || !is_item && lines::is_deeper(first, outer)
        });
        if is_lead_in && !is_item {
            if self.is_prose {
                let title = self.in_step(text.trim_end_matches([':', '：', ' ']));
                let section = self.titles.last().map_or("", |(_, title)| title);
                self.lead_in = Some(self.below(section, &title));
                self.has_items = false;
            }
            return;
        }
        let above = self.above(shape);
        let is_parent = is_item
            && self.parent.is_none()
            && (is_lead_in || next.is_some_and(|next| lines::is_nested(next, first)));
        if !is_parent || lines::says_something(&text) {
            self.add(&above, &text, shape);
        }
        if is_parent {
            let item = lines::item_of(&text).unwrap_or(&text).trim_end_matches([':', '：']);
            let title = lines::below_section("", &lines::tidy(item, None, PARAGRAPH_BYTES));
            let title = self.in_step(&title);
            self.parent = Some((first, Above { title, from: self.at }));
        }
    }

    /// The heading of a paragraph that ends. Prose directly below a lead-in belongs to it, prose below the list
    /// does not.
    fn above(&mut self, shape: Shape) -> Above {
        if let Some((_, above)) = &self.parent {
            return above.clone();
        }
        let is_prose = shape == Shape::Prose;
        let lead_in = match is_prose {
            true => self.lead_in.take().filter(|_| !self.has_items),
            false => self.lead_in.clone(),
        };
        self.has_items |= !is_prose;
        lead_in.unwrap_or_else(|| self.section.clone())
    }

    fn add(&mut self, above: &Above, text: &str, shape: Shape) {
        let opens = above.from == self.at;
        self.at += 1;
        let is_of_head = self.read <= HEAD_LINES && is_setting(text);
        if text.len() < LINE_BYTES_MIN && self.code != Code::Short && !is_of_head {
            return;
        }
        let strength = match is_of_head {
            true => strength(&above.title, text, self.is_prose).max(80),
            false => strength(&above.title, text, self.is_prose),
        };
        let is_sample = shape == Shape::Code && !is_command(text);
        let spot = Spot { at: self.at, shape, opens, goes_on: false };
        let heading = &lines::below_section("", &above.title);
        (self.visit)(Passage { heading, text, strength, is_sample, spot });
    }
}

/// Whether a block of code ends within [`CODE_LINES`].
fn is_short(rest: &[&str]) -> bool {
    rest.iter().take(CODE_LINES + 1).any(|line| without_number(line).trim().starts_with("```"))
}

fn without_comment_marks(line: &str) -> &str {
    if !line.starts_with('<') && !line.ends_with('>') {
        return line;
    }
    line.trim_start_matches("<!--").trim_end_matches("-->").trim()
}

/// Joins the lines of a configuration: a key and its value mean little alone. The comment at its head and long ones stay
/// apart, so that keys are not buried in them.
fn settings(text: &str, mut visit: impl FnMut(Passage<'_>)) {
    let mut together = String::new();
    let (mut at, mut was_comment) = (0, false);
    let mut end = |together: &mut String, at: u32, is_comment: bool| {
        let (heading, text) = ("", together.as_str());
        let strength = if is_comment { COMMENT_STRENGTH } else { SETTINGS_STRENGTH };
        if text.len() >= LINE_BYTES_MIN {
            let spot = Spot { at, ..Spot::default() };
            visit(Passage { heading, text, strength, is_sample: false, spot });
        }
        together.clear();
    };
    // Trimming would remove the mark of another place.
    let is_elsewhere = |line: &str| line.starts_with(ANOTHER_PLACE);
    let bare = |line| if is_elsewhere(line) { line } else { without_number(line).trim() };
    let lines: Vec<&str> = text.lines().map(bare).filter(|line| !line.is_empty()).collect();
    let is_comment = |line: &str| line.starts_with('#') || line.starts_with("//");
    let parts = lines.chunk_by(|one, next| is_comment(one) == is_comment(next));
    for (number, part) in parts.enumerate() {
        let is_long = is_comment(part[0]) && (number == 0 || part.len() >= COMMENT_LINES);
        let mut is_apart = is_long != std::mem::replace(&mut was_comment, is_long);
        for line in part {
            let is_moved = is_elsewhere(line);
            if is_moved || is_apart || together.len() + line.len() > SETTINGS_BYTES {
                at += 1;
                // What ends where a comment begins or ends is of the other sort.
                end(&mut together, at, is_long != is_apart);
                at += u32::from(is_moved);
            }
            is_apart = false;
            if !is_moved {
                together.push_str(if together.is_empty() { "" } else { " " });
                together.push_str(line);
            }
        }
    }
    end(&mut together, at + 1, was_comment);
}

/// The value of an attribute of a tag.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    tag.split_once(name)?.1.split('"').next()
}

/// The text of a line without its tags.
fn without_tags(line: &str) -> String {
    let (before, rest) = line.split_once('<').unwrap_or((line, ""));
    let parts = rest.split('<').map(|part| part.split_once('>').map_or(part, |(_, words)| words));
    text::unescaped(format!("{before}{}", parts.collect::<String>()).trim()).into_owned()
}
