//! The sessions to measure: which files, and their bytes one at a time.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use directories::BaseDirs;
use indicatif::{ProgressBar, ProgressStyle};
use longhaul_eval::{Corpus, Session, repository_of};

use crate::failure::{Failure, USAGE};

/// A larger transcript is left out: it is read into memory whole (bytes).
const TRANSCRIPT_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Folders below one another that are looked into; deeper is a mistake or a loop of links.
const FOLDER_DEPTH_MAX: usize = 8;

/// Transcripts on disk, the newest first.
pub(super) struct Transcripts {
    paths: Vec<PathBuf>,
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Transcripts {
    /// Looks for transcripts in the named files and folders, or where Codex keeps them.
    pub(super) fn find(
        named: &[PathBuf],
        count: usize,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let mut found = Vec::new();
        match named {
            [] => codex_folders().iter().for_each(|folder| collect(folder, 0, &mut found)),
            named => {
                for path in named {
                    if !path.exists() {
                        let message = format!("there is no file or folder {}", path.display());
                        return Err(Failure::new(USAGE, message));
                    }
                    collect(path, 0, &mut found);
                }
            }
        }
        found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        found.truncate(count);
        let paths: Vec<PathBuf> = found.into_iter().map(|file| file.path).collect();
        // Every session is read twice: once to compare them, once to measure.
        let bar = progress_bar(paths.len() as u64 * 2);
        Ok(Self { paths, bar, stop })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Corpus for Transcripts {
    fn len(&self) -> usize {
        self.paths.len()
    }

    fn load(&self, number: usize) -> Result<Session, String> {
        if self.stop.load(Ordering::Relaxed) {
            return Err("interrupted".to_owned());
        }
        let path = self.paths.get(number).ok_or("there is no such session")?;
        self.bar.inc(1);
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let repository = repository_of(&bytes).unwrap_or_else(|| "unknown".to_owned());
        Ok(Session { name: path.to_string_lossy().into_owned(), repository, bytes })
    }
}

struct Found {
    path: PathBuf,
    modified: Option<SystemTime>,
}

/// Adds what is no transcript, unreadable or too large to nothing: this only measures.
fn collect(path: &Path, depth: usize, found: &mut Vec<Found>) {
    let Ok(metadata) = fs::metadata(path) else { return };
    if metadata.is_dir() && depth <= FOLDER_DEPTH_MAX {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| collect(&entry.path(), depth + 1, found));
    } else if metadata.is_file()
        && metadata.len() <= TRANSCRIPT_BYTES_MAX
        && path.extension().is_some_and(|extension| extension == "jsonl")
    {
        found.push(Found { path: path.to_owned(), modified: metadata.modified().ok() });
    }
}

fn codex_folders() -> Vec<PathBuf> {
    let named = std::env::var_os("CODEX_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let home = named.or_else(|| BaseDirs::new().map(|folders| folders.home_dir().join(".codex")));
    home.map(|home| vec![home.join("sessions"), home.join("archived_sessions")]).unwrap_or_default()
}

fn progress_bar(steps: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "measuring {bar:30} {pos}/{len} {elapsed}";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(steps).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_newest_transcripts_come_first_and_other_files_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let day = folder.path().join("2026/01/01");
        fs::create_dir_all(&day).unwrap();
        for (age, name) in [(30, "old.jsonl"), (10, "new.jsonl"), (20, "mid.jsonl"), (1, "a.txt")] {
            let file = fs::File::create(day.join(name)).unwrap();
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
            file.set_modified(at).unwrap();
        }
        let stop = Arc::new(AtomicBool::new(false));
        let named = [folder.path().to_owned()];
        let found = Transcripts::find(&named, 2, Arc::clone(&stop)).unwrap();
        let name = |number| found.load(number).map(|session| session.name);
        assert!(name(0).unwrap().ends_with("new.jsonl"));
        assert!(name(1).unwrap().ends_with("mid.jsonl"));
        assert_eq!(found.len(), 2);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(name(0), Err("interrupted".to_owned()));
    }
}
