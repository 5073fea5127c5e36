//! `longhaul thread tail`.

use clap::Args;
use longhaul_client::{Client, Subscription};
use longhaul_protocol::event::EventKind;
use longhaul_protocol::limit::PAGE_ROWS_MAX;
use longhaul_protocol::thread::{ItemSummary, Items, ItemsParams, ItemsResult};
use serde_json::json;

use crate::commands::follow;
use crate::failure::Failure;
use crate::select;
use crate::session::Session;
use crate::style::{Style, crop, tokens};

/// Events after which there may be new items.
const KINDS: [EventKind; 2] = [EventKind::ThreadUpdated, EventKind::StoreRebuilt];

/// Show the last items of a thread, one per line, or follow it
///
/// Following survives a restart of the daemon. Stop with Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul thread tail                      the newest thread of this folder
  longhaul thread tail -f THREAD            also new items as they arrive
  longhaul thread tail -f --json | jq 'select(.kind == \"tool_call\")'")]
pub(crate) struct TailArgs {
    /// Id of the thread, or a unique prefix [default: the newest of this folder or project, else of all]
    thread: Option<String>,
    /// Also show new items, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Number of items
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_ROWS_MAX)))]
    limit: u32,
}

pub(crate) async fn run(args: TailArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = select::synced_thread(&client, args.thread.as_deref(), session).await?;
    let mut tail = Tail { session, thread_id: thread.thread_id, next_seq: 0 };
    // Subscribe before the first read, to miss nothing in between.
    let events = match args.follow {
        true => Some(follow::subscribe(&client, &KINDS).await?),
        false => None,
    };
    let last = ItemsParams {
        thread_id: tail.thread_id.clone(),
        last: Some(args.limit),
        ..Default::default()
    };
    let page = client.call::<Items>(last).await?;
    tail.show(&page)?;
    let Some(events) = events else { return Ok(()) };
    tokio::select! {
        ended = tail.follow(client, events) => ended,
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}

struct Tail<'a> {
    session: &'a Session,
    thread_id: String,
    next_seq: u64,
}

impl Tail<'_> {
    /// Shows new items; ends when the output is closed, or with a daemon that this program cannot use.
    async fn follow(&mut self, client: Client, events: Subscription) -> Result<(), Failure> {
        let (mut client, mut events) = (client, events);
        loop {
            match events.next().await {
                None => (client, events) = follow::reconnect(self.session, &KINDS).await?,
                // Also after a gap, or an unknown kind of a newer daemon, there may be items of ours.
                Some(event)
                    if event.kind == <&str>::from(EventKind::ThreadUpdated)
                        && event.data["thread_id"] != self.thread_id.as_str() =>
                {
                    continue;
                }
                Some(_) => {}
            }
            self.catch_up(&client).await?;
        }
    }

    /// Shows all new items. Where the daemon does not answer (it has not ingested them after a rebuild, or is stopping),
    /// the next event tries again.
    async fn catch_up(&mut self, client: &Client) -> Result<(), Failure> {
        loop {
            let params = ItemsParams {
                thread_id: self.thread_id.clone(),
                from_seq: Some(self.next_seq),
                limit: Some(PAGE_ROWS_MAX),
                ..Default::default()
            };
            let Ok(page) = client.call::<Items>(params).await else { return Ok(()) };
            let more = page.more;
            self.show(&page)?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Prints a page. After a rewrite of the transcript it continues at the new end.
    fn show(&mut self, page: &ItemsResult) -> Result<(), Failure> {
        self.next_seq = page.next_seq;
        let mut text = String::new();
        for item in &page.items {
            match self.session.is_json {
                true => {
                    let mut row = serde_json::to_value(item)?;
                    row["thread_id"] = json!(self.thread_id);
                    text += &(row.to_string() + "\n");
                }
                false => text += &line(item, &self.session.style),
            }
        }
        self.session.print_text(&text)
    }
}

/// Time, kind, tokens and beginning of an item, in one line of the terminal.
fn line(item: &ItemSummary, style: &Style) -> String {
    let at = item.at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    let at = at.map_or("-".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M:%SZ").to_string());
    let kind = item.kind.replace("_message", "").replace("tool_", "");
    let head = format!("{at:<20}  {kind:<9} {:>6}  ", tokens(item.tokens));
    let room = usize::from(style.width).saturating_sub(head.chars().count()).max(10);
    let words = crop(&item.excerpt, room);
    let head = style.dim(&head);
    let words = match item.kind.as_str() {
        "user_message" => style.bold(&words),
        "context" | "reasoning" => style.dim(&words),
        _ => words,
    };
    format!("{head}{words}\n")
}
