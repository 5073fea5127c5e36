//! Condenses the front matter of a document to one line.

use std::collections::HashSet;

use super::super::lines::without_number;
use super::worth::NEXT_STEP;

/// Maximum bytes of the line. Entries that do not fit are left out.
const FRONT_BYTES: usize = 160;

/// Maximum bytes of a list's items; of more, their number is said, and the last one of a state.
const LIST_BYTES: usize = 60;

/// Words of keys that say how far the document is, in lower case.
const STATE: [&str; 6] = ["status", "step", "complete", "current", "progress", "phase"];

/// A key with its value, and the items of the list below it.
struct FrontEntry<'t> {
    line: &'t str,
    items: Vec<&'t str>,
}

impl FrontEntry<'_> {
    /// What comes next is needed most, then how far the document is.
    fn rank(&self) -> u8 {
        match () {
            () if self.line.starts_with(NEXT_STEP) => 0,
            () if says_state(self.line) => 1,
            () => 2,
        }
    }

    fn words(&self) -> String {
        let items = self.items.join(", ");
        match self.items.last() {
            None => self.line.to_owned(),
            Some(_) if items.len() <= LIST_BYTES => format!("{} {items}", self.line),
            Some(last) if says_state(self.line) => {
                format!("{} {} items, the last {last}", self.line, self.items.len())
            }
            Some(_) => format!("{} {} items", self.line, self.items.len()),
        }
    }
}

/// Whether the first entry says how far the document is.
pub(super) fn says_state(front: &str) -> bool {
    let key = front.split(':').next().unwrap_or_default().to_lowercase();
    STATE.iter().any(|word| key.contains(word))
}

/// Whether a line is an entry that says how far its document is: `stepsCompleted: [1, 2]`.
pub(super) fn is_state(line: &str) -> bool {
    let key = line.split_once(": ").map(|(key, _)| key);
    key.is_some_and(is_key) && says_state(line)
}

/// The list that says how far a document is, with the items that an edit added. `changed` are the lines of the edit with
/// those around them; removed ones begin with `-`.
pub(in crate::briefing) fn grown_state(
    changed: &str,
    added: &str,
    removed: &str,
) -> Option<String> {
    let added: HashSet<&str> = added.lines().collect();
    let removed: HashSet<&str> = removed.lines().collect();
    // An added item may begin with `-`, too.
    let is_removed = |line: &str| {
        let text = line.strip_prefix('-');
        !added.contains(line) && text.is_some_and(|text| removed.contains(text))
    };
    let mut lists: Vec<(FrontEntry<'_>, bool)> = Vec::new();
    let mut is_open = false;
    for line in changed.lines().filter(|line| !is_removed(line)) {
        let text = line.trim();
        match (text.strip_prefix("- "), lists.last_mut().filter(|_| is_open)) {
            (Some(item), Some((list, has_grown))) => {
                list.items.push(item);
                *has_grown |= added.contains(line);
            }
            _ => {
                is_open = text.strip_suffix(':').is_some_and(is_state_key);
                if is_open {
                    lists.push((FrontEntry { line: text, items: Vec::new() }, false));
                }
            }
        }
    }
    lists.iter().rev().find(|(_, has_grown)| *has_grown).map(|(list, _)| list.words())
}

/// A front matter as [`front_matter`] gives it, with another value of an entry.
pub(in crate::briefing) fn with_entry(front: &str, entry: &str) -> String {
    let key = entry.split(':').next().unwrap_or_default();
    let is_other = |it: &&str| it.split(':').next() != Some(key);
    let others = front.split("; ").filter(|it| !it.is_empty()).filter(is_other);
    std::iter::once(entry).chain(others).collect::<Vec<_>>().join("; ")
}

/// Whether the key of an entry says how far its document is. A title is capitalized.
fn is_state_key(key: &str) -> bool {
    key.starts_with(char::is_lowercase) && is_key(key) && says_state(key)
}

fn is_key(key: &str) -> bool {
    key.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The front matter as one line, and the number of lines it takes.
pub(super) fn front_matter(text: &str) -> (String, usize) {
    let mut lines = text.lines().map(|line| without_number(line).trim());
    if lines.next() != Some("---") {
        return (String::new(), 0);
    }
    let (mut entries, mut count) = (Vec::<FrontEntry<'_>>::new(), 2);
    for line in lines.take_while(|line| *line != "---") {
        count += 1;
        match (line.strip_prefix("- "), entries.last_mut()) {
            (Some(item), Some(list)) => list.items.push(item),
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => entries.push(FrontEntry { line, items: Vec::new() }),
        }
    }
    // A key without a value opens a group.
    entries.retain(|entry| !entry.line.ends_with(':') || !entry.items.is_empty());
    entries.sort_by_key(FrontEntry::rank);
    let mut front = String::new();
    for words in entries.iter().map(FrontEntry::words) {
        if front.is_empty() || front.len() + words.len() <= FRONT_BYTES {
            front.push_str(if front.is_empty() { "" } else { "; " });
            front.push_str(&words);
        }
    }
    (front, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_how_far_its_document_is_by_its_key() {
        for (line, expected) in [
            ("stepsCompleted: [1, 2]", true),
            ("status: done", true),
            ("title: Status of the parser", false),
            ("The next step: write it", false),
            ("status", false),
        ] {
            assert_eq!(is_state(line), expected, "{line}");
        }
    }

    #[test]
    fn a_list_of_steps_grows_with_an_edit() {
        let steps = " stepsCompleted:\n   - step-01\n";
        for (changed, added, removed, expected) in [
            // As in a patch, as in a replacement, and without an indent.
            (format!("@@\n{steps}  - step-02\n"), "  - step-02\n", "", Some("step-01, step-02")),
            (
                format!("{steps}{steps}   - step-02\n"),
                "   - step-02\n",
                "",
                Some("step-01, step-02"),
            ),
            (" stepsCompleted:\n-- a\n- b\n".into(), "- b\n", "- a\n", Some("b")),
            ("stepsCompleted:\n- a\n- b\n".into(), "stepsCompleted:\n- a\n- b\n", "", Some("a, b")),
            // Nothing was added, or no state.
            (format!("@@\n{steps}   - step-02\n"), "", "", None),
            (" sources:\n - a\n - b\n".into(), " - b\n", "", None),
            (" Steps completed:\n - a\n - b\n".into(), " - b\n", "", None),
            (format!("@@\n{steps} title: a\n   - step-02\n"), "   - step-02\n", "", None),
        ] {
            let expected = expected.map(|items| format!("stepsCompleted: {items}"));
            assert_eq!(grown_state(&changed, added, removed), expected, "{changed}");
        }
    }

    #[test]
    fn an_entry_replaces_that_of_its_key() {
        for (front, expected) in [
            ("", "status: b"),
            ("title: t", "status: b; title: t"),
            ("steps: 1; status: a; title: t", "status: b; steps: 1; title: t"),
        ] {
            assert_eq!(with_entry(front, "status: b"), expected);
        }
    }

    #[test]
    fn the_state_of_a_document_comes_before_what_it_is_about() {
        let long: String = (0..9).map(|n| format!("  - docs/plans/part{n}.md\n")).collect();
        for (front, expected) in [
            (
                format!(
                    "title: Lexer\nsources:\n{long}stepsCompleted:\n  - 1\n  - 2\nstatus: open\n"
                ),
                "stepsCompleted: 1, 2; status: open; title: Lexer; sources: 9 items",
            ),
            (
                "name: step-2\nnextStepFile: ./step-3.md\n".to_owned(),
                "nextStepFile: ./step-3.md; name: step-2",
            ),
            (
                format!("done:\nstepsCompleted:\n{long}"),
                "stepsCompleted: 9 items, the last docs/plans/part8.md",
            ),
            (
                format!("about: {}\nstatus: open\nkind: plan\n", "x".repeat(220)),
                "status: open; kind: plan",
            ),
        ] {
            let (line, count) = front_matter(&format!("---\n{front}---\n# Lexer\n"));
            assert_eq!((line.as_str(), count), (expected, front.lines().count() + 2));
        }
        assert_eq!(front_matter("# Lexer\n"), (String::new(), 0));
    }
}
