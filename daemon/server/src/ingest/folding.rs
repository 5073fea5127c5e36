//! Folds one file's lines: the same steps for catching up, for a fork's base and for a past state, so that all
//! three agree.
//!
//! *Forks and reverts* begin with a meta line that names a thread and a cut in its transcript (`history_base`).
//! The state at the cut is not stored, because any line may become a cut later; it is recomputed by folding the
//! beginning of that transcript. The base may itself continue another; the depth is bounded and no file is entered
//! twice.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::digest::Digest128;
use longhaul_core::fold::{Fold, HistoryBase, Source};
use longhaul_core::item::ItemRow;
use longhaul_core::rollout;
use longhaul_store::{BaseState, Cursor, FileRow};

use crate::archive::Archive;
use crate::discovery::catalogue::Catalogue;
use crate::transcript::{Content, Fallback, Line, Piece, Transcript};

/// Maximum transcripts of a lineage: a thread's own, and those it continues.
const LINEAGE_MAX: usize = 16;

/// Whether a lineage of so many transcripts may have another one. Whatever follows a lineage asks this, so that its
/// state, its items and its choices are of the same transcripts.
pub(crate) fn may_continue(transcripts: usize) -> bool {
    transcripts < LINEAGE_MAX
}

pub(crate) struct Folding {
    pub(crate) fold: Fold,
    /// Digest chained over all lines, blank ones included: equal chains mean equal lines.
    pub(crate) chain: Digest128,
    pub(crate) base: BaseState,
    /// Index of the next line in the lineage.
    next_line: u64,
    /// No line with content was folded yet: the next one may name a base.
    is_fresh: bool,
}

impl Folding {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            fold: Fold::new(source),
            chain: Digest128::default(),
            base: BaseState::None,
            next_line: 0,
            is_fresh: true,
        }
    }

    /// Resumes after the lines in `fold`, up to `cursor`.
    pub(crate) fn resume(fold: Fold, cursor: &Cursor, base: BaseState) -> Self {
        Self { fold, chain: cursor.chain, base, next_line: cursor.next_seq, is_fresh: false }
    }

    pub(crate) fn next_line(&self) -> u64 {
        self.next_line
    }

    /// Folds one line; the first one on top of the base it may name.
    pub(crate) fn line(&mut self, line: &Line<'_>, lineage: &Lineage<'_>) -> Option<ItemRow> {
        self.chain = line.link(self.chain);
        match line.content {
            Content::Whole(text) if self.is_fresh && !text.trim_ascii().is_empty() => {
                self.begin(text, lineage);
            }
            Content::Whole(_) => {}
            Content::Head(_) => self.is_fresh = false,
        }
        let seq = self.next_line;
        self.next_line += 1;
        line.fold(&mut self.fold, seq)
    }

    fn begin(&mut self, first_line: &[u8], lineage: &Lineage<'_>) {
        self.is_fresh = false;
        let source = self.fold.head().source;
        let Some(base) = rollout::history_base(source, first_line) else { return };
        (self.fold, self.base) = match lineage.base_fold(&base, Limit::default()) {
            Some(found) => (Fold::branch(&found, source), BaseState::Joined),
            None => (Fold::new(source), BaseState::Missing),
        };
        self.next_line = base.end_ordinal_exclusive.max(self.fold.next_seq());
    }
}

/// Finds the file that a file continues.
pub(crate) struct Lineage<'a> {
    pub(crate) catalogue: &'a Catalogue,
    /// Has the lines of a transcript that is gone or unreadable.
    pub(crate) archive: Option<&'a Arc<Archive>>,
    /// The requested file, which the catalogue does not list if it is gone. `None` while ingesting: then the file is open.
    pub(crate) asked: Option<&'a FileRow>,
    pub(crate) line_bytes_max: usize,
    /// The files being folded, from the requested one to its ancestors.
    pub(crate) visited: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// First line of the lineage not to fold.
    pub(crate) line_end: u64,
    /// First byte of the file not to fold.
    pub(crate) byte_end: u64,
}

impl Default for Limit {
    fn default() -> Self {
        Self { line_end: u64::MAX, byte_end: u64::MAX }
    }
}

impl Limit {
    fn is_reached(self, line: u64, offset: u64) -> bool {
        match self.byte_end {
            u64::MAX => line >= self.line_end,
            byte_end => offset >= byte_end,
        }
    }
}

pub(crate) struct FoldAtLimit {
    pub(crate) fold: Fold,
    /// The line limit and the byte limit are the same place.
    is_exact: bool,
}

impl Lineage<'_> {
    /// The state at the cut that `base` names, or at `limit` if that is earlier; `None` if no transcript and no archived
    /// text reaches the cut.
    fn base_fold(&self, base: &HistoryBase, limit: Limit) -> Option<Fold> {
        if !may_continue(self.visited.len()) {
            return None;
        }
        let cut = Limit {
            line_end: base.end_ordinal_exclusive,
            byte_end: base.end_byte_offset.unwrap_or(u64::MAX),
        };
        let cut = if limit.line_end < cut.line_end { limit } else { cut };
        let mut reaching = None;
        for (path, source) in self.catalogue.of_thread(&base.thread_id) {
            if self.visited.contains(&path) {
                continue;
            }
            match self.fold_until(&path, source, cut) {
                Ok(Some(reached)) if reached.is_exact => return Some(reached.fold),
                Ok(Some(reached)) => reaching = reaching.or(Some(reached.fold)),
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(path = %path.display(), %error, "base of a fork is unreadable");
                }
            }
        }
        reaching.or_else(|| self.archived_fold(&base.thread_id, cut))
    }

    /// The state at a cut of a thread whose transcript is gone.
    fn archived_fold(&self, thread_id: &str, cut: Limit) -> Option<Fold> {
        let texts = self.archive?.texts_of_thread(thread_id).unwrap_or_else(|error| {
            tracing::debug!(thread_id, %error, "base of a fork cannot be found in the archive");
            Vec::new()
        });
        texts
            .into_iter()
            .find_map(|text| {
                let row = text.transcript();
                let (source, path) = (row.source, PathBuf::from(&row.path));
                if self.visited.contains(&path) {
                    return None;
                }
                // Replaced secrets move the bytes, not the lines.
                let cut = match row.is_redacted {
                    true => Limit { byte_end: u64::MAX, ..cut },
                    false => cut,
                };
                let transcript = Transcript::of_archived(text);
                let reached = self.beyond(&path).fold_text(&transcript, source, cut);
                reached.unwrap_or_else(|error| {
                    tracing::debug!(path = %path.display(), %error, "base of a fork is unreadable");
                    None
                })
            })
            .map(|reached| reached.fold)
    }

    /// For the transcript at `path`, which is being folded, too.
    fn beyond(&self, path: &Path) -> Self {
        let mut visited = self.visited.clone();
        visited.push(PathBuf::from(path));
        Self { visited, ..*self }
    }

    fn fallback(&self, path: &Path) -> Option<Fallback> {
        let archive = Arc::clone(self.archive?);
        if let Some(asked) = self.asked.filter(|asked| Path::new(&asked.path) == path) {
            return Some(Fallback::of(archive, asked));
        }
        let entries = self.catalogue.lock();
        let generation = entries.get(path.to_str()?)?.known.as_ref()?.cursor.generation;
        Some(Fallback { archive, generation })
    }

    /// Folds a file from its start up to `limit`; `None` if it ends earlier.
    ///
    /// If the limit is inside the transcript that the file continues, folds that one instead.
    pub(crate) fn fold_until(
        &self,
        path: &Path,
        source: Source,
        limit: Limit,
    ) -> io::Result<Option<FoldAtLimit>> {
        let (lineage, fallback) = (self.beyond(path), self.fallback(path));
        Transcript::read_or_archived(source, path, fallback.as_ref(), |transcript| {
            lineage.fold_text(transcript, source, limit)
        })
    }

    fn fold_text(
        &self,
        transcript: &Transcript,
        source: Source,
        limit: Limit,
    ) -> io::Result<Option<FoldAtLimit>> {
        let mut pieces = transcript.lines_from(0, self.line_bytes_max)?;
        let mut folding = Folding::new(source);
        let (mut at, mut is_end) = (0, false);
        loop {
            // A last line without a newline ends before the byte of a cut that follows it.
            let is_last_line = is_end && folding.next_line() >= limit.line_end;
            if is_last_line || limit.is_reached(folding.next_line(), at) {
                let is_exact = folding.next_line() == limit.line_end;
                return Ok(Some(FoldAtLimit { fold: folding.fold, is_exact }));
            }
            if is_end {
                return Ok(None);
            }
            let line = match pieces.next_piece()? {
                Piece::Line(line) => line,
                Piece::End { offset, rest } => match Line::of_rest(offset, rest) {
                    Some(line) => {
                        is_end = true;
                        line
                    }
                    None => return Ok(None),
                },
            };
            let was_fresh = folding.is_fresh;
            at = line.next;
            folding.line(&line, self);
            if let (true, Some(base)) = (was_fresh, folding.fold.head().history_base.clone())
                && limit.line_end < base.end_ordinal_exclusive
            {
                let fold = self.base_fold(&base, limit);
                return Ok(fold.map(|fold| FoldAtLimit { fold, is_exact: true }));
            }
        }
    }
}
