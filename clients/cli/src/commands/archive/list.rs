//! `longhaul archive list`.

use std::collections::BTreeSet;

use clap::Args;
use longhaul_client::Client;
use longhaul_protocol::archive::{
    ArchiveList, ArchiveListParams, ArchiveListResult, ArchivedThread,
};

use crate::commands::slice::{Slice, more};
use crate::commands::thread::last_folders;
use crate::failure::Failure;
use crate::select::short_len;
use crate::session::{Page, Session};
use crate::style::{Style, bytes};

/// List archived threads, last updated first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive list
  longhaul archive list --gone                      without a transcript
  longhaul archive list --gone --find 'lock table'  with both words
  longhaul archive list --json | jq -r '.threads[].thread_id'")]
pub(crate) struct ArchiveListArgs {
    /// Only this thread, by id or prefix
    thread: Option<String>,
    /// Only threads whose transcripts are gone
    #[arg(long)]
    gone: bool,
    /// Only threads with all these words in their title or folder
    #[arg(long, value_name = "WORDS")]
    find: Option<String>,
    #[command(flatten)]
    slice: Slice,
}

pub(crate) async fn run(args: ArchiveListArgs, session: &Session) -> Result<(), Failure> {
    let params = ArchiveListParams {
        thread_id: args.thread,
        gone: args.gone.then_some(true),
        words: args.find,
        limit: Some(args.slice.limit),
        cursor: args.slice.cursor,
    };
    session.show::<ArchiveList>(params).await
}

/// Reads all pages.
pub(super) async fn all(client: &Client, gone: bool) -> Result<Vec<ArchivedThread>, Failure> {
    let mut params =
        ArchiveListParams { gone: gone.then_some(true), limit: Some(500), ..Default::default() };
    let mut threads = Vec::new();
    loop {
        let page = client.call::<ArchiveList>(params.clone()).await?;
        threads.extend(page.threads);
        match page.next_cursor {
            Some(cursor) => params.cursor = Some(cursor),
            None => return Ok(threads),
        }
    }
}

impl Page for ArchiveListResult {
    fn text(&self, style: &Style) -> String {
        if self.threads.is_empty() {
            return "No archived threads match.\n".to_owned();
        }
        // A thread may have several transcripts.
        let ids: BTreeSet<&str> = self.threads.iter().map(|row| row.thread_id.as_str()).collect();
        let id_chars = short_len(ids);
        let row = |thread: &ArchivedThread| {
            let transcript = if thread.gone { style.warn("gone") } else { "there".to_owned() };
            vec![
                thread.thread_id.chars().take(id_chars).collect(),
                style.ago(thread.updated_at),
                last_folders(thread.cwd.as_deref().unwrap_or("-")),
                bytes(thread.bytes),
                transcript,
                thread.title.clone().unwrap_or_default().replace('\n', " "),
            ]
        };
        let headings = ["thread", "updated", "folder", ">size", "transcript", "title"];
        let more = more(self.next_cursor.as_deref(), style);
        style.table(&headings, self.threads.iter().map(row).collect()) + &more
    }
}
