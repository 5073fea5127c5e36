//! `longhaul thread open`.

use clap::Args;
use longhaul_protocol::thread::{Open, OpenParams, OpenResult};

use crate::failure::Failure;
use crate::select;
use crate::session::{Page, Session};
use crate::style::Style;

/// Open a new thread to append to, or an existing one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul thread open --key notes         the thread with that key, new or not
  ID=$(longhaul thread open --key notes)
  longhaul thread open --title 'Parser work' --model gpt-5 --cwd ~/src/parser

With --key, the first call creates a thread and later calls return it; without --key, each call creates one. \
Prints its id for longhaul thread append.")]
pub(crate) struct OpenArgs {
    /// Your own key for the thread
    #[arg(long, value_name = "KEY", conflicts_with = "thread")]
    key: Option<String>,
    /// Full id of a thread opened earlier
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Its working folder [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Title of the thread [default: its first request]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Model the thread starts with
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Name of your program; each has its own keys
    #[arg(long, value_name = "NAME", default_value = "longhaul-cli")]
    originator: String,
}

pub(crate) async fn run(args: OpenArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let params = OpenParams {
        thread_id: args.thread,
        client_thread_id: args.key,
        cwd: select::folder(args.cwd.as_deref().unwrap_or("."))?,
        originator: args.originator,
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        title: args.title,
        model: args.model,
        ..OpenParams::default()
    };
    let opened = client.call::<Open>(params).await?;
    let what = if opened.created { "created" } else { "found" };
    session.note(&format!("{what} {}", opened.path));
    session.print(&opened)
}

impl Page for OpenResult {
    fn text(&self, _: &Style) -> String {
        format!("{}\n", self.thread_id)
    }
}
