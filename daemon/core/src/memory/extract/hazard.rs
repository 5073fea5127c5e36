//! Commands that memory must not recommend, however well they worked once.
//!
//! A line is read as the shell reads it, so that quotes, paths, and flags in another order hide nothing. Two
//! things make it hazardous: a command that destroys or switches a protection off ([`alone`]), and words from
//! the network, or decoded ones, that reach an interpreter, through a pipe, a substitution or a file. What is
//! not understood is not called safe for that: whatever an interpreter is given to run is read as well.

mod alone;
mod programs;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::memory::span::spans;
use crate::redact::MARKER;
use crate::rollout::shell::{self, Command, Substitutions};
use programs::{
    Runs, downloaded, is_decoder, is_fetcher, is_interpreter, program, runs_from, written_by,
};

/// Scripts inside scripts that are read.
const DEPTH_MAX: u32 = 6;

/// Words of a text that are looked at for commands.
const TEXT_WORDS_MAX: usize = 400;

/// Whether the command line is left out of memory.
pub fn is_hazardous(line: &str) -> bool {
    let is_fork_bomb = || line.split_whitespace().collect::<String>().contains(":(){");
    line.contains(MARKER) || is_fork_bomb() || Flow::default().script(line, 0)
}

/// Whether a text holds a command that memory must not recommend, in code marks or among its words.
pub fn names_hazard(words: &str) -> bool {
    let begins_one = |at: &usize| {
        let rest = &words[*at..];
        let first = rest.split_whitespace().next().unwrap_or_default();
        let bare = first.trim_matches(|c: char| "\"'`([{,;:".contains(c));
        programs::is_told_apart(bare)
            && is_hazardous(rest.trim_start_matches(['"', '\'', '`', '(']))
    };
    let starts = words.char_indices().scan(true, |is_start, (at, c)| {
        let starts = *is_start && !c.is_whitespace();
        *is_start = c.is_whitespace();
        Some(starts.then_some(at))
    });
    is_hazardous(words)
        || spans(words).any(is_hazardous)
        || starts.flatten().take(TEXT_WORDS_MAX).any(|at| begins_one(&at))
}

/// The files a line brings in from outside, by their last names.
pub fn downloads(line: &str) -> BTreeSet<String> {
    let mut flow = Flow::default();
    flow.script(line, 0);
    flow.downloads
}

/// Whether a line runs one of `files` that were brought in before.
pub fn runs_any(line: &str, files: &BTreeSet<String>) -> bool {
    let mut flow = Flow { downloads: files.clone(), ..Flow::default() };
    !files.is_empty() && flow.script(line, 0)
}

/// What came from outside so far, while a script is read.
#[derive(Debug, Default)]
struct Flow {
    /// Something that was fetched or decoded was printed.
    is_printed: bool,
    /// Files that were fetched, by their last names.
    downloads: BTreeSet<String>,
}

impl Flow {
    /// Whether a script is hazardous.
    fn script(&mut self, script: &str, depth: u32) -> bool {
        if depth > DEPTH_MAX {
            return true;
        }
        let lifted = shell::without_substitutions(script.trim().trim_start_matches("$ "));
        let commands = shell::commands(&lifted.script);
        commands.iter().any(|command| self.command(command, &lifted, depth))
            || lifted.inner.iter().any(|inner| Self::default().script(inner, depth + 1))
    }

    fn command(&mut self, command: &Command, lifted: &Substitutions, depth: u32) -> bool {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        if alone::is_hazardous(command, &words) {
            return true;
        }
        let is_foreign = |word: &str| lifted.inside(word).any(prints_foreign);
        if programs::is_carrier(&words) {
            let mut scripts = words.iter().filter(|word| word.contains(' '));
            if scripts.any(|script| self.script(&lifted.restored(script), depth + 1)) {
                return true;
            }
        }
        let carried = words.iter().skip(1).position(|word| is_interpreter(word));
        let shells = programs::is_carrier(&words).then_some(carried).flatten();
        for words in [Some(&words[..]), shells.map(|at| &words[at + 1..])].into_iter().flatten() {
            let (runs, given) = runs_from(words);
            let is_run = match runs {
                Runs::Nothing => false,
                Runs::Input => {
                    command.is_piped && self.is_printed
                        || command
                            .read
                            .iter()
                            .any(|file| is_foreign(file) || self.is_download(file))
                        || self.script(&command.input, depth + 1)
                }
                Runs::Code => given
                    .iter()
                    .any(|code| is_foreign(code) || self.script(&lifted.restored(code), depth + 1)),
                Runs::File => given.iter().any(|file| is_foreign(file) || self.is_download(file)),
            };
            if is_run {
                return true;
            }
        }
        let first = words.first().copied().unwrap_or_default();
        if is_foreign(first) || self.is_download(first) && first.contains('/') {
            return true;
        }
        self.note(command, &words);
        false
    }

    fn is_download(&self, file: &str) -> bool {
        self.downloads.contains(last_name(file))
    }

    /// Notes what the command brings in.
    fn note(&mut self, command: &Command, words: &[&str]) {
        let brings = is_fetcher(words) || is_decoder(words);
        let files = downloaded(words);
        self.is_printed |= brings;
        let keep = |flow: &mut Self, file: &str| {
            flow.downloads.insert(last_name(file).to_owned());
        };
        files.iter().for_each(|file| keep(self, file));
        if brings || command.is_piped && self.is_printed {
            command.written.iter().for_each(|file| keep(self, file));
            written_by(words).iter().for_each(|file| keep(self, file));
        }
        // What is moved, copied or unpacked is still what was fetched.
        let moves = matches!(program(words), "mv" | "cp" | "install");
        if moves && words[1..].iter().any(|word| self.is_download(word)) {
            words.last().iter().for_each(|file| keep(self, file));
        }
    }
}

/// Whether what a script prints comes from outside.
fn prints_foreign(script: &str) -> bool {
    let lifted = shell::without_substitutions(script);
    let commands = shell::commands(&lifted.script);
    commands.iter().any(|command| {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        is_fetcher(&words) || is_decoder(&words)
    }) || lifted.inner.iter().any(|inner| prints_foreign(inner))
}

fn last_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
