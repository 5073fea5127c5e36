//! The user's context-window settings, read from the agent's own configuration so that ours need not repeat them.
//!
//! The file has a few KiB and is read on every request, so changes apply at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

/// The agents' configurations, in their folders.
const CODEX_FILE: &str = "config.toml";
const CLAUDE_FILE: &str = "settings.json";

/// The suffix by which Claude Code marks a model's long window, and that window.
const CLAUDE_LONG: (&str, u64) = ("[1m]", 1_000_000);

/// Maximum bytes of a configuration; a longer file is ignored.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Maximum bytes of a prompt in a separate file.
const PROMPT_BYTES_MAX: u64 = longhaul_core::template::TEMPLATE_BYTES as u64;

/// The window and the compaction limit in tokens, and the prompt for a summary, as far as the user set them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AgentSettings {
    pub(crate) window: Option<u64>,
    /// When to compact; 0 is before every turn.
    pub(crate) limit: Option<u64>,
    /// The prompt for the agent's own compactions.
    pub(crate) compact_prompt: Option<String>,
}

/// The keys of Codex that matter here.
#[derive(Deserialize, Default)]
struct Codex {
    profile: Option<toml::Value>,
    #[serde(default)]
    profiles: BTreeMap<String, toml::Value>,
    #[serde(flatten)]
    keys: Keys,
}

/// The keys that a profile may also have.
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
    /// The settings of Codex, whose folder is `home`. Empty for a missing or invalid file: the agent does not start with
    /// an invalid one, and reports it itself.
    pub(crate) fn of_codex(home: &Path) -> Self {
        let text = read(&home.join(CODEX_FILE), FILE_BYTES_MAX);
        let Some(config) = text.and_then(|text| toml::from_str::<Codex>(&text).ok()) else {
            return Self::default();
        };
        let Codex { profile, mut profiles, keys } = config;
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

    /// The settings of Claude Code, whose transcripts do not reveal whether a model has its long window.
    pub(crate) fn of_claude(home: &Path) -> Self {
        let text = read(&home.join(CLAUDE_FILE), FILE_BYTES_MAX).unwrap_or_default();
        let model = serde_json::from_str::<Claude>(&text).ok().and_then(|settings| settings.model);
        let (mark, tokens) = CLAUDE_LONG;
        let window = model.filter(|model| model.ends_with(mark)).map(|_| tokens);
        Self { window, ..Self::default() }
    }
}

/// Reads a text file; `None` if it does not exist or is too long.
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
    fn claude_codes_long_window_is_marked_in_its_settings() {
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
    fn valid_numbers_are_read_and_everything_else_is_ignored() {
        let home = tempfile::tempdir().unwrap();
        let read_codex = |text: &str| {
            std::fs::write(home.path().join(CODEX_FILE), text).unwrap();
            let AgentSettings { window, limit, .. } = AgentSettings::of_codex(home.path());
            (window, limit)
        };
        assert_eq!(AgentSettings::of_codex(home.path()), AgentSettings::default());
        let both = "model = \"m\"\nmodel_context_window = 200_000\nmodel_auto_compact_token_limit = 0\n[mcp_servers.x]\ncommand = \"y\"\n";
        assert_eq!(read_codex(both), (Some(200_000), Some(0)));
        assert_eq!(
            read_codex("model_auto_compact_token_limit = -1\nmodel_context_window = 0\n"),
            (None, None)
        );
        assert_eq!(read_codex("model_auto_compact_token_limit = \"many\"\n"), (None, None));
        assert_eq!(read_codex("model_auto_compact_token_limit = \n"), (None, None));
        assert_eq!(
            read_codex("[profiles.fast]\nmodel_auto_compact_token_limit = 9\n"),
            (None, None)
        );
    }

    #[test]
    fn a_profile_overrides_the_rest_and_an_inline_prompt_a_file() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("prompt.md");
        std::fs::write(&file, "\n from {a} file \n").unwrap();
        let read_codex = |text: &str| {
            std::fs::write(home.path().join(CODEX_FILE), text).unwrap();
            let settings = AgentSettings::of_codex(home.path());
            (settings.limit, settings.compact_prompt)
        };
        let words = |text: &str| Some(text.to_owned());
        let profiles =
            "[profiles.fast]\nmodel_auto_compact_token_limit = 9\ncompact_prompt = \"be quick\"\n";
        let top = "model_auto_compact_token_limit = 7\nexperimental_compact_prompt_file = \"prompt.md\"\n";
        assert_eq!(read_codex(&format!("{top}{profiles}")), (Some(7), words("from {a} file")));
        let chosen = format!("profile = \"fast\"\n{top}{profiles}");
        assert_eq!(read_codex(&chosen), (Some(9), words("be quick")));
        let absolute = format!(
            "experimental_compact_prompt_file = {:?}\ncompact_prompt = \"  \"",
            file.display()
        );
        assert_eq!(read_codex(&absolute), (None, words("from {a} file")));
        assert_eq!(
            read_codex("compact_prompt = \"a\"\nexperimental_compact_prompt_file = \"prompt.md\""),
            (None, words("a"))
        );
        assert_eq!(
            read_codex("experimental_compact_prompt_file = \"nowhere.md\"\nprofile = \"none\""),
            (None, None)
        );
    }
}
