//! Normalizes paths as agents write them, without access to a disk.

/// Whether a path starts at a root, a home or a drive (`D:/`).
pub fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '~']) || drive(path).is_some()
}

/// The drive letter of a Windows path.
fn drive(path: &str) -> Option<char> {
    let mut chars = path.chars();
    let letter = chars.next().filter(char::is_ascii_alphabetic)?;
    chars.as_str().starts_with(":/").then_some(letter)
}

/// Splits a path of a Unix shell on Windows: the letter and `oh/x` of `/d/oh/x`.
fn mounted(path: &str) -> Option<(char, &str)> {
    let mut chars = path.strip_prefix('/')?.chars();
    let letter = chars.next().filter(char::is_ascii_alphabetic)?;
    match chars.as_str() {
        "" => Some((letter, "")),
        rest => Some((letter, rest.strip_prefix('/')?)),
    }
}

/// Makes the path absolute and removes `.` and `..`; a relative one without a folder stays relative. Below a
/// folder on a drive, `/d/x` means `D:/x`, as in the shells there.
pub fn absolute(path: &str, cwd: Option<&str>) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    match (cwd, mounted(path)) {
        (Some(cwd), Some((letter, rest))) if drive(cwd).is_some() => {
            resolved(&format!("{}:", letter.to_ascii_uppercase()), rest)
        }
        (Some(cwd), _) if !is_absolute(path) => resolved(cwd, path),
        _ => resolved("", path),
    }
}

/// Joins `path` to `folder` (which may be empty) without `.` and `..`.
fn resolved(folder: &str, path: &str) -> String {
    let whole = if folder.is_empty() { path } else { folder };
    // Nearly all paths are resolved already, so there is no need to take them apart.
    if is_resolved(whole.strip_prefix('/').unwrap_or(whole)) {
        match folder {
            "" => return path.to_owned(),
            _ if is_resolved(path) => return [folder, "/", path].concat(),
            _ => {}
        }
    }
    let root = usize::from(whole.starts_with('/'));
    let mut key = String::with_capacity(folder.len() + path.len() + 1);
    key.push_str(&whole[..root]);
    for part in folder.split('/').chain(path.split('/')) {
        let is_climb = key == ".." || key.ends_with("/..");
        match part {
            "" | "." => {}
            ".." if key.len() > root && !is_climb => {
                key.truncate(key.rfind('/').map_or(0, |at| at.max(root)));
            }
            ".." if root == 1 => {}
            part => {
                if key.len() > root {
                    key.push('/');
                }
                key.push_str(part);
            }
        }
    }
    key
}

/// Whether no part of a relative path is empty or begins with a dot.
fn is_resolved(path: &str) -> bool {
    let follows_slash = |at: usize| matches!(path.as_bytes().get(at + 1), Some(b'/' | b'.') | None);
    !path.is_empty()
        && !path.starts_with(['/', '.'])
        && !memchr::memchr_iter(b'/', path.as_bytes()).any(follows_slash)
}

/// Temporary folders, in lower case.
const TEMPORARY: &[&str] = &["/tmp/", "/private/tmp/", "/var/tmp/", "/var/folders/", "/dev/"];

/// The same, wherever they are: the temporary folders of Windows, and the agents' own.
const TEMPORARY_ANYWHERE: &[&str] = &["/appdata/local/temp/", "/windows/temp/", "/scratchpad/"];

/// Whether a path is in a temporary folder, or a device.
pub fn is_temporary(path: &str) -> bool {
    let lower = path.to_lowercase().replace('\\', "/");
    TEMPORARY.iter().any(|folder| lower.starts_with(folder))
        || TEMPORARY_ANYWHERE.iter().any(|folder| lower.contains(folder))
}

/// Whether a path is in a temporary folder, or only the shell knows where it is.
pub fn is_temporary_or_unresolved(path: &str) -> bool {
    is_temporary(path) || path.contains('$')
}

/// Whether a file is temporary and not in a folder of its own below `/tmp`, where agents make worktrees.
pub fn is_scratch_file(path: &str) -> bool {
    let below_tmp = path.strip_prefix("/tmp/").or_else(|| path.strip_prefix("/private/tmp/"));
    let is_worktree = || {
        below_tmp.is_some_and(|below| below.contains('/'))
            && !TEMPORARY_ANYWHERE.iter().any(|folder| path.contains(folder))
    };
    is_temporary(path) && !is_worktree()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_are_known_on_every_system() {
        for path in [
            "/tmp/a.py",
            "/private/tmp/a.py",
            "/var/folders/x1/T/a.py",
            "/var/tmp/a.py",
            "/dev/shm/a.py",
            "C:/w/AppData/Local/Temp/x/a.py",
            "c:\\users\\me\\appdata\\local\\temp\\a.py",
            "/tmp/claude-1000/-w-app/1a2b/scratchpad/a.py",
        ] {
            assert!(is_temporary(path) && is_scratch_file(path), "{path}");
        }
        for path in ["/tmp/worktree/src/a.rs", "/private/tmp/worktree/src/a.rs"] {
            assert!(is_temporary(path) && !is_scratch_file(path), "{path}");
        }
        for path in ["/w/tmp/a.rs", "src/temp/a.rs", "/w/dev/a.rs", "tmp/a.rs", "/tmp.rs"] {
            assert!(!is_temporary(path) && !is_scratch_file(path), "{path}");
        }
    }

    #[test]
    fn a_path_has_no_empty_or_dotted_parts() {
        for (path, cwd, expected) in [
            ("src/a.rs", Some("/w"), "/w/src/a.rs"),
            ("./a.rs", Some("/w/"), "/w/a.rs"),
            ("../a.rs", Some("/w/src"), "/w/a.rs"),
            ("..", Some("/w/src"), "/w"),
            (".env", Some("/w"), "/w/.env"),
            ("a..b/c.", Some("w"), "w/a..b/c."),
            ("/w//src/./a.rs", None, "/w/src/a.rs"),
            ("/w/src/", None, "/w/src"),
            ("/w/src/..", None, "/w"),
            ("/", None, "/"),
            ("./src/a.rs", None, "src/a.rs"),
            ("src/./a.rs", Some("./w"), "w/src/a.rs"),
            ("//w/a.rs", None, "/w/a.rs"),
            ("", Some("/w"), "/w"),
            ("a.rs", Some("/"), "/a.rs"),
            ("~/a.rs", Some("/w"), "~/a.rs"),
            ("file:///w/a.rs", Some("/v"), "/w/a.rs"),
            // There is nothing above the root.
            ("/../a.rs", None, "/a.rs"),
            ("../../../a.rs", Some("/w/src"), "/a.rs"),
            // What is above a folder that is not known is not known either.
            ("../a.rs", None, "../a.rs"),
            ("../../../a.rs", None, "../../../a.rs"),
            ("../../a.rs", Some("w"), "../a.rs"),
            ("w/../../a.rs", None, "../a.rs"),
        ] {
            assert_eq!(absolute(path, cwd), expected, "{path} in {cwd:?}");
        }
    }

    #[test]
    fn a_drive_has_one_name() {
        for (path, cwd, expected) in [
            ("/d/w/src/a.rs", Some("D:/w"), "D:/w/src/a.rs"),
            ("src/a.rs", Some("D:/w"), "D:/w/src/a.rs"),
            ("/d", Some("D:/w"), "D:/"),
            ("/tmp/a.rs", Some("D:/w"), "/tmp/a.rs"),
            ("/d/w/a.rs", Some("/d/w"), "/d/w/a.rs"),
            ("/d/w/a.rs", None, "/d/w/a.rs"),
            ("D:/w/../a.rs", Some("D:/w"), "D:/a.rs"),
        ] {
            assert_eq!(absolute(path, cwd), expected.trim_end_matches('/'), "{path} in {cwd:?}");
        }
    }
}
