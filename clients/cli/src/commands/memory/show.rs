//! `longhaul memory show`.

use clap::Args;
use longhaul_protocol::limit::PAGE_ROWS_MAX;
use longhaul_protocol::memory::{
    MemoryList, MemoryListParams, MemoryListResult, Read, ReadParams, ReadResult, Summary,
    SummaryParams, SummaryResult,
};

use crate::commands::hook::MEMORY_TOKENS;
use crate::failure::{Failure, USAGE};
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, bytes, count};

/// Show what a new thread in this folder is told, or more of the memory
///
/// A new thread is told the person's rules, how to build and test here, and what the last three threads were asked and
/// how they ended: at most 300 tokens. --full shows all that memory has about this folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory show                     what a new thread here is told
  longhaul memory show --full              all about this folder
  longhaul memory show --full --max-tokens 1000
  longhaul memory show --files             the list of files
  longhaul memory show MEMORY.md")]
pub(crate) struct MemoryShowArgs {
    /// A file listed by --files
    #[arg(conflicts_with = "files")]
    path: Option<String>,
    /// First line to show
    #[arg(long, value_name = "N", requires = "path")]
    line: Option<u64>,
    /// List the files
    #[arg(long)]
    files: bool,
    /// Folder of the thread [default: this one]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["path", "files"])]
    cwd: Option<String>,
    /// All that memory has about the folder
    #[arg(long, conflicts_with_all = ["path", "files"])]
    full: bool,
    /// Maximum tokens, of a file or with --full
    #[arg(long, value_name = "N", value_parser = select::one_or_more)]
    max_tokens: Option<u64>,
}

pub(crate) async fn run(args: MemoryShowArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    if args.files {
        let params = MemoryListParams { limit: Some(PAGE_ROWS_MAX), ..MemoryListParams::default() };
        return session.print(&client.call::<MemoryList>(params).await?);
    }
    let Some(path) = args.path else {
        let cwd = Some(select::folder(args.cwd.as_deref().unwrap_or("."))?);
        if args.max_tokens.is_some() && !args.full {
            return Err(Failure::new(USAGE, "--max-tokens needs --full or a file"));
        }
        // Without --full, as the hook at a session's start asks for it.
        let params = match args.full {
            true => {
                SummaryParams { cwd, max_tokens: args.max_tokens, brief: None, framed: Some(false) }
            }
            false => SummaryParams {
                cwd,
                max_tokens: Some(MEMORY_TOKENS),
                brief: Some(true),
                framed: None,
            },
        };
        return session.print(&client.call::<Summary>(params).await?);
    };
    let mut params =
        ReadParams { path, line: args.line, max_lines: None, max_tokens: args.max_tokens };
    loop {
        let page = client.call::<Read>(params.clone()).await?;
        let next = page.next_line;
        session.print(&page)?;
        // Stop at a requested bound; at the daemon's own bound, continue with the next page.
        match next {
            Some(next) if args.max_tokens.is_none() && Some(next) > params.line => {
                params.line = Some(next);
            }
            _ => return Ok(()),
        }
    }
}

impl Page for SummaryResult {
    fn text(&self, style: &Style) -> String {
        if self.text.is_empty() {
            return match self.generation {
                0 => "Memory is empty: longhaul memory run\n".to_owned(),
                _ => "Memory has nothing about this folder.\n".to_owned(),
            };
        }
        let project = self.project.as_deref().map(|p| style.path(p)).unwrap_or_default();
        let foot = format!("{} tokens {project}", count(self.tokens));
        format!("{}\n{}\n", self.text.trim_end(), style.dim(foot.trim_end()))
    }
}

impl Page for ReadResult {
    fn text(&self, _: &Style) -> String {
        self.text.to_string()
    }
}

impl Page for MemoryListResult {
    fn text(&self, style: &Style) -> String {
        if self.files.is_empty() {
            return "Memory is empty: longhaul memory run\n".to_owned();
        }
        let row = |file: &longhaul_protocol::memory::MemoryFile| {
            let edited = if file.edited { "edited by you" } else { "" };
            vec![file.path.clone(), bytes(file.bytes), count(file.lines), edited.to_owned()]
        };
        let rows = self.files.iter().map(row).collect();
        let table = style.table(&["file", ">size", ">lines", ""], rows);
        format!("{}\n{table}", style.path(&self.root))
    }
}
