//! The answer of `context/usage`.

use longhaul_core::context::usage::parts;
use longhaul_core::context::window::Origin;
use longhaul_core::fold::Fold;
use longhaul_protocol::context::{
    Timeline, TimelineCompaction, TimelinePoint, UsageResult, UsageTokens, Window,
};
use longhaul_protocol::warning::Warning;

use crate::service::context::Usage;

pub(super) fn result(answer: Usage) -> UsageResult {
    let window = &answer.window;
    let fold = answer.fold.as_deref();
    let report = fold.and_then(|fold| fold.meter().report());
    let estimated = answer.breakdown.total();
    let overhead = fold.map_or(0, |fold| fold.meter().overhead());
    let parts = parts(&answer.breakdown, overhead, answer.used);
    let since = report.map_or(estimated, |report| estimated.saturating_sub(report.estimated));
    UsageResult {
        thread_id: answer.thread_id,
        seq: fold.map(|fold| fold.next_seq().saturating_sub(1)),
        model: answer.model,
        tokens: UsageTokens {
            used: answer.used,
            used_source: answer.used_origin.into_str().to_owned(),
            estimated,
            visible_bytes: longhaul_core::tokens::bytes_of(estimated) as u64,
            bytes_since_report: longhaul_core::tokens::bytes_of(since) as u64,
            reported: report.map(|report| report.tokens),
            reported_seq: report.map(|report| report.seq),
            overhead,
            incoming: answer.incoming,
        },
        by_kind: parts.into_iter().map(|(kind, tokens)| (kind.to_owned(), tokens)).collect(),
        window: Window {
            tokens: window.tokens,
            source: window.origin.into_str().to_owned(),
            effective: window.effective,
            trigger: window.trigger.filter(|_| window.trigger_origin > Origin::Observed),
            trigger_source: window.trigger_origin.into_str().to_owned(),
            is_known: window.is_known(),
            percent_used: window.is_known().then(|| window.percent_used(answer.used)),
            percent_remaining: window.is_known().then(|| window.percent_left(answer.used)),
        },
        timeline: fold.map(timeline),
        resume: answer.resume,
        warnings: answer
            .remarks
            .into_iter()
            .map(|remark| Warning {
                kind: remark.kind.to_owned(),
                message: remark.message,
                hint: Some(remark.hint.into_owned()),
            })
            .collect(),
    }
}

fn timeline(fold: &Fold) -> Timeline {
    let meter = fold.meter();
    let mut points: Vec<TimelinePoint> = meter
        .points()
        .iter()
        .map(|point| TimelinePoint { seq: point.seq, turn: point.turn, tokens: point.tokens })
        .collect();
    // The last place that was kept may be some items ago.
    let seq = fold.next_seq().saturating_sub(1);
    if points.last().is_none_or(|last| last.seq < seq) {
        points.push(TimelinePoint { seq, turn: meter.turns(), tokens: fold.used() });
    }
    Timeline {
        turns: meter.turns(),
        points,
        compactions: meter
            .compactions()
            .map(|step| TimelineCompaction {
                seq: step.seq,
                before: step.before,
                after: step.after,
            })
            .collect(),
    }
}
