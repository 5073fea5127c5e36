//! `compaction/*`: from a thread or given items to a replacement history, and back.
//!
//! # Theory of operation
//! *Steps.* Gather what is known (the checkpoint was folded while the transcript was read, so this
//! costs no more for a long thread), make the view, put the replacement together, check it, record
//! it, answer. No model is asked; the only lines read are those of the request being worked on.
//!
//! *A crash* before the record: nothing happened, the caller asks again. After it: `compaction/get`
//! has the answer. The transcript is never written; given items are stored first, so that no record
//! names items that are not there.

mod gather;
mod log;

use longhaul_core::checkpoint::view::{self, Scene, ViewCaps};
use longhaul_core::compaction::assemble::{self, KeptRequest, Parts};
use longhaul_core::compaction::receipt::{Fate, Receipt, Span};
use longhaul_core::compaction::worth::{self, Flaw};
use longhaul_core::compaction::{Phase, default_view_tokens};
use longhaul_protocol::event::EventKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ServiceError, Services, preimage};
use gather::Gathered;

pub use log::Undone;

/// Stands above the view and says what it is.
const GUIDE: &str = include_str!("../../../../templates/compaction/checkpoint_guide.md");

/// What is to be compacted.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A thread, now or as it was after a line.
    Thread {
        /// Which.
        thread_id: String,
        /// The line.
        as_of: Option<u64>,
    },
    /// These items.
    Items(Vec<Value>),
}

/// A compaction that is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is to be compacted.
    pub subject: Subject,
    /// The rung that is wanted.
    pub strategy: Strategy,
    /// Where in a turn.
    pub phase: Phase,
    /// What asked for it: `manual` or `auto`.
    pub trigger: String,
    /// Bound of the view.
    pub max_tokens: Option<u64>,
    /// Context that the harness always rebuilds.
    pub initial_context: Vec<Value>,
}

/// Rungs of the ladder, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The highest rung that is configured.
    Auto,
    /// The provider's own compaction.
    Remote,
    /// Summary and view.
    Hybrid,
    /// The model's summary.
    Summary,
    /// The view.
    Checkpoint,
}

/// A compaction that was made; stored as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compaction {
    /// Its id.
    pub id: String,
    /// Whose lines the receipt names: the thread, or this compaction for given items.
    pub of: String,
    /// The thread, for one.
    pub thread_id: Option<String>,
    /// The rung that was used.
    pub strategy_used: Strategy,
    /// Rungs that were tried or passed by, with the reason they were left.
    pub ladder: Vec<Rung>,
    /// The replacement.
    pub history: Vec<Value>,
    /// The view in it.
    pub view: String,
    /// Estimated tokens before and after.
    pub tokens: (u64, u64),
    /// What became of each item.
    pub receipt: Receipt,
    /// Secrets taken out of what was kept or stored.
    pub redacted: u64,
    /// What a person should know.
    pub warnings: Vec<Notice>,
    /// Where in a turn.
    pub phase: Phase,
    /// What asked for it.
    pub trigger: String,
    /// When, Unix milliseconds.
    pub created_at_ms: i64,
    /// Last line it knows.
    pub seq: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// When it was undone.
    pub undone_at_ms: Option<i64>,
}

/// One rung of the ladder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rung {
    /// Which.
    pub strategy: Strategy,
    /// Why it was left; `None` for the one that was used.
    pub left_because: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

/// Something a person should know although nothing failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Its kind.
    pub kind: String,
    /// In words.
    pub message: String,
}

impl Notice {
    fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into() }
    }
}

impl Services {
    /// Compacts.
    ///
    /// # Errors
    /// There is no such thread, it holds nothing, or the record could not be stored.
    pub async fn compact(&self, request: Request) -> Result<Compaction, ServiceError> {
        let started = self.deps.clock.elapsed();
        let id = preimage::id(&self.deps.clock.new_id());
        let gathered = self.gather(&id, &request.subject).await?;
        let elapsed_ms = || {
            let since = self.deps.clock.elapsed().saturating_sub(started);
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        };
        let mut compaction = make(id, &request, gathered);
        compaction.created_at_ms = self.deps.clock.now_ms();
        compaction.duration_ms = elapsed_ms();
        compaction.ladder = ladder(request.strategy, compaction.duration_ms);
        self.record(&compaction).await?;
        self.deps.events.publish(
            EventKind::CompactionCompleted,
            json!({
                "compaction_id": compaction.id,
                "thread_id": compaction.thread_id,
                "strategy_used": compaction.strategy_used,
                "tokens": { "before": compaction.tokens.0, "after": compaction.tokens.1 },
            }),
        );
        Ok(compaction)
    }
}

/// The checkpoint rung: from what was gathered to a checked replacement.
fn make(id: String, request: &Request, gathered: Gathered) -> Compaction {
    let Gathered { of, thread_id, fold, semantics, disk, spans, kept, mut warnings, redacted, seq } =
        gathered;
    let before = fold.visible().tokens();
    let scene = Scene {
        thread_id: thread_id.as_deref(),
        state: fold.checkpoint(),
        semantics: &semantics,
        disk: &disk,
    };
    let max_tokens = request.max_tokens.unwrap_or_else(|| default_view_tokens(before));
    let view = view::render(&scene, &ViewCaps::default(), max_tokens);
    let parts = Parts {
        guide: GUIDE,
        view: &view,
        request: kept.as_ref(),
        initial_context: &request.initial_context,
    };
    let history = assemble::replacement(parts, request.phase);
    let after = assemble::estimate(&history);
    match worth::check(&history, kept.is_some(), (before, after)) {
        Ok(()) => {}
        Err(Flaw::TooLarge) => warnings.push(Notice::new(
            Flaw::TooLarge.name(),
            format!(
                "{before} tokens became {after}: the history is too small to gain from compacting"
            ),
        )),
        Err(flaw) => {
            warnings.push(Notice::new(
                flaw.name(),
                "the replacement was made without the request's own item",
            ));
        }
    }
    let request_seq = fold.checkpoint().requests.active().map(|active| active.seq);
    let fate = kept.as_ref().map_or(Fate::Kept, fate_of);
    let receipt = Receipt::of(spans, |span| {
        let is_request = span.items == 1 && Some(span.first) == request_seq;
        (is_request && kept.is_some()).then_some(fate)
    });
    let redacted = redacted + kept.as_ref().map_or(0, |kept| u64::from(kept.redacted));
    Compaction {
        id,
        of,
        thread_id,
        strategy_used: Strategy::Checkpoint,
        ladder: Vec::new(),
        history,
        view,
        tokens: (before, after),
        receipt,
        redacted,
        warnings,
        phase: request.phase,
        trigger: request.trigger.clone(),
        created_at_ms: 0,
        seq,
        duration_ms: 0,
        undone_at_ms: None,
    }
}

fn fate_of(kept: &KeptRequest) -> Fate {
    if kept.cut || kept.redacted > 0 { Fate::Shortened } else { Fate::Kept }
}

/// The rungs above the one that was used, and why each was passed by.
fn ladder(wanted: Strategy, duration_ms: u64) -> Vec<Rung> {
    let passed_by: &[Strategy] = match wanted {
        Strategy::Auto | Strategy::Checkpoint => &[],
        Strategy::Remote => &[Strategy::Remote],
        Strategy::Hybrid => &[Strategy::Hybrid],
        Strategy::Summary => &[Strategy::Summary],
    };
    let left = |strategy: &Strategy| Rung {
        strategy: *strategy,
        left_because: Some("no model provider is configured".to_owned()),
        duration_ms: 0,
    };
    let used = Rung { strategy: Strategy::Checkpoint, left_because: None, duration_ms };
    passed_by.iter().map(left).chain([used]).collect()
}
