//! Normalizes folders as scopes: one form per folder, however it is spelled.
//!
//! Windows threads name folders with a drive and either slash, in any case; agents create worktrees inside
//! the project.

use std::borrow::Cow;

/// Folders in which agents keep worktrees of the enclosing project.
const WORKTREES: &[&str] = &["/.claude/worktrees/", "/.codex/worktrees/", "/.worktrees/"];

/// Scope of threads without a folder: no project, since nothing distinguishes them from strangers.
pub const NOWHERE: &str = "(no folder)";

/// The project of a thread in `folder`, judged by its path.
pub fn project(folder: &str) -> String {
    let plain = plain(folder);
    let end = WORKTREES.iter().filter_map(|inside| plain.find(inside)).min();
    plain[..end.unwrap_or(plain.len())].to_owned()
}

/// The folder with forward slashes, an upper-case drive, and no trailing slash.
pub fn plain(folder: &str) -> Cow<'_, str> {
    let trimmed = folder.trim_end_matches('/');
    if !is_windows(folder) {
        return Cow::Borrowed(if trimmed.is_empty() { folder } else { trimmed });
    }
    let mut plain = folder.trim_end_matches(['/', '\\']).replace('\\', "/");
    if plain.as_bytes().get(1) == Some(&b':') {
        plain[..1].make_ascii_uppercase();
    }
    Cow::Owned(plain)
}

/// Whether `folder` is `outer` or inside it.
pub fn is_inside(folder: &str, outer: &str) -> bool {
    let (folder, outer) = (plain(folder), plain(outer));
    let ignores_case = is_windows(&outer);
    let Some(first) = folder.get(..outer.len()) else { return false };
    let is_same = if ignores_case { first.eq_ignore_ascii_case(&outer) } else { first == outer };
    is_same && (folder.len() == outer.len() || folder[outer.len()..].starts_with('/'))
}

/// Whether a folder contains everything of a person or machine and thus is not a project.
pub fn holds_everything(folder: &str) -> bool {
    let folder = plain(folder);
    let rest = if is_windows(&folder) { folder.get(2..).unwrap_or_default() } else { &folder };
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    match parts.first().map(|top| top.to_ascii_lowercase()).as_deref() {
        None => true,
        Some("home" | "users") => parts.len() < 3,
        Some("root") => parts.len() < 2,
        Some(_) => false,
    }
}

fn is_windows(folder: &str) -> bool {
    let bytes = folder.as_bytes();
    let is_drive = matches!(bytes, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
        || matches!(bytes, [letter, b':'] if letter.is_ascii_alphabetic());
    is_drive || folder.starts_with("\\\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_form() {
        for (folder, expected) in [
            ("/w/app/", "/w/app"),
            ("/", "/"),
            ("d:\\code\\app\\", "D:/code/app"),
            ("D:/code/app", "D:/code/app"),
            ("D:/code/app/.claude/worktrees/wise-fox-1", "D:/code/app"),
            ("/w/app/.worktrees/fix", "/w/app"),
            ("\\\\host\\share\\app", "//host/share/app"),
            ("/w/back\\slash", "/w/back\\slash"),
        ] {
            assert_eq!(project(folder), expected, "{folder}");
        }
    }

    #[test]
    fn inside_compares_whole_names() {
        for (folder, outer, expected) in [
            ("/w/app/src", "/w/app", true),
            ("/w/app", "/w/app/", true),
            ("/w/apple", "/w/app", false),
            ("/W/app", "/w/app", false),
            ("d:\\code\\APP\\src", "D:/code/app", true),
            ("D:/code/application", "D:\\code\\app", false),
        ] {
            assert_eq!(is_inside(folder, outer), expected, "{folder} in {outer}");
        }
        for folder in ["/", "/home", "/home/u", "C:\\", "C:\\Users\\u", "/root"] {
            assert!(holds_everything(folder), "{folder}");
        }
        for folder in ["/home/u/app", "C:\\Users\\u\\app", "/w", "D:/app", "/rootfs"] {
            assert!(!holds_everything(folder), "{folder}");
        }
    }

    #[test]
    fn the_home_of_root_is_no_project_but_a_folder_in_it_is() {
        let home = "/root";
        assert!(holds_everything(home) && !holds_everything(&format!("{home}/app")));
    }
}
