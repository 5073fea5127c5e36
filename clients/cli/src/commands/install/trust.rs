//! Whether Codex runs a hook: only if a person has approved its content.
//!
//! Codex records the approval in its `config.toml`, by the hook's position: `[hooks.state."FILE:EVENT:GROUP:HANDLER"]`
//! with a `trusted_hash` of the approved content. It silently skips a hook with another hash (seen in 0.169.0;
//! `cargo xtask agents` compares our hash with that of its `hooks/list`).

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Item};

/// Codex's default timeout of a hook, in seconds.
const TIMEOUT_SECONDS_DEFAULT: u64 = 600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Trust {
    /// The agent runs all hooks of its settings.
    NotRequired,
    Given,
    /// Other content was approved at this position.
    Outdated,
    Missing,
    /// The person has disabled it.
    Off,
}

pub(super) struct HookLocation<'a> {
    pub(super) file: &'a Path,
    pub(super) event: &'a str,
    pub(super) group: usize,
    pub(super) handler: usize,
}

/// Reads the state of a hook from Codex's settings.
pub(super) fn of(config: &DocumentMut, place: &HookLocation<'_>, group: &Value) -> Trust {
    let Some(state) = state(config, place) else { return Trust::Missing };
    if state.get("enabled").and_then(Item::as_bool) == Some(false) {
        return Trust::Off;
    }
    let Some(trusted) = state.get("trusted_hash").and_then(Item::as_str) else {
        return Trust::Missing;
    };
    match hash(place.event, group, place.handler) {
        Some(present) if present == trusted => Trust::Given,
        _ => Trust::Outdated,
    }
}

/// The hook's table. Codex may have resolved links in the file's path.
fn state<'a>(
    config: &'a DocumentMut,
    place: &HookLocation<'_>,
) -> Option<&'a dyn toml_edit::TableLike> {
    let end = format!(":{}:{}:{}", snake(place.event), place.group, place.handler);
    let states = config.get("hooks")?.get("state")?.as_table_like()?;
    let is_file = |path: &str| {
        let resolved = |path: &Path| fs::canonicalize(path).ok();
        Path::new(path) == place.file || resolved(Path::new(path)) == resolved(place.file)
    };
    let mut of_place = states
        .iter()
        .filter(|(key, _)| key.strip_suffix(end.as_str()).is_some_and(is_file))
        .filter_map(|(_, state)| state.as_table_like());
    of_place.next()
}

/// The hash of a hook as Codex computes it: of its settings with defaults and sorted keys.
fn hash(event: &str, group: &Value, handler: usize) -> Option<String> {
    let written = group["hooks"].get(handler)?;
    let mut hook = json!({ "async": false, "type": "command" });
    hook["command"] = written["command"].clone();
    let timeout = written["timeout"].as_u64().unwrap_or(TIMEOUT_SECONDS_DEFAULT);
    hook["timeout"] = timeout.max(1).into();
    if written["statusMessage"].is_string() {
        hook["statusMessage"] = written["statusMessage"].clone();
    }
    let mut identity = json!({ "event_name": snake(event), "hooks": [hook] });
    if group["matcher"].is_string() {
        identity["matcher"] = group["matcher"].clone();
    }
    let digest = Sha256::digest(sorted(&identity).to_string());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("sha256:{hex}"))
}

/// The value with sorted keys, whichever order serde_json keeps.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields = fields.into_iter().map(|(name, field)| (name.clone(), sorted(field)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        plain => plain.clone(),
    }
}

/// `SessionStart` as `session_start`.
fn snake(event: &str) -> String {
    let mut name = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As computed by Codex 0.169.0.
    const COMMAND: &str = "/opt/longhaul hook PreCompact --agent codex";
    const HASH: &str = "sha256:01f5a68ed4c3ad020744cc7df8f47efc89c3c899139a64d0946917b2d6f6ce01";

    fn trust(config: &str, command: &str) -> Trust {
        let group = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 5 }] });
        let file = Path::new("/h/.codex/hooks.json");
        let place = HookLocation { file, event: "PreCompact", group: 1, handler: 0 };
        of(&config.parse().unwrap(), &place, &group)
    }

    #[test]
    fn only_the_approved_content_is_trusted() {
        let state = |more: &str| {
            format!("[hooks.state.\"/h/.codex/hooks.json:pre_compact:1:0\"]\n{more}\n")
        };
        let trusted = state(&format!("trusted_hash = \"{HASH}\""));
        assert_eq!(trust(&trusted, COMMAND), Trust::Given);
        assert_eq!(trust(&trusted, "/elsewhere/longhaul hook PreCompact"), Trust::Outdated);
        assert_eq!(trust("", COMMAND), Trust::Missing);
        assert_eq!(trust(&trusted.replace(":1:0", ":0:0"), COMMAND), Trust::Missing);
        assert_eq!(trust(&state("enabled = false"), COMMAND), Trust::Off);
    }
}
