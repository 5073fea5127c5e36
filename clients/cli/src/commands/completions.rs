//! `longhaul completions`.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::session::Session;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cd ~/.local/share/bash-completion/completions
  longhaul completions bash > longhaul
  longhaul completions zsh > ~/.zfunc/_longhaul
  longhaul completions fish > ~/.config/fish/completions/longhaul.fish")]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

pub(crate) fn run(
    args: &CompletionsArgs,
    mut command: Command,
    session: &Session,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "longhaul", &mut script);
    session.print_text(&String::from_utf8_lossy(&script))
}
