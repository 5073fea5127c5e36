//! Default paths.
//!
//! | what | place |
//! |---|---|
//! | configuration | `$XDG_CONFIG_HOME/longhaul/config.toml` |
//! | state (database, own transcripts, lock) | `$XDG_STATE_HOME/longhaul`, usually `~/.local/state/longhaul` |
//! | socket | `$XDG_RUNTIME_DIR/longhaul/v1.sock`, else `<state>/run/v1.sock` |
//! | agents | as `longhaul_core::rollout::source` has it |
//!
//! The socket's name contains the major protocol version, so that an old daemon never answers a new client.

use std::path::{Path, PathBuf};

use directories::BaseDirs;
use longhaul_protocol::PROTOCOL_MAJOR;

/// The user's folders that contain everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`.
    pub config: PathBuf,
    /// `$XDG_STATE_HOME`.
    pub state: PathBuf,
    /// `$XDG_RUNTIME_DIR`; `None` outside a login session.
    pub runtime: Option<PathBuf>,
}

impl Base {
    /// The folders of the process's user; `None` without a home folder.
    pub fn of_user() -> Option<Self> {
        let dirs = BaseDirs::new()?;
        let state = dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir());
        Some(Self {
            home: dirs.home_dir().to_owned(),
            config: dirs.config_dir().to_owned(),
            state: state.to_owned(),
            runtime: dirs.runtime_dir().map(Path::to_owned),
        })
    }

    /// Folders under `root`, for tests.
    #[must_use]
    pub fn under(root: &Path) -> Self {
        Self {
            home: root.to_owned(),
            config: root.join(".config"),
            state: root.join(".local/state"),
            runtime: None,
        }
    }

    pub fn config_file(&self) -> PathBuf {
        self.config.join("longhaul/config.toml")
    }

    pub fn state_dir(&self) -> PathBuf {
        self.state.join("longhaul")
    }

    /// The socket of a daemon with this state folder.
    pub fn socket(&self, state_dir: &Path) -> PathBuf {
        let folder = match &self.runtime {
            Some(runtime) => runtime.join("longhaul"),
            None => state_dir.join("run"),
        };
        folder.join(format!("v{PROTOCOL_MAJOR}.sock"))
    }

    /// Resolves a path as a person writes it: `~/` is the home folder; a relative one is relative to `from`.
    pub fn resolve(&self, path: &Path, from: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(rest) => self.home.join(rest),
            Err(_) => from.join(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_in_the_runtime_folder_and_else_under_the_state_folder() {
        let mut base = Base::under(Path::new("/home/ada"));
        let state = base.state_dir();
        assert_eq!(state, Path::new("/home/ada/.local/state/longhaul"));
        assert_eq!(base.socket(&state), state.join("run/v1.sock"));
        base.runtime = Some("/run/user/1000".into());
        assert_eq!(base.socket(&state), Path::new("/run/user/1000/longhaul/v1.sock"));
    }

    #[test]
    fn paths_are_read_as_a_person_writes_them() {
        let base = Base::under(Path::new("/home/ada"));
        let resolve = |path: &str| base.resolve(Path::new(path), Path::new("/etc/x"));
        assert_eq!(resolve("~/.codex"), Path::new("/home/ada/.codex"));
        assert_eq!(resolve("/srv/codex"), Path::new("/srv/codex"));
        assert_eq!(resolve("codex"), Path::new("/etc/x/codex"));
    }
}
