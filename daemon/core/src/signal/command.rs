//! Which commands of a script make a commit or move a pull request.
//!
//! A word inside an `echo`, a comment, a quoted message or a heredoc is none: the script is split as a
//! shell would ([`shell::commands`]), and only the program and its subcommand count.

use crate::rollout::shell;

use super::Boundary;

/// Scripts inside scripts that are followed.
const DEPTH_MAX: u32 = 3;

/// Programs and words that stand before the program that counts, and their options that take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("sudo", &["-u", "-g", "-C", "-h", "-p"]),
    ("doas", &["-u"]),
    ("env", &["-u", "-C"]),
    ("nice", &["-n"]),
    ("timeout", &["-k", "-s"]),
    ("xargs", &["-I", "-n", "-P", "-d", "-L"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("time", &[]),
    ("nohup", &[]),
    ("command", &[]),
    ("builtin", &[]),
    ("exec", &[]),
    ("setsid", &[]),
];

/// Words of the shell's own grammar.
const KEYWORDS: &[&str] = &["if", "then", "else", "elif", "while", "until", "do", "!", "{"];

/// Options of a program, before its subcommand, that take a value.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "-R",
    "--repo",
    "--cwd",
    "--repository",
];

/// The signs that a script gives if it ends well, each once.
pub(super) fn signs(script: &str) -> Vec<Boundary> {
    let mut found = Vec::new();
    collect(script, 0, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the output says that a commit did not come about although the script ended well.
pub(super) fn is_refused(output: &str) -> bool {
    const REFUSALS: &[&str] = &[
        "nothing to commit",
        "nothing added to commit",
        "no changes added to commit",
        "Aborting commit",
        "fatal: ",
    ];
    REFUSALS.iter().any(|refusal| output.contains(refusal))
}

/// Whether git itself confirms a commit: `[branch 1a2b3c4] message`. It counts also when a later
/// command of the script failed.
pub(super) fn is_confirmed(output: &str) -> bool {
    output.lines().any(|line| {
        let inside = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
        let last = inside.and_then(|(head, _)| head.rsplit_once(' ')).map(|(_, last)| last);
        last.is_some_and(|id| id.len() >= 7 && id.bytes().all(|b| b.is_ascii_hexdigit()))
    })
}

fn collect(script: &str, depth: u32, found: &mut Vec<Boundary>) {
    for command in shell::commands(script) {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let [program, arguments @ ..] = unwrapped(&words) else { continue };
        let program = program.trim_start_matches('`');
        let program = program.rsplit('/').next().unwrap_or(program);
        let inner = match program {
            "bash" | "sh" | "zsh" | "dash" | "ksh" | "fish" => script_argument(arguments),
            "eval" => Some(arguments.join(" ")),
            _ => None,
        };
        match inner {
            Some(inner) if depth < DEPTH_MAX => collect(&inner, depth + 1, found),
            Some(_) => {}
            None => found.extend(sign(program, arguments)),
        }
    }
}

/// What `-c`, `-lc` and the like are given.
fn script_argument(arguments: &[&str]) -> Option<String> {
    let is_script =
        |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = arguments.iter().position(is_script)?;
    arguments.get(at + 1).map(|script| (*script).to_owned())
}

fn sign(program: &str, arguments: &[&str]) -> Option<Boundary> {
    if arguments.iter().any(|word| matches!(*word, "--dry-run" | "--help" | "-h")) {
        return None;
    }
    let mut rest = operands(arguments);
    let verb = rest.next()?;
    match (program, verb) {
        ("git" | "jj" | "hg" | "sl", "commit") | ("hg" | "sl", "ci") => Some(Boundary::Commit),
        ("gh", "pr") => {
            const ACTS: &[&str] = &["create", "new", "close", "merge", "reopen", "review", "ready"];
            ACTS.contains(&rest.next()?).then_some(Boundary::PrCheckpoint)
        }
        ("gt", "submit" | "ss" | "s" | "create" | "review" | "land" | "merge") => {
            Some(Boundary::PrCheckpoint)
        }
        ("gt", "commit") => Some(Boundary::Commit),
        _ => None,
    }
}

/// The words that are neither options nor their values.
fn operands<'a>(arguments: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let mut is_value = false;
    arguments.iter().copied().filter(move |word| {
        if std::mem::take(&mut is_value) {
            return false;
        }
        is_value = VALUED.contains(word);
        !word.starts_with('-')
    })
}

/// A command without what stands before its program.
fn unwrapped<'a, 'b>(mut words: &'a [&'b str]) -> &'a [&'b str] {
    while let [first, rest @ ..] = words {
        let name = first.rsplit('/').next().unwrap_or(first);
        if KEYWORDS.contains(first) {
            words = rest;
        } else if let Some((_, valued)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) {
            words = after_options(rest, valued);
            // The time a command may take is no program.
            if name == "timeout" {
                words = words.get(1..).unwrap_or_default();
            }
        } else {
            return words;
        }
    }
    words
}

fn after_options<'a, 'b>(mut words: &'a [&'b str], valued: &[&str]) -> &'a [&'b str] {
    loop {
        match words {
            [option, _, rest @ ..] if valued.contains(option) => words = rest,
            [option, rest @ ..] if option.starts_with('-') || is_assignment(option) => words = rest,
            _ => return words,
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}
