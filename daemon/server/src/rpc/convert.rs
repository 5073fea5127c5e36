//! Converts between values of the wire and values of the core and the services; nothing else.

use std::collections::BTreeMap;
use std::str::FromStr;

use longhaul_core::checkpoint::semantic;
use longhaul_core::checkpoint::view::ViewCaps;
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::receipt::{self, Span};
use longhaul_core::compaction::{Phase, handle::Handle};
use longhaul_core::template::Kind;
use longhaul_core::thread::{Blocked, ThreadKind, TurnFailure};
use longhaul_protocol::checkpoint::{Caps, Update};
use longhaul_protocol::limit::{
    FOCUS_BYTES_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX, RECEIPT_ENTRIES_MAX, SEARCH_HITS_DEFAULT,
    SEARCH_HITS_MAX,
};
use longhaul_protocol::warning::Warning;
use longhaul_protocol::{compaction as wire, thread};
use longhaul_store::{CompactionRow, FileRow, ThreadRow};
use strum::VariantArray;

use super::error::Failure;
use crate::service::compaction::{Compaction, Notice, Reason, Rung, TextSource, TextUsed};

const _: () =
    assert!(receipt::ENTRIES_MAX == RECEIPT_ENTRIES_MAX, "the core keeps the wire's limit");

/// Converts between two enums by variants of the same name.
macro_rules! same_variants {
    ($value:expr, $from:ty => $to:ty, $($variant:ident)|+) => {
        match $value {
            $(<$from>::$variant => <$to>::$variant),+
        }
    };
}
pub(super) use same_variants;

/// The rows of a page. Lowers a limit above the maximum: the cursor shows that there is more.
pub(super) fn page_rows(limit: Option<u32>) -> u32 {
    limit.unwrap_or(PAGE_ROWS_DEFAULT).clamp(1, PAGE_ROWS_MAX)
}

/// The first rows of a list in memory, and the cursor of the last of them if more follow.
pub(super) fn page<T>(
    rows: impl IntoIterator<Item = T>,
    limit: Option<u32>,
    cursor: impl FnOnce(&T) -> String,
) -> (Vec<T>, Option<String>) {
    let mut rows = rows.into_iter();
    let page: Vec<T> = rows.by_ref().take(page_rows(limit) as usize).collect();
    let next = page.last().filter(|_| rows.next().is_some()).map(cursor);
    (page, next)
}

pub(super) fn hits_max(limit: Option<u32>) -> usize {
    limit.unwrap_or(SEARCH_HITS_DEFAULT).clamp(1, SEARCH_HITS_MAX) as usize
}

/// A folder in the form of transcripts: without a slash at the end.
pub(super) fn folder(path: String) -> String {
    match path.trim_end_matches('/') {
        "" => path,
        trimmed => trimmed.to_owned(),
    }
}

/// The focus of a view, without secrets.
pub(super) fn focus(words: &str) -> Result<String, Failure> {
    match words.len() > FOCUS_BYTES_MAX {
        true => {
            let found = words.len();
            Err(Failure::invalid("focus", &format!("at most {FOCUS_BYTES_MAX} bytes, not {found}")))
        }
        false => Ok(longhaul_core::redact::redact(words).text.into_owned()),
    }
}

/// Parses the name of a variant; the error lists all names.
pub(super) fn one_of<T>(field: &str, name: &str) -> Result<T, Failure>
where
    T: FromStr + VariantArray,
    &'static str: From<&'static T>,
{
    name.parse().map_err(|_| {
        let names: Vec<&str> = T::VARIANTS.iter().map(Into::into).collect();
        Failure::invalid(field, &format!("one of {}", names.join(", ")))
    })
}

pub(super) fn thread_summary(row: ThreadRow) -> thread::ThreadSummary {
    let FileRow { path, archived, cursor, source, head, .. } = row.file;
    let head = head.unwrap_or_else(|| longhaul_core::thread::ThreadHead::new(source));
    let continues = head
        .history_base
        .as_ref()
        .map(|base| base.thread_id.clone())
        .filter(|base| *base != row.thread_id);
    thread::ThreadSummary {
        thread_id: row.thread_id,
        source: source.name().to_owned(),
        path,
        cwd: head.cwd,
        title: head.title,
        created_at: head.created_at_ms,
        updated_at: head.updated_at_ms,
        items: head.items,
        tokens: head.tokens,
        compactions: head.compactions,
        lines: head.lines,
        bytes: cursor.offset,
        malformed: head.malformed,
        unknown: head.unknown,
        oversized: head.oversized,
        archived,
        parent_thread_id: head.parent_thread_id,
        forked_from: head.forked_from,
        // All lines of a continuation have the time at which it was made, until someone resumes it.
        unresumed: continues.is_some() && head.updated_at_ms == head.created_at_ms,
        continues,
        originator: head.originator,
        cli_version: head.cli_version,
        model: head.model,
        git_branch: head.git_branch,
        kind: same_variants!(head.kind, ThreadKind => thread::ThreadKind, Interactive | Exec | Subagent | Other),
        blocked: head.blocked.map(blocked),
    }
}

fn blocked(blocked: Blocked) -> thread::BlockedThread {
    thread::BlockedThread {
        cause: same_variants!(blocked.cause, TurnFailure => thread::BlockedCause, ContextFull | Compaction),
        failures: blocked.failures,
        at: Some(blocked.at_ms).filter(|ms| *ms > 0),
    }
}

pub(super) fn thread_file(
    (file, archived_bytes): (FileRow, u64),
    current: &FileRow,
) -> thread::ThreadFile {
    // The length of a text that is generated when it is read is known up to the position read.
    let bytes = match file.source.spec().has_places_of_file(&file.path) {
        true => file.stat.size,
        false => file.cursor.offset,
    };
    thread::ThreadFile {
        current: file.file_id == current.file_id,
        path: file.path,
        bytes,
        offset: file.cursor.offset,
        generation: file.cursor.generation,
        gone: file.gone_at_ms.is_some(),
        archived_bytes: (archived_bytes > 0).then_some(archived_bytes),
    }
}

pub(super) fn caps(wire: Option<Caps>) -> ViewCaps {
    let defaults = ViewCaps::default();
    let Some(wire) = wire else { return defaults };
    let or = |given: Option<u32>, default: usize| {
        given.map_or(default, |given| usize::try_from(given).unwrap_or(usize::MAX))
    };
    ViewCaps {
        max_open_plan_steps: or(wire.max_open_plan_steps, defaults.max_open_plan_steps),
        max_done_plan_steps: or(wire.max_done_plan_steps, defaults.max_done_plan_steps),
        max_decisions: or(wire.max_decisions, defaults.max_decisions),
        max_facts_valid: or(wire.max_facts_valid, defaults.max_facts_valid),
        max_facts_suspect: or(wire.max_facts_suspect, defaults.max_facts_suspect),
        max_recent_artifacts: or(wire.max_recent_artifacts, defaults.max_recent_artifacts),
        max_value_chars: or(wire.max_value_chars, defaults.max_value_chars),
    }
}

/// An update without the hashes sent by a model: only the host knows them.
pub(super) fn update(wire: Update) -> semantic::Update {
    match wire {
        Update::Plan(plan) => semantic::Update::Plan {
            steps: plan
                .steps
                .into_iter()
                .map(|step| semantic::ProposedItem { id: step.id, text: step.text })
                .collect(),
            done: plan.done,
            evidence: plan.evidence.map(evidence),
        },
        Update::Decision(decision) => semantic::Update::Decision {
            decision_id: decision.decision_id,
            topic: decision.topic,
            decision: decision.decision,
            rationale: decision.rationale,
            supersedes: decision.supersedes,
            evidence: evidence(decision.evidence),
        },
        Update::Fact(fact) => semantic::Update::Fact {
            key: fact.key,
            value: fact.value,
            evidence: evidence(fact.evidence),
            depends_on: fact
                .depends_on
                .into_iter()
                .map(|dependency| semantic::Dependency { uri: dependency.uri, hash: None })
                .collect(),
        },
    }
}

fn evidence(wire: longhaul_protocol::checkpoint::Evidence) -> semantic::Evidence {
    use longhaul_protocol::checkpoint::EvidenceSource as Wire;
    semantic::Evidence {
        source: same_variants!(wire.source, Wire => semantic::EvidenceSource, User | File | ToolOutput),
        reference: wire.reference,
        hash: None,
    }
}

/// The hashes that came with a fact, by path. They are compared with the host's, never used in their place.
pub(super) fn claimed_hashes(wire: &Update) -> BTreeMap<String, String> {
    let Update::Fact(fact) = wire else { return BTreeMap::new() };
    let claimed = |uri: &String, hash: &Option<String>| Some((uri.clone(), hash.clone()?));
    let dependencies = fact.depends_on.iter().filter_map(|dep| claimed(&dep.uri, &dep.hash));
    let read_from = claimed(&fact.evidence.reference, &fact.evidence.hash);
    dependencies.chain(read_from).collect()
}

pub(super) fn phase(wire: Option<wire::Phase>) -> Phase {
    let phase = wire.unwrap_or(wire::Phase::Standalone);
    same_variants!(phase, wire::Phase => Phase, Standalone | PreTurn | MidTurn)
}

fn phase_out(phase: Phase) -> wire::Phase {
    same_variants!(phase, Phase => wire::Phase, Standalone | PreTurn | MidTurn)
}

pub(super) fn strategy(wire: Option<wire::Strategy>) -> Strategy {
    let strategy = wire.unwrap_or(wire::Strategy::Auto);
    same_variants!(strategy, wire::Strategy => Strategy, Auto | Checkpoint | Summary | Hybrid | Remote)
}

pub(super) fn strategy_out(strategy: Strategy) -> wire::Strategy {
    same_variants!(strategy, Strategy => wire::Strategy, Auto | Checkpoint | Summary | Hybrid | Remote)
}

fn trigger_out(trigger: &str) -> wire::Trigger {
    match trigger {
        "auto" => wire::Trigger::Auto,
        _ => wire::Trigger::Manual,
    }
}

pub(super) fn run_result(compaction: Compaction) -> wire::RunResult {
    let of = compaction.of;
    let total = |spans: &[Span]| {
        let (items, tokens) = receipt::totals(spans);
        wire::Total { items, tokens }
    };
    let entries = |spans: Vec<Span>| {
        spans.into_iter().map(|span| entry(&receipt::handle(&of, &span), &span)).collect()
    };
    let made = compaction.receipt;
    let unseen = made.unseen.map(|span| entry(&receipt::handle(&of, &span), &span));
    wire::RunResult {
        compaction_id: compaction.id,
        strategy_used: strategy_out(compaction.strategy_used),
        ladder: compaction.ladder.into_iter().map(rung).collect(),
        history: compaction.history.into(),
        view: compaction.view.into(),
        tokens: wire::TokensChange { before: compaction.tokens.0, after: compaction.tokens.1 },
        receipt: wire::Receipt {
            totals: wire::Totals {
                kept: total(&made.kept),
                shortened: total(&made.shortened),
                dropped: total(&made.dropped),
            },
            kept: entries(made.kept),
            shortened: entries(made.shortened),
            dropped: entries(made.dropped),
            unseen,
            redacted: compaction.redacted,
        },
        warnings: compaction.warnings.into_iter().map(warning).collect(),
        cost: wire::Cost { requests: compaction.spent.requests, tokens: compaction.spent.tokens },
        templates: compaction.texts.into_iter().map(text_used).collect(),
        installed_seq: compaction.installed_seq,
    }
}

fn text_used(used: TextUsed) -> wire::TemplateUsed {
    wire::TemplateUsed {
        name: used.kind.into_str().to_owned(),
        digest: used.digest,
        source: same_variants!(used.source, TextSource => wire::TemplateSource, BuiltIn | File | Agent | Call),
    }
}

/// The caller's texts, by kind.
pub(super) fn own_texts(wire: Option<wire::TemplateOverrides>) -> BTreeMap<Kind, String> {
    let wire::TemplateOverrides { summary_prompt, summary_prefix, checkpoint_guide } =
        wire.unwrap_or_default();
    let texts = [
        (Kind::SummaryPrompt, summary_prompt),
        (Kind::SummaryPrefix, summary_prefix),
        (Kind::CheckpointGuide, checkpoint_guide),
    ];
    texts.into_iter().filter_map(|(kind, text)| Some((kind, text?))).collect()
}

/// The caller's reason. A newer caller's unknown reason counts as none.
pub(super) fn reason(wire: wire::Reason) -> Option<Reason> {
    match wire {
        wire::Reason::UserRequested => Some(Reason::UserRequested),
        wire::Reason::ContextLimit => Some(Reason::ContextLimit),
        wire::Reason::ModelDownshift => Some(Reason::ModelDownshift),
        wire::Reason::Policy => Some(Reason::Policy),
        wire::Reason::Other => None,
    }
}

fn reason_out(reason: Reason) -> wire::Reason {
    same_variants!(reason, Reason => wire::Reason, UserRequested | ContextLimit | ModelDownshift | Policy)
}

pub(super) fn entry(handle: &Handle, span: &Span) -> wire::Entry {
    wire::Entry {
        handle: handle.to_string(),
        kind: match span.kind {
            Some(kind) => kind.into_str().to_owned(),
            None => "span".to_owned(),
        },
        tokens: span.tokens,
        items: span.items,
        seq_first: span.first,
        seq_last: span.last,
    }
}

fn rung(rung: Rung) -> wire::Rung {
    let outcome = match (&rung.left_because, rung.tried) {
        (None, _) => wire::RungOutcome::Used,
        (Some(_), true) => wire::RungOutcome::Failed,
        (Some(_), false) => wire::RungOutcome::Skipped,
    };
    wire::Rung {
        strategy: strategy_out(rung.strategy),
        outcome,
        reason: rung.left_because,
        duration_ms: rung.duration_ms,
    }
}

pub(super) fn warning(notice: Notice) -> Warning {
    Warning { kind: notice.kind, message: notice.message, hint: None }
}

pub(super) fn summary(row: CompactionRow) -> wire::CompactionSummary {
    wire::CompactionSummary {
        compaction_id: row.compaction_id,
        thread_id: row.thread_id,
        created_at: row.created_at_ms,
        strategy_used: strategy_out(row.strategy_used.parse().unwrap_or(Strategy::Checkpoint)),
        phase: phase_out(row.phase.parse().unwrap_or_default()),
        trigger: trigger_out(&row.trigger),
        reason: reason_out(Reason::of(&row.reason, &row.trigger)),
        tokens: wire::TokensChange { before: row.tokens_before, after: row.tokens_after },
        seq: row.seq,
        duration_ms: row.duration_ms,
        cost: wire::Cost { requests: row.requests, tokens: row.tokens_spent },
        undone_at: row.undone_at_ms,
    }
}

/// The serialized name of a variant of the core.
pub(super) fn word<T: serde::Serialize>(choice: &T) -> String {
    let value = serde_json::to_value(choice).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
