//! Prints the result of a compaction.

use longhaul_protocol::compaction::{Entry, Receipt, RunResult, Total, Totals};

use crate::style::{Style, count, counted, duration, percent, tokens};

/// Sizes, a short receipt and next steps.
pub(crate) fn summary(result: &RunResult, style: &Style) -> String {
    let (before, after) = (result.tokens.before, result.tokens.after);
    let saved = match before {
        0 => String::new(),
        _ => format!(" ({})", percent(after, before)),
    };
    let took: u64 = result.ladder.iter().map(|rung| rung.duration_ms).sum();
    let heading = format!(
        "{} tokens became {}{saved}, {} strategy, {}\n",
        tokens(before),
        tokens(after),
        result.strategy_used,
        duration(took)
    );
    let (receipt, totals) = (&result.receipt, &result.receipt.totals);
    let rows = [
        ("kept", totals.kept, receipt.kept.first()),
        ("shortened", totals.shortened, receipt.shortened.first()),
        ("dropped", totals.dropped, receipt.dropped.first()),
    ];
    let row = |(name, total, first): (&str, Total, Option<&Entry>)| {
        let handle = first.map_or("-", |entry| place(&entry.handle)).to_owned();
        vec![name.to_owned(), count(total.items), tokens(total.tokens), handle]
    };
    let table = style.table(&["", ">items", ">tokens", "first handle"], rows.map(row).to_vec());
    let more = beyond(totals, before, style);
    let installed = match result.installed_seq {
        Some(seq) => format!("installed at #{seq}: the thread continues from it\n"),
        None => String::new(),
    };
    [
        style.bold(&heading),
        table,
        more,
        installed,
        remarks(result, style),
        next_steps(result, style),
    ]
    .concat()
}

/// Says why the receipt has more than the history did; nothing if it has not.
fn beyond(totals: &Totals, before: u64, style: &Style) -> String {
    let receipt = totals.kept.tokens + totals.shortened.tokens + totals.dropped.tokens;
    match receipt > before {
        true => {
            style.dim("of all items of the thread, also those that earlier compactions removed\n")
        }
        false => String::new(),
    }
}

fn remarks(result: &RunResult, style: &Style) -> String {
    let left = result.ladder.iter().filter_map(|rung| {
        let reason = rung.reason.as_deref()?;
        Some(format!("{} not used: {}\n", rung.strategy, in_words(reason)))
    });
    let cost = (result.cost.requests > 0).then(|| {
        let requests = counted(result.cost.requests, "request");
        format!("{requests} to a model, {} tokens\n", tokens(result.cost.tokens))
    });
    let redacted = match result.receipt.redacted {
        0 => None,
        secrets => Some(format!("{} replaced\n", counted(secrets, "secret"))),
    };
    let warnings = result.warnings.iter().map(|warning| format!("warning: {}\n", warning.message));
    left.chain(cost).chain(redacted).chain(warnings).map(|line| style.warn(&line)).collect()
}

/// Why a strategy was not used; most names are clear enough.
fn in_words(reason: &str) -> String {
    let words = match reason {
        "blank_summary" => "the model wrote nothing",
        "foreign_summary" => "the summary is not about this thread",
        "inflated_summary" => "the summary is hardly shorter than the thread",
        "over_ceiling" => "it would have left the window more than half full",
        "not_worthwhile" => "it would have saved too little",
        "unauthorized" => "the model's key is missing or rejected",
        "unreachable" => "the model's address does not respond",
        "not_found" => "the provider has no such model or address",
        "stream_cut" => "the model's answer was cut off",
        "timeout" => "the model took too long",
        "incomplete" => "the model's answer reached its token limit",
        "rate_limited" => "the model's provider asks to wait",
        "unavailable" => "the model's provider is overloaded or broken",
        "context_overflow" => "it does not fit into the model's window",
        "budget_spent" => "a budget is used up; longhaul status shows which",
        _ => return reason.replace('_', " "),
    };
    words.to_owned()
}

fn next_steps(result: &RunResult, style: &Style) -> String {
    let has = |kind: &str| result.warnings.iter().any(|warning| warning.kind == kind);
    if has("transcript_lost") {
        return String::new();
    }
    let expand = result.receipt.dropped.first().map_or_else(String::new, |entry| {
        format!("bring back: longhaul expand {}\n", entry.handle)
    });
    let undo = format!("undo:       longhaul undo {}\n", result.compaction_id);
    // What was only shown changed no history.
    let can_undo = result.installed_seq.is_some() && !has("not_kept");
    style.dim(&(expand + if can_undo { &undo } else { "" }))
}

/// A handle without what all handles of a receipt begin with, the thread or the compaction.
fn place(handle: &str) -> &str {
    handle.find('#').map_or(handle, |at| &handle[at..])
}

/// Lists kept, shortened and dropped items, at most `most` entries each.
pub(crate) fn account(receipt: &Receipt, most: usize, style: &Style) -> String {
    let lists =
        [("kept", &receipt.kept), ("shortened", &receipt.shortened), ("dropped", &receipt.dropped)];
    let first = lists.iter().find_map(|(_, entries)| entries.first());
    let of = first.and_then(|entry| entry.handle.strip_suffix(place(&entry.handle)));
    let of = of.filter(|of| !of.is_empty());
    let how = of.map(|of| format!("any of these: longhaul expand {of}#…\n"));
    let lists = lists.into_iter().map(|(title, entries)| list(title, entries, most, style));
    lists.chain(how.map(|how| style.dim(&how))).collect()
}

fn list(title: &str, entries: &[Entry], most: usize, style: &Style) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let row = |entry: &Entry| {
        let lines = match entry.seq_first == entry.seq_last {
            true => count(entry.seq_first),
            false => format!("{} to {}", count(entry.seq_first), count(entry.seq_last)),
        };
        vec![
            place(&entry.handle).to_owned(),
            entry.kind.replace('_', " "),
            count(entry.items),
            tokens(entry.tokens),
            lines,
        ]
    };
    let rows = entries.iter().take(most).map(row).collect();
    let table = style.table(&[title, "kind", ">items", ">tokens", ">lines"], rows);
    let more = match entries.len().saturating_sub(most) {
        0 => String::new(),
        more => style.dim(&format!("and {} more, see --json\n", count(more as u64))),
    };
    format!("\n{table}{more}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn a_receipt_of_more_than_the_history_says_what_it_counts() {
        let of = |tokens| Total { items: 1, tokens };
        let totals = Totals { kept: of(3), shortened: of(7), dropped: of(100) };
        assert_eq!(beyond(&totals, 110, &plain()), "");
        assert!(beyond(&totals, 80, &plain()).contains("that earlier compactions removed"));
    }

    #[test]
    fn handles_of_a_receipt_are_whole_in_80_columns() {
        let thread = "019f03e0-321f-7eb2-83cc-b54ecd71be23";
        let entry = |seq: u64, kind: &str| {
            json!({
                "handle": format!("{thread}#{seq}.d74f1c"), "kind": kind, "tokens": 4_500, "items": 1,
                "seq_first": seq, "seq_last": seq,
            })
        };
        let total = json!({ "items": 1, "tokens": 4_500 });
        let receipt = serde_json::from_value(json!({
            "kept": [entry(480, "user_message")], "shortened": [],
            "dropped": [entry(12_481, "assistant_message")], "redacted": 0,
            "totals": { "kept": total, "shortened": total, "dropped": total },
        }));
        let text = account(&receipt.unwrap(), 9, &plain());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("\n#480.d74f1c") && text.contains("\n#12481.d74f1c"), "{text}");
        assert!(text.ends_with(&format!("longhaul expand {thread}#…\n")), "{text}");
    }
}
