//! Facts that hold at a cut: what became of files, commands, tests, plan steps, the request and
//! the last error. A name without its meaning is no memory; these carry both.

mod bound;

pub use bound::{Words, holds};

use std::collections::{HashMap, HashSet};

use regex::Regex;

use crate::entity::{comparable_path, flatten};
use crate::transcript::{Call, PatchAction, PlanState, Step, StepKind, Transcript};

/// The classes of bound facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKind {
    /// A file that a patch created, edited or deleted, with that state.
    EditedFile,
    /// The newest request of a person, verbatim.
    LastRequest,
    /// A recent command that does something, with its exit status.
    Command,
    /// A test command with pass or fail.
    Test,
    /// A step of the current plan with its state.
    PlanStep,
    /// The message of the newest failure.
    LastError,
}

impl FactKind {
    /// All classes, those that must be complete at 1,000 tokens first.
    pub const ALL: [Self; 6] = [
        Self::EditedFile,
        Self::LastRequest,
        Self::Command,
        Self::Test,
        Self::PlanStep,
        Self::LastError,
    ];

    /// The words used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::EditedFile => "edited file",
            Self::LastRequest => "last request",
            Self::Command => "command",
            Self::Test => "test",
            Self::PlanStep => "plan step",
            Self::LastError => "last error",
        }
    }
}

/// A subject with what must be said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A path and the states that are true of it.
    File {
        /// The path as the agent wrote it, and without the working directory.
        paths: Vec<String>,
        /// True states: a file both created and edited may be called either.
        states: Vec<PatchAction>,
    },
    /// The request, flattened.
    Request(String),
    /// A command, flattened, and its exit code.
    Command(String, i64),
    /// A test command, flattened, and whether it passed.
    Test(String, bool),
    /// A plan step, flattened, and its state.
    Plan(String, PlanState),
    /// Lines, any of which tells the error.
    Error(Vec<String>),
}

impl Fact {
    /// The class.
    pub fn kind(&self) -> FactKind {
        match self {
            Self::File { .. } => FactKind::EditedFile,
            Self::Request(_) => FactKind::LastRequest,
            Self::Command(..) => FactKind::Command,
            Self::Test(..) => FactKind::Test,
            Self::Plan(..) => FactKind::PlanStep,
            Self::Error(_) => FactKind::LastError,
        }
    }

    /// The fact as one line of plain words: what the oracle says, and what a list of misses shows.
    pub fn sentence(&self) -> String {
        match self {
            Self::File { paths, states } => {
                let path = paths.last().map_or("", String::as_str);
                format!("{path} {}", states.first().map_or("", |state| bound::state_word(*state)))
            }
            Self::Request(text) => text.clone(),
            Self::Command(command, code) => format!("{command} exit {code}"),
            Self::Test(command, true) => format!("{command} passed"),
            Self::Test(command, false) => format!("{command} failed"),
            Self::Plan(text, state) => format!("{text} {}", bound::plan_word(*state)),
            Self::Error(lines) => lines.first().cloned().unwrap_or_default(),
        }
    }
}

/// How many of the newest distinct commands, and of test commands, are asked for.
const COMMANDS_ASKED: usize = 8;

/// Commands that run tests.
const TEST_COMMAND: &str = r"(?x)\b(?:
    pytest | unittest | nosetests | tox | nox | jest | vitest | mocha | rspec | phpunit | ctest |
    (?:cargo|go|dotnet|mvn|gradle|gradlew|bun|deno|swift|mix|sbt|zig|make|npm|pnpm|yarn|npx)
    (?:\s+(?:run|-[\w-]+|exec))*\s+(?:nextest|[\w:]*tests?)
)\b";

/// Commands that only look: their exit status is nothing an agent must remember.
const LOOKING: [&str; 27] = [
    "ls", "cat", "sed", "rg", "grep", "find", "head", "tail", "nl", "wc", "pwd", "tree", "stat",
    "file", "which", "echo", "printf", "sleep", "date", "env", "awk", "jq", "diff", "type", "ps",
    "true", "fd",
];
/// The same, of git.
const GIT_LOOKING: [&str; 8] =
    ["status", "diff", "log", "show", "branch", "rev-parse", "ls-files", "remote"];

/// Reads facts off transcripts.
#[derive(Debug)]
pub struct FactReader {
    test_command: Regex,
    error_line: Regex,
}

impl FactReader {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// A pattern does not compile: a defect of this crate that its tests rule out.
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            test_command: Regex::new(TEST_COMMAND)?,
            error_line: Regex::new(
                r"(?i)\b(?:error|failed|failure|exception|panicked|traceback|fatal|denied|not found|no such|cannot|invalid)\b|Error:",
            )?,
        })
    }

    /// The facts that hold after the steps before `first_hidden`.
    pub fn read(&self, transcript: &Transcript, first_hidden: usize) -> Vec<Fact> {
        let visible = &transcript.steps[..first_hidden];
        let outcomes = outcomes(visible);
        let mut facts = edited_files(visible, &outcomes, transcript);
        facts.extend(last_request(visible));
        self.commands(visible, &outcomes, &mut facts);
        facts.extend(plan(visible));
        facts.extend(self.last_error(visible));
        facts
    }

    /// The newest outcome of each distinct command, newest first, bounded.
    fn commands(&self, visible: &[Step], outcomes: &Outcomes<'_>, facts: &mut Vec<Fact>) {
        let mut met = HashSet::new();
        let (mut commands, mut tests) = (0, 0);
        for call in visible.iter().rev().filter_map(call_of) {
            let Some(command) = call.command.as_deref().filter(|c| !c.contains('\n')) else {
                continue;
            };
            let Some(code) = outcomes.get(call.call_id.as_str()).and_then(|outcome| outcome.code)
            else {
                continue;
            };
            let command = flatten(command);
            if !met.insert(command.clone()) {
                continue;
            }
            if self.test_command.is_match(&command) {
                if tests < COMMANDS_ASKED {
                    tests += 1;
                    facts.push(Fact::Test(command, code == 0));
                }
            } else if commands < COMMANDS_ASKED && !only_looks(&command) {
                commands += 1;
                facts.push(Fact::Command(command, code));
            }
        }
    }

    fn last_error(&self, visible: &[Step]) -> Option<Fact> {
        let failed = visible.iter().rev().find_map(|step| match &step.kind {
            StepKind::Output(output) if output.failed() && !output.text.trim().is_empty() => {
                Some(output)
            }
            _ => None,
        })?;
        let lines: Vec<String> =
            failed.text.lines().map(flatten).filter(|line| line.len() >= 4).collect();
        let telling: Vec<String> =
            lines.iter().filter(|line| self.error_line.is_match(line)).cloned().collect();
        let lines = if telling.is_empty() {
            lines.into_iter().rev().take(3).collect()
        } else {
            telling
        };
        (!lines.is_empty()).then_some(Fact::Error(lines))
    }
}

#[derive(Debug, Clone, Copy)]
struct Outcome {
    code: Option<i64>,
    failed: bool,
}

type Outcomes<'a> = HashMap<&'a str, Outcome>;

fn outcomes(visible: &[Step]) -> Outcomes<'_> {
    let mut outcomes = HashMap::new();
    for step in visible {
        if let StepKind::Output(output) = &step.kind {
            let outcome = Outcome { code: output.exit_code, failed: output.failed() };
            outcomes.insert(output.call_id.as_str(), outcome);
        }
    }
    outcomes
}

/// Replays the patches that were applied. A patch without an output by the cut is not counted.
fn edited_files(visible: &[Step], outcomes: &Outcomes<'_>, transcript: &Transcript) -> Vec<Fact> {
    let mut order: Vec<String> = Vec::new();
    let mut files: HashMap<String, (Vec<String>, Vec<PatchAction>)> = HashMap::new();
    for call in visible.iter().filter_map(call_of) {
        let applied = outcomes.get(call.call_id.as_str()).is_some_and(|outcome| !outcome.failed);
        if !applied {
            continue;
        }
        for op in &call.patches {
            let key = comparable_path(&op.path, transcript).to_owned();
            let (paths, states) = files.entry(key.clone()).or_insert_with(|| {
                order.push(key.clone());
                (Vec::new(), Vec::new())
            });
            for form in [op.path.clone(), key] {
                if !paths.contains(&form) {
                    paths.push(form);
                }
            }
            *states = next_states(states, op.action);
        }
    }
    let fact = |key: &String| {
        let (paths, states) = files.get(key)?.clone();
        Some(Fact::File { paths, states })
    };
    order.iter().filter_map(fact).collect()
}

/// What may truthfully be said of a file after one more patch.
fn next_states(before: &[PatchAction], action: PatchAction) -> Vec<PatchAction> {
    match action {
        PatchAction::Edit if before.contains(&PatchAction::Create) => {
            vec![PatchAction::Create, PatchAction::Edit]
        }
        // An added file that was there before (an overwrite) may be called edited as well.
        PatchAction::Create if before.contains(&PatchAction::Edit) => {
            vec![PatchAction::Create, PatchAction::Edit]
        }
        action => vec![action],
    }
}

fn last_request(visible: &[Step]) -> Option<Fact> {
    visible.iter().rev().find_map(|step| match &step.kind {
        StepKind::User { text, request: true } => Some(Fact::Request(flatten(text))),
        _ => None,
    })
}

fn plan(visible: &[Step]) -> Vec<Fact> {
    let newest = visible.iter().rev().filter_map(call_of).find_map(|call| call.plan.as_ref());
    let fact = |step: &crate::transcript::PlanStep| Fact::Plan(flatten(&step.text), step.state);
    newest.map(|steps| steps.iter().map(fact).collect()).unwrap_or_default()
}

fn call_of(step: &Step) -> Option<&Call> {
    match &step.kind {
        StepKind::Call(call) => Some(call),
        _ => None,
    }
}

/// True when every part of a command line only looks.
fn only_looks(command: &str) -> bool {
    command.split("&&").flat_map(|part| part.split([';', '|'])).all(|part| {
        let mut words = part.split_whitespace();
        match words.next() {
            Some("cd") | None => true,
            Some("git") => words.next().is_some_and(|verb| GIT_LOOKING.contains(&verb)),
            Some(word) => LOOKING.contains(&word),
        }
    })
}

#[cfg(test)]
mod tests;
