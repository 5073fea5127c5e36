//! Converts decisions and states of the core's policy to the wire.

use std::collections::BTreeSet;

use longhaul_core::policy::forecast as ahead;
use longhaul_core::policy::repository::RepositoryView;
use longhaul_core::policy::settings::Mode;
use longhaul_core::policy::watcher::{self as core_watcher};
use longhaul_core::policy::{self, Point as At, replay};
use longhaul_core::signal;
use longhaul_protocol::policy::{
    Decision, Forecast, LogEvent, LoggedDecision, Point, Reason, ReportPoint, RepositoryCommit,
    RepositoryStack, RepositoryState, Trigger, Watcher,
};
use longhaul_store::DecisionRow;

use super::super::convert::{same_variants, word};
use crate::service::policy::NamedDecision;

pub(super) fn named_decision(named: &NamedDecision) -> Decision {
    decision(&named.policy, named.decision_id, &named.decision)
}

pub(super) fn decision(name: &str, id: Option<i64>, decision: &policy::Decision) -> Decision {
    let reason = |reason: &policy::Reason| Reason {
        rule: reason.rule.clone(),
        passed: reason.passed,
        text: reason.text.clone(),
    };
    Decision {
        decision_id: id.map(|id| id.to_string()),
        policy: name.to_owned(),
        action: decision.action.into_str().to_owned(),
        tier: decision.tier.map(|tier| tier.into_str().to_owned()),
        percent_remaining: decision.percent_remaining,
        boundaries: names(&decision.boundaries),
        satisfied: names(&decision.satisfied),
        reasons: decision.reasons.iter().map(reason).collect(),
    }
}

pub(super) fn logged(
    row: DecisionRow,
    made: &policy::Decision,
    repository_seen: Option<&RepositoryView>,
) -> LoggedDecision {
    LoggedDecision {
        decision: decision(&row.policy, Some(row.decision_id), made),
        repository: repository_seen.map(repository),
        thread_id: row.thread_id,
        at: row.at_ms,
        seq: row.seq,
        turn: row.turn,
        is_shadow: row.shadow,
        compaction_id: row.compaction_id,
        not_made: row.not_made,
    }
}

pub(super) fn names(boundaries: &BTreeSet<signal::Boundary>) -> Vec<String> {
    boundaries.iter().map(|boundary| boundary.into_str().to_owned()).collect()
}

pub(super) fn forecast(forecast: &ahead::Forecast) -> Forecast {
    Forecast {
        tokens_per_turn: forecast.tokens_per_turn,
        turns_left: forecast.turns_left,
        next_tier: forecast.next_tier.map(|tier| tier.into_str().to_owned()),
        turns_to_next_tier: forecast.turns_to_next_tier,
        next_boundary: forecast.next_boundary.map(|boundary| boundary.into_str().to_owned()),
        turns_to_boundary: forecast.turns_to_boundary,
    }
}

pub(super) fn watcher(watcher: &core_watcher::Watcher, (mode, mid_turn): (Mode, bool)) -> Watcher {
    Watcher {
        phase: watcher.phase.into_str().to_owned(),
        mode: word(&mode),
        mid_turn,
        deferred: watcher.deferred.is_some(),
        held: watcher.held.is_some(),
        packet_kept: watcher.kept_packet.is_some(),
        state: serde_json::to_value(watcher).unwrap_or_default(),
    }
}

pub(in crate::rpc) fn trigger(
    trigger: &core_watcher::Trigger,
    decision_id: Option<i64>,
) -> Trigger {
    Trigger {
        tier: trigger.tier.into_str().to_owned(),
        percent_remaining: trigger.percent_remaining,
        boundaries: names(&trigger.boundaries),
        used: trigger.used,
        turn: trigger.turn,
        point: trigger.point.into_str().to_owned(),
        packet_author: word(&trigger.packet_author),
        decision_id: decision_id.map(|id| id.to_string()),
    }
}

pub(super) fn repository(seen: &RepositoryView) -> RepositoryState {
    let words = seen.words();
    let RepositoryView { repository, commits_in_turn, is_shared } = seen.clone();
    let commit = |commit: policy::repository::Commit| RepositoryCommit {
        id: commit.id,
        at: commit.at_ms,
        subject: commit.subject,
    };
    let stack = |stack: policy::repository::Stack| RepositoryStack {
        parent: stack.parent,
        trunk: stack.trunk,
        pull_request: stack.pull_request,
    };
    RepositoryState {
        observed_at: repository.seen_ms,
        head: repository.head,
        branch: repository.branch,
        upstream: repository.upstream,
        ahead: repository.ahead_behind.map(|(ahead, _)| ahead),
        behind: repository.ahead_behind.map(|(_, behind)| behind),
        staged: repository.staged,
        unstaged: repository.unstaged,
        untracked: repository.untracked,
        conflicts: repository.conflicts,
        is_truncated: repository.is_cut,
        commits: repository.commits.into_iter().map(commit).collect(),
        commits_in_turn,
        is_shared,
        stack: repository.stack.map(stack),
        summary: words,
    }
}

pub(super) fn happened(event: signal::SignalEvent) -> LogEvent {
    LogEvent {
        seq: event.seq,
        turn: event.turn,
        at: (event.at_ms != 0).then_some(event.at_ms),
        kind: event.what.name().to_owned(),
    }
}

pub(super) fn would_compact(point: replay::WouldCompact) -> ReportPoint {
    ReportPoint {
        seq: point.seq,
        turn: point.turn,
        point: same_variants!(point.point, At => Point, TurnEnd | MidTurn),
        tier: point.tier.into_str().to_owned(),
        percent_remaining: point.percent_remaining,
        boundaries: point.boundaries,
        is_judged: point.judged,
        files_reused: point.used_again,
    }
}
