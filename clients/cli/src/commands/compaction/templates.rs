//! `longhaul compaction templates`.

use clap::Args;
use longhaul_protocol::compaction::Templates;
use longhaul_protocol::policy::TemplatesParams;

use crate::failure::Failure;
use crate::session::Session;

/// Show the texts that a model is given to compact; write them out to be changed
///
/// A changed file counts from the next compaction on. One that cannot be used leaves the text before it in
/// force, and every compaction says so.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compaction templates
  longhaul compaction templates --seed      write those that have no file
  longhaul compact --prompt ask.md          another one for a single compaction")]
pub(crate) struct TemplatesArgs {
    /// Write the built-in text of every one that has no file
    #[arg(long)]
    seed: bool,
}

pub(crate) async fn run(args: TemplatesArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let params = TemplatesParams { seed: args.seed.then_some(true) };
    session.print(&client.call::<Templates>(params).await?)
}
