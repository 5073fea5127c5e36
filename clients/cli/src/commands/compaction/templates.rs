//! `longhaul compaction templates`.

use clap::Args;
use longhaul_protocol::compaction::Templates;
use longhaul_protocol::policy::TemplatesParams;

use crate::failure::Failure;
use crate::session::Session;

/// Show the prompts used for compaction, or write them to files to edit
///
/// Changes take effect with the next compaction. An unusable file is ignored, and every compaction warns about it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compaction templates
  longhaul compaction templates --seed      write the built-in ones to files
  longhaul compact --prompt ask.md          use another prompt once")]
pub(crate) struct TemplatesArgs {
    /// Write a file with the built-in text for each prompt without a file
    #[arg(long)]
    seed: bool,
}

pub(crate) async fn run(args: TemplatesArgs, session: &Session) -> Result<(), Failure> {
    let params = TemplatesParams { seed: args.seed.then_some(true) };
    session.show::<Templates>(params).await
}
