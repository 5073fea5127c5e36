//! Normalizes command lines, so that one command is one learning.
//!
//! Agents write the same command in many ways: after a `cd`, piped through `tail`, followed by an `echo`.
//! [`bare`] is the part that does the work; [`family`] is what several such lines have in common.

use super::hazard;
use crate::paths;
use crate::rollout::shell::{CommandPart, Joint, is_assignment, is_shell, parts, program_name};

/// Maximum bytes of a useful line.
const LINE_BYTES_MAX: usize = 200;

const FAMILY_WORDS: usize = 3;

/// Programs that only filter another one's output.
const FILTERS: &[&str] = &[
    "tail",
    "head",
    "grep",
    "egrep",
    "rg",
    "cat",
    "sed",
    "awk",
    "cut",
    "tr",
    "wc",
    "sort",
    "uniq",
    "tee",
    "less",
    "more",
    "jq",
    "column",
    "nl",
    "fold",
    "findstr",
    "select-object",
    "select-string",
    "out-string",
    "out-null",
    "format-table",
    "measure-object",
];

/// Programs that only print, or do nothing.
const WORDS: &[&str] = &["echo", "printf", "true", "exit", "write-host", "write-output", ":"];

/// Programs that everybody knows, that make sense once, or that only read.
const ORDINARY: &[&str] = &[
    "ls",
    "pwd",
    "export",
    "date",
    "mkdir",
    "touch",
    "mv",
    "cp",
    "rm",
    "sleep",
    "kill",
    "which",
    "chmod",
    "git",
    "sed",
    "cat",
    "head",
    "tail",
    "nl",
    "grep",
    "rg",
    "find",
    "fd",
    "wc",
    "awk",
    "sort",
    "seq",
    "test",
    "[",
    "command",
    "type",
    "file",
    "stat",
    "tree",
    "ps",
    "env",
    "whoami",
    "hostname",
    "uname",
    "df",
    "du",
    "for",
    "while",
    "if",
    "apply_patch",
    "set-content",
    "get-content",
    "get-childitem",
    "remove-item",
    "get-item",
    "test-path",
];

/// Pieces that tie a line to one moment, place or text.
const PARTICULAR: &[&str] = &[
    "<<", " -c '", " -c \"", "node -e", "perl -", "sed -i", "$(", "`", "scratch", "$?", "import ",
    "; do ", "; then ",
];

/// The line without its `cd`, output filters and trailing `echo`; `None` if nothing is left.
pub(crate) fn bare(line: &str) -> Option<String> {
    let mut parts = parts(line);
    while let [
        CommandPart { text, after: Some(Joint::And | Joint::Semicolon | Joint::Line), .. },
        _,
        ..,
    ] = parts.as_slice()
        && matches!(program(text).as_str(), "cd" | "set-location" | "pushd")
    {
        parts.remove(0);
    }
    parts.retain(|part| match part.before {
        Some(Joint::Pipe) => !FILTERS.contains(&program(part.text).as_str()),
        _ => !only_prints(part.text),
    });
    let mut bare = String::new();
    for CommandPart { text, before, .. } in parts {
        let part = unredirected(text);
        if part.is_empty() {
            continue;
        }
        match before {
            _ if bare.is_empty() => {}
            Some(Joint::Semicolon | Joint::Line) => bare.push_str("; "),
            joint => bare.extend([" ", joint.map_or(";", Joint::text), " "]),
        }
        bare.push_str(&part);
    }
    (!bare.is_empty()).then_some(bare)
}

/// The programs of a line and their first words: equal for lines that do the same to different targets.
pub(crate) fn family(bare: &str) -> String {
    let families: Vec<String> = parts(bare).into_iter().map(|part| words_of(part.text)).collect();
    let mut distinct: Vec<String> = Vec::new();
    for family in families {
        if !distinct.contains(&family) {
            distinct.push(family);
        }
    }
    distinct.join(" && ")
}

/// Whether a command of a line only prints or shows something.
fn only_prints(part: &str) -> bool {
    let words: Vec<&str> = part.split_whitespace().take(2).collect();
    let shows =
        matches!(words.as_slice(), ["git", "status" | "diff" | "log" | "show"] | ["ls", ..]);
    shows || WORDS.contains(&program(part).as_str())
}

/// Whether a bare line may help a later thread.
pub(crate) fn is_useful(bare: &str) -> bool {
    let lower = bare.to_lowercase();
    let asks = |part: &str| {
        let last = part.split_whitespace().last().unwrap_or_default();
        matches!(last, "--version" | "-V" | "version" | "--help" | "-h" | "help" | "-v")
    };
    let wraps = |part: &str| {
        let second = part.split_whitespace().nth(1).unwrap_or_default();
        let program = program_name(&program(part));
        let is_other = matches!(program.as_str(), "powershell" | "pwsh" | "cmd");
        (is_shell(&program) || is_other) && second.starts_with(['-', '/'])
    };
    let does_nothing_new =
        |part: &str| asks(part) || wraps(part) || ORDINARY.contains(&program(part).as_str());
    bare.len() <= LINE_BYTES_MAX
        && !hazard::is_hazardous(bare)
        && !PARTICULAR.iter().any(|piece| lower.contains(piece))
        && !names_temporary(bare)
        && !lower.split(|c: char| !c.is_alphanumeric()).any(is_mark)
        && !parts(bare).iter().all(|part| does_nothing_new(part.text))
}

/// Whether the line's exit status is that of a filter, not of the command.
pub(crate) fn hides_its_status(line: &str) -> bool {
    parts(line).last().is_some_and(|part| {
        let program = program(part.text);
        match part.before {
            Some(Joint::Pipe) => FILTERS.contains(&program.as_str()),
            Some(Joint::Or | Joint::Semicolon | Joint::Line) => WORDS.contains(&program.as_str()),
            _ => false,
        }
    })
}

/// The line as a step of a procedure: commit messages and the arguments of pushes are dropped.
pub(crate) fn step(line: &str) -> Option<String> {
    let bare = bare(line)?;
    let words: Vec<&str> = bare.split(' ').collect();
    match words.as_slice() {
        ["git", "commit", ..] => Some("git commit".to_owned()),
        ["git", "push", ..] if !hazard::is_hazardous(&bare) => Some("git push".to_owned()),
        _ => is_useful(&bare).then_some(bare),
    }
}

/// Whether a word, or the value of an option, is in a temporary folder.
fn names_temporary(line: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || "=:'\"()<>".contains(c);
    let is_device = |word: &str| word.starts_with("/dev/");
    line.split_whitespace()
        .chain(line.split(ends))
        .any(|word| paths::is_temporary(word) && !is_device(word))
}

/// Whether a token identifies one moment or object: a long number, a hash.
fn is_mark(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits >= 8 || word.len() >= 12 && digits >= 3 && word.bytes().all(|b| b.is_ascii_hexdigit())
}

fn program(part: &str) -> String {
    let first = part.split_whitespace().find(|word| !is_assignment(word)).unwrap_or_default();
    first.trim_start_matches('(').rsplit('/').next().unwrap_or_default().to_lowercase()
}

/// Program and first words of one command, up to its target.
fn words_of(part: &str) -> String {
    let mut words = vec![program(part)];
    let mut rest = part.split_whitespace().skip_while(|word| word.contains('='));
    let mut is_module = false;
    rest.next();
    for word in rest {
        if words.len() >= FAMILY_WORDS {
            break;
        }
        if word == "-m" && words.len() == 1 {
            is_module = true;
            continue;
        }
        // A version is a target.
        let is_number = word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
        let is_script = words.len() == 1 && !is_module && word.contains('.') && !is_number;
        // Later words with punctuation are targets, not verbs.
        let is_verb = |b: u8| b.is_ascii_lowercase() || words.len() == 1 && b"-_:".contains(&b);
        let is_word = word.bytes().all(is_verb);
        if word.starts_with('-') || !(is_word || is_script || is_module) {
            break;
        }
        is_module = false;
        words.push(word.rsplit('/').next().unwrap_or(word).to_owned());
    }
    words.join(" ")
}

fn unredirected(part: &str) -> String {
    let is_redirection = |word: &&str| {
        matches!(*word, "2>&1" | "2>/dev/null" | ">/dev/null" | "&>/dev/null" | "1>&2" | "2>nul")
    };
    let part = part.replace("2> /dev/null", "").replace("> /dev/null", "");
    part.split_whitespace().filter(|word| !is_redirection(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_filters_are_dropped() {
        for (line, expected) in [
            ("cargo test", "cargo test"),
            ("cd /w/app && cargo test 2>&1 | tail -5", "cargo test"),
            (
                "cd src && go build ./... && go test ./... 2>&1 | grep -v '^ok|x' | head -20; echo \"END: $?\"",
                "go build ./... && go test ./...",
            ),
            (
                "Set-Location D:\\app; npm run build 2>&1 | Select-String -Pattern 'A|B' | Select-Object -First 5",
                "npm run build",
            ),
            ("make check || true", "make check"),
            ("npm test > /dev/null", "npm test"),
            ("grep 'a;b' x | sort", "grep 'a;b' x"),
        ] {
            assert_eq!(bare(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn lines_with_different_targets_are_one_family() {
        for (line, expected) in [
            ("cargo test -q", "cargo test"),
            ("cargo test --workspace -- --nocapture", "cargo test"),
            ("dotnet build src/A/A.csproj --no-restore", "dotnet build"),
            ("python3 -m pytest tests/unit -x", "python3 pytest"),
            ("npm run build:prod", "npm run"),
            ("tool status one-thing other-thing", "tool status"),
            ("bun apps/cli/src/cli.ts eval run a.yaml", "bun cli.ts eval"),
            ("CI=1 pnpm test", "pnpm test"),
            ("./scripts/bump.sh v1.4.0", "bump.sh"),
            ("go vet ./a/... && go test ./b", "go vet && go test"),
        ] {
            assert_eq!(family(line), expected, "{line}");
        }
    }

    #[test]
    fn ordinary_and_one_time_lines_are_not_useful() {
        for line in [
            "python3 --version",
            "git remote -v",
            "python3 -m pytest --version",
            "seq 1 5000",
            "cargo run --manifest-path /tmp/check/Cargo.toml",
            "tool run --output results/20260626T221618Z-live",
            "for f in a b; do make $f; done",
            "rg -n 'a' b",
            "rm -rf build",
        ] {
            assert!(!is_useful(line), "{line}");
        }
        for line in ["cargo test -q", "make check", "docker compose up -d", "./scripts/sync.sh x"] {
            assert!(is_useful(line), "{line}");
        }
    }

    #[test]
    fn a_filter_hides_the_exit_status() {
        assert!(hides_its_status("cargo test 2>&1 | tail -5"));
        assert!(hides_its_status("cargo test || true"));
        assert!(!hides_its_status("cargo test && echo done"));
        assert!(!hides_its_status("cargo test"));
    }
}
