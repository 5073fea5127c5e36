//! The project a folder lies in: the repository, so that its worktrees and subfolders share one memory.

use std::path::{Path, PathBuf};

use longhaul_core::memory::place;

/// Bytes of a `.git` file that are read.
const POINTER_BYTES_MAX: u64 = 4_096;

/// The root of the repository that `cwd` lies in, that of the main one for a worktree; `None` where there is
/// none, or none any more.
pub(super) fn project_of(cwd: &str) -> Option<String> {
    let start = Path::new(cwd);
    if !start.is_absolute() {
        return None;
    }
    start.ancestors().find_map(root_at).map(|root| root.display().to_string())
}

/// The project a thread in `cwd` belongs to: its repository, or else the folder by its name.
pub(crate) fn project_or_folder(cwd: &str) -> String {
    project_of(cwd).unwrap_or_else(|| place::project(cwd))
}

fn root_at(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let found = std::fs::symlink_metadata(&git).ok()?;
    if found.is_dir() {
        return Some(folder.to_owned());
    }
    if !found.is_file() || found.len() > POINTER_BYTES_MAX {
        return None;
    }
    let pointer = std::fs::read_to_string(&git).ok()?;
    let target = Path::new(pointer.trim().strip_prefix("gitdir:")?.trim());
    // `<root>/.git/worktrees/<name>`; a submodule is a project of its own.
    let is_worktree = target.parent()?.file_name()? == "worktrees";
    let root = target.ancestors().nth(3).filter(|_| is_worktree);
    Some(root.unwrap_or(folder).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_and_subfolders_share_a_project() {
        let temp = tempfile::tempdir().unwrap();
        let (root, tree) = (temp.path().join("app"), temp.path().join("tree"));
        std::fs::create_dir_all(root.join(".git/worktrees/tree")).unwrap();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir_all(&tree).unwrap();
        let pointer = format!("gitdir: {}\n", root.join(".git/worktrees/tree").display());
        std::fs::write(tree.join(".git"), pointer).unwrap();
        let expected = Some(root.display().to_string());
        for folder in [&root, &root.join("src/deep"), &root.join("src/gone"), &tree] {
            assert_eq!(project_of(&folder.display().to_string()), expected);
        }
        assert_eq!(project_of("relative"), None);
    }
}
