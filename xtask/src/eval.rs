//! `cargo xtask eval --locomo FILE`: what `longhaul eval` cannot measure, since it needs a data set.

mod locomo;

use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct EvalArgs {
    /// Measure search with the questions of LoCoMo: the path of its locomo10.json
    #[arg(long, value_name = "FILE")]
    locomo: PathBuf,
    /// Write the scores as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Use an already built daemon
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
}

pub(crate) fn run(options: &EvalArgs) -> anyhow::Result<()> {
    locomo::run(&options.locomo, options.daemon.as_deref(), options.json.as_deref())
}
