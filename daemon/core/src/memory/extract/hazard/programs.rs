//! Classifies programs: those that download or decode, and those that run scripts.

pub(super) use crate::rollout::shell::program_name as name;
use crate::rollout::shell::{self, is_fetcher_by_name, is_shell, takes_script};

/// Programs other than shells that run a script from a file, an argument or standard input.
const INTERPRETERS: &[&str] = &[
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "bun",
    "deno",
    "php",
    "lua",
    "rscript",
    "tclsh",
    "osascript",
    "pwsh",
    "powershell",
    "cmd",
    "tsx",
    "ts-node",
    "make",
    "gmake",
];

/// Programs that run a command line elsewhere.
const CARRIERS: &[&str] = &[
    "ssh",
    "docker",
    "podman",
    "nerdctl",
    "kubectl",
    "su",
    "runuser",
    "chroot",
    "nsenter",
    "unshare",
    "wsl",
    "flock",
    "watch",
    "parallel",
    "find",
    "fd",
    "busybox",
    "toybox",
    "script",
    "systemd-run",
    "strace",
];

/// Program names that are rarely plain words: in a sentence, one may begin a command.
const DISTINCTIVE: &[&str] = &[
    "rm",
    "git",
    "npm",
    "pnpm",
    "yarn",
    "pip",
    "uv",
    "eval",
    "source",
    "iex",
    "invoke-expression",
    "sudo",
    "doas",
    "chmod",
    "dd",
    "export",
    "env",
    "base64",
    "kill",
    "pkill",
    "killall",
    "set",
    "echo",
    "cat",
    "npx",
    "mshta",
    "xargs",
    "conda",
    "setx",
    "printf",
    "openssl",
];

/// Options of interpreters that are followed by code. In a shell, `-e` and `-p` mean something else.
const CODE_OPTIONS: &[&str] =
    &["-c", "-e", "-r", "-p", "-pe", "/c", "/k", "-command", "--eval", "--print"];

/// Where an interpreter gets its script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptSource {
    /// Not an interpreter, or it runs code of the project.
    Nothing,
    /// Standard input.
    Input,
    /// Code among its arguments.
    Code,
    /// A file among its arguments.
    File,
}

/// The first word without its folder.
pub(super) fn program<'a>(words: &[&'a str]) -> &'a str {
    let first = words.first().copied().unwrap_or_default();
    first.rsplit('/').next().unwrap_or(first)
}

pub(super) fn is_interpreter(word: &str) -> bool {
    is_shell(word) || INTERPRETERS.contains(&name(word).as_str())
}

pub(super) fn is_distinctive(word: &str) -> bool {
    let name = name(word);
    let known = [DISTINCTIVE, INTERPRETERS, CARRIERS];
    is_shell(&name)
        || is_fetcher_by_name(&name)
        || known.iter().any(|programs| programs.contains(&name.as_str()))
}

/// Whether the program runs a command line among its arguments.
pub(super) fn is_carrier(words: &[&str]) -> bool {
    words.first().is_some_and(|word| CARRIERS.contains(&name(word).as_str()))
}

/// Whether the command downloads from another machine, and not only from this one.
pub(super) fn fetches_from_elsewhere(words: &[&str]) -> bool {
    let rest = words.get(1..).unwrap_or_default();
    let (local, others): (Vec<&str>, Vec<&str>) =
        rest.iter().copied().partition(|word| is_of_this_machine(word));
    let is_elsewhere = |word: &&str| !word.starts_with('-') && word.contains('.');
    shell::is_fetcher(words) && (local.is_empty() || others.iter().any(is_elsewhere))
}

fn is_of_this_machine(address: &str) -> bool {
    let host = match address.split_once("://") {
        Some((_, rest)) => rest,
        None => address,
    };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        let rest = host.strip_prefix(local);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    })
}

/// Whether the command decodes text.
pub(super) fn is_decoder(words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(word));
    match name(first).as_str() {
        "base64" | "base32" | "basenc" => has(&["-d", "-D", "--decode", "-di", "-id"]),
        "xxd" => rest.iter().any(|word| word.starts_with('-') && word.contains('r')),
        "openssl" => has(&["-d"]) && has(&["enc", "base64", "-base64"]),
        "uudecode" => true,
        _ => false,
    }
}

/// Where an interpreter gets its script, and the arguments that contain or name it.
pub(super) fn runs_from<'a>(words: &[&'a str]) -> (ScriptSource, Vec<&'a str>) {
    let Some((first, rest)) = words.split_first() else {
        return (ScriptSource::Nothing, Vec::new());
    };
    let name = name(first);
    let reads = |word: &&str| matches!(*word, "-" | "-s" | "/dev/stdin" | "/dev/fd/0");
    match name.as_str() {
        "eval" => return (ScriptSource::Code, rest.to_vec()),
        "." | "source" if rest.first().is_some_and(reads) => {
            return (ScriptSource::Input, Vec::new());
        }
        "." | "source" => return (ScriptSource::File, rest.to_vec()),
        known if !is_interpreter(known) => return (ScriptSource::Nothing, Vec::new()),
        _ => {}
    }
    let is_shell = is_shell(&name);
    let is_code = |word: &&str| match is_shell {
        true => takes_script(word),
        false => CODE_OPTIONS.contains(&word.to_ascii_lowercase().as_str()),
    };
    if let Some(at) = rest.iter().position(is_code) {
        return (ScriptSource::Code, rest[at + 1..].to_vec());
    }
    if matches!(name.as_str(), "make" | "gmake") {
        let file = rest.iter().position(|word| *word == "-f").map(|at| at + 1);
        let file = file.and_then(|at| rest.get(at)).copied();
        return file
            .map_or((ScriptSource::Nothing, Vec::new()), |file| (ScriptSource::File, vec![file]));
    }
    if rest.contains(&"-m") {
        return (ScriptSource::Nothing, Vec::new());
    }
    // In `-euo pipefail` the option's value is not the script.
    let is_value = |at: usize| {
        let option = at.checked_sub(1).map_or("", |before| rest[before]);
        is_shell && option.starts_with('-') && !option.starts_with("--") && option.ends_with('o')
    };
    let operands =
        rest.iter().enumerate().filter(|(at, word)| !word.starts_with('-') && !is_value(*at));
    let operands: Vec<&str> = operands.map(|(_, word)| *word).collect();
    match operands.first() {
        None => (ScriptSource::Input, Vec::new()),
        _ if rest.iter().any(reads) => (ScriptSource::Input, Vec::new()),
        Some(first) => {
            // In `node -r x a.js` the option's value is not the script.
            let names_file = |word: &&&str| word.contains(['.', '/', '\u{1}']);
            (ScriptSource::File, vec![operands.iter().find(names_file).unwrap_or(first)])
        }
    }
}

/// Files that a download saves to, named by its options or after its URL.
pub(super) fn downloaded(words: &[&str]) -> Vec<String> {
    if !fetches_from_elsewhere(words) {
        return Vec::new();
    }
    let name = name(words[0]);
    let mut files: Vec<String> = words.iter().filter_map(|word| joined_file(&name, word)).collect();
    let mut is_named_by_address = matches!(name.as_str(), "wget" | "wget2" | "aria2c" | "scp");
    for (at, word) in words.iter().enumerate().skip(1) {
        let lower = word.to_ascii_lowercase();
        let saves = match name.as_str() {
            "curl" => *word == "--output" || is_cluster_ending(word, 'o'),
            "wget" | "wget2" => *word == "--output-document" || is_cluster_ending(word, 'O'),
            _ => matches!(lower.as_str(), "-o" | "-out" | "-outfile" | "--output" | "-destination"),
        };
        let joined = lower.split_once('=').filter(|(option, _)| option.starts_with("--output"));
        if let (true, Some(file)) = (saves, words.get(at + 1)) {
            files.push((*file).to_owned());
        } else if joined.is_some() {
            files.extend(word.split_once('=').map(|(_, file)| file.to_owned()));
        }
        let by_address = *word == "--remote-name" || is_cluster_holding(word, 'O');
        is_named_by_address |= name == "curl" && by_address;
    }
    if matches!(name.as_str(), "certutil" | "bitsadmin" | "scp") {
        files.extend(words.last().map(|file| (*file).to_owned()));
    }
    if is_named_by_address {
        let addresses = words[1..].iter().filter(|word| !word.starts_with('-'));
        files.extend(addresses.filter_map(|word| {
            let path = word.split(['?', '#']).next()?;
            path.rsplit('/').next().map(str::to_owned)
        }));
    }
    files.retain(|file| !file.is_empty() && file != "-" && file != "/dev/null");
    files
}

/// Files that a filter in a pipe writes.
pub(super) fn written_by(words: &[&str]) -> Vec<String> {
    match words {
        ["tee" | "sponge", rest @ ..] => rest
            .iter()
            .filter(|word| !word.starts_with('-'))
            .map(|word| (*word).to_owned())
            .collect(),
        ["dd", rest @ ..] => {
            rest.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn is_cluster_ending(word: &str, letter: char) -> bool {
    is_cluster_holding(word, letter) && word.ends_with(letter)
}

/// Whether a word is a group of short options that contains the letter.
pub(super) fn is_cluster_holding(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|rest| {
        !rest.starts_with('-')
            && rest.contains(letter)
            && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '#')
    })
}

/// The file in `-oFILE`.
fn joined_file(program: &str, word: &str) -> Option<String> {
    let letter = match program {
        "curl" => 'o',
        "wget" | "wget2" => 'O',
        _ => return None,
    };
    let (flags, file) = word.strip_prefix('-')?.split_once(letter)?;
    let are_flags = flags.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'#');
    (are_flags && !file.is_empty()).then(|| file.to_owned())
}
