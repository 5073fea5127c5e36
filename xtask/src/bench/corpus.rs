//! Finds the transcripts to measure with and copies them to the daemon's folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::{place, sample};

pub(super) struct Corpus {
    pub(super) folder: PathBuf,
    pub(super) files: Vec<PathBuf>,
}

/// The requested corpus, else the environment's, else the sample.
pub(super) fn find(folder: Option<&Path>) -> anyhow::Result<Corpus> {
    let of_environment = || {
        let folder = PathBuf::from(std::env::var_os("LONGHAUL_CORPUS")?).join("codex");
        folder.is_dir().then_some(folder)
    };
    let folder = match folder.map(Path::to_owned).or_else(of_environment) {
        Some(folder) => folder,
        None => place::workspace()?.join("samples/codex-home"),
    };
    let files = sample::transcripts(&folder);
    ensure!(!files.is_empty(), "there is no transcript in {}", folder.display());
    Ok(Corpus { folder, files })
}

/// The requested folder of Claude Code transcripts, else the environment's; there is no sample.
pub(super) fn of_claude(folder: Option<&Path>) -> anyhow::Result<PathBuf> {
    let of_environment =
        || Some(PathBuf::from(std::env::var_os("LONGHAUL_CORPUS")?).join("claude"));
    folder
        .map(Path::to_owned)
        .or_else(of_environment)
        .context("no transcripts: name a folder with --corpus")
}

impl Corpus {
    /// Copies the corpus to the sessions folder of a Codex home; returns the paths of the copies.
    pub(super) fn copy_to(&self, codex_home: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let mut copies = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let name = file.file_name().context("a transcript without a name")?;
            // Two corpora may have files of the same name, so each gets its own day.
            let day = format!("sessions/2026/{:02}/{:02}", number / 28 % 12 + 1, number % 28 + 1);
            let folder = codex_home.join(day).join(number.to_string());
            fs::create_dir_all(&folder)?;
            let copy = folder.join(rollout_name(&name.to_string_lossy(), number));
            fs::copy(file, &copy).with_context(|| format!("cannot copy {}", file.display()))?;
            copies.push(copy);
        }
        Ok(copies)
    }
}

/// Codex names its transcripts `rollout-…`; a published one may have been renamed.
fn rollout_name(name: &str, number: usize) -> String {
    if name.starts_with("rollout-") { name.to_owned() } else { format!("rollout-{number}-{name}") }
}

/// The largest uncompressed transcripts.
pub(super) fn largest(files: &[PathBuf]) -> anyhow::Result<&PathBuf> {
    let size = |path: &&PathBuf| fs::metadata(path).map(|meta| meta.len()).unwrap_or(0);
    let plain = files.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    // A file of one enormous line is a test artifact, not a session.
    plain.filter(|path| line_count(path) >= 20).max_by_key(size).context("no session in the corpus")
}

fn line_count(path: &Path) -> usize {
    fs::read(path).map(|bytes| memchr::memchr_iter(b'\n', &bytes).count()).unwrap_or(0)
}
