//! Forks and reverts that continue another transcript by reference.
//!
//! Such a file begins with a meta line that names a thread and a cut in its transcript
//! (`history_base`). The state at the cut is had by folding that transcript's beginning again: it is
//! not kept anywhere, since any line may become a cut later. The base may itself continue another;
//! the way is bounded and never enters a file twice.

use std::io;
use std::path::{Path, PathBuf};

use longhaul_core::fold::{Fold, HistoryBase, Source};

use super::catalogue::Catalogue;
use super::folding::{Folding, Visited, is_whole_object};
use super::pieces::Pieces;
use super::tail::Found;
use super::zst::Transcript;

/// Transcripts on the way from a fork to its first ancestor.
const DEPTH_MAX: usize = 16;

/// What folding a file needs to find the file it continues.
pub(crate) struct Lineage<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) line_bytes_max: usize,
    /// The files being folded, from the asked one to its ancestors.
    pub(crate) visited: Visited,
}

/// Where folding stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// First line of the lineage that is not folded.
    pub(crate) line_end: u64,
    /// First byte of the file that is not folded.
    pub(crate) byte_end: u64,
}

impl Default for Limit {
    fn default() -> Self {
        Self { line_end: u64::MAX, byte_end: u64::MAX }
    }
}

/// The state at the cut that `base` names, or at an earlier one in `limit`; `None` when no
/// transcript that reaches the cut is there.
pub(crate) fn base_fold(lineage: &Lineage<'_>, base: &HistoryBase, limit: Limit) -> Option<Fold> {
    if lineage.visited.len() >= DEPTH_MAX {
        return None;
    }
    let cut = Limit {
        line_end: base.end_ordinal_exclusive,
        byte_end: base.end_byte_offset.unwrap_or(u64::MAX),
    };
    let cut = if limit.line_end < cut.line_end { limit } else { cut };
    let mut reaching = None;
    for (path, source) in lineage.catalogue.of_thread(&base.thread_id) {
        if lineage.visited.contains(&path) {
            continue;
        }
        match fold_until(lineage, &path, source, cut) {
            Ok(Some(reached)) if reached.is_exact => return Some(reached.fold),
            Ok(Some(reached)) => reaching = reaching.or(Some(reached.fold)),
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "base of a fork is unreadable");
            }
        }
    }
    reaching
}

/// A state at a limit.
pub(crate) struct Reached {
    pub(crate) fold: Fold,
    /// Line and byte limit fell on the same place.
    is_exact: bool,
}

/// Folds a file from its start up to `limit`; `None` when it ends before.
///
/// A limit inside the transcript that the file continues is looked for there.
pub(crate) fn fold_until(
    lineage: &Lineage<'_>,
    path: &Path,
    source: Source,
    limit: Limit,
) -> io::Result<Option<Reached>> {
    let mut visited = lineage.visited.clone();
    visited.push(PathBuf::from(path));
    let lineage = Lineage { visited, ..*lineage };
    let transcript = Transcript::open(path)?;
    let mut lines = Pieces::of(&transcript, 0, lineage.line_bytes_max)?;
    let mut folding = Folding::new(source);
    let mut at = 0;
    loop {
        let by_bytes = limit.byte_end < u64::MAX;
        let is_reached =
            if by_bytes { at >= limit.byte_end } else { folding.next_line() >= limit.line_end };
        if is_reached {
            let is_exact = folding.next_line() == limit.line_end;
            return Ok(Some(Reached { fold: folding.fold, is_exact }));
        }
        let before = folding.fold.head().history_base.is_none();
        match lines.next()? {
            Found::Line { offset, line, next } => {
                folding.line(offset, line, &lineage);
                at = next;
            }
            Found::Oversized { offset, bytes, head, digest, next } => {
                folding.oversized(offset, bytes, head, digest);
                at = next;
            }
            Found::End { offset, rest } if is_whole_object(rest) => {
                folding.line(offset, rest, &lineage);
                let is_reached = folding.next_line() >= limit.line_end
                    || offset + rest.len() as u64 >= limit.byte_end;
                let is_exact = folding.next_line() == limit.line_end;
                let reached = Reached { fold: folding.fold, is_exact };
                return Ok(is_reached.then_some(reached));
            }
            Found::End { .. } => return Ok(None),
        }
        if let (true, Some(base)) = (before, folding.fold.head().history_base.clone())
            && limit.line_end < base.end_ordinal_exclusive
        {
            let fold = base_fold(&lineage, &base, limit);
            return Ok(fold.map(|fold| Reached { fold, is_exact: true }));
        }
    }
}
