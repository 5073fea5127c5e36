//! Which programs are shells, and which fetch from another machine.

use super::{Command, Use, commands, uses};

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "csh", "tcsh"];

/// Programs that can print what they fetch.
const FETCHERS: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "fetch",
    "http",
    "https",
    "xh",
    "xhs",
    "aria2c",
    "lynx",
    "w3m",
    "links",
    "elinks",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
];

/// Programs that only save what they fetch.
const COPIERS: &[&str] =
    &["scp", "sftp", "ftp", "tftp", "start-bitstransfer", "bitsadmin", "certutil"];

/// Nested scripts to follow.
const DEPTH_MAX: u32 = 3;

/// The program's name in lower case (for Windows), without folder, extension and version.
pub fn program_name(word: &str) -> String {
    let last = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    let bare = last.strip_suffix(".exe").unwrap_or(&last);
    let unversioned = bare.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match unversioned {
        "python" | "pypy" | "perl" | "ruby" | "php" | "node" | "lua" | "pip" => {
            unversioned.to_owned()
        }
        _ => bare.to_owned(),
    }
}

/// Whether the program is a shell of Unix, whose `-c` takes a script.
pub fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program_name(program).as_str())
}

/// Whether the program fetches from another machine.
pub fn is_fetcher(words: &[&str]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    let name = program_name(program);
    prints_fetched(&name, rest)
        || match name.as_str() {
            "gh" => matches!(rest, ["release", "download", ..]),
            "aws" | "gsutil" => rest.contains(&"cp"),
            known => COPIERS.contains(&known),
        }
}

/// Whether a program of this name fetches whatever its arguments are.
pub fn is_fetcher_by_name(name: &str) -> bool {
    FETCHERS.contains(&name) || COPIERS.contains(&name)
}

fn prints_fetched(name: &str, arguments: &[&str]) -> bool {
    let to_output = || arguments.contains(&"-");
    match name {
        "gh" => match arguments {
            ["api", ..] | ["gist", "view", ..] => true,
            ["release", "download", ..] => to_output(),
            _ => false,
        },
        "aws" | "gsutil" => arguments.contains(&"cp") && to_output(),
        known => FETCHERS.contains(&known),
    }
}

/// Whether a command, or one of a script inside it, can print what it fetches.
pub fn fetches(commands: &[Command]) -> bool {
    any_fetches(commands, 0)
}

fn any_fetches(within: &[Command], depth: u32) -> bool {
    within.iter().any(|command| {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let nested =
            || nested_script(&words).is_some_and(|s| any_fetches(&commands(&s), depth + 1));
        let prints =
            |(program, rest): (&&str, &[&str])| prints_fetched(&program_name(program), rest);
        words.split_first().is_some_and(prints) || depth < DEPTH_MAX && nested()
    })
}

/// Words that begin a command which prints nothing, or a line.
const QUIET: &[&str] = &[
    "[", "cd", "chmod", "cp", "do", "done", "echo", "else", "export", "fi", "for", "if", "mkdir",
    "mv", "popd", "printf", "pushd", "pwd", "rm", "set", "sleep", "test", "then", "touch", "true",
    "while",
];

/// Whether everything that a script prints comes from the files it reads, apart from a line or two.
pub fn prints_only_files(commands: &[Command]) -> bool {
    commands.iter().all(|command| {
        let Some(program) = command.words.first() else { return true };
        let reads = || uses(command).iter().any(|(used, _)| *used == Use::Read);
        command.is_piped || QUIET.contains(&program_name(program).as_str()) || reads()
    })
}

/// The script that a command runs: that of `bash -lc` or `eval`.
pub(super) fn nested_script(words: &[&str]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    match program.trim_start_matches('`') {
        "eval" => Some(arguments.join(" ")),
        shell if is_shell(shell) => {
            let at = arguments.iter().position(|word| takes_script(word))?;
            arguments.get(at + 1).map(|script| (*script).to_owned())
        }
        _ => None,
    }
}

/// Whether an option of a shell is followed by a script: `-c`, `-lc`.
pub fn takes_script(option: &str) -> bool {
    option.starts_with('-') && !option.starts_with("--") && option.ends_with('c')
}
