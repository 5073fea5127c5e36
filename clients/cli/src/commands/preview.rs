//! The page of `longhaul compact --preview`.

use longhaul_protocol::compaction::{PreviewItem, PreviewResult, Question, Totals, ViewPart};

use crate::session::Page;
use crate::style::{Style, count, counted, tokens};

/// Maximum dropped items on a page; `--json` has them all.
const NAMED_MAX: usize = 12;

impl Page for PreviewResult {
    fn text(&self, style: &Style) -> String {
        let view = format!("{}\n\n", self.view.trim_end());
        let warnings =
            self.warnings.iter().map(|warning| format!("warning: {}\n", warning.message));
        let warnings: String = warnings.map(|line| style.warn(&line)).collect();
        [
            view,
            heading(self, style),
            costs(self, style),
            drops(self, style),
            warnings,
            next(self, style),
        ]
        .concat()
    }
}

fn heading(preview: &PreviewResult, style: &Style) -> String {
    let (before, after) = (preview.tokens.before, preview.tokens.after);
    let size = format!(
        "preview: {} tokens would become {}; nothing is recorded\n",
        tokens(before),
        tokens(after)
    );
    let request = preview.question.as_ref().map(|question| request(preview, question));
    style.bold(&size) + &request.unwrap_or_default()
}

/// Describes the request to a model and its maximum cost.
fn request(preview: &PreviewResult, question: &Question) -> String {
    let bounds = [
        question.requests_max.map(|most| counted(most, "request")),
        question.tokens_max.map(|most| format!("{} tokens", tokens(most))),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    let budget = match bounds.is_empty() {
        true => "there is no budget".to_owned(),
        false => format!("the budget is {}", bounds.join(" or ")),
    };
    format!(
        "{} of {} would be asked for a summary (strategy {}),\n  \
         with up to {} tokens of history and {} of answer;\n  {budget}.\n  \
         The view above is the result if no model answers.\n",
        question.model,
        question.provider,
        preview.strategy,
        tokens(question.input_tokens),
        tokens(question.output_tokens_max)
    )
}

fn costs(preview: &PreviewResult, style: &Style) -> String {
    let view: u64 = preview.parts.iter().map(|part| part.tokens).sum();
    let row = |part: &ViewPart| {
        vec![part.name.to_lowercase().replace('_', " "), count(part.lines), count(part.tokens)]
    };
    let mut rows: Vec<Vec<String>> = preview.parts.iter().map(row).collect();
    let around = preview.tokens.after.saturating_sub(view);
    rows.push(vec!["framing".to_owned(), String::new(), count(around)]);
    let table = style.table(&["part of the view", ">lines", ">tokens"], rows);
    let sum =
        format!("{} of at most {} tokens in the view\n", count(view), count(preview.max_tokens));
    let Totals { kept, shortened, .. } = preview.totals;
    let items = format!(
        "{} in it whole, {} in part\n",
        counted(kept.items, "item"),
        count(shortened.items)
    );
    format!("\n{table}{}{}", style.dim(&sum), style.dim(&items))
}

fn drops(preview: &PreviewResult, style: &Style) -> String {
    if preview.dropped_by_kind.is_empty() {
        return "\nnothing would be dropped\n".to_owned();
    }
    let row =
        |kind: &str, items: u64, sum: u64| vec![kind.replace('_', " "), count(items), tokens(sum)];
    let kinds = preview.dropped_by_kind.iter().map(|kind| row(&kind.kind, kind.items, kind.tokens));
    let total = preview.totals.dropped;
    let kinds: Vec<_> = kinds.chain([row("all", total.items, total.tokens)]).collect();
    let by_kind = style.table(&["dropped", ">items", ">tokens"], kinds);
    let named = preview.dropped.iter().take(NAMED_MAX).map(item).collect();
    let named = style.table(&["newest", "kind", ">tokens", "text"], named);
    let more = total.items.saturating_sub(NAMED_MAX as u64);
    let more = match more {
        0 => String::new(),
        more => style.dim(&format!("and {} more, see --json\n", count(more))),
    };
    format!("\n{by_kind}\n{named}{more}")
}

/// An item with its number, which is a handle within its thread.
fn item(item: &PreviewItem) -> Vec<String> {
    let kind = item.kind.replace('_', " ");
    vec![format!("#{}", item.seq), kind, count(item.tokens), item.excerpt.clone()]
}

fn next(preview: &PreviewResult, style: &Style) -> String {
    let thread = &preview.thread_id;
    let pick = format!("\nchoose: longhaul pick {thread}\n");
    let pin = format!("keep:   longhaul pin '#NUMBER' --thread {thread}\n");
    style.dim(&(pick + &pin))
}

#[cfg(test)]
mod tests {
    use longhaul_protocol::compaction::{KindTotal, Strategy, TokensChange};

    use super::*;
    use crate::style::tests::plain;

    fn preview() -> PreviewResult {
        let part = |name: &str, lines, tokens| ViewPart { name: name.into(), lines, tokens };
        let dropped = |seq| PreviewItem {
            handle: format!("t#{seq}.abcdef"),
            kind: "tool_output".into(),
            tokens: 40,
            seq,
            excerpt: "running tests ".repeat(20),
        };
        PreviewResult {
            thread_id: "0199a213-0000-7000-8000-000000000001".into(),
            seq: 40,
            strategy: Strategy::Checkpoint,
            question: None,
            max_tokens: 1_000,
            view: "[SESSION_CHECKPOINT v1]\n[TASK]\n#1 Go.\n".to_owned().into(),
            parts: vec![part("SESSION_CHECKPOINT", 1, 6), part("TASK", 1, 4)],
            lines: Vec::new(),
            tokens: TokensChange { before: 52_000, after: 300 },
            kept: Vec::new(),
            shortened: Vec::new(),
            dropped: (0..20).map(dropped).collect(),
            older: None,
            dropped_by_kind: vec![KindTotal { kind: "tool_output".into(), items: 20, tokens: 800 }],
            totals: Totals::default(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn preview_fits_80_columns_and_lists_drops() {
        let text = preview().text(&plain());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for expected in [
            "52.0k tokens would become 300",
            "session checkpoint",
            "10 of at most 1,000",
            "0 items in it whole",
            "#11",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn request_to_a_model_is_described_with_its_budget() {
        let question = Question {
            provider: "local".into(),
            model: "small".into(),
            input_tokens: 40_000,
            output_tokens_max: 4_000,
            requests_max: Some(16),
            tokens_max: None,
        };
        let asking =
            PreviewResult { strategy: Strategy::Hybrid, question: Some(question), ..preview() };
        let text = asking.text(&plain());
        assert!(
            text.contains("small of local") && text.contains("the budget is 16 requests"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
