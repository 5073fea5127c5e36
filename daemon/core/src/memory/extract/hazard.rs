//! Detects commands that memory must not recommend, even if they worked.
//!
//! Lines are parsed like a shell does, so that quotes, paths and reordered flags hide nothing. A line is
//! hazardous if a command destroys data or disables a protection ([`alone`]), or if downloaded or decoded text
//! reaches an interpreter through a pipe, a substitution or a file. Scripts passed to an interpreter are checked
//! as well.

mod alone;
mod programs;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::memory::span::spans;
use crate::redact::MARKER;
use crate::rollout::shell::{self, Command, Substitutions};
use programs::{
    ScriptSource, downloaded, fetches_from_elsewhere, is_decoder, is_interpreter, program,
    runs_from, written_by,
};

/// Maximum nesting of scripts; deeper ones are hazardous.
const DEPTH_MAX: u32 = 6;

/// Maximum words of a text at which a command is looked for.
const TEXT_WORDS_MAX: usize = 400;

pub fn is_hazardous(line: &str) -> bool {
    let is_fork_bomb = || line.split_whitespace().collect::<String>().contains(":(){");
    line.contains(MARKER) || is_fork_bomb() || Flow::default().script(line, 0)
}

/// Whether a text contains a hazardous command, in code marks or among its words.
pub fn names_hazard(words: &str) -> bool {
    let begins_one = |at: &usize| {
        let rest = &words[*at..];
        let first = rest.split_whitespace().next().unwrap_or_default();
        let bare = first.trim_matches(|c: char| "\"'`([{,;:".contains(c));
        programs::is_distinctive(bare)
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

/// The files that a line downloads, by file name.
pub fn downloads(line: &str) -> BTreeSet<String> {
    let mut flow = Flow::default();
    flow.script(line, 0);
    flow.downloads
}

/// Whether a line runs one of the downloaded `files`.
pub fn runs_any(line: &str, files: &BTreeSet<String>) -> bool {
    let mut flow = Flow { downloads: files.clone(), ..Flow::default() };
    !files.is_empty() && flow.script(line, 0)
}

/// Tracks content from outside through a script.
#[derive(Debug, Default)]
struct Flow {
    /// Downloaded or decoded text was printed.
    is_printed: bool,
    /// By file name.
    downloads: BTreeSet<String>,
}

impl Flow {
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
                ScriptSource::Nothing => false,
                ScriptSource::Input => {
                    command.is_piped && self.is_printed
                        || command
                            .read
                            .iter()
                            .any(|file| is_foreign(file) || self.is_download(file))
                        || is_foreign(&command.input)
                        || self.script(&lifted.restored(&command.input), depth + 1)
                }
                ScriptSource::Code => given
                    .iter()
                    .any(|code| is_foreign(code) || self.script(&lifted.restored(code), depth + 1)),
                ScriptSource::File => {
                    given.iter().any(|file| is_foreign(file) || self.is_download(file))
                }
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

    /// Records what the command downloads or decodes.
    fn note(&mut self, command: &Command, words: &[&str]) {
        let brings = fetches_from_elsewhere(words) || is_decoder(words);
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
        // A moved or copied download is still a download.
        let moves = matches!(program(words), "mv" | "cp" | "install");
        if moves && words[1..].iter().any(|word| self.is_download(word)) {
            words.last().iter().for_each(|file| keep(self, file));
        }
    }
}

/// Whether a script prints content from outside.
fn prints_foreign(script: &str) -> bool {
    let lifted = shell::without_substitutions(script);
    let commands = shell::commands(&lifted.script);
    commands.iter().any(|command| {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        fetches_from_elsewhere(&words) || is_decoder(&words)
    }) || lifted.inner.iter().any(|inner| prints_foreign(inner))
}

fn last_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
