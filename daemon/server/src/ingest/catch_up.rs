//! Reads one file from its cursor to its end: opens, checks and folds it, and sends batches.
//!
//! Runs on a blocking thread. Each batch carries everything the store needs to resume there, so a pass may stop
//! after any batch: for a more urgent file, for shutdown, or when killed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use longhaul_core::fold::{Fold, FoldError};
use longhaul_store::{Cursor, FileCommit, FileStat};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::batch::{Batch, Effect, Outbox, Outcome, Pages, PassEnd};
use super::file_change::{self, FileChange, judge};
use super::folding::{Folding, Lineage};
use super::limits::Limits;
use super::shared::Shared;
use super::touched_files::Touches;
use crate::archive::ArchivedText;
use crate::discovery::catalogue::KnownFile;
use crate::discovery::names::thread_of_name;
use crate::discovery::plan::Job;
use crate::transcript::{Content, Fallback, Line, Lines, Piece, Presence, Text, Transcript};

/// Context of the reading thread.
struct Reading<'a> {
    shared: &'a Shared,
    runtime: &'a Handle,
    out: RefCell<Outbox<'a>>,
    /// The new path of each file that was found moved. It may not be stored yet.
    moved: RefCell<HashMap<String, String>>,
}

/// Reads files in order until stopped; returns the jobs it did not reach.
pub(crate) fn read_slice(
    shared: &Shared,
    runtime: &Handle,
    slice: Vec<Job>,
    out: &mpsc::Sender<Batch>,
) -> Vec<Job> {
    let out = RefCell::new(Outbox::new(out, shared.limits.batch_bytes));
    let reading = Reading { shared, runtime, out, moved: RefCell::default() };
    let mut jobs = slice.into_iter();
    for mut job in jobs.by_ref() {
        // A panic while reading one file is that file's error; other files are still read.
        let result = catch_unwind(AssertUnwindSafe(|| catch_up(&reading, &job)))
            .map_err(|_| "internal error while reading".to_owned())
            .and_then(|result| result.map_err(|error| error.to_string()));
        // A stop comes after a batch, from which the next pass goes on.
        job.restart &= !matches!(result, Ok(Outcome::Stopped));
        let sent = reading.out.borrow_mut().end(PassEnd { job, result });
        if sent.is_err() || shared.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    // If the receiver is gone, the store has refused a batch, and everything is scanned again.
    reading.out.borrow_mut().flush().ok();
    jobs.collect()
}

/// Catches up one file.
///
/// # Errors
/// The file cannot be read. Data folded before the error is kept.
fn catch_up(reading: &Reading<'_>, job: &Job) -> io::Result<Outcome> {
    if let Some(generation) = job.archived_text {
        return catch_up_archived(reading, job, generation);
    }
    let transcript = match Transcript::open(job.source, Path::new(&job.path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Outcome::Gone),
        other => other?,
    };
    let (moved_from, known) = known_file(reading, job);
    let change = match &known {
        Some(_) if job.restart => FileChange::NewContent,
        Some(known) => judge(&transcript, known, reading.shared.limits.line_bytes_max)?,
        None => FileChange::NewContent,
    };
    let generation = known.as_ref().map_or(0, |known| known.cursor.generation);
    // A file that is not the moved one after all does not inherit its row.
    let moved_from = moved_from.filter(|_| change != FileChange::NewContent);
    let is_moved = moved_from.is_some();
    if let Some(old) = &moved_from {
        reading.moved.borrow_mut().insert(old.clone(), job.path.clone());
    }
    let job = Job { moved_from, ..job.clone() };
    match (change, known) {
        (FileChange::Unchanged, _) if !is_moved => return Ok(Outcome::Unchanged),
        (FileChange::Unchanged | FileChange::Append, Some(known)) => {
            if let Some(pass) = Pass::resume(reading, &job, &transcript, &known)
                && let Some(outcome) = pass.run(reading)?
            {
                return Ok(outcome);
            }
        }
        _ => {}
    }
    let pass = Pass::anew(&job, &transcript, generation + 1)?;
    Ok(pass.run(reading)?.unwrap_or(Outcome::Stopped))
}

/// Folds the archived text of a transcript that is gone, after the part that an interrupted pass stored. Its file keeps
/// the generation, by which the text is found.
fn catch_up_archived(reading: &Reading<'_>, job: &Job, generation: u64) -> io::Result<Outcome> {
    let Some(archive) = &reading.shared.archive else { return Ok(Outcome::Unchanged) };
    let path = Path::new(&job.path);
    let text = Fallback { archive: Arc::clone(archive), generation };
    let mut transcript = match Transcript::archived(path, &text) {
        // It was forgotten or evicted since it was found.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Outcome::Unchanged),
        other => other?,
    };
    if !Presence::default().is_gone(path) {
        return Ok(Outcome::Unchanged);
    }
    if let Some(row) = transcript.archived_text().map(ArchivedText::transcript) {
        let mtime_ns = row.updated_ms.saturating_mul(1_000_000);
        transcript.stat = FileStat { size: row.source_bytes, mtime_ns, ..FileStat::default() };
    }
    let known = known_file(reading, job).1;
    if let Some(known) = known.filter(|known| known.cursor.generation == generation)
        && let Some(pass) = Pass::resume(reading, job, &transcript, &known)
        && let Some(outcome) = pass.run(reading)?
    {
        return Ok(outcome);
    }
    let pass = Pass::anew(job, &transcript, generation)?;
    Ok(pass.run(reading)?.unwrap_or(Outcome::Stopped))
}

/// The catalogue's data on the file, under its old path if it moved, else under its own: the job may be older than
/// the pass that recorded the move. Of two files that seem to be the moved one, the second is a copy.
fn known_file(reading: &Reading<'_>, job: &Job) -> (Option<String>, Option<KnownFile>) {
    let entries = reading.shared.catalogue.lock();
    let known = |path: &String| entries.get(path.as_str())?.known.as_deref().cloned();
    let moved = reading.moved.borrow();
    let is_free = |old: &&String| moved.get(*old).is_none_or(|path| *path == job.path);
    let old = job.moved_from.as_ref().filter(is_free);
    match old.and_then(|old| Some((old.clone(), known(old)?))) {
        Some((old, there)) => (Some(old), Some(there)),
        None => (None, known(&job.path)),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    More,
    /// Nothing for now; there may be more.
    Stop,
    /// The end was reached.
    End,
}

struct Pass<'a> {
    job: &'a Job,
    transcript: &'a Transcript,
    folding: Folding,
    pages: Pages,
    touches: Touches,
    cursor: Cursor,
    /// Offset at the last batch.
    handed_over: u64,
    /// Compactions by the agent that were already reported. `None` if the file is read from its start: the
    /// compactions in it are history.
    compactions: Option<u64>,
}

impl<'a> Pass<'a> {
    fn anew(job: &'a Job, transcript: &'a Transcript, generation: u64) -> io::Result<Self> {
        let mut cursor = Cursor { generation, ..Cursor::default() };
        (cursor.head_bytes, cursor.head_digest) = file_change::head(transcript)?;
        Ok(Self {
            job,
            transcript,
            folding: Folding::new(job.source),
            pages: Pages::default(),
            touches: Touches::default(),
            cursor,
            handed_over: 0,
            compactions: None,
        })
    }

    /// Resumes from the stored state; `None` if it cannot be read or belongs to another cursor.
    fn resume(
        reading: &Reading<'_>,
        job: &'a Job,
        transcript: &'a Transcript,
        known: &KnownFile,
    ) -> Option<Self> {
        let stored = reading.runtime.block_on(async {
            let fold = reading.shared.files.fold(known.file_id).await.ok()??;
            let last =
                reading.shared.pages.last(known.file_id, known.cursor.generation).await.ok()?;
            Some((fold, last.unwrap_or_default()))
        });
        let ((cursor, blob), last_page) = stored?;
        if cursor != known.cursor {
            return None;
        }
        let folding = if cursor.offset == 0 {
            Folding::new(job.source)
        } else {
            match Fold::load(&blob) {
                Ok(fold) => Folding::resume(fold, &cursor, known.base),
                Err(FoldError::Version { .. }) => return None,
                Err(error) => {
                    reading.shared.progress.note_broken_fold(&job.path, &error);
                    return None;
                }
            }
        };
        let is_begun = cursor.offset > 0;
        let compactions = is_begun.then(|| folding.fold.head().compactions);
        Some(Self {
            job,
            transcript,
            compactions,
            folding,
            pages: Pages::after(last_page),
            touches: Touches::default(),
            cursor,
            handed_over: cursor.offset,
        })
    }

    /// Folds to the end or to a stop. `None` if the bytes after the cursor do not continue what was folded; no
    /// batch was sent then.
    fn run(mut self, reading: &Reading<'_>) -> io::Result<Option<Outcome>> {
        let limits = &reading.shared.limits;
        let lineage = Lineage {
            catalogue: &reading.shared.catalogue,
            archive: reading.shared.archive.as_ref(),
            asked: None,
            line_bytes_max: limits.line_bytes_max,
            visited: vec![self.job.path.clone().into()],
        };
        let from = self.cursor.offset;
        let mut pieces = self.transcript.lines_from(from, limits.line_bytes_max)?;
        if self.cursor.open_end && !self.close_open_end(&mut pieces)? {
            return Ok(None);
        }
        loop {
            let piece = match pieces.next_piece() {
                Ok(piece) => piece,
                Err(error) => {
                    self.hand_over(reading, After::Stop)?;
                    return Err(error);
                }
            };
            if !self.fold(piece, &lineage) {
                let is_taken = self.hand_over(reading, After::End)?;
                return Ok(Some(if is_taken { Outcome::CaughtUp } else { Outcome::Stopped }));
            }
            if self.is_batch_full(limits) {
                let stops = reading.shared.stop.load(Ordering::Relaxed);
                let after = if stops { After::Stop } else { After::More };
                if !self.hand_over(reading, after)? || stops {
                    return Ok(Some(Outcome::Stopped));
                }
            }
        }
    }

    /// After a line without a newline, only its newline may follow.
    fn close_open_end(&mut self, pieces: &mut Lines<Text>) -> io::Result<bool> {
        Ok(match pieces.next_piece()? {
            Piece::Line(Line { content: Content::Whole(b""), next, .. }) => {
                self.cursor.offset = next;
                self.cursor.open_end = false;
                true
            }
            Piece::End { rest: b"" | b"\r", .. } => true,
            _ => false,
        })
    }

    /// Folds a piece; returns `false` at the end.
    fn fold(&mut self, piece: Piece<'_>, lineage: &Lineage<'_>) -> bool {
        let (line, is_end) = match piece {
            Piece::Line(line) => (line, false),
            Piece::End { offset, rest } => {
                let line = Line::of_rest(offset, rest).filter(|_| !self.cursor.open_end);
                let Some(line) = line else { return false };
                self.cursor.open_end = true;
                (line, true)
            }
        };
        self.cursor.offset = line.next;
        let item = self.folding.line(&line, lineage);
        item.into_iter().for_each(|item| self.pages.push(item));
        !is_end
    }

    /// The file state to store. Before the end it is a stat that no listing can show, because equal stats mean
    /// that there is nothing to read.
    fn stat_after(&self, after: After) -> FileStat {
        match after {
            After::End => self.transcript.stat,
            After::More | After::Stop => FileStat { size: 0, mtime_ns: 0, ..self.transcript.stat },
        }
    }

    fn is_batch_full(&self, limits: &Limits) -> bool {
        self.cursor.offset - self.handed_over >= limits.batch_bytes
            || self.pages.waiting() >= limits.batch_pages
    }

    /// Sends a batch; returns `false` if the receiver is gone.
    fn hand_over(&mut self, reading: &Reading<'_>, after: After) -> io::Result<bool> {
        let bytes = self.cursor.offset - self.handed_over;
        let is_last = after != After::More;
        file_change::mark_ends(self.transcript, &mut self.cursor)?;
        self.cursor.chain = self.folding.chain;
        self.cursor.next_seq = self.folding.next_line();
        let stat = self.stat_after(after);
        let fold = &mut self.folding.fold;
        self.touches.add(fold.touched());
        let head = fold.head().clone();
        let compacted = self.compactions.is_some_and(|known| head.compactions > known);
        self.compactions = self.compactions.map(|_| head.compactions);
        let now_ms = (reading.shared.now_ms)();
        let observations =
            if is_last { self.touches.observe(head.cwd.as_deref(), now_ms) } else { Vec::new() };
        let thread_id = (head.lines > 0).then(|| {
            head.thread_id.clone().unwrap_or_else(|| thread_of_name(self.job.path.as_ref()))
        });
        let saved = fold.save().map_err(io::Error::other)?;
        // Clone the fold only for a cached thread, so that it is served from memory.
        let is_wanted =
            is_last && thread_id.as_ref().is_some_and(|id| reading.shared.folds.holds(id));
        let fold = is_wanted.then(|| fold.clone());
        let commit = FileCommit {
            source: self.job.source,
            path: self.job.path.clone(),
            moved_from: self.job.moved_from.clone(),
            archived: self.job.archived,
            gone_at_ms: self.job.archived_text.map(|_| now_ms),
            stat,
            cursor: self.cursor,
            base: self.folding.base,
            thread_id,
            head,
            fold: saved,
            pages: self.pages.take(),
            observations,
        };
        self.handed_over = self.cursor.offset;
        let effect = Effect { bytes, fold, compacted };
        Ok(reading.out.borrow_mut().add(commit, effect).is_ok())
    }
}
