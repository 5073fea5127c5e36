//! The folder a process works in, as the system tells it: that is the project an agent may ask about.
//!
//! Only Linux tells, by `/proc/PID/cwd`, and not to a daemon in a user namespace of its own, in which a user's
//! systemd puts a service with a read-only file system. There nothing is known, and a client's own word counts only
//! where the configuration says so. Where the system tells of others and not of this process (it hides itself, or
//! has ended), nothing is believed in any case.

/// What is known about the folder of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkFolder {
    /// It works here.
    Known(String),
    /// The system would tell, but not of this process.
    Hidden,
}

/// The folder the process `pid` works in; `None` where the system does not tell.
///
/// `pid` is read from the socket, so it was right when the peer connected. A process that ended and whose number was
/// given to another while the folder was read is told by the time it started.
pub fn folder_of(pid: Option<i32>) -> Option<WorkFolder> {
    match pid.and_then(system::folder) {
        Some(folder) => Some(WorkFolder::Known(folder)),
        None => system::TELLS.then(system::sees_all)?.then_some(WorkFolder::Hidden),
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    pub(super) const TELLS: bool = true;

    pub(super) fn folder(pid: i32) -> Option<String> {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let before = started(&process)?;
        let link = process.join("cwd");
        let folder = fs::read_link(&link).ok()?;
        // In a mount namespace of its own it may work in another folder under this name.
        let (there, here) = (fs::metadata(&link).ok()?, fs::metadata(&folder).ok()?);
        let is_same = (there.dev(), there.ino()) == (here.dev(), here.ino());
        let is_alive = started(&process)? == before;
        if is_same && is_alive { folder.into_os_string().into_string().ok() } else { None }
    }

    /// When a process started, in the kernel's ticks: with its number, its identity.
    ///
    /// # Source
    /// proc_pid_stat(5): field 22. The second field, a name in brackets, may hold blanks and brackets.
    fn started(process: &std::path::Path) -> Option<u64> {
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
    }

    /// Whether this process is in the first user namespace: there the system hides no process of the same user
    /// that does not hide itself.
    pub(super) fn sees_all() -> bool {
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) const TELLS: bool = false;

    pub(super) fn folder(_: i32) -> Option<String> {
        None
    }

    pub(super) fn sees_all() -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_where_the_system_sees_it_and_an_ended_one_nowhere() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().canonicalize().unwrap();
        let mut cat = Command::new("cat");
        let mut child = cat.current_dir(&folder).stdin(Stdio::piped()).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let known = WorkFolder::Known(folder.display().to_string());
        assert_eq!(folder_of(Some(pid)), Some(known));
        drop(child.stdin.take());
        child.wait().unwrap();
        for gone in [Some(pid), None] {
            assert!(!matches!(folder_of(gone), Some(WorkFolder::Known(_))));
        }
    }
}
