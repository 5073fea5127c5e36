//! Calls as evidence: what runs, what the last ones were and printed, the skills that were asked for.

use super::super::{checks, lines, warnings};
use super::{Briefing, RecentCall, Running, SeenOutput, TurnOutcome};
use crate::text;

/// Bytes of one of the last calls: a line of several commands ends with the one that counts.
const ACTION_BYTES: usize = 480;

/// Outputs that are kept, and bytes of each.
const OUTPUTS_MAX: usize = 16;
const OUTPUT_BYTES: usize = 1_600;

/// Of these, so many may be kept past their time because a program warned.
const WARNING_OUTPUTS_MAX: usize = 6;

/// Skills that are known by name, and bytes of a name.
const SKILLS_MAX: usize = 8;
const SKILL_BYTES: usize = 120;

/// Bytes of what a running command printed.
const RUNNING_BYTES: usize = 400;

/// Calls without an answer that are kept.
const RUNNING_MAX: usize = 16;

impl Briefing {
    /// The agent calls a tool: what it said before was said on the way.
    pub(in crate::briefing) fn call(&mut self, running: Running, folder: Option<&str>) {
        self.flush_remarks(folder);
        self.intention = None;
        if let Some(turn) = self.turns.back_mut() {
            turn.outcome = TurnOutcome::Open;
        }
        if self.running.len() >= RUNNING_MAX {
            self.running.pop_front();
        }
        let (what, whole) = (&running.what, lines::tidy(&running.what, folder, ACTION_BYTES));
        let what = lines::tidy(what, folder, 160);
        if self.actions.len() >= 4 {
            self.actions.pop_front();
        }
        let call_id = running.call_id.clone();
        self.actions.push_back(RecentCall { call_id, text: whole });
        self.running.push_back(Running { what, ..running });
    }

    /// The agent asked for a skill.
    pub(in crate::briefing) fn asked_for_skill(&mut self, values: &str) {
        let name = text::prefix(values, SKILL_BYTES).to_owned();
        if !self.skills.contains(&name) {
            checks::push(&mut self.skills, name, SKILLS_MAX);
        }
    }

    /// A call has its result; one that runs on stays, and is given as it was.
    pub(in crate::briefing) fn answered(&mut self, call_id: &str) -> Option<Running> {
        let index = self.running.iter().rposition(|running| running.call_id == call_id)?;
        self.running.remove(index)
    }

    /// A call was answered and runs on.
    pub(in crate::briefing) fn runs_on(&mut self, call_id: &str, printed: &str) {
        let mut running = self.running.iter_mut().rev();
        if let Some(running) = running.find(|running| running.call_id == call_id) {
            running.is_known_running = true;
            if !printed.trim().is_empty() {
                running.printed = text::cut_middle(printed.trim(), RUNNING_BYTES).into_owned();
            }
        }
    }

    /// A call printed something that no other evidence is made of.
    pub(in crate::briefing) fn saw(
        &mut self,
        seq: u64,
        what: &str,
        printed: &str,
        folder: Option<&str>,
    ) {
        // What git printed has a section of its own.
        if !what.contains("git ") {
            self.printed((seq, false), what, printed, folder);
        }
    }

    /// A command failed, or checked something: more of what it said may stand where there is room.
    pub(in crate::briefing) fn saw_more(
        &mut self,
        seq: u64,
        what: &str,
        printed: &str,
        folder: Option<&str>,
    ) {
        self.printed((seq, true), what, printed, folder);
    }

    fn printed(
        &mut self,
        (seq, is_told_elsewhere): (u64, bool),
        what: &str,
        printed: &str,
        folder: Option<&str>,
    ) {
        if printed.trim().is_empty() {
            return;
        }
        let (turn, what) = (self.turn, lines::tidy(what, folder, 120));
        self.outputs.retain(|output| output.what != what);
        let text = warnings::cut(printed.trim(), OUTPUT_BYTES);
        let output = SeenOutput { seq, turn, what, text, is_told_elsewhere };
        self.make_room_for_output();
        self.outputs.push_back(output);
    }

    /// What a program warned of stays longer than what it merely printed.
    fn make_room_for_output(&mut self) {
        if self.outputs.len() < OUTPUTS_MAX {
            return;
        }
        let warns = |output: &SeenOutput| {
            output.what.contains(' ') && output.text.lines().any(warnings::warns)
        };
        let warning = self.outputs.iter().filter(|output| warns(output)).count();
        let quiet = self.outputs.iter().position(|output| !warns(output));
        let index = quiet.filter(|_| warning <= WARNING_OUTPUTS_MAX).unwrap_or_default();
        self.outputs.remove(index);
    }
}
