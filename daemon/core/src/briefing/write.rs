//! Writes lines in order, under section titles and group labels.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::collect::THOUGHT;
use super::extra::Extra;
use super::kinds::{EvidenceKind, RULES};
use super::select::Quote;
use crate::quote;

/// Appends the chosen lines by section. Added lines follow their file's line if that was chosen; changed
/// files without a line are named within `bytes`.
pub(super) fn write(out: &mut String, chosen: Vec<&Quote<'_>>, extra: &Extra<'_>, bytes: usize) {
    let lines = in_order(chosen);
    let of_kind = |kind| lines.iter().copied().filter(move |line| line.kind == kind);
    let files: HashSet<&str> = of_kind(EvidenceKind::File).map(|line| &*line.group).collect();
    for rule in &RULES {
        let (mut label, mut last, mut above) = (("", ""), None, "");
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
                write_line(out, line, &mut label);
                continue;
            }
            // Consecutive files of one folder show its name once.
            let above = std::mem::replace(&mut above, folder_of(&line.group));
            match line.text.strip_prefix(above).filter(|_| above.len() >= FOLDER_BYTES_MIN) {
                Some(name) => out.push_str(&format!("…/{name}\n")),
                None => out.push_str(&format!("{}\n", line.text)),
            }
            let mut label = (&*line.group, "");
            let added = of_kind(EvidenceKind::Added).filter(|added| added.group == line.group);
            added.for_each(|added| write_line(out, added, &mut label));
        }
        if last.is_some_and(|last| last.goes_on) {
            out.push_str(LEFT_OUT);
        }
        if rule.kind == EvidenceKind::File && !files.is_empty() {
            name_others(out, extra, &files, bytes);
        }
    }
}

/// `also created: src/a.rs, src/b.rs`: newest first, one line per kind of change.
fn name_others(out: &mut String, extra: &Extra<'_>, shown: &HashSet<&str>, mut room: usize) {
    let mut named: Vec<(&str, Vec<Cow<'_, str>>)> = Vec::new();
    let others = extra.files.iter().map(|file| (quote::line(&file.path), &file.words));
    let others = others.filter(|(path, _)| !shown.contains(&**path) && !extra.hides(path, None));
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

/// Sorts lines; a group is placed where its newest line belongs.
fn in_order<'q>(mut chosen: Vec<&'q Quote<'q>>) -> Vec<&'q Quote<'q>> {
    let mut newest: HashMap<(EvidenceKind, &str), (u64, u64)> = HashMap::new();
    for line in chosen.iter().filter(|line| !line.group.is_empty()) {
        let order = newest.entry((line.kind, &line.group)).or_default();
        *order = line.order.max(*order);
    }
    chosen.sort_by_key(|line| {
        let group = newest.get(&(line.kind, &*line.group)).copied();
        (line.kind, group.unwrap_or(line.order), line.order)
    });
    chosen
}

/// Marks the end of lines under a heading.
const NO_HEADING: &str = " (elsewhere:)\n";

/// Marks the end of thoughts.
const SAID: &str = " (said:)\n";

fn write_line<'a>(out: &mut String, line: &'a Quote<'_>, label: &mut (&'a str, &'a str)) {
    let here = (&*line.group, &*line.heading);
    if here.0 != label.0 && !here.0.is_empty() {
        out.push_str(&format!("{}:\n", here.0));
    }
    if here != *label && !here.1.is_empty() {
        out.push_str(&format!(" {}:\n", here.1));
    } else if here.0 == label.0 && here.1 != label.1 {
        out.push_str(if label.1 == THOUGHT { SAID } else { NO_HEADING });
    }
    *label = here;
    let indent = if here.0.is_empty() { "" } else { " " };
    out.push_str(&format!("{indent}{}\n", line.text));
}
