//! What the user told their agent about its window, in the agent's own configuration: a limit that is set
//! there is the user's, and need not be said twice.
//!
//! Read each time it is asked for: a few KiB, and what the user changed holds at once.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

/// The agent's configuration, below its folder.
const CODEX_FILE: &str = "config.toml";

/// Bytes of it that are read; a longer one is not a configuration.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A window and when to compact, in tokens, as far as the user said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AgentSettings {
    pub(crate) window: Option<u64>,
    /// When to compact; 0 is before every turn.
    pub(crate) limit: Option<u64>,
}

/// The two keys that matter here; everything else is the agent's.
#[derive(Deserialize)]
struct Codex {
    model_context_window: Option<toml::Value>,
    model_auto_compact_token_limit: Option<toml::Value>,
}

impl AgentSettings {
    /// Those of Codex, whose folder is `home`. Nothing for a file that is not there or is no TOML: to tell the
    /// user so is for the agent, which does not start with it.
    pub(crate) fn of_codex(home: &Path) -> Self {
        let mut text = String::new();
        let file = File::open(home.join(CODEX_FILE));
        let read = file.and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
        let Ok(told) =
            read.map_err(drop).and_then(|_| toml::from_str::<Codex>(&text).map_err(drop))
        else {
            return Self::default();
        };
        let number = |value: Option<toml::Value>| u64::try_from(value?.as_integer()?).ok();
        Self {
            window: number(told.model_context_window).filter(|tokens| *tokens > 0),
            limit: number(told.model_auto_compact_token_limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_and_nothing_else_stands_in_the_way() {
        let home = tempfile::tempdir().unwrap();
        let told = |text: &str| {
            std::fs::write(home.path().join(CODEX_FILE), text).unwrap();
            let AgentSettings { window, limit } = AgentSettings::of_codex(home.path());
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
}
