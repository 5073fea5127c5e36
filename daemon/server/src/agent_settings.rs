//! What the user told their agent about its window, in the agent's own configuration: a limit that is set
//! there is the user's, and need not be said twice.
//!
//! Read each time it is asked for: a few KiB, and what the user changed holds at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

/// The agents' configurations, below their folders.
const CODEX_FILE: &str = "config.toml";
const CLAUDE_FILE: &str = "settings.json";

/// What Claude Code appends to a model's name for its long window, and that window.
const CLAUDE_LONG: (&str, u64) = ("[1m]", 1_000_000);

/// Bytes of it that are read; a longer one is not a configuration.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Bytes of a prompt in a file of its own.
const PROMPT_BYTES_MAX: u64 = longhaul_core::template::TEMPLATE_BYTES as u64;

/// A window and when to compact, in tokens, and how a summary is asked for, as far as the user said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AgentSettings {
    pub(crate) window: Option<u64>,
    /// When to compact; 0 is before every turn.
    pub(crate) limit: Option<u64>,
    /// What the user has a model asked when their agent compacts.
    pub(crate) compact_prompt: Option<String>,
}

/// The keys that matter here; everything else is the agent's.
#[derive(Deserialize, Default)]
struct Codex {
    profile: Option<toml::Value>,
    #[serde(default)]
    profiles: BTreeMap<String, toml::Value>,
    #[serde(flatten)]
    keys: Keys,
}

/// The keys that a profile may have, too.
#[derive(Deserialize, Default)]
struct Keys {
    model_context_window: Option<toml::Value>,
    model_auto_compact_token_limit: Option<toml::Value>,
    compact_prompt: Option<toml::Value>,
    experimental_compact_prompt_file: Option<toml::Value>,
}

#[derive(Deserialize)]
struct Claude {
    model: Option<String>,
}

impl AgentSettings {
    /// Those of Codex, whose folder is `home`. Nothing for a file that is not there or is no TOML: to tell the
    /// user so is for the agent, which does not start with it.
    pub(crate) fn of_codex(home: &Path) -> Self {
        let told = read(&home.join(CODEX_FILE), FILE_BYTES_MAX);
        let Some(told) = told.and_then(|text| toml::from_str::<Codex>(&text).ok()) else {
            return Self::default();
        };
        let Codex { profile, mut profiles, keys } = told;
        let profile = profile.as_ref().and_then(toml::Value::as_str);
        let profile = profile.and_then(|name| profiles.remove(name));
        let profile = profile.and_then(|keys| keys.try_into::<Keys>().ok()).unwrap_or_default();
        let number = |value: Option<toml::Value>| u64::try_from(value?.as_integer()?).ok();
        let window = profile.model_context_window.or(keys.model_context_window);
        let limit = profile.model_auto_compact_token_limit.or(keys.model_auto_compact_token_limit);
        let inline = profile.compact_prompt.or(keys.compact_prompt);
        let file =
            profile.experimental_compact_prompt_file.or(keys.experimental_compact_prompt_file);
        let words = |text: Option<&str>| {
            let text = text.map(str::trim).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let of_file = || {
            let text = read(&home.join(file.as_ref()?.as_str()?), PROMPT_BYTES_MAX)?;
            words(Some(&text))
        };
        Self {
            window: number(window).filter(|tokens| *tokens > 0),
            limit: number(limit),
            compact_prompt: words(inline.as_ref().and_then(toml::Value::as_str)).or_else(of_file),
        }
    }

    /// Those of Claude Code, whose transcripts name a model alike whether its window is the long one or not.
    pub(crate) fn of_claude(home: &Path) -> Self {
        let text = read(&home.join(CLAUDE_FILE), FILE_BYTES_MAX).unwrap_or_default();
        let told = serde_json::from_str::<Claude>(&text).ok().and_then(|told| told.model);
        let (mark, tokens) = CLAUDE_LONG;
        let window = told.filter(|model| model.ends_with(mark)).map(|_| tokens);
        Self { window, ..Self::default() }
    }
}

/// A text file; `None` where there is none, or not one that small.
fn read(path: &Path, bytes_max: u64) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok().filter(|file| {
        file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= bytes_max)
    });
    file?.take(bytes_max).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_code_names_its_long_window_in_its_settings_alone() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(AgentSettings::of_claude(home.path()), AgentSettings::default());
        for (text, window) in [
            (r#"{"model":"sonnet[1m]","hooks":{}}"#, Some(1_000_000)),
            (r#"{"model":"opus"}"#, None),
            (r#"{"model":1}"#, None),
            ("{", None),
        ] {
            std::fs::write(home.path().join(CLAUDE_FILE), text).unwrap();
            assert_eq!(AgentSettings::of_claude(home.path()).window, window, "{text}");
        }
    }

    #[test]
    fn numbers_are_taken_and_nothing_else_stands_in_the_way() {
        let home = tempfile::tempdir().unwrap();
        let told = |text: &str| {
            std::fs::write(home.path().join(CODEX_FILE), text).unwrap();
            let AgentSettings { window, limit, .. } = AgentSettings::of_codex(home.path());
            (window, limit)
        };
        assert_eq!(AgentSettings::of_codex(home.path()), AgentSettings::default());
        let both = "model = \"m\"\nmodel_context_window = 200_000\nmodel_auto_compact_token_limit = 0\n[mcp_servers.x]\ncommand = \"y\"\n";
        assert_eq!(told(both), (Some(200_000), Some(0)));
        assert_eq!(
            told("model_auto_compact_token_limit = -1\nmodel_context_window = 0\n"),
            (None, None)
        );
        assert_eq!(told("model_auto_compact_token_limit = \"many\"\n"), (None, None));
        assert_eq!(told("model_auto_compact_token_limit = \n"), (None, None));
        assert_eq!(told("[profiles.fast]\nmodel_auto_compact_token_limit = 9\n"), (None, None));
    }
    #[test]
    fn a_profile_stands_above_the_rest_and_an_inline_prompt_above_a_file() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("prompt.md");
        std::fs::write(&file, "\n from {a} file \n").unwrap();
        let told = |text: &str| {
            std::fs::write(home.path().join(CODEX_FILE), text).unwrap();
            let told = AgentSettings::of_codex(home.path());
            (told.limit, told.compact_prompt)
        };
        let words = |text: &str| Some(text.to_owned());
        let profiles =
            "[profiles.fast]\nmodel_auto_compact_token_limit = 9\ncompact_prompt = \"be quick\"\n";
        let top = "model_auto_compact_token_limit = 7\nexperimental_compact_prompt_file = \"prompt.md\"\n";
        assert_eq!(told(&format!("{top}{profiles}")), (Some(7), words("from {a} file")));
        let chosen = format!("profile = \"fast\"\n{top}{profiles}");
        assert_eq!(told(&chosen), (Some(9), words("be quick")));
        let absolute = format!(
            "experimental_compact_prompt_file = {:?}\ncompact_prompt = \"  \"",
            file.display()
        );
        assert_eq!(told(&absolute), (None, words("from {a} file")));
        assert_eq!(
            told("compact_prompt = \"a\"\nexperimental_compact_prompt_file = \"prompt.md\""),
            (None, words("a"))
        );
        assert_eq!(
            told("experimental_compact_prompt_file = \"nowhere.md\"\nprofile = \"none\""),
            (None, None)
        );
    }
}
