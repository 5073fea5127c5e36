//! The purpose of a tool call, independent of the tool's name.
//!
//! `shell` with an argv, `shell_command` with a string, `exec_command` with `cmd`, a custom `apply_patch`, a
//! patch inside a shell heredoc, `exec` with JavaScript: all map to the same few actions.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::{patch, shell};
use crate::text;
use crate::thread::Source;

#[derive(Debug)]
pub struct Call<'a> {
    /// Pairs it with its output.
    pub call_id: Cow<'a, str>,
    pub name: Cow<'a, str>,
    /// MCP server or tool family.
    pub namespace: Option<Cow<'a, str>>,
    /// Decoded arguments: JSON text, or the free text of a custom tool.
    pub arguments: Cow<'a, str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoItem {
    pub text: String,
    pub status: TodoStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TodoStatus {
    Pending,
    InProgress,
    Done,
}

/// A todo as Claude Code and OpenCode write it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireTodo {
    pub(super) content: String,
    pub(super) status: String,
}

impl TodoItem {
    /// `None` for one that was cancelled.
    pub(super) fn of(text: String, status: &str) -> Option<Self> {
        (status != "cancelled").then(|| Self { text, status: TodoStatus::of(status) })
    }
}

impl TodoStatus {
    /// All agents use the same words.
    pub(super) fn of(word: &str) -> Self {
        match word {
            "completed" | "done" => Self::Done,
            "in_progress" => Self::InProgress,
            _ => Self::Pending,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    Shell {
        script: String,
        workdir: Option<String>,
    },
    Patch(Vec<patch::FileOp>),
    Plan(Vec<TodoItem>),
    /// Adds an item to the plan; the answer has its id.
    AddPlanItem {
        text: String,
    },
    ChangePlanItem {
        id: String,
        status: Option<TodoStatus>,
        /// The item was cancelled.
        is_dropped: bool,
    },
    /// Searches or lists, and changes nothing.
    Look {
        tool: String,
        /// What it searches for and how, in words.
        values: String,
        /// Where, if it says.
        path: Option<String>,
    },
    View {
        path: String,
    },
    Other {
        tool: String,
        /// String values of the arguments, joined by spaces.
        values: String,
    },
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Arguments {
    cmd: Option<String>,
    command: Option<Script>,
    workdir: Option<String>,
    working_directory: Option<String>,
    input: Option<String>,
    patch: Option<String>,
    path: Option<String>,
    plan: Option<Vec<WireStep>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Script {
    Line(String),
    Argv(Vec<String>),
}

#[derive(Deserialize)]
struct WireStep {
    step: String,
    #[serde(default)]
    status: String,
}

/// Bytes of a generic call's values to keep.
pub(super) const VALUES_BYTES: usize = 2_000;

pub fn interpret(call: &Call<'_>) -> Action {
    let text = call.arguments.as_ref();
    if call.name == "apply_patch" && text.trim_start().starts_with("***") {
        return Action::Patch(patch::parse(text));
    }
    if call.name == "exec" && !text.trim_start().starts_with('{') {
        return code_mode(text);
    }
    let mut vocabularies = Source::ALL.iter().filter_map(|source| source.spec().interpret);
    if let Some(action) = vocabularies.find_map(|interpret| interpret(call)) {
        return action;
    }
    let arguments = serde_json::from_str::<Arguments>(text).unwrap_or_default();
    let workdir = arguments.workdir.or(arguments.working_directory);
    match (call.name.as_ref(), arguments.command, arguments.cmd) {
        ("apply_patch", _, _) => {
            Action::Patch(patch::parse(&arguments.input.or(arguments.patch).unwrap_or_default()))
        }
        ("update_plan", _, _) => {
            let steps = arguments.plan.unwrap_or_default().into_iter();
            let step =
                |it: WireStep| TodoItem { status: TodoStatus::of(&it.status), text: it.step };
            Action::Plan(steps.map(step).collect())
        }
        ("view_image", _, _) => Action::View { path: arguments.path.unwrap_or_default() },
        (_, Some(Script::Argv(argv)), _) => {
            let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
            match argv.as_slice() {
                ["apply_patch" | "applypatch", body] => Action::Patch(patch::parse(body)),
                _ => script(shell::script_of(&argv), workdir),
            }
        }
        (_, Some(Script::Line(line)), _) | (_, None, Some(line)) => script(line, workdir),
        _ => other(call),
    }
}

/// The script that a call runs, even where [`interpret`] sees a patch in it: the script may have other
/// commands.
pub fn script_of(call: &Call<'_>) -> Option<String> {
    let arguments = serde_json::from_str::<Arguments>(call.arguments.as_ref()).ok()?;
    match (arguments.command, arguments.cmd) {
        (Some(Script::Argv(argv)), _) => {
            let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
            Some(shell::script_of(&argv))
        }
        (Some(Script::Line(line)), _) | (None, Some(line)) => Some(line),
        (None, None) => None,
    }
}

/// A script whose only purpose is a patch becomes a patch.
fn script(script: String, workdir: Option<String>) -> Action {
    match patch::in_script(&script) {
        Some(body) => {
            let mut ops = patch::parse(body);
            let entered = shell::entered_folder(&script);
            for folder in [entered, workdir.as_deref()] {
                ops.iter_mut().for_each(|op| op.resolve(folder));
            }
            Action::Patch(ops)
        }
        None => Action::Shell { script, workdir },
    }
}

/// JavaScript that calls tools: its commands are reported by events, its patch may not be.
fn code_mode(code: &str) -> Action {
    match patch::in_script(code) {
        Some(body) => Action::Patch(patch::parse(&body.replace("\\n", "\n"))),
        None => {
            Action::Other { tool: "exec".into(), values: text::prefix(code, VALUES_BYTES).into() }
        }
    }
}

/// A call that polls a running command, or stops it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poll {
    /// Session id of the running command.
    pub session: String,
    pub stops: bool,
}

/// The arguments of polls: Codex's `write_stdin`, Claude Code's `BashOutput`, `TaskOutput`, `KillShell` and
/// `TaskStop`.
#[derive(Deserialize)]
struct PollArguments {
    #[serde(alias = "bash_id", alias = "task_id", alias = "shell_id")]
    session_id: Value,
}

/// The session that a call polls or stops, if it does either.
pub fn poll(call: &Call<'_>) -> Option<Poll> {
    let stops = match call.name.rsplit("__").next()? {
        "write_stdin" | "BashOutput" | "TaskOutput" => false,
        "KillShell" | "KillBash" | "TaskStop" => true,
        _ => return None,
    };
    let session = match serde_json::from_str::<PollArguments>(&call.arguments).ok()?.session_id {
        Value::String(id) => id,
        other => other.to_string(),
    };
    Some(Poll { session, stops })
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PermissionArguments {
    with_escalated_permissions: bool,
    sandbox_permissions: Option<String>,
    #[serde(rename = "dangerouslyDisableSandbox")]
    disables_sandbox: bool,
}

/// Whether a command asks to run outside the agent's sandbox.
pub fn leaves_sandbox(call: &Call<'_>) -> bool {
    if !["_permissions", "Sandbox"].iter().any(|mark| call.arguments.contains(mark)) {
        return false;
    }
    let asked = serde_json::from_str::<PermissionArguments>(&call.arguments).unwrap_or_default();
    asked.with_escalated_permissions
        || asked.disables_sandbox
        || asked.sandbox_permissions.as_deref() == Some("require_escalated")
}

/// Whether a call reaches beyond the machine: the web, or an MCP server.
pub fn is_outside(call: &Call<'_>) -> bool {
    let has = |mark: &&str| {
        let name = call.name.as_bytes();
        name.windows(mark.len()).any(|part| part.eq_ignore_ascii_case(mark.as_bytes()))
    };
    call.namespace.is_some()
        || text::prefix(&call.name, 5).eq_ignore_ascii_case("mcp__")
        || ["web", "fetch", "browse", "http"].iter().any(has)
}

/// Whether a call asks longhaul itself (`clients/mcp`, by its names in Codex and in Claude Code). The daemon
/// already knows the answer, and must not record it as the agent's finding.
pub fn is_ours(call: &Call<'_>) -> bool {
    call.namespace.as_deref() == Some("mcp__longhaul") || call.name.starts_with("mcp__longhaul__")
}

fn other(call: &Call<'_>) -> Action {
    let tool = match &call.namespace {
        Some(namespace) => format!("{namespace}.{}", call.name),
        None => call.name.to_string(),
    };
    Action::Other { tool, values: values(&call.arguments) }
}

/// The string values of arguments, joined by spaces.
pub(super) fn values(arguments: &str) -> String {
    let mut values = String::new();
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => collect_strings(&value, &mut values),
        Err(_) => values.push_str(text::prefix(arguments, VALUES_BYTES)),
    }
    values
}

fn collect_strings(value: &Value, out: &mut String) {
    if out.len() >= VALUES_BYTES {
        return;
    }
    match value {
        Value::String(text) => {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(text::prefix(text, VALUES_BYTES));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, out)),
        Value::Object(map) => map.values().for_each(|item| collect_strings(item, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The id in `Task #3 created successfully: …`.
pub fn step_id(answer: &str) -> Option<&str> {
    let rest = text::prefix(answer, 200).split_once('#')?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// A Windows path with slashes, which shells and compilers accept there too; other paths unchanged.
pub fn slashed(path: &str) -> Cow<'_, str> {
    let bytes = path.as_bytes();
    let has_drive = bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    let is_windows = has_drive && matches!(bytes[2], b'\\' | b'/') || path.starts_with("\\\\");
    match is_windows && path.contains('\\') {
        true => Cow::Owned(path.replace('\\', "/")),
        false => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, arguments: &str) -> Action {
        interpret(&Call {
            call_id: "c".into(),
            name: name.into(),
            namespace: None,
            arguments: arguments.into(),
        })
    }

    #[test]
    fn every_way_to_run_a_script() {
        let expected = |workdir: Option<&str>| Action::Shell {
            script: "cargo test".into(),
            workdir: workdir.map(str::to_owned),
        };
        for (name, arguments, workdir) in [
            ("shell", r#"{"command":["bash","-lc","cargo test"],"workdir":"/w"}"#, Some("/w")),
            ("shell", r#"{"command":["cargo","test"]}"#, None),
            ("shell_command", r#"{"command":"cargo test"}"#, None),
            ("exec_command", r#"{"cmd":"cargo test","yield_time_ms":1000}"#, None),
            ("local_shell", r#"{"command":["/bin/zsh","-lc","cargo test"]}"#, None),
        ] {
            assert_eq!(read(name, arguments), expected(workdir), "{name} {arguments}");
        }
    }

    #[test]
    fn every_way_to_patch() {
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+it's\n*** End Patch\n";
        let argument = serde_json::to_string(patch).unwrap();
        let heredoc = serde_json::to_string(&format!("apply_patch <<'EOF'\n{patch}EOF")).unwrap();
        for (name, arguments) in [
            ("apply_patch", patch.to_owned()),
            ("apply_patch", format!(r#"{{"input":{argument}}}"#)),
            ("shell", format!(r#"{{"command":["apply_patch",{argument}]}}"#)),
            ("shell", format!(r#"{{"command":["bash","-lc",{heredoc}]}}"#)),
            ("exec_command", format!(r#"{{"cmd":{heredoc}}}"#)),
        ] {
            let Action::Patch(ops) = read(name, &arguments) else { panic!("{name} {arguments}") };
            let content = Some("it's\n".to_owned());
            assert_eq!((&*ops[0].path, &ops[0].op), ("a.txt", &patch::Op::Created { content }));
        }
    }

    #[test]
    fn plans_and_unknown_tools() {
        let plan =
            r#"{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"in_progress"}]}"#;
        let Action::Plan(steps) = read("update_plan", plan) else { panic!() };
        assert_eq!(steps[1], TodoItem { text: "b".into(), status: TodoStatus::InProgress });
        assert_eq!(
            read("lookup", r#"{"q":"alpha","n":3,"deep":["beta"]}"#),
            Action::Other { tool: "lookup".into(), values: "beta alpha".into() }
        );
    }

    #[test]
    fn the_paths_of_a_patch_are_those_of_the_folder_it_runs_in() {
        let patch =
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: PATH\n+hi\n*** End Patch\nEOF";
        for (enters, path, workdir, expected) in [
            ("", "a.rs", None, "a.rs"),
            ("", "a.rs", Some("/w/"), "/w/a.rs"),
            ("", "/x/a.rs", Some("/w"), "/x/a.rs"),
            ("cd /w/web && ", "a.rs", None, "/w/web/a.rs"),
            ("cd /w/web && ", "/x/a.rs", None, "/x/a.rs"),
            ("cd web && ", "a.rs", None, "web/a.rs"),
            ("cd web && ", "a.rs", Some("/w"), "/w/web/a.rs"),
            ("cd ~/web && ", "a.rs", Some("/w"), "~/web/a.rs"),
            ("cd C:/web && ", "a.rs", Some("/w"), "C:/web/a.rs"),
        ] {
            let script = format!("{enters}{}", patch.replace("PATH", path));
            let arguments = serde_json::json!({ "command": script, "workdir": workdir });
            let Action::Patch(ops) = read("shell", &arguments.to_string()) else {
                panic!("{script}")
            };
            assert_eq!(ops[0].path, expected, "{enters}{path} in {workdir:?}");
        }
    }

    #[test]
    fn code_that_calls_tools_is_told_from_a_script() {
        let other =
            |tool: &str, values: &str| Action::Other { tool: tool.into(), values: values.into() };
        let script = Action::Shell { script: "ls".into(), workdir: None };
        for (name, arguments, expected) in [
            ("exec", r#"{"cmd":"ls"}"#, script),
            ("exec", "await tools.find('x')", other("exec", "await tools.find('x')")),
            ("freeform", "plain words", other("freeform", "plain words")),
        ] {
            assert_eq!(read(name, arguments), expected, "{name} {arguments}");
        }
        let code =
            r#"await tools.apply_patch("*** Begin Patch\n*** Delete File: a.rs\n*** End Patch")"#;
        let Action::Patch(ops) = read("exec", code) else { panic!() };
        assert_eq!(ops[0].path, "a.rs");
    }

    #[test]
    fn calls_that_reach_beyond_the_machine() {
        for (namespace, name, expected) in [
            (None, "mcp__docs__find", true),
            (None, "WebFetch", true),
            (None, "browser_open", true),
            (Some("docs"), "find", true),
            (None, "shell", false),
            (None, "Read", false),
        ] {
            let (call_id, arguments) = ("c".into(), "{}".into());
            let namespace = namespace.map(Into::into);
            let call = Call { call_id, name: name.into(), namespace, arguments };
            assert_eq!(is_outside(&call), expected, "{call:?}");
        }
    }

    #[test]
    fn the_id_of_a_new_step_is_its_number() {
        for (answer, expected) in [
            ("Task #12 created successfully: fix it", Some("12")),
            ("Task #3", Some("3")),
            ("Task # created", None),
            ("Task created", None),
        ] {
            assert_eq!(step_id(answer), expected, "{answer}");
        }
    }

    #[test]
    fn only_windows_paths_get_slashes() {
        for (path, expected) in [
            (r"C:\w\a.rs", "C:/w/a.rs"),
            (r"C:/w\a.rs", "C:/w/a.rs"),
            (r"\\host\share\a.rs", "//host/share/a.rs"),
            (r"a\b.rs", r"a\b.rs"),
            (r"1:\a.rs", r"1:\a.rs"),
            (r"/w/a\ b.rs", r"/w/a\ b.rs"),
            ("C:", "C:"),
        ] {
            assert_eq!(slashed(path), expected, "{path}");
        }
    }
}
