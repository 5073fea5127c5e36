//! `longhaul memory edit`.

use std::path::Path;
use std::process::Command;

use clap::Args;
use longhaul_protocol::memory::{MemoryList, MemoryListParams, Read, ReadParams, Run, RunParams};

use crate::failure::{Failure, USAGE};
use crate::session::Session;

/// Open a memory file in your editor
///
/// Your changes are kept, and removed lines are not learned again. You can also edit the files at any time with any
/// program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory edit
  longhaul memory edit memory_summary.md
  EDITOR='code --wait' longhaul memory edit")]
pub(crate) struct EditArgs {
    /// A file listed by longhaul memory show --files
    #[arg(default_value = "MEMORY.md")]
    path: String,
}

pub(crate) async fn run(args: EditArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    // The daemon rejects a path outside memory.
    let params =
        ReadParams { path: args.path.clone(), max_lines: Some(1), ..ReadParams::default() };
    client.call::<Read>(params).await?;
    let params = MemoryListParams { limit: Some(1), ..MemoryListParams::default() };
    let root = client.call::<MemoryList>(params).await?.root;
    open(&Path::new(&root).join(&args.path))?;
    // Publish the edit. This does not learn from threads that are not idle yet.
    session.print(&client.call::<Run>(RunParams::default()).await?)
}

fn open(path: &Path) -> Result<(), Failure> {
    let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(path).status().map_err(|error| {
        Failure::new(USAGE, format!("the editor {program} cannot be started: {error}"))
            .with_hint("name one with EDITOR")
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(USAGE, format!("the editor {program} ended with {status}"))),
    }
}
