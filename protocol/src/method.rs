//! What a method is, and the table of them.
//!
//! A method is a marker type that names its params and its result. Server and client are generic over it
//! (`on::<M>`, `call::<M>`), so a name always has its own params and result. The table in this file is the only
//! place where a method is declared: [`METHODS`], [`CAPABILITIES`], [`visit_methods`], the schema and the list of
//! examples are generated from it. A method without `examples/NAME.json` does not compile; the daemon does not
//! start if one has no handler.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{
    archive, checkpoint, compaction, context, daemon, event, history, job, memory, message_history,
    policy, thread,
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
    /// What a connection on the agents' socket may do with it.
    pub agents: AgentAccess,
}

/// What a connection on the agents' socket may do with a method. The person's socket may call them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentAccess {
    /// Nothing: the call is rejected before its params are read.
    No,
    /// Call it: it answers from its params alone, or with nothing of any project.
    Yes,
    /// Call it for threads and memory of the project the agent runs in.
    OwnProject,
}

impl AgentAccess {
    /// The word used in the documentation.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Yes => "yes",
            Self::OwnProject => "own project",
        }
    }
}

/// Receives every method of the contract, see [`visit_methods`].
pub trait MethodVisitor {
    /// Called once for each method.
    fn visit<M: Method>(&mut self);
}

/// Expands the table below. A block is a module of this crate and the capability its methods need. `agents` has
/// no default, so every new method states what an agent may do with it.
macro_rules! methods {
    ($($capability:ident {
        $($name:literal => $marker:ident($params:ident) -> $result:ident, agents: $agents:ident;)+
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
            &[$($(MethodInfo {
                name: $name,
                since: 1,
                capability: stringify!($capability),
                agents: AgentAccess::$agents,
            },)+)+];

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
        /// For uses that must be complete: the schema, tests.
        pub fn visit_methods(visitor: &mut impl MethodVisitor) {
            $($(visitor.visit::<$capability::$marker>();)+)+
        }
    };
}

methods! {
    archive {
        "archive/forget" => Forget(ForgetParams) -> ForgetResult, agents: No;
        "archive/list" => ArchiveList(ArchiveListParams) -> ArchiveListResult, agents: No;
        "archive/restore" => Restore(RestoreParams) -> RestoreResult, agents: No;
        "archive/status" => Overview(OverviewParams) -> OverviewResult, agents: No;
        "archive/verify" => Verify(VerifyParams) -> VerifyResult, agents: No;
    }
    checkpoint {
        "checkpoint/apply" => Apply(ApplyParams) -> ApplyResult, agents: OwnProject;
        "checkpoint/choices" => Choices(ChoicesParams) -> ChoicesResult, agents: OwnProject;
        "checkpoint/choose" => Choose(ChooseParams) -> ChooseResult, agents: No;
        "checkpoint/get" => CheckpointGet(CheckpointGetParams) -> CheckpointGetResult, agents: OwnProject;
        "checkpoint/unchoose" => Unchoose(UnchooseParams) -> UnchooseResult, agents: No;
        "checkpoint/view" => View(ViewParams) -> ViewResult, agents: OwnProject;
    }
    compaction {
        "compaction/cancel" => Cancel(CancelParams) -> CancelResult, agents: No;
        "compaction/get" => CompactionGet(CompactionGetParams) -> CompactionGetResult, agents: OwnProject;
        "compaction/list" => CompactionList(CompactionListParams) -> CompactionListResult, agents: OwnProject;
        "compaction/preview" => Preview(PreviewParams) -> PreviewResult, agents: OwnProject;
        "compaction/run" => Run(RunParams) -> RunResult, agents: OwnProject;
        "compaction/should" => Should(ShouldParams) -> ShouldResult, agents: OwnProject;
        "compaction/start" => Start(RunParams) -> StartResult, agents: No;
        "compaction/templates" => Templates(TemplatesParams) -> TemplatesResult, agents: No;
        "compaction/undo" => Undo(UndoParams) -> UndoResult, agents: No;
    }
    context {
        "context/diff" => Diff(DiffParams) -> DiffResult, agents: No;
        "context/estimate" => Estimate(EstimateParams) -> EstimateResult, agents: Yes;
        "context/normalize" => Normalize(NormalizeParams) -> NormalizeResult, agents: Yes;
        "context/truncate" => Truncate(TruncateParams) -> TruncateResult, agents: Yes;
        "context/usage" => Usage(UsageParams) -> UsageResult, agents: OwnProject;
    }
    daemon {
        "initialize" => Initialize(InitializeParams) -> InitializeResult, agents: Yes;
        "daemon/config" => ShowConfig(NoParams) -> ShowConfigResult, agents: No;
        "daemon/metrics" => Metrics(NoParams) -> MetricsResult, agents: No;
        "daemon/reload" => Reload(NoParams) -> ReloadResult, agents: No;
        "daemon/shutdown" => Shutdown(NoParams) -> ShutdownResult, agents: No;
        "daemon/status" => Status(NoParams) -> StatusResult, agents: Yes;
    }
    event {
        "event/subscribe" => Subscribe(SubscribeParams) -> SubscribeResult, agents: No;
        "event/unsubscribe" => Unsubscribe(UnsubscribeParams) -> UnsubscribeResult, agents: No;
    }
    history {
        "history/expand" => Expand(ExpandParams) -> ExpandResult, agents: OwnProject;
        "history/get" => HistoryGet(HistoryGetParams) -> HistoryGetResult, agents: OwnProject;
    }
    job {
        "job/ask" => Ask(AskParams) -> AskResult, agents: No;
        "job/cancel" => Cancel(JobParams) -> JobResult, agents: No;
        "job/claim" => Claim(ClaimParams) -> ClaimResult, agents: No;
        "job/complete" => Complete(CompleteParams) -> CompleteResult, agents: No;
        "job/fail" => Fail(FailParams) -> JobResult, agents: No;
        "job/get" => JobGet(JobParams) -> JobGetResult, agents: No;
        "job/heartbeat" => Heartbeat(TokenParams) -> HeartbeatResult, agents: No;
        "job/list" => JobList(JobListParams) -> JobListResult, agents: No;
        "job/retry" => Retry(JobParams) -> JobResult, agents: No;
        "job/why" => Why(JobParams) -> WhyResult, agents: No;
    }
    memory {
        "memory/add_note" => AddNote(AddNoteParams) -> AddNoteResult, agents: OwnProject;
        "memory/cite" => Cite(CiteParams) -> CiteResult, agents: OwnProject;
        "memory/forget" => Forget(ForgetParams) -> ForgetResult, agents: No;
        "memory/list" => MemoryList(MemoryListParams) -> MemoryListResult, agents: No;
        "memory/list_notes" => ListNotes(ListNotesParams) -> ListNotesResult, agents: No;
        "memory/read" => Read(ReadParams) -> ReadResult, agents: OwnProject;
        "memory/review_note" => ReviewNote(ReviewNoteParams) -> ReviewNoteResult, agents: No;
        "memory/run" => Run(RunParams) -> RunResult, agents: No;
        "memory/search" => Search(SearchParams) -> SearchResult, agents: OwnProject;
        "memory/status" => Status(StatusParams) -> StatusResult, agents: No;
        "memory/summary" => Summary(SummaryParams) -> SummaryResult, agents: OwnProject;
    }
    message_history {
        "message_history/append" => Append(AppendParams) -> AppendResult, agents: No;
        "message_history/lookup" => Lookup(LookupParams) -> LookupResult, agents: No;
    }
    policy {
        "policy/check" => Check(CheckParams) -> CheckResult, agents: No;
        "policy/evaluate" => Evaluate(EvaluateParams) -> EvaluateResult, agents: OwnProject;
        "policy/explain" => Explain(ExplainParams) -> ExplainResult, agents: No;
        "policy/log" => Log(LogParams) -> LogResult, agents: No;
        "policy/report" => Report(ReportParams) -> ReportResult, agents: No;
        "policy/step" => Step(StepParams) -> StepResult, agents: OwnProject;
        "policy/templates" => Templates(TemplatesParams) -> TemplatesResult, agents: No;
    }
    thread {
        "thread/append" => Append(AppendParams) -> AppendResult, agents: No;
        "thread/bill" => Bill(BillParams) -> BillResult, agents: No;
        "thread/close" => Close(CloseParams) -> CloseResult, agents: No;
        "thread/continue" => Continue(ContinueParams) -> ContinueResult, agents: OwnProject;
        "thread/forget" => ThreadForget(ThreadForgetParams) -> ThreadForgetResult, agents: No;
        "thread/get" => ThreadGet(ThreadGetParams) -> ThreadGetResult, agents: OwnProject;
        "thread/items" => Items(ItemsParams) -> ItemsResult, agents: OwnProject;
        "thread/list" => ThreadList(ThreadListParams) -> ThreadListResult, agents: OwnProject;
        "thread/open" => Open(OpenParams) -> OpenResult, agents: No;
        "thread/search" => Search(SearchParams) -> SearchResult, agents: OwnProject;
        "thread/sync" => Sync(SyncParams) -> SyncResult, agents: OwnProject;
    }
}

/// The only notification the daemon sends, to connections that called `event/subscribe`.
pub const EVENT_NOTIFICATION: &str = "event";

/// Looks a method up by its name on the wire.
#[must_use]
pub fn find(name: &str) -> Option<&'static MethodInfo> {
    METHODS.iter().find(|info| info.name == name)
}
