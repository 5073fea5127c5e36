//! `compaction/*`: from a thread or given items to a replacement history, and back.
//!
//! # Theory of operation
//! *Steps.* Gather what is known (the checkpoint was folded while the transcript was read, so this
//! costs no more for a long thread), go down the ladder of strategies until one has made a replacement
//! that holds, record it, answer. Without a model the only lines read are those of the request being
//! worked on.
//!
//! *A crash* before the record: nothing happened, the caller asks again. After it: `compaction/get`
//! has the answer. A record that cannot be written (a full disk) does not keep a thread's answer back. The transcript is never written; given items are stored first, so that no record
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
mod wording;

use std::collections::BTreeMap;

use longhaul_core::checkpoint::view::{self, Scene, ViewCaps};
use longhaul_core::compaction::Phase;
use longhaul_core::compaction::assemble::{self, KeptRequest, Parts};
use longhaul_core::compaction::classify;
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::receipt::{Fate, Receipt, Span};
use longhaul_core::compaction::worth::{self, Flaw};
use longhaul_core::model::budget::Spending;
use longhaul_core::policy;
use longhaul_core::template::Kind;
use longhaul_protocol::event::EventKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ServiceError, Services, preimage};
use circle::Told;
use climb::{Climbed, Made};
use gather::Gathered;
use wording::Wording;

pub use climb::{Progress, Watch};
pub use log::Undone;
pub use start::CompactWork;
pub use wording::{TextSource, TextUsed};

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
    /// A thread as it was when a job was asked for, a moment ago, with the files as they are now.
    Begun {
        /// Which.
        thread_id: String,
        /// Its last line then.
        seq: u64,
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
    /// Why, where the caller says.
    #[serde(default)]
    pub reason: Option<Reason>,
    /// Bound of the view.
    pub max_tokens: Option<u64>,
    /// Context that the harness always rebuilds.
    pub initial_context: Vec<Value>,
    /// The model to ask instead of the configured one.
    pub model: Option<WantedModel>,
    /// Milliseconds the caller waits.
    pub deadline_ms: Option<u64>,
    /// The model that will read the result.
    #[serde(default)]
    pub reader: Option<Reader>,
    /// The caller's own texts.
    #[serde(default)]
    pub templates: BTreeMap<Kind, String>,
}

/// The model that will read a replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reader {
    /// Its name.
    pub name: String,
    /// Its window, in tokens.
    pub context_window: Option<u64>,
}

/// Why a compaction was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A person asked.
    UserRequested,
    /// The limit was reached.
    ContextLimit,
    /// A model with a smaller window comes next.
    ModelDownshift,
    /// The thread's policy.
    Policy,
}

impl Reason {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UserRequested => "user_requested",
            Self::ContextLimit => "context_limit",
            Self::ModelDownshift => "model_downshift",
            Self::Policy => "policy",
        }
    }

    /// What is stored of one made before reasons were.
    #[must_use]
    pub fn of(name: &str, trigger: &str) -> Self {
        match (name, trigger) {
            ("context_limit", _) | ("", "auto") => Self::ContextLimit,
            ("model_downshift", _) => Self::ModelDownshift,
            ("policy", _) => Self::Policy,
            _ => Self::UserRequested,
        }
    }
}

/// A model that a caller names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedModel {
    /// Its provider, as configured.
    pub provider: String,
    /// Its name.
    pub name: String,
    /// How hard it is to think; `None`: as configured.
    pub effort: Option<String>,
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
    pub spent: Spending,
    /// Why the watcher asked for it, where it did.
    #[serde(default)]
    pub policy: Option<policy::watcher::Trigger>,
    /// Why it was made; `None` in records older than this.
    #[serde(default)]
    pub reason: Option<Reason>,
    /// The texts it was made with.
    #[serde(default)]
    pub texts: Vec<TextUsed>,
}

impl Compaction {
    /// Why it was made.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason.unwrap_or_else(|| Reason::of("", &self.trigger))
    }
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
        let watch = Watch { cancel: &cancel, progress: &|_| {}, owner: None };
        let id = self.new_compaction_id();
        let made = self.compact_watched(id.clone(), request, &watch).await;
        if let Err(error) = &made {
            let data = json!({ "compaction_id": id, "reason": error.to_string() });
            self.deps.events.publish(EventKind::CompactionFailed, data);
        }
        made
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
        request.check_templates()?;
        let started = self.deps.clock.elapsed();
        let gathered = self.gather(&id, &request).await?;
        self.guard(&id, &request, &gathered).await?;
        let cause = self.policy_cause(gathered.thread_id.as_deref(), &mut request).await;
        let wording = self.wording(&request, &gathered);
        let told = Told::new(self, &id, gathered.thread_id.as_deref(), watch);
        told.begun(&request, gathered.fold.visible().tokens());
        let owner = watch.owner;
        let watch = Watch { progress: &|progress| told.hear(progress), ..*watch };
        let Climbed { mut made, ladder, spent } =
            self.climb(&request, &gathered, &wording, &watch).await?;
        if let Some(cause) = &cause {
            cause.add_packet(&mut made);
        }
        let (spans, gathered) = self.all_spans(gathered, made.fates.keys().copied()).await?;
        let mut compaction = account(id, &request, gathered, made, spans);
        compaction.warnings.extend(wording.problems);
        compaction.created_at_ms = self.deps.clock.now_ms();
        compaction.duration_ms = self.ms_since(started);
        compaction.ladder = ladder;
        compaction.spent = spent;
        if let Some(cause) = cause {
            compaction.policy = Some(cause.trigger);
            compaction.reason = Some(Reason::Policy);
        }
        self.keep(&mut compaction, owner).await?;
        told.done(&compaction);
        Ok(compaction)
    }

    fn wording(&self, request: &Request, gathered: &Gathered) -> Wording {
        let cwd = gathered.fold.checkpoint().cwd.clone().unwrap_or_default();
        let max_tokens = gathered.view_tokens(request).to_string();
        let places = [
            ("thread_id", gathered.of.as_str()),
            ("cwd", cwd.as_str()),
            ("max_tokens", max_tokens.as_str()),
        ];
        Wording::of(&self.texts, &request.templates, &places)
    }
}

/// The checkpoint rung: the view and the request, out of what was gathered.
fn checkpoint(request: &Request, gathered: &Gathered, wording: &Wording) -> Made {
    let Gathered { of, fold, semantics, disk, kept, model_switch, .. } = gathered;
    let scene = Scene { thread_id: Some(of), state: fold.checkpoint(), semantics, disk };
    let view = view::render(&scene, &ViewCaps::default(), gathered.view_tokens(request));
    let guide = wording.guide();
    let is_brought = classify::brings_model_switch(request.phase, &request.initial_context);
    let model_switch = model_switch.as_ref().filter(|_| !is_brought);
    let parts = Parts {
        guide: &guide,
        view: &view,
        model_switch: model_switch.map(|(_, switch)| &switch.item),
        request: kept.as_ref(),
        initial_context: &request.initial_context,
    };
    let history = assemble::replacement(parts, request.phase);
    let request = kept.as_ref().and_then(|kept| Some((gathered.request_seq?, kept)));
    let switch = model_switch.map(|(seq, switch)| (*seq, switch));
    let stay = request.into_iter().chain(switch);
    let fates = stay.map(|(seq, kept)| (seq, fate_of(kept))).collect();
    let redacted = kept.iter().chain(model_switch.map(|(_, switch)| switch));
    let redacted = redacted.map(|kept| u64::from(kept.redacted)).sum();
    let texts = wording.used(ask::texts_of(Strategy::Checkpoint));
    Made { strategy: Strategy::Checkpoint, history, view, fates, redacted, texts }
}

/// The whole compaction: sizes, receipt, and what a person should know.
fn account(
    id: String,
    request: &Request,
    gathered: Gathered,
    made: Made,
    spans: Vec<Span>,
) -> Compaction {
    let sizes = gathered.sizes(&made.history);
    let Gathered { of, thread_id, fold, kept, mut warnings, redacted, seq, .. } = gathered;
    let (before, after) = (sizes.before, sizes.after);
    let request_item = kept.as_ref().map(|kept| &kept.item);
    match worth::check(&made.history, request_item, sizes) {
        Ok(()) => {}
        Err(Flaw::OverCeiling) => warnings.push(Notice::new(
            Flaw::OverCeiling.name(),
            format!(
                "{after} tokens are more than half of a window of {}: the request itself is that large",
                sizes.window
            ),
        )),
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
    if made.strategy.asks() && fold.checkpoint().compactions > 0 {
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
        spent: Spending::default(),
        policy: None,
        reason: Some(request.reason.unwrap_or_else(|| Reason::of("", &request.trigger))),
        texts: made.texts,
    }
}

fn fate_of(kept: &KeptRequest) -> Fate {
    if kept.cut || kept.redacted > 0 { Fate::Shortened } else { Fate::Kept }
}
