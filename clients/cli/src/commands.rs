//! All commands, one file each. A command calls the daemon and prints a page.

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

mod app_server;
mod archive;
mod checkpoint;
mod compact;
mod compaction;
mod completions;
mod config;
mod context;
mod continuation;
mod doctor;
mod down;
mod drop;
mod eval;
mod expand;
mod follow;
mod history;
mod hook;
mod install;
mod job;
mod man;
mod memory;
mod metrics;
mod pick;
mod pin;
mod policy;
mod preview;
mod prompts;
mod receipt;
mod rescue;
mod search;
mod slice;
mod status;
mod thread;
mod undo;
mod up;
mod usage;
mod watch;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::UpArgs),
    Down(down::DownArgs),
    Status(status::StatusArgs),
    /// List and show threads (conversations of your agents); append to your own
    #[command(subcommand)]
    Thread(thread::ThreadCommand),
    Usage(usage::UsageArgs),
    /// Count the tokens of a text, or cut its middle out
    #[command(subcommand)]
    Context(context::ContextCommand),
    Search(search::SearchArgs),
    Compact(compact::CompactArgs),
    Pick(pick::PickArgs),
    Pin(pin::PinArgs),
    Drop(drop::DropArgs),
    Continue(continuation::ContinueArgs),
    Rescue(rescue::RescueArgs),
    Expand(expand::ExpandArgs),
    History(history::HistoryArgs),
    Undo(undo::UndoArgs),
    /// List and show compactions
    #[command(subcommand)]
    Compaction(compaction::CompactionCommand),
    /// Show the checkpoint of a thread
    #[command(subcommand)]
    Checkpoint(checkpoint::CheckpointCommand),
    /// Show, verify and restore the archived copies of transcripts
    #[command(subcommand)]
    Archive(archive::ArchiveCommand),
    /// Show, search and edit what was learned from earlier threads
    #[command(subcommand)]
    Memory(memory::MemoryCommand),
    Prompts(prompts::PromptsArgs),
    /// List background jobs, and explain why one does not run
    #[command(subcommand)]
    Job(job::JobCommand),
    /// Explain when threads are compacted, and why
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    Watch(watch::WatchArgs),
    /// Show the configuration, or reload its file
    #[command(subcommand)]
    Config(config::ConfigCommand),
    Metrics(metrics::MetricsArgs),
    Install(install::InstallArgs),
    Uninstall(install::UninstallArgs),
    Hook(hook::HookArgs),
    Doctor(doctor::DoctorArgs),
    Eval(eval::EvalArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Runs a command; `root` builds the whole command line, for completions and manual pages.
pub(crate) async fn run(
    command: Command,
    session: &Session,
    root: fn() -> clap::Command,
) -> Result<(), Failure> {
    match command {
        Command::Up(args) => up::run(args, session).await,
        Command::Down(args) => down::run(args, session).await,
        Command::Status(args) => status::run(args, session).await,
        Command::Thread(command) => thread::run(command, session).await,
        Command::Context(command) => context::run(command, session).await,
        Command::Usage(args) => usage::run(args, session).await,
        Command::Search(args) => search::run(args, session).await,
        Command::Compact(args) => compact::run(args, session).await,
        Command::Pick(args) => pick::run(args, session).await,
        Command::Pin(args) => pin::run(args, session).await,
        Command::Drop(args) => drop::run(args, session).await,
        Command::Continue(args) => continuation::run(args, session).await,
        Command::Rescue(args) => rescue::run(args, session).await,
        Command::Expand(args) => expand::run(args, session).await,
        Command::History(args) => history::run(args, session).await,
        Command::Undo(args) => undo::run(args, session).await,
        Command::Compaction(command) => compaction::run(command, session).await,
        Command::Checkpoint(command) => checkpoint::run(command, session).await,
        Command::Archive(command) => archive::run(command, session).await,
        Command::Memory(command) => memory::run(command, session).await,
        Command::Job(command) => job::run(command, session).await,
        Command::Policy(command) => policy::run(command, session).await,
        Command::Watch(args) => watch::run(args, session).await,
        Command::Prompts(args) => prompts::run(args, session).await,
        Command::Config(command) => config::run(command, session).await,
        Command::Metrics(args) => metrics::run(args, session).await,
        Command::Install(args) => install::install(&args, session),
        Command::Uninstall(args) => install::uninstall(&args, session),
        Command::Hook(args) => hook::run(args, session).await,
        Command::Doctor(args) => doctor::run(args, session).await,
        Command::Eval(args) => eval::run(args, session).await,
        Command::Completions(args) => completions::run(&args, root(), session),
        Command::Man(args) => man::run(&args, root(), session),
    }
}
