//! Restores an archived text to its agent's folder, or to another path.

use std::io::{self, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use longhaul_core::rollout::source::Layout;
use longhaul_store::{ArchiveIndex, ArchivedTranscript};

use super::keeper::ArchiveKeeper;
use super::shared::ArchiveShared;
use crate::archive::{ArchivedReader, ArchivedText};
use crate::new_file;
use crate::service::error::ServiceError;

/// Bytes copied at a time.
const COPY_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub struct RestoredFile {
    pub thread_id: String,
    pub path: PathBuf,
    pub bytes: u64,
    /// Whether the text was redacted before it was archived.
    pub is_redacted: bool,
    /// Resumes the thread, if the file is back in its agent's folder.
    pub command: Vec<String>,
}

impl ArchiveKeeper {
    /// Writes the text of a thread to its agent's folder, or to `to`; never over an existing file.
    pub async fn restore(
        &self,
        thread_id: &str,
        to: Option<PathBuf>,
    ) -> Result<RestoredFile, ServiceError> {
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
) -> Result<RestoredFile, ServiceError> {
    let is_in_place = to.is_none();
    let mut texts = index.transcripts.of_thread(thread_id).await?;
    // A thread has several transcripts if Codex went back in it.
    let missing = texts.iter().position(|row| is_in_place && row.generation >= 0 && is_gone(row));
    let row = match texts.is_empty() {
        true => return Err(ServiceError::NotArchived(thread_id.to_owned())),
        false => texts.swap_remove(missing.unwrap_or(0)),
    };
    let path = match to {
        Some(to) if !to.is_absolute() => return Err(invalid("must be an absolute path")),
        Some(to) => to,
        None => agents_path(&row)?,
    };
    let text = Arc::new(shared.archive.text(index, row.clone()).await?);
    let (target, of) = (path.clone(), row.clone());
    tokio::task::spawn_blocking(move || write(&target, &text, &of)).await??;
    let mut command: Vec<String> = Vec::new();
    if is_in_place {
        shared.hints.hint(&row.path);
        command.extend(row.source.spec().resume.iter().map(|word| (*word).to_owned()));
        if !command.is_empty() {
            command.push(row.thread_id.clone());
        }
    }
    let ArchivedTranscript { thread_id, text_bytes: bytes, is_redacted, .. } = row;
    Ok(RestoredFile { thread_id, path, bytes, is_redacted, command })
}

fn invalid(reason: &str) -> ServiceError {
    ServiceError::Invalid { field: "to", reason: reason.to_owned() }
}

fn is_gone(row: &ArchivedTranscript) -> bool {
    ![row.path.as_str(), uncompressed(row)].into_iter().any(|path| Path::new(path).exists())
}

fn uncompressed(row: &ArchivedTranscript) -> &str {
    row.path.strip_suffix(".zst").unwrap_or(&row.path)
}

/// The path where the agent looks for the transcript, which may be uncompressed.
fn agents_path(row: &ArchivedTranscript) -> Result<PathBuf, ServiceError> {
    match row.source.spec().layout(&row.path) {
        None | Some(Layout::Lines | Layout::Document(_)) => {}
        Some(_) => {
            return Err(invalid(&format!(
                "a file, since {} does not keep sessions in lines and the archive has only the lines that were read; \
                 longhaul continue {} --to codex resumes it in Codex",
                row.source.spec().title,
                row.thread_id
            )));
        }
    }
    if Path::new(&row.path).exists() {
        return Err(ServiceError::FileExists(row.path.clone()));
    }
    Ok(PathBuf::from(uncompressed(row)))
}

/// Writes a complete, synced file, or none. Blocking.
fn write(
    path: &Path,
    text: &Arc<ArchivedText>,
    row: &ArchivedTranscript,
) -> Result<(), ServiceError> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => ServiceError::FileExists(path.display().to_string()),
        ErrorKind::InvalidInput => invalid("must be the path of a file"),
        ErrorKind::NotADirectory => {
            invalid("must be in a folder, and a part of this path is a file")
        }
        ErrorKind::InvalidData => ServiceError::ArchiveDamaged(row.thread_id.clone()),
        ErrorKind::ReadOnlyFilesystem => invalid(
            "must be a folder that the daemon may write: under systemd its own, the agents', and those of ReadWritePaths= in a drop-in",
        ),
        _ => ServiceError::file(path, error),
    };
    let reader = ArchivedReader::new(Arc::clone(text), 0);
    let mut reader = BufReader::with_capacity(COPY_BYTES, reader);
    new_file::publish(path, |file| {
        let bytes = io::copy(&mut reader, file)?;
        if bytes != row.text_bytes {
            return Err(io::Error::new(ErrorKind::InvalidData, "a part of the text is missing"));
        }
        let updated_ms = u64::try_from(row.updated_ms).unwrap_or(0);
        file.set_modified(UNIX_EPOCH + Duration::from_millis(updated_ms))
    })
    .map_err(failed)
}
