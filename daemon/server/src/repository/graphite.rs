//! The place of a branch in a stack of Graphite's, from what `gt` leaves in the repository.
//!
//! `gt` itself is not run: it asks its servers. What it keeps is read: a small JSON file beside git's own,
//! and a note on each branch under `refs/branch-metadata/`.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use longhaul_core::policy::repository::Stack;
use rustix::fs::OFlags;

use super::git::Git;

/// Bytes of Graphite's own file that are read.
const FILE_BYTES: u64 = 16 * 1_024;

/// What Graphite keeps of a repository.
pub(super) struct Found(Vec<u8>);

impl Found {
    /// `None` where it keeps nothing.
    pub(super) async fn of(git: &Git, folder: &str) -> Option<Self> {
        let shared = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let shared = String::from_utf8(git.run(folder, &shared, &[]).await?.bytes).ok()?;
        let file = Path::new(shared.trim_end()).join(".graphite_repo_config");
        tokio::task::spawn_blocking(move || read(&file)).await.ok()?.map(Self)
    }

    /// The place of a branch.
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

/// A regular file; a pipe in its place would not end.
fn read(path: &Path) -> Option<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let mut bytes = Vec::new();
    let is_file = file.metadata().ok()?.is_file();
    file.take(FILE_BYTES).read_to_end(&mut bytes).ok().filter(|_| is_file)?;
    Some(bytes)
}
