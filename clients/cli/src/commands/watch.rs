//! `longhaul watch`.

use std::io::{self, IsTerminal as _};

use clap::Args;
use longhaul_client::{Client, ClientError, Subscription};
use longhaul_protocol::Retry;
use longhaul_protocol::event::{Event, EventKind};
use longhaul_protocol::policy::{Evaluate, EvaluateParams, EvaluateResult, Log, LogParams};

use crate::commands::follow;
use crate::failure::Failure;
use crate::select;
use crate::session::Session;
use crate::style::{Style, columns, counted, crop, tokens};

/// Events after which the state may differ.
const KINDS: [EventKind; 4] = [
    EventKind::ThreadUpdated,
    EventKind::StoreRebuilt,
    EventKind::PolicyDecided,
    EventKind::LimitCrossed,
];

/// Watch a thread: its window, the boundaries of this turn and the policy's decision
///
/// Prints a line whenever the turn, tier, boundaries or decision change; on a terminal, updates the last line in
/// between. Also prints when the policy decides to act and when the thread reaches its compaction limit. Survives a
/// restart of the daemon. Stop with Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul watch                            the newest thread of this folder
  longhaul watch THREAD --once              the current state, with every reason
  longhaul watch --json | jq .decision.action")]
pub(crate) struct WatchArgs {
    /// Id of the thread, or a unique prefix [default: the newest of this folder or project, else of all]
    thread: Option<String>,
    /// Show the state once, with every reason
    #[arg(long)]
    once: bool,
    /// Tokens of the model's whole window
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
}

pub(crate) async fn run(args: WatchArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = select::thread(&client, args.thread.as_deref(), session).await?;
    let params = EvaluateParams {
        thread_id: thread.thread_id.clone(),
        context_window: args.window,
        ..EvaluateParams::default()
    };
    if args.once {
        return session.print(&client.call::<Evaluate>(params).await?);
    }
    let events = follow::subscribe(&client, &KINDS).await?;
    let head = format!("{}  {}", thread.thread_id, thread.title.as_deref().unwrap_or_default());
    session.note(&head.chars().take(usize::from(session.style.width)).collect::<String>());
    tokio::select! {
        ended = watch(client, events, &params, session) => ended,
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}

/// Prints each change; ends when the output is closed, or with a daemon that this program cannot use.
async fn watch(
    mut client: Client,
    mut events: Subscription,
    params: &EvaluateParams,
    session: &Session,
) -> Result<(), Failure> {
    let mut shown = LastLine::default();
    loop {
        match look(&client, params, session).await {
            Ok(state) => show(&state, session, &mut shown)?,
            // The daemon is busy or stopping: wait for the next event.
            Err(error) if matches!(error.retry(), Retry::Backoff | Retry::Reconnect) => {}
            Err(error) => return Err(error.into()),
        }
        loop {
            let Some(event) = events.next().await else {
                (client, events) = follow::reconnect(session, &KINDS).await?;
                break;
            };
            let thread_id = event.data["thread_id"].as_str();
            if thread_id.is_some_and(|id| id != params.thread_id) {
                continue;
            }
            if let Some(words) = message(&event).filter(|_| !session.is_json) {
                session.print_text(&(session.style.warn(&words) + "\n"))?;
                // Print the next line below it.
                shown.text.clear();
            }
            break;
        }
    }
}

/// A message if the policy acts or the limit is reached; the line itself shows a decision to wait.
fn message(event: &Event) -> Option<String> {
    let data = &event.data;
    let left = data["percent_remaining"].as_i64();
    let left = left.map(|percent| format!(", {percent} % left")).unwrap_or_default();
    if event.kind == <&str>::from(EventKind::LimitCrossed) {
        let of = |field: &str| tokens(data[field].as_u64().unwrap_or_default());
        let (used, window) = (of("tokens"), of("window"));
        return Some(format!("compaction limit reached: {used} of {window} tokens{left}"));
    }
    let action = data["action"].as_str().filter(|action| *action != "wait")?;
    let tier = data["tier"].as_str().map(|tier| format!(" at {tier}")).unwrap_or_default();
    let id = data["decision_id"].as_str().unwrap_or_default();
    Some(format!(
        "the policy decided: {action}{tier}{left} (longhaul policy explain --decision {id})"
    ))
}

#[derive(Debug, Default)]
struct LastLine {
    text: String,
    /// The state whose changes are printed, without numbers that only grow.
    summary: String,
}

impl LastLine {
    /// Whether to print the text, and how many lines it replaces.
    fn next(&mut self, text: &str, summary: String, is_terminal: bool) -> Option<usize> {
        let is_change = summary != self.summary;
        if text == self.text || !(is_change || is_terminal) {
            return None;
        }
        let lines = if is_change { 0 } else { self.text.lines().count() };
        (self.text, self.summary) = (text.to_owned(), summary);
        Some(lines)
    }
}

/// The thread's current state, and unless as JSON the signs of its turn.
async fn look(
    client: &Client,
    params: &EvaluateParams,
    session: &Session,
) -> Result<(EvaluateResult, Vec<String>), ClientError> {
    let now = client.call::<Evaluate>(params.clone()).await?;
    if session.is_json {
        return Ok((now, Vec::new()));
    }
    let thread_id = Some(now.thread_id.clone());
    let log = LogParams { thread_id, limit: Some(1), ..LogParams::default() };
    let page = client.call::<Log>(log).await?;
    let turn = page.events.iter().filter(|event| event.turn == now.turn);
    let mut signs: Vec<_> = turn.map(|event| event.kind.replace('_', " ")).collect();
    // Every turn starts, and a repeated sign adds nothing.
    let mut seen = std::collections::HashSet::from(["turn started".to_owned()]);
    signs.retain(|sign| seen.insert(sign.clone()));
    // Signs from text are only in the decision, as is the end of a turn that continues.
    seen.insert("turn complete".to_owned());
    let read = now.decision.boundaries.iter().map(|sign| sign.replace('_', " "));
    signs.extend(read.filter(|sign| seen.insert(sign.clone())));
    Ok((now, signs))
}

/// Prints the state, unless it was printed last.
fn show(
    (now, signs): &(EvaluateResult, Vec<String>),
    session: &Session,
    shown: &mut LastLine,
) -> Result<(), Failure> {
    let (text, summary) = match session.is_json {
        true => {
            let text = serde_json::to_string(now)? + "\n";
            (text.clone(), text)
        }
        false => (line(now, signs, &session.style), summary(now, signs)),
    };
    let is_terminal = !session.is_json && io::stdout().is_terminal();
    match shown.next(&text, summary, is_terminal) {
        Some(0) => session.print_text(&text),
        Some(lines) => session.print_over(lines, &text),
        None => Ok(()),
    }
}

/// Turn, tier, signs, decision, the first failed rule and the watcher's phase.
fn summary(now: &EvaluateResult, signs: &[String]) -> String {
    let decision = &now.decision;
    let refused = decision.reasons.iter().find(|reason| !reason.passed);
    let rule = refused.map(|reason| &reason.rule);
    format!(
        "{} {:?} {signs:?} {} {rule:?} {}",
        now.turn, decision.tier, decision.action, now.watcher.phase
    )
}

/// Usage, tier, signs, decision and forecast, wrapped on a narrow terminal.
fn line(now: &EvaluateResult, signs: &[String], style: &Style) -> String {
    let decision = &now.decision;
    let tier = decision.tier.as_deref().unwrap_or("-");
    let is_urgent = matches!(tier, "emergency" | "asap");
    let refused = decision.reasons.iter().find(|reason| !reason.passed);
    let left = match decision.percent_remaining {
        Some(percent) => format!("{percent:>3} % left"),
        None => "window ?".to_owned(),
    };
    let mut parts = vec![
        (format!("turn {:>3}", now.turn), PartStyle::Plain),
        (format!("{:>6} used", tokens(now.used)), PartStyle::Plain),
        (left, PartStyle::Plain),
        (format!("{tier:<9}"), if is_urgent { PartStyle::Warn } else { PartStyle::Dim }),
        (format!("[{}]", signs.join(", ")), PartStyle::Dim),
    ];
    parts.push(match refused {
        None => (decision.action.clone(), PartStyle::Warn),
        Some(reason) => (format!("wait: {}", reason.text), PartStyle::Plain),
    });
    if now.watcher.phase != "idle" {
        parts.push((now.watcher.phase.replace('_', " "), PartStyle::Warn));
    }
    let ahead = &now.forecast;
    if let (Some(tier), Some(turns)) = (&ahead.next_tier, ahead.turns_to_next_tier) {
        parts.push((format!("{tier} in {}", counted(turns, "turn")), PartStyle::Dim));
    }
    fitted(&parts, style)
}

#[derive(Debug, Clone, Copy)]
enum PartStyle {
    Plain,
    Dim,
    Warn,
}

/// Indentation of continuation lines, in columns.
const INDENT: usize = 2;

/// Joins the parts and wraps them; a part longer than a line is cut.
fn fitted(parts: &[(String, PartStyle)], style: &Style) -> String {
    let width = usize::from(style.width).max(20);
    let (mut text, mut used) = (String::new(), 0);
    for (part, look) in parts {
        let shown = crop(part, width - INDENT);
        let taken = columns(&shown);
        if used > 0 && used + INDENT + columns(shown.trim_end()) > width {
            text.truncate(text.trim_end().len());
            text.push('\n');
            used = 0;
        }
        if used > 0 || !text.is_empty() {
            text.push_str("  ");
            used += INDENT;
        }
        used += taken;
        text += &match look {
            PartStyle::Plain => shown,
            PartStyle::Dim => style.dim(&shown),
            PartStyle::Warn => style.warn(&shown),
        };
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::tests::plain;

    fn parts() -> Vec<(String, PartStyle)> {
        let part = |text: &str| (text.to_owned(), PartStyle::Plain);
        vec![
            part("turn  12"),
            part("   87k used"),
            part(" 61 % left"),
            (format!("{:<9}", "asap"), PartStyle::Warn),
            (format!("[{}]", ["commit"; 9].join(", ")), PartStyle::Dim),
            part("wait: asap needs another sign than turn_complete"),
            part("emergency in 3 turns"),
        ]
    }

    #[test]
    fn lines_fit_any_width_and_only_long_parts_are_cut() {
        for width in [20, 40, 60, 80, 200] {
            let text = fitted(&parts(), &Style { width, ..plain() });
            let fits = |line: &str| line.chars().count() <= usize::from(width);
            assert!(text.lines().all(fits), "{width}:\n{text}");
            assert!(text.contains("emergency in 3 turn"[..17].trim()), "{text}");
            assert!(text.lines().skip(1).all(|line| line.starts_with("  ")), "{text}");
        }
        let wide = fitted(&parts(), &Style { width: 1_000, ..plain() });
        assert_eq!(wide.lines().count(), 1);
        let narrow = fitted(&parts(), &Style { width: 40, ..plain() });
        assert_eq!(narrow.lines().next(), Some("turn  12     87k used   61 % left  asap"));
    }

    #[test]
    fn growing_numbers_update_in_place() {
        for is_terminal in [true, false] {
            let mut shown = LastLine::default();
            let mut next =
                |line: &str, summary: &str| shown.next(line, summary.to_owned(), is_terminal);
            assert_eq!(next("turn 1  1k\n  wait\n", "one"), Some(0));
            assert_eq!(next("turn 1  1k\n  wait\n", "one"), None);
            assert_eq!(next("turn 1  2k\n  wait\n", "one"), is_terminal.then_some(2));
            assert_eq!(next("turn 2  2k\n", "two"), Some(0));
        }
    }

    #[test]
    fn colors_do_not_count_as_columns() {
        let style = Style { is_color: true, width: 80, ..plain() };
        let text = fitted(&parts(), &style);
        let bare = text.replace("\x1b[33m", "").replace("\x1b[39m", "");
        let bare = bare.replace("\x1b[2m", "").replace("\x1b[0m", "").replace("\x1b[22m", "");
        assert_eq!(
            bare.lines().count(),
            fitted(&parts(), &Style { width: 80, ..plain() }).lines().count()
        );
    }
}
