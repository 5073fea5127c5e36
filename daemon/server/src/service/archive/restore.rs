//! Restores the archived texts of a thread to its agent's folder, or to another path.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use longhaul_core::rollout::source::Layout;
use longhaul_protocol::archive::{RestoreResult, RestoredFile};
use longhaul_store::{ArchiveIndex, ArchivedTranscript};

use super::keeper::ArchiveKeeper;
use super::shared::ArchiveShared;
use crate::archive::{ArchivedReader, ArchivedText};
use crate::new_file;
use crate::service::error::ServiceError;

const COPY_BYTES: usize = 256 << 10;

impl ArchiveKeeper {
    /// Writes the texts of a thread to its agent's folder, or to `to` and next to it; never over an existing file.
    pub async fn restore(
        &self,
        thread_id: &str,
        to: Option<PathBuf>,
    ) -> Result<RestoreResult, ServiceError> {
        let index = self.index()?;
        let thread_id = self.complete_id(&index, thread_id).await?;
        // A thread that is forgotten or evicted now is written before that, or not at all.
        let restore =
            async move |shared: Arc<ArchiveShared>| restore(&shared, &index, &thread_id, to).await;
        self.shared.in_turn(restore).await
    }
}

/// The caller has the turn.
async fn restore(
    shared: &ArchiveShared,
    index: &ArchiveIndex,
    thread_id: &str,
    to: Option<PathBuf>,
) -> Result<RestoreResult, ServiceError> {
    let texts = current(index.transcripts.of_thread(thread_id).await?);
    let Some(longest) = texts.first().cloned() else {
        return Err(ServiceError::NotArchived(thread_id.to_owned()));
    };
    let is_in_place = to.is_none();
    let mut targets = match to {
        Some(to) if !to.is_absolute() => return Err(invalid("must be an absolute path")),
        Some(to) => numbered(&to, texts)?,
        None => in_place(texts)?,
    };
    let mut files = Vec::new();
    let mut redacted = false;
    // The first one last: where it exists, all exist.
    while let Some((path, row)) = targets.pop() {
        redacted |= row.is_redacted;
        let bytes = row.text_bytes;
        if targets.is_empty() || !is_written(&path, &row) {
            let text = Arc::new(shared.archive.text(index, row.clone()).await?);
            let (target, of) = (path.clone(), row.clone());
            tokio::task::spawn_blocking(move || {
                let is_cleared = match is_in_place && is_emptied(&target) {
                    true => fs::remove_file(&target),
                    false => Ok(()),
                };
                let written = is_cleared.and_then(|()| write(&target, &text, &of));
                written.map_err(|error| failed((&target, is_in_place), &of, error))
            })
            .await??;
        }
        if is_in_place {
            shared.hints.hint(&row.path);
        }
        files.push(RestoredFile { path: path.display().to_string(), bytes });
    }
    files.reverse();
    let mut command: Vec<String> = Vec::new();
    if is_in_place {
        command.extend(longest.source.spec().resume.iter().map(|word| (*word).to_owned()));
        if !command.is_empty() {
            command.push(longest.thread_id.clone());
        }
    }
    Ok(RestoreResult { thread_id: longest.thread_id, files, redacted, command })
}

/// The newest text of each transcript: a thread has several transcripts if Codex went back in it. A thread of which only
/// replaced texts are left has the newest of those.
fn current(mut texts: Vec<ArchivedTranscript>) -> Vec<ArchivedTranscript> {
    if texts.iter().all(|row| row.generation < 0) {
        texts.truncate(1);
        return texts;
    }
    texts.retain(|row| row.generation >= 0);
    let mut paths = HashSet::new();
    texts.retain(|row| paths.insert(uncompressed(row).to_owned()));
    texts
}

/// Where the agent looks for the transcripts that are missing.
fn in_place(
    mut texts: Vec<ArchivedTranscript>,
) -> Result<Vec<(PathBuf, ArchivedTranscript)>, ServiceError> {
    if texts.iter().any(is_gone) {
        texts.retain(is_gone);
    }
    texts.into_iter().map(|row| Ok((agents_path(&row)?, row))).collect()
}

/// The longest text at `to`, the others at `NAME.2.jsonl`, `NAME.3.jsonl` and so on.
fn numbered(
    to: &Path,
    texts: Vec<ArchivedTranscript>,
) -> Result<Vec<(PathBuf, ArchivedTranscript)>, ServiceError> {
    if to.symlink_metadata().is_ok() {
        return Err(ServiceError::FileExists(to.display().to_string()));
    }
    let path = |number: usize| match (number, to.extension()) {
        (1, _) => to.to_path_buf(),
        (_, Some(end)) => to.with_extension(format!("{number}.{}", end.display())),
        (_, None) => to.with_extension(number.to_string()),
    };
    Ok(texts.into_iter().enumerate().map(|(index, row)| (path(index + 1), row)).collect())
}

/// Whether an interrupted call wrote this file.
fn is_written(path: &Path, row: &ArchivedTranscript) -> bool {
    let Ok(found) = path.symlink_metadata() else { return false };
    found.is_file() && found.len() == row.text_bytes && found.modified().ok() == Some(updated(row))
}

fn updated(row: &ArchivedTranscript) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(row.updated_ms).unwrap_or(0))
}

fn invalid(reason: impl Into<String>) -> ServiceError {
    ServiceError::invalid("to", reason)
}

fn is_gone(row: &ArchivedTranscript) -> bool {
    ![row.path.as_str(), uncompressed(row)].into_iter().any(|path| is_there(Path::new(path)))
}

/// An emptied transcript counts as deleted.
fn is_there(path: &Path) -> bool {
    path.exists() && !is_emptied(path)
}

fn is_emptied(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() == 0)
}

fn uncompressed(row: &ArchivedTranscript) -> &str {
    row.path.strip_suffix(".zst").unwrap_or(&row.path)
}

/// The path where the agent looks for the transcript, which may be uncompressed.
fn agents_path(row: &ArchivedTranscript) -> Result<PathBuf, ServiceError> {
    match row.source.spec().layout(&row.path) {
        None | Some(Layout::Lines) => {}
        Some(_) => {
            return Err(invalid(format!(
                "a file, since {} did not keep this session in lines and the archive has only the lines that were read; \
                 longhaul continue {} --to codex resumes it in Codex",
                row.source.spec().title,
                row.thread_id
            )));
        }
    }
    if is_there(Path::new(&row.path)) {
        return Err(ServiceError::FileExists(row.path.clone()));
    }
    Ok(PathBuf::from(uncompressed(row)))
}

fn failed(
    (path, is_in_place): (&Path, bool),
    row: &ArchivedTranscript,
    error: io::Error,
) -> ServiceError {
    match error.kind() {
        ErrorKind::AlreadyExists => ServiceError::FileExists(path.display().to_string()),
        ErrorKind::InvalidInput => invalid("must be the path of a file"),
        ErrorKind::NotADirectory => {
            invalid("must be in a folder, and a part of this path is a file")
        }
        ErrorKind::InvalidData => ServiceError::ArchiveDamaged(row.thread_id.clone()),
        ErrorKind::ReadOnlyFilesystem => invalid(
            "must be a folder that the daemon may write: under systemd its own, the agents', and those of ReadWritePaths= in a drop-in",
        ),
        // The caller chose a folder in which the system makes no files, such as one in /proc.
        ErrorKind::NotFound if !is_in_place => {
            invalid(format!("must be in a folder that can be made: {error}"))
        }
        _ => ServiceError::file(path, error),
    }
}

/// Writes a complete, synced file, or none. Blocking.
fn write(path: &Path, text: &Arc<ArchivedText>, row: &ArchivedTranscript) -> io::Result<()> {
    let reader = ArchivedReader::new(Arc::clone(text), 0);
    let mut reader = BufReader::with_capacity(COPY_BYTES, reader);
    new_file::publish(path, |file| {
        let bytes = io::copy(&mut reader, file)?;
        if bytes != row.text_bytes {
            return Err(io::Error::new(ErrorKind::InvalidData, "a part of the text is missing"));
        }
        file.set_modified(updated(row))
    })
}
