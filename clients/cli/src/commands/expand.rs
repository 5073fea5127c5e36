//! `longhaul expand`.

use clap::Args;
use longhaul_printable as printable;
use longhaul_protocol::history::{Expand, ExpandParams, ExpandResult};
use serde_json::Value;

use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::select;
use crate::session::{Page, Session};
use crate::style::Style;

/// Print the items behind a handle of a receipt or a view, word for word
///
/// A message or a result is printed as its text, anything else as JSON, secrets included. With --json, each item is
/// whole, and `path` and `byte_range` say where the transcript has it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul expand HANDLE
  longhaul expand 747                            #747 of the newest thread
  longhaul expand 747 --thread 0199a213
  longhaul expand HANDLE --json | jq '.items[]'
  longhaul expand HANDLE --json --max-bytes 4096    one page and a next_cursor")]
pub(crate) struct ExpandArgs {
    /// A handle from a receipt, a view or a search; a number alone is an item of the thread
    handle: String,
    /// Thread of a handle without a thread [default: the newest of this folder or project, else of all]
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Maximum bytes of one page
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
    /// Continue at the next_cursor of an earlier page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) async fn run(args: ExpandArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = match args.thread {
        Some(named) => Some(named),
        None if args.handle.find('#').is_some_and(|at| at > 0) => None,
        None => select::thread(&client, None, session).await.ok().map(|thread| thread.thread_id),
    };
    let mut params = ExpandParams {
        handle: args.handle,
        thread_id: thread,
        cursor: args.cursor,
        max_bytes: args.max_bytes,
    };
    loop {
        let page = while_waiting("reading", client.call::<Expand>(params.clone())).await?;
        session.print(&page)?;
        // A script requests the next page itself; for a person, print all pages.
        if session.is_json || page.next_cursor.is_none() {
            return Ok(());
        }
        params.cursor = page.next_cursor;
    }
}

impl Page for ExpandResult {
    fn text(&self, style: &Style) -> String {
        let [from, to] = self.byte_range;
        let archive = if self.from_archive { ", from the archive" } else { "" };
        let place = format!("{} bytes {from} to {to}{archive}\n", style.path(&self.path));
        let items = self.items.iter().map(|item| {
            let parsed: Value = serde_json::from_str(item.get()).unwrap_or_default();
            item_text(&parsed, style) + "\n"
        });
        style.dim(&place) + &items.collect::<String>()
    }
}

/// A message as its text, anything else as indented JSON.
pub(super) fn item_text(item: &Value, style: &Style) -> String {
    let words = item["content"].as_array().map(|parts| {
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    });
    match (item["role"].as_str(), words) {
        (Some(role), Some(words)) if !words.is_empty() => {
            let role = style.bold(&printable::one_line(role));
            format!("{role}\n{}\n", printable::block(words.trim_end()))
        }
        _ => {
            let kind = item["type"].as_str().unwrap_or("item");
            let kind = style.bold(&printable::one_line(kind));
            format!("{kind}\n{}\n", printable::json(&format!("{item:#}")))
        }
    }
}
