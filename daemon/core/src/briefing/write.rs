//! Lines in their order, below the titles of their sections and the labels of their groups.

use std::collections::{HashMap, HashSet};

use super::kinds::{EvidenceKind, RULES};
use super::select::Quote;

/// Appends the chosen lines, section by section. Added lines stand below the line of their file, if that was
/// chosen.
pub(super) fn write(out: &mut String, chosen: Vec<&Quote>) {
    let lines = in_order(chosen);
    let of_kind = |kind| lines.iter().copied().filter(move |line| line.kind == kind);
    let files: HashSet<&str> =
        of_kind(EvidenceKind::File).map(|line| line.group.as_str()).collect();
    for rule in &RULES {
        let mut label = ("", "");
        let is_below_file =
            |line: &&Quote| rule.kind == EvidenceKind::Added && files.contains(&*line.group);
        for (index, line) in of_kind(rule.kind).filter(|line| !is_below_file(line)).enumerate() {
            if index == 0 {
                out.push_str(&format!("[{}]\n", rule.title));
            }
            if rule.kind != EvidenceKind::File {
                write_line(out, line, &mut label);
                continue;
            }
            out.push_str(&format!("{}\n", line.text));
            let mut label = (line.group.as_str(), "");
            let added = of_kind(EvidenceKind::Added).filter(|added| added.group == line.group);
            added.for_each(|added| write_line(out, added, &mut label));
        }
    }
}

/// A group stands in one place: where its newest line belongs.
fn in_order(mut chosen: Vec<&Quote>) -> Vec<&Quote> {
    let mut newest: HashMap<(EvidenceKind, &str), (u64, u64)> = HashMap::new();
    for line in chosen.iter().filter(|line| !line.group.is_empty()) {
        let order = newest.entry((line.kind, &line.group)).or_default();
        *order = line.order.max(*order);
    }
    chosen.sort_by_key(|line| {
        let group = newest.get(&(line.kind, line.group.as_str())).copied();
        (line.kind, group.unwrap_or(line.order), line.order)
    });
    chosen
}

fn write_line<'a>(out: &mut String, line: &'a Quote, label: &mut (&'a str, &'a str)) {
    let here = (line.group.as_str(), line.heading.as_str());
    if here.0 != label.0 {
        out.push_str(&format!("{}:\n", here.0));
    }
    if here != *label && !here.1.is_empty() {
        out.push_str(&format!(" {}:\n", here.1));
    }
    *label = here;
    let indent = if here.0.is_empty() { "" } else { " " };
    out.push_str(&format!("{indent}{}\n", line.text));
}
