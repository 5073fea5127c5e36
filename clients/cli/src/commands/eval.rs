//! `longhaul eval`: measures what compaction keeps of the user's own sessions.
//!
//! It starts a private daemon with an empty store in a temporary folder. For each session it copies the part before a
//! cut there, and the daemon reads it like any transcript; `longhaul-eval` scores the daemon's view against what the
//! agent did after the cut. The cuts of a session append to one file, as a live session does. Only the temporary
//! folder is written; it is removed at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use longhaul_eval::{Corpus as _, Options, Report, VIEW_NAME, evaluate};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Failure, INTERNAL, REFUSED, TRY_LATER, USAGE};
use crate::session::Session;

mod daemon;
mod page;
mod stage;
mod successive;
mod transcripts;

use daemon::PrivateDaemon;
use stage::Stage;
use transcripts::Transcripts;

/// Measure how much of your own sessions compaction keeps
///
/// Each session is cut at 35, 50, 65 and 80 % of its tokens. The daemon makes a view of the part before the cut,
/// and the score compares the view with what the agent did afterwards. No model is asked, nothing leaves this
/// machine, and your sessions are only read.
///
/// FRR, future-reference recall: the percentage of names in the view, out of the paths, commands, identifiers, ids
/// and URLs that the agent's next 80 tool calls used from memory (known before the cut, not shown again, not in its
/// standing instructions).
///
/// BFR, bound-fact recall: the percentage of facts that the view states with their meaning, out of those true at
/// the cut: files with created, edited or deleted; commands with their exit status; tests with pass or fail; plan
/// steps with their state; the last request word for word; the last error.
///
/// The score is the smaller of the two: names without meaning are useless, and so is meaning without the names
/// needed next.
#[derive(Debug, Args)]
#[command(after_help = "\
The other rows are for comparison: chance (random lines), raw tail (the end of the history), \
masked outputs (only the newest 10 tool outputs), calls only (no tool outputs), identifier bag \
(only names), oracle (the answers themselves: the best possible score at that size).

Examples:
  longhaul eval                              your 50 newest sessions
  longhaul eval --budgets 500,1000 ~/old-sessions
  longhaul eval --successive 8               after eight compactions in a row
  longhaul eval --json | jq '.rows[] | select(.view == \"longhaul\")'")]
pub(crate) struct EvalArgs {
    /// Transcripts (.jsonl, .jsonl.zst) or folders of them [default: those of Codex and Claude Code]
    ///
    /// Only the first 256 MiB of a session are measured.
    paths: Vec<PathBuf>,
    /// Maximum tokens of the views
    #[arg(long, value_name = "N,N…", value_delimiter = ',', default_value = "2000,4000,8000")]
    budgets: Vec<u64>,
    /// Maximum number of sessions, newest first
    #[arg(long, value_name = "N", default_value_t = 50)]
    sessions: usize,
    /// List in the JSON what each view lacks
    #[arg(long)]
    misses: bool,
    /// Measure instead what is left after N compactions in a row
    #[arg(long, value_name = "N", conflicts_with = "misses")]
    successive: Option<std::num::NonZeroUsize>,
}

pub(crate) async fn run(args: EvalArgs, session: &Session) -> Result<(), Failure> {
    if args.budgets.contains(&0) {
        return Err(Failure::new(USAGE, "a view needs a budget of at least 1 token"));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let transcripts = Transcripts::find(&args.paths, args.sessions, Arc::clone(&stop))?;
    if transcripts.is_empty() {
        return Err(Failure::new(REFUSED, "there is no session to measure")
            .with_hint("name a folder that holds .jsonl or .jsonl.zst transcripts"));
    }
    let mut signals = Signals::caught()?;
    let daemon = tokio::select! {
        daemon = PrivateDaemon::start(session) => daemon?,
        () = signals.next() => return Err(interrupted()),
    };
    let stage = Stage::new(&daemon, Arc::clone(&stop));
    if let Some(compactions) = args.successive {
        let decay =
            measure(transcripts, stage, (&stop, &mut signals), move |transcripts, stage| {
                successive::measure(transcripts, &args.budgets, stage, compactions.get())
            });
        let measured = decay.await;
        daemon.stop().await;
        return session.print(&measured?);
    }
    let options = Options { budgets: args.budgets, baselines: true, misses: args.misses };
    let measured = measure(transcripts, stage, (&stop, &mut signals), move |transcripts, stage| {
        let report = evaluate(transcripts, &options, &mut |cut, budget| stage.view(cut, budget));
        report.map_err(|error| Failure::new(INTERNAL, error))
    });
    let measured = measured.await;
    daemon.stop().await;
    let report = measured?;
    refuse_empty(&report)?;
    session.print(&report)
}

/// Rejects a report without any view: its zeros would look like a bad score.
fn refuse_empty(report: &Report) -> Result<(), Failure> {
    let corpus = &report.corpus;
    let asked: u64 =
        report.rows.iter().filter(|row| row.view == VIEW_NAME).map(|row| row.cuts).sum();
    match corpus.failed_views.first() {
        Some(reason) if corpus.failed_view_count as u64 == asked => {
            Err(Failure::new(REFUSED, format!("the daemon made no view: {reason}")))
        }
        _ => Ok(()),
    }
}

/// Scores on a separate thread, since it blocks the one that talks to the daemon.
async fn measure<T: Send + 'static>(
    transcripts: Transcripts,
    mut stage: Stage,
    (stop, signals): (&AtomicBool, &mut Signals),
    score: impl FnOnce(&Transcripts, &mut Stage) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let scored = tokio::task::spawn_blocking(move || {
        let report = score(&transcripts, &mut stage);
        transcripts.finish();
        report
    });
    tokio::select! {
        report = scored => {
            report.map_err(|error| Failure::new(INTERNAL, error.to_string()))?
        }
        () = signals.next() => {
            // No further session is read or view requested, so the scorer ends soon.
            stop.store(true, Ordering::Relaxed);
            Err(interrupted())
        }
    }
}

/// Ctrl-C and the signal by which other programs end this one. Once caught, they end only what waits for them.
struct Signals([Signal; 2]);

impl Signals {
    fn caught() -> std::io::Result<Self> {
        Ok(Self([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

fn interrupted() -> Failure {
    Failure::new(TRY_LATER, "interrupted")
}
