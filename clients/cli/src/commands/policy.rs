//! `longhaul policy`: when to compact threads, and why.

use clap::{Args, Subcommand};
use longhaul_client::Client;
use longhaul_protocol::limit::PAGE_ROWS_MAX;
use longhaul_protocol::policy::{
    Check, CheckParams, Evaluate, EvaluateParams, Explain, ExplainParams, Log, LogParams, Point,
    Report, ReportParams, Templates, TemplatesParams,
};

use crate::failure::Failure;
use crate::select;
use crate::session::Session;

mod page;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    Explain(ExplainArgs),
    Log(LogArgs),
    Report(ReportArgs),
    Check(CheckArgs),
    Templates(TemplatesArgs),
}

/// Explain whether to compact a thread now, rule by rule
///
/// With --decision, repeats a logged decision from its recorded input.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul policy explain                   the newest thread of this folder
  longhaul policy explain --as-of 4321      as it was after that seq
  longhaul policy explain --decision 17     a decision of longhaul policy log")]
pub(crate) struct ExplainArgs {
    /// Id of the thread, or a unique prefix [default: the newest of this folder or project, else of all]
    thread: Option<String>,
    /// Show it as it was after this seq
    #[arg(long, value_name = "SEQ", value_parser = select::seq)]
    as_of: Option<u64>,
    /// Decide for the middle of a turn instead of its end
    #[arg(long)]
    mid_turn: bool,
    /// Tokens of the model's whole window
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
    /// Id of a logged decision
    #[arg(long, value_name = "ID", conflicts_with_all = ["thread", "as_of", "mid_turn", "window"])]
    decision: Option<String>,
}

/// List logged decisions, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul policy log
  longhaul policy log THREAD --policy keen")]
pub(crate) struct LogArgs {
    /// Only decisions of this thread, with its events [default: all threads]
    thread: Option<String>,
    /// Only decisions of this policy
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Maximum number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_ROWS_MAX)))]
    limit: u32,
}

/// Replay a thread under every policy: when it would have compacted, at what cost
///
/// The cost is the number of files the agent knew and used again within 40 calls.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul policy report
  longhaul policy report THREAD --window 200000

Replays the first 256 MiB of the thread's own transcript, of Codex or Claude Code.")]
pub(crate) struct ReportArgs {
    /// Id of the thread, or a unique prefix [default: the newest of this folder or project, else of all]
    thread: Option<String>,
    /// Tokens of the model's whole window
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
}

/// Show every policy with its effective rules and their mistakes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul policy check                     the running configuration
  longhaul policy check new-config.toml     a file before you use it")]
pub(crate) struct CheckArgs {
    /// Configuration file to check [default: the running configuration]
    file: Option<std::path::PathBuf>,
}

/// Show the prompts for judges and agents, or write them to files to edit
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul policy templates
  longhaul policy templates --seed          write the built-in ones to files")]
pub(crate) struct TemplatesArgs {
    /// Write a file with the built-in text for each prompt without a file
    #[arg(long)]
    seed: bool,
}

pub(crate) async fn run(command: PolicyCommand, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    match command {
        PolicyCommand::Explain(args) => explain(args, &client, session).await,
        PolicyCommand::Log(LogArgs { thread, policy, limit }) => {
            let thread_id = select::thread_id(&client, thread.as_deref()).await?;
            let params = LogParams { thread_id, policy, limit: Some(limit), before: None };
            session.print(&client.call::<Log>(params).await?)
        }
        PolicyCommand::Report(ReportArgs { thread, window }) => {
            let thread = select::thread(&client, thread.as_deref(), session).await?;
            let params = ReportParams { thread_id: thread.thread_id, context_window: window };
            session.print(&client.call::<Report>(params).await?)
        }
        PolicyCommand::Check(CheckArgs { file }) => {
            let read = |path: std::path::PathBuf| {
                std::fs::read_to_string(&path).map_err(|error| {
                    let message = format!("cannot read {}: {error}", path.display());
                    Failure::new(crate::failure::USAGE, message)
                })
            };
            let params = CheckParams { toml: file.map(read).transpose()? };
            let checked = client.call::<Check>(params).await?;
            session.print(&checked)?;
            // A script checks only the exit code.
            match checked.problems.iter().any(|problem| problem.is_fatal) {
                true => Err(Failure::new(crate::failure::CONFIG, "this configuration is invalid")),
                false => Ok(()),
            }
        }
        PolicyCommand::Templates(TemplatesArgs { seed }) => {
            let params = TemplatesParams { seed: seed.then_some(true) };
            session.print(&client.call::<Templates>(params).await?)
        }
    }
}

async fn explain(args: ExplainArgs, client: &Client, session: &Session) -> Result<(), Failure> {
    if let Some(decision_id) = args.decision {
        let params = ExplainParams { decision_id };
        return session.print(&client.call::<Explain>(params).await?);
    }
    let thread = select::thread(client, args.thread.as_deref(), session).await?;
    let params = EvaluateParams {
        thread_id: thread.thread_id,
        point: args.mid_turn.then_some(Point::MidTurn),
        as_of: args.as_of,
        model: None,
        context_window: args.window,
        record: None,
    };
    session.print(&client.call::<Evaluate>(params).await?)
}
