//! The working folder of a process, as reported by the system: it determines the project that an agent may access.
//!
//! Only Linux reports it, by `/proc/PID/cwd`, and not to a daemon in its own user namespace, such as a systemd user
//! service with a read-only file system. Without a report, a client's own statement counts only if the configuration
//! allows that. If the system reports other processes but not this one (it hides itself, or has ended), a statement never
//! counts.

/// The known working folder of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkFolder {
    Known(String),
    /// The system can report folders, but not that of this process.
    Hidden,
}

/// The working folder of the process `pid`; `None` if the system does not report any.
///
/// `pid` comes from the socket, so it was right when the peer connected. If the process has ended and its number was
/// reused, its start time differs.
pub fn folder_of(pid: Option<i32>) -> Option<WorkFolder> {
    match pid.and_then(system::folder) {
        Some(folder) => Some(WorkFolder::Known(folder)),
        None => system::REPORTS.then(system::sees_all)?.then_some(WorkFolder::Hidden),
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    pub(super) const REPORTS: bool = true;

    pub(super) fn folder(pid: i32) -> Option<String> {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let before = start_ticks(&process)?;
        let link = process.join("cwd");
        let folder = fs::read_link(&link).ok()?;
        // In another mount namespace, this path may be another folder.
        let (there, here) = (fs::metadata(&link).ok()?, fs::metadata(&folder).ok()?);
        let is_same = (there.dev(), there.ino()) == (here.dev(), here.ino());
        let is_alive = start_ticks(&process)? == before;
        if is_same && is_alive { folder.into_os_string().into_string().ok() } else { None }
    }

    /// The start time of a process in the kernel's ticks, which identifies it together with its number.
    ///
    /// # Source
    /// proc_pid_stat(5): field 22. The second field, a name in brackets, may contain blanks and brackets.
    fn start_ticks(process: &std::path::Path) -> Option<u64> {
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
    }

    /// Whether this process is in the initial user namespace. There, the system hides only those processes of the same user
    /// that hide themselves.
    pub(super) fn sees_all() -> bool {
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) const REPORTS: bool = false;

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
    fn a_running_process_has_a_folder_and_an_ended_one_has_none() {
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
