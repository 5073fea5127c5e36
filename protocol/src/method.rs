//! What a method is, and the table of them.
//!
//! A method is a marker type that names its params and its result. Server and client are generic over it
//! (`on::<M>`, `call::<M>`), so that a name, its params and its result cannot come apart. The table in this
//! file is the only place a method is declared: [`METHODS`], [`CAPABILITIES`], [`visit_methods`], the schema
//! and the list of examples follow from it. A method without `examples/NAME.json` does not compile; one
//! without a handler keeps the daemon from starting.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{
    checkpoint, compaction, context, daemon, event, history, job, memory, message_history, policy,
    thread,
};

/// One method of the wire contract, as a marker type.
pub trait Method {
    /// The name on the wire, `namespace/verb` (only the handshake, `initialize`, has no namespace).
    const NAME: &'static str;
    /// What a request carries. Unknown fields are refused.
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// What a successful answer carries. Unknown fields are ignored by readers.
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
}

/// One entry of [`METHODS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodInfo {
    /// The name on the wire.
    pub name: &'static str,
    /// The first protocol revision that has it.
    pub since: u32,
    /// The capability a connection must hold to call it, one of [`CAPABILITIES`].
    pub capability: &'static str,
}

/// Receives every method of the contract, see [`visit_methods`].
pub trait MethodVisitor {
    /// Called once for each method.
    fn visit<M: Method>(&mut self);
}

/// Expands the table below. A block is a module of this crate and the capability its methods need.
macro_rules! methods {
    ($($capability:ident {
        $($name:literal => $marker:ident($params:ident) -> $result:ident,)+
    })+) => {
        $($(
            impl Method for $capability::$marker {
                const NAME: &'static str = $name;
                type Params = $capability::$params;
                type Result = $capability::$result;
            }
        )+)+

        /// Every method of this revision, by capability.
        pub const METHODS: &[MethodInfo] =
            &[$($(MethodInfo { name: $name, since: 1, capability: stringify!($capability) },)+)+];

        /// The capabilities that `initialize` negotiates, sorted.
        ///
        /// All of them are the baseline of the major version: a connection that skips `initialize` holds
        /// them all. A later revision may add one that must be asked for.
        pub const CAPABILITIES: &[&str] = &[$(stringify!($capability)),+];

        /// The example files of the methods, in the order of [`METHODS`].
        pub(crate) const EXAMPLES: &[&str] =
            &[$($(include_str!(concat!("../examples/", $name, ".json")),)+)+];

        /// Calls `visitor` with every method of the contract, in the order of [`METHODS`].
        ///
        /// For what has to be complete: the schema, tests.
        pub fn visit_methods(visitor: &mut impl MethodVisitor) {
            $($(visitor.visit::<$capability::$marker>();)+)+
        }
    };
}

methods! {
    checkpoint {
        "checkpoint/apply" => Apply(ApplyParams) -> ApplyResult,
        "checkpoint/get" => Get(GetParams) -> GetResult,
        "checkpoint/view" => View(ViewParams) -> ViewResult,
    }
    compaction {
        "compaction/cancel" => Cancel(CancelParams) -> CancelResult,
        "compaction/get" => Get(GetParams) -> GetResult,
        "compaction/list" => List(ListParams) -> ListResult,
        "compaction/run" => Run(RunParams) -> RunResult,
        "compaction/should" => Should(ShouldParams) -> ShouldResult,
        "compaction/start" => Start(RunParams) -> StartResult,
        "compaction/templates" => Templates(TemplatesParams) -> TemplatesResult,
        "compaction/undo" => Undo(UndoParams) -> UndoResult,
    }
    context {
        "context/diff" => Diff(DiffParams) -> DiffResult,
        "context/estimate" => Estimate(EstimateParams) -> EstimateResult,
        "context/normalize" => Normalize(NormalizeParams) -> NormalizeResult,
        "context/truncate" => Truncate(TruncateParams) -> TruncateResult,
        "context/usage" => Usage(UsageParams) -> UsageResult,
    }
    daemon {
        "initialize" => Initialize(InitializeParams) -> InitializeResult,
        "daemon/config" => ShowConfig(NoParams) -> ShowConfigResult,
        "daemon/metrics" => Metrics(NoParams) -> MetricsResult,
        "daemon/reload" => Reload(NoParams) -> ReloadResult,
        "daemon/shutdown" => Shutdown(NoParams) -> ShutdownResult,
        "daemon/status" => Status(NoParams) -> StatusResult,
    }
    event {
        "event/subscribe" => Subscribe(SubscribeParams) -> SubscribeResult,
        "event/unsubscribe" => Unsubscribe(UnsubscribeParams) -> UnsubscribeResult,
    }
    history {
        "history/expand" => Expand(ExpandParams) -> ExpandResult,
        "history/get" => Get(GetParams) -> GetResult,
    }
    job {
        "job/cancel" => Cancel(JobParams) -> JobResult,
        "job/claim" => Claim(ClaimParams) -> ClaimResult,
        "job/complete" => Complete(TokenParams) -> JobResult,
        "job/fail" => Fail(FailParams) -> JobResult,
        "job/get" => Get(JobParams) -> GetResult,
        "job/heartbeat" => Heartbeat(TokenParams) -> HeartbeatResult,
        "job/list" => List(ListParams) -> ListResult,
        "job/retry" => Retry(JobParams) -> JobResult,
        "job/why" => Why(JobParams) -> WhyResult,
    }
    memory {
        "memory/add_note" => AddNote(AddNoteParams) -> AddNoteResult,
        "memory/cite" => Cite(CiteParams) -> CiteResult,
        "memory/forget" => Forget(ForgetParams) -> ForgetResult,
        "memory/list" => List(ListParams) -> ListResult,
        "memory/list_notes" => ListNotes(ListNotesParams) -> ListNotesResult,
        "memory/read" => Read(ReadParams) -> ReadResult,
        "memory/review_note" => ReviewNote(ReviewNoteParams) -> ReviewNoteResult,
        "memory/run" => Run(RunParams) -> RunResult,
        "memory/search" => Search(SearchParams) -> SearchResult,
        "memory/status" => Status(StatusParams) -> StatusResult,
        "memory/summary" => Summary(SummaryParams) -> SummaryResult,
    }
    message_history {
        "message_history/append" => Append(AppendParams) -> AppendResult,
        "message_history/lookup" => Lookup(LookupParams) -> LookupResult,
    }
    policy {
        "policy/check" => Check(CheckParams) -> CheckResult,
        "policy/evaluate" => Evaluate(EvaluateParams) -> EvaluateResult,
        "policy/explain" => Explain(ExplainParams) -> ExplainResult,
        "policy/log" => Log(LogParams) -> LogResult,
        "policy/report" => Report(ReportParams) -> ReportResult,
        "policy/step" => Step(StepParams) -> StepResult,
        "policy/templates" => Templates(TemplatesParams) -> TemplatesResult,
    }
    thread {
        "thread/append" => Append(AppendParams) -> AppendResult,
        "thread/close" => Close(CloseParams) -> CloseResult,
        "thread/continue" => Continue(ContinueParams) -> ContinueResult,
        "thread/get" => Get(GetParams) -> GetResult,
        "thread/items" => Items(ItemsParams) -> ItemsResult,
        "thread/list" => List(ListParams) -> ListResult,
        "thread/open" => Open(OpenParams) -> OpenResult,
        "thread/search" => Search(SearchParams) -> SearchResult,
        "thread/sync" => Sync(SyncParams) -> SyncResult,
    }
}

/// The only notification the daemon sends, to connections that called `event/subscribe`.
pub const EVENT_NOTIFICATION: &str = "event";

/// Looks a method up by its name on the wire.
#[must_use]
pub fn find(name: &str) -> Option<&'static MethodInfo> {
    METHODS.iter().find(|info| info.name == name)
}
