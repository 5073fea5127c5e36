//! The tools of Claude Code, by name; shell commands are handled by `rollout::tool`.

use serde::Deserialize;
use serde_json::Value;

use super::super::patch::{FileOp, Op};
use super::super::tool::{
    Action, Call, TodoItem, TodoStatus, VALUES_BYTES, WireTodo, slashed, values,
};
use crate::text;

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaudeArguments {
    #[serde(alias = "filePath", alias = "notebook_path")]
    file_path: Option<String>,
    path: Option<String>,
    content: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    new_source: Option<String>,
    edits: Vec<Edit>,
    todos: Vec<WireTodo>,
    subject: Option<String>,
    #[serde(rename = "taskId")]
    task_id: Option<Value>,
    status: Option<String>,
}

#[derive(Deserialize)]
struct Edit {
    #[serde(default)]
    old_string: String,
    #[serde(default)]
    new_string: String,
}

/// Interprets a call; `None` for tools that any agent may have, and for arguments of another shape.
pub(in crate::rollout) fn interpret(call: &Call<'_>) -> Option<Action> {
    if call.namespace.is_some() {
        return None;
    }
    let name = call.name.as_ref();
    let read = || serde_json::from_str::<ClaudeArguments>(&call.arguments).ok();
    match name {
        "Read" | "NotebookRead" => Some(Action::View { path: slash(&read()?.file_path?) }),
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => change(read()?),
        "Grep" | "Glob" | "LS" => Some(Action::Look {
            tool: name.to_owned(),
            values: values(&call.arguments),
            path: read()?.path.as_deref().map(slash),
        }),
        "ToolSearch" | "TaskOutput" | "BashOutput" | "AgentOutputTool" | "TaskGet" | "TaskList" => {
            let values = values(&call.arguments);
            Some(Action::Look { tool: name.to_owned(), values, path: None })
        }
        "TodoWrite" => {
            let step =
                |it: WireTodo| TodoItem { status: TodoStatus::of(&it.status), text: it.content };
            Some(Action::Plan(read()?.todos.into_iter().map(step).collect()))
        }
        "TaskCreate" => Some(Action::AddPlanItem { text: read()?.subject? }),
        "TaskUpdate" => update(read()?),
        "Task" | "Agent" => Some(Action::Other {
            tool: name.to_owned(),
            values: agent(&serde_json::from_str(&call.arguments).ok()?),
        }),
        _ => None,
    }
}

fn change(arguments: ClaudeArguments) -> Option<Action> {
    let path = slash(&arguments.file_path?);
    if let Some(content) = arguments.content {
        return Some(Action::Patch(vec![FileOp::write(path, content)]));
    }
    let mut op = FileOp::new(path, Op::Edited);
    let new = arguments.new_string.or(arguments.new_source).unwrap_or_default();
    let single = (arguments.old_string.unwrap_or_default(), new);
    let many = arguments.edits.into_iter().map(|edit| (edit.old_string, edit.new_string));
    for (old, new) in std::iter::once(single).chain(many) {
        op.replace(&old, &new);
    }
    Some(Action::Patch(vec![op]))
}

fn update(arguments: ClaudeArguments) -> Option<Action> {
    let id = match arguments.task_id? {
        Value::String(id) => id,
        other => other.to_string(),
    };
    let is_dropped = arguments.status.as_deref() == Some("deleted");
    let status = arguments.status.filter(|_| !is_dropped).map(|word| TodoStatus::of(&word));
    Some(Action::ChangePlanItem { id, status, is_dropped })
}

/// The input of a sub-agent, short values first.
fn agent(arguments: &Value) -> String {
    let words = ["subagent_type", "description", "prompt"];
    let words = words.iter().filter_map(|key| arguments.get(key)?.as_str());
    let joined = words.collect::<Vec<_>>().join(": ");
    text::prefix(&joined, VALUES_BYTES).to_owned()
}

fn slash(path: &str) -> String {
    slashed(path).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::tool::step_id;

    fn read(name: &str, arguments: &str) -> Action {
        crate::rollout::tool::interpret(&Call {
            call_id: "c".into(),
            name: name.into(),
            namespace: None,
            arguments: arguments.into(),
        })
    }

    #[test]
    fn tools_that_change_files() {
        for (name, arguments, op, changed) in [
            (
                "Edit",
                r#"{"file_path":"/w/a.rs","old_string":"one","new_string":"two"}"#,
                Op::Edited,
                "one\ntwo\n",
            ),
            (
                "MultiEdit",
                r#"{"file_path":"/w/a.rs","edits":[{"old_string":"one","new_string":"two"}]}"#,
                Op::Edited,
                "one\ntwo\n",
            ),
            (
                "Write",
                r#"{"file_path":"/w/a.rs","content":"one"}"#,
                Op::Created { content: Some("one".into()) },
                "one",
            ),
            ("NotebookEdit", r#"{"notebook_path":"/w/a.rs","new_source":"x"}"#, Op::Edited, "x\n"),
        ] {
            let Action::Patch(ops) = read(name, arguments) else { panic!("{name}") };
            let found = (ops[0].path.as_str(), &ops[0].op, ops[0].changed.as_str());
            assert_eq!(found, ("/w/a.rs", &op, changed), "{name}");
        }
    }

    #[test]
    fn polls_and_searches_for_tools_are_looks() {
        for name in
            ["ToolSearch", "TaskOutput", "BashOutput", "AgentOutputTool", "TaskGet", "TaskList"]
        {
            let expected = Action::Look { tool: name.into(), values: "b1".into(), path: None };
            assert_eq!(read(name, r#"{"bash_id":"b1"}"#), expected);
        }
    }

    #[test]
    fn tools_that_look_plan_and_delegate() {
        assert_eq!(
            read("Read", r#"{"file_path":"D:\\w\\a.rs","limit":3}"#),
            Action::View { path: "D:/w/a.rs".into() }
        );
        let Action::Look { path, .. } = read("Grep", r#"{"pattern":"x","path":"src"}"#) else {
            panic!()
        };
        assert_eq!(path.as_deref(), Some("src"));
        let todos = r#"{"todos":[{"content":"a","status":"completed","activeForm":"b"}]}"#;
        let done = TodoItem { text: "a".into(), status: TodoStatus::Done };
        assert_eq!(read("TodoWrite", todos), Action::Plan(vec![done]));
        assert_eq!(
            read("TaskUpdate", r#"{"taskId":"2","status":"in_progress"}"#),
            Action::ChangePlanItem {
                id: "2".into(),
                status: Some(TodoStatus::InProgress),
                is_dropped: false
            }
        );
        assert_eq!(step_id("Task #12 created successfully: b"), Some("12"));
        assert_eq!(
            read("Agent", r#"{"prompt":"do","description":"look","subagent_type":"explore"}"#),
            Action::Other { tool: "Agent".into(), values: "explore: look: do".into() }
        );
    }
}
