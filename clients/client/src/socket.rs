//! The path of the daemon's socket.
//!
//! `$LONGHAUL_SOCKET`, else `socket` of the configuration, else `$XDG_RUNTIME_DIR/longhaul/v1.sock`, else
//! `<state dir>/run/v1.sock`, where the state dir is `$LONGHAUL_STATE_DIR`, else `state_dir` of the configuration. The
//! daemon has the same rule, but its flags override all of these.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use directories::BaseDirs;
use longhaul_protocol::PROTOCOL_MAJOR;
use serde::Deserialize;

/// Names the socket, before any other rule.
pub const SOCKET_VARIABLE: &str = "LONGHAUL_SOCKET";
/// Names the folder of the daemon's database and logs.
pub const STATE_DIR_VARIABLE: &str = "LONGHAUL_STATE_DIR";
/// Names the daemon's configuration file.
const CONFIG_VARIABLE: &str = "LONGHAUL_CONFIG";

/// The socket; `None` for a user without a home folder.
#[must_use]
pub fn default_socket() -> Option<PathBuf> {
    let configured = ConfiguredPaths::of_user();
    socket_in(&|name| env::var_os(name), configured.socket, state_dir(configured.state_dir))
}

/// The state folder; `None` for a user without a home folder.
#[must_use]
pub fn default_state_dir() -> Option<PathBuf> {
    state_dir(ConfiguredPaths::of_user().state_dir)
}

/// The state folder by the environment, else `configured`, else the usual one.
pub(crate) fn state_dir(configured: Option<PathBuf>) -> Option<PathBuf> {
    set(env::var_os(STATE_DIR_VARIABLE)).map(PathBuf::from).or(configured).or_else(|| {
        let folders = BaseDirs::new()?;
        let state = folders.state_dir().unwrap_or_else(|| folders.data_local_dir());
        Some(state.join("longhaul"))
    })
}

/// The keys of the daemon's configuration that decide where its socket is.
#[derive(Debug, Default, PartialEq, Deserialize)]
struct ConfiguredPaths {
    socket: Option<PathBuf>,
    state_dir: Option<PathBuf>,
}

impl ConfiguredPaths {
    fn of_user() -> Self {
        let Some(folders) = BaseDirs::new() else { return Self::default() };
        let named = set(env::var_os(CONFIG_VARIABLE)).map(PathBuf::from);
        let usual = || folders.config_dir().join("longhaul/config.toml");
        Self::read(&named.unwrap_or_else(usual), folders.home_dir())
    }

    /// None from a file that is missing or invalid: the daemon does not start with an invalid one, and says why.
    fn read(file: &Path, home: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap_or_default();
        let keys: Self = toml::from_str(&text).unwrap_or_default();
        let folder = file.parent().unwrap_or(home);
        let resolve = |path: PathBuf| match path.strip_prefix("~") {
            Ok(rest) => home.join(rest),
            Err(_) => folder.join(path),
        };
        Self { socket: keys.socket.map(resolve), state_dir: keys.state_dir.map(resolve) }
    }
}

fn socket_in(
    variable: &impl Fn(&str) -> Option<OsString>,
    configured: Option<PathBuf>,
    state_dir: Option<PathBuf>,
) -> Option<PathBuf> {
    if let Some(named) = set(variable(SOCKET_VARIABLE)) {
        return Some(named.into());
    }
    let runtime = set(variable("XDG_RUNTIME_DIR")).filter(|path| Path::new(path).is_absolute());
    let folder = match runtime {
        Some(runtime) => Some(Path::new(&runtime).join("longhaul")),
        None => state_dir.map(|folder| folder.join("run")),
    };
    let usual = folder.map(|folder| folder.join(format!("v{PROTOCOL_MAJOR}.sock")));
    // A daemon started by systemd's socket unit ignores the configured one.
    let is_ignored =
        |path: &PathBuf| !path.exists() && usual.as_ref().is_some_and(|usual| usual.exists());
    configured.filter(|path| !is_ignored(path)).or(usual)
}

/// An empty variable counts as unset.
fn set(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], configured: Option<&Path>, expected: &str) {
        let variable = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted)?;
            Some(OsString::from(found.1))
        };
        let state_dir = Some("/home/ada/.local/state/longhaul".into());
        let socket = socket_in(&variable, configured.map(Path::to_owned), state_dir);
        assert_eq!(socket.as_deref(), Some(Path::new(expected)));
    }

    #[test]
    fn the_named_socket_then_the_runtime_folder_then_the_state_folder() {
        let named = [("LONGHAUL_SOCKET", "/x.sock"), ("XDG_RUNTIME_DIR", "/run/user/1")];
        check(&named, None, "/x.sock");
        check(&[("XDG_RUNTIME_DIR", "/run/user/1")], None, "/run/user/1/longhaul/v1.sock");
        check(&[("LONGHAUL_SOCKET", "")], None, "/home/ada/.local/state/longhaul/run/v1.sock");
        check(&[("XDG_RUNTIME_DIR", "run")], None, "/home/ada/.local/state/longhaul/run/v1.sock");
    }

    #[test]
    fn the_configured_socket_comes_after_the_named_one_unless_only_the_usual_one_exists() {
        let folder = tempfile::tempdir().unwrap();
        let configured = folder.path().join("mine.sock");
        let runtime = [("XDG_RUNTIME_DIR", folder.path().to_str().unwrap())];
        check(&[("LONGHAUL_SOCKET", "/x.sock")], Some(&configured), "/x.sock");
        check(&runtime, Some(&configured), configured.to_str().unwrap());
        let usual = folder.path().join("longhaul/v1.sock");
        fs::create_dir(folder.path().join("longhaul")).unwrap();
        fs::write(&usual, "").unwrap();
        check(&runtime, Some(&configured), usual.to_str().unwrap());
        fs::write(&configured, "").unwrap();
        check(&runtime, Some(&configured), configured.to_str().unwrap());
    }

    #[test]
    fn paths_of_the_configuration_begin_at_home_or_at_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (file, home) = (folder.path().join("config.toml"), Path::new("/home/ada"));
        assert_eq!(ConfiguredPaths::read(&file, home), ConfiguredPaths::default());
        fs::write(&file, "socket = '~/v1.sock'\nstate_dir = 'state'\n[model]\nname = 'x'\n")
            .unwrap();
        let expected = ConfiguredPaths {
            socket: Some("/home/ada/v1.sock".into()),
            state_dir: Some(folder.path().join("state")),
        };
        assert_eq!(ConfiguredPaths::read(&file, home), expected);
        fs::write(&file, "socket =").unwrap();
        assert_eq!(ConfiguredPaths::read(&file, home), ConfiguredPaths::default());
    }
}
