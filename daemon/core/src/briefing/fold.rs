//! Steps in order → evidence.

use super::collect::{Briefing, CommandRun, FileEdit, Running};
use super::documents;
use crate::rollout::dialog;
use crate::rollout::patch::LineCounts;
use crate::rollout::shell::{Class, Command, FileUse, Use};
use crate::step::{
    Action, Answered, At, Called, Change, ChangeKind, CommandOutcome, Script, Step, Work,
};
use crate::{paths, text};

/// Programs that only prepare for the one that matters.
const PREPARING: [&str; 7] = ["cd", "echo", "set", "export", "source", "pushd", "true"];

/// Bytes of added lines kept for the calls that wait: more only delays what a later edit shows again.
const WAITING_BYTES: usize = 32 * 1_024;

impl Briefing {
    /// Takes in the next step; paths are shown below `folder`.
    pub fn step(&mut self, folder: Option<&str>, at: At, step: &Step<'_>) {
        match step {
            Step::Asked { words, .. } => self.request(at.seq, words.redacted(), folder),
            Step::Said(words) => self.words(at.seq, words.redacted()),
            Step::Thought(words) => self.thought(at.seq, words.redacted(), folder),
            Step::Reported(words) => {
                self.reported(at.seq, words.redacted(), folder);
            }
            Step::Compacted(words) => self.compacted(at.seq, words.redacted(), folder),
            Step::Called(called) => self.called(at, called, folder),
            Step::Answered(answered) => self.ended(at, answered, folder),
            Step::Ran { script, exit_code } => {
                let outcome = exit_code.map_or(CommandOutcome::Unknown, CommandOutcome::Exit);
                let program = program_of(script);
                let run = CommandRun {
                    seq: at.seq,
                    call_id: &script.call.id,
                    script: &script.call.what,
                    from: folder,
                    program: &program,
                    is_look: false,
                    outcome,
                    counts: None,
                    printed: "",
                };
                self.ran(run, folder);
            }
            Step::FilesChanged(changes) => {
                for change in changes {
                    self.edited(at.seq, &edit(change, Places { from: folder, folder }));
                }
            }
            Step::TurnComplete => self.end_turn(false, folder),
            Step::TurnInterrupted => self.end_turn(true, folder),
            Step::RolledBack { turns } => self.roll_back(*turns, folder),
        }
    }

    fn called(&mut self, at: At, called: &Called, folder: Option<&str>) {
        let Called { call, action } = called;
        let from = call.starts_in(folder);
        let places = Places { from: from.as_deref(), folder };
        let edits = match action {
            Action::Poll | Action::Ours | Action::Plan(_) | Action::ChangeStep { .. } => return,
            Action::Patch(changes) => changes.iter().map(|change| edit(change, places)).collect(),
            Action::Script(script) => self.written(at.seq, script, places),
            Action::View { .. } | Action::Look { .. } | Action::AddStep | Action::Other { .. } => {
                Vec::new()
            }
        };
        let waiting: usize =
            self.running.iter().flat_map(|call| &call.edits).map(|edit| edit.added.len()).sum();
        let edits = if waiting > WAITING_BYTES { Vec::new() } else { edits };
        let running = Running {
            seq: at.seq,
            call_id: call.id.clone(),
            what: match &call.work {
                Work::Script { gist: Some(gist), .. } => gist.clone(),
                _ => call.what.clone(),
            },
            program: program_of(called),
            edits,
            is_known_running: false,
            printed: String::new(),
        };
        self.call(running, folder);
        self.commands.census.agents |= is_for_agent(&call.what);
        if let Action::Other { tool, values } = action
            && tool == SKILL
        {
            self.asked_for_skill(values);
        }
        for (heading, words) in handed_on(action) {
            self.hear(at.seq, heading, words, folder);
        }
    }

    fn ended(&mut self, at: At, answered: &Answered<'_>, folder: Option<&str>) {
        let Answered { call, outcome, .. } = answered;
        if *outcome == CommandOutcome::Running {
            return self.runs_on(&call.id, answered.printed());
        }
        let Some(running) = self.answered(&call.id) else { return };
        self.hear_dialog(at.seq, answered);
        if !outcome.is_failure() {
            for edit in &running.edits {
                self.edited(at.seq, edit);
                self.commands.edited(at.seq, std::slice::from_ref(&edit.path));
            }
        }
        let from = call.starts_in(folder);
        let places = Places { from: from.as_deref(), folder };
        match &call.work {
            Work::Script { line, gist, reads, is_look, .. } => {
                let run = CommandRun {
                    seq: at.seq,
                    call_id: &call.id,
                    from: from.as_deref(),
                    script: gist.as_deref().or(line.as_deref()).unwrap_or(&call.what),
                    program: &running.program,
                    is_look: *is_look,
                    outcome: *outcome,
                    counts: answered.tests(),
                    printed: answered.printed(),
                };
                self.ran(run, folder);
                match reads.as_deref().filter(|_| !outcome.is_failure()) {
                    Some(path) => self.viewed(at.seq, &places.shown(path), answered.printed()),
                    // That nothing was found is an answer.
                    None if *is_look && outcome.is_failure() => {
                        let said = match answered.printed().trim() {
                            "" => format!("{}, printed nothing", outcome.words()),
                            printed => format!("{}: {printed}", outcome.words()),
                        };
                        self.saw(at.seq, run.script, &said, folder);
                    }
                    None if outcome.is_failure() || Class::of(run.script).is_check() => {
                        self.saw_more(at.seq, run.script, answered.printed(), folder);
                    }
                    None => self.saw(at.seq, run.script, answered.printed(), folder),
                }
            }
            Work::View { path } if !outcome.is_failure() => {
                self.viewed(at.seq, &places.shown(path), answered.printed());
            }
            Work::Patch(changes) => {
                let paths: Vec<String> =
                    changes.iter().map(|change| places.shown(&change.path)).collect();
                if outcome.is_failure() {
                    let edit = running.edits.into_iter().find(|edit| !edit.added.is_empty());
                    self.refused = edit.map(|edit| (running.seq, edit)).or(self.refused.take());
                }
                self.patched(at.seq, &paths, *outcome, answered.printed());
            }
            Work::Other if is_for_agent(&call.what) && !outcome.is_failure() => {
                let printed = answered.printed();
                // One that runs in the background is only announced here, and reports later.
                if !printed.starts_with(['{', '[']) && !printed.starts_with(LAUNCHED) {
                    self.reported(at.seq, printed, folder);
                }
            }
            Work::View { .. } | Work::Search { .. } | Work::PlanStep { .. } | Work::Other => {}
        }
    }

    /// A file was looked at: a document is evidence by its passages, of code the lines that were seen last.
    fn viewed(&mut self, seq: u64, path: &str, printed: &str) {
        if documents::is_licence(path) {
            return;
        }
        self.read(seq, path, printed);
        if !documents::is_document(path) {
            self.saw(seq, path, printed, None);
        }
    }

    /// The person's words that stand in the answer of a call. Servers of tools may print what they like.
    fn hear_dialog(&mut self, seq: u64, answered: &Answered<'_>) {
        let call = &answered.call;
        if call.is_outside {
            return;
        }
        let tool = call.what.split(' ').next().unwrap_or_default();
        if dialog::asks(tool) {
            for choice in dialog::choices(tool, answered.printed()) {
                self.chose(seq, &format!("{} → {}", choice.question, choice.answer));
            }
        }
        if answered.outcome == CommandOutcome::Refused
            && let Some(words) = dialog::declined(answered.printed())
        {
            self.chose(seq, &format!("instead of {}: {words}", text::cut_words(&call.what, 80)));
        }
    }

    /// The files that a script writes from heredocs, whole texts that no patch shows, and those it removes that
    /// were changed before.
    fn written(&mut self, seq: u64, script: &Script, places: Places<'_>) -> Vec<FileEdit> {
        let mut edits: Vec<FileEdit> = Vec::new();
        let mut written = None;
        let programs = script.commands.iter().filter(|command| runs_input(command));
        let named = programs.clone().flat_map(|command| self.effects.named_in(&command.input));
        let named: Vec<String> = named.collect();
        self.commands.census.programs |= named.is_empty() && programs.count() > 0;
        for path in named {
            self.effects.outdate(&path);
            self.tasks.outdate(seq, &path);
        }
        for FileUse { command, used, path } in &script.uses {
            let shown = places.shown(path);
            let is_ours =
                self.effects.of(&shown).is_some() || edits.iter().any(|edit| edit.path == shown);
            let of = script.commands.get(*command).filter(|of| !of.input.is_empty());
            match (used, of) {
                (Use::Removed, _) if is_ours => edits.push(removal(shown)),
                (Use::Written, None) => {
                    self.tasks.outdate(seq, &shown);
                    self.effects.outdate(&shown);
                }
                (Use::Written, Some(of)) if !is_passing(path) && written != Some(command) => {
                    written = Some(command);
                    edits.push(heredoc(of, shown));
                }
                _ => {}
            }
        }
        edits
    }
}

/// Where the relative paths of a call start, and the folder that paths are shown from.
#[derive(Clone, Copy)]
struct Places<'a> {
    from: Option<&'a str>,
    folder: Option<&'a str>,
}

impl Places<'_> {
    /// The path without the thread's folder, when it is below it.
    fn shown(self, path: &str) -> String {
        let path = paths::absolute(path, self.from);
        let below = self
            .folder
            .and_then(|folder| path.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/'));
        below.filter(|below| !below.is_empty()).map_or(path.clone(), str::to_owned)
    }
}

/// The program of a script that matters: the first that does not only prepare.
fn program_of(called: &Called) -> String {
    let Action::Script(script) = &called.action else { return String::new() };
    let programs = script.commands.iter().filter_map(|command| command.words.first());
    let mut programs = programs.map(|word| word.rsplit('/').next().unwrap_or(word));
    let program = programs.find(|program| !PREPARING.contains(program)).unwrap_or_default();
    text::prefix(program, 40).to_owned()
}

/// Whether a command is handed a program that writes files.
fn runs_input(command: &Command) -> bool {
    const INTERPRETERS: [&str; 5] = ["python", "python3", "node", "ruby", "perl"];
    let writes =
        [".write", "writeFile", "'w'", "\"w\""].iter().any(|it| command.input.contains(it));
    writes && command.words.first().is_some_and(|program| INTERPRETERS.contains(&program.as_str()))
}

fn heredoc(command: &Command, path: String) -> FileEdit {
    let added = command.input.clone();
    let is_whole =
        command.words.first().is_some_and(|program| program == "cat") && !command.is_appending;
    let counts = LineCounts { added: added.lines().count() as u64, removed: 0 };
    FileEdit { path, added, removed: String::new(), counts, is_whole, is_deleted: false }
}

fn removal(path: String) -> FileEdit {
    let (added, removed, counts) = (String::new(), String::new(), LineCounts::default());
    FileEdit { path, added, removed, counts, is_whole: false, is_deleted: true }
}

/// What the agent tells others: the prompt of a sub-agent, prose that it writes to a file of the moment to hand it on.
fn handed_on(action: &Action) -> Vec<(&'static str, &str)> {
    match action {
        Action::Other { tool, values } if TO_AGENTS.contains(&tool.as_str()) => {
            vec![("told another agent", values)]
        }
        Action::Script(script) => {
            let commands = script.commands.iter().filter(|command| {
                command.written.iter().any(|path| is_passing(path) && !path.starts_with("/dev/"))
            });
            let texts =
                commands.map(|command| command.input.as_str()).filter(|text| is_prose(text));
            texts.map(|text| ("wrote to hand on", text)).collect()
        }
        _ => Vec::new(),
    }
}

/// Tools whose arguments are words for another agent.
const TO_AGENTS: [&str; 6] = ["Task", "Agent", "task", "spawn_agent", "send_input", "SendMessage"];

/// Claude Code's tool that reads a skill.
const SKILL: &str = "Skill";

/// What Claude Code answers when an agent begins its work in the background.
const LAUNCHED: &str = "Async agent launched";

/// Whether a call, by its words, hands work to another agent: its answer is that agent's report.
fn is_for_agent(call: &str) -> bool {
    let tool = call.split(' ').next().unwrap_or_default();
    TO_AGENTS.contains(&tool)
}

/// Whether most lines are words rather than code.
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

/// Files that are gone tomorrow.
fn is_passing(path: &str) -> bool {
    path.starts_with("/tmp/") || path.starts_with("/dev/") || path.contains('$')
}

fn edit(change: &Change, places: Places<'_>) -> FileEdit {
    FileEdit {
        path: places.shown(&change.path),
        added: change.added.clone(),
        removed: change.removed.clone(),
        counts: change.counts,
        is_whole: change.kind == ChangeKind::Created,
        is_deleted: change.kind == ChangeKind::Deleted,
    }
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
    fn words_for_another_agent_are_told_from_code_and_from_files_that_stay() {
        let prompt =
            "Remove the old layout from the lexer.\nThe person wants no compatibility code.\n";
        let code = "import os\nfor name in os.listdir('.'):\n    print(name, end=';')\n";
        for (path, body, is_told) in [
            ("\"$tmp\"", prompt, true),
            ("/tmp/prompt.md", prompt, true),
            ("docs/layout.md", prompt, false),
            ("/tmp/list.py", code, false),
        ] {
            let action = script(&format!("cat > {path} <<'EOF'\n{body}EOF\n"));
            assert_eq!(handed_on(&action).len(), usize::from(is_told), "{path}");
        }
        let (tool, values) = ("Task".to_owned(), "explore: find the lexer".to_owned());
        assert_eq!(
            handed_on(&Action::Other { tool, values }),
            [("told another agent", "explore: find the lexer")]
        );
    }
}
