//! The sample session shipped with the repository, laid out as if Codex had just worked on the sample project.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The project's path in the sample session; replaced by the real one.
const PROJECT_IN_SAMPLE: &str = "/home/dev/ledger";

pub(crate) struct Sample {
    pub(crate) codex_home: PathBuf,
    pub(crate) project: PathBuf,
}

impl Sample {
    /// Writes a fresh sample under `folder`: the project, and a Codex home with its session, whose paths are those of the
    /// project, so that the daemon finds the session's files.
    pub(crate) fn lay_out(samples: &Path, folder: &Path) -> anyhow::Result<Self> {
        let (codex_home, project) = (folder.join("codex-home"), folder.join("ledger"));
        for old in [&codex_home, &project] {
            if old.exists() {
                fs::remove_dir_all(old)?;
            }
        }
        copy_tree(&samples.join("project"), &project, &|text| text)?;
        let place = project.to_str().context("the build folder's name is not UTF-8")?.to_owned();
        let moved = |text: String| text.replace(PROJECT_IN_SAMPLE, &place);
        copy_tree(&samples.join("codex-home"), &codex_home, &moved)?;
        Ok(Self { codex_home, project })
    }
}

fn copy_tree(from: &Path, to: &Path, change: &dyn Fn(String) -> String) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    let entries = fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target, change)?;
        } else {
            fs::write(&target, change(fs::read_to_string(entry.path())?))?;
        }
    }
    Ok(())
}

/// The newest Codex transcript under a Codex home, if there is one.
pub(crate) fn newest_of_codex(codex_home: &Path) -> Option<PathBuf> {
    let folders = ["sessions", "archived_sessions"].map(|name| codex_home.join(name));
    newest(folders.iter().flat_map(|folder| transcripts(folder)))
}

/// The transcript that changed last.
pub(crate) fn newest(transcripts: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let changed = |path: &PathBuf| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    transcripts.into_iter().max_by_key(changed)
}

/// Every transcript below a folder; none if the folder does not exist.
pub(crate) fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl" || end == "zst") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
