//! The status of the archive, its threads, and checks on request.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use longhaul_protocol::archive::{ArchiveState, OverviewResult, VerifyResult};
use longhaul_store::{ArchiveIndex, ArchivedTranscript};

use super::keeper::ArchiveKeeper;
use super::shared::ArchiveShared;
use super::upkeep;
use crate::archive::{Archive, ArchivedReader, ArchivedText};
use crate::service::error::ServiceError;
use crate::transcript::Presence;

#[derive(Debug)]
pub struct ArchivedThread {
    pub transcript: ArchivedTranscript,
    pub is_gone: bool,
    /// `None` before [`ArchiveKeeper::with_titles`], and without a request.
    pub title: Option<String>,
}

impl ArchiveKeeper {
    pub async fn state(&self) -> Result<OverviewResult, ServiceError> {
        let (shared, index) = (&self.shared, self.index()?);
        let settings = shared.config.now().archive.clone();
        let files_behind = shared.progress.behind.load(Ordering::Relaxed);
        let problem = shared.progress.stalled();
        let state = match (&problem, *settings.enabled) {
            (_, false) => ArchiveState::Off,
            (Some(_), true) => ArchiveState::Stalled,
            (None, true) if !shared.is_idle() => ArchiveState::Archiving,
            (None, true) => ArchiveState::Idle,
        };
        let totals = index.totals().await?;
        let (gone, evicted) = (count_gone(&index).await?, count_evicted(&index).await?);
        Ok(OverviewResult {
            state,
            problem,
            path: shared.archive.folder().display().to_string(),
            bytes: totals.bytes + index.bytes(),
            text_bytes: totals.text_bytes,
            stored_text_bytes: totals.chunk_bytes,
            threads: totals.threads,
            transcripts: totals.transcripts,
            gone,
            evicted,
            forgotten: shared.forgotten().await?.count(),
            files_behind,
            oldest_at: totals.oldest_ms,
            verified_at: totals.checked_ms,
            damaged: totals.damaged_packs,
            max_bytes: shared.max_bytes(),
            max_age_days: *settings.max_age_days,
            redacts: *settings.redact,
            unredacted: totals.plain_texts,
            all_redacted: index.packs.are_redacted().await?,
        })
    }

    /// The archived texts of one thread or of all, without replaced ones; those that grew last come first.
    ///
    /// # Errors
    /// [`ServiceError::ThreadNotFound`] if nobody knows the thread.
    pub async fn threads(
        &self,
        thread_id: Option<&str>,
    ) -> Result<Vec<ArchivedThread>, ServiceError> {
        let index = self.index()?;
        let mut rows = match thread_id {
            Some(thread_id) => {
                let thread_id = self.known_thread(thread_id).await?;
                index.transcripts.of_thread(&thread_id).await?
            }
            None => index.transcripts.all().await?,
        };
        rows.retain(|row| row.generation >= 0);
        rows.sort_by(|a, b| b.updated_ms.cmp(&a.updated_ms).then_with(|| a.path.cmp(&b.path)));
        let looking = move || {
            let mut presence = Presence::default();
            let look = |transcript: ArchivedTranscript| {
                let is_gone = presence.is_gone(Path::new(&transcript.path));
                ArchivedThread { is_gone, title: None, transcript }
            };
            rows.into_iter().map(look).collect()
        };
        Ok(tokio::task::spawn_blocking(looking).await?)
    }

    /// Reads all packs of a thread, or of the archive, completely.
    pub async fn check(&self, thread_id: Option<&str>) -> Result<VerifyResult, ServiceError> {
        let index = self.index()?;
        let mut packs = index.packs.all().await?;
        if let Some(thread_id) = thread_id {
            let thread_id = &self.complete_id(&index, thread_id).await?;
            let mut own = std::collections::HashSet::new();
            let rows = index.transcripts.of_thread(thread_id).await?;
            if rows.is_empty() {
                return Err(ServiceError::NotArchived(thread_id.clone()));
            }
            for row in rows {
                own.extend(index.packs.pieces(row.id).await?.into_iter().map(|piece| piece.pack));
            }
            packs.retain(|pack| own.contains(&pack.pack));
        }
        let (mut files, mut bytes, mut damaged) = (0, 0, 0);
        let mut damaged_threads = Vec::new();
        for pack in packs {
            let of = index.clone();
            let check = async move |shared: Arc<ArchiveShared>| {
                upkeep::check_if_there(&shared, &of, pack.pack).await
            };
            let Some(is_sound) = self.shared.in_turn(check).await? else { continue };
            files += 1;
            bytes += pack.bytes;
            damaged += u64::from(!is_sound);
            if is_sound {
                continue;
            }
            for row in index.transcripts.in_pack(pack.pack).await? {
                let thread_id = row.thread_id.clone();
                if !is_whole(&self.shared.archive, &index, row).await? {
                    damaged_threads.push(thread_id);
                }
            }
        }
        damaged_threads.sort_unstable();
        damaged_threads.dedup();
        Ok(VerifyResult { files, bytes, damaged, damaged_threads })
    }
}

async fn is_whole(
    archive: &Archive,
    index: &ArchiveIndex,
    row: ArchivedTranscript,
) -> Result<bool, ServiceError> {
    let (path, bytes) = (row.path.clone(), row.text_bytes);
    let text = Arc::new(archive.text(index, row).await?);
    let reading = move || io::copy(&mut ArchivedReader::new(text, 0), &mut io::sink());
    match tokio::task::spawn_blocking(reading).await? {
        Ok(read) => Ok(read == bytes),
        Err(error) if ArchivedText::is_damage(&error) => Ok(false),
        Err(error) => Err(ServiceError::file(Path::new(&path), error)),
    }
}

/// Counts the evicted texts whose transcripts exist.
async fn count_evicted(index: &ArchiveIndex) -> Result<u64, ServiceError> {
    let evicted = index.threads.evicted().await?;
    let count = move || {
        let mut presence = Presence::default();
        evicted.iter().filter(|(path, _)| !presence.is_gone(Path::new(path))).count() as u64
    };
    Ok(tokio::task::spawn_blocking(count).await?)
}

/// Counts the archived transcripts whose files are gone, a page at a time.
async fn count_gone(index: &ArchiveIndex) -> Result<u64, ServiceError> {
    let (mut gone, mut last) = (0, 0);
    loop {
        let texts = index.transcripts.progress_after(last).await?;
        let Some(text) = texts.last() else { return Ok(gone) };
        last = text.id;
        let looking = move || {
            let mut presence = Presence::default();
            let current = texts.iter().filter(|text| text.generation >= 0);
            current.filter(|text| presence.is_gone(Path::new(&text.path))).count() as u64
        };
        gone += tokio::task::spawn_blocking(looking).await?;
    }
}
