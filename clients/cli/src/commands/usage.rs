//! `longhaul usage`.

use clap::Args;
use longhaul_protocol::context::{Usage, UsageParams, UsageResult, Window};
use longhaul_protocol::thread::{Bill, BillParams, BillResult};
use serde::Serialize;

use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count, crop, tokens};

mod bar;
pub(crate) mod bill;
mod plot;

use bar::Share;

/// Maximum columns of a chart.
const CHART_COLUMNS_MAX: u16 = 120;

/// Show what fills a thread's context window, and how it grew
///
/// Tokens are the provider's last count plus an estimate of newer items. The window and the compaction limit come
/// from your flags, the daemon's configuration, the transcript or the model's name; the output says which.
///
/// Also shows the cost of each compaction (requests, tokens, time), how many tool calls until the first edit and
/// files read again followed it, and the recorded cost of the agent's own compactions. If the provider's cache has
/// expired, shows the price of resuming with the whole history and with longhaul continue.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul usage                           the newest thread of this folder
  longhaul usage 0199a213
  longhaul usage --limit 200000            assume a limit of 200,000 tokens
  longhaul usage --json | jq .tokens.used")]
pub(crate) struct UsageArgs {
    /// Id of the thread, or a unique prefix
    thread: Option<String>,
    /// Tokens of the model's whole window
    #[arg(long, value_name = "N")]
    window: Option<u64>,
    /// Tokens at which to compact, 0 for never
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Name of the model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Show the thread as it was after this seq
    #[arg(long, value_name = "SEQ", value_parser = select::seq)]
    as_of: Option<u64>,
}

pub(crate) async fn run(args: UsageArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = select::thread(&client, args.thread.as_deref(), session).await?;
    if args.as_of.is_none() {
        select::catch_up(&client, &thread, session).await;
    }
    let params = UsageParams {
        thread_id: Some(thread.thread_id.clone()),
        items: None,
        model: args.model,
        context_window: args.window,
        auto_compact_limit: args.limit,
        as_of: args.as_of,
        resume: None,
    };
    let result = while_waiting("reading", client.call::<Usage>(params)).await?;
    let bill = match args.as_of {
        Some(_) => None,
        None => Some(client.call::<Bill>(BillParams { thread_id: thread.thread_id }).await?),
    };
    session.print(&UsagePage { result, bill, title: thread.title })
}

/// How the daemon's hint names the flag `--window`.
const WINDOW_PARAM: &str = "context_window of the request";

#[derive(Serialize)]
struct UsagePage {
    #[serde(flatten)]
    result: UsageResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    bill: Option<BillResult>,
    #[serde(skip)]
    title: Option<String>,
}

impl Page for UsagePage {
    fn text(&self, style: &Style) -> String {
        let result = &self.result;
        let columns = usize::from(style.width.min(CHART_COLUMNS_MAX));
        let title = self.title.as_deref().unwrap_or("(no request yet)");
        let title = crop(&title.replace(['\n', '\r', '\t'], " "), columns);
        let shares = shares(result);
        let mut page = format!("{}\n{}\n", style.bold(&title), style.fields(&fields(result)));
        let window = scale(result);
        if result.window.is_known {
            page += &bar::render(&shares, &window, columns, style);
            page += "\n";
        }
        page += &table(&shares, result.tokens.used, style);
        if let Some(timeline) =
            result.timeline.as_ref().filter(|timeline| timeline.points.len() > 1)
        {
            page += "\n";
            page += &plot::render(timeline, &window, columns, style);
        }
        let bill = self.bill.as_ref().map(|bill| bill::render(bill, style));
        if let Some(bill) = bill.filter(|bill| !bill.is_empty()) {
            page += "\n";
            page += &bill;
        }
        for warning in &result.warnings {
            let hint = warning.hint.as_deref().map(|hint| hint.replace(WINDOW_PARAM, "--window"));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            let warning = format!("\nwarning: {}{hint}\n", warning.message);
            page += &style.warn(&style.wrap(&warning, 9));
        }
        page
    }
}

/// Full scale of charts: the window, or the used tokens if it is unknown.
fn scale(result: &UsageResult) -> Window {
    if result.window.is_known {
        return result.window.clone();
    }
    Window { tokens: result.tokens.used, ..Window::default() }
}

fn fields(result: &UsageResult) -> Vec<(&'static str, String)> {
    let (window, sizes) = (&result.window, &result.tokens);
    let compacts = match window.trigger {
        Some(trigger) => format!("at {} ({})", tokens(trigger), by(&window.trigger_source)),
        None if window.is_known => format!("never ({})", by(&window.trigger_source)),
        None => "unknown".to_owned(),
    };
    let counted = match sizes.reported {
        Some(reported) => format!(
            "{} by the provider, {} since estimated",
            tokens(reported),
            tokens(sizes.used.saturating_sub(reported))
        ),
        None if sizes.used_source == "running_agent" => {
            "by the running agent, newer items estimated".to_owned()
        }
        None => "estimated".to_owned(),
    };
    let (size, used) = match window.percent_used {
        Some(percent) => (
            format!("{} ({})", tokens(window.tokens), by(&window.source)),
            format!(
                "{}, {percent} % of the usable part ({} % left)",
                tokens(sizes.used),
                100 - percent.min(100)
            ),
        ),
        None => (by(&window.source).to_owned(), tokens(sizes.used)),
    };
    let usable = window.is_known.then(|| ("usable", tokens(window.effective)));
    let mut fields =
        vec![("model", result.model.clone().unwrap_or_else(|| "-".to_owned())), ("window", size)];
    fields.extend(usable);
    fields.extend([("compacts", compacts), ("used", used), ("counted", counted)]);
    fields
}

fn by(source: &str) -> &str {
    match source {
        "request" => "by your flags",
        "config" => "by the configuration",
        "agent" => "by the agent's own configuration",
        "transcript" => "by the transcript",
        "running_agent" => "by the running agent",
        "model_table" => "by the model's name",
        "agent_compaction" => "where the agent compacts by itself",
        "observed" => "unknown; larger than usual for the model",
        "fallback" => "unknown",
        _ => "by default",
    }
}

/// Largest first.
fn shares(result: &UsageResult) -> Vec<Share> {
    let share =
        |(kind, tokens): (&String, &u64)| Share { name: kind.replace('_', " "), tokens: *tokens };
    let mut shares: Vec<Share> = result.by_kind.iter().map(share).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.tokens));
    shares
}

fn table(shares: &[Share], used: u64, style: &Style) -> String {
    let percent = |tokens: u64| {
        let whole = u128::from(used.max(1));
        let tenths = (u128::from(tokens) * 1_000 + whole / 2) / whole;
        format!("{}.{} %", tenths / 10, tenths % 10)
    };
    let rows = shares.iter().enumerate().map(|(place, share)| {
        let name = format!("{} {}", bar::glyph(place), share.name);
        vec![name, count(share.tokens), percent(share.tokens)]
    });
    style.table(&["spent on", ">tokens", ">of these"], rows.collect())
}

#[cfg(test)]
mod tests {
    use longhaul_protocol::context::UsageTokens;

    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn unknown_window_shows_no_size() {
        let tokens = UsageTokens { used: 476_000, estimated: 476_000, ..UsageTokens::default() };
        let window = Window { tokens: 500_000, source: "observed".into(), ..Window::default() };
        let result = UsageResult {
            thread_id: None,
            seq: None,
            model: Some("claude-opus-5".into()),
            tokens,
            by_kind: [("user".to_owned(), 476_000)].into(),
            window,
            timeline: None,
            resume: None,
            warnings: Vec::new(),
        };
        let page = UsagePage { result, bill: None, title: None }.text(&plain());
        assert!(page.contains("window    unknown; larger than usual"), "{page}");
        assert!(page.contains("used      476k\n") && page.contains("100.0 %"), "{page}");
        assert!(!page.contains("500k") && !page.contains("compacts at"), "{page}");
        assert!(!page.contains("[█"), "no bar that looks full: {page}");
    }
}
