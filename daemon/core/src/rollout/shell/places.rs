//! Resolves the files of a script: a `cd` changes the folder of the commands after it.

use super::{Command, Use, is_path, is_plain_word, uses};
use crate::rollout::program::{self, ProgramWrite};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    pub command: usize,
    pub used: Use,
    /// Relative to the folder that the script enters first, or else starts in.
    pub path: String,
    /// What an inline program writes there.
    pub write: Option<ProgramWrite>,
}

/// The files of all commands of a script, in order. Omits relative paths after a `cd` to a folder that only the
/// shell can resolve. `enters_first`: its first command is a `cd` to a known folder.
pub fn uses_of(commands: &[Command], enters_first: bool) -> Vec<FileUse> {
    let mut found = Vec::new();
    // `None`: only the shell can resolve it.
    let mut place = Some(String::new());
    for (index, command) in commands.iter().enumerate() {
        if index > 0 || !enters_first {
            place = folder_after(command, place);
        }
        let programs = program::writes(&command.words, &command.input).into_iter();
        let written = programs.map(|write| (Use::Written, write.op.path.clone(), Some(write)));
        let used = uses(command).into_iter().map(|(used, path)| (used, path, None));
        for (used, path, write) in used.chain(written) {
            let is_whole = path.starts_with(['/', '~']) || path.get(1..3) == Some(":/");
            let path = match place.as_deref() {
                _ if is_whole => path,
                Some("") => path,
                Some(place) => below(place, &path),
                None => continue,
            };
            found.push(FileUse { command: index, used, path, write });
        }
    }
    found
}

/// The folder in which the last command of a program runs, relative to where the script starts; `None` if it is there, or
/// if only the shell can resolve it.
pub fn folder_of_last(program: &str, commands: &[Command]) -> Option<String> {
    let (mut place, mut found) = (Some(String::new()), None);
    for command in commands {
        place = folder_after(command, place);
        if command.words.first().is_some_and(|word| word == program) {
            found.clone_from(&place);
        }
    }
    found.filter(|folder| !folder.is_empty())
}

fn folder_after(command: &Command, place: Option<String>) -> Option<String> {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        // A subshell restores the folder when it ends, and the lexer does not know where it ends.
        _ if command.is_nested => place,
        ["cd" | "pushd", folder] if is_known(folder) => match place {
            _ if folder.starts_with('/') => Some((*folder).to_owned()),
            Some(place) if !place.is_empty() => Some(below(&place, folder)),
            Some(_) => Some((*folder).to_owned()),
            None => None,
        },
        ["cd" | "pushd" | "popd", ..] => None,
        _ => place,
    }
}

fn below(place: &str, path: &str) -> String {
    format!("{}/{path}", place.trim_end_matches('/'))
}

/// Whether a `cd` to this word enters the folder it names, without anything that only the shell can expand.
pub(super) fn is_known(folder: &str) -> bool {
    let names_one = folder.starts_with('/') || is_path(folder) || is_plain_word(folder);
    names_one && !folder.contains(['$', '`', '*', '?', '{'])
}

#[cfg(test)]
mod tests {
    use super::super::commands;
    use super::*;

    #[test]
    fn a_program_runs_where_the_script_went() {
        for (script, folder) in [
            ("git add . && cd /v && git status", Some("/v")),
            ("cp a /v/a && cd sub && git status | head -3", Some("sub")),
            ("git status && cd /v && ls", None),
            ("cd \"$dir\" && git status", None),
        ] {
            assert_eq!(folder_of_last("git", &commands(script)).as_deref(), folder, "{script}");
        }
    }

    #[test]
    fn paths_follow_the_scripts_folder() {
        for (script, enters_first, expected) in [
            ("cat a.rs && cd web && cat b.rs && cat /etc/c.rs", false, "a.rs web/b.rs /etc/c.rs"),
            ("cd web && cat b.rs && cd src && cat c.rs", true, "b.rs src/c.rs"),
            ("cat a.rs; cd \"$tmp\" && cat b.rs > /w/c.rs", false, "a.rs /w/c.rs"),
            ("cd /w/x && cd .. && cat b.rs", true, "../b.rs"),
            ("cd web && cat b.rs && cd src && cat c.rs", false, "web/b.rs web/src/c.rs"),
            ("cd web && cd /w/x && cat b.rs", false, "/w/x/b.rs"),
            ("cd $tmp && cd /w/x && cat b.rs", false, "/w/x/b.rs"),
            ("cd - && cat b.rs", false, ""),
            ("cd web && cd /w && cat b.rs", false, "/w/b.rs"),
            ("cd web && cd / && cat b.rs", false, "/b.rs"),
            ("cd / && cd srv/ && cat b.rs", false, "/srv/b.rs"),
            ("cd /w/{a,b} && cat b.rs; cd /?; cat c.rs", false, ""),
            ("(cd web && make) && cat b.rs", false, "b.rs"),
        ] {
            let uses = uses_of(&commands(script), enters_first);
            let files = uses.iter().filter(|it| it.used != Use::Named);
            let paths: Vec<&str> = files.map(|it| it.path.as_str()).collect();
            assert_eq!(paths.join(" "), expected, "{script}");
        }
    }
}
