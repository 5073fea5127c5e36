//! `longhaul install` and `longhaul uninstall`: set up longhaul in an agent, an editor or systemd, and remove it.
//!
//! A target makes a [`Plan`]: changed files, programs to run, notes for the person. The plan is shown as a diff and
//! then carried out. Our entries are found by their content, not by a record, so both commands can run any number of
//! times, also after the user has edited the files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::failure::{Failure, USAGE};
use crate::session::{Page, Session};
use crate::style::Style;

mod agent_hooks;
mod bridge;
mod change;
mod claude;
mod claude_plugin;
mod codex;
mod codex_gateway;
mod codex_provider;
mod error;
mod gateway_threads;
mod hook_call;
mod json_file;
mod nvim;
pub(super) mod place;
mod plan;
mod plugin_files;
pub(super) mod setup;
pub(super) mod systemd;
mod trust;
mod vscode;

use plan::{Direction, Plan};

/// Connect longhaul to an agent, an editor or systemd
///
/// Shows what it will change, keeps every other setting and comment, and saves the old file as
/// FILE.longhaul-backup (later changes as FILE.longhaul-backup-2). Running it again changes nothing, and keeps --socket and
/// --excerpts of the last time. At a terminal it asks first; elsewhere and with --json it changes nothing without --yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul install codex              hooks and the MCP server for Codex
  longhaul install codex --gateway    also compactions without a model
  longhaul install claude --dry-run   show what would change for Claude Code
  longhaul install claude --excerpts  also shorten long results of tools
  longhaul install systemd            start the daemon on the first connection
  longhaul install vscode
  longhaul install nvim")]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    options: Options,
    /// For claude: replace long results of tools by excerpts with handles
    #[arg(long)]
    excerpts: bool,
    /// For claude: do not replace long results any more
    #[arg(long, conflicts_with = "excerpts")]
    no_excerpts: bool,
    /// Port of 127.0.0.1 that the gateway listens on [default: a free one]
    #[arg(long, requires = "gateway", value_parser = clap::value_parser!(u16).range(1024..))]
    port: Option<u16>,
}

/// Disconnect longhaul from an agent, an editor or systemd
///
/// Removes only what install wrote. The daemon's state stays; longhaul doctor shows where it is. At a terminal it asks
/// first; elsewhere and with --json it changes nothing without --yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul uninstall codex --dry-run
  longhaul uninstall codex --gateway  only the gateway
  longhaul uninstall claude")]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
struct Options {
    /// Agent, editor or service manager
    target: Target,
    /// For codex: the gateway, which answers its compactions without a model
    #[arg(long)]
    gateway: bool,
    /// Show the changes without making them
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Folder of the extension [default: next to this program] or plugin [default: built in]
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Target {
    /// Hooks and the MCP server of Codex
    Codex,
    /// Plugin, hooks and the MCP server of Claude Code
    Claude,
    /// User units that start the daemon on the first connection
    Systemd,
    /// The extension of Visual Studio Code
    Vscode,
    /// The plugin of Neovim
    Nvim,
}

pub(crate) fn install(args: &InstallArgs, session: &Session) -> Result<(), Failure> {
    let excerpts = match (args.excerpts, args.no_excerpts) {
        (false, false) => None,
        (excerpts, _) => Some(excerpts),
    };
    if excerpts.is_some() && args.options.target != Target::Claude {
        return Err(Failure::new(USAGE, "--excerpts and --no-excerpts only apply to claude"));
    }
    run(&args.options, Direction::Install, (args.port, excerpts), session)
}

pub(crate) fn uninstall(args: &UninstallArgs, session: &Session) -> Result<(), Failure> {
    run(&args.options, Direction::Uninstall, (None, None), session)
}

fn run(
    options: &Options,
    direction: Direction,
    (port, excerpts): (Option<u16>, Option<bool>),
    session: &Session,
) -> Result<(), Failure> {
    // Agents run our programs in other folders.
    let socket = session.socket.as_ref().map(std::path::absolute).transpose();
    let socket = socket.map_err(|error| Failure::new(USAGE, format!("--socket: {error}")))?;
    let socket = socket.as_deref();
    if options.gateway && options.target != Target::Codex {
        return Err(Failure::new(USAGE, "--gateway only applies to codex"));
    }
    let plan = match options.target {
        Target::Codex => codex::plan(direction, socket, (options.gateway, port)),
        Target::Claude => claude::plan(direction, socket, excerpts),
        Target::Systemd => systemd::plan(direction),
        Target::Vscode => vscode::plan(direction, options.from.as_deref()),
        Target::Nvim => nvim::plan(direction, options.from.as_deref()),
    }?;
    let mut page = InstallPage::of(options, &plan);
    if options.dry_run || plan.is_empty() {
        return session.print(&page);
    }
    let question = "Make these changes?";
    if !options.yes && !session.can_ask() {
        return Err(Failure::unconfirmed(question, "--dry-run shows them, --yes makes them"));
    }
    if !options.yes {
        session.print_text(&page.shown(&session.style))?;
        session.require(question, true)?;
        let skipped = plan.carry_out()?;
        return session.print_text(&plan.outcome(&skipped, &session.style));
    }
    page.notes.extend(plan.carry_out()?);
    page.is_done = true;
    session.print(&page)
}

#[derive(Serialize)]
struct InstallPage {
    target: Target,
    direction: Direction,
    #[serde(rename = "done")]
    is_done: bool,
    changes: Vec<FileChange>,
    commands: Vec<Vec<String>>,
    notes: Vec<String>,
    /// Shown before asking for confirmation.
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct FileChange {
    path: PathBuf,
    diff: String,
}

impl InstallPage {
    fn of(options: &Options, plan: &Plan) -> Self {
        let changes = plan.prepared.iter().chain(&plan.changes);
        Self {
            target: options.target,
            direction: plan.direction,
            is_done: false,
            changes: changes
                .map(|change| FileChange { path: change.path().to_owned(), diff: change.diff() })
                .collect(),
            commands: plan.first.iter().chain(&plan.last).cloned().collect(),
            notes: plan.notes.clone(),
            warnings: plan.warnings.clone(),
        }
    }

    /// The changes and warnings.
    fn shown(&self, style: &Style) -> String {
        let diffs = self.changes.iter().map(|change| colored(&change.diff, style));
        let commands = self.commands.iter().map(|command| format!("run: {}\n", command.join(" ")));
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|warning| style.warn(&format!("warning: {warning}")) + "\n");
        diffs.chain(commands).chain(warnings).collect()
    }
}

impl Page for InstallPage {
    fn text(&self, style: &Style) -> String {
        let is_empty = self.changes.is_empty() && self.commands.is_empty();
        let verdict = match (is_empty, self.is_done, self.direction) {
            (true, _, Direction::Install) => style.good("nothing to change: it is installed"),
            (true, _, Direction::Uninstall) => style.good("nothing to change: it is not installed"),
            (false, false, _) => style.warn("not changed (dry run)"),
            (false, true, Direction::Install) => style.good("installed"),
            (false, true, Direction::Uninstall) => style.good("uninstalled"),
        };
        let notes: String = self.notes.iter().map(|note| format!("{note}\n")).collect();
        format!("{}{verdict}\n{notes}", self.shown(style))
    }
}

fn colored(diff: &str, style: &Style) -> String {
    let line = |line: &str| match line.as_bytes().first() {
        Some(b'+') => style.good(line) + "\n",
        Some(b'-') => style.bad(line) + "\n",
        _ => format!("{line}\n"),
    };
    diff.lines().map(line).collect()
}
