//! Finds the sessions to measure and reads them one at a time.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use indicatif::{ProgressBar, ProgressStyle};
use longhaul_eval::{Corpus, Session, repository_of};

use crate::commands::install::place::named_or_home;
use crate::failure::{Failure, USAGE};

/// Maximum bytes of text of a session, since it is held in memory; of a longer one the first whole lines are measured.
const SESSION_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Maximum depth of folders; deeper means a loop of links.
const FOLDER_DEPTH_MAX: usize = 8;

/// Transcripts on disk, newest first.
pub(super) struct Transcripts {
    paths: Vec<PathBuf>,
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Transcripts {
    /// Finds transcripts in the named files and folders, or where Codex and Claude Code keep them.
    pub(super) fn find(
        named: &[PathBuf],
        count: usize,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let mut found = Vec::new();
        match named {
            [] => agents_folders().iter().for_each(|folder| collect(folder, 0, &mut found)),
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
        drop_shadowed(&mut found);
        found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        found.truncate(count);
        let paths: Vec<PathBuf> = found.into_iter().map(|file| file.path).collect();
        let found = Self { bar: progress_bar(0), paths, stop };
        found.will_be_evaluated(1);
        Ok(found)
    }

    /// Sets the end of the progress bar. Every evaluation reads each session twice: once to find duplicates, once to
    /// measure.
    pub(super) fn will_be_evaluated(&self, times: u64) {
        self.bar.set_length(self.paths.len() as u64 * 2 * times);
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
        let bytes = read(path, SESSION_BYTES_MAX)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let repository = repository_of(&bytes).unwrap_or_else(|| "unknown".to_owned());
        Ok(Session { name: path.to_string_lossy().into_owned(), repository, bytes })
    }
}

struct Candidate {
    path: PathBuf,
    modified: Option<SystemTime>,
}

/// Reads a transcript, compressed or not: at most `bytes_max` of text, ending with a whole line.
fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut text: Box<dyn Read> = match is_compressed(path) {
        true => Box::new(zstd::Decoder::new(file)?),
        false => Box::new(BufReader::new(file)),
    };
    let mut bytes = Vec::new();
    text.by_ref().take(bytes_max).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == bytes_max && text.read(&mut [0])? > 0 {
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(end);
    }
    Ok(bytes)
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

fn is_transcript(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
}

/// Drops a compressed file if the uncompressed one exists, which is newer.
fn drop_shadowed(found: &mut Vec<Candidate>) {
    let paths: HashSet<PathBuf> = found.iter().map(|file| file.path.clone()).collect();
    found.retain(|file| {
        !(is_compressed(&file.path) && paths.contains(&file.path.with_extension("")))
    });
}

/// Skips unreadable files and those that are not transcripts.
fn collect(path: &Path, depth: usize, found: &mut Vec<Candidate>) {
    let Ok(metadata) = fs::metadata(path) else { return };
    if metadata.is_dir() && depth <= FOLDER_DEPTH_MAX {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| collect(&entry.path(), depth + 1, found));
    } else if metadata.is_file() && is_transcript(path) {
        found.push(Candidate { path: path.to_owned(), modified: metadata.modified().ok() });
    }
}

fn agents_folders() -> Vec<PathBuf> {
    let codex = named_or_home("CODEX_HOME", ".codex").into_iter();
    let codex = codex.flat_map(|home| [home.join("sessions"), home.join("archived_sessions")]);
    let claude = named_or_home("CLAUDE_CONFIG_DIR", ".claude").into_iter();
    let claude = claude.map(|home| home.join("projects"));
    codex.chain(claude).collect()
}

fn progress_bar(steps: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
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
    fn newest_transcripts_come_first_and_other_files_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let day = folder.path().join("2026/01/01");
        fs::create_dir_all(&day).unwrap();
        let files = [
            (30, "old.jsonl"),
            (10, "new.jsonl"),
            (20, "mid.jsonl"),
            (5, "old.jsonl.zst"),
            (1, "a.txt"),
        ];
        for (age, name) in files {
            let file = File::create(day.join(name)).unwrap();
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

    #[test]
    fn long_sessions_are_cut_after_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, packed) = (folder.path().join("a.jsonl"), folder.path().join("a.jsonl.zst"));
        let text = b"one\ntwo\nthree\n";
        fs::write(&plain, text).unwrap();
        fs::write(&packed, zstd::encode_all(&text[..], 1).unwrap()).unwrap();
        for path in [&plain, &packed] {
            assert_eq!(read(path, 100).unwrap(), text);
            assert_eq!(read(path, 14).unwrap(), text, "just as long as the bound");
            assert_eq!(read(path, 13).unwrap(), b"one\ntwo\n");
            assert_eq!(read(path, 2).unwrap(), b"", "not one whole line");
        }
    }
}
