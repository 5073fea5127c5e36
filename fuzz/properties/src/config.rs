//! `config.toml`, as a person may write it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use longhaul_daemon::args::Args;
use longhaul_daemon::config::{Config, ConfigError, Surroundings};
use longhaul_daemon::paths::Base;

/// The input is the text of the file.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lines = text.matches('\n').count() + 1;
    match load(text) {
        Ok(config) => {
            let again = load(text).expect("the same text is accepted again");
            assert_eq!(config.entries(), again.entries());
            assert!(config.state_dir.is_absolute() && config.socket.is_absolute());
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            if let ConfigError::InFile { error, .. } = error
                && let ConfigError::Syntax { line, .. } = *error
            {
                assert!((1..=lines).contains(&line), "line {line} of {lines}");
            }
        }
    }
}

fn load(text: &str) -> Result<Config, ConfigError> {
    let home = Path::new("/home/ada");
    let around = Surroundings {
        base: Base::under(home),
        current_dir: home.to_owned(),
        program: PathBuf::from("/usr/bin/longhauld"),
        env: BTreeMap::new(),
    };
    Config::of_text(text, home.join("config.toml"), &Args::default(), &around)
}
