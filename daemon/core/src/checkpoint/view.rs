//! `view_v1`: the checkpoint as text for a model.
//!
//! Pure and byte-stable: the same scene, caps and budget give the same bytes on every machine. The
//! text never exceeds its budget, whatever the checkpoint holds.
//!
//! Packing goes from what must not be missing to what may be needed: the request, the files that
//! were changed, the plan, facts and decisions, the last failure, commands with their outcome; each
//! within a share of the budget, what one leaves over going to the next. What remains is filled
//! with names in play, best first, each on the line of the file or command it belongs to: a name
//! without its place is of little use. Commands that only looked come last, where room is left. The
//! order in the text is another one: it ends with the request, because a model goes on from what it
//! read last.

mod draft;
mod lines;
mod names;

use serde::{Deserialize, Serialize};

use super::Checkpoint;
use super::semantic::Semantics;
use super::staleness::Disk;
use crate::{limits, tokens};
use draft::{Draft, Line, Section};

pub use lines::dependency_holds;

/// First line of every view.
pub const HEADER: &str = "[SESSION_CHECKPOINT v1]";

/// Tokens of a view for which nobody names a budget.
pub const DEFAULT_TOKENS: u64 = 4_000;

/// Bytes the request gets even in the smallest view.
const TASK_BYTES_MIN: usize = 160;

/// All a view is made of.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The thread, for handles.
    pub thread_id: Option<&'a str>,
    /// What the transcript says.
    pub state: &'a Checkpoint,
    /// What was added and accepted.
    pub semantics: &'a Semantics,
    /// What the host sees on disk.
    pub disk: &'a Disk,
}

/// Caps of document 002 §8.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViewCaps {
    /// Plan steps not done.
    pub max_open_plan_steps: usize,
    /// Plan steps done, the last ones.
    pub max_done_plan_steps: usize,
    /// Decisions, the newest that stand.
    pub max_decisions: usize,
    /// Facts that hold.
    pub max_facts_valid: usize,
    /// Facts whose files changed.
    pub max_facts_suspect: usize,
    /// Files and commands that were not changed, newest first.
    pub max_recent_artifacts: usize,
    /// Characters of a value.
    pub max_value_chars: usize,
}

impl Default for ViewCaps {
    fn default() -> Self {
        Self {
            max_open_plan_steps: limits::PLAN_STEPS,
            max_done_plan_steps: limits::PLAN_STEPS,
            max_decisions: limits::DECISIONS,
            max_facts_valid: limits::FACTS,
            max_facts_suspect: limits::FACTS,
            max_recent_artifacts: limits::COMMANDS + limits::FILES,
            max_value_chars: limits::VALUE_CHARS,
        }
    }
}

/// Renders the view within `max_tokens` (bytes/4).
pub fn render(scene: &Scene<'_>, caps: &ViewCaps, max_tokens: u64) -> String {
    let budget = tokens::bytes_of(max_tokens);
    let mut draft = Draft::new(budget);
    if !draft.open(lines::header(scene)) {
        return String::new();
    }
    let priced = draft.is_priced();
    let share = |percent: usize| budget.saturating_mul(percent) / 100;
    let task = share(32).max(TASK_BYTES_MIN).min(draft.room());
    let request = task.saturating_sub(Section::TITLE_BYTES);
    draft.pack(Section::Task, task, lines::task(scene, request, share(20)));
    pack_changed(&mut draft, lines::changed(scene, share(12)), (share(55), share(80)));
    draft.pack(Section::Plan, share(14), lines::plan(scene, caps));
    draft.pack(Section::FactsSuspect, share(6), lines::facts_suspect(scene, caps));
    draft.pack(Section::FactsValid, share(8), lines::facts_valid(scene, caps));
    draft.pack(Section::Decisions, share(8), lines::decisions(scene, caps));
    draft.pack(Section::Errors, share(8), lines::errors(scene, (budget / 16).min(560), priced));
    let command_bytes = (budget / 100).clamp(72, limits::COMMAND_BYTES / 2);
    draft.pack(Section::Recent, share(20), lines::commands(scene, caps, command_bytes, priced));
    draft.pack(Section::Earlier, share(4), lines::earlier(scene));
    draft.pack(Section::Words, share(4), lines::words(scene));
    names::fill(&mut draft, scene, caps);
    pack_looks(&mut draft, scene, caps);
    grow_task(&mut draft, scene);
    draft.render()
}

/// Gives a request that had to be cut what nothing else wants.
fn grow_task(draft: &mut Draft, scene: &Scene<'_>) {
    let Some(now) = draft.lines(Section::Task).first().map(|line| line.text.len()) else { return };
    let bytes = now.saturating_add(draft.room());
    if let Some(line) = lines::task(scene, bytes, bytes).pop() {
        draft.lengthen(Section::Task, line);
    }
}

/// Packs the changed files within the first share, or within the second when the first is too small
/// for all: nothing else in a view is missed as much. Files that still do not fit are counted.
fn pack_changed(draft: &mut Draft, mut lines: Vec<Line>, shares: (usize, usize)) {
    let needed: usize = lines.iter().map(|line| line.text.len() + 1).sum();
    let title = "[CHANGED_FILES]\n".len();
    let share = if needed + title <= shares.0 { shares.0 } else { shares.1 }.min(draft.room());
    if needed + title > share {
        let (total, mut left) = (lines.len(), share.saturating_sub(title + lines::MORE_BYTES));
        lines.retain(|line| {
            let fits = line.text.len() < left;
            left = left.saturating_sub(if fits { line.text.len() + 1 } else { left });
            fits
        });
        let more = total - lines.len();
        lines.push(lines::more_changed(more));
    }
    draft.pack(Section::Changed, share, lines);
}

/// Packs commands that only looked, newest first, into what everything else left over: small threads
/// leave much, and agents look the same way twice.
fn pack_looks(draft: &mut Draft, scene: &Scene<'_>, caps: &ViewCaps) {
    let most = caps.max_recent_artifacts.saturating_sub(draft.lines(Section::Recent).len());
    let looks = lines::looks(scene, most, limits::COMMAND_BYTES / 2);
    draft.pack(Section::Recent, draft.room(), looks);
}

#[cfg(test)]
mod tests;
