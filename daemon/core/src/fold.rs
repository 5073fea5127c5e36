//! Folds lines in order into identity, totals, checkpoint and index rows: the complete state of a transcript.
//!
//! A fold is a pure function of its lines. It can be saved after any line and resumed by another process or
//! machine, with a result identical to the byte, so a crash costs at most the lines since the last save. Its
//! size is bounded for any transcript.

mod bill;
mod blocked;
mod gauge;
mod head;
mod meter;
mod row;
mod shown_settings;
mod visible;

use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoint;
use crate::checkpoint::reduce::Reducer;
use crate::digest::Digest128;
use crate::item::breakdown::{Breakdown, ContextKind};
use crate::item::{ItemKind, ItemRow};
use crate::rollout::{
    self, Body, Compacted, Entry, Item, Role, TitleBy, TurnSettings, contextual, weigh,
};
use crate::signal::Signals;
use crate::step::{At, Step, Stepper};
use crate::{limits, redact, text, tokens};

use blocked::Failures;
use head::{folder, title};
use row::Row;
use shown_settings::ShownSettings;

pub use bill::{CompactionBill, CompactionCosts, RequestTokens, WorkAfterCompaction};
pub use gauge::Gauge;
pub use meter::{CompactionPoint, Meter, Point, Report};
pub(crate) use visible::KEPT_USER_TOKENS;
pub use visible::Visible;

pub use crate::checkpoint::files::Touch;
pub use crate::thread::{Blocked, HistoryBase, Source, ThreadHead, ThreadKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Index of the line in the thread's lineage, from 0: its `seq`.
    pub line: u64,
    /// First byte in the (decompressed) file.
    pub offset: u64,
    /// Bytes without the newline.
    pub bytes: u64,
}

/// A saved fold cannot be resumed: fold the file from its start.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    /// Written by another version.
    #[error("saved fold has version {found}, this is version {expected}")]
    Version {
        /// Version in the saved bytes.
        found: u32,
        expected: u32,
    },
    /// Not the bytes of a saved fold.
    #[error("fold cannot be saved or read: {0}")]
    Broken(#[from] postcard::Error),
}

/// The state after some lines of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// First, so that the bytes of another version are recognized by it. Before version 40 they were JSON, whose `{` reads
    /// as version 123.
    version: u32,
    next_seq: u64,
    head: ThreadHead,
    title_by: TitleBy,
    stepper: Stepper,
    shown_settings: ShownSettings,
    visible: Visible,
    meter: Meter,
    bill: CompactionCosts,
    failures: Failures,
    checkpoint: Checkpoint,
    reducer: Reducer,
    signals: Signals,
}

/// Initial capacity when saving. Most saved folds fit, which avoids copies while growing.
const SAVED_BYTES: usize = 64 * 1_024;

impl Fold {
    /// Version of the saved form. Raise it with every change of what is folded or how: folds of other
    /// versions are folded again from the start.
    pub const VERSION: u32 = 62;

    /// The state before the first line.
    pub fn new(source: Source) -> Self {
        Self {
            version: Self::VERSION,
            next_seq: 0,
            head: ThreadHead::new(source),
            title_by: TitleBy::default(),
            stepper: Stepper::of(source),
            shown_settings: ShownSettings::default(),
            visible: Visible::default(),
            meter: Meter::default(),
            bill: CompactionCosts::default(),
            failures: Failures::default(),
            checkpoint: Checkpoint::default(),
            reducer: Reducer::default(),
            signals: Signals::default(),
        }
    }

    /// The state of a fork or revert before its own first line: the work known to `base`, without identity
    /// and with line counters at zero.
    ///
    /// The next lines may come from another program than those of `base`.
    pub fn branch(base: &Fold, source: Source) -> Self {
        let (head, failures) = (ThreadHead::new(source), Failures::default());
        let mut fold = Self { head, failures, ..base.clone() };
        if source != base.head.source {
            fold.stepper.change_agent();
        }
        fold.head.items = base.head.items;
        fold.head.tokens = base.head.tokens;
        fold
    }

    /// The state before the first line of a history that replaces `base`: counters continue, and nothing is
    /// visible yet.
    pub fn succeed(base: &Fold) -> Self {
        let mut head = ThreadHead::new(base.head.source);
        head.compactions = base.head.compactions + 1;
        let (visible, meter) = (Visible::default(), Meter::default());
        let mut fold = Self { head, visible, meter, ..base.clone() };
        fold.stepper.begin_history();
        fold.checkpoint.compactions += 1;
        fold
    }

    /// Folds a line derived from known state. It is visible and counted, but does not change the checkpoint.
    pub fn carried(&mut self, place: Place, line: &[u8]) -> Option<ItemRow> {
        let known = (self.checkpoint.clone(), self.reducer.clone());
        let (stepper, bill) = (self.stepper.clone(), self.bill.clone());
        let row = self.line(place, line);
        (self.checkpoint, self.reducer) = known;
        self.stepper.restore(stepper);
        if !self.bill.is_of(place.line) {
            self.bill = bill;
        }
        self.checkpoint.seq = place.line;
        row
    }

    /// Folds one complete line without its newline, and returns the row if it is a history item. Accepts any
    /// content and counts what it does not understand.
    pub fn line(&mut self, place: Place, line: &[u8]) -> Option<ItemRow> {
        self.digested(place, line, Digest128::of(line))
    }

    /// [`Fold::line`] for a caller that has the line's digest.
    pub fn digested(&mut self, place: Place, line: &[u8], digest: Digest128) -> Option<ItemRow> {
        self.next_seq = place.line + 1;
        self.checkpoint.seq = place.line;
        if line.trim_ascii().is_empty() {
            return None;
        }
        self.head.lines += 1;
        let source = self.head.source;
        let mut row: Option<ItemRow> = None;
        let is_nameless = self.head.thread_id.is_none();
        let mut take = |entry: Entry<'_>| match (self.entry(place, &entry), &mut row) {
            // One row per line, because items are digested and returned by whole lines.
            (Some(more), Some(row)) => row.tokens = row.tokens.saturating_add(more.tokens),
            (Some(first), None) => row = Some(first),
            (None, _) => {}
        };
        rollout::read(source, line, is_nameless, &mut take);
        let mut row = row?;
        row.digest = digest;
        self.head.items += 1;
        self.head.tokens = self.visible.tokens();
        Some(row)
    }

    /// Folds a line over the size limit by its first bytes (at most 4 KiB) and the digest of all of it. Keeps
    /// its position for retrieval without reading its content.
    pub fn oversized(&mut self, place: Place, head: &[u8], digest: Digest128) -> Option<ItemRow> {
        self.next_seq = place.line + 1;
        self.checkpoint.seq = place.line;
        self.head.lines += 1;
        self.head.oversized += 1;
        let text = String::from_utf8_lossy(head);
        if !(self.head.source.spec().is_item)(&text) {
            return None;
        }
        let tokens = tokens::of_bytes(place.bytes);
        self.visible.add(place.line, &Breakdown::of(ContextKind::Other, tokens));
        self.meter.item(place.line, self.visible.tokens(), false);
        self.head.items += 1;
        self.head.tokens = self.visible.tokens();
        Some(ItemRow {
            seq: place.line,
            offset: place.offset,
            bytes: place.bytes,
            kind: ItemKind::Oversized,
            tokens,
            digest,
            excerpt: String::new(),
            call_id: None,
        })
    }

    pub fn head(&self) -> &ThreadHead {
        &self.head
    }

    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The part of the history that a model sees now.
    pub fn visible(&self) -> &Visible {
        &self.visible
    }

    /// The settings the model last received; `None` if it must receive all of them.
    pub fn reference(&self) -> Option<&TurnSettings> {
        self.shown_settings.current()
    }

    /// How full the model's window is, and was.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The cost of each compaction, and the work after it.
    pub fn bill(&self) -> &CompactionCosts {
        &self.bill
    }

    /// Signs that a phase of the work ends.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Tokens in the model's window now: the provider's last count plus estimates.
    pub fn used(&self) -> u64 {
        self.meter.used(self.visible.tokens())
    }

    /// The seq the next line must have.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Files touched since the last call, at most [`limits::TOUCHES`].
    pub fn touched(&mut self) -> Vec<Touch> {
        self.reducer.take_touched()
    }

    /// Serializes the state; [`Fold::load`] restores an equal one.
    ///
    /// # Errors
    /// A part of the state cannot be represented in this form: a bug in this program. Save nothing then.
    pub fn save(&self) -> Result<Vec<u8>, FoldError> {
        let mut bytes = postcard::to_extend(self, Vec::with_capacity(SAVED_BYTES))?;
        // Many saved folds may wait for a batched write.
        bytes.shrink_to_fit();
        Ok(bytes)
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// The bytes have another version, or are no saved state.
    pub fn load(bytes: &[u8]) -> Result<Self, FoldError> {
        let (found, _) = postcard::take_from_bytes::<u32>(bytes)?;
        if found != Self::VERSION {
            return Err(FoldError::Version { found, expected: Self::VERSION });
        }
        Ok(postcard::from_bytes(bytes)?)
    }

    fn entry(&mut self, place: Place, entry: &Entry<'_>) -> Option<ItemRow> {
        let at = self.date(place, entry.at_ms);
        let row = self.dated(place, at, entry);
        self.bill.note_line(at);
        row
    }

    fn dated(&mut self, place: Place, at: At, entry: &Entry<'_>) -> Option<ItemRow> {
        let step = self.stepper.step(at, entry);
        let mut is_request = false;
        let mut excerpt = None;
        let mut taken_back = None;
        if let Some(step) = &step {
            if self.failures.step(step) {
                self.head.blocked = None;
            }
            self.bill.step(at, step, &self.checkpoint);
            self.reducer.step(&mut self.checkpoint, at, step);
            self.signals.step(at, step, &self.checkpoint.plan);
            is_request = matches!(step, Step::Asked { .. });
            excerpt = step.excerpt();
            taken_back = match step {
                Step::RolledBack { turns } => Some(*turns),
                _ => None,
            };
        }
        if let Some(turns) = taken_back {
            self.roll_back(place, turns);
        }
        match &entry.body {
            Body::Meta(meta) => self.meta(meta),
            Body::Settings(settings) => {
                if let Some(cwd) = &settings.cwd {
                    self.checkpoint.cwd = folder(Some(cwd));
                }
                if let Some(model) = &settings.model {
                    self.head.model = Some(text::prefix(model, limits::NAME_BYTES).to_owned());
                }
                self.shown_settings.record_settings(settings);
                self.bill.awaits();
            }
            Body::Item(item, tokens) => {
                return self.item(place, item, *tokens, (is_request, excerpt));
            }
            Body::Compacted(compacted) => return Some(self.compacted(place, at, compacted)),
            Body::CompactionUndone { line } => self.put_back(place, *line),
            Body::Title { words, by } => {
                if *by >= self.title_by {
                    self.head.title = Some(title(&redact::redact(words).text));
                    self.title_by = *by;
                }
            }
            // The usage of a message that is written again belongs to the earlier history.
            Body::Usage(_) if self.stepper.is_repeated(at) => {}
            Body::Usage(usage) => {
                self.bill.reported(at, usage);
                self.meter.reported(place.line, *usage);
            }
            Body::TurnFailed(cause) => self.head.blocked = self.failures.failed(at, *cause),
            Body::OnBranch { name } => self.on_branch(name),
            Body::Unknown => self.head.unknown += 1,
            Body::Malformed => self.head.malformed += 1,
            // These produce a step instead.
            Body::Folder { .. }
            | Body::RolledBack { .. }
            | Body::Instructions { .. }
            | Body::Branch { .. }
            | Body::Aside(_)
            | Body::TurnComplete
            | Body::TurnAborted
            | Body::FilesChanged { .. }
            | Body::CommandDone { .. }
            | Body::Passed => {}
        }
        None
    }

    fn roll_back(&mut self, place: Place, turns: u64) {
        self.visible.roll_back(place.line, turns);
        self.shown_settings.roll_back(|seq| self.visible.is_taken_back(seq));
        self.head.tokens = self.visible.tokens();
        self.meter.rolled_back(place.line, self.head.tokens, turns);
    }

    fn put_back(&mut self, place: Place, line: u64) {
        if !self.visible.put_back(line) {
            return;
        }
        self.shown_settings.roll_back(|seq| self.visible.is_taken_back(seq));
        self.head.compactions = self.head.compactions.saturating_sub(1);
        self.checkpoint.compactions = self.checkpoint.compactions.saturating_sub(1);
        self.head.tokens = self.visible.tokens();
        self.meter.rolled_back(place.line, self.head.tokens, 0);
    }

    fn date(&mut self, place: Place, at_ms: Option<i64>) -> At {
        if let Some(ms) = at_ms {
            if self.head.created_at_ms == 0 {
                self.head.created_at_ms = ms;
            }
            // Real transcripts contain clocks that go back by seconds.
            self.head.updated_at_ms = self.head.updated_at_ms.max(ms);
        }
        At { seq: place.line, ms: at_ms.unwrap_or(0) }
    }

    fn item(
        &mut self,
        place: Place,
        item: &Item<'_>,
        tokens: u64,
        (is_request, excerpt): (bool, Option<String>),
    ) -> Option<ItemRow> {
        let mut row = Row::new(ItemKind::Other, "");
        let mut is_context = false;
        match item {
            Item::Message { role: Role::User, text, .. } => {
                is_context = !is_request;
                let kind = if is_request { ItemKind::UserMessage } else { ItemKind::Context };
                row = Row::new(kind, text);
            }
            Item::Message { role: Role::Assistant, text, .. } => {
                row = Row::new(ItemKind::AssistantMessage, text);
            }
            Item::Message { role: Role::Developer, text, .. } => {
                is_context = contextual::is_settings(text);
                row = Row::new(ItemKind::Context, text);
                if contextual::is_model_switch(text) {
                    self.visible.switch_model(place.line);
                }
            }
            Item::Reasoning { .. } => row.kind = ItemKind::Reasoning,
            Item::Call(call) => {
                row = Row::new(ItemKind::ToolCall, &call.arguments);
                row.call_id = Some(&call.call_id);
            }
            Item::Output { call_id, text, .. } => {
                row = Row::new(ItemKind::ToolOutput, text);
                row.call_id = Some(call_id);
            }
            Item::Opaque { .. } => row.kind = ItemKind::Compaction,
            Item::Other { text } => row.words = text,
            Item::Invisible => return None,
        }
        row.shown = excerpt;
        if is_request {
            self.begin_turn(place, tokens);
        }
        self.shown_settings.item(place.line);
        let weight = weigh::weigh(item, tokens);
        match is_context {
            true => self.visible.add_context(place.line, &weight),
            false => self.visible.add(place.line, &weight),
        }
        self.meter.item(place.line, self.visible.tokens(), weigh::is_from_model(item));
        Some(row.index(place, tokens))
    }

    fn begin_turn(&mut self, place: Place, tokens: u64) {
        self.visible.begin_turn(place.line, tokens);
        self.meter.begin_turn();
        if self.head.title.is_none() {
            self.head.title = self.checkpoint.requests.active().map(|r| title(&r.text));
        }
    }

    fn compacted(&mut self, place: Place, at: At, compacted: &Compacted<'_>) -> ItemRow {
        self.head.compactions += 1;
        self.checkpoint.compactions += 1;
        let before = self.used();
        self.bill.compacted(at, compacted, before, self.meter.is_early());
        self.visible.compact(
            place.line,
            compacted.replacement,
            tokens::of_text(&compacted.message),
        );
        self.shown_settings.compact(place.line, compacted.replacement.is_some());
        self.head.tokens = self.visible.tokens();
        self.meter.compacted(place.line, before, self.head.tokens);
        let row = Row::new(ItemKind::Compaction, &compacted.message);
        row.index(place, tokens::of_bytes(place.bytes))
    }
}

#[cfg(test)]
mod tests;
