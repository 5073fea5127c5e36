//! The path of the daemon's socket.
//!
//! `$LONGHAUL_SOCKET`, else `$XDG_RUNTIME_DIR/longhaul/v1.sock`, else `<state dir>/run/v1.sock`. The daemon
//! has the same rule, so no configuration is needed. The environment is a parameter, so that the rule can be tested.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use directories::BaseDirs;
use longhaul_protocol::PROTOCOL_MAJOR;

/// Names the socket, before any other rule.
pub const SOCKET_VARIABLE: &str = "LONGHAUL_SOCKET";
/// Names the folder of the daemon's database and logs.
pub const STATE_DIR_VARIABLE: &str = "LONGHAUL_STATE_DIR";

/// The socket by the environment of this process; `None` for a user without a home folder.
#[must_use]
pub fn default_socket() -> Option<PathBuf> {
    socket_in(&|name| std::env::var_os(name), default_state_dir())
}

/// The state folder by the environment of this process; `None` for a user without a home folder.
#[must_use]
pub fn default_state_dir() -> Option<PathBuf> {
    set(std::env::var_os(STATE_DIR_VARIABLE)).map(PathBuf::from).or_else(|| {
        let folders = BaseDirs::new()?;
        let state = folders.state_dir().unwrap_or_else(|| folders.data_local_dir());
        Some(state.join("longhaul"))
    })
}

fn socket_in(
    variable: &impl Fn(&str) -> Option<OsString>,
    state_dir: Option<PathBuf>,
) -> Option<PathBuf> {
    if let Some(named) = set(variable(SOCKET_VARIABLE)) {
        return Some(named.into());
    }
    let runtime = set(variable("XDG_RUNTIME_DIR")).filter(|path| Path::new(path).is_absolute());
    let folder = match runtime {
        Some(runtime) => Path::new(&runtime).join("longhaul"),
        None => state_dir?.join("run"),
    };
    Some(folder.join(format!("v{PROTOCOL_MAJOR}.sock")))
}

/// An empty variable counts as unset.
fn set(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: &str) {
        let variable = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted)?;
            Some(OsString::from(found.1))
        };
        let socket = socket_in(&variable, Some("/home/ada/.local/state/longhaul".into()));
        assert_eq!(socket.as_deref(), Some(Path::new(expected)));
    }

    #[test]
    fn the_named_socket_then_the_runtime_folder_then_the_state_folder() {
        check(&[("LONGHAUL_SOCKET", "/x.sock"), ("XDG_RUNTIME_DIR", "/run/user/1")], "/x.sock");
        check(&[("XDG_RUNTIME_DIR", "/run/user/1")], "/run/user/1/longhaul/v1.sock");
        check(&[("LONGHAUL_SOCKET", "")], "/home/ada/.local/state/longhaul/run/v1.sock");
        check(&[("XDG_RUNTIME_DIR", "run")], "/home/ada/.local/state/longhaul/run/v1.sock");
    }
}
