//! The socket and its folder: whether they exist, belong to us and are private.

use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::check::Check;

/// Permission bits of group and others.
const GROUP_OTHER_MASK: u32 = 0o077;

pub(super) fn checks(socket: Option<&Path>) -> Vec<Check> {
    let Some(socket) = socket else {
        let hint = "set LONGHAUL_SOCKET, or name it with --socket PATH";
        return vec![Check::fail("socket", "there is no home folder to look in", hint)];
    };
    let folder = socket.parent().unwrap_or(Path::new("/"));
    [check_socket("socket", socket), check_private("socket folder", folder)]
        .into_iter()
        .flatten()
        .collect()
}

pub(super) fn check_socket(name: &'static str, path: &Path) -> Option<Check> {
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let hint = "start the daemon, which creates it: longhaul up";
            Some(Check::fail(name, format!("{shown} does not exist"), hint))
        }
        Err(error) => Some(Check::fail(name, format!("{shown}: {error}"), "check its folder")),
        Ok(file) if !file.file_type().is_socket() => {
            let hint = "move it away, then run longhaul up";
            Some(Check::fail(name, format!("{shown} is not a socket"), hint))
        }
        Ok(_) => check_private(name, path),
    }
}

/// Whether it belongs to us and is closed to others; `None` if it does not exist, which another check reports.
fn check_private(name: &'static str, path: &Path) -> Option<Check> {
    let file = std::fs::metadata(path).ok()?;
    let (shown, mode) = (path.display(), file.mode() & 0o777);
    if file.uid() != rustix::process::getuid().as_raw() {
        let detail = format!("{shown} belongs to user {}", file.uid());
        return Some(Check::fail(name, detail, "set LONGHAUL_SOCKET to a path in your own folder"));
    }
    if mode & GROUP_OTHER_MASK != 0 {
        let detail = format!("{shown} is accessible to others (mode {mode:04o})");
        let private = if file.is_dir() { "700" } else { "600" };
        return Some(Check::fail(name, detail, format!("chmod {private} {shown}")));
    }
    Some(Check::ok(name, format!("{shown} (mode {mode:04o})")))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::super::check::State;
    use super::*;

    fn states(socket: &Path) -> Vec<State> {
        checks(Some(socket)).iter().map(|check| check.state).collect()
    }

    #[test]
    fn socket_must_exist_and_be_private() {
        let folder = tempfile::tempdir().unwrap();
        let chmod = |path: &Path, mode| {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        chmod(folder.path(), 0o700);
        let path = folder.path().join("v1.sock");
        assert_eq!(states(&path), [State::Fail, State::Ok]);
        let _listener = UnixListener::bind(&path).unwrap();
        chmod(&path, 0o600);
        assert_eq!(states(&path), [State::Ok, State::Ok]);
        chmod(&path, 0o666);
        chmod(folder.path(), 0o755);
        assert_eq!(states(&path), [State::Fail, State::Fail]);
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(states(&file)[0], State::Fail);
        assert_eq!(checks(None)[0].state, State::Fail);
    }
}
