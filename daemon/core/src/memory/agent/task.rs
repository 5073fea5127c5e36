//! Prompt and folder of the agent.

use similar::TextDiff;

use super::line::Bullet;
use super::{Baseline, Mode, is_input, is_skill};
use crate::memory::Files;
use crate::text;

const SYSTEM: &str = include_str!("../../../../../templates/memory/consolidate.md");

/// Maximum bytes of changes in the prompt; a file has all of them.
const PROMPT_CHANGES_BYTES: usize = 24 * 1_024;

/// Maximum bytes of the file of changes.
const CHANGES_BYTES: usize = 1 << 20;

/// Maximum files named in the prompt.
const NAMED_MAX: usize = 64;

const CHANGES: &str = "changes.diff";

/// Path of the agent's previous first page.
const PREVIOUS: &str = "previous/memory_summary.md";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTask {
    pub mode: Mode,
    pub system: String,
    pub user: String,
    pub files: Files,
    /// Files in it that are not memory.
    pub extras: Vec<String>,
    /// Its input, for the next [`Baseline`].
    pub seen: std::collections::BTreeSet<String>,
}

/// Builds the task of updating `draft`.
pub fn task(draft: &Files, baseline: Option<&Baseline>, summary_tokens: u64) -> AgentTask {
    let mut files = draft.clone();
    let mut extras = Vec::new();
    let mut user = String::new();
    let mode = if baseline.is_some() { Mode::Incremental } else { Mode::Init };
    match baseline {
        None => user.push_str(
            "This memory is looked after for the first time: read all of raw_memories.md in pieces, then \
             bring the files into order.\n",
        ),
        Some(baseline) => {
            let changes = changes(&baseline.files, draft);
            user.push_str(&format!(
                "Changed since the last time (all of it: {CHANGES}):\n<changes>\n{}\n</changes>\n",
                text::cut(&changes.replace("</changes>", "< /changes>"), PROMPT_CHANGES_BYTES)
            ));
            let whole = text::cut(&changes, CHANGES_BYTES).into_owned();
            extras.push((CHANGES, whole));
            if let Some(page) = baseline.files.get("memory_summary.md") {
                extras.push((PREVIOUS, page.clone()));
                user.push_str(&format!("The first page as you left it: {PREVIOUS}\n"));
            }
        }
    }
    user.push_str("Files:\n");
    for (path, text) in draft.iter().take(NAMED_MAX) {
        user.push_str(&format!("{path} {}\n", text.len()));
    }
    if draft.len() > NAMED_MAX {
        user.push_str("(more: list)\n");
    }
    let paths = extras.iter().map(|(path, _)| (*path).to_owned()).collect();
    files.extend(extras.into_iter().map(|(path, text)| (path.to_owned(), text)));
    let system = SYSTEM.replace("{summary_tokens}", &summary_tokens.to_string());
    AgentTask { mode, system, user, files, extras: paths, seen: seen(draft) }
}

/// Ids and skills in a set of files.
fn seen(files: &Files) -> std::collections::BTreeSet<String> {
    let book = files.get("MEMORY.md").map_or("", String::as_str);
    let ids = book.lines().filter_map(Bullet::read);
    let ids = ids.filter_map(|bullet| bullet.ids().next().map(str::to_owned));
    ids.chain(files.keys().filter(|path| is_skill(path)).cloned()).collect()
}

/// Unified diff of two sets of files; inputs first.
fn changes(before: &Files, now: &Files) -> String {
    let mut paths: Vec<&String> = before.keys().chain(now.keys()).collect();
    paths.sort_by_key(|path| (!is_input(path), path.as_str()));
    paths.dedup();
    let mut out = String::new();
    for path in paths {
        let (old, new) = (before.get(path), now.get(path));
        if old == new {
            continue;
        }
        let (old, new) = (old.map_or("", String::as_str), new.map_or("", String::as_str));
        let diff = TextDiff::from_lines(old, new);
        let names = (format!("a/{path}"), format!("b/{path}"));
        let unified = diff.unified_diff().context_radius(3).header(&names.0, &names.1).to_string();
        out.push_str(&unified);
        if out.len() > CHANGES_BYTES {
            break;
        }
    }
    if out.is_empty() { "nothing\n".to_owned() } else { out }
}
