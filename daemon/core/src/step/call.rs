//! The purpose of a call, parsed once when it is made.

use serde::{Deserialize, Serialize};

use super::{At, CommandOutcome};
use crate::digest::ContentHash;
use crate::redact::redact;
use crate::rollout::patch::{FileOp, LineCounts, Op};
use crate::rollout::shell::{self, Command, CommandEffects, FileUse, Use};
use crate::rollout::tool::{self, TodoItem, TodoStatus};
use crate::{limits, paths, text};

/// Maximum files whose change by a script waits for its answer.
const SCRIPT_CHANGES_MAX: usize = 32;

/// The part of a call that is needed when it is answered: it waits in the saved state. Redacted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The call's id, cut to [`limits::NAME_BYTES`].
    pub id: String,
    pub seq: u64,
    /// Names the call on one line of at most half of [`limits::COMMAND_BYTES`].
    pub what: String,
    /// Folder of the agent's shell at the time of the call, if the transcript has it.
    pub base: Option<String>,
    pub work: Work,
    /// Its effects on the history of the work, if it succeeds.
    pub effects: CommandEffects,
    /// A sub-agent inside this transcript made it.
    pub is_aside: bool,
    /// Reaches the web or an MCP server.
    pub is_outside: bool,
    /// Runs outside the agent's sandbox.
    pub is_unconfined: bool,
}

/// The part of a call's purpose that is needed when it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Work {
    Script {
        /// The script, if it is one line worth keeping.
        line: Option<String>,
        /// A summary of the script on one line of at most twice [`limits::COMMAND_BYTES`], if `line` is `None`.
        gist: Option<String>,
        /// Folder it runs in, if it says.
        folder: Option<String>,
        is_look: bool,
        /// The only file it reads, as named in the script.
        reads: Option<String>,
        /// It prints what it fetched, which others may have written.
        fetches: bool,
        changes: Vec<Change>,
        /// Only its last command changes files: if the script fails, that did.
        is_last_to_change: bool,
    },
    View {
        /// As the agent wrote it.
        path: String,
    },
    Search {
        /// Where, if it says.
        path: Option<String>,
    },
    /// Changes that apply if the call succeeds.
    Patch(Vec<Change>),
    /// An item of the plan; the answer has its id.
    PlanItem {
        text: String,
    },
    Other,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// As the agent wrote it, redacted.
    pub path: String,
    pub kind: ChangeKind,
    /// Hash of the whole content, if the call has it.
    pub hash: Option<ContentHash>,
    /// The changed lines with their context, redacted; not saved.
    #[serde(skip)]
    pub lines: String,
    /// The added lines, redacted; not saved.
    #[serde(skip)]
    pub added: String,
    /// The removed lines, redacted; not saved.
    #[serde(skip)]
    pub removed: String,
    /// All added and removed lines; not saved.
    #[serde(skip)]
    pub counts: LineCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    Edited,
    Deleted,
}

/// A call, with what is needed only while it is made.
#[derive(Debug)]
pub struct NewCall {
    /// The part that is needed again when it is answered.
    pub call: Call,
    pub action: Action,
}

/// The purpose of a call. Redacted.
#[derive(Debug)]
pub enum Action {
    Script(Script),
    Patch(Vec<Change>),
    View {
        /// As the agent wrote it.
        path: String,
    },
    Look {
        tool: String,
        /// What it searches for and how.
        values: String,
        /// Where, if it says.
        path: Option<String>,
    },
    Plan(Vec<TodoItem>),
    /// Adds an item to the plan: [`Work::PlanItem`].
    AddPlanItem,
    ChangePlanItem {
        id: String,
        status: Option<TodoStatus>,
        /// The item was cancelled.
        is_dropped: bool,
    },
    /// Polls a running command, or stops it: the answer belongs to that command.
    Poll,
    /// Asks longhaul itself: the daemon knows the answer.
    Ours,
    Other {
        tool: String,
        /// String values of the arguments, joined by spaces.
        values: String,
    },
}

#[derive(Debug)]
pub struct Script {
    /// Redacted, at most [`shell::SCRIPT_BYTES`].
    pub text: String,
    pub commands: Vec<Command>,
    /// Folder given as an argument of the call.
    pub workdir: Option<String>,
    /// Folder that the script enters first, else `workdir`.
    pub folder: Option<String>,
    /// The files it reads and changes, in order, relative to `folder`.
    pub uses: Vec<FileUse>,
    /// It is read-only: it inspects files, git or the machine.
    pub is_look: bool,
}

impl NewCall {
    pub(super) fn of(at: At, call: &tool::Call<'_>, base: Option<&str>) -> Self {
        let mut called = Self::new(at, &call.call_id, base);
        called.call.is_outside = tool::is_outside(call);
        called.call.is_unconfined = tool::leaves_sandbox(call);
        if tool::is_ours(call) {
            called.action = Action::Ours;
            return called;
        }
        called.read(call);
        if call.name.contains("pull_request") {
            let name = call.name.rsplit("__").next().unwrap_or(&call.name);
            let acts = ["create_", "merge_", "update_", "close_"];
            called.call.effects = CommandEffects {
                commits: false,
                moves_pull_request: acts.iter().any(|act| name.starts_with(act)),
            };
        } else if ["commit", "gh", "gt"].iter().any(|word| call.arguments.contains(word)) {
            called.call.effects = match &called.action {
                Action::Script(script) => CommandEffects::of(&script.commands),
                // The script may have other commands besides the patch.
                Action::Patch(_) => tool::script_of(call)
                    .map_or_else(CommandEffects::default, |script| {
                        CommandEffects::of(&shell::commands(&script))
                    }),
                _ => CommandEffects::default(),
            };
        }
        called
    }

    /// Parses a script that has no call.
    pub(super) fn script(at: At, call_id: &str, script: &str, base: Option<&str>) -> Self {
        let mut called = Self::new(at, call_id, base);
        called.run(script, None);
        if let Action::Script(script) = &called.action {
            called.call.effects = CommandEffects::of(&script.commands);
        }
        called
    }

    /// Parses a call on its own, outside a transcript.
    pub fn alone(call: &tool::Call<'_>) -> Self {
        Self::of(At::default(), call, None)
    }

    /// Whether the call needs an answer: a plan is changed by the call itself.
    pub fn needs_answer(&self) -> bool {
        !matches!(self.action, Action::Plan(_) | Action::ChangePlanItem { .. } | Action::Ours)
    }

    fn new(at: At, call_id: &str, base: Option<&str>) -> Self {
        let call = Call {
            id: short_id(call_id).to_owned(),
            seq: at.seq,
            what: String::new(),
            base: base.map(str::to_owned),
            work: Work::Other,
            effects: CommandEffects::default(),
            is_aside: false,
            is_outside: false,
            is_unconfined: false,
        };
        let action = Action::Other { tool: String::new(), values: String::new() };
        Self { call, action }
    }

    fn read(&mut self, call: &tool::Call<'_>) {
        self.action = match tool::interpret(call) {
            tool::Action::Shell { script, workdir } => return self.run(&script, workdir),
            tool::Action::Patch(ops) => return self.patch(&ops),
            tool::Action::View { path } => {
                let path = redacted_path(&path);
                self.call.what = cut_name(format!("view {path}"));
                self.call.work = Work::View { path: path.clone() };
                Action::View { path }
            }
            tool::Action::Look { tool, values, path } => {
                let (values, path) = (redacted(&values), path.as_deref().map(redacted_path));
                self.call.what = cut_name(one_line_of(&tool, &values));
                self.call.work = Work::Search { path: path.clone() };
                Action::Look { tool, values, path }
            }
            tool::Action::Other { tool, values } => {
                let values = redacted(&values);
                self.call.what = cut_name(one_line_of(&tool, &values));
                Action::Other { tool, values }
            }
            tool::Action::AddPlanItem { text } => {
                "plan".clone_into(&mut self.call.what);
                self.call.work = Work::PlanItem { text: redacted(&text) };
                Action::AddPlanItem
            }
            tool::Action::Plan(steps) => Action::Plan(steps),
            tool::Action::ChangePlanItem { id, status, is_dropped } => {
                Action::ChangePlanItem { id, status, is_dropped }
            }
        };
    }

    fn run(&mut self, script: &str, workdir: Option<String>) {
        let script = Script::of(script, workdir);
        let trimmed = script.text.trim();
        let is_line =
            !trimmed.contains('\n') && (4..=limits::COMMAND_BYTES).contains(&trimmed.len());
        // What the script prints is the file only if nothing else prints.
        let is_quiet = shell::prints_only_files(&script.commands);
        let mut reads = script.uses.iter().filter(|it| it.used == Use::Read && is_quiet);
        let (first, second) = (reads.next(), reads.next());
        self.call.what = text::one_line_cut(&script.text, limits::COMMAND_BYTES / 2);
        let changing = script.uses.iter().filter(|it| it.used.is_change());
        // The shell opens the file of a redirection before the command can fail.
        let is_opened = |it: &FileUse| {
            let command = script.commands.get(it.command);
            command.is_some_and(|of| of.input.is_empty() && of.written.contains(&it.path))
        };
        let is_last = |it: &FileUse| it.command + 1 == script.commands.len() && !is_opened(it);
        self.call.work = Work::Script {
            is_last_to_change: changing.clone().next().is_some() && changing.clone().all(is_last),
            changes: changing.take(SCRIPT_CHANGES_MAX).map(Change::of_use).collect(),
            line: is_line.then(|| text::one_line(trimmed).into_owned()),
            gist: (!is_line)
                .then(|| text::one_line_cut(&shell::gist(trimmed), 2 * limits::COMMAND_BYTES)),
            folder: script.folder.clone(),
            is_look: script.is_look,
            reads: first.filter(|_| second.is_none()).map(|read| read.path.clone()),
            fetches: shell::fetches(&script.commands),
        };
        self.action = Action::Script(script);
    }

    fn patch(&mut self, ops: &[FileOp]) {
        let changes: Vec<Change> = ops.iter().map(Change::reported).collect();
        self.call.what = match changes.first() {
            Some(first) => cut_name(format!("edit {}", first.path)),
            None => "edit".to_owned(),
        };
        let kept = |change: &Change| Change {
            hash: change.hash.clone(),
            ..Change::bare(change.path.clone(), change.kind)
        };
        self.call.work = Work::Patch(changes.iter().map(kept).collect());
        self.action = Action::Patch(changes);
    }
}

impl Call {
    /// The folder that its relative paths start from, in a thread whose working folder is `cwd`.
    pub fn starts_in(&self, cwd: Option<&str>) -> Option<String> {
        let base = self.base.as_deref().or(cwd);
        match &self.work {
            Work::Script { folder: Some(folder), .. } => Some(paths::absolute(folder, base)),
            _ => base.map(str::to_owned),
        }
    }

    pub fn changes(&self) -> &[Change] {
        match &self.work {
            Work::Patch(changes) | Work::Script { changes, .. } => changes,
            Work::View { .. } | Work::Search { .. } | Work::PlanItem { .. } | Work::Other => &[],
        }
    }

    /// Whether a call with this outcome made its changes. What a script changes before the command that fails is changed, and
    /// so may be what a program of it changes in a way that is not understood.
    pub fn has_changed(&self, outcome: CommandOutcome) -> bool {
        let is_before = matches!(self.work, Work::Script { is_last_to_change: false, .. });
        !outcome.is_failure() || is_before && outcome != CommandOutcome::Refused
    }

    /// Approximate size while it waits.
    pub(super) fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let work = match &self.work {
            Work::Script { line, gist, folder, reads, changes, .. } => {
                let texts = length(line) + length(gist) + length(folder) + length(reads);
                texts + bytes_of(changes)
            }
            Work::View { path } => path.len(),
            Work::Search { path } => length(path),
            Work::Patch(changes) => bytes_of(changes),
            Work::PlanItem { text } => text.len(),
            Work::Other => 0,
        };
        self.id.len() + self.what.len() + length(&self.base) + work
    }
}

impl Script {
    fn of(script: &str, workdir: Option<String>) -> Self {
        let text = redacted(text::prefix(script, shell::SCRIPT_BYTES));
        let commands = shell::commands(&text);
        let folder = match (shell::entered_folder(&text), workdir.as_deref()) {
            (Some(entered), Some(workdir)) if !paths::is_absolute(entered) => {
                Some(format!("{}/{entered}", workdir.trim_end_matches('/')))
            }
            (Some(entered), _) => Some(entered.to_owned()),
            (None, workdir) => workdir.map(str::to_owned),
        };
        let uses = shell::uses_of(&commands, shell::entered_folder(&text).is_some());
        let is_look = !commands.is_empty() && commands.iter().all(shell::is_read_only);
        Self { commands, workdir, folder, uses, is_look, text }
    }
}

fn bytes_of(changes: &[Change]) -> usize {
    changes.iter().map(|change| change.path.len() + 70).sum()
}

impl Change {
    /// A change by a command of a script, whose text is redacted.
    fn of_use(used: &FileUse) -> Self {
        let kind = if used.used == Use::Removed { ChangeKind::Deleted } else { ChangeKind::Edited };
        Self::bare(used.path.clone(), kind)
    }

    /// A change without its lines.
    fn bare(path: String, kind: ChangeKind) -> Self {
        Self {
            path,
            kind,
            hash: None,
            lines: String::new(),
            added: String::new(),
            removed: String::new(),
            counts: LineCounts::default(),
        }
    }

    /// A change as a call or the harness reports it.
    pub fn reported(op: &FileOp) -> Self {
        let (kind, hash) = match &op.op {
            Op::Created { content } => {
                let hash = content.as_ref().map(|content| ContentHash::of(content.as_bytes()));
                (ChangeKind::Created, hash)
            }
            Op::Edited => (ChangeKind::Edited, None),
            Op::Deleted => (ChangeKind::Deleted, None),
        };
        Self {
            path: redacted_path(&op.path),
            kind,
            hash,
            lines: redacted(&op.changed),
            added: redacted(&op.added),
            removed: redacted(&op.removed),
            counts: op.counts,
        }
    }
}

/// Ids are short; a long one is identified by its beginning.
pub(super) fn short_id(call_id: &str) -> &str {
    text::prefix(call_id, limits::NAME_BYTES)
}

/// Tool and values of a call on one line.
pub fn one_line_of(tool: &str, values: &str) -> String {
    let line = text::one_line_cut(values, limits::COMMAND_BYTES / 2);
    format!("{} {line}", short_id(tool))
}

fn cut_name(what: String) -> String {
    match what.len() > limits::COMMAND_BYTES / 2 {
        true => text::prefix(&what, limits::COMMAND_BYTES / 2).to_owned(),
        false => what,
    }
}

fn redacted(text: &str) -> String {
    redact(text).text.into_owned()
}

fn redacted_path(path: &str) -> String {
    redacted(text::prefix(path, limits::PATH_BYTES))
}

#[cfg(test)]
mod tests;
