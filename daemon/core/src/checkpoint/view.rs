//! `view_v1`: the checkpoint as text for a model.
//!
//! Pure and byte-stable: the same inputs, caps and budget give the same bytes on every machine. The text
//! never exceeds its budget, for any checkpoint.
//!
//! The text is quoted from the thread, chosen by [`briefing`]; this module adds the host's knowledge: which
//! files changed on disk since, and which decisions and facts it accepted.

mod lines;

use serde::{Deserialize, Serialize};

use super::Checkpoint;
use super::file_standing::{Disk, Now};
use super::semantic::{Dependency, Semantics};
use crate::{briefing, choice, limits, paths, quote, tokens};

pub use crate::briefing::{Rendered, ViewLine};

/// First line of every view.
pub use crate::rollout::contextual::VIEW_HEADER as HEADER;

/// Default budget of a view in tokens. Readers who had only the view answered 83 percent of an exam with 4,000 tokens,
/// and 94 percent with 8,000.
pub const DEFAULT_TOKENS: u64 = 8_000;

/// Smallest budget that a caller gets a view for. Less room has the header and a piece of the request.
pub const TOKENS_MIN: u64 = 256;

/// Default budget of the view that replaces `tokens_before`: a quarter of them, within bounds. A history that
/// was compacted before (`is_compacted`) is already dense; a quarter each time would shrink it to nothing.
pub fn default_tokens(tokens_before: u64, is_compacted: bool) -> u64 {
    let share = if is_compacted { 1 } else { 4 };
    (tokens_before / share).clamp(512, DEFAULT_TOKENS)
}

#[derive(Debug, Clone, Copy)]
pub struct ViewInputs<'a> {
    pub thread_id: Option<&'a str>,
    pub state: &'a Checkpoint,
    /// Accepted updates and the person's choices.
    pub semantics: &'a Semantics,
    /// Files as the host sees them on disk.
    pub disk: &'a Disk,
    /// The topic that the person wants a view to focus on; may be empty. Never quoted.
    pub focus: &'a str,
}

impl ViewInputs<'_> {
    /// Whether a dependency's content is known for both times and unchanged.
    pub(super) fn holds(&self, dependency: &Dependency) -> bool {
        let key = paths::absolute(&dependency.uri, self.state.cwd.as_deref());
        let now = self.disk.get(&key).map(|disk| &disk.now);
        match (now, &dependency.hash) {
            (Some(Now::Content(now)), Some(then)) => now == then,
            _ => false,
        }
    }
}

/// Maximum entries of each kind in a view, even if there is room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ViewCaps {
    pub max_open_plan_steps: usize,
    /// The last completed plan steps.
    pub max_done_plan_steps: usize,
    /// The newest valid decisions.
    pub max_decisions: usize,
    pub max_facts_valid: usize,
    pub max_facts_suspect: usize,
    /// Files and commands without changes, newest first.
    pub max_recent_artifacts: usize,
    pub max_value_chars: usize,
}

impl Default for ViewCaps {
    fn default() -> Self {
        Self {
            max_open_plan_steps: limits::PLAN_ITEMS,
            max_done_plan_steps: limits::PLAN_ITEMS,
            max_decisions: limits::DECISIONS,
            max_facts_valid: limits::FACTS,
            max_facts_suspect: limits::FACTS,
            max_recent_artifacts: limits::COMMANDS + limits::FILES,
            max_value_chars: limits::VALUE_CHARS,
        }
    }
}

/// Maximum percentage of a view for pins; the rest is for the request and the header.
const PINNED_PERCENT: u64 = 75;

/// Renders the view within `max_tokens`, both by bytes / 4 and by o200k.
pub fn render(inputs: &ViewInputs<'_>, caps: &ViewCaps, max_tokens: u64) -> String {
    render_below("", inputs, caps, max_tokens).text
}

/// Renders a view to follow a text such as a model's summary; prefers content that the text does not have.
pub fn render_below(
    above: &str,
    inputs: &ViewInputs<'_>,
    caps: &ViewCaps,
    max_tokens: u64,
) -> Rendered {
    let bytes = tokens::bytes_of(max_tokens);
    let choices = &inputs.semantics.choices;
    let Some(header) = lines::header(inputs).into_iter().find(|header| header.len() < bytes) else {
        return Rendered { pins_incomplete: choices.pins().len(), ..Rendered::default() };
    };
    let pins_room = (max_tokens * PINNED_PERCENT / 100).saturating_sub(choice::cost(&header));
    let pinned = choice::pinned(choices.pins(), pins_room);
    let header = format!("{header}\n{}", pinned.text).trim_end().to_owned();
    let suspect = lines::facts_suspect(inputs, caps);
    let accepted = suspect
        .into_iter()
        .chain(lines::facts_valid(inputs, caps))
        .chain(lines::decisions(inputs, caps));
    let host = briefing::HostFacts {
        header,
        above,
        focus: inputs.focus,
        folder: inputs.state.cwd.as_deref(),
        plan: lines::plan(inputs, caps),
        accepted: accepted.collect(),
        files: lines::changed(inputs),
        ran: lines::ran(inputs, caps),
        looked_at: lines::looked_at(inputs, caps),
        outdated: lines::outdated(inputs),
        choices: Some(choices),
    };
    let rendered = briefing::render(&inputs.state.briefing, &host, max_tokens);
    Rendered { pins_incomplete: pinned.incomplete, pins: pinned.shown, ..rendered }
}

/// A section of a view and its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewPart {
    pub name: String,
    /// Lines below its title.
    pub lines: usize,
    /// Estimated tokens, title included.
    pub tokens: u64,
}

/// The sections of a view in order; the first is its header. Quoted text cannot look like a title.
pub fn parts(text: &str) -> Vec<ViewPart> {
    let mut sections: Vec<(&str, usize, usize)> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (quote::heading(line), sections.last_mut()) {
            (Some(name), _) => sections.push((name, 0, line.len())),
            (None, Some((_, lines, bytes))) => {
                *lines += 1;
                *bytes += line.len();
            }
            (None, None) => sections.push(("", 1, line.len())),
        }
    }
    let part = |(name, lines, bytes): (&str, usize, usize)| ViewPart {
        name: name.to_owned(),
        lines,
        tokens: tokens::of_bytes(bytes as u64),
    };
    sections.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests;
