//! Gathers the input of a compaction: for a thread from the index and one line of its transcript, for given items
//! (`given_items`) by folding them now.

use std::sync::Arc;

use longhaul_core::compaction::assemble::{self, KeptRequest};
use longhaul_core::context::window::{self, WindowSources};
use longhaul_store::FileRow;
use serde_json::Value;
use serde_json::value::RawValue;

use super::given_items::GivenItems;
use super::input::{Input, ItemSource, newest_switch};
use super::record::Notice;
use super::request::{Request, Subject};
use crate::archive::Archive;
use crate::service::context::window_facts::WindowFacts;
use crate::service::error::ServiceError;
use crate::service::item_index::{FileRows, ItemIndex};
use crate::service::snapshot::{Snapshot, Snapshots};
use crate::transcript::{Fallback, LineReader};

pub struct Gatherer {
    pub(in crate::service) windows: WindowFacts,
    pub(in crate::service) snapshots: Arc<Snapshots>,
    pub(in crate::service) index: ItemIndex,
    pub(in crate::service) archive: Arc<Archive>,
    pub(in crate::service) given: GivenItems,
}

impl Gatherer {
    /// Fixes the subject of a compaction that runs later: stores given items, and notes a thread's last line.
    pub(super) async fn fix(&self, id: &str, subject: Subject) -> Result<Subject, ServiceError> {
        Ok(match subject {
            Subject::Items(items) => Subject::Stored(self.given.store(id, items).await?),
            Subject::Thread { thread_id, as_of: None } => {
                let seq = self.snapshots.of(&thread_id, None).await?.seq();
                Subject::Begun { thread_id, seq }
            }
            Subject::Thread { thread_id, as_of } => match self.snapshots.fold(&thread_id).await? {
                Some(_) => Subject::Thread { thread_id, as_of },
                None => return Err(ServiceError::ThreadNotFound(thread_id)),
            },
            fixed => fixed,
        })
    }

    pub(super) async fn gather(&self, id: &str, request: &Request) -> Result<Input, ServiceError> {
        let mut input = match &request.subject {
            Subject::Thread { thread_id, as_of } => {
                self.of_thread(self.snapshots.of(thread_id, *as_of).await?).await?
            }
            Subject::Begun { thread_id, seq } => {
                self.of_thread(self.snapshots.as_requested(thread_id, *seq).await?).await?
            }
            Subject::Items(items) => {
                let redacted = self.given.store(id, items.clone()).await?;
                self.given.read(id, redacted).await?
            }
            Subject::Stored(redacted) => self.given.read(id, *redacted).await?,
        };
        let reader = request.reader.as_ref();
        let fold = &input.fold;
        let known = self.windows.of(input.thread_id.as_deref(), Some(fold.as_ref())).await?;
        let model = reader.map(|reader| reader.name.as_str()).or(fold.head().model.as_deref());
        let window = window::decide(&WindowSources {
            asked: reader.and_then(|reader| reader.context_window),
            ..known.sources(Some(fold), model)
        });
        input.window = window.tokens;
        input.focus = request.focus.clone().unwrap_or_default();
        input.agent_prompt = known.agent.compact_prompt;
        Ok(input)
    }

    async fn of_thread(&self, snapshot: Snapshot) -> Result<Input, ServiceError> {
        let request_seq = snapshot.fold.checkpoint().requests.active().map(|active| active.seq);
        let mut warnings = Vec::new();
        warnings.extend(self.gone_notice(&snapshot.file).await?);
        let kept = match request_seq {
            Some(seq) => self.read_kept(&snapshot.file, seq, first_item).await?,
            None => None,
        };
        let model_switch = match snapshot.fold.visible().model_switch() {
            Some(seq) => {
                self.read_kept(&snapshot.file, seq, newest_switch).await?.map(|kept| (seq, kept))
            }
            None => None,
        };
        let kept = kept.or_else(|| {
            let active = snapshot.fold.checkpoint().requests.active()?;
            warnings.push(Notice::new(
                "request_from_checkpoint",
                "the request's own line cannot be read: its text is taken from the checkpoint",
            ));
            Some(assemble::keep_request(assemble::message("user", &active.text)))
        });
        let seq = snapshot.seq();
        let Snapshot { thread_id, fold, semantics, disk, file, .. } = snapshot;
        Ok(Input {
            of: thread_id.clone(),
            thread_id: Some(thread_id),
            fold,
            semantics,
            disk,
            items: ItemSource::Transcript(Box::new(file)),
            request_seq,
            kept,
            model_switch,
            ghosts: Vec::new(),
            agent_prompt: None,
            warnings,
            redacted: 0,
            seq,
            window: window::FALLBACK_TOKENS,
            focus: String::new(),
        })
    }

    /// What a person should know if the transcript is gone.
    async fn gone_notice(&self, file: &FileRow) -> Result<Option<Notice>, ServiceError> {
        if file.gone_at_ms.is_none() {
            return Ok(None);
        }
        let is_archived = self.archive.has_text(&file.path, file.cursor.generation).await?;
        Ok(Some(match is_archived {
            Some(false) => Notice::new(
                "transcript_lost",
                "the transcript is gone, and not in the archive: nothing of it can be expanded or restored",
            ),
            _ => Notice::new(
                "transcript_gone",
                "the transcript is gone: its lines are read from the archive as far as possible",
            ),
        }))
    }

    /// The item of line `seq` that `pick` selects, prepared for a replacement; `None` if the line no longer
    /// exists.
    async fn read_kept(
        &self,
        file: &FileRow,
        seq: u64,
        pick: fn(&[Box<RawValue>]) -> Option<KeptRequest>,
    ) -> Result<Option<KeptRequest>, ServiceError> {
        let pieces = self.index.lineage_rows(file, seq, seq).await?;
        let Some(FileRows { source, path, generation, rows }) = pieces.into_iter().next() else {
            return Ok(None);
        };
        let archive = Arc::clone(&self.archive);
        let fallback = generation.map(|generation| Fallback { archive, generation });
        let read = move || {
            let mut lines = LineReader::open(source, &path, fallback).ok()?;
            let items = lines.history_items(rows.first()?).ok()?;
            pick(&items)
        };
        Ok(tokio::task::spawn_blocking(read).await?)
    }
}

fn first_item(items: &[Box<RawValue>]) -> Option<KeptRequest> {
    serde_json::from_str::<Value>(items.first()?.get()).ok().map(assemble::keep_request)
}
