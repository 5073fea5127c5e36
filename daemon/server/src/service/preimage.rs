//! Histories that a client gave and nobody else keeps: one file each, so that what a compaction
//! dropped can be given back.
//!
//! *Owns* `<state dir>/preimages`. A file is `<compaction id>.jsonl`, one item a line, secrets
//! replaced. It is written whole under another name, synced and renamed, before the compaction is
//! recorded: a crash between leaves a file nobody names. How long a history stays, and who sweeps, is
//! `retention`'s affair.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use longhaul_core::compaction::handle::Handle;
use longhaul_core::digest::Digest128;
use longhaul_core::item::{ItemKind, ItemRow};

use super::ServiceError;

/// What ids of compactions begin with: it tells them from threads.
pub const PREFIX: &str = "cmp_";

/// The id of a compaction, made of a unique id.
pub fn id(unique: &str) -> String {
    format!("{PREFIX}{unique}")
}

/// Whether this names a compaction. Ids become file names: only these characters can.
pub fn is_id(text: &str) -> bool {
    text.strip_prefix(PREFIX).is_some_and(|rest| {
        !rest.is_empty()
            && rest.len() <= 64
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// Stores the lines of a history under a compaction's id. Blocking.
///
/// # Errors
/// The folder cannot be made or written.
pub fn write(folder: &Path, id: &str, lines: &[String]) -> Result<(), ServiceError> {
    let path = folder.join(format!("{id}.jsonl"));
    let fresh = folder.join(format!("{id}.tmp"));
    let written = (|| {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        for line in lines {
            file.write_all(line.as_bytes())?;
            file.write_all(b"\n")?;
        }
        file.sync_data()?;
        fs::rename(&fresh, &path)?;
        // The record that names the file may reach the disk before the file's name does.
        fs::File::open(folder)?.sync_all()
    })();
    written.map_err(|error: io::Error| ServiceError::file(&path, error))
}

/// The lines of a stored history. Blocking.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn read(folder: &Path, id: &str) -> Result<Vec<String>, ServiceError> {
    let path = folder.join(format!("{id}.jsonl"));
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(ServiceError::HandleNotFound(id.to_owned()))
        }
        Err(error) => Err(ServiceError::file(&path, error)),
    }
}

/// The file of a compaction's history and the rows of the handle's lines.
///
/// # Errors
/// There is none, or other lines stand there.
pub async fn locate(
    folder: &Path,
    handle: &Handle,
) -> Result<(PathBuf, Vec<ItemRow>), ServiceError> {
    let path = folder.join(format!("{}.jsonl", handle.of));
    let handle = handle.clone();
    tokio::task::spawn_blocking(move || {
        let rows = rows(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ServiceError::HandleNotFound(handle.to_string()),
            _ => ServiceError::file(&path, error),
        })?;
        let rows: Vec<ItemRow> = rows
            .into_iter()
            .filter(|row| (handle.first..=handle.last).contains(&row.seq))
            .collect();
        match rows.first() {
            None => Err(ServiceError::HandleNotFound(handle.to_string())),
            Some(first) if handle.fits(first.digest) => Ok((path, rows)),
            Some(_) => Err(ServiceError::SourceChanged {
                handle: handle.to_string(),
                path: path.display().to_string(),
            }),
        }
    })
    .await?
}

/// The index of a stored history, made from it. Blocking.
pub fn rows(path: &Path) -> io::Result<Vec<ItemRow>> {
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
            seq: rows.len() as u64,
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

/// A stored history.
#[derive(Debug)]
pub struct Stored {
    /// The compaction it belongs to.
    pub id: String,
    /// Its bytes.
    pub bytes: u64,
    /// When it was written.
    pub written: SystemTime,
}

/// The stored histories, newest first. Blocking.
///
/// # Errors
/// The folder cannot be read; that it is not there is no error.
pub fn list(folder: &Path) -> Result<Vec<Stored>, ServiceError> {
    let listed = (|| {
        let Some(entries) = unless_gone(fs::read_dir(folder))? else { return Ok(Vec::new()) };
        let mut stored = Vec::new();
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).filter(|id| is_id(id));
            // Another compaction may finish at the same time.
            let (Some(id), Some(meta)) = (id, unless_gone(entry.metadata())?) else { continue };
            let id = id.to_owned();
            stored.push(Stored { id, bytes: meta.len(), written: meta.modified()? });
        }
        stored.sort_by_key(|stored| std::cmp::Reverse(stored.written));
        Ok(stored)
    })();
    listed.map_err(|error: io::Error| ServiceError::file(folder, error))
}

/// Removes the history of a compaction, whole or half written. Blocking.
///
/// # Errors
/// It cannot be removed.
pub fn remove(folder: &Path, id: &str) -> Result<(), ServiceError> {
    for extension in ["jsonl", "tmp"] {
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
    fn histories_are_private_and_found_again() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("preimages");
        write(&folder, "cmp_1", &["{\"a\":1}".into(), "{\"b\":2}".into()]).unwrap();
        let rows = rows(&folder.join("cmp_1.jsonl")).unwrap();
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
    fn histories_stored_at_the_same_time_do_not_hinder_each_other() {
        let temp = tempfile::tempdir().unwrap();
        let folder = &temp.path().join("preimages");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                scope.spawn(move || {
                    for n in 0..40 {
                        write(folder, &format!("cmp_{writer}-{n}"), &["{}".into()]).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder).unwrap().count(), 320);
    }

    #[test]
    fn only_ids_of_ours_become_file_names() {
        assert!(is_id("cmp_01a1-b"));
        for text in ["cmp_", "cmp_../x", "01a1", "cmp_a/b", "cmp_a.b"] {
            assert!(!is_id(text), "{text}");
        }
    }
}
