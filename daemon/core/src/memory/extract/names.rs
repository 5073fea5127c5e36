//! Counts the names in a thread: files, commands, identifiers, and how they were used.

use std::collections::HashMap;

use super::super::learning::{Name, NameKind};
use super::super::place;
use super::terms::{TermKind, find};
use crate::limits;

/// Who wrote the text that contains a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mention {
    /// The model or the person.
    Used,
    Printed,
}

/// Maximum names counted; beyond it, the less valuable half is dropped.
const COUNTED_MAX: usize = 8_192;

const KEPT_MAX: usize = 900;

/// Maximum bytes of all names kept.
const KEPT_BYTES: usize = 48 * 1_024;

/// Number of calls that count as a thread's opening.
pub const OPENING_CALLS: u32 = 40;

#[derive(Debug, Default)]
struct NameCount {
    uses: u32,
    hits: u32,
    opening: bool,
    done: bool,
    look: bool,
    file: Option<Box<str>>,
    tick: u32,
}

/// Name counts, at most [`COUNTED_MAX`].
#[derive(Debug, Default)]
pub struct Names {
    seen: HashMap<(NameKind, Box<str>), NameCount>,
    pub calls: u32,
}

impl Names {
    /// Counts every name in a redacted text. `file` is the file the text comes from, if it is a single one.
    pub fn read(&mut self, text: &str, mention: Mention, cwd: Option<&str>, file: Option<&str>) {
        find(text, false, &mut |found| {
            let (kind, name) = match found.kind {
                TermKind::Path => (NameKind::Path, shown(found.text, cwd)),
                TermKind::Name | TermKind::Compound => (NameKind::Identifier, found.text),
                TermKind::Id => (NameKind::Id, found.text),
            };
            let rest = if kind == NameKind::Path { rest(text, found.text) } else { None };
            // `{root}/docs/a.md` counts only for a file that is already known by its own name.
            let name = rest.unwrap_or(name);
            let is_known = rest.is_none() || self.seen.contains_key(&(kind, name.into()));
            if name.len() < 3 || name.contains("REDACTED") || !is_known {
                return;
            }
            let file = file.filter(|_| kind == NameKind::Identifier);
            let seen = self.entry(kind, name, mention);
            if seen.file.is_none() || mention == Mention::Used {
                seen.file = file.map(Into::into).or(seen.file.take());
            }
        });
    }

    /// Counts a path that the agent named as a file.
    pub fn path(&mut self, path: &str, mention: Mention, cwd: Option<&str>) {
        let name = shown(path, cwd);
        let is_pattern = name.contains(['$', '*', '{', '<']);
        if name.len() >= 3 && name.len() <= limits::PATH_BYTES && !is_pattern {
            self.entry(NameKind::Path, name, mention);
        }
    }

    /// `name` is a path in the form of [`shown`].
    pub fn changed(&mut self, name: &str) {
        if name.len() <= limits::PATH_BYTES {
            self.entry(NameKind::Path, name, Mention::Used).done = true;
        }
    }

    pub fn command(&mut self, line: &str, is_look: bool) {
        self.entry(NameKind::Command, line, Mention::Used).look = is_look;
    }

    pub fn mark_worked(&mut self, line: &str) {
        if let Some(seen) = self.seen.get_mut(&(NameKind::Command, line.into())) {
            seen.done = true;
        }
    }

    fn entry(&mut self, kind: NameKind, name: &str, mention: Mention) -> &mut NameCount {
        if self.seen.len() >= COUNTED_MAX {
            self.drop_weakest();
        }
        let calls = self.calls;
        let seen = self.seen.entry((kind, name.into())).or_default();
        seen.hits = seen.hits.saturating_add(1);
        if mention == Mention::Used {
            seen.uses = seen.uses.saturating_add(1);
            seen.opening |= calls <= OPENING_CALLS;
        }
        seen.tick = calls;
        seen
    }

    /// Drops the less valuable half.
    fn drop_weakest(&mut self) {
        let mut worths: Vec<(u64, u32)> =
            self.seen.values().map(|seen| (seen.worth(), seen.tick)).collect();
        worths.sort_unstable();
        let border = worths.get(worths.len() / 2).copied().unwrap_or_default();
        self.seen.retain(|_, seen| (seen.worth(), seen.tick) > border);
    }

    /// The most valuable names within the bounds, most valuable first.
    pub fn finish(self) -> Vec<Name> {
        let mut all: Vec<((NameKind, Box<str>), NameCount)> = self.seen.into_iter().collect();
        all.sort_unstable_by(|(a, x), (b, y)| y.worth().cmp(&x.worth()).then_with(|| a.cmp(b)));
        let mut bytes = 0;
        let mut kept = Vec::new();
        for ((kind, name), seen) in all {
            bytes += name.len() + 40;
            if kept.len() >= KEPT_MAX || bytes > KEPT_BYTES {
                break;
            }
            kept.push(Name {
                text: name.into(),
                kind,
                uses: seen.uses,
                hits: seen.hits,
                is_opening: seen.opening,
                is_done: seen.done,
                is_look: seen.look,
                file: seen.file.map(Into::into),
            });
        }
        kept
    }
}

impl NameCount {
    fn worth(&self) -> u64 {
        let uses = u64::from(self.uses.min(8)) * 40;
        let hits = u64::from(self.hits.min(16)) * 4;
        uses + hits + if self.opening { 60 } else { 0 } + if self.done { 60 } else { 0 }
    }
}

/// If `name`, a slice of `text`, is only the end of something longer, the part that may be a file (maybe empty).
/// This applies after a variable, a placeholder or a glob (`$ROOT/a.md`, `{root}/a.md`, `*.test.ts`) and inside a
/// word with letters outside ASCII.
fn rest<'a>(text: &str, name: &'a str) -> Option<&'a str> {
    let at = name.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let before = text.get(..at)?.chars().next_back();
    let after = text.get(at + name.len()..)?.chars().next();
    // Higher code points belong to scripts without spaces, where a name directly follows other words.
    let is_foreign = |c: char| ('\u{80}'..'\u{2e80}').contains(&c) && c.is_alphanumeric();
    if before.is_some_and(is_foreign) || after.is_some_and(|c| c == '…' || is_foreign(c)) {
        return Some("");
    }
    match before? {
        '$' | '%' => Some(name.split_once('/').map_or("", |(_, rest)| rest)),
        // `**src/a.rs**` names a file, `*.test.ts` does not.
        '}' | ']' | ')' | '>' | '*' | '<' if name.starts_with(['/', '.']) => {
            Some(name.trim_start_matches('/'))
        }
        _ => None,
    }
}

/// The path relative to the working folder if it is below it.
pub fn shown<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let below = cwd.filter(|cwd| place::is_inside(path, cwd)).and_then(|cwd| {
        path.get(cwd.trim_end_matches(['/', '\\']).len()..)?.strip_prefix(['/', '\\'])
    });
    let path = below.filter(|below| !below.is_empty()).unwrap_or(path);
    path.trim_start_matches("./").trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_variable_pattern_or_word_is_not_a_file() {
        let paths = |text: &str| {
            let mut names = Names::default();
            names.read(text, Mention::Printed, None, None);
            let found = names.finish().into_iter().filter(|name| name.kind == NameKind::Path);
            found.map(|name| name.text).collect::<Vec<_>>()
        };
        for text in [
            "cp $ROOT/docs/a.md",
            "LOAD {project-root}/core/config.yaml",
            "see <name>/index.md",
            "rg -g '*.test.ts'",
            "stratégies/cas/anomalies.md",
            "src/paramètres.rs",
            "2>/dev/null",
            "docs/implementation-re…",
        ] {
            assert_eq!(paths(text), Vec::<String>::new(), "{text}");
        }
        for (text, path) in [
            ("see `docs/a.md`", "docs/a.md"),
            ("open(\"./src/b.rs\")", "src/b.rs"),
            ("见docs/c.md", "docs/c.md"),
            ("<file>docs/d.md</file>, **docs/d.md**", "docs/d.md"),
        ] {
            assert_eq!(paths(text), [path], "{text}");
        }
        let mut names = Names::default();
        names.read("docs/a.md: see {root}/docs/a.md, $R/docs/a.md", Mention::Printed, None, None);
        assert_eq!(names.finish()[0].hits, 3, "a known file is counted under every spelling");
    }

    fn found(names: Names) -> Vec<(String, u32, u32)> {
        names.finish().into_iter().map(|name| (name.text, name.uses, name.hits)).collect()
    }

    #[test]
    fn a_named_file_counts_unless_it_is_a_pattern() {
        let mut names = Names::default();
        let long = "x/".repeat(limits::PATH_BYTES / 2);
        let patterns = ["$ROOT/a.rs", "src/*.rs", "src/{a,b}.rs", "<file>", "ab"];
        for path in patterns.into_iter().chain([&*format!("{long}ab")]) {
            names.path(path, Mention::Used, None);
        }
        for path in ["/w/p/src/a.rs", "./src/a.rs", "src/a.rs"] {
            names.path(path, Mention::Used, Some("/w/p"));
        }
        names.path("Makefile", Mention::Printed, None);
        names.changed(&format!("{long}ab"));
        assert_eq!(found(names), [("src/a.rs".to_owned(), 3, 3), ("Makefile".to_owned(), 0, 1)]);
        let longest = format!("{}a", &long[..limits::PATH_BYTES - 1]);
        let mut names = Names::default();
        names.path(&longest, Mention::Used, None);
        names.changed(&longest);
        assert_eq!(found(names).len(), 1);
    }

    #[test]
    fn a_short_or_redacted_name_does_not_count() {
        let mut names = Names::default();
        let text = "/w/p/ab /w/p/abc [REDACTED_SECRET_KEY] use REDACTED_ALL";
        names.read(text, Mention::Printed, Some("/w/p"), None);
        assert_eq!(found(names), [("abc".to_owned(), 0, 1)]);
    }

    #[test]
    fn an_identifier_belongs_to_the_file_in_which_it_was_used() {
        let mut names = Names::default();
        let mut read = |mention, file| names.read("parse_line", mention, None, file);
        read(Mention::Printed, Some("a.rs"));
        read(Mention::Printed, Some("b.rs"));
        read(Mention::Used, Some("c.rs"));
        read(Mention::Used, None);
        read(Mention::Printed, Some("d.rs"));
        let files: Vec<Option<String>> = names.finish().into_iter().map(|name| name.file).collect();
        assert_eq!(files, [Some("c.rs".to_owned())]);
        let mut names = Names::default();
        names.read("see src/a.rs", Mention::Printed, None, Some("b.rs"));
        assert_eq!(names.finish()[0].file, None, "a path is in no file");
    }

    #[test]
    fn names_are_ranked_by_use() {
        let mut names = Names { calls: OPENING_CALLS, ..Names::default() };
        names.read("opened_by", Mention::Used, None, None);
        names.command("just test", false);
        names.command("just lint", false);
        names.mark_worked("just lint");
        names.mark_worked("just other");
        names.calls += 1;
        names.changed("z.rs");
        for (name, mention, count) in [
            ("later_used", Mention::Used, 1),
            ("printed_often", Mention::Printed, 9),
            ("printed_once", Mention::Printed, 1),
            ("used_often", Mention::Used, 8),
        ] {
            (0..count).for_each(|_| names.read(name, mention, None, None));
        }
        let finished = names.finish();
        let order: Vec<&str> = finished.iter().map(|name| name.text.as_str()).collect();
        let expected = [
            "used_often",
            "just lint",
            "z.rs",
            "just test",
            "opened_by",
            "later_used",
            "printed_often",
            "printed_once",
        ];
        assert_eq!(order, expected);
        let opening = finished.iter().filter(|name| name.is_opening);
        assert_eq!(opening.count(), 3, "of the first 40 calls");
        let done: Vec<&str> =
            finished.iter().filter(|name| name.is_done).map(|name| name.text.as_str()).collect();
        assert_eq!(done, ["just lint", "z.rs"]);
    }

    #[test]
    fn the_most_valuable_names_are_kept() {
        let mut names = Names::default();
        names.read("valuable_name", Mention::Used, None, None);
        for number in 0..40_000 {
            names.calls = number;
            names.read(&format!("printed_{number}"), Mention::Printed, None, None);
            assert!(names.seen.len() <= COUNTED_MAX);
        }
        let kept = names.finish();
        assert_eq!((kept.len(), kept[0].text.as_str()), (900, "valuable_name"));

        let long = |number: usize| format!("{}_{number:03}", "x".repeat(150));
        let mut names = Names::default();
        (0..500).for_each(|number| names.changed(&long(number)));
        let kept = names.finish();
        assert_eq!(kept.len(), 48 * 1_024 / (154 + 40));
        assert!((0..).zip(&kept).all(|(number, name)| name.text == long(number)));
    }
}
