//! Calls as evidence: which are running, the latest with their output, the skills that the agent invoked.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::evidence::Line;
use super::super::kinds::EvidenceKind;
use super::super::{lines, result, warnings};
use super::{Briefing, RecentCall, RunningCall, SeenOutput, TurnOutcome};
use crate::bounded::push_bounded;
use crate::rollout::shell;
use crate::text;

/// Maximum bytes of one of the latest calls to read, and to keep of its beginning and end: the last command of a
/// line is often the important one.
const SCRIPT_BYTES: usize = 8 * 1_024;
const ACTION_BYTES: usize = 480;

/// Maximum outputs to keep, and bytes of each.
const OUTPUTS_MAX: usize = 16;
const OUTPUT_BYTES: usize = 2_400;

/// The words for success.
const EXIT_0: &str = "exit 0";

/// Maximum outputs that are protected from eviction because they contain warnings.
const WARNING_OUTPUTS_MAX: usize = 6;

/// Maximum skill names to keep, and bytes of a name.
const SKILLS_MAX: usize = 8;
const SKILL_BYTES: usize = 120;

/// Maximum bytes of the command above its output.
const OUTPUT_COMMAND_BYTES: usize = 150;

/// Maximum bytes of a running command's output.
const RUNNING_BYTES: usize = 400;

/// Maximum agents in the background to keep.
const BACKGROUND_MAX: usize = 8;

/// Maximum calls without an answer to keep.
const RUNNING_MAX: usize = 16;

impl Briefing {
    /// The agent goes on: pending words become remarks, since a report is followed by no call.
    pub(in crate::briefing) fn go_on(&mut self, folder: Option<&str>) {
        self.flush_remarks(folder);
        self.intention = None;
        if let Some(turn) = self.turns.back_mut() {
            turn.outcome = TurnOutcome::Open;
        }
    }

    /// Records a call.
    pub(in crate::briefing) fn record_call(&mut self, running: RunningCall, folder: Option<&str>) {
        self.go_on(folder);
        let script = lines::tidy(&running.what, folder, SCRIPT_BYTES);
        let whole = text::cut_middle(&script, ACTION_BYTES).into_owned();
        let what = lines::cut(&script, 160).into_owned();
        let call_id = running.call_id.clone();
        if !running.is_aside {
            let recent = RecentCall { seq: running.seq, call_id, text: whole };
            push_bounded(&mut self.actions, recent, 4);
        }
        push_bounded(&mut self.running, RunningCall { what, ..running }, RUNNING_MAX);
    }

    /// Records that the agent invoked a skill.
    pub(in crate::briefing) fn record_skill(&mut self, values: &str) {
        let name = text::prefix(values, SKILL_BYTES).to_owned();
        if !self.skills.contains(&name) {
            push_bounded(&mut self.skills, name, SKILLS_MAX);
        }
    }

    /// Records that an agent runs in the background. Its report names the call.
    pub(in crate::briefing) fn record_launch(&mut self, call: RunningCall) {
        self.end_action(&call.call_id, "started in the background");
        let agent = RecentCall { seq: call.seq, call_id: call.call_id, text: call.what };
        push_bounded(&mut self.background, agent, BACKGROUND_MAX);
    }

    /// Removes and returns a call that has its result.
    pub(in crate::briefing) fn take_running(&mut self, call_id: &str) -> Option<RunningCall> {
        let index = self.running.iter().rposition(|running| running.call_id == call_id)?;
        self.running.remove(index)
    }

    /// Marks a call as still running after its answer.
    pub(in crate::briefing) fn mark_running(
        &mut self,
        call_id: &str,
        session: Option<&str>,
        printed: &str,
    ) {
        let mut running = self.running.iter_mut().rev();
        if let Some(running) = running.find(|running| running.call_id == call_id) {
            running.is_known_running = true;
            running.session = session.map(str::to_owned);
            if !printed.trim().is_empty() {
                running.printed = text::cut_middle(printed.trim(), RUNNING_BYTES).into_owned();
            }
        }
    }

    /// Records output that yields no other evidence.
    pub(in crate::briefing) fn record_output(
        &mut self,
        seq: u64,
        what: &str,
        printed: &str,
        folder: Option<&str>,
    ) {
        // Output of git has its own section; only the newest is shown as it is.
        if let Some(of_git) = self.outputs.iter().position(|output| output.is_of_git) {
            self.drop_output(of_git);
        }
        self.push_output((seq, false), what, printed, folder);
        if let Some(newest) = self.outputs.back_mut() {
            newest.is_of_git = newest.seq == seq && what.contains("git ") && only_git_prints(what);
        }
    }

    /// Notes that the newest output ended with exit code 0.
    pub(in crate::briefing) fn note_success(&mut self, seq: u64) {
        if let Some(newest) = self.outputs.back_mut().filter(|newest| newest.seq == seq) {
            newest.is_success = true;
        }
    }

    /// Records the answer of a tool server. It replaces no earlier one: calls with long arguments look alike when cut.
    ///
    /// Some servers end each answer with the same lines (the open tabs, the session): those are kept once.
    pub(in crate::briefing) fn record_answer(&mut self, seq: u64, call: &str, printed: &str) {
        let what = lines::tidy(call, None, 120);
        let answer = without_quotes(printed);
        let tool = what.split(' ').next();
        let earlier = self.outputs.iter().filter(|output| output.what.split(' ').next() == tool);
        let earlier: HashSet<&str> =
            earlier.flat_map(|output| output.text.lines().skip(1).map(str::trim)).collect();
        let is_new = |(at, line): &(usize, &str)| *at == 0 || !earlier.contains(line.trim());
        let new: Vec<&str> =
            answer.lines().enumerate().filter(is_new).map(|(_, line)| line).collect();
        self.add_output((seq, false), what, &new.join("\n"));
    }

    /// Records the output of a failure or a check, to quote if there is room.
    pub(in crate::briefing) fn record_outcome_output(
        &mut self,
        seq: u64,
        what: &str,
        printed: &str,
        folder: Option<&str>,
    ) {
        self.push_output((seq, true), what, printed, folder);
    }

    fn push_output(
        &mut self,
        (seq, has_own_section): (u64, bool),
        what: &str,
        printed: &str,
        folder: Option<&str>,
    ) {
        let what = lines::tidy(what, folder, SCRIPT_BYTES);
        let cut = text::cut_middle(&what, OUTPUT_COMMAND_BYTES).into_owned();
        if !printed.trim().is_empty() {
            self.outputs.retain(|output| output.what != cut);
            self.results.retain_in(&cut, |_| false);
        }
        self.add_output((seq, has_own_section), cut, printed);
    }

    fn add_output(&mut self, (seq, has_own_section): (u64, bool), what: String, printed: &str) {
        if printed.trim().is_empty() {
            return;
        }
        let turn = self.turn;
        let text = warnings::cut(printed.trim(), OUTPUT_BYTES);
        let (is_success, is_of_git) = (false, false);
        let output = SeenOutput { seq, turn, what, text, has_own_section, is_success, is_of_git };
        self.make_room_for_output();
        self.outputs.push_back(output);
    }

    /// Outputs that contain warnings are kept longer than others.
    fn make_room_for_output(&mut self) {
        if self.outputs.len() < OUTPUTS_MAX {
            return;
        }
        let warns = |output: &SeenOutput| output.what.contains(' ') && warnings::any(&output.text);
        // Without warnings in the oldest one, those of the others do not matter.
        if self.outputs.front().is_some_and(|oldest| !warns(oldest)) {
            self.drop_output(0);
            return;
        }
        let warning: Vec<bool> = self.outputs.iter().map(warns).collect();
        let warnings = warning.iter().filter(|warns| **warns).count();
        let quiet = warning.iter().position(|warns| !warns);
        let index = quiet.filter(|_| warnings <= WARNING_OUTPUTS_MAX).unwrap_or_default();
        self.drop_output(index);
    }

    fn drop_output(&mut self, index: usize) {
        if let Some(output) = self.outputs.remove(index) {
            self.condense(&output);
        }
    }

    /// Keeps what came of a command whose output is dropped.
    fn condense(&mut self, output: &SeenOutput) {
        let result = result::of(&output.what, &output.text);
        let Some(text) = result.filter(|_| !output.has_own_section) else { return };
        let (group, heading) = (output.what.clone(), output.exit_words().to_owned());
        let (seq, turn, strength) = (output.seq, output.turn, 100);
        let line = Line { seq, turn, strength, group, heading, text, ..Line::default() };
        self.results.add(EvidenceKind::Ran, line);
    }
}

impl SeenOutput {
    pub(in crate::briefing) fn exit_words(&self) -> &'static str {
        if self.is_success { EXIT_0 } else { "" }
    }
}

/// Whether nothing prints but git, filters of its output, and words that stand between.
fn only_git_prints(script: &str) -> bool {
    const SILENT: [&str; 22] = [
        "git", "cd", "pushd", "popd", "set", "export", "true", "rm", "mkdir", "cp", "mv", "touch",
        "sleep", "for", "done", "if", "fi", "case", "esac", "test", "[", "exit",
    ];
    shell::commands(script).iter().all(|command| match command.words.first().map(String::as_str) {
        Some("echo" | "printf") => !command.words.iter().any(|word| word.contains(['$', '`'])),
        Some(program) => command.is_piped || SILENT.contains(&program),
        None => true,
    })
}

/// An answer whose value is a JSON string, with that string as it reads.
fn without_quotes(printed: &str) -> Cow<'_, str> {
    let mut values = serde_json::Deserializer::from_str(printed).into_iter::<String>();
    match values.next() {
        Some(Ok(value)) => Cow::Owned(value + &printed[values.byte_offset()..]),
        _ => Cow::Borrowed(printed),
    }
}
