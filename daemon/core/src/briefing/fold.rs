//! Turns steps into evidence, in order.

mod script;

use self::script::{Changes, handed_over, program_of, rewrites, summary};
use super::agents::{LAUNCHED, is_for_agent, starts_agent};
use super::chain::Chain;
use super::collect::{Briefing, CommandRun, IN, RunningCall};
use super::documents::{self, FRONT_MATTER};
use super::file_edit::FileEdit;
use crate::rollout::shell;
use crate::rollout::{dialog, output};
use crate::step::{Action, At, CallResult, Change, CommandOutcome, NewCall, Step, Work};
use crate::{paths, text};

/// Maximum bytes of added lines to hold for unanswered calls. Content beyond it appears with a later edit.
const WAITING_BYTES: usize = 32 * 1_024;

impl Briefing {
    /// Records the next step; paths are shown relative to `folder`.
    pub fn step(&mut self, folder: Option<&str>, at: At, step: &Step<'_>) {
        match step {
            Step::Asked { words, .. } => self.begin_turn(at.seq, words.redacted(), folder),
            Step::Said(words) => self.hold_words(at.seq, words.redacted()),
            Step::Thought(words) => self.record_thought(at.seq, words.redacted(), folder),
            Step::Instructed(words) => {
                self.record_instructions(at.seq, words.redacted(), folder);
            }
            Step::Reported(words) => {
                self.record_agent_report(at.seq, words.redacted(), folder);
            }
            Step::Compacted(words) => self.record_summary(at.seq, words.redacted(), folder),
            Step::Called(called) => self.begin_call(at, called, folder),
            Step::Answered(answered) => self.end_call(at, answered, folder),
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
                    is_unconfined: false,
                    outcome,
                    counts: None,
                    printed: "",
                };
                self.record_command(run, folder);
            }
            Step::FilesChanged(changes) => {
                let shown = |change: &Change| Places { from: folder, folder }.shown(&change.path);
                let paths: Vec<String> = changes.iter().map(shown).collect();
                if self.end_patch(at.seq, &paths) {
                    return;
                }
                for (change, path) in changes.iter().zip(paths) {
                    self.record_edit(at.seq, &edit(change, path));
                }
            }
            Step::TurnComplete => self.end_turn(false, folder),
            Step::TurnInterrupted => self.end_turn(true, folder),
            Step::RolledBack { turns } => self.roll_back(*turns, folder),
        }
    }

    fn begin_call(&mut self, at: At, called: &NewCall, folder: Option<&str>) {
        let NewCall { call, action } = called;
        let from = call.starts_in(folder);
        let places = Places { from: from.as_deref(), folder };
        let Changes { edits, outdated } = match action {
            Action::Poll | Action::Ours | Action::Plan(_) | Action::ChangePlanItem { .. } => {
                return self.go_on(folder);
            }
            Action::Patch(changes) => {
                let edits = changes.iter().map(|change| edit(change, places.shown(&change.path)));
                Changes { edits: edits.collect(), outdated: Vec::new() }
            }
            Action::Script(script) => self.script_changes(script, places),
            Action::View { .. }
            | Action::Look { .. }
            | Action::AddPlanItem
            | Action::Other { .. } => Changes::default(),
        };
        let waiting: usize =
            self.running.iter().flat_map(|call| &call.edits).map(|edit| edit.added.len()).sum();
        let edits = if waiting > WAITING_BYTES { Vec::new() } else { edits };
        let running = RunningCall {
            seq: at.seq,
            call_id: call.id.clone(),
            what: match &call.work {
                Work::Script { gist, .. } => places.said(gist.as_deref().unwrap_or(&call.what)),
                _ => call.what.clone(),
            },
            summary: summary(action, places),
            is_aside: call.is_aside,
            program: program_of(called),
            edits,
            outdated,
            rewrites: rewrites(action),
            is_known_running: false,
            session: None,
            printed: String::new(),
        };
        self.record_call(running, folder);
        self.commands.census.agents |= is_for_agent(&call.what);
        if let Action::Other { tool, values } = action
            && tool == SKILL
        {
            self.record_skill(values);
        }
        for (heading, words) in handed_over(action) {
            self.commands.census.agents |= starts_agent(action);
            self.record_prompt(at.seq, &heading, words, folder);
        }
    }

    /// Records what a call changed.
    pub(super) fn record_changes(&mut self, seq: u64, call_id: &str) {
        let Some(call) = self.running.iter_mut().find(|call| call.call_id == call_id) else {
            return;
        };
        let (called_at, rewrites) = (call.seq, std::mem::take(&mut call.rewrites));
        let (edits, outdated) =
            (std::mem::take(&mut call.edits), std::mem::take(&mut call.outdated));
        self.drop_rewritten(called_at, &rewrites);
        outdated.iter().for_each(|path| self.outdate(seq, path));
        for edit in &edits {
            self.record_edit(seq, edit);
            self.commands.edited(seq, std::slice::from_ref(&edit.path));
        }
    }

    /// Ends the patch that a harness reports as applied before it is answered: its own edits have the lines.
    fn end_patch(&mut self, seq: u64, paths: &[String]) -> bool {
        let is_it = |call: &&RunningCall| {
            !call.edits.is_empty() && call.edits.iter().all(|edit| paths.contains(&edit.path))
        };
        let Some(call_id) = self.running.iter().rfind(is_it).map(|call| call.call_id.clone())
        else {
            return false;
        };
        self.record_changes(seq, &call_id);
        self.take_running(&call_id);
        self.record_patch((seq, &call_id), paths, CommandOutcome::Unknown, "");
        true
    }

    /// Marks what is known of a file that a program changed.
    fn outdate(&mut self, seq: u64, path: &str) {
        self.effects.outdate(path);
        // It is what a program sets.
        self.added.retain_in(path, |line| line.heading != FRONT_MATTER);
        self.tasks.outdate(seq, path);
    }

    fn end_call(&mut self, at: At, answered: &CallResult<'_>, folder: Option<&str>) {
        let CallResult { call, outcome, .. } = answered;
        if answered.has_changed {
            self.record_changes(at.seq, &call.id);
        }
        if *outcome == CommandOutcome::Running {
            return self.mark_running(&call.id, answered.session.as_deref(), answered.printed());
        }
        let Some(running) = self.take_running(&call.id) else { return };
        // The last poll may have had nothing to add.
        let (printed, counts) = match answered.printed() {
            printed if printed.trim().is_empty() => {
                (running.printed.as_str(), output::test_counts(&running.printed))
            }
            printed => (printed, answered.tests()),
        };
        self.record_dialog(at.seq, answered);
        let from = call.starts_in(folder);
        let places = Places { from: from.as_deref(), folder };
        match &call.work {
            Work::Script { line, gist, reads, is_look, .. } => {
                // A service that refuses a question may refuse the next command, too.
                let is_refused = running.program == "gh" && outcome.is_failure();
                let run = CommandRun {
                    seq: at.seq,
                    call_id: &call.id,
                    from: from.as_deref(),
                    script: gist.as_deref().or(line.as_deref()).unwrap_or(&call.what),
                    program: &running.program,
                    is_look: *is_look && !is_refused,
                    is_unconfined: call.is_unconfined,
                    outcome: *outcome,
                    counts,
                    printed,
                };
                self.record_command(run, folder);
                match reads.as_deref().filter(|_| !outcome.is_failure()) {
                    Some(path) => self.record_shown(run, &places.shown(path)),
                    None => self.record_printed(run, folder),
                }
            }
            Work::View { path } if !outcome.is_failure() => {
                self.record_view(at.seq, &places.shown(path), answered.printed());
            }
            Work::Patch(changes) => {
                let paths: Vec<String> =
                    changes.iter().map(|change| places.shown(&change.path)).collect();
                if outcome.is_failure() {
                    let edit = running.edits.into_iter().find(|edit| !edit.added.is_empty());
                    self.refused = edit.map(|edit| (running.seq, edit)).or(self.refused.take());
                }
                self.record_patch((at.seq, &call.id), &paths, *outcome, answered.printed());
            }
            Work::Other if is_for_agent(&call.what) && !outcome.is_failure() => {
                let printed = answered.printed();
                // An agent started in the background answers with an announcement and reports later.
                if printed.starts_with(LAUNCHED) {
                    self.record_launch(running);
                } else if !printed.starts_with(['{', '[']) {
                    self.record_agent_report(at.seq, printed, folder);
                }
            }
            // A tool server's answer is what the agent saw of a page or a service.
            Work::Other if call.is_outside => {
                self.record_answer(at.seq, &call.what, answered.printed());
            }
            Work::View { .. } | Work::Search { .. } | Work::PlanItem { .. } | Work::Other => {}
        }
    }

    /// Records what a script printed, unless that was a file.
    fn record_printed(&mut self, run: CommandRun<'_>, folder: Option<&str>) {
        let CommandRun { seq, script, is_look, outcome, printed, .. } = run;
        // An empty search result is information, too.
        if is_look && outcome.is_failure() {
            let result = match printed.trim() {
                "" => format!("{}, printed nothing", outcome.words()),
                printed => format!("{}: {printed}", outcome.words()),
            };
            self.record_output(seq, script, &result, folder);
            return;
        }
        let chain = Chain::of(script);
        if outcome.is_failure() || chain.class().is_check() {
            self.record_outcome_output(seq, script, printed, folder);
        } else {
            self.record_diff(seq, printed);
            self.record_output(seq, script, printed, folder);
            if outcome == CommandOutcome::Exit(0) && chain.checking_part().owns_exit_code {
                self.note_success(seq);
            }
        }
    }

    /// Records a file that a script printed: the whole of it shows what an unknown change made of it.
    pub(super) fn record_shown(&mut self, run: CommandRun<'_>, path: &str) {
        let CommandRun { seq, script, printed, .. } = run;
        let is_outdated = self.effects.of(path).is_some_and(|effect| effect.is_outdated);
        if is_outdated && prints_all(script) && !printed.contains(" truncated…") {
            self.effects.settle(path, printed.lines().count() as u64);
        }
        self.record_view(seq, path, printed);
    }

    /// Records a file that was read: a document's passages, or the last lines of code seen.
    fn record_view(&mut self, seq: u64, path: &str, printed: &str) {
        if documents::is_license(path) {
            return;
        }
        self.record_read(seq, path, printed);
        if !documents::is_document(path) {
            self.record_output(seq, path, printed, None);
        }
    }

    /// Records the person's words in a call's answer. Skips tool servers, whose output is untrusted.
    fn record_dialog(&mut self, seq: u64, answered: &CallResult<'_>) {
        let call = &answered.call;
        if call.is_outside {
            return;
        }
        let tool = call.what.split(' ').next().unwrap_or_default();
        if dialog::asks(tool) {
            for choice in dialog::choices(tool, answered.printed()) {
                self.record_dialog_answer(seq, &format!("{} → {}", choice.question, choice.answer));
            }
        }
        if answered.outcome == CommandOutcome::Refused
            && let Some(words) = dialog::declined(answered.printed())
        {
            self.record_dialog_answer(
                seq,
                &format!("instead of {}: {words}", text::cut_words(&call.what, 80)),
            );
        }
    }
}

/// Where the relative paths of a call start, and the folder that shown paths are relative to.
#[derive(Clone, Copy)]
struct Places<'a> {
    from: Option<&'a str>,
    folder: Option<&'a str>,
}

impl Places<'_> {
    /// A command, with the folder it runs in if that is not the thread's.
    fn said(self, command: &str) -> String {
        match self.from.filter(|from| Some(*from) != self.folder) {
            Some(from) if !command.starts_with("cd ") => {
                format!("{IN}{}) {command}", self.shown(from))
            }
            _ => command.to_owned(),
        }
    }

    /// The path relative to the thread's folder if inside it.
    fn shown(self, path: &str) -> String {
        let path = paths::absolute(path, self.from);
        let below = self
            .folder
            .and_then(|folder| path.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/'));
        below.filter(|below| !below.is_empty()).map(str::to_owned).unwrap_or(path)
    }
}

fn edit(change: &Change, path: String) -> FileEdit {
    let is_document = documents::is_document(&path);
    FileEdit::of_change(change, path, is_document)
}

/// Whether a script prints a complete file and does nothing else.
fn prints_all(script: &str) -> bool {
    let commands = shell::commands(script);
    let programs = commands.iter().filter_map(|command| command.words.first());
    let mut programs = programs.filter(|program| *program != "cd");
    let is_only = programs.next().is_some_and(|program| ["cat", "nl"].contains(&&**program));
    is_only && programs.next().is_none()
}

/// Claude Code's tool that reads a skill.
const SKILL: &str = "Skill";
