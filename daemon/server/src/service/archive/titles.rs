//! Titles of archived threads, so that a person can find a lost one.

use std::collections::HashSet;

use longhaul_core::fold::Fold;
use longhaul_core::thread::Source;
use longhaul_store::{ArchiveIndex, ArchivedTranscript};

use super::keeper::ArchiveKeeper;
use super::status::ArchivedThread;
use crate::archive::ArchivedText;
use crate::service::error::ServiceError;
use crate::thread_names;
use crate::transcript::{LINE_BYTES_MAX, Piece, Transcript};

/// Bytes of a text to search for its first request.
const TITLE_BYTES: u64 = 1 << 20;

impl ArchiveKeeper {
    /// Adds the names that people gave to the threads, or else their first requests. The store has the requests even of
    /// threads whose transcripts are gone, until it is rebuilt; then they are read from the archived text.
    pub async fn with_titles(
        &self,
        mut threads: Vec<ArchivedThread>,
    ) -> Result<Vec<ArchivedThread>, ServiceError> {
        let index = self.index()?;
        let paths: Vec<String> =
            threads.iter().map(|thread| thread.transcript.path.clone()).collect();
        let titles = self.files.titles(&paths).await?;
        let of_codex = threads.iter().filter(|thread| thread.transcript.source == Source::Codex);
        let ids: HashSet<String> =
            of_codex.map(|thread| thread.transcript.thread_id.clone()).collect();
        let home = self.shared.config.now().home(Source::Codex).to_owned();
        let reading = move || thread_names::read(&home, |id| ids.contains(id));
        let names = tokio::task::spawn_blocking(reading).await?;
        for thread in &mut threads {
            let row = &thread.transcript;
            let known = titles.get(&row.path).filter(|(of, _)| *of == row.thread_id);
            thread.title = match (names.get(&row.thread_id), known) {
                (Some(name), _) => Some(name.clone()),
                (None, Some((_, title))) => title.clone(),
                (None, None) => self.title_in(&index, row.clone()).await?,
            };
        }
        Ok(threads)
    }

    async fn title_in(
        &self,
        index: &ArchiveIndex,
        row: ArchivedTranscript,
    ) -> Result<Option<String>, ServiceError> {
        let (source, path) = (row.source, row.path.clone());
        let text = self.shared.archive.text(index, row).await?;
        let read = tokio::task::spawn_blocking(move || first_request(source, text)).await?;
        Ok(read.unwrap_or_else(|error| {
            tracing::warn!(path, %error, "cannot read the beginning of an archived text");
            None
        }))
    }
}

/// The first request, shortened and redacted. Blocking.
fn first_request(source: Source, text: ArchivedText) -> std::io::Result<Option<String>> {
    let transcript = Transcript::of_archived(text);
    let mut pieces = transcript.lines_from(0, LINE_BYTES_MAX)?;
    let (mut fold, mut seq) = (Fold::new(source), 0);
    while fold.head().title.is_none()
        && let Piece::Line(line) = pieces.next_piece()?
        && line.offset < TITLE_BYTES
    {
        line.fold(&mut fold, seq);
        seq += 1;
    }
    Ok(fold.head().title.clone())
}
