//! Writes lines in order, under section titles and group labels.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::collect::THOUGHT;
use super::host_facts::HostFacts;
use super::kinds::{EvidenceKind, RULES};
use super::lines::BELOW;
use super::select::Quote;
use super::spot::Shape;
use crate::{quote, text};

/// Appends the chosen lines by section. Added lines follow their file's line if that was chosen; changed
/// files without a line are named within `bytes`.
pub(super) fn write(out: &mut String, chosen: Vec<&Quote<'_>>, host: &HostFacts<'_>, bytes: usize) {
    let lines = in_order(chosen);
    let of_kind = |kind| lines.iter().copied().filter(move |line| line.kind == kind);
    let files: FxHashSet<&str> = of_kind(EvidenceKind::File).map(|line| &*line.group).collect();
    for rule in &RULES {
        let (mut writer, mut last, mut above) = (LineWriter::default(), None, "");
        let is_below_file =
            |line: &&Quote<'_>| rule.kind == EvidenceKind::Added && files.contains(&*line.group);
        for (index, line) in of_kind(rule.kind).filter(|line| !is_below_file(line)).enumerate() {
            if index == 0 {
                out.push_str(&format!("[{}]{}\n", rule.title, rule.kind.legend()));
            }
            if rule.kind == EvidenceKind::Request {
                write_gap(out, last, line);
                last = Some(line);
            }
            if rule.kind != EvidenceKind::File {
                writer.write(out, line);
                continue;
            }
            // Consecutive files of one folder show its name once.
            let above = std::mem::replace(&mut above, folder_of(&line.group));
            match line.text.strip_prefix(above).filter(|_| above.len() >= FOLDER_BYTES_MIN) {
                Some(name) => out.push_str(&format!("…/{name}\n")),
                None => out.push_str(&format!("{}\n", line.text)),
            }
            let mut below = LineWriter { group: &line.group, ..LineWriter::default() };
            let added = of_kind(EvidenceKind::Added).filter(|added| added.group == line.group);
            added.for_each(|added| below.write(out, added));
            below.end(out);
        }
        writer.end(out);
        if last.is_some_and(|last| last.goes_on) {
            out.push_str(LEFT_OUT);
        }
        if rule.kind == EvidenceKind::File && !files.is_empty() {
            name_others(out, host, &files, bytes);
        }
    }
}

/// `also created: src/a.rs, src/b.rs`: newest first, one line per kind of change.
fn name_others(out: &mut String, host: &HostFacts<'_>, shown: &FxHashSet<&str>, mut room: usize) {
    let mut named: Vec<(&str, Vec<Cow<'_, str>>)> = Vec::new();
    let others = host.files.iter().map(|file| (quote::line(&file.path), &file.words));
    let others = others.filter(|(path, _)| !shown.contains(&**path) && !host.hides(path, None));
    for (path, words) in others {
        let word = words.split([' ', ',']).next().unwrap_or_default();
        if path.len() + 2 > room {
            break;
        }
        room -= path.len() + 2;
        match named.iter_mut().find(|(known, _)| *known == word) {
            Some((_, paths)) => paths.push(path),
            None => named.push((word, vec![path])),
        }
    }
    for (word, paths) in named {
        out.push_str(&format!("also {word}: {}\n", paths.join(", ")));
    }
}

/// Shorter folder names are not abbreviated.
const FOLDER_BYTES_MIN: usize = 6;

/// The folder of a path, with the trailing slash.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..=slash])
}

/// Placeholder for omitted lines of a request.
const LEFT_OUT: &str = "  […]\n";

/// Marks omitted lines of a request, and repeats its number if the beginning was omitted.
fn write_gap(out: &mut String, last: Option<&Quote<'_>>, line: &Quote<'_>) {
    let follows = last.is_some_and(|last| last.order.0 == line.order.0);
    let is_next = last.is_some_and(|last| last.order.1 + 1 == line.order.1);
    if last.is_some_and(|last| last.goes_on) && !(follows && is_next) {
        out.push_str(LEFT_OUT);
    }
    let is_answer = line.text.trim_start().starts_with("(#");
    if !follows && line.text.starts_with(' ') && !is_answer {
        out.push_str(&format!("#{} […]\n", line.order.0));
    }
}

/// Sorts lines; a group is placed where its newest line belongs, and what several edits added below one heading of a file
/// stands together.
fn in_order<'q>(mut chosen: Vec<&'q Quote<'q>>) -> Vec<&'q Quote<'q>> {
    let mut newest: FxHashMap<(EvidenceKind, &str), (u64, u64)> = FxHashMap::default();
    let mut headings: FxHashMap<(&str, &str), (u64, u64)> = FxHashMap::default();
    for line in chosen.iter().filter(|line| !line.group.is_empty()) {
        let order = newest.entry((line.kind, &line.group)).or_default();
        *order = line.order.max(*order);
        if line.kind == EvidenceKind::Added {
            let first = headings.entry((&line.group, &line.heading)).or_insert(line.order);
            *first = line.order.min(*first);
        }
    }
    chosen.sort_by_cached_key(|line| {
        let group = newest.get(&(line.kind, &*line.group)).copied();
        let heading = headings.get(&(&*line.group, &*line.heading)).copied();
        let heading = heading.filter(|_| line.kind == EvidenceKind::Added);
        (line.kind, group.unwrap_or(line.order), heading.unwrap_or(line.order), line.order)
    });
    chosen
}

/// Marks the end of lines under a heading.
const NO_HEADING: &str = " (also:)\n";

/// Marks the end of thoughts.
const SAID: &str = " (said:)\n";

/// Marks lines of one text that are left out, after what is above them.
const GAP: &str = " […]";

/// Writes lines with their labels, and marks gaps between lines of one text.
#[derive(Default)]
struct LineWriter<'q> {
    group: &'q str,
    heading: &'q str,
    /// Headings and sections written in the group: what follows is below none that is closed, so each is written once.
    sections: Vec<&'q str>,
    /// Heading of the item whose nested lines are being written.
    outer: Option<&'q str>,
    last: Option<&'q Quote<'q>>,
}

impl<'q> LineWriter<'q> {
    fn write(&mut self, out: &mut String, line: &'q Quote<'q>) {
        let (group, heading) = (&*line.group, &*line.heading);
        let is_new_group = group != self.group;
        let is_new_heading = is_new_group || heading != self.heading;
        let is_next =
            self.last.is_some_and(|last| is_of_text(last, line) && last.spot.is_before(line.spot));
        // The line above may be the heading itself.
        let (section, bare) = heading.rsplit_once(BELOW).unwrap_or(("", heading));
        let is_above = |last: &Quote<'_>| {
            let is_near = is_next || last.spot.is_unknown() && is_whole_heading(bare, &last.text);
            is_near && is_heading(bare, &last.text)
        };
        let is_below_parent = !is_new_group && self.last.is_some_and(is_above);
        // After the lines nested in an item its list goes on, as the next number says.
        let is_numbered = line.text.starts_with(|c: char| c.is_ascii_digit());
        let is_back = !is_new_group && is_numbered && self.outer == Some(heading);
        let mut is_marked = self.marks_end(line, is_new_heading, is_next);
        if is_marked {
            mark(out);
        }
        if is_new_group {
            self.sections.clear();
        }
        if is_new_group && !group.is_empty() {
            out.push_str(&format!("{group}:\n"));
        }
        let is_said = line.kind == EvidenceKind::Request && self.is_said(line);
        let is_written = is_new_heading && !is_below_parent && !is_back && !is_said;
        if is_written && !heading.is_empty() {
            let is_known = self.sections.iter().any(|known| is_same(section, known));
            self.sections.extend([section, bare]);
            let heading = if is_known { bare } else { heading };
            let indent = if line.kind == EvidenceKind::Request { "  " } else { " " };
            out.push_str(&format!("{indent}{}:\n", heading.trim_end_matches([':', '：'])));
            is_marked = false;
        } else if !is_new_group && is_written {
            out.push_str(if self.heading == THOUGHT { SAID } else { NO_HEADING });
        }
        let is_inside = !heading.is_empty() && !line.spot.is_unknown() && !line.spot.opens;
        if is_inside && !is_next && !is_marked {
            mark(out);
        }
        let indent = if group.is_empty() { "" } else { " " };
        out.push_str(&format!("{indent}{}\n", line.text));
        if is_below_parent {
            self.outer = Some(self.heading);
        } else if is_new_heading {
            self.outer = None;
        }
        (self.group, self.heading, self.last) = (group, heading, Some(line));
    }

    /// Whether a line of a request stands below its heading anyway: the first one has it in its text.
    fn is_said(&self, line: &Quote<'_>) -> bool {
        let heading = &*line.heading;
        let has_it = |quote: &Quote<'_>| {
            quote.text.contains(&format!("{heading}: ")) || is_heading(heading, quote.text.trim())
        };
        heading.is_empty() || has_it(line) || self.last.is_some_and(has_it)
    }

    /// Whether lines are left out between the last one and `line`, below the heading of the last one.
    fn marks_end(&self, line: &Quote<'_>, is_new_heading: bool, is_next: bool) -> bool {
        let Some(last) = self.last.filter(|last| !last.spot.is_unknown()) else { return false };
        if is_next {
            return false;
        }
        ends_within(last) || !is_new_heading && is_of_text(last, line) && last.spot.goes_on
    }

    fn end(&self, out: &mut String) {
        if self.last.is_some_and(ends_within) {
            mark(out);
        }
    }
}

/// Whether a section is the one known; either may be cut.
fn is_same(section: &str, known: &str) -> bool {
    let (section, known) = (section.trim_end_matches('…'), known.trim_end_matches('…'));
    !section.is_empty()
        && !known.is_empty()
        && (known.starts_with(section) || section.starts_with(known))
}

/// Whether a line is followed by others of the same list, table, code or section. After prose without a heading
/// one expects that it goes on.
fn ends_within(line: &Quote<'_>) -> bool {
    line.spot.goes_on && (line.spot.shape != Shape::Prose || !line.heading.is_empty())
}

/// Whether two lines are of one message, document or edit.
fn is_of_text(one: &Quote<'_>, next: &Quote<'_>) -> bool {
    !one.spot.is_unknown() && one.order.0 == next.order.0 && one.group == next.group
}

/// Whether a heading that is not cut is all of a line but its mark.
fn is_whole_heading(heading: &str, line: &str) -> bool {
    let bare = |words: &str| words.trim_end_matches([':', '：', ' ']).len();
    heading.contains('…') || line[..bare(line)].ends_with(&heading[..bare(heading)])
}

/// Whether a heading is a line of its own, perhaps cut at its end or in its middle.
fn is_heading(heading: &str, line: &str) -> bool {
    let line = line.trim_start_matches(['-', '*', ' ']);
    let (begin, end) = text::around_cut(heading).unwrap_or((heading, ""));
    let rest = line.strip_prefix(begin.trim_end_matches('…'));
    !heading.is_empty() && rest.is_some_and(|rest| rest.contains(end.trim_end_matches('…')))
}

/// Appends the mark to the last line.
fn mark(out: &mut String) {
    if out.ends_with('\n') {
        out.truncate(out.len() - 1);
        out.push_str(GAP);
        out.push('\n');
    }
}
