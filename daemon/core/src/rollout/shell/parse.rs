//! Makes [`Command`]s of a script's tokens.

use super::scan::{Joint, Scanner, ShellToken};
use super::{Command, SCRIPT_BYTES, is_assignment, wrappers};
use crate::text;

/// The simple commands of a script, in order, those of substitutions and groups included.
pub fn commands(script: &str) -> Vec<Command> {
    let scanner = Scanner::new(text::prefix(script, SCRIPT_BYTES));
    let mut parser = Parser { scanner, ..Parser::default() };
    parser.run();
    parser.done
}

/// The list that the next word is added to.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Target {
    #[default]
    Words,
    Written,
    Read,
    /// A here-string.
    Input,
    /// The word names no file: a heredoc's delimiter, a stream.
    Nothing,
}

#[derive(Default)]
struct Parser<'a> {
    scanner: Scanner<'a>,
    word: Option<String>,
    target: Target,
    command: Command,
    is_piped: bool,
    depth: usize,
    done: Vec<Command>,
}

impl Parser<'_> {
    fn run(&mut self) {
        loop {
            let quotes = self.scanner.quotes();
            let Some((token, text)) = self.scanner.next() else { break };
            let is_quoted = quotes > 0 && self.scanner.quotes() > 0;
            match token {
                // In double quotes a backslash escapes nothing else: `grep "\d"`.
                ShellToken::Escape
                    if is_quoted && !text[1..].starts_with(['$', '`', '"', '\\', '\r', '\n']) =>
                {
                    self.push(text);
                }
                ShellToken::Escape => {
                    // A shell removes an escaped end of a line.
                    let escaped = text[1..].trim_start_matches(['\r', '\n']);
                    if !escaped.is_empty() {
                        self.push(escaped);
                    }
                }
                _ if is_quoted => self.push(text),
                token => self.plain(token, text),
            }
        }
        self.end_command();
    }

    /// A token outside double quotes.
    fn plain(&mut self, token: ShellToken, text: &str) {
        match token {
            ShellToken::Text => self.push(text),
            ShellToken::Single => self.push(text[1..].strip_suffix('\'').unwrap_or(&text[1..])),
            ShellToken::Double => self.push(""),
            ShellToken::Space => self.end_word(),
            ShellToken::Joint(joint) => {
                self.end_command();
                match joint {
                    Joint::Pipe => self.is_piped = true,
                    Joint::Or => self.is_piped = false,
                    _ => {}
                }
            }
            ShellToken::Open | ShellToken::Close if text == "`" => self.push(text),
            ShellToken::Open | ShellToken::Group if text.ends_with('(') => {
                if text == "$(" {
                    self.push("$");
                }
                self.end_command();
                self.depth += 1;
            }
            ShellToken::Open | ShellToken::Close | ShellToken::Group => {
                self.end_command();
                self.depth = self.depth.saturating_sub(1);
            }
            ShellToken::Redirect => self.redirect(text),
            ShellToken::Heredoc => self.add_input(text),
            ShellToken::Escape | ShellToken::Comment | ShellToken::Delimiter => {}
        }
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn redirect(&mut self, operator: &str) {
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        self.target = match operator {
            "<" => Target::Read,
            "<<<" => Target::Input,
            operator if operator.starts_with('<') => Target::Nothing,
            _ => Target::Written,
        };
        match operator {
            ">&" => self.push("&"),
            ">>" | "&>>" => self.command.is_appending = true,
            _ => {}
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.target, Target::Words) {
            Target::Words if self.command.words.is_empty() && is_assignment(&word) => {
                self.command.assigned.push(word);
            }
            Target::Words => self.command.words.push(word),
            Target::Written => self.command.written.push(word),
            Target::Read => self.command.read.push(word),
            Target::Input => self.command.input.push_str(&word),
            Target::Nothing => {}
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.target = Target::Words;
        let mut command = std::mem::take(&mut self.command);
        let wrappers = command.words.drain(..wrappers::count(&command.words));
        command.assigned.extend(wrappers.filter(|word| is_assignment(word)));
        let runs = !command.words.is_empty();
        if runs || !command.written.is_empty() || !command.read.is_empty() {
            command.is_piped = std::mem::take(&mut self.is_piped);
            command.is_nested = self.depth > 0;
            self.done.push(command);
        }
    }

    /// Adds the body of a heredoc to the command that it follows.
    fn add_input(&mut self, body: &str) {
        self.end_word();
        let command = match self.command.words.is_empty() {
            true => self.done.last_mut(),
            false => Some(&mut self.command),
        };
        if let Some(command) = command {
            command.input.push_str(body);
        }
    }
}
