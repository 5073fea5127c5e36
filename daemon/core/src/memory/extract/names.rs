//! The map of a thread: files, commands, identifiers it met, and what for.

use std::collections::HashMap;

use super::super::learning::{Name, NameKind};
use super::super::place;
use super::terms::{TermKind, find};
use crate::limits;

/// Who wrote the text a name stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// The model or the person.
    Used,
    Printed,
}

/// Names counted at once; beyond, the least used go.
const COUNTED_MAX: usize = 8_192;

/// Names kept of a thread.
const KEPT_MAX: usize = 900;

/// Bytes of the names kept of a thread.
const KEPT_BYTES: usize = 48 * 1_024;

/// Calls of a thread's beginning.
pub const OPENING_CALLS: u32 = 40;

#[derive(Debug, Default)]
struct Seen {
    uses: u32,
    hits: u32,
    opening: bool,
    done: bool,
    look: bool,
    file: Option<Box<str>>,
    tick: u32,
}

/// Counts names. Bounded by [`COUNTED_MAX`].
#[derive(Debug, Default)]
pub struct Names {
    seen: HashMap<(NameKind, Box<str>), Seen>,
    /// Calls made so far.
    pub calls: u32,
}

impl Names {
    /// Counts every name of a redacted text. `file`: the one file the text is of.
    pub fn read(&mut self, text: &str, voice: Voice, cwd: Option<&str>, file: Option<&str>) {
        find(text, false, &mut |found| {
            let (kind, name) = match found.kind {
                TermKind::Path => (NameKind::Path, shown(found.text, cwd)),
                TermKind::Name | TermKind::Compound => (NameKind::Identifier, found.text),
                TermKind::Id => (NameKind::Id, found.text),
            };
            let rest = if kind == NameKind::Path { rest(text, found.text) } else { None };
            // Of `{root}/docs/a.md` only a file is told that was met under its own name.
            let name = rest.unwrap_or(name);
            let is_known = rest.is_none() || self.seen.contains_key(&(kind, name.into()));
            if name.len() < 3 || name.contains("REDACTED") || !is_known {
                return;
            }
            let file = file.filter(|_| kind == NameKind::Identifier);
            let seen = self.meet(kind, name, voice);
            if seen.file.is_none() || voice == Voice::Used {
                seen.file = file.map(Into::into).or(seen.file.take());
            }
        });
    }

    /// Counts a file that was named as such.
    pub fn path(&mut self, path: &str, voice: Voice, cwd: Option<&str>) {
        let name = shown(path, cwd);
        let is_pattern = name.contains(['$', '*', '{', '<']);
        if name.len() >= 3 && name.len() <= limits::PATH_BYTES && !is_pattern {
            self.meet(NameKind::Path, name, voice);
        }
    }

    /// Notes that a file was changed.
    pub fn changed(&mut self, path: &str, cwd: Option<&str>) {
        let name = shown(path, cwd);
        if name.len() <= limits::PATH_BYTES {
            self.meet(NameKind::Path, name, Voice::Used).done = true;
        }
    }

    pub fn command(&mut self, line: &str, is_look: bool) {
        self.meet(NameKind::Command, line, Voice::Used).look = is_look;
    }

    /// Notes that a command worked.
    pub fn worked(&mut self, line: &str) {
        if let Some(seen) = self.seen.get_mut(&(NameKind::Command, line.into())) {
            seen.done = true;
        }
    }

    fn meet(&mut self, kind: NameKind, name: &str, voice: Voice) -> &mut Seen {
        if self.seen.len() >= COUNTED_MAX {
            self.shed();
        }
        let calls = self.calls;
        let seen = self.seen.entry((kind, name.into())).or_default();
        seen.hits = seen.hits.saturating_add(1);
        if voice == Voice::Used {
            seen.uses = seen.uses.saturating_add(1);
            seen.opening |= calls <= OPENING_CALLS;
        }
        seen.tick = calls;
        seen
    }

    /// Forgets the lesser half.
    fn shed(&mut self) {
        let mut worths: Vec<(u64, u32)> =
            self.seen.values().map(|seen| (seen.worth(), seen.tick)).collect();
        worths.sort_unstable();
        let border = worths.get(worths.len() / 2).copied().unwrap_or_default();
        self.seen.retain(|_, seen| (seen.worth(), seen.tick) > border);
    }

    /// The names, most useful first, within the bounds.
    pub fn finish(self) -> Vec<Name> {
        let mut all: Vec<((NameKind, Box<str>), Seen)> = self.seen.into_iter().collect();
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

impl Seen {
    fn worth(&self) -> u64 {
        let used = u64::from(self.uses.min(8)) * 40;
        let met = u64::from(self.hits.min(16)) * 4;
        used + met + if self.opening { 60 } else { 0 } + if self.done { 60 } else { 0 }
    }
}

/// Where `name`, a piece of `text`, is the rest of something else: what of it may be a file. So of what stands behind
/// a variable, a placeholder or a glob (`$ROOT/a.md`, `{root}/a.md`, `*.test.ts`), and of a word in letters that are
/// not looked for, which may be nothing.
fn rest<'a>(text: &str, name: &'a str) -> Option<&'a str> {
    let at = name.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let before = text.get(..at)?.chars().next_back();
    let after = text.get(at + name.len()..)?.chars().next();
    // Beyond are scripts without blanks, where a name stands right beside other words.
    let is_foreign = |c: char| ('\u{80}'..'\u{2e80}').contains(&c) && c.is_alphanumeric();
    if before.is_some_and(is_foreign) || after.is_some_and(|c| c == '…' || is_foreign(c)) {
        return Some("");
    }
    match before? {
        '$' | '%' => Some(name.split_once('/').map_or("", |(_, rest)| rest)),
        // `**src/a.rs**` is named, `*.test.ts` is not.
        '}' | ']' | ')' | '>' | '*' | '<' if name.starts_with(['/', '.']) => {
            Some(name.trim_start_matches('/'))
        }
        _ => None,
    }
}

/// The path from the working folder, where it is below it.
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
    fn the_rest_of_a_variable_a_pattern_or_a_word_is_no_file() {
        let paths = |text: &str| {
            let mut names = Names::default();
            names.read(text, Voice::Printed, None, None);
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
        names.read("docs/a.md: see {root}/docs/a.md, $R/docs/a.md", Voice::Printed, None, None);
        assert_eq!(names.finish()[0].hits, 3, "a file that is known is met by every name");
    }
}
