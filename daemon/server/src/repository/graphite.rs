//! The position of a branch in a Graphite stack, from the data that `gt` stores in the repository.
//!
//! `gt` itself is not run, because it contacts its servers. Its data is a small JSON file in git's folder, and a note for
//! each branch under `refs/branch-metadata/`.

use std::path::Path;

use longhaul_core::policy::repository::Stack;

use super::git::Git;
use crate::no_follow;

const FILE_BYTES: u64 = 16 * 1_024;

/// Graphite's data in a repository.
pub(super) struct GraphiteData(Vec<u8>);

impl GraphiteData {
    /// `None` if there is none.
    pub(super) async fn of(git: &Git, folder: &str) -> Option<Self> {
        let shared = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let shared = String::from_utf8(git.run(folder, &shared, &[]).await?.bytes).ok()?;
        let file = Path::new(shared.trim_end()).join(".graphite_repo_config");
        let read = tokio::task::spawn_blocking(move || no_follow::read(&file, FILE_BYTES));
        Some(Self(read.await.ok()?.ok()?))
    }

    /// The position of a branch.
    pub(super) async fn at(&self, git: &Git, folder: &str, branch: Option<&str>) -> Option<Stack> {
        let note = match branch {
            Some(branch) => {
                let name = format!("refs/branch-metadata/{branch}");
                git.run(folder, &["cat-file", "blob", &name], &[]).await
            }
            None => None,
        };
        Stack::read(note.as_ref().map(|note| note.bytes.as_slice()), &self.0)
    }
}
