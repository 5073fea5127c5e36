//! Scripts of calls: what they change, what they hand over and what they are for.

use super::super::agents::TO_AGENTS;
use super::super::collect::{Briefing, written_to};
use super::super::file_edit::FileEdit;
use super::super::{documents, inline_program};
use super::Places;
use crate::bounded::push_bounded;
use crate::rollout::shell::{FileUse, Use};
use crate::step::{Action, NewCall, Script};
use crate::{paths, text};

/// Programs that only prepare for the main command.
const PREPARING: [&str; 7] = ["cd", "echo", "set", "export", "source", "pushd", "true"];

/// Programs that usually make room for the command that follows them.
const CLEARING: [&str; 3] = ["rm", "mkdir", "sleep"];

/// Maximum temporary files of a call to remember.
const REWRITES_MAX: usize = 8;

/// Maximum files to keep that scripts may have written.
const NAMED_BY_SCRIPTS_MAX: usize = 8;

/// What a call changes if it succeeds.
#[derive(Default)]
pub(super) struct Changes {
    pub edits: Vec<FileEdit>,
    /// Files that it changes in a way that is not understood.
    pub outdated: Vec<String>,
}

impl Briefing {
    /// What a script changes if it succeeds: files written by programs and from heredocs, which no patch shows, and removals
    /// of files that were changed before.
    pub(super) fn script_changes(&mut self, script: &Script, places: Places<'_>) -> Changes {
        let mut changes =
            Changes { outdated: self.written_unread(script, places), edits: Vec::new() };
        let mut written = None;
        for FileUse { command, used, path, write } in &script.uses {
            let shown = places.shown(path);
            let is_edited = |edits: &[FileEdit]| edits.iter().any(|edit| edit.path == shown);
            let is_ours = self.effects.of(&shown).is_some() || is_edited(&changes.edits);
            let of = script.commands.get(*command).filter(|of| !of.input.is_empty());
            let is_passing = paths::is_temporary_or_unresolved(path);
            if let Some(write) = write {
                if write.is_partial {
                    changes.outdated.push(shown.clone());
                }
                if !is_passing {
                    let is_document = documents::is_document(&shown);
                    changes.edits.push(FileEdit::of_write(&write.op, shown, is_document));
                }
                continue;
            }
            match (used, of) {
                (Use::Removed, _) if is_ours => changes.edits.push(FileEdit::removal(shown)),
                (Use::Written, None) => changes.outdated.push(shown),
                (Use::Written, Some(of)) if !is_passing && written != Some(command) => {
                    written = Some(command);
                    changes.edits.push(FileEdit::heredoc(of, shown));
                }
                _ => {}
            }
        }
        changes
    }

    /// The known files that a program of the script writes in a way that is not understood. If it names none of them, keeps
    /// the files that it names.
    fn written_unread(&mut self, script: &Script, places: Places<'_>) -> Vec<String> {
        let is_understood = |index| {
            let mut uses = script.uses.iter().filter(|it| it.command == index);
            uses.any(|it| it.write.is_some())
        };
        let programs = script.commands.iter().enumerate();
        let programs = programs.filter(|(index, _)| !is_understood(*index));
        let programs = programs.map(|(_, command)| command);
        let programs = programs.filter(|command| inline_program::writes_files(command));
        let named = programs.clone().flat_map(|command| self.effects.named_in(&command.input));
        let named: Vec<String> = named.collect();
        if named.is_empty() {
            for program in programs {
                self.commands.census.programs = true;
                let paths = inline_program::paths_in(&program.input).map(|path| places.shown(path));
                paths.for_each(|path| self.named_by_scripts(path));
            }
        }
        named
    }

    /// Records a file that a program which writes files names.
    fn named_by_scripts(&mut self, path: String) {
        let named = &mut self.commands.named_by_scripts;
        named.retain(|known| *known != path);
        push_bounded(named, path, NAMED_BY_SCRIPTS_MAX);
    }
}

/// What the inline programs of a script are for.
pub(super) fn summary(action: &Action, places: Places<'_>) -> String {
    match action {
        Action::Script(script) => {
            inline_program::summary(script.commands.iter(), |path| places.shown(path))
        }
        _ => String::new(),
    }
}

/// The main program of a script: the first that neither prepares nor makes room, else the first that does not prepare.
pub(super) fn program_of(called: &NewCall) -> String {
    let Action::Script(script) = &called.action else { return String::new() };
    let words = script.commands.iter().filter_map(|command| command.words.first());
    let programs = words.map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut programs = programs.filter(|program| !PREPARING.contains(program)).peekable();
    let first = programs.peek().copied().unwrap_or_default();
    let program = programs.find(|program| !CLEARING.contains(program)).unwrap_or(first);
    text::prefix(program, 40).to_owned()
}

/// Texts that the agent hands over: the prompt of a sub-agent, prose written to a temporary file.
pub(super) fn handed_over(action: &Action) -> Vec<(String, &str)> {
    match action {
        Action::Other { tool, values } if TO_AGENTS.contains(&tool.as_str()) => {
            vec![("told another agent".to_owned(), values)]
        }
        Action::Script(script) => {
            let texts = script.commands.iter().filter(|command| is_prose(&command.input));
            let texts = texts.filter_map(|command| {
                let mut paths = command.written.iter().filter(|path| is_passing(path));
                paths.next().map(|path| (written_to(path), command.input.as_str()))
            });
            texts.collect()
        }
        _ => Vec::new(),
    }
}

/// The headings of the temporary files that a script writes anew.
pub(super) fn rewrites(action: &Action) -> Vec<String> {
    let Action::Script(script) = action else { return Vec::new() };
    let commands = script.commands.iter().filter(|command| !command.is_appending);
    let paths = commands.flat_map(|command| &command.written);
    let paths = paths.filter(|path| is_passing(path) && !path.contains('$'));
    paths.take(REWRITES_MAX).map(|path| written_to(path)).collect()
}

/// Whether a file only passes something on.
fn is_passing(path: &str) -> bool {
    paths::is_temporary_or_unresolved(path) && !path.starts_with("/dev/")
}

/// Whether most lines are prose rather than code.
fn is_prose(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut all, mut prose) = (0, 0);
    for line in lines {
        all += 1;
        let is_code = line.ends_with(['{', '}', ';', ')', ',', '\\']);
        prose += usize::from(!is_code && line.split_whitespace().count() >= 4);
    }
    prose >= 2 && prose * 2 > all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::shell;

    fn script(text: &str) -> Action {
        Action::Script(Script {
            text: text.to_owned(),
            commands: shell::commands(text),
            workdir: None,
            folder: None,
            uses: Vec::new(),
            is_look: false,
        })
    }

    #[test]
    fn prose_for_another_agent_is_recognized_but_not_code_or_files_that_remain() {
        let prompt =
            "Remove the old layout from the lexer.\nThe person wants no compatibility code.\n";
        let code = "import os\nfor name in os.listdir('.'):\n    print(name, end=';')\n";
        for (path, body, is_handed_over) in [
            ("\"$tmp\"", prompt, true),
            ("/tmp/prompt.md", prompt, true),
            ("docs/layout.md", prompt, false),
            ("/tmp/list.py", code, false),
        ] {
            let action = script(&format!("cat > {path} <<'EOF'\n{body}EOF\n"));
            assert_eq!(handed_over(&action).len(), usize::from(is_handed_over), "{path}");
        }
        let (tool, values) = ("Task".to_owned(), "explore: find the lexer".to_owned());
        assert_eq!(
            handed_over(&Action::Other { tool, values }),
            [("told another agent".to_owned(), "explore: find the lexer")]
        );
    }

    #[test]
    fn temporary_files_that_a_script_writes_anew_are_known() {
        for (command, path) in [
            ("cat > /tmp/list <<'EOF'\na b\nEOF\n", Some("/tmp/list")),
            ("cat >> /tmp/list <<'EOF'\na b\nEOF\n", None),
            ("cat > \"$list\" <<'EOF'\na b\nEOF\n", None),
            ("cat > docs/list.md <<'EOF'\na b\nEOF\n", None),
        ] {
            assert_eq!(
                rewrites(&script(command)),
                Vec::from_iter(path.map(written_to)),
                "{command}"
            );
        }
    }
}
