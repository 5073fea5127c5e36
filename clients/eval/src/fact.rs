//! Facts at a cut: the state of files, commands, tests, plan steps, the request and the last error. Unlike names, they
//! carry a meaning.

mod bound;
mod command;

pub use bound::{Words, holds};

use std::collections::{HashMap, HashSet};

use command::{is_read_only, segments};
use regex::Regex;

use crate::entity::{comparable_path, flatten};
use crate::transcript::{PatchAction, PlanState, REFUSED, Step, StepKind, Transcript};

/// The classes of bound facts; those that must be complete at 1,000 tokens come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum FactKind {
    /// A file that a patch created, edited or deleted, with that state.
    #[strum(serialize = "edited file")]
    EditedFile,
    /// The newest request of a person, verbatim.
    #[strum(serialize = "last request")]
    LastRequest,
    /// A recent command that does something, with its exit status.
    Command,
    /// A test command with pass or fail.
    Test,
    /// A step of the current plan with its state.
    #[strum(serialize = "plan step")]
    PlanStep,
    /// The message of the newest failure.
    #[strum(serialize = "last error")]
    LastError,
}

/// A subject with what a view must say about it.
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
    /// Lines, any of which states the error.
    Error(Vec<String>),
}

impl Fact {
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

    /// One line of text, for the oracle and for lists of misses.
    pub fn sentence(&self) -> String {
        match self {
            Self::File { paths, states } => {
                let path = paths.last().map_or("", String::as_str);
                format!("{path} {}", states.first().map_or("", |state| state.into_str()))
            }
            Self::Request(text) => text.clone(),
            Self::Command(command, code) => format!("{command} exit {code}"),
            Self::Test(command, true) => format!("{command} passed"),
            Self::Test(command, false) => format!("{command} failed"),
            Self::Plan(text, state) => format!("{text} {}", state.into_str()),
            Self::Error(lines) => lines.first().cloned().unwrap_or_default(),
        }
    }
}

/// Number of newest distinct commands, and of test commands, that count.
const COMMANDS_ASKED: usize = 8;

/// A part of a command line that runs tests: perhaps variables and runners first.
const TEST_COMMAND: &str = r"(?x)^
    (?:\w+=\S*\s+)*
    (?:(?:(?:uv|poetry|pdm|hatch|pipenv|rye)\s+run|python3?\s+-m|npx|bunx|time|timeout\s+\S+)\s+)*
    (?:\S*/)?
    (?:
        pytest | unittest | nosetests | tox | nox | jest | vitest | mocha | rspec | phpunit | ctest |
        (?:cargo|go|dotnet|mvn|gradle|gradlew|bun|deno|swift|mix|sbt|zig|make|npm|pnpm|yarn)
        (?:\s+(?:run|-[\w-]+|exec|workspace\s+\S+))*\s+(?:nextest|[\w:-]*tests?)
    )(?:\s|:|$)";

#[derive(Debug)]
pub struct FactReader {
    test_command: Regex,
    color: Regex,
    error_line: Regex,
}

impl FactReader {
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            test_command: Regex::new(TEST_COMMAND)?,
            color: Regex::new("\\x1b\\[[0-9;]*m")?,
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
        facts.extend(self.last_error(visible, &outcomes));
        facts
    }

    /// The newest outcome of each distinct command, newest first, bounded.
    fn commands(&self, visible: &[Step], outcomes: &Outcomes<'_>, facts: &mut Vec<Fact>) {
        let mut seen = HashSet::new();
        let (mut commands, mut tests) = (0, 0);
        for call in visible.iter().rev().filter_map(Step::call) {
            let Some(command) = call.command.as_deref().filter(|c| !c.contains('\n')) else {
                continue;
            };
            let Some(code) = outcomes.get(call.call_id.as_str()).and_then(|outcome| outcome.code)
            else {
                continue;
            };
            let command = flatten(command);
            if !seen.insert(command.clone()) {
                continue;
            }
            if segments(&command).iter().any(|part| self.test_command.is_match(part)) {
                if tests < COMMANDS_ASKED {
                    tests += 1;
                    facts.push(Fact::Test(command, code == 0));
                }
            } else if commands < COMMANDS_ASKED && !is_read_only(&command) {
                commands += 1;
                facts.push(Fact::Command(command, code));
            }
        }
    }

    /// The newest failure that no later run of the same command resolved.
    fn last_error(&self, visible: &[Step], outcomes: &Outcomes<'_>) -> Option<Fact> {
        let commands: HashMap<&str, &str> = visible
            .iter()
            .filter_map(Step::call)
            .filter_map(|call| Some((call.call_id.as_str(), call.command.as_deref()?)))
            .collect();
        let mut resolved: HashSet<&str> = HashSet::new();
        let failed = visible.iter().rev().find_map(|step| {
            let StepKind::Output(output) = &step.kind else { return None };
            let id = output.call_id.as_str();
            let command = commands.get(id).copied();
            if outcomes.get(id).is_some_and(|outcome| !outcome.failed) {
                resolved.extend(command);
            }
            let is_open = command.is_none_or(|command| !resolved.contains(command));
            let is_by_tool = !output.text.starts_with("aborted by user");
            (output.failed() && is_open && is_by_tool && !output.text.trim().is_empty())
                .then_some(output)
        })?;
        let plain = failed.text.lines().map(|line| flatten(&self.color.replace_all(line, "")));
        let lines: Vec<String> = plain.filter(|line| line.len() >= 4 && line != REFUSED).collect();
        let telling: Vec<String> =
            lines.iter().filter(|line| self.error_line.is_match(line)).cloned().collect();
        let lines =
            if telling.is_empty() { lines.into_iter().rev().take(3).collect() } else { telling };
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

/// What patches did to one file.
#[derive(Debug, Default)]
struct FileHistory {
    paths: Vec<String>,
    states: Vec<PatchAction>,
    /// The file existed before the session: its first patch did not create it.
    is_old: bool,
}

/// Replays the applied patches. A patch without an output before the cut does not count.
fn edited_files(visible: &[Step], outcomes: &Outcomes<'_>, transcript: &Transcript) -> Vec<Fact> {
    let mut order: Vec<String> = Vec::new();
    let mut files: HashMap<String, FileHistory> = HashMap::new();
    for call in visible.iter().filter_map(Step::call) {
        let applied = outcomes.get(call.call_id.as_str()).is_some_and(|outcome| !outcome.failed);
        for op in call.patches.iter().filter(|_| applied) {
            let key = comparable_path(&op.path, transcript).to_owned();
            if !files.contains_key(&key) {
                order.push(key.clone());
            }
            files.entry(key.clone()).or_default().patch([op.path.clone(), key], op.action);
        }
    }
    let fact = |key: &String| {
        let FileHistory { paths, states, .. } = files.remove(key)?;
        Some(Fact::File { paths, states })
    };
    order.iter().filter_map(fact).collect()
}

impl FileHistory {
    fn patch(&mut self, forms: [String; 2], action: PatchAction) {
        if self.states.is_empty() {
            self.is_old = action != PatchAction::Create;
        }
        for form in forms {
            if !self.paths.contains(&form) {
                self.paths.push(form);
            }
        }
        let was_created = self.states.contains(&PatchAction::Create);
        // Both words are true for a new file that was edited, and for an old one that was rewritten.
        let is_both = match action {
            PatchAction::Edit => was_created,
            PatchAction::Create => self.is_old || !self.states.is_empty(),
            PatchAction::Delete => false,
        };
        self.states =
            if is_both { vec![PatchAction::Create, PatchAction::Edit] } else { vec![action] };
    }
}

/// `None` if the person sent a prompt template and typed nothing.
fn last_request(visible: &[Step]) -> Option<Fact> {
    let newest = visible.iter().rev().find_map(Step::request);
    let words = flatten(user_input(newest?));
    (!words.is_empty()).then_some(Fact::Request(words))
}

/// The person's own text in a prompt template that fences it, such as spec-kit's.
fn user_input(text: &str) -> &str {
    let fenced = text.trim_start().strip_prefix("## User Input").map(str::trim_start);
    let words = fenced.and_then(|rest| rest.strip_prefix("```text")?.split_once("```"));
    words.map_or(text, |(words, _)| words.trim())
}

fn plan(visible: &[Step]) -> Vec<Fact> {
    let newest = visible.iter().rev().filter_map(Step::call).find_map(|call| call.plan.as_ref());
    let fact = |step: &crate::transcript::PlanStep| Fact::Plan(flatten(&step.text), step.state);
    newest.map(|steps| steps.iter().map(fact).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
