//! `longhaul man`.

use std::path::PathBuf;

use clap::{Args, Command};
use serde::Serialize;

use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::Style;

/// Print the manual page, or write one per command to a folder
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul man | man -l -
  longhaul man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Destination folder
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs, command: Command, session: &Session) -> Result<(), Failure> {
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return session.print_text(&String::from_utf8_lossy(&page));
    };
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(command, dir)?;
    session.print(&WrittenPages { folder: dir.display().to_string() })
}

#[derive(Debug, Serialize)]
struct WrittenPages {
    folder: String,
}

impl Page for WrittenPages {
    fn text(&self, _: &Style) -> String {
        format!("wrote the manual pages to {}\n", self.folder)
    }
}
