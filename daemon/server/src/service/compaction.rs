//! `compaction/*`: from a thread or given items to a replacement history, and back.
//!
//! # Theory of operation
//! *Steps.* Gather what is known (the checkpoint was folded while the transcript was read, so this
//! costs no more for a long thread), go down the ladder of strategies until one has made a replacement
//! that holds, record it, answer. Without a model the only lines read are those of the request being
//! worked on.
//!
//! *A crash* before the record: nothing happened, the caller asks again. After it: `compaction/get`
//! has the answer. The transcript is never written; given items are stored first, so that no record
//! names items that are not there.

mod ask;
mod circle;
mod climb;
mod gather;
mod given;
mod log;
mod original;
mod packet;
mod start;

use longhaul_core::checkpoint::view::{self, Scene, ViewCaps};
use longhaul_core::compaction::Phase;
use longhaul_core::compaction::assemble::{self, KeptRequest, Parts};
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::receipt::{Fate, Receipt, Span};
use longhaul_core::compaction::worth::{self, Flaw};
use longhaul_core::model::budget::Spent;
use longhaul_core::policy;
use longhaul_protocol::event::EventKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ServiceError, Services, preimage};
use circle::Told;
use climb::{Climbed, Made};
use gather::Gathered;

pub use climb::Watch;
pub use log::Undone;
pub use start::CompactWork;

/// Stands above the view and says what it is.
const GUIDE: &str = include_str!("../../../../templates/compaction/checkpoint_guide.md");

/// What is to be compacted.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
    /// Items that were stored under the compaction's id, and the secrets replaced in them.
    Stored(u64),
}

/// A compaction that is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
    /// The model to ask instead of the configured one.
    pub model: Option<WantedModel>,
    /// Milliseconds the caller waits.
    pub deadline_ms: Option<u64>,
}

/// A model that a caller names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedModel {
    /// Its provider, as configured.
    pub provider: String,
    /// Its name.
    pub name: String,
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
    /// What models cost.
    #[serde(default)]
    pub spent: Spent,
    /// Why the watcher asked for it, where it did.
    #[serde(default)]
    pub policy: Option<policy::watcher::Trigger>,
}

/// One rung of the ladder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rung {
    /// Which.
    pub strategy: Strategy,
    /// Whether it was tried.
    #[serde(default)]
    pub tried: bool,
    /// Why it was left, a stable name; `None` for the one that was used.
    pub left_because: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

impl Rung {
    fn used(strategy: Strategy, duration_ms: u64) -> Self {
        Self { strategy, tried: true, left_because: None, duration_ms }
    }

    fn failed(strategy: Strategy, reason: String, duration_ms: u64) -> Self {
        Self { strategy, tried: true, left_because: Some(reason), duration_ms }
    }

    fn skipped(strategy: Strategy, reason: &str) -> Self {
        Self { strategy, tried: false, left_because: Some(reason.to_owned()), duration_ms: 0 }
    }
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
        let cancel = CancellationToken::new();
        let watch = Watch { cancel: &cancel, progress: &|_, _| {}, owner: None };
        self.compact_watched(self.new_compaction_id(), request, &watch).await
    }

    /// The id of a compaction that is to be made.
    #[must_use]
    pub fn new_compaction_id(&self) -> String {
        preimage::id(&self.deps.clock.new_id())
    }

    /// Compacts under a given id, telling how far it is.
    ///
    /// # Errors
    /// As [`compact`](Self::compact).
    pub async fn compact_watched(
        &self,
        id: String,
        mut request: Request,
        watch: &Watch<'_>,
    ) -> Result<Compaction, ServiceError> {
        let started = self.deps.clock.elapsed();
        let gathered = self.gather(&id, &request.subject).await?;
        self.guard(&request, &gathered).await?;
        let cause = self.policy_cause(gathered.thread_id.as_deref(), &mut request).await;
        let told = Told::new(self, &id, gathered.thread_id.as_deref(), watch);
        let owner = watch.owner;
        let watch = Watch { progress: &|rung, tokens| told.hear(rung, tokens), ..*watch };
        let Climbed { mut made, ladder, spent } = self.climb(&request, &gathered, &watch).await?;
        if let Some(cause) = &cause {
            cause.add_packet(&mut made);
        }
        let (spans, gathered) = self.all_spans(gathered, made.fates.keys().copied()).await?;
        let mut compaction = account(id, &request, gathered, made, spans);
        compaction.created_at_ms = self.deps.clock.now_ms();
        compaction.duration_ms = self.ms_since(started);
        compaction.ladder = ladder;
        compaction.spent = spent;
        compaction.policy = cause.map(|cause| cause.trigger);
        self.record(&compaction, owner).await?;
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

/// The checkpoint rung: the view and the request, out of what was gathered.
fn checkpoint(request: &Request, gathered: &Gathered) -> Made {
    let Gathered { of, fold, semantics, disk, kept, .. } = gathered;
    let scene = Scene { thread_id: Some(of), state: fold.checkpoint(), semantics, disk };
    let max_tokens = request.max_tokens.unwrap_or_else(|| gathered.view_tokens());
    let view = view::render(&scene, &ViewCaps::default(), max_tokens);
    let parts = Parts {
        guide: GUIDE,
        view: &view,
        request: kept.as_ref(),
        initial_context: &request.initial_context,
    };
    let history = assemble::replacement(parts, request.phase);
    let fates = kept.as_ref().and_then(|kept| Some((gathered.request_seq?, fate_of(kept))));
    let redacted = kept.as_ref().map_or(0, |kept| u64::from(kept.redacted));
    let fates = fates.into_iter().collect();
    Made { strategy: Strategy::Checkpoint, history, view, fates, redacted }
}

/// The whole compaction: sizes, receipt, and what a person should know.
fn account(
    id: String,
    request: &Request,
    gathered: Gathered,
    made: Made,
    spans: Vec<Span>,
) -> Compaction {
    let Gathered { of, thread_id, fold, kept, mut warnings, redacted, seq, .. } = gathered;
    let (before, after) = (fold.visible().tokens(), assemble::estimate(&made.history));
    let request_item = kept.as_ref().map(|kept| &kept.item);
    match worth::check(&made.history, request_item, (before, after)) {
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
    if made.strategy.asks() && fold.head().compactions > 0 {
        warnings.push(Notice::new(
            "accuracy",
            "this thread was summarised more than once; what matters most is better begun in a new one",
        ));
    }
    let receipt = Receipt::of(spans, |span| {
        let fate = made.fates.get(&span.first).copied();
        fate.filter(|_| span.items == 1)
    });
    Compaction {
        id,
        of,
        thread_id,
        strategy_used: made.strategy,
        ladder: Vec::new(),
        history: made.history,
        view: made.view,
        tokens: (before, after),
        receipt,
        redacted: redacted + made.redacted,
        warnings,
        phase: request.phase,
        trigger: request.trigger.clone(),
        created_at_ms: 0,
        seq,
        duration_ms: 0,
        undone_at_ms: None,
        spent: Spent::default(),
        policy: None,
    }
}

fn fate_of(kept: &KeptRequest) -> Fate {
    if kept.cut || kept.redacted > 0 { Fate::Shortened } else { Fate::Kept }
}
