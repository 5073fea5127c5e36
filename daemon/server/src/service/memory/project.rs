//! Maps a folder to its project: the repository, so that worktrees and subfolders share one memory.

use std::path::{Path, PathBuf};

use longhaul_core::memory::place;

use crate::sandbox::git::{named_git_dir, names_worktree};

/// The root of the repository that contains `cwd`; for a worktree, that of the main repository. `None` without a
/// repository, or if it no longer exists.
pub(super) fn project_of(cwd: &str) -> Option<String> {
    let start = Path::new(cwd);
    if !start.is_absolute() {
        return None;
    }
    start.ancestors().find_map(root_at).map(|root| root.display().to_string())
}

/// The project of a thread in `cwd`: its repository, or else the folder's name.
pub(crate) fn project_or_folder(cwd: &str) -> String {
    project_of(cwd).unwrap_or_else(|| place::project(cwd))
}

/// The root of the repository whose working tree begins at `folder`.
fn root_at(folder: &Path) -> Option<PathBuf> {
    let found = std::fs::symlink_metadata(folder.join(".git")).ok()?;
    if found.is_dir() || found.is_symlink() {
        return Some(folder.to_owned());
    }
    let git_dir = named_git_dir(folder)?;
    Some(main_repository(folder, &git_dir).unwrap_or_else(|| folder.to_owned()))
}

/// The repository that `folder` is a linked worktree of, if that repository confirms it: `git_dir` is
/// `<root>/.git/worktrees/<name>`. A submodule is a separate project.
fn main_repository(folder: &Path, git_dir: &Path) -> Option<PathBuf> {
    let git_dir = git_dir.canonicalize().ok()?;
    let worktrees = git_dir.parent().filter(|folder| folder.ends_with(".git/worktrees"))?;
    let root = worktrees.ancestors().nth(2)?;
    names_worktree(&git_dir, &folder.canonicalize().ok()?).then(|| root.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_and_subfolders_share_a_project() {
        let temp = tempfile::tempdir().unwrap();
        let temp = temp.path().canonicalize().unwrap();
        let (root, tree) = (temp.join("app"), temp.join("tree"));
        let entry = root.join(".git/worktrees/tree");
        std::fs::create_dir_all(&entry).unwrap();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir_all(&tree).unwrap();
        let expected = Some(root.display().to_string());
        // git writes absolute paths, or relative ones if `worktree.useRelativePaths` is set.
        for (there, back) in [
            (entry.display().to_string(), tree.join(".git").display().to_string()),
            ("../app/.git/worktrees/tree".to_owned(), "../../../../tree/.git".to_owned()),
        ] {
            std::fs::write(tree.join(".git"), format!("gitdir: {there}\n")).unwrap();
            std::fs::write(entry.join("gitdir"), format!("{back}\n")).unwrap();
            for folder in [&root, &root.join("src/deep"), &root.join("src/gone"), &tree] {
                assert_eq!(project_of(&folder.display().to_string()), expected, "{there}");
            }
        }
        // A relative path means another folder in another process.
        let here = std::env::current_dir().unwrap();
        let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
        let relative = up.join(root.strip_prefix("/").unwrap());
        assert!(relative.join(".git").is_dir());
        assert_eq!(project_of(&relative.display().to_string()), None);
    }

    #[test]
    fn a_worktree_unknown_to_its_repository_is_a_project_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let temp = temp.path().canonicalize().unwrap();
        let (victim, tree, forged) = (temp.join("victim"), temp.join("tree"), temp.join("forged"));
        let entry = victim.join(".git/worktrees/tree");
        for folder in [&entry, &tree, &forged.join("own/.git/worktrees/tree")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(entry.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", entry.display())).unwrap();
        let pretend = forged.join("own/.git/worktrees/tree");
        std::fs::write(pretend.join("gitdir"), forged.join(".git").display().to_string()).unwrap();
        std::os::unix::fs::symlink(&victim, forged.join("link")).unwrap();
        let own = Some(forged.display().to_string());
        for target in [
            entry.display().to_string(),
            victim.join(".git/worktrees/none").display().to_string(),
            "../victim/.git/worktrees/tree".to_owned(),
            "link/.git/worktrees/tree".to_owned(),
            "own/.git/worktrees/tree/../../../../../victim/.git/worktrees/tree".to_owned(),
        ] {
            std::fs::write(forged.join(".git"), format!("gitdir: {target}\n")).unwrap();
            assert_eq!(project_of(&forged.display().to_string()), own, "{target}");
        }
        assert_eq!(project_of(&tree.display().to_string()), Some(victim.display().to_string()));
    }

    #[test]
    fn a_linked_git_folder_is_a_project_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let temp = temp.path().canonicalize().unwrap();
        let (around, inner) = (temp.join("around"), temp.join("around/inner"));
        std::fs::create_dir_all(around.join(".git")).unwrap();
        std::fs::create_dir_all(temp.join("elsewhere/.git/worktrees/tree")).unwrap();
        std::fs::create_dir_all(&inner).unwrap();
        // The link leads to the `.git` file of another repository's worktree, which that repository confirms.
        let (tree, entry) = (temp.join("tree"), temp.join("elsewhere/.git/worktrees/tree"));
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", entry.display())).unwrap();
        std::fs::write(entry.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        for target in [temp.join("elsewhere/.git"), tree.join(".git")] {
            std::os::unix::fs::symlink(&target, inner.join(".git")).unwrap();
            let own = Some(inner.display().to_string());
            assert_eq!(project_of(&inner.display().to_string()), own, "{}", target.display());
            std::fs::remove_file(inner.join(".git")).unwrap();
        }
    }
}
