//! A bounded list of names that a file declares.

/// Maximum names of a file to keep.
const NAMES_MAX: usize = 24;

/// Adds a name. One that is known keeps its place if `is_outline`, since an outline names the parts before they are
/// written; in code it was just written again.
pub(super) fn push_name(names: &mut Vec<String>, name: &str, is_outline: bool) {
    if is_outline && names.iter().any(|known| known == name) {
        return;
    }
    names.retain(|known| known != name);
    if names.len() >= NAMES_MAX {
        names.remove(least_of(names));
    }
    names.push(name.to_owned());
}

/// At most `most` of the names, within `bytes`.
pub(super) fn chosen(names: &[String], most: usize, bytes: usize) -> Vec<String> {
    let mut chosen = names.to_vec();
    let is_over = |names: &[String]| {
        names.len() > most || names.iter().map(|name| name.len() + 2).sum::<usize>() > bytes
    };
    while is_over(&chosen) {
        chosen.remove(least_of(&chosen));
    }
    chosen
}

/// The name to drop. Of a series (`Part 1`, `Part 2`; `1. Aims`, `2. Means`) that is the oldest of the longest, so that
/// the sections that are written do not displace the parts that a document still has to get; names outside a series go
/// first if they are old.
fn least_of(names: &[String]) -> usize {
    let series: Vec<Option<&str>> = names.iter().map(|name| series(name)).collect();
    let parts = |at: usize| match series[at] {
        Some(first) => series.iter().filter(|it| **it == Some(first)).count(),
        None => 1,
    };
    let alone = (0..names.len().div_ceil(2)).find(|at| parts(*at) == 1);
    // Of equals, the first.
    alone.or_else(|| (0..names.len()).rev().max_by_key(|at| parts(*at))).unwrap_or(0)
}

/// What the names of a series have in common: their first word, or that they are numbered.
fn series(name: &str) -> Option<&str> {
    let (first, _) = name.split_once(' ')?;
    Some(if first.starts_with(|c: char| c.is_ascii_digit()) { "#" } else { first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_not_written_stay_beside_the_sections_of_those_that_are() {
        let mut names = Vec::new();
        for title in ["Overview", "Sources", "Part 1", "Part 2", "Part 3", "Part 4"] {
            push_name(&mut names, title, true);
        }
        push_name(&mut names, "Part 1", true);
        for section in 0..40 {
            push_name(&mut names, &format!("Section 1.{section}"), true);
        }
        assert_eq!(names.len(), NAMES_MAX);
        assert_eq!(names[..4], ["Part 1", "Part 2", "Part 3", "Part 4"]);
        let shown = chosen(&names, usize::MAX, 80);
        let sections = ["Section 1.36", "Section 1.37", "Section 1.38", "Section 1.39"];
        assert_eq!(shown[..3], ["Part 2", "Part 3", "Part 4"]);
        assert_eq!(shown[3..], sections);
    }

    #[test]
    fn of_names_outside_a_series_the_oldest_goes() {
        let names = ["parse", "read_all", "Writer"].map(str::to_owned);
        assert_eq!(chosen(&names, 2, 100), ["read_all", "Writer"]);
        assert_eq!(chosen(&names, 9, 9), ["Writer"]);
        assert_eq!(chosen(&[], 2, 9), [""; 0]);
        let mut names = names.to_vec();
        push_name(&mut names, "parse", false);
        assert_eq!(names, ["read_all", "Writer", "parse"]);
    }
}
