//! The environment of a command: connection to the daemon and output.

use std::io::{self, BufRead as _, IsTerminal, Write as _};
use std::path::PathBuf;

use longhaul_client::{Client, ConnectOptions};
use longhaul_printable as printable;
use longhaul_protocol::Method;
use serde::Serialize;

use crate::failure::{Failure, REFUSED};
use crate::output;
use crate::style::{ColorWhen, Style};

/// A command's result, printed as JSON or as text.
pub(crate) trait Page: Serialize {
    /// The text, ending with a newline.
    fn text(&self, style: &Style) -> String;
}

#[derive(Debug)]
pub(crate) struct Session {
    /// The socket of `--socket`.
    pub(crate) socket: Option<PathBuf>,
    pub(crate) is_json: bool,
    pub(crate) style: Style,
}

impl Session {
    pub(crate) fn new(socket: Option<PathBuf>, is_json: bool, color: ColorWhen) -> Self {
        Self { socket, is_json, style: Style::of_terminal(color) }
    }

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

    /// Calls a method and prints its result.
    pub(crate) async fn show<M: Method<Result: Page>>(
        &self,
        params: M::Params,
    ) -> Result<(), Failure> {
        self.print(&self.connect().await?.call::<M>(params).await?)
    }

    /// Prints the result of the command to stdout.
    pub(crate) fn print(&self, page: &impl Page) -> Result<(), Failure> {
        match self.is_json {
            true => self.print_text(&(serde_json::to_string(page)? + "\n")),
            false => self.print_text(&page.text(&self.style)),
        }
    }

    /// Prints text, or with `--json` lines of JSON, to stdout.
    pub(crate) fn print_text(&self, text: &str) -> Result<(), Failure> {
        match self.is_json {
            true => self.print_json(text),
            false => Ok(output::to_stdout(&output::text(text, self.style.is_color))?),
        }
    }

    /// Whether a person can be asked: neither a script's input nor `--json`.
    pub(crate) fn can_ask(&self) -> bool {
        !self.is_json && io::stdin().is_terminal()
    }

    /// Asks before something that cannot be undone. Fails unless the person agrees, also if nobody can be asked.
    pub(crate) fn confirm(&self, question: &str) -> Result<(), Failure> {
        if !self.can_ask() {
            let hint = "add --yes; only a terminal is asked, and only without --json";
            return Err(Failure::unconfirmed(question, hint));
        }
        self.require(question, false)
    }

    /// Asks, and fails unless the person agrees.
    pub(crate) fn require(&self, question: &str, default: bool) -> Result<(), Failure> {
        match self.agrees(question, default)? {
            true => Ok(()),
            false => Err(Failure::new(REFUSED, "nothing was changed")),
        }
    }

    /// An empty line is the default answer, the end of the input is no.
    fn agrees(&self, question: &str, default: bool) -> Result<bool, Failure> {
        let choices = if default { "[Y/n]" } else { "[y/N]" };
        self.print_text(&self.style.wrap(&format!("{question} {choices} "), 2))?;
        io::stdout().flush()?;
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line)?;
        Ok(match line.trim().to_ascii_lowercase().chars().next() {
            Some(first) => first == 'y' || (default && first != 'n'),
            None => default && read > 0,
        })
    }

    /// Prints lines of JSON to stdout.
    pub(crate) fn print_json(&self, json: &str) -> Result<(), Failure> {
        Ok(output::to_stdout(&printable::json(json))?)
    }

    /// Replaces the last `lines` lines of the terminal.
    pub(crate) fn print_over(&self, lines: usize, text: &str) -> Result<(), Failure> {
        // Move to the first of these lines and clear from there.
        output::to_stdout(&format!("\x1b[{lines}F\x1b[J"))?;
        self.print_text(text)
    }

    /// Prints a note to stderr, if it is a terminal.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_json && io::stderr().is_terminal() {
            output::to_stderr(&output::text(&format!("{text}\n"), self.style.is_color));
        }
    }
}
