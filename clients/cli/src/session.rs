//! The environment of a command: its connection to the daemon, and its output.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use longhaul_client::{Client, ConnectOptions};
use longhaul_printable as printable;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;
use crate::style::{ColorWhen, Style};

/// Something a command prints: as JSON, or as text for people.
pub(crate) trait Page: Serialize {
    /// The text for people, ended by a newline.
    fn text(&self, style: &Style) -> String;
}

/// One run of the program.
#[derive(Debug)]
pub(crate) struct Session {
    /// The named socket, if any.
    pub(crate) socket: Option<PathBuf>,
    pub(crate) is_json: bool,
    pub(crate) style: Style,
}

impl Session {
    pub(crate) fn new(socket: Option<PathBuf>, is_json: bool, color: ColorWhen) -> Self {
        Self { socket, is_json, style: Style::of_terminal(color) }
    }

    /// How this program introduces itself to the daemon.
    pub(crate) fn options(&self) -> ConnectOptions {
        let options = ConnectOptions::new("longhaul-cli", env!("CARGO_PKG_VERSION"));
        match &self.socket {
            Some(path) => options.socket(path),
            None => options,
        }
    }

    pub(crate) async fn connect(&self) -> Result<Client, Failure> {
        Ok(Client::connect(self.options()).await?)
    }

    /// The result of the command, to stdout.
    pub(crate) fn print(&self, page: &impl Page) -> Result<(), Failure> {
        match self.is_json {
            true => self.print_text(&(serde_json::to_string(page)? + "\n")),
            false => self.print_text(&page.text(&self.style)),
        }
    }

    /// Text, or with `--json` lines of JSON, to stdout.
    pub(crate) fn print_text(&self, text: &str) -> Result<(), Failure> {
        match self.is_json {
            true => self.print_json(text),
            false => Ok(output::to_stdout(&output::text(text, self.style.is_color))?),
        }
    }

    /// Lines of JSON, to stdout.
    pub(crate) fn print_json(&self, json: &str) -> Result<(), Failure> {
        Ok(output::to_stdout(&printable::json(json))?)
    }

    /// Text that replaces the last `lines` lines of a terminal.
    pub(crate) fn print_over(&self, lines: usize, text: &str) -> Result<(), Failure> {
        // To the first of these lines, and clear from there.
        output::to_stdout(&format!("\x1b[{lines}F\x1b[J"))?;
        self.print_text(text)
    }

    /// A remark besides the result: to stderr, only for people.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_json && io::stderr().is_terminal() {
            output::to_stderr(&output::text(&format!("{text}\n"), self.style.is_color));
        }
    }
}
