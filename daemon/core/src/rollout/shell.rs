//! A partial parser of shell scripts: the simple commands, and the files each reads or changes.
//!
//! It understands quotes, operators, redirections and heredocs, so that a path inside a quoted message or a
//! heredoc's body is not mistaken for an argument. It leaves out what it does not understand.

mod class;
mod effects;
mod gist;
mod places;
mod read_only;
mod substitutions;
mod wrappers;

pub use class::Class;
pub use effects::{CommandEffects, confirms_commit, purpose, refuses_commit};
pub use gist::gist;
pub use places::{FileUse, uses_of};
pub use read_only::is_read_only;
pub use substitutions::{Substitutions, without_substitutions};
pub use wrappers::is_assignment;

/// One command of a script, between operators.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Command {
    /// Words from the program on, without quotes: `sudo -u dev A=1 cat x` is `cat x`.
    pub words: Vec<String>,
    /// Variables set for this command only, as `NAME=value`.
    pub assigned: Vec<String>,
    /// Reads the output of the previous command.
    pub is_piped: bool,
    /// Files written by `>` and `>>`.
    pub written: Vec<String>,
    /// Files read by `<`.
    pub read: Vec<String>,
    /// It is in parentheses, so its `cd` does not affect the commands outside.
    pub is_nested: bool,
    /// It appends to the file it writes.
    pub is_appending: bool,
    /// Text of the heredocs of its line, if it is the last command on that line.
    pub input: String,
}

/// What a command does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// Named, purpose unknown.
    Named,
    /// Listed or searched.
    Searched,
    /// Its content was printed.
    Read,
    Written,
    Removed,
}

/// Bytes of a script to parse.
pub const SCRIPT_BYTES: usize = 16 * 1_024;

/// The script that an argv runs: the argument of `bash -lc`, else the words joined.
pub fn script_of(argv: &[&str]) -> String {
    match argv {
        [shell, flag, script]
            if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') =>
        {
            (*script).to_owned()
        }
        _ => argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

/// The folder a script enters before its first other command.
pub fn entered_folder(script: &str) -> Option<&str> {
    let rest = script.trim_start().strip_prefix("cd ")?;
    let end = rest.find(['&', ';', '\n'])?;
    let folder = rest[..end].trim().trim_matches(['"', '\'']);
    let is_known = folder.starts_with('/') || is_path(folder) || is_plain_word(folder);
    (is_known && !folder.contains(['$', '`', '*'])).then_some(folder)
}

pub fn commands(script: &str) -> Vec<Command> {
    let mut lexer = Lexer::new(crate::text::prefix(script, SCRIPT_BYTES));
    lexer.run();
    lexer.done
}

/// The files that one command reads or changes, by what it does to them. A word that only looks like a path
/// counts as [`Use::Named`].
pub fn uses(command: &Command) -> Vec<(Use, String)> {
    let mut uses: Vec<(Use, String)> = Vec::new();
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let program = words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
    let arguments = operands(program, words.get(1..).unwrap_or_default());
    let kind = match program {
        "cat" | "head" | "tail" | "nl" | "less" | "bat" | "wc" | "jq" | "xxd" | "awk" | "view" => {
            Use::Read
        }
        "sed" if words.iter().any(|a| a.starts_with("-i") || *a == "--in-place") => Use::Written,
        "sed" => Use::Read,
        "tee" | "touch" | "cp" | "install" => Use::Written,
        "rm" | "unlink" | "rmdir" => Use::Removed,
        "ls" | "rg" | "grep" | "find" | "fd" | "tree" | "stat" | "ag" => Use::Searched,
        "cd" | "pushd" | "mkdir" | "echo" | "printf" | "export" => Use::Named,
        _ => Use::Named,
    };
    let is_move = program == "mv" || (program == "git" && arguments.first() == Some(&"mv"));
    let is_git_rm = program == "git" && arguments.first() == Some(&"rm");
    // After the folders that `find` searches come patterns.
    let places = arguments.iter().position(|word| program == "find" && word.starts_with('-'));
    let arguments = &arguments[..places.unwrap_or(arguments.len())];
    let names_file = |word: &&str| is_path(word) || is_named_file(word);
    let paths: Vec<&str> = arguments.iter().copied().filter(names_file).collect();
    for (index, path) in paths.iter().enumerate() {
        let last = index + 1 == paths.len();
        let kind = match () {
            () if is_git_rm => Use::Removed,
            () if is_move && last => Use::Written,
            () if is_move => Use::Removed,
            () if matches!(program, "cp" | "install") && !last => Use::Read,
            () if matches!(program, "echo" | "printf") || is_revision(program, path) => continue,
            () => kind,
        };
        // In Go, `./terminal/...` is a folder and everything below it.
        let path = path.strip_suffix("/...").unwrap_or(path);
        uses.push((kind, path.to_owned()));
    }
    uses.extend(command.read.iter().map(|path| (Use::Read, path.clone())));
    uses.extend(command.written.iter().filter(|p| is_file(p)).map(|p| (Use::Written, p.clone())));
    uses
}

/// Whether a word names a file or folder rather than an option, URL, pattern or number.
pub fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@~#()[] ,=$".contains(c);
    let word = below_drive(word);
    !word.is_empty()
        && word.len() <= crate::limits::PATH_BYTES
        && !word.starts_with('-')
        && !word.contains("://")
        && !word.starts_with(['$', '='])
        && !word.starts_with("/dev/")
        && word.chars().all(plain)
        && (is_nested(word) || has_extension(word))
}

/// File names common to all projects that have neither a slash nor an extension. As a whole word of a command
/// they always mean the file. Sorted.
const NAMED_FILES: &[&str] = &[
    "AUTHORS",
    "Brewfile",
    "CHANGELOG",
    "CODEOWNERS",
    "COPYING",
    "Caddyfile",
    "Containerfile",
    "Dockerfile",
    "Earthfile",
    "GNUmakefile",
    "Gemfile",
    "Jenkinsfile",
    "Justfile",
    "Kbuild",
    "Kconfig",
    "LICENSE",
    "Makefile",
    "NOTICE",
    "PKGBUILD",
    "Pipfile",
    "Podfile",
    "Procfile",
    "README",
    "Rakefile",
    "SConstruct",
    "Snakefile",
    "Tiltfile",
    "Vagrantfile",
    "gradlew",
    "justfile",
    "makefile",
    "mvnw",
];

/// Whether a word is one of [`NAMED_FILES`] or a hidden file: `.gitignore`, `.env`.
fn is_named_file(word: &str) -> bool {
    let hidden = word.strip_prefix('.').is_some_and(|name| {
        name.len() >= 3
            && name.len() <= crate::limits::PATH_BYTES
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    });
    hidden || NAMED_FILES.binary_search(&word).is_ok()
}

/// A Windows path without its drive; any other word unchanged.
fn below_drive(word: &str) -> &str {
    match word.split_once(":/") {
        Some((drive, _)) if drive.len() == 1 && drive.as_bytes()[0].is_ascii_alphabetic() => {
            &word[2..]
        }
        _ => word,
    }
}

/// The arguments without a first one that is a pattern or a program rather than a file.
fn operands<'a>(program: &str, arguments: &[&'a str]) -> Vec<&'a str> {
    let takes_pattern = matches!(program, "sed" | "awk" | "jq" | "grep" | "rg" | "ag")
        && !arguments.iter().any(|a| matches!(*a, "-e" | "-f" | "--files" | "--regexp"));
    let mut operands: Vec<&str> = arguments.to_vec();
    if takes_pattern && let Some(at) = arguments.iter().position(|a| !a.starts_with('-')) {
        operands.remove(at);
    }
    operands
}

/// Whether a redirection names a file: not a device, another stream, or a variable that only the shell can
/// expand.
fn is_file(path: &str) -> bool {
    !path.starts_with("/dev/")
        && !path.starts_with(['&', '$'])
        && path.len() <= crate::limits::PATH_BYTES
}

/// Whether a word with a slash is a branch or revision of git rather than a path.
fn is_revision(program: &str, word: &str) -> bool {
    program == "git"
        && (word.contains("..")
            || ["origin/", "upstream/", "refs/"].iter().any(|p| word.starts_with(p)))
}

/// A word without anything that only the shell can expand.
fn is_plain_word(word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    word != "-" && !word.is_empty() && word.chars().all(is_name)
}

fn is_nested(word: &str) -> bool {
    word.contains('/')
        && !word.contains(' ')
        && word.len() > 2
        && word.chars().any(char::is_alphabetic)
}

fn has_extension(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, extension)| {
        !word.contains(' ')
            && !stem.is_empty()
            && !stem.ends_with('.')
            && (1..=10).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && extension.chars().any(|c| c.is_ascii_alphabetic())
            && !stem.contains(['(', ')', '=', ','])
    })
}

fn is_shell(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("bash" | "sh" | "zsh" | "dash" | "fish"))
}

fn quoted(word: &str) -> String {
    let is_plain =
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "/._-=+:@%,".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The list that the next word is added to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Words,
    Written,
    Read,
    Heredoc,
}

struct Lexer<'a> {
    rest: std::str::Chars<'a>,
    word: Option<String>,
    target: Target,
    command: Command,
    heredocs: Vec<String>,
    is_piped: bool,
    depth: usize,
    done: Vec<Command>,
}

impl<'a> Lexer<'a> {
    fn new(script: &'a str) -> Self {
        Self {
            rest: script.chars(),
            word: None,
            target: Target::Words,
            command: Command::default(),
            heredocs: Vec::new(),
            is_piped: false,
            depth: 0,
            done: Vec::new(),
        }
    }

    fn run(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => self.quote('\''),
                '"' => self.quote('"'),
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push(escaped),
                },
                '#' if self.word.is_none() => {
                    self.take_to(b"\n");
                }
                '\n' => {
                    self.end_command();
                    self.skip_heredocs();
                }
                '|' => {
                    self.end_command();
                    self.is_piped = !self.next_is('|');
                }
                ';' => self.end_command(),
                '(' => {
                    self.end_command();
                    self.depth += 1;
                }
                ')' => {
                    self.end_command();
                    self.depth = self.depth.saturating_sub(1);
                }
                '&' if self.target == Target::Written && self.word.is_none() => self.push('&'),
                '&' => self.end_command(),
                '>' | '<' => self.redirect(c),
                c if c.is_whitespace() => self.end_word(),
                c => {
                    self.push(c);
                    // Most of a script is plain characters: take a run of them at once.
                    let plain =
                        self.take_while(|b| b.is_ascii_alphanumeric() || b"-_./=:,".contains(&b));
                    self.word.get_or_insert_default().push_str(plain);
                }
            }
        }
        self.end_command();
    }

    /// Takes the text up to the first of `ends` (ASCII), or the rest.
    fn take_to(&mut self, ends: &[u8]) -> &'a str {
        self.take_while(|b| !ends.contains(&b))
    }

    /// Takes characters while `does` holds for their bytes.
    fn take_while(&mut self, does: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest.as_str();
        let end = rest.bytes().position(|b| !does(b)).unwrap_or(rest.len());
        let (taken, rest) = rest.split_at(end);
        self.rest = rest.chars();
        taken
    }

    fn next_is(&mut self, expected: char) -> bool {
        let is_next = self.rest.as_str().starts_with(expected);
        if is_next {
            self.rest.next();
        }
        is_next
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn quote(&mut self, quote: char) {
        let ends: &[u8] = if quote == '"' { b"\"\\" } else { b"'" };
        loop {
            let text = self.take_to(ends);
            let end = self.rest.next();
            let word = self.word.get_or_insert_default();
            word.push_str(text);
            match end {
                Some('\\') => word.extend(self.rest.next()),
                Some(_) | None => return,
            }
        }
    }

    fn redirect(&mut self, c: char) {
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        self.target = if c == '>' { Target::Written } else { Target::Read };
        match (self.next_is(c), c) {
            (true, '<') => {
                self.next_is('-');
                self.target = Target::Heredoc;
            }
            (true, _) => self.command.is_appending = true,
            (false, _) => {}
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
            Target::Heredoc => self.heredocs.push(word),
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

    /// A heredoc's body is data, not commands.
    fn skip_heredocs(&mut self) {
        for end in std::mem::take(&mut self.heredocs) {
            let body = self.rest.as_str();
            let mut bytes = 0;
            loop {
                let line = self.take_to(b"\n");
                if self.rest.next().is_none() || line.trim() == end {
                    break;
                }
                bytes += line.len() + 1;
            }
            if let Some(command) = self.done.last_mut() {
                command.input.push_str(&body[..bytes]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
