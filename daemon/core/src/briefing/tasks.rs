//! Task lists in files: `- [ ] T012 write the parser`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::text;

const ITEMS_MAX: usize = 96;

/// The items of all task lists, as last read or edited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct TaskList {
    /// By file, then by the id or first words of the item.
    files: BTreeMap<String, BTreeMap<String, TaskItem>>,
    /// Files that a command changed in an unknown way, and at which line.
    outdated: BTreeMap<String, u64>,
    /// Files changed by this thread; others may belong to other work.
    edited: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TaskItem {
    pub seq: u64,
    /// Position in its file when it was read.
    pub order: u32,
    pub is_done: bool,
    pub text: String,
}

impl TaskList {
    /// Reads the items in `lines` of a file.
    pub(super) fn read<'a>(&mut self, seq: u64, path: &str, lines: impl Iterator<Item = &'a str>) {
        // The items of a template are examples.
        if path.contains("template") {
            return;
        }
        for (order, line) in (0..).zip(lines) {
            let Some((is_done, words)) = item(line) else { continue };
            self.outdated.remove(path);
            let known = self.files.get(path).and_then(|items| items.get(key(words)));
            if known.is_none() && self.is_full() && !self.make_room(seq) {
                continue;
            }
            let known = self.files.get(path).and_then(|items| items.get(key(words)));
            let order = known.map_or(order, |known| known.order.max(order));
            let text = text::one_line_cut(words, 220);
            let items = self.files.entry(path.to_owned()).or_default();
            items.insert(key(words).to_owned(), TaskItem { seq, order, is_done, text });
        }
    }

    /// A command changed the file: its known items may be outdated.
    pub(super) fn outdate(&mut self, seq: u64, path: &str) {
        if self.files.contains_key(path) {
            self.outdated.insert(path.to_owned(), seq);
        }
    }

    pub(super) fn edit(&mut self, path: &str) {
        if self.files.contains_key(path) {
            self.edited.insert(path.to_owned());
        }
    }

    /// Whether this thread changed the list, by an edit or a command.
    pub(super) fn is_edited(&self, path: &str) -> bool {
        self.edited.contains(path) || self.is_outdated(path)
    }

    pub(super) fn is_outdated(&self, path: &str) -> bool {
        self.outdated.contains_key(path)
    }

    /// Whether items may be missing.
    pub(super) fn is_full(&self) -> bool {
        self.files.values().map(BTreeMap::len).sum::<usize>() >= ITEMS_MAX
    }

    /// Evicts a completed item, else the oldest of earlier work; `false` if there is none, because completed
    /// items must not displace open ones.
    fn make_room(&mut self, seq: u64) -> bool {
        let all = self
            .files
            .iter()
            .flat_map(|(path, items)| items.iter().map(move |(key, item)| (path, key, item)));
        let spare = all.filter(|(_, _, item)| item.is_done || item.seq < seq);
        let first = spare.min_by_key(|(_, _, item)| (!item.is_done, item.seq, item.order));
        let Some((path, key)) = first.map(|(path, key, _)| (path.clone(), key.clone())) else {
            return false;
        };
        self.files.get_mut(&path).is_some_and(|items| items.remove(&key).is_some())
    }

    /// The most recently seen list: its file and its items in order. Others belong to earlier work.
    pub(super) fn current(&self) -> Option<(&str, Vec<&TaskItem>)> {
        let seen = |path: &str, items: &BTreeMap<String, TaskItem>| {
            let changed = self.outdated.get(path).copied();
            items.values().map(|item| item.seq).max().max(changed)
        };
        let (path, items) = self.files.iter().max_by_key(|(path, items)| seen(path, items))?;
        let mut items: Vec<&TaskItem> = items.values().collect();
        items.sort_by_key(|item| item.order);
        (items.len() > 1).then_some((path, items))
    }
}

/// `T015–T020, T023` for items with such ids; empty if one has none.
pub(super) fn ranges(items: &[&TaskItem]) -> String {
    let number = |item: &&TaskItem| {
        let id = item.text.split([' ', ':']).next().unwrap_or_default();
        let digits = id.trim_start_matches(|c: char| c.is_ascii_uppercase());
        let is_id = digits.len() < id.len() && (1..=5).contains(&digits.len());
        digits.parse::<u32>().ok().filter(|_| is_id).map(|number| (number, id.to_owned()))
    };
    let Some(mut ids) = items.iter().map(number).collect::<Option<Vec<_>>>() else {
        return String::new();
    };
    ids.sort_unstable();
    let runs = ids.chunk_by(|one, next| one.0 + 1 == next.0).map(|run| match run {
        [(_, first), .., (_, last)] => format!("{first}–{last}"),
        _ => run[0].1.clone(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// Whether a file that was only read is a task list, by its name: in other files, boxes are examples.
pub(super) fn is_list(path: &str) -> bool {
    const WORDS: [&str; 12] = [
        "task",
        "todo",
        "plan",
        "checklist",
        "backlog",
        "roadmap",
        "issue",
        "story",
        "stories",
        "sprint",
        "progress",
        "requirements",
    ];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    // A workflow's or skill's own list is ticked anew in each run, and seldom in its file.
    let is_pattern = folders.split('/').any(|folder| ["workflows", "skills"].contains(&folder));
    let name = name.to_ascii_lowercase();
    !is_pattern && !is_manual(path) && WORDS.iter().any(|word| name.contains(word))
}

/// Whether a file instructs agents: its boxes are ticked anew for each task.
pub(super) fn is_manual(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["AGENTS.md", "CLAUDE.md", "GEMINI.md", "SKILL.md"].contains(&name)
}

/// Whether the item is ticked, and its text.
fn item(line: &str) -> Option<(bool, &str)> {
    let at = memchr::memchr(b'[', line.as_bytes())?;
    let before = line[..at].trim_end();
    if !before.ends_with(['-', '*', '+']) || before.len() > 24 {
        return None;
    }
    let rest = &line[at..];
    let is_done = match rest.get(..3)? {
        "[ ]" => false,
        "[x]" | "[X]" => true,
        _ => return None,
    };
    let words = rest[3..].trim();
    (!words.is_empty()).then_some((is_done, words))
}

/// The id of an item (`T012`, `1.2`), else its first words: stable across edits of the file.
fn key(words: &str) -> &str {
    let first = words.split_whitespace().next().unwrap_or(words);
    if first.bytes().any(|byte| byte.is_ascii_digit()) { first } else { text::prefix(words, 48) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completed_items_do_not_displace_open_ones() {
        let mut list = TaskList::default();
        let done: Vec<String> = (0..2 * ITEMS_MAX).map(|n| format!("- [x] T{n} done")).collect();
        list.read(1, "tasks.md", done.iter().map(String::as_str));
        list.read(2, "tasks.md", ["- [ ] T900 review", "- [ ] T901 answer"].into_iter());
        let (_, tasks) = list.current().unwrap();
        assert!(tasks.len() == ITEMS_MAX && list.is_full());
        let open = tasks.iter().filter(|task| !task.is_done).map(|task| task.text.as_str());
        assert_eq!(open.collect::<Vec<_>>(), ["T900 review", "T901 answer"]);
    }

    #[test]
    fn the_newest_list_counts_and_ticks_replace_open_items() {
        let mut list = TaskList::default();
        list.read(1, "template.md", "- [ ] T001 do\n- [ ] T002 do".lines());
        list.read(
            2,
            "tasks.md",
            "# Tasks\n- [ ] T001 parser\n  - [ ] T002 lexer [US1]\n- [link] no".lines(),
        );
        list.read(3, "tasks.md", ["- [X] T001 parser"].into_iter());
        let saved = serde_json::to_string(&list).unwrap();
        let list: TaskList = serde_json::from_str(&saved).unwrap();
        let (path, tasks) = list.current().unwrap();
        let seen: Vec<_> = tasks.iter().map(|task| (task.is_done, task.text.as_str())).collect();
        assert_eq!(
            (path, seen),
            ("tasks.md", vec![(true, "T001 parser"), (false, "T002 lexer [US1]")])
        );
    }

    #[test]
    fn open_items_of_earlier_work_give_way_to_later_ones() {
        let items =
            |from: usize| (from..from + ITEMS_MAX).map(|n| format!("- [ ] T{n} item")).collect();
        let read = |list: &mut TaskList, seq, path: &str, lines: &[String]| {
            list.read(seq, path, lines.iter().map(String::as_str));
        };
        // Below the others, whose order is that of their lines.
        let below = |line: &str| [vec![String::new(); ITEMS_MAX], vec![line.to_owned()]].concat();
        let first: Vec<String> = items(100);
        let mut list = TaskList::default();
        read(&mut list, 1, "tasks.md", &first);
        read(&mut list, 1, "tasks.md", &below("- [ ] T900 one too many"));
        let (_, tasks) = list.current().unwrap();
        assert_eq!((tasks.len(), &*tasks[0].text), (ITEMS_MAX, "T100 item"), "of the same read");
        assert!(tasks.iter().all(|task| task.text != "T900 one too many"));

        read(&mut list, 2, "tasks.md", &below("- [ ] T900 one too many"));
        let (_, tasks) = list.current().unwrap();
        assert_eq!((tasks.len(), &*tasks[0].text), (ITEMS_MAX, "T101 item"), "the oldest goes");
        read(&mut list, 3, "tasks.md", &below("- [x] T150 item"));
        read(&mut list, 4, "tasks.md", &below("- [ ] T901 another"));
        let (_, tasks) = list.current().unwrap();
        let has = |text: &str| tasks.iter().any(|task| task.text == text);
        assert!(!has("T150 item") && has("T101 item") && has("T901 another"), "done ones first");
    }

    #[test]
    fn one_item_is_no_list() {
        let mut list = TaskList::default();
        list.read(1, "tasks.md", ["- [ ] T001 parser"].into_iter());
        assert!(list.current().is_none());
        list.read(2, "tasks.md", ["- [ ] T002 lexer"].into_iter());
        assert!(list.current().is_some());
    }

    #[test]
    fn items_are_named_by_the_ranges_of_their_ids() {
        for (texts, expected) in [
            (&["T015 a", "T017 c", "T016 b", "T020 d"][..], "T015–T017, T020"),
            (&["T1: a"], "T1"),
            (&["T015 a", "write the parser"], ""),
            (&["15 parsers", "16 lexers"], ""),
            (&["T123456 a"], ""),
        ] {
            let item = |text: &&str| TaskItem {
                seq: 1,
                order: 0,
                is_done: false,
                text: (*text).to_owned(),
            };
            let items: Vec<TaskItem> = texts.iter().map(item).collect();
            let items: Vec<&TaskItem> = items.iter().collect();
            assert_eq!(ranges(&items), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_box_after_a_list_mark_is_an_item() {
        let indented = |blanks: usize| format!("{}- [x] parser", " ".repeat(blanks));
        for (line, expected) in [
            ("- [ ] parser", Some((false, "parser"))),
            ("* [X] parser ", Some((true, "parser"))),
            ("3 + [x] parser", Some((true, "parser"))),
            ("see [x] parser", None),
            ("- [link] parser", None),
            ("- [ ]", None),
            (&indented(23), Some((true, "parser"))),
            (&indented(24), None),
            (&indented(40), None),
        ] {
            assert_eq!(item(line), expected, "{line}");
        }
    }

    #[test]
    fn lists_are_known_by_their_names_and_manuals_are_none() {
        for (path, list, manual) in [
            ("specs/001/tasks.md", true, false),
            ("docs/ROADMAP.md", true, false),
            ("src/main.rs", false, false),
            ("_flow/workflows/review/checklist.md", false, false),
            ("/home/me/.claude/skills/review/checklist.md", false, false),
            ("specs/001/checklists/requirements.md", true, false),
            ("tasks/CLAUDE.md", false, true),
            ("AGENTS.md", false, true),
        ] {
            assert_eq!((is_list(path), is_manual(path)), (list, manual), "{path}");
        }
    }
}
