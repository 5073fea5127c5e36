//! Finds the folders of a repository without git.
//!
//! A repository may refer to other places: `.git` may be a file or a link, whose target may name a common folder. Such a
//! reference counts only if the other end confirms it, since the author of the folder could not write there: the entry of a
//! linked worktree names the worktree, and the folder of a submodule is below that of the enclosing repository. With other
//! references, the repository is not inspected.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::no_follow;

/// Maximum bytes of a file with one path.
const PATH_BYTES: u64 = 8 * 1_024;

/// The folders of a repository. All paths are real ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) root: PathBuf,
    /// Git's folder for this working tree.
    git_dir: PathBuf,
    /// Git's folder shared by all working trees.
    shared: PathBuf,
}

impl Places {
    /// The repository around a folder; `None` if there is none, or if it claims foreign places.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let is_root = |at: &&Path| at.join(".git").symlink_metadata().is_ok();
        let root = folder.ancestors().find(is_root)?.to_owned();
        let dot = root.join(".git");
        let git_dir = match fs::metadata(&dot).ok()?.is_dir() {
            true => dot.canonicalize().ok()?,
            false => named_git_dir(&root)?.canonicalize().ok()?,
        };
        let shared = match path_in(&git_dir.join("commondir")) {
            Some(named) => git_dir.join(named).canonicalize().ok()?,
            None => git_dir.clone(),
        };
        let places = Self { root, git_dir, shared };
        let is_own = places.has_own_git_dir() && places.has_own_shared();
        is_own.then_some(places)
    }

    /// The folders that git must read.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        let of_all = (self.shared != self.git_dir).then_some(&self.shared);
        let outside = [Some(&self.git_dir), of_all].into_iter().flatten();
        let outside = outside.filter(|folder| !folder.starts_with(&self.root));
        std::iter::once(&self.root).chain(outside).map(PathBuf::as_path)
    }

    fn has_own_git_dir(&self) -> bool {
        if self.git_dir.starts_with(&self.root) || names_worktree(&self.git_dir, &self.root) {
            return true;
        }
        let around = self.root.parent().and_then(Self::of);
        around.is_some_and(|around| {
            let modules = [around.git_dir.join("modules"), around.shared.join("modules")];
            modules.iter().any(|modules| self.git_dir.starts_with(modules))
        })
    }

    fn has_own_shared(&self) -> bool {
        let of_worktree = self.git_dir.parent().filter(|folder| folder.ends_with("worktrees"));
        self.shared == self.git_dir
            || self.shared.starts_with(&self.root)
            || of_worktree.and_then(Path::parent).is_some_and(|shared| shared == self.shared)
    }
}

/// The folder that the `.git` file of a working tree names. Anyone can write such a file, so it proves nothing.
pub(crate) fn named_git_dir(root: &Path) -> Option<PathBuf> {
    let named = path_in(&root.join(".git"))?;
    Some(root.join(OsStr::from_bytes(named.as_bytes().strip_prefix(b"gitdir: ")?)))
}

/// Whether git's folder of a linked worktree names `root`, a real path, as its working tree.
pub(crate) fn names_worktree(git_dir: &Path, root: &Path) -> bool {
    let back = path_in(&git_dir.join("gitdir"));
    let back = back.and_then(|named| git_dir.join(named).canonicalize().ok());
    back.is_some_and(|back| back == root.join(".git"))
}

/// The only line of a small regular file.
fn path_in(path: &Path) -> Option<OsString> {
    let mut bytes = no_follow::read(path, PATH_BYTES).ok()?;
    while matches!(bytes.last(), Some(b'\n' | b'\r')) {
        bytes.pop();
    }
    Some(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two repositories: `mine`, and `other`, which `mine` may not read.
    fn two() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().canonicalize().unwrap();
        let (mine, other) = (at.join("mine"), at.join("other"));
        fs::create_dir_all(mine.join("below")).unwrap();
        fs::create_dir_all(other.join(".git/worktrees/w")).unwrap();
        fs::create_dir_all(other.join(".git/modules/sub")).unwrap();
        fs::create_dir_all(other.join("sub")).unwrap();
        (home, mine, other)
    }

    fn folders(folder: &Path) -> Option<Vec<PathBuf>> {
        Some(Places::of(folder)?.folders().map(Path::to_owned).collect())
    }

    #[test]
    fn an_ordinary_repository_is_its_working_tree() {
        let (_home, mine, other) = two();
        assert_eq!(folders(&mine.join("below")), None);
        fs::create_dir(mine.join(".git")).unwrap();
        assert_eq!(folders(&mine.join("below")), Some(vec![mine]));
        assert_eq!(folders(&other), Some(vec![other]));
    }

    #[test]
    fn another_repository_is_reached_only_with_its_agreement() {
        let (_home, mine, other) = two();
        let entry = other.join(".git/worktrees/w");
        let claim = |to: &Path| {
            fs::write(mine.join(".git"), format!("gitdir: {}\n", to.display())).unwrap();
        };
        fs::write(entry.join("commondir"), "../..\n").unwrap();
        for to in [&other.join(".git"), &entry, &other.join(".git/modules/sub")] {
            claim(to);
            assert_eq!(folders(&mine), None, "{to:?}");
        }
        // First the entry is of another working tree, then of this one.
        claim(&entry);
        fs::write(entry.join("gitdir"), format!("{}/sub/.git\n", other.display())).unwrap();
        assert_eq!(folders(&mine), None);
        fs::write(entry.join("gitdir"), format!("{}/.git\n", mine.display())).unwrap();
        assert_eq!(folders(&mine), Some(vec![mine.clone(), entry.clone(), other.join(".git")]));
        fs::write(entry.join("gitdir"), "../../../../mine/.git\n").unwrap();
        assert!(folders(&mine).is_some(), "relative to the entry");
        fs::write(entry.join("commondir"), "/etc\n").unwrap();
        assert_eq!(folders(&mine), None);
    }

    #[test]
    fn a_submodule_belongs_to_the_enclosing_repository() {
        let (_home, mine, other) = two();
        fs::write(other.join("sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        let expected = vec![other.join("sub"), other.join(".git/modules/sub")];
        assert_eq!(folders(&other.join("sub")), Some(expected));
        fs::create_dir(mine.join(".git")).unwrap();
        fs::write(mine.join("below/.git"), "gitdir: ../../other/.git/modules/sub\n").unwrap();
        assert_eq!(folders(&mine.join("below")), None);
    }

    #[test]
    fn links_and_common_folders_do_not_lead_out() {
        let (_home, mine, other) = two();
        std::os::unix::fs::symlink(other.join(".git"), mine.join(".git")).unwrap();
        assert_eq!(folders(&mine), None);
        fs::remove_file(mine.join(".git")).unwrap();
        fs::create_dir(mine.join(".git")).unwrap();
        fs::write(mine.join(".git/commondir"), "../../other/.git\n").unwrap();
        assert_eq!(folders(&mine), None);
        fs::write(mine.join(".git/commondir"), ".\n").unwrap();
        assert!(folders(&mine).is_some());
    }
}
