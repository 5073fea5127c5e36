//! An archived text back on the disk: where its agent looks, or elsewhere.

use std::io::{self, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use longhaul_core::rollout::source::Layout;
use longhaul_store::ArchivedTranscript;

use super::keeper::ArchiveKeeper;
use crate::archive::{ArchivedReader, ArchivedText};
use crate::new_file;
use crate::service::error::ServiceError;

/// Bytes copied at a time.
const COPY_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub struct Restored {
    pub thread_id: String,
    pub path: PathBuf,
    pub bytes: u64,
    /// The text had its secrets replaced before it was archived.
    pub is_redacted: bool,
    /// What resumes the thread where the file is back in its place.
    pub command: Vec<String>,
}

impl ArchiveKeeper {
    /// Writes the text of a thread back to where its agent looks, or to `to`; never over a file that is there.
    pub async fn restore(
        &self,
        thread_id: &str,
        to: Option<PathBuf>,
    ) -> Result<Restored, ServiceError> {
        let index = self.index()?;
        let thread_id = &self.whole(&index, thread_id).await?;
        let found = index.transcripts_of_thread(thread_id).await?.into_iter().next();
        let row = found.ok_or_else(|| ServiceError::NotArchived(thread_id.clone()))?;
        let is_in_place = to.is_none();
        let path = match to {
            Some(to) if !to.is_absolute() => return Err(invalid("an absolute path")),
            Some(to) => to,
            None => place_of(&row)?,
        };
        let text = Arc::new(self.shared.archive.text(&index, row.clone()).await?);
        let (target, of) = (path.clone(), row.clone());
        tokio::task::spawn_blocking(move || write(&target, &text, &of)).await??;
        let mut command: Vec<String> = Vec::new();
        if is_in_place {
            self.shared.hints.hint(&row.path);
            command.extend(row.source.spec().resume.iter().map(|word| (*word).to_owned()));
            if !command.is_empty() {
                command.push(row.thread_id.clone());
            }
        }
        let ArchivedTranscript { thread_id, text_bytes: bytes, is_redacted, .. } = row;
        Ok(Restored { thread_id, path, bytes, is_redacted, command })
    }
}

fn invalid(reason: &str) -> ServiceError {
    ServiceError::Invalid { field: "to", reason: reason.to_owned() }
}

/// Where the agent looks for the transcript, which it need not find compressed.
fn place_of(row: &ArchivedTranscript) -> Result<PathBuf, ServiceError> {
    match row.source.spec().layout(&row.path) {
        None | Some(Layout::Lines | Layout::Document(_)) => {}
        Some(_) => {
            return Err(invalid(&format!(
                "a file: {} keeps sessions in a form of its own, and archived are the lines that were read; \
                 longhaul continue {} --to codex goes on with it",
                row.source.spec().title,
                row.thread_id
            )));
        }
    }
    if Path::new(&row.path).exists() {
        return Err(ServiceError::FileExists(row.path.clone()));
    }
    Ok(PathBuf::from(row.path.strip_suffix(".zst").unwrap_or(&row.path)))
}

/// Writes a file whole and synced, or not at all. Blocking.
fn write(
    path: &Path,
    text: &Arc<ArchivedText>,
    row: &ArchivedTranscript,
) -> Result<(), ServiceError> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => ServiceError::FileExists(path.display().to_string()),
        ErrorKind::InvalidInput => invalid("the path of a file"),
        ErrorKind::InvalidData => ServiceError::ArchiveDamaged(row.thread_id.clone()),
        ErrorKind::ReadOnlyFilesystem => invalid(
            "where the daemon may write: under systemd the agents' folders and its own, and what a drop-in with ReadWritePaths= adds",
        ),
        _ => ServiceError::file(path, error),
    };
    let reader = ArchivedReader::new(Arc::clone(text), 0);
    let mut reader = BufReader::with_capacity(COPY_BYTES, reader);
    new_file::publish(path, |file| {
        let bytes = io::copy(&mut reader, file)?;
        if bytes != row.text_bytes {
            return Err(io::Error::new(ErrorKind::InvalidData, "a stretch of the text is missing"));
        }
        let updated_ms = u64::try_from(row.updated_ms).unwrap_or(0);
        file.set_modified(UNIX_EPOCH + Duration::from_millis(updated_ms))
    })
    .map_err(failed)
}
