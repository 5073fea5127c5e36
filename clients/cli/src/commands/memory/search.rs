//! `longhaul memory search`.

use clap::Args;
use longhaul_protocol::limit::SEARCH_HITS_MAX;
use longhaul_protocol::memory::{Hit, Search, SearchParams, SearchResult};

use crate::failure::Failure;
use crate::select;
use crate::session::{Page, Session};
use crate::style::Style;

/// Search memory
///
/// Passages with all words come first, then those with some of them. Quote a phrase: "several words".
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory search how are the tests run
  longhaul memory search clippy --here
  longhaul memory search migrations --json | jq -r '.hits[].path'")]
pub(crate) struct SearchArgs {
    /// Words to find
    #[arg(required = true)]
    query: Vec<String>,
    /// Only this folder's project, and what applies everywhere
    #[arg(long, conflicts_with = "cwd")]
    here: bool,
    /// The same for another folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Maximum number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(SEARCH_HITS_MAX)))]
    limit: u32,
    /// Maximum tokens of all texts
    #[arg(long, value_name = "N", value_parser = select::one_or_more)]
    max_tokens: Option<u64>,
}

pub(crate) async fn run(args: SearchArgs, session: &Session) -> Result<(), Failure> {
    let cwd = args.here.then_some(".").or(args.cwd.as_deref()).map(select::folder).transpose()?;
    let params = SearchParams {
        query: args.query.join(" "),
        cwd,
        limit: Some(args.limit),
        max_tokens: args.max_tokens,
    };
    session.show::<Search>(params).await
}

impl Page for SearchResult {
    fn text(&self, style: &Style) -> String {
        if self.generation == 0 {
            return "Memory is empty: longhaul memory run\n".to_owned();
        }
        if self.hits.is_empty() {
            return "Nothing found.\n".to_owned();
        }
        self.hits.iter().map(|hit| entry(hit, style)).collect::<Vec<_>>().join("\n")
    }
}

fn entry(hit: &Hit, style: &Style) -> String {
    let place = match hit.line_end {
        end if end == hit.line_start => format!("{}:{end}", hit.path),
        end => format!("{}:{}-{end}", hit.path, hit.line_start),
    };
    let project = hit.project.as_deref().map_or_else(|| "everywhere".into(), |p| style.path(p));
    let heading = style.bold(&[place, project, style.ago(hit.at)].join(" · "));
    let lines: String = hit.text.lines().map(|line| format!("  {line}\n")).collect();
    style.wrap(&format!("{heading}\n{lines}"), 2)
}
