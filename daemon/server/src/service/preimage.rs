//! Histories given by clients and stored nowhere else: one file each, so that the items a compaction dropped can
//! be restored.
//!
//! *Owns* `<state dir>/preimages`. A history is `<compaction id>.jsonl`, one item per line, with secrets replaced.
//! It is written whole under a temporary name, synced and renamed before the compaction is recorded: a crash in
//! between leaves a file that no record names. `retention` decides how long a history stays and removes it.
//!
//! *Chains.* A history that begins with the view of an earlier compaction continues that one: `<id>.base` names it
//! and the number of the first own line, and is written before the history, so that a handle always means the same
//! line. `<id>.fold` is the fold at the history's end: a cache, recomputed from the histories if it is missing.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use longhaul_core::compaction::handle::Handle;
use longhaul_core::digest::Digest128;
use longhaul_core::item::{ItemKind, ItemRow};
use longhaul_core::thread::Source;
use serde::{Deserialize, Serialize};

use super::error::ServiceError;
use super::item_index::FileRows;
use crate::folder::{self, make_synced};

/// Prefix of compaction ids, which distinguishes them from threads.
pub const PREFIX: &str = "cmp_";

pub fn id(unique: &str) -> String {
    format!("{PREFIX}{unique}")
}

/// Whether `text` is a compaction id. Ids become file names, so only these characters are allowed.
pub fn is_id(text: &str) -> bool {
    text.strip_prefix(PREFIX).is_some_and(|rest| {
        !rest.is_empty()
            && rest.len() <= 64
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// The history that a history continues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The compaction whose view it begins with.
    pub base: Option<String>,
    /// Number of its first line.
    pub first_seq: u64,
    /// Indexes, from 0, of its lines that the compaction made.
    pub carried: Vec<usize>,
}

pub const EXTENSIONS: [&str; 4] = ["jsonl", "tmp", "base", "fold"];

/// Maximum number of histories followed back.
const DEPTH_MAX: usize = 64;

/// Stores the lines of a history under a compaction's id. Blocking.
pub fn write(
    folder: &Path,
    id: &str,
    lines: &[String],
    origin: &Origin,
) -> Result<(), ServiceError> {
    if origin.base.is_some() {
        let origin = serde_json::to_vec(origin).map_err(ServiceError::undecodable("origin"))?;
        put(folder, id, "base", |file| file.write_all(&origin))?;
    }
    put(folder, id, "jsonl", |file| {
        lines.iter().try_for_each(|line| {
            file.write_all(line.as_bytes())?;
            file.write_all(b"\n")
        })
    })
}

/// Stores the fold at a history's end. Blocking.
pub fn write_fold(folder: &Path, id: &str, fold: &[u8]) -> Result<(), ServiceError> {
    put(folder, id, "fold", |file| file.write_all(fold))
}

/// The stored fold at a history's end, if any. Blocking.
pub fn read_fold(folder: &Path, id: &str) -> Option<Vec<u8>> {
    fs::read(folder.join(format!("{id}.fold"))).ok()
}

fn put(
    folder: &Path,
    id: &str,
    extension: &str,
    write: impl FnOnce(&mut BufWriter<&mut fs::File>) -> io::Result<()>,
) -> Result<(), ServiceError> {
    let path = folder.join(format!("{id}.{extension}"));
    let fresh = folder.join(format!("{id}.tmp"));
    let written = make_synced(folder).and_then(|()| {
        folder::replace(&path, &fresh, |file| {
            let mut buffered = BufWriter::new(file);
            write(&mut buffered)?;
            buffered.flush()
        })
    });
    written.map_err(|error| ServiceError::file(&path, error))
}

/// The history that this one continues; empty if none. Blocking.
pub fn origin(folder: &Path, id: &str) -> Result<Origin, ServiceError> {
    let path = folder.join(format!("{id}.base"));
    let text = unless_gone(fs::read(&path)).map_err(|error| ServiceError::file(&path, error))?;
    let Some(text) = text else { return Ok(Origin::default()) };
    serde_json::from_slice(&text).map_err(ServiceError::undecodable("origin"))
}

/// The lines of a stored history. Blocking.
pub fn read(folder: &Path, id: &str) -> Result<Vec<String>, ServiceError> {
    let path = folder.join(format!("{id}.jsonl"));
    let text = unless_gone(fs::read_to_string(&path));
    let text = text.map_err(|error| ServiceError::file(&path, error))?;
    let text = text.ok_or_else(|| ServiceError::HandleNotFound(id.to_owned()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Finds the lines of a handle: in the compaction's own history and in those it continues, oldest first.
pub async fn locate(folder: &Path, handle: &Handle) -> Result<Vec<FileRows>, ServiceError> {
    let (folder, handle) = (folder.to_owned(), handle.clone());
    tokio::task::spawn_blocking(move || {
        let gone = || ServiceError::HandleNotFound(handle.to_string());
        let (mut found, mut id) = (Vec::new(), handle.of.clone());
        for _ in 0..DEPTH_MAX {
            let (path, mut rows, origin) = own(&folder, &id)?.ok_or_else(gone)?;
            rows.retain(|row| (handle.first..=handle.last).contains(&row.seq));
            found.push(FileRows { source: Source::Longhaul, path, generation: None, rows });
            match origin.base.filter(|_| handle.first < origin.first_seq) {
                Some(base) => id = base,
                None => break,
            }
        }
        found.retain(|part: &FileRows| !part.rows.is_empty());
        found.reverse();
        let (path, first) = found
            .first()
            .and_then(|part| Some((&part.path, part.rows.first()?)))
            .ok_or_else(gone)?;
        if first.seq > handle.first && handle.first != handle.last {
            return Err(gone());
        }
        match handle.fits(first.digest) {
            true => Ok(found),
            false => Err(ServiceError::SourceChanged {
                handle: handle.to_string(),
                path: path.display().to_string(),
            }),
        }
    })
    .await?
}

/// The file of a compaction's own history, its rows, and the history it continues; `None` if it is gone. Blocking.
pub fn own(
    folder: &Path,
    id: &str,
) -> Result<Option<(PathBuf, Vec<ItemRow>, Origin)>, ServiceError> {
    let path = folder.join(format!("{id}.jsonl"));
    let origin = origin(folder, id)?;
    let rows = unless_gone(rows(&path, origin.first_seq));
    let rows = rows.map_err(|error| ServiceError::file(&path, error))?;
    Ok(rows.map(|rows| (path, rows, origin)))
}

/// Builds the index of a stored history. Blocking.
fn rows(path: &Path, first_seq: u64) -> io::Result<Vec<ItemRow>> {
    let mut reader = BufReader::new(fs::File::open(path)?);
    let (mut rows, mut line, mut offset) = (Vec::new(), Vec::new(), 0);
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            return Ok(rows);
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        rows.push(ItemRow {
            seq: first_seq + rows.len() as u64,
            offset,
            bytes: text.len() as u64,
            kind: ItemKind::Other,
            tokens: longhaul_core::tokens::of_bytes(text.len() as u64),
            digest: Digest128::of(text),
            excerpt: String::new(),
            call_id: None,
        });
        offset += read;
    }
}

/// The compactions that run now: their histories may be stored, and no record names them yet. Shared by those who run and
/// who remove.
#[derive(Debug, Clone, Default)]
pub struct RunningCompactions(Arc<Mutex<Vec<String>>>);

impl RunningCompactions {
    /// Counts a compaction as running until the result is dropped: from before its history is written until its record or
    /// job is stored.
    pub fn begin(&self, id: &str) -> RunningCompaction {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(id.to_owned());
        RunningCompaction { all: self.clone(), id: id.to_owned() }
    }

    pub fn ids(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Debug)]
pub struct RunningCompaction {
    all: RunningCompactions,
    id: String,
}

impl Drop for RunningCompaction {
    fn drop(&mut self) {
        let mut ids = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A job may begin before the call that started it ends.
        if let Some(at) = ids.iter().position(|id| *id == self.id) {
            ids.swap_remove(at);
        }
    }
}

#[derive(Debug)]
pub struct Stored {
    /// The compaction it belongs to.
    pub id: String,
    pub bytes: u64,
    pub written: SystemTime,
}

/// The stored histories, newest first. Blocking.
pub fn list(folder: &Path) -> Result<Vec<Stored>, ServiceError> {
    let listed = (|| {
        let Some(entries) = unless_gone(fs::read_dir(folder))? else { return Ok(Vec::new()) };
        let mut stored: HashMap<String, Stored> = HashMap::new();
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).filter(|id| is_id(id));
            // Another compaction may finish at the same time.
            let (Some(id), Some(meta)) = (id, unless_gone(entry.metadata())?) else { continue };
            let (bytes, written) = (meta.len(), meta.modified()?);
            let known = stored.entry(id.to_owned());
            let known = known.or_insert_with(|| Stored { id: id.to_owned(), bytes: 0, written });
            known.bytes += bytes;
            known.written = known.written.max(written);
        }
        let mut stored: Vec<Stored> = stored.into_values().collect();
        stored.sort_by_key(|stored| std::cmp::Reverse(stored.written));
        Ok(stored)
    })();
    listed.map_err(|error: io::Error| ServiceError::file(folder, error))
}

/// Removes the history of a compaction, complete or partial. Blocking.
pub fn remove(folder: &Path, id: &str) -> Result<(), ServiceError> {
    for extension in EXTENSIONS {
        let path = folder.join(format!("{id}.{extension}"));
        unless_gone(fs::remove_file(&path)).map_err(|error| ServiceError::file(&path, error))?;
    }
    Ok(())
}

fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_are_private_and_can_be_read_back() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("preimages");
        let lines = ["{\"a\":1}".into(), "{\"b\":2}".into()];
        write(&folder, "cmp_1", &lines, &Origin::default()).unwrap();
        let (_, rows, _) = own(&folder, "cmp_1").unwrap().unwrap();
        assert_eq!(
            rows.iter().map(|row| (row.offset, row.bytes)).collect::<Vec<_>>(),
            [(0, 7), (8, 7)]
        );
        let mode = |path: &Path| {
            std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).unwrap()) & 0o777
        };
        assert_eq!((mode(&folder), mode(&folder.join("cmp_1.jsonl"))), (0o700, 0o600));
    }

    #[test]
    fn a_removed_history_leaves_no_file_and_no_other_history_is_touched() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path();
        let origin = Origin { base: Some("cmp_0".to_owned()), ..Origin::default() };
        for id in ["cmp_1", "cmp_12"] {
            write(folder, id, &["{}".into()], &origin).unwrap();
            write_fold(folder, id, b"fold").unwrap();
        }
        remove(folder, "cmp_1").unwrap();
        remove(folder, "cmp_1").unwrap();
        let listed: Vec<String> = list(folder).unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(listed, ["cmp_12"]);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 3);
    }

    #[test]
    fn concurrently_stored_histories_do_not_interfere() {
        let temp = tempfile::tempdir().unwrap();
        let folder = &temp.path().join("preimages");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                scope.spawn(move || {
                    for n in 0..40 {
                        let id = format!("cmp_{writer}-{n}");
                        write(folder, &id, &["{}".into()], &Origin::default()).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder).unwrap().count(), 320);
    }

    #[test]
    fn only_compaction_ids_become_file_names() {
        assert!(is_id("cmp_01a1-b"));
        for text in ["cmp_", "cmp_../x", "01a1", "cmp_a/b", "cmp_a.b"] {
            assert!(!is_id(text), "{text}");
        }
    }
}
