//! Paging of long lists.

use std::path::Path;

use clap::Args;
use longhaul_protocol::limit::PAGE_ROWS_MAX;

use crate::shell;
use crate::style::Style;

#[derive(Debug, Args)]
pub(crate) struct Slice {
    /// Maximum number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_ROWS_MAX)))]
    pub(crate) limit: u32,
    /// Continue at the next_cursor of an earlier page
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

/// The line below an incomplete list.
pub(crate) fn more(command: &str, next_cursor: Option<&str>, style: &Style) -> String {
    match next_cursor {
        Some(cursor) => {
            let cursor = shell::quoted(Path::new(cursor));
            style.dim(&format!("more: longhaul {command} --cursor {cursor}\n"))
        }
        None => String::new(),
    }
}
