//! Skips what comes before the actual program: `sudo -u dev`, `env A=1`, `timeout -k 5 60`, `if`.

/// Programs that run another one, and their options that take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    (
        "sudo",
        &["-u", "-g", "-C", "-D", "-h", "-p", "-r", "-t", "--user", "--group", "--chdir", "--host"],
    ),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "--unset", "--chdir"]),
    ("nice", &["-n", "--adjustment"]),
    ("ionice", &["-c", "-n", "--class", "--classdata"]),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"]),
    (
        "xargs",
        &["-I", "-n", "-P", "-d", "-L", "-a", "-s", "--max-args", "--max-procs", "--delimiter"],
    ),
    ("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"]),
    ("time", &["-f", "-o", "--format", "--output"]),
    ("nohup", &[]),
    ("command", &[]),
    ("builtin", &[]),
    ("exec", &["-a"]),
    ("setsid", &[]),
    // Shortens what the program prints for an agent.
    ("rtk", &[]),
];

/// Keywords of the shell's grammar.
const KEYWORDS: &[&str] = &["if", "then", "else", "elif", "while", "until", "do", "!", "{"];

/// Number of words before the program. A wrapper that runs nothing is the program itself: `env` alone prints
/// the environment.
pub(super) fn count(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(first) = words.get(at) {
        let name = first.rsplit('/').next().unwrap_or(first);
        if KEYWORDS.contains(&first.as_str()) {
            at += 1;
        } else if let Some((_, valued)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) {
            // The duration argument of `timeout` is not the program.
            at = after_options(words, at + 1, valued) + usize::from(name == "timeout");
        } else {
            return at;
        }
    }
    0
}

/// The line from its program on.
pub(super) fn stripped(line: &str) -> &str {
    let first = line.split_whitespace().next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or(first);
    let is_wrapper = WRAPPERS.iter().any(|(wrapper, _)| *wrapper == name);
    if !is_wrapper && !KEYWORDS.contains(&first) {
        return line;
    }
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let mut program = line.trim_start();
    for word in &words[..count(&words)] {
        program = program[word.len()..].trim_start();
    }
    program
}

fn after_options(words: &[String], mut at: usize, valued: &[&str]) -> usize {
    while let Some(word) = words.get(at) {
        if valued.contains(&word.as_str()) {
            at += 2;
        } else if word.starts_with('-') || is_assignment(word) {
            at += 1;
        } else {
            break;
        }
    }
    at
}

/// Whether a word sets a variable: `NAME=value`.
pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::super::commands;

    #[test]
    fn the_program_is_found_after_its_wrappers() {
        for (script, bare) in [
            ("sudo -u dev cat x", "cat x"),
            ("sudo -E --user dev A=1 cat x", "cat x"),
            ("doas -u dev cat x", "cat x"),
            ("env -i A=1 B=2 cat x", "cat x"),
            ("A=1 B=2 cat x", "cat x"),
            ("timeout 10 cat x", "cat x"),
            ("timeout -k 5 60 cat x", "cat x"),
            ("timeout --signal=KILL 60 cat x", "cat x"),
            ("nice -n 10 setsid cat x", "cat x"),
            ("nice -10 cat x", "cat x"),
            ("xargs -0 -n 1 -I {} cat x", "cat x"),
            ("/usr/bin/time -p /usr/bin/env cat x", "cat x"),
            ("if ! cat x", "cat x"),
            ("env", "env"),
            ("sudo -u dev", "sudo -u dev"),
            ("envoy -u cat x", "envoy -u cat x"),
        ] {
            let found = commands(script);
            assert_eq!(found[0].words.join(" "), bare, "{script}");
        }
    }
}
