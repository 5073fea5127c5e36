//! The map of a thread: files, commands, identifiers it met, and what for.

use std::collections::HashMap;

use super::super::learning::{Name, NameKind};
use super::super::place;
use crate::checkpoint::terms::{TermKind, find};
use crate::{limits, text};

/// Names counted at once; beyond, the least used go.
const COUNTED_MAX: usize = 8_192;

/// Names kept of a thread.
const KEPT_MAX: usize = 900;

/// Bytes of the names kept of a thread.
const KEPT_BYTES: usize = 48 * 1_024;

/// Calls of a thread's beginning.
pub const OPENING_CALLS: u32 = 40;

/// Who wrote a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// The agent, or the person.
    Used,
    /// A tool, or the agent's prose.
    Printed,
}

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
            if name.len() < 3 || name.contains("REDACTED") {
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
        if name.len() >= 3 && name.len() <= limits::PATH_BYTES {
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

    /// Counts a command line.
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

/// The path from the working folder, where it is below it.
pub fn shown<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let below = cwd.filter(|cwd| place::is_inside(path, cwd)).and_then(|cwd| {
        path.get(cwd.trim_end_matches(['/', '\\']).len()..)?.strip_prefix(['/', '\\'])
    });
    let path = below.filter(|below| !below.is_empty()).unwrap_or(path);
    path.trim_start_matches("./").trim_end_matches('/')
}

/// A command line worth keeping, in one line; `None` for scripts.
pub fn line_of(script: &str) -> Option<String> {
    let script = script.trim();
    let fits = !script.contains('\n') && (4..=limits::COMMAND_BYTES).contains(&script.len());
    fits.then(|| text::one_line(script).into_owned())
}
