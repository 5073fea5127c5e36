//! Calls that hand work to other agents.

use crate::step::Action;

/// Programs that are agents or start them.
const AGENTS: [&str; 8] =
    ["claude", "codex", "gemini", "opencode", "aider", "goose", "copilot", "workmux"];

/// Whether a script starts another agent.
pub(super) fn starts_agent(action: &Action) -> bool {
    let Action::Script(script) = action else { return false };
    let programs = script.commands.iter().filter_map(|command| command.words.first());
    let mut names = programs.map(|program| program.rsplit('/').next().unwrap_or(program));
    names.any(|name| AGENTS.contains(&name))
}

/// Tools whose arguments are addressed to another agent.
pub(super) const TO_AGENTS: [&str; 6] =
    ["Task", "Agent", "task", "spawn_agent", "send_input", "SendMessage"];

/// Claude Code's answer when an agent starts in the background.
pub(super) const LAUNCHED: &str = "Async agent launched";

/// Whether a call hands work to another agent, so that its answer is that agent's report.
pub(super) fn is_for_agent(call: &str) -> bool {
    let tool = call.split(' ').next().unwrap_or_default();
    TO_AGENTS.contains(&tool)
}
