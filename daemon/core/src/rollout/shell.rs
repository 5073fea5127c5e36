//! A partial parser of shell scripts: the simple commands, and the files each reads or changes.
//!
//! It understands quotes, operators, redirections and heredocs, so that a path inside a quoted message or a
//! heredoc's body is not mistaken for an argument. It leaves out what it does not understand.

mod class;
mod effects;
mod gist;
mod parse;
mod parts;
mod places;
mod programs;
mod read_only;
mod scan;
mod substitutions;
mod wrappers;

pub use class::Class;
pub use effects::{CommandEffects, confirms_commit, purpose, refuses_commit};
pub use gist::gist;
pub use parse::commands;
pub use parts::{CommandPart, lists, parts, parts_run};
pub use places::{FileUse, folder_of_last, uses_of};
pub use programs::{
    fetches, is_fetcher, is_fetcher_by_name, is_shell, prints_only_files, program_name,
    takes_script,
};
pub use read_only::is_read_only;
pub use scan::Joint;
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
    /// Text of its here-strings, and of the heredocs of its line if it is the last command on that line.
    pub input: String,
}

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

impl Use {
    pub fn is_change(self) -> bool {
        matches!(self, Self::Written | Self::Removed)
    }
}

/// Bytes of a script to parse.
pub const SCRIPT_BYTES: usize = 16 * 1_024;

/// The script that an argv runs: the argument of `bash -lc`, else the words joined.
pub fn script_of(argv: &[&str]) -> String {
    match argv {
        [shell, flag, script] if is_shell(shell) && takes_script(flag) => (*script).to_owned(),
        _ => argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

/// The folder a script enters before its first other command.
pub fn entered_folder(script: &str) -> Option<&str> {
    if !script.trim_start().starts_with("cd ") {
        return None;
    }
    let first = *parts(script).first()?;
    first.after.filter(|joint| !matches!(joint, Joint::Pipe | Joint::Background))?;
    let folder = first.text.strip_prefix("cd ")?.trim().trim_matches(['"', '\'']);
    places::is_known(folder).then_some(folder)
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
    // A target that is no path, such as `$DIR/a.rs`, must not make the source one.
    let target = arguments.iter().rposition(|word| !word.starts_with('-'));
    let has_target = is_move || matches!(program, "cp" | "install");
    let into = target.map(|at| arguments[at]).filter(|to| has_target && to.ends_with('/'));
    for (index, path) in arguments.iter().enumerate() {
        if !is_path(path) && !is_named_file(path) {
            continue;
        }
        let last = Some(index) == target;
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
        match into.filter(|_| is_path(path)) {
            Some(_) if last => {}
            Some(folder) => {
                let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
                uses.push((kind, path.to_owned()));
                uses.push((Use::Written, format!("{folder}{name}")));
            }
            None => uses.push((kind, path.to_owned())),
        }
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

/// Options of a search whose value is the next word.
const SEARCH_VALUED: &[&str] = &[
    "-A",
    "-B",
    "-C",
    "-e",
    "-f",
    "-g",
    "-m",
    "-t",
    "-T",
    "--after-context",
    "--before-context",
    "--context",
    "--glob",
    "--iglob",
    "--max-count",
    "--max-depth",
    "--regexp",
    "--type",
    "--type-not",
];

/// The arguments without those that are a pattern, a program or the value of an option rather than a file.
fn operands<'a>(program: &str, arguments: &[&'a str]) -> Vec<&'a str> {
    let is_search = matches!(program, "grep" | "rg" | "ag");
    let takes_pattern = (is_search || matches!(program, "sed" | "awk" | "jq"))
        && !arguments.iter().any(|a| matches!(*a, "-e" | "-f" | "--files" | "--regexp"));
    let mut is_value = false;
    let is_plain = |word: &&&str| {
        !std::mem::replace(&mut is_value, is_search && SEARCH_VALUED.contains(*word))
    };
    let mut operands: Vec<&str> = arguments.iter().filter(is_plain).copied().collect();
    if takes_pattern && let Some(at) = operands.iter().position(|a| !a.starts_with('-')) {
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

/// Whether a word with a slash is a branch, a revision or a range of git rather than a path. In a path, `..` is a
/// folder's whole name.
fn is_revision(program: &str, word: &str) -> bool {
    program == "git"
        && (word.split('/').any(|name| name != ".." && name.contains(".."))
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

fn quoted(word: &str) -> String {
    let is_plain =
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "/._-=+:@%,".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests;
