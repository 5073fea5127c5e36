//! `longhaul prompts`.

use clap::Args;
use longhaul_protocol::message_history::{
    Append, AppendParams, AppendResult, Lookup, LookupParams, LookupResult, Message,
};

use crate::commands::slice::{Slice, more};
use crate::failure::Failure;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, counted};

/// List your earlier prompts, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul prompts
  longhaul prompts rename parser              prompts with both words
  longhaul prompts --source codex -n 5 --json | jq -r '.messages[].text'
  longhaul prompts --add 'Fix the parser.'    store one, as an editor does

Lists prompts that clients stored here and those in Codex's history.jsonl.")]
pub(crate) struct PromptsArgs {
    /// Only prompts with all of these words, in any case
    query: Vec<String>,
    /// Only prompts sent in this folder (Codex does not record it)
    #[arg(long)]
    here: bool,
    /// Only prompts of this program: codex, longhaul
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only prompts of this thread, by its full id
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    #[command(flatten)]
    slice: Slice,
    /// Store this prompt instead of listing
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["query", "cursor", "source"])]
    add: Option<String>,
}

pub(crate) async fn run(args: PromptsArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let here = || select::folder(".");
    if let Some(text) = args.add {
        let params = AppendParams { text, thread_id: args.thread, cwd: Some(here()?) };
        return session.print(&client.call::<Append>(params).await?);
    }
    let params = LookupParams {
        query: (!args.query.is_empty()).then(|| args.query.join(" ")),
        source: args.source,
        thread_id: args.thread,
        cwd: if args.here { Some(here()?) } else { None },
        limit: Some(args.slice.limit),
        cursor: args.slice.cursor,
        ..LookupParams::default()
    };
    session.print(&client.call::<Lookup>(params).await?)
}

impl Page for AppendResult {
    fn text(&self, _: &Style) -> String {
        let redacted = match self.redacted {
            0 => String::new(),
            secrets => format!(", {} replaced", counted(secrets, "secret")),
        };
        match self.offset {
            Some(offset) => format!("stored as number {offset}{redacted}\n"),
            None => "not stored: the configuration has persistence = \"none\"\n".to_owned(),
        }
    }
}

impl Page for LookupResult {
    fn text(&self, style: &Style) -> String {
        if self.messages.is_empty() {
            return "No prompts.\n".to_owned();
        }
        let rows = self.messages.iter().map(|message| row(message, style)).collect();
        let more = more(self.next_cursor.as_deref(), style);
        style.table(&["sent", "from", "prompt"], rows) + &more
    }
}

fn row(message: &Message, style: &Style) -> Vec<String> {
    let text = message.text.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    vec![style.ago(message.at), message.source.clone(), words.join(" ")]
}
