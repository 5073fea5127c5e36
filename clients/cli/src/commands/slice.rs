//! Paging of long lists.

use std::path::Path;

use clap::Args;
use longhaul_protocol::limit::PAGE_ROWS_MAX;

use crate::shell;
use crate::style::{Style, columns};

#[derive(Debug, Args)]
pub(crate) struct Slice {
    /// Maximum number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_ROWS_MAX)))]
    pub(crate) limit: u32,
    /// Continue at the next_cursor of an earlier page
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

/// The line below an incomplete list: the command as it was typed, so with its filters, for the next page.
pub(crate) fn more(next_cursor: Option<&str>, style: &Style) -> String {
    let Some(cursor) = next_cursor else { return String::new() };
    let typed = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    style.dim(&next_page(typed, cursor, style.width.into()))
}

/// The cursor is on a line of its own where the command would not fit the width.
fn next_page(typed: impl Iterator<Item = String>, cursor: &str, width: usize) -> String {
    let quoted = |word: &str| shell::quoted(Path::new(word));
    let mut command = "more: longhaul".to_owned();
    let mut typed = typed.peekable();
    while let Some(word) = typed.next_if(|word| word != "--") {
        match word.as_str() {
            // No hint repeats the socket.
            "--cursor" | "--socket" => drop(typed.next()),
            word if word.starts_with("--cursor=") || word.starts_with("--socket=") => {}
            word => command += &format!(" {}", quoted(word)),
        }
    }
    let rest: String = typed.map(|word| format!(" {}", quoted(&word))).collect();
    let cursor = format!("--cursor {}{rest}", quoted(cursor));
    match columns(&command) + 1 + columns(&cursor) <= width {
        true => format!("{command} {cursor}\n"),
        false => format!("{command} \\\n  {cursor}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_has_the_same_filters() {
        let more = |typed: &str| {
            let typed = typed.split(' ').map(|word| word.replace('_', " "));
            next_page(typed, "c2", 44)
        };
        assert_eq!(more("prompts fix -n 1"), "more: longhaul prompts fix -n 1 --cursor c2\n");
        let again = more("--socket /s list --cursor c1 --cursor=c0 --here");
        assert_eq!(again, "more: longhaul list --here --cursor c2\n");
        let quoted = more("archive list --find the_parser");
        assert_eq!(quoted, "more: longhaul archive list --find 'the parser' \\\n  --cursor c2\n");
        assert_eq!(more("prompts -- -x"), "more: longhaul prompts --cursor c2 -- -x\n");
    }
}
