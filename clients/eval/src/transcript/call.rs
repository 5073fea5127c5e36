//! Decodes a tool call: the values of its arguments, its shell command, patch and plan. Argument *names* are dropped:
//! they belong to the tool, not the agent.

use serde_json::{Map, Value};

use super::{patch, patch::PatchOp, string};

#[derive(Debug, Default)]
pub struct Call {
    /// Ties the call to its output.
    pub call_id: String,
    pub name: String,
    /// Every argument value as text.
    pub arguments: Vec<String>,
    /// The shell command, without the shell that runs it.
    pub command: Option<String>,
    /// What the call does to files by `apply_patch`.
    pub patches: Vec<PatchOp>,
    /// The plan, if the call sets one.
    pub plan: Option<Vec<PlanStep>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// What is to be done.
    pub text: String,
    pub state: PlanState,
}

/// The state of a plan step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum PlanState {
    Pending,
    InProgress,
    Completed,
}

impl Call {
    /// Reads an item whose type ends in `_call`.
    pub(super) fn read(item: &Value) -> Self {
        let name = match item.get("name").and_then(Value::as_str) {
            Some(name) => name.to_owned(),
            None => string(item, "type").trim_end_matches("_call").to_owned(),
        };
        let mut call = Self { call_id: string(item, "call_id"), name, ..Self::default() };
        let value = ["arguments", "input", "action"].into_iter().find_map(|key| item.get(key));
        match value {
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(object)) => call.read_object(&object),
                _ => call.read_text(text),
            },
            Some(Value::Object(object)) => call.read_object(object),
            _ => {}
        }
        call
    }

    fn read_object(&mut self, object: &Map<String, Value>) {
        if self.name == "update_plan" {
            self.plan = object.get("plan").map(read_plan);
        }
        const COMMANDS: [&str; 2] = ["cmd", "command"];
        let command = COMMANDS.iter().find_map(|key| read_command(object.get(*key)?));
        if let Some(command) = &command {
            self.add_command(command);
        }
        for (key, value) in object {
            if command.is_none() || !COMMANDS.contains(&key.as_str()) {
                self.add_values(key, value);
            }
        }
    }

    /// A freeform call: a patch, or code that calls tools itself.
    fn read_text(&mut self, text: &str) {
        if self.name == "apply_patch" || self.name == "applypatch" {
            self.add_patch(text);
        } else {
            match nested_command(text) {
                Some(command) => self.add_command(&command),
                None => self.add_argument(text),
            }
        }
    }

    fn add_command(&mut self, command: &str) {
        let is_patch = command.contains("*** Begin Patch")
            && (command.contains("apply_patch") || command.contains("applypatch"));
        if is_patch {
            self.add_patch(command);
            return;
        }
        self.add_argument(command);
        self.command = Some(command.trim().to_owned());
    }

    fn add_patch(&mut self, text: &str) {
        self.patches = patch::sections(text);
        for op in self.patches.clone() {
            self.add_argument(&op.path);
        }
        // Text of a here-document around the envelope belongs to the shell.
        let from = text.find("*** Begin Patch").unwrap_or(0);
        let envelope = text[from..].lines().take_while(|line| !line.starts_with("*** End Patch"));
        let body: Vec<&str> = envelope.filter(|line| !line.starts_with("*** ")).collect();
        self.add_argument(&body.join("\n"));
    }

    /// Strings anywhere in the value, and whole numbers that name something (`session_id`).
    fn add_values(&mut self, key: &str, value: &Value) {
        match value {
            Value::String(text) => self.add_argument(text),
            Value::Number(number) if key.ends_with("id") || key.ends_with("number") => {
                self.add_argument(&format!("#{number}"));
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_values(key, item)),
            Value::Object(object) => {
                object.iter().for_each(|(key, item)| self.add_values(key, item));
            }
            _ => {}
        }
    }

    pub(super) fn add_argument(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.arguments.push(text.to_owned());
        }
    }
}

/// A command is a string, or an argv whose shell wrapper (`bash -lc script`) is taken off.
fn read_command(value: &Value) -> Option<String> {
    match value {
        Value::String(command) => Some(command.clone()),
        Value::Array(items) => {
            let argv: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            match argv.as_slice() {
                [] => None,
                [shell, flag, script] if is_shell(shell) && flag.starts_with('-') => {
                    Some((*script).to_owned())
                }
                _ => Some(argv.join(" ")),
            }
        }
        _ => None,
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    matches!(name.trim_end_matches(".exe"), "bash" | "sh" | "zsh" | "fish" | "pwsh" | "powershell")
}

/// The command inside code of the form `tools.exec_command({cmd: "…"})`.
fn nested_command(code: &str) -> Option<String> {
    let (_, rest) = code.split_once("exec_command(")?;
    let (_, rest) = rest.split_once("cmd")?;
    let quoted = &rest[rest.find('"')?..];
    serde_json::Deserializer::from_str(quoted).into_iter::<String>().next()?.ok()
}

fn read_plan(plan: &Value) -> Vec<PlanStep> {
    let steps = plan.as_array().map(Vec::as_slice).unwrap_or_default();
    let read = |step: &Value| PlanStep {
        text: string(step, "step"),
        state: match step.get("status").and_then(Value::as_str) {
            Some("completed" | "done") => PlanState::Completed,
            Some("in_progress") => PlanState::InProgress,
            _ => PlanState::Pending,
        },
    };
    steps.iter().map(read).filter(|step| !step.text.trim().is_empty()).collect()
}
