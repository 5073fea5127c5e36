//! Our entries among an agent's hooks; Codex's `hooks.json` and Claude Code's `settings.json` have the same format.
//!
//! `hooks.EVENT` is a list of groups, each with a list of handlers. We add a separate group at the end of each list:
//! Codex identifies trusted hooks by their position, so the user's hooks must not move.

use std::path::Path;

use jsonc_parser::cst::{CstArray, CstNode, CstObject};
use jsonc_parser::json;

use super::hook_call;
use crate::shell;

pub(super) const EVENTS: [&str; 5] =
    ["SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "Stop"];
/// Seconds after which the agent kills a hook. Ours end themselves long before.
const TIMEOUT_SECONDS: &str = "5";

/// The commands for an agent.
pub(super) struct Hooks {
    longhaul: String,
    agent: &'static str,
}

impl Hooks {
    pub(super) fn new(longhaul: &Path, socket: Option<&Path>, agent: &'static str) -> Self {
        let socket = socket.map(|path| format!(" --socket {}", shell::quoted(path)));
        let longhaul = shell::quoted(longhaul) + &socket.unwrap_or_default();
        Self { longhaul, agent }
    }

    fn command(&self, event: &str) -> String {
        format!("{} hook {event} --agent {}", self.longhaul, self.agent)
    }

    /// Writes our entries; in an existing command it only replaces our call and keeps the user's additions. Fails with
    /// the name of a member that has another type than the agent reads.
    pub(super) fn put(&self, root: &CstObject) -> Result<(), String> {
        let hooks = root.object_value_or_create("hooks").ok_or("`hooks` is not an object")?;
        for event in EVENTS {
            let groups = hooks.array_value_or_create(event);
            let groups = groups.ok_or_else(|| format!("`hooks.{event}` is not a list"))?;
            let command = self.command(event);
            match ours(&groups).into_iter().next() {
                Some((handler, before)) => {
                    let call = hook_call::find(&before);
                    let after = call.map_or(command.clone(), |it| it.replaced(&before, &command));
                    set_string(&handler, "command", &after);
                }
                None => {
                    let timeout = jsonc_parser::cst::CstInputValue::Number(TIMEOUT_SECONDS.into());
                    groups.ensure_multiline();
                    groups.append(json!({
                        "hooks": [{ "type": "command", "command": command, "timeout": timeout }],
                    }));
                }
            }
        }
        Ok(())
    }
}

/// Removes our entries and emptied lists; from a command with the user's additions it removes only our call.
pub(super) fn remove(root: &CstObject) {
    let Some(hooks) = root.object_value("hooks") else { return };
    for event in hooks.properties() {
        let Some(groups) = event.array_value() else { continue };
        let found = ours(&groups);
        if found.is_empty() {
            continue;
        }
        for (handler, command) in found {
            match hook_call::find(&command).and_then(|call| call.removed(&command)) {
                Some(rest) => set_string(&handler, "command", &rest),
                None => handler.remove(),
            }
        }
        let is_spent = |group: &CstNode| {
            let handlers = group.as_object().and_then(|group| group.array_value("hooks"));
            handlers.is_some_and(|handlers| handlers.elements().is_empty())
        };
        groups.elements().into_iter().filter(is_spent).for_each(CstNode::remove);
        if groups.elements().is_empty() {
            event.remove();
        }
    }
    if hooks.properties().is_empty()
        && let Some(hooks) = root.get("hooks")
    {
        hooks.remove();
    }
}

/// The handlers that run `longhaul hook`, with their commands.
fn ours(groups: &CstArray) -> Vec<(CstObject, String)> {
    let groups = groups.elements().into_iter().filter_map(|group| group.as_object());
    let handlers = groups.filter_map(|group| group.array_value("hooks"));
    let handlers = handlers.flat_map(|handlers| handlers.elements());
    let handlers = handlers.filter_map(|handler| handler.as_object());
    let handlers = handlers.filter_map(|handler| Some((string(&handler, "command")?, handler)));
    handlers
        .filter(|(command, _)| hook_call::find(command).is_some())
        .map(|(command, handler)| (handler, command))
        .collect()
}

pub(super) fn string(object: &CstObject, name: &str) -> Option<String> {
    object.get(name)?.value()?.as_string_lit()?.decoded_value().ok()
}

/// Sets a string; leaves an equal one untouched.
pub(super) fn set_string(object: &CstObject, name: &str, value: &str) {
    if string(object, name).as_deref() == Some(value) {
        return;
    }
    match object.get(name) {
        Some(property) => property.set_value(json!(value)),
        None => drop(object.append(name, json!(value))),
    }
}
