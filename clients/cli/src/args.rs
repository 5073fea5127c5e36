//! The command line: global flags, commands and the top-level help.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::error::ErrorKind;
use longhaul_printable as printable;

use crate::commands::Command;
use crate::failure::{Failure, USAGE};
use crate::output;
use crate::style::ColorWhen;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// Help heading of the flags that every command has.
const GLOBAL: &str = "Global options";

const AFTER_HELP: &str = "\
Examples:
  longhaul up                       start the daemon unless it is running
  longhaul install codex            connect an agent
  longhaul thread list              list the threads it has read
  longhaul usage                    show what fills the context window
  longhaul search WORDS             search all threads
  longhaul compact                  compact the newest thread of this folder
  longhaul compact --max-tokens 2000 --view-only > handoff.md
  longhaul history                  show what the model sees now
  longhaul expand HANDLE            print the items behind a handle of a receipt
  longhaul memory show              show what a new thread here is told
  longhaul doctor                   find out why something does not work

THREAD is an id or a unique prefix of one. Without it, commands use the newest thread of this \
folder, or of the nearest folder above it in the same project. Where there is none, commands \
that only read use the newest of all, and those that change a thread ask for its id. Every \
command takes --json for scripts.

Exit codes: 0 success, 1 refused, failed or damage found, 64 usage error, 69 no daemon, \
70 internal error, 75 try again later, 78 fix the configuration or environment.";

/// Keeps coding agents on course over the long haul.
///
/// The daemon longhauld reads the transcripts your coding agents write and keeps a checkpoint of every
/// thread ready. Use this program to compact a thread, to bring back what a compaction left out, and to
/// search all threads.
#[derive(Debug, Parser)]
#[command(name = "longhaul", version, styles = STYLES, after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Socket of the daemon [default: $LONGHAUL_SOCKET, `socket` of config.toml, $XDG_RUNTIME_DIR/longhaul/v1.sock]
    #[arg(long, global = true, value_name = "PATH", help_heading = GLOBAL)]
    pub(crate) socket: Option<PathBuf>,
    /// Print the daemon's answer as one line of JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Use colors: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true, help_heading = GLOBAL)]
    pub(crate) color: ColorWhen,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A command line that runs no command: invalid, or a request for help.
pub(crate) struct ParseFailure(clap::Error);

impl Args {
    pub(crate) fn from_command_line() -> Result<Self, ParseFailure> {
        Self::try_parse().map_err(ParseFailure)
    }
}

impl ParseFailure {
    /// Prints it to stdout or stderr and returns the exit code.
    pub(crate) fn print(&self) -> ExitCode {
        let is_asked_for =
            matches!(self.0.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        let mut words = std::env::args_os().take_while(|word| word != "--");
        match !is_asked_for && words.any(|word| word == "--json") {
            true => {
                let error = Failure::of_usage(&self.0.to_string());
                output::to_stderr(&printable::json(&format!("{error}\n")));
            }
            false if is_asked_for => self.0.print().unwrap_or_default(),
            // The message quotes the arguments, which are untrusted text.
            false => output::to_stderr(&output::text(&self.0.render().to_string(), false)),
        }
        if is_asked_for { ExitCode::SUCCESS } else { ExitCode::from(USAGE) }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_and_fits_80_columns() {
        fn check(command: &clap::Command, path: &str) {
            if !command.has_subcommands() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(path), "{path}");
                // Examples begin with two spaces; clap wraps the paragraphs between them.
                let examples = help.lines().filter(|line| line.starts_with("  "));
                let wide: Vec<&str> = examples.filter(|it| it.chars().count() > 80).collect();
                assert!(wide.is_empty(), "{path}: {wide:#?}");
                let usage = command.clone().render_usage().to_string();
                assert!(usage.lines().all(|line| line.chars().count() <= 80), "{path}: {usage}");
            }
            for inner in command.get_subcommands() {
                check(inner, &format!("{path} {}", inner.get_name()));
            }
        }
        check(&Args::command(), "longhaul");
    }
}
