//! `longhaul watch`: a thread's window, tier, signs and next decision, as they change.

use clap::Args;
use longhaul_client::Client;
use longhaul_protocol::event::{EventKind, SubscribeParams};
use longhaul_protocol::policy::{Evaluate, EvaluateParams, EvaluateResult, Log, LogParams};

use crate::failure::Failure;
use crate::select;
use crate::session::Session;
use crate::style::{Style, tokens};

/// Watch a thread: what is left of its window, the signs of this turn, and what is decided
///
/// Prints a line whenever something changed; ends with Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul watch                            the newest thread of this folder
  longhaul watch THREAD --once              as it is now, with every reason
  longhaul watch --json | jq .decision.action")]
pub(crate) struct WatchArgs {
    /// A thread: its id or the beginning of it [default: the newest of this folder, else of all]
    thread: Option<String>,
    /// Show it once, with every reason
    #[arg(long)]
    once: bool,
    /// Tokens of the model's whole window
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
}

pub(crate) async fn run(args: WatchArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = select::thread(&client, args.thread.as_deref()).await?;
    let params = EvaluateParams {
        thread_id: thread.thread_id.clone(),
        context_window: args.window,
        ..EvaluateParams::default()
    };
    if args.once {
        return session.print(&client.call::<Evaluate>(params).await?);
    }
    let kinds = Some(vec![EventKind::ThreadUpdated, EventKind::StoreRebuilt]);
    let mut events = client.subscribe(SubscribeParams { kinds, since_seq: None }).await?;
    let mut shown = String::new();
    let follow = async {
        loop {
            shown = show(&client, &params, session, &shown).await?;
            loop {
                match events.next().await {
                    Some(event) if event.kind != EventKind::ThreadUpdated.name() => break,
                    Some(event) if event.data["thread_id"] == params.thread_id.as_str() => break,
                    Some(_) => {}
                    None => return Ok(()),
                }
            }
        }
    };
    tokio::select! {
        ended = follow => ended,
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}

/// Prints the thread as it is now, unless it is what was printed last.
async fn show(
    client: &Client,
    params: &EvaluateParams,
    session: &Session,
    last: &str,
) -> Result<String, Failure> {
    let now = client.call::<Evaluate>(params.clone()).await?;
    let text = match session.is_json {
        true => serde_json::to_string(&now)? + "\n",
        false => {
            let thread_id = Some(now.thread_id.clone());
            let log = LogParams { thread_id, limit: Some(1), ..LogParams::default() };
            let page = client.call::<Log>(log).await?;
            let turn = page.events.iter().filter(|event| event.turn == now.turn);
            let signs: Vec<_> = turn.map(|event| event.kind.replace('_', " ")).collect();
            line(&now, &signs, &session.style)
        }
    };
    if text != last {
        session.print_text(&text)?;
    }
    Ok(text)
}

/// Usage, tier, signs and decision in one line.
fn line(now: &EvaluateResult, signs: &[String], style: &Style) -> String {
    let decision = &now.decision;
    let tier = decision.tier.as_deref().unwrap_or("-");
    let tier = match tier {
        "emergency" | "asap" => style.warn(&format!("{tier:<9}")),
        tier => style.dim(&format!("{tier:<9}")),
    };
    let refused = decision.reasons.iter().find(|reason| !reason.passed);
    let action = match refused {
        None => style.warn(&decision.action),
        Some(reason) => format!("wait: {}", reason.text),
    };
    format!(
        "turn {:>3}  {:>6} used  {:>3} % left  {tier}  {}  {}\n",
        now.turn,
        tokens(now.used),
        decision.percent_remaining,
        style.dim(&format!("[{}]", signs.join(", "))),
        action
    )
}
