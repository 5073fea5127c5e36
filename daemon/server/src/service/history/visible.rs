//! `history/get`: the items that the model sees of a thread, now or after any line.
//!
//! # Theory of operation
//! The fold decides ([`longhaul_core::fold::Visible`]) with which compaction the history begins, and which later
//! lines were rolled back. This module finds those lines in the index and reads them from the transcripts, a page
//! at a time: compacted items are never read again. Nothing is stored; a cursor names the next line and the line
//! as of which the history is computed.

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_core::checkpoint::view::{self, ViewCaps};
use longhaul_core::compaction::handle::Handle;
use longhaul_core::digest::Digest128;
use longhaul_core::history::{Base, NewestWords, describe, is_opaque, person_text, stand_in};
use longhaul_core::item::{ItemKind, ItemRow};
use longhaul_protocol::history::{self as wire, BaseKind};
use longhaul_store::FileRow;

use super::page::{HistoryPage, ItemPlace, Position};
use crate::archive::Archive;
use crate::service::error::ServiceError;
use crate::service::item_index::{ItemIndex, Stretch};
use crate::service::snapshot::{Snapshot, Snapshots};
use crate::transcript::{Fallback, LineError, LineReader};

#[derive(Debug, Clone)]
pub struct HistoryQuery {
    pub thread_id: String,
    /// The line after which to compute it; `None`: now.
    pub as_of: Option<u64>,
    /// First item of the answer.
    pub from: Position,
    /// Maximum bytes of items; at least one item is returned.
    pub max_bytes: u64,
    pub opaque: Opaque,
}

impl HistoryQuery {
    /// The first items, with encrypted compactions unchanged.
    pub fn as_is(thread_id: &str, as_of: Option<u64>, max_bytes: u64) -> Self {
        let (from, opaque) = (Position::default(), Opaque::AsIs);
        Self { thread_id: thread_id.to_owned(), as_of, from, max_bytes, opaque }
    }
}

/// Treatment of a compaction that only its provider can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opaque {
    /// Replaced by our checkpoint.
    StandIn,
    /// Returned unchanged.
    AsIs,
}

#[derive(Debug)]
pub struct VisibleHistory {
    /// The line as of which it is computed.
    pub seq: u64,
    /// What it begins with, and that line.
    pub base: wire::Base,
    /// The items, byte for byte.
    pub items: Vec<Box<serde_json::value::RawValue>>,
    pub places: Vec<ItemPlace>,
    /// Estimated tokens of the whole history, as counted by the fold.
    pub tokens: u64,
    /// Where the next page begins.
    pub next: Option<Position>,
    /// The transcript no longer has its lines or cannot be read: they are from the archive.
    pub is_from_archive: bool,
}

pub struct Histories {
    pub(in crate::service) index: ItemIndex,
    pub(in crate::service) snapshots: Arc<Snapshots>,
    pub(in crate::service) archive: Arc<Archive>,
}

impl Histories {
    pub async fn visible(&self, query: HistoryQuery) -> Result<VisibleHistory, ServiceError> {
        let is_open = self.archive.index().is_some();
        match self.read(query).await {
            // The archive may have it.
            Err(ServiceError::SourceChanged { .. }) if !is_open => Err(ServiceError::IndexNotOpen),
            read => read,
        }
    }

    async fn read(&self, query: HistoryQuery) -> Result<VisibleHistory, ServiceError> {
        let mut snapshot = self.snapshots.of(&query.thread_id, None).await?;
        if let Some(as_of) = query.as_of.filter(|as_of| *as_of < snapshot.seq()) {
            snapshot = self.snapshots.of(&query.thread_id, Some(as_of)).await?;
        }
        let stretches = self.index.stretches(&snapshot.file, snapshot.fold.next_seq()).await?;
        let mut page = HistoryPage::new(query.from, query.max_bytes);
        let base = match snapshot.fold.visible().base() {
            Some(seq) => {
                let base = self.base(&snapshot, &stretches, seq).await?;
                self.push_base(&snapshot, &base, query.opaque, &mut page).await?;
                wire::Base { kind: base.kind, seq }
            }
            None => wire::Base { kind: BaseKind::Start, seq: 0 },
        };
        let page = self.push_lines(&snapshot, &stretches, page).await?;
        Ok(VisibleHistory {
            seq: snapshot.seq(),
            base,
            items: page.items,
            places: page.places,
            tokens: snapshot.fold.visible().tokens(),
            next: page.next,
            is_from_archive: page.is_from_archive,
        })
    }

    /// Whether the thread still has all these lines, by their digests: its transcript may have been rewritten.
    pub async fn has_lines(
        &self,
        thread_id: &str,
        lines: impl Iterator<Item = (u64, Digest128)>,
    ) -> Result<bool, ServiceError> {
        let snapshot = self.snapshots.of(thread_id, None).await?;
        let stretches = self.index.stretches(&snapshot.file, snapshot.fold.next_seq()).await?;
        for (seq, digest) in lines {
            let found = self.index.find(&stretches, seq).await?;
            if found.is_none_or(|(_, row)| row.digest != digest) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The replacement made by the compaction on line `seq`.
    async fn base(
        &self,
        snapshot: &Snapshot,
        stretches: &[Stretch],
        seq: u64,
    ) -> Result<BaseItems, ServiceError> {
        let Some((file, row)) = self.index.find(stretches, seq).await? else {
            let kind = BaseKind::Replacement;
            return Ok(BaseItems { seq, kind, handle: None, items: Vec::new() });
        };
        let handle = Some(Handle::new(&snapshot.thread_id, (seq, seq), row.digest));
        let payload = self.read_line(file, row).await?;
        let Some(base) = Base::read(&payload) else {
            let (kind, items) = (BaseKind::Replacement, vec![(seq, payload)]);
            return Ok(BaseItems { seq, kind, handle, items });
        };
        if let Some(items) = base.replacement() {
            let is_sealed = items.iter().any(|item| is_opaque(item));
            let kind = if is_sealed { BaseKind::Opaque } else { BaseKind::Replacement };
            let items = items.into_iter().map(|item| (seq, item.to_owned())).collect();
            return Ok(BaseItems { seq, kind, handle, items });
        }
        let mut items = self.newest_words(snapshot, stretches, seq).await?.into_oldest_first();
        items.push((seq, base.summary()));
        Ok(BaseItems { seq, kind: BaseKind::Summary, handle, items })
    }

    /// The person's newest words before line `end`, as kept by an old kind of compaction.
    async fn newest_words(
        &self,
        snapshot: &Snapshot,
        stretches: &[Stretch],
        end: u64,
    ) -> Result<NewestWords, ServiceError> {
        let visible = snapshot.fold.visible();
        let mut words = NewestWords::default();
        for stretch in stretches.iter().rev() {
            for head in self.index.heads(stretch, 0, end).await?.iter().rev() {
                let mut rows = self.index.page(&stretch.file, head).await?;
                rows.retain(|row| {
                    row.seq < end.min(stretch.end) && !visible.is_taken_back(row.seq)
                });
                for row in rows.into_iter().rev() {
                    if words.is_full() {
                        return Ok(words);
                    }
                    let (kind, seq) = (row.kind, row.seq);
                    if !matches!(kind, ItemKind::UserMessage | ItemKind::Compaction) {
                        continue;
                    }
                    let payload = self.read_line(&stretch.file, row).await?;
                    if kind == ItemKind::UserMessage {
                        person_text(&payload).iter().for_each(|text| words.push(seq, text));
                    } else if let Some(items) = Base::read(&payload).and_then(|b| b.replacement()) {
                        let text = items.iter().rev().filter_map(|item| person_text(item));
                        text.for_each(|text| words.push(seq, &text));
                        return Ok(words);
                    }
                }
            }
        }
        Ok(words)
    }

    async fn push_base(
        &self,
        snapshot: &Snapshot,
        base: &BaseItems,
        opaque: Opaque,
        page: &mut HistoryPage,
    ) -> Result<(), ServiceError> {
        let seq = base.seq;
        let view = match base.kind == BaseKind::Opaque && opaque == Opaque::StandIn {
            true => {
                let then = self.snapshots.of(&snapshot.thread_id, Some(seq)).await?;
                let text =
                    view::render(&then.view_inputs(), &ViewCaps::default(), view::DEFAULT_TOKENS);
                Some(stand_in(&text))
            }
            false => None,
        };
        for ((from, item), index) in base.items.iter().zip(0..) {
            let stands_in = view.as_ref().filter(|_| is_opaque(item));
            let text = stands_in.unwrap_or(item);
            page.push(Position { seq, index }, text, |_, tokens| ItemPlace {
                seq: *from,
                kind: describe(text).0,
                tokens,
                handle: base.handle.clone(),
                is_stand_in: stands_in.is_some(),
            });
        }
        Ok(())
    }

    /// Adds the visible lines after the base.
    async fn push_lines(
        &self,
        snapshot: &Snapshot,
        stretches: &[Stretch],
        mut page: HistoryPage,
    ) -> Result<HistoryPage, ServiceError> {
        let visible = snapshot.fold.visible();
        let first = visible.base().map_or(0, |base| base + 1).max(page.first_seq());
        for stretch in stretches {
            // A compressed transcript is read once, not once for each page of its index.
            let mut lines = None;
            for head in self.index.heads(stretch, first, u64::MAX).await? {
                let mut rows = self.index.page(&stretch.file, &head).await?;
                rows.retain(|row| {
                    (first..stretch.end).contains(&row.seq) && visible.holds(row.seq)
                });
                let (path, of) = (PathBuf::from(&stretch.file.path), snapshot.thread_id.clone());
                let source = stretch.file.source;
                let fallback = self.fallback(&stretch.file);
                let read = move || {
                    let mut open = match lines {
                        Some(open) => open,
                        None => LineReader::open(source, &path, Some(fallback))
                            .map_err(|error| failed(&path, error.into()))?,
                    };
                    for row in &rows {
                        push_row(&mut page, &of, row, &mut open).map_err(|e| failed(&path, e))?;
                        if page.is_full() {
                            break;
                        }
                    }
                    page.is_from_archive |= open.is_from_archive();
                    Ok::<_, ServiceError>((page, open))
                };
                let (read_page, open) = tokio::task::spawn_blocking(read).await??;
                (page, lines) = (read_page, Some(open));
                if page.is_full() {
                    return Ok(page);
                }
            }
        }
        Ok(page)
    }

    fn fallback(&self, file: &FileRow) -> Fallback {
        Fallback::of(Arc::clone(&self.archive), file)
    }

    /// The first object on a line.
    async fn read_line(&self, file: &FileRow, row: ItemRow) -> Result<String, ServiceError> {
        let (path, source) = (PathBuf::from(&file.path), file.source);
        let fallback = Some(self.fallback(file));
        let read = move || {
            let mut lines = LineReader::open(source, &path, fallback)
                .map_err(|error| failed(&path, error.into()))?;
            let items = lines.history_items(&row).map_err(|error| failed(&path, error))?;
            Ok(items.first().map(|item| item.get().to_owned()).unwrap_or_default())
        };
        tokio::task::spawn_blocking(read).await?
    }
}

/// The replacement items of a compaction and the lines they come from.
struct BaseItems {
    /// The line of the compaction.
    seq: u64,
    kind: BaseKind,
    handle: Option<Handle>,
    items: Vec<(u64, String)>,
}

fn push_row(
    page: &mut HistoryPage,
    of: &str,
    row: &ItemRow,
    lines: &mut LineReader,
) -> Result<(), LineError> {
    for (item, index) in lines.history_items(row)?.iter().zip(0..) {
        page.push(Position { seq: row.seq, index }, item.get(), |_, tokens| ItemPlace {
            seq: row.seq,
            kind: row.kind,
            tokens,
            handle: Some(Handle::new(of, (row.seq, row.seq), row.digest)),
            is_stand_in: false,
        });
    }
    Ok(())
}

fn failed(path: &std::path::Path, error: LineError) -> ServiceError {
    let shown = path.display().to_string();
    match error {
        LineError::Io(error) if error.kind() != std::io::ErrorKind::NotFound => {
            ServiceError::file(path, error)
        }
        _ => ServiceError::SourceChanged { handle: "the history".to_owned(), path: shown },
    }
}
