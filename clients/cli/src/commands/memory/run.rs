//! `longhaul memory run`.

use clap::Args;
use futures_util::{Stream, stream};
use longhaul_client::Client;
use longhaul_protocol::event::EventKind;
use longhaul_protocol::memory::{Run, RunParams, RunResult, RunState};

use super::status::skips;
use crate::commands::follow::subscribe;
use crate::failure::Failure;
use crate::progress::while_waiting_with;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, counted, duration};

/// Learn from the threads that are due, and publish memory
///
/// No model is asked and nothing leaves this machine, unless memory.engine = "model". A thread is due after it was
/// idle for six hours (memory.min_idle_hours); --all and --thread ignore that.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory run
  longhaul memory run --all                also recent and old threads
  longhaul memory run --thread 0199a213
  longhaul memory run --background         longhaul memory status shows progress")]
pub(crate) struct RunArgs {
    /// Include recent and old threads
    #[arg(long, conflicts_with = "thread")]
    all: bool,
    /// Only this thread, by id or prefix
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Do not wait until it is done
    #[arg(long)]
    background: bool,
}

pub(crate) async fn run(args: RunArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread_id = select::thread_id(&client, args.thread.as_deref()).await?;
    let params = RunParams {
        thread_id,
        all: args.all.then_some(true),
        wait: args.background.then_some(false),
        current_thread_id: None,
    };
    let progress = progress(&client).await;
    let work = client.call::<Run>(params);
    session.print(&while_waiting_with("reading threads", progress, work).await?)
}

/// Streams progress texts; `None` if the daemon does not report them.
async fn progress(client: &Client) -> Option<impl Stream<Item = String> + use<>> {
    let events = subscribe(client, &[EventKind::MemoryProgress]).await.ok()?;
    Some(stream::unfold(events, |mut events| async {
        let event = events.next().await?;
        let words = match event.data["phase"].as_str() {
            Some("extract") => {
                format!("read {} of {} threads", event.data["done"], event.data["total"])
            }
            _ => "consolidating".to_owned(),
        };
        Some((words, events))
    }))
}

impl Page for RunResult {
    fn text(&self, style: &Style) -> String {
        if self.state == RunState::Started {
            return "Started: longhaul memory status shows progress.\n".to_owned();
        }
        let taught = self.extracted.saturating_sub(self.empty);
        let read = match self.extracted {
            0 => "No thread was due".to_owned(),
            read => format!("Read {}, learned from {taught}", counted(read, "thread")),
        };
        let published = match (self.generation, self.changed) {
            (0, _) => "nothing to publish yet".to_owned(),
            (number, true) => format!("published as generation {number}"),
            (number, false) => format!("generation {number} is unchanged"),
        };
        let heading = format!("{read}; {published}, {}.\n", duration(self.duration_ms));
        let failed = match self.failed {
            0 => String::new(),
            failed => {
                let failed = counted(failed, "thread");
                style.warn(&format!("{failed} failed: longhaul job list --kind extract\n"))
            }
        };
        let fallbacks = match self.fallbacks {
            0 => String::new(),
            read => {
                let read = counted(read, "thread");
                style.warn(&format!("{read} read without the model: longhaul memory status\n"))
            }
        };
        let editing = match self.editing {
            false => String::new(),
            true => "A model is editing the files: longhaul memory status\n".to_owned(),
        };
        let skipped = skips(&self.skipped, style);
        let gap = if skipped.is_empty() { "" } else { "\n" };
        [style.bold(&heading), editing, failed, fallbacks, gap.to_owned(), skipped].concat()
    }
}
