//! A minimal shell parser: the parts of a command line, and whether they are read-only.

/// Read-only programs: an agent need not remember their exit status.
const LOOKING: [&str; 38] = [
    "ls", "cat", "sed", "rg", "grep", "find", "head", "tail", "nl", "wc", "pwd", "tree", "stat",
    "file", "which", "echo", "printf", "sleep", "date", "env", "awk", "jq", "diff", "type", "ps",
    "true", "fd", "sort", "uniq", "cut", "tr", "column", "basename", "dirname", "realpath", "test",
    "less", "cd",
];

const GIT_LOOKING: [&str; 9] =
    ["status", "diff", "log", "show", "branch", "rev-parse", "ls-files", "remote", "grep"];

/// The parts of a command line between `&&`, `||`, `|` and `;` outside quotes, trimmed.
pub(super) fn segments(command: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quote, mut is_escaped) = (0, None, false);
    for (at, c) in command.char_indices() {
        if is_escaped {
            is_escaped = false;
            continue;
        }
        match (quote, c) {
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '|' | ';') => {
                parts.push(&command[start..at]);
                start = at + 1;
            }
            (None, '&') if command[at..].starts_with("&&") => {
                parts.push(&command[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    parts.push(&command[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// True if every part of a command line is read-only.
pub(super) fn is_read_only(command: &str) -> bool {
    segments(command).into_iter().all(|part| {
        let mut words = part.split_whitespace().skip_while(|word| is_assignment(word));
        match words.next() {
            Some("git") => git_verb(words).is_some_and(|verb| GIT_LOOKING.contains(&verb)),
            Some(word) => LOOKING.contains(&word),
            None => true,
        }
    })
}

/// The first word that is not an option; `-C` is followed by a folder.
fn git_verb<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    loop {
        match words.next()? {
            "-C" | "-c" => words.next()?,
            word if word.starts_with('-') => continue,
            verb => return Some(verb),
        };
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}
