//! `longhaul thread append`: sends items from stdin in batches; the daemon accepts or rejects a batch as a whole.

use std::io::{self, BufRead as _, Read as _};

use clap::Args;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::ErrorKind;
use longhaul_protocol::error::ErrorData;
use longhaul_protocol::limit::{APPEND_ITEM_BYTES_MAX, APPEND_ITEMS_MAX};
use longhaul_protocol::thread::{Append, AppendItem, AppendParams, AppendResult};
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, USAGE};
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, counted};

/// Maximum bytes of a batch, so that it fits into a message.
const BATCH_BYTES: usize = APPEND_ITEM_BYTES_MAX;

/// Maximum bytes of a line: an item at its bound, and the JSON around it.
const LINE_BYTES_MAX: u64 = APPEND_ITEM_BYTES_MAX as u64 + (1 << 20);

/// Append items to a thread of `longhaul thread open`, one JSON object per line from stdin
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul thread append $ID < items.ndjson
  echo '{\"type\":\"message\",\"role\":\"user\",\"content\":\"Fix it.\"}' |
    longhaul thread append $ID --ids first
  jq -c '.items[]' chat.json | longhaul thread append $ID --ids chat

A line is {\"client_item_id\":…, \"item\":…} or {\"client_item_id\":…, \"marker\":…}. With --ids, a line is \
the item itself and gets the id PREFIX-1, PREFIX-2 … by its line number. Items already there are skipped, so \
the same input can be sent again.")]
pub(crate) struct AppendArgs {
    /// Id of the thread, or a unique prefix
    thread: String,
    /// Lines are plain items; assign the ids PREFIX-1, PREFIX-2 …
    #[arg(long, value_name = "PREFIX")]
    ids: Option<String>,
    /// Fail unless the thread is still at this seq
    #[arg(long, value_name = "SEQ")]
    expected_seq: Option<u64>,
}

/// The sums of all batches.
#[derive(Debug, Default, Serialize)]
struct AppendPage {
    thread_id: String,
    seq: u64,
    offset: u64,
    appended: u64,
    duplicates: u64,
    redacted: u64,
}

pub(crate) async fn run(args: AppendArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread_id = select::full_id(&client, args.thread).await?;
    let mut input = io::stdin().lock();
    let mut sum = AppendPage { thread_id: thread_id.clone(), ..AppendPage::default() };
    let mut expected_seq = args.expected_seq;
    let (mut batch, mut bytes, mut number) = (Vec::new(), 0, 0_u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        let is_full = batch.len() == APPEND_ITEMS_MAX || bytes + read > BATCH_BYTES;
        if read == 0 || (is_full && !batch.is_empty()) {
            let items = std::mem::take(&mut batch);
            let appended = send(&client, &thread_id, items, expected_seq).await?;
            expected_seq = expected_seq.map(|_| appended.seq);
            sum.add(&appended);
            bytes = 0;
        }
        if read == 0 {
            return session.print(&sum);
        }
        number += 1;
        bytes += read;
        if read as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            let hint = format!("an item may have {APPEND_ITEM_BYTES_MAX} bytes");
            let failure = Failure::new(USAGE, format!("line {number} of the input is too long"));
            return Err(failure.with_hint(hint));
        }
        if !line.trim_ascii().is_empty() {
            batch.push(item(&line, number, args.ids.as_deref())?);
        }
    }
}

async fn send(
    client: &Client,
    thread_id: &str,
    items: Vec<AppendItem>,
    expected_seq: Option<u64>,
) -> Result<AppendResult, Failure> {
    let thread_id = thread_id.to_owned();
    let params = AppendParams { thread_id, items, expected_seq };
    client.call::<Append>(params).await.map_err(|error| {
        let ClientError::Refused(wire) = &error else { return error.into() };
        let hint = match wire.data.as_ref().and_then(refused_id) {
            // The index within the batch is useless, since the input has several.
            Some(id) => format!("the item with the id {id:?}"),
            None if wire.kind() == ErrorKind::ThreadNotFound => {
                "only a thread of longhaul thread open takes items; agents write their own"
                    .to_owned()
            }
            None => return error.into(),
        };
        Failure::from(error).with_hint(hint)
    })
}

/// The item because of which the daemon rejected the batch.
fn refused_id(data: &ErrorData) -> Option<String> {
    Some(data.detail.as_ref()?["client_item_id"].as_str()?.to_owned())
}

fn item(line: &[u8], number: u64, ids: Option<&str>) -> Result<AppendItem, Failure> {
    let wrong = |error: serde_json::Error| {
        let hint = match ids {
            Some(_) => "with --ids, each line is one item as a JSON object",
            None => "each line is {\"client_item_id\":…, \"item\":…}, or an item alone with --ids",
        };
        Failure::new(USAGE, format!("line {number} of the input: {error}")).with_hint(hint)
    };
    match ids {
        None => serde_json::from_slice(line).map_err(wrong),
        Some(prefix) => Ok(AppendItem {
            client_item_id: format!("{prefix}-{number}"),
            item: Some(serde_json::from_slice::<Value>(line).map_err(wrong)?),
            marker: None,
        }),
    }
}

impl AppendPage {
    fn add(&mut self, result: &AppendResult) {
        self.seq = result.seq;
        self.offset = result.offset;
        self.appended += result.appended;
        self.duplicates += result.duplicates;
        self.redacted += result.redacted;
    }
}

impl Page for AppendPage {
    fn text(&self, style: &Style) -> String {
        let mut text = format!("appended {}", counted(self.appended, "item"));
        if self.duplicates > 0 {
            text += &format!(", {} already there", self.duplicates);
        }
        if self.redacted > 0 {
            text += &format!(", {} replaced", counted(self.redacted, "secret"));
        }
        text + &style.dim(&format!(", seq {}\n", self.seq))
    }
}
