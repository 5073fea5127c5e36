//! The cost of compactions, of the agent's own compactions and of resuming.

use longhaul_protocol::thread::{
    AgentCost, BillResult, CompactionCost, CostSource, Price, ResumePrice, WorkAfter,
};

use crate::style::{Style, counted, duration, tokens};

/// Compactions in the table; `--json` has them all.
const ROWS_MAX: usize = 8;

/// Renders the costs; empty if nothing was compacted and the cache is warm.
pub(super) fn render(bill: &BillResult, style: &Style) -> String {
    let mut text = String::new();
    if !bill.compactions.is_empty() {
        let first = bill.compactions.len().saturating_sub(ROWS_MAX);
        let rows = bill.compactions[first..].iter().map(|cost| row(cost, style)).collect();
        let headings =
            ["compacted", ">asked", ">tokens", ">took", ">history", ">first edit", ">read again"];
        text += &style.table(&headings, rows);
        text += &agent_line(bill, style);
    } else if bill.agent.source == CostSource::Thread {
        text += &style.dim(&format!("the agent's own compactions: {}\n", taken(&bill.agent)));
    }
    if let Some(resume) = bill.resume.as_ref().filter(|resume| resume.is_cold) {
        text += &style.warn(&style.wrap(&cold(resume), 0));
    }
    text
}

fn row(cost: &CompactionCost, style: &Style) -> Vec<String> {
    let summary = &cost.summary;
    let (edit, read) = match &cost.after {
        Some(after) => (first_edit(after), counted(after.files_reread, "file")),
        None => ("only shown".to_owned(), "-".to_owned()),
    };
    vec![
        style.ago(summary.created_at),
        summary.cost.requests.to_string(),
        tokens(summary.cost.tokens),
        duration(summary.duration_ms),
        tokens(summary.tokens.before),
        edit,
        read,
    ]
}

fn first_edit(after: &WorkAfter) -> String {
    match after.edited {
        true => format!("after {}", after.actions),
        false => format!("none in {}", after.actions),
    }
}

/// The cost of the agent's own compactions.
fn agent_line(bill: &BillResult, style: &Style) -> String {
    let line = match bill.agent.source {
        CostSource::Thread | CostSource::Model => {
            style.wrap(&format!("the agent's own take {}\n", taken(&bill.agent)), 0)
        }
        CostSource::Unknown => "the agent's own: unknown, none are recorded for this model;\n\
             a request would send about the whole history\n"
            .to_owned(),
    };
    style.dim(&line)
}

fn taken(agent: &AgentCost) -> String {
    let parts = [
        agent.input_tokens.map(|input| format!("{} tokens in", tokens(input))),
        agent.output_tokens.map(|output| format!("{} out", tokens(output))),
        agent.duration_ms.map(duration),
    ];
    let place = match agent.source {
        CostSource::Thread => "on this thread",
        _ => "on other threads of this model",
    };
    let median = if agent.compactions > 1 { "median of " } else { "" };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let compactions = counted(agent.compactions, "compaction");
    format!("{} ({median}{compactions} {place})", parts.join(", "))
}

/// Both prices in one line, for a person who has just resumed a thread with a cold cache; `None` if the cache is warm
/// or a briefing would save less than half.
pub(crate) fn at_resume(resume: &ResumePrice, thread_id: &str) -> Option<String> {
    let saves = resume.briefing_tokens.saturating_mul(2) < resume.history_tokens;
    (resume.is_cold && saves).then(|| {
        format!(
            "longhaul: the prompt cache is cold after {}. The next request sends {} tokens uncached{}; \
             `longhaul continue {thread_id}` would send about {}{}.",
            duration(resume.idle_ms),
            tokens(resume.history_tokens),
            money(resume.history_price.as_ref()),
            tokens(resume.briefing_tokens),
            money(resume.briefing_price.as_ref()),
        )
    })
}

/// Both prices of a thread whose cache is cold.
pub(crate) fn cold(resume: &ResumePrice) -> String {
    format!(
        "cold cache: {} since the last request, its provider keeps {}; resuming sends {} tokens uncached{}, \
         longhaul continue about {}{}\n",
        duration(resume.idle_ms),
        duration(resume.cache_lifetime_ms),
        tokens(resume.history_tokens),
        money(resume.history_price.as_ref()),
        tokens(resume.briefing_tokens),
        money(resume.briefing_price.as_ref()),
    )
}

fn money(price: Option<&Price>) -> String {
    price.map_or_else(String::new, |Price { micros, currency }| {
        let cents = micros.div_ceil(10_000);
        format!(" ({}.{:02} {currency})", cents / 100, cents % 100)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::style::tests::plain;

    fn bill(agent: &Value, resume: &Value) -> BillResult {
        let summary = json!({
            "compaction_id": "cmp_1", "thread_id": "t", "created_at": plain().now_ms - 7_200_000,
            "strategy_used": "checkpoint", "phase": "mid_turn", "trigger": "auto",
            "tokens": { "before": 182_000, "after": 4_000 }, "seq": 900, "duration_ms": 12,
        });
        let after = json!({ "actions": 3, "edited": true, "files_reread": 2,
            "files_reread_paths": ["a.rs", "b.rs"] });
        let taken = json!({ "summary": summary, "in_force_seq": 901, "after": after });
        let shown = json!({ "summary": summary });
        let bill = json!({ "thread_id": "t", "compactions": [shown, taken], "agent": agent,
            "agent_compactions": [], "resume": resume });
        serde_json::from_value(bill).unwrap()
    }

    #[test]
    fn costs_are_compared_within_80_columns() {
        let agent = json!({ "source": "thread", "compactions": 2, "input_tokens": 156_000,
            "output_tokens": 2_300, "duration_ms": 96_000 });
        let resume = json!({ "idle_ms": 10_800_000, "cache_lifetime_ms": 300_000,
            "cache_lifetime_source": "default", "is_cold": true, "history_tokens": 182_000,
            "briefing_tokens": 6_100, "history_price": { "micros": 910_000, "currency": "USD" },
            "briefing_price": { "micros": 30_500, "currency": "USD" } });
        let text = render(&bill(&agent, &resume), &plain());
        for expected in [
            "2 h ago    0      0       12 ms  182k  only shown  -",
            "after 3     2 files",
            "156k tokens in, 2.3k out, 1 min (median of 2 compactions on this thread)",
            "3 h since the last request, its provider keeps 5 min",
            "182k tokens uncached (0.91 USD), longhaul continue about 6.1k (0.04 USD)",
        ] {
            let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(squeezed(&text).contains(&squeezed(expected)), "{expected} in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn unrecorded_costs_are_unknown() {
        let unknown = json!({ "source": "unknown", "compactions": 0 });
        let text = render(&bill(&unknown, &Value::Null), &plain());
        assert!(text.contains("unknown, none are recorded") && !text.contains("cold"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
