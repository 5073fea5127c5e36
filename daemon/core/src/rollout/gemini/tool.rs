//! The tools of Gemini CLI, by their names.

use serde::Deserialize;

use super::super::patch::{FileOp, Op};
use super::super::tool::{Action, Call, TodoItem, values};
use super::{Object, text};

#[derive(Deserialize, Default)]
#[serde(default)]
struct GeminiArguments {
    #[serde(alias = "absolute_path")]
    file_path: Option<String>,
    #[serde(alias = "path")]
    dir_path: Option<String>,
    directory: Option<String>,
    command: Option<String>,
    content: Option<String>,
    old_string: String,
    new_string: String,
    todos: Vec<Task>,
    agent_name: String,
    objective: String,
    prompt: String,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Task {
    description: String,
    status: String,
}

/// Parses a call's object: `id`, `name`, `args`.
pub(super) fn call(call: &Object) -> Call<'_> {
    Call {
        call_id: text(call, "id").unwrap_or_default().into(),
        name: text(call, "name").unwrap_or_default().into(),
        namespace: None,
        arguments: call.get("args").map_or_else(String::new, ToString::to_string).into(),
    }
}

/// Interprets a call; `None` for tools that any agent may have, and for arguments of another shape.
pub fn interpret(call: &Call<'_>) -> Option<Action> {
    let read = || serde_json::from_str::<GeminiArguments>(&call.arguments).ok();
    match call.name.as_ref() {
        "run_shell_command" => {
            let GeminiArguments { command, directory, dir_path, .. } = read()?;
            Some(Action::Shell { script: command?, workdir: directory.or(dir_path) })
        }
        "read_file" => Some(Action::View { path: read()?.file_path? }),
        "replace" => {
            let GeminiArguments { file_path, old_string, new_string, .. } = read()?;
            let mut op = FileOp::new(file_path?, Op::Edited);
            op.replace(&old_string, &new_string);
            Some(Action::Patch(vec![op]))
        }
        "write_file" => {
            let GeminiArguments { file_path, content, .. } = read()?;
            Some(Action::Patch(vec![FileOp::write(file_path?, content?)]))
        }
        "write_todos" => Some(Action::Plan(
            read()?
                .todos
                .into_iter()
                .filter_map(|todo| TodoItem::of(todo.description, &todo.status))
                .collect(),
        )),
        "glob" | "grep_search" | "search_file_content" | "list_directory" | "read_many_files" => {
            Some(Action::Look {
                tool: call.name.to_string(),
                values: values(&call.arguments),
                path: read().and_then(|arguments| arguments.dir_path),
            })
        }
        "invoke_agent" | "codebase_investigator" => {
            let GeminiArguments { agent_name, objective, prompt, .. } = read()?;
            let words = [agent_name, if prompt.is_empty() { objective } else { prompt }];
            let words = words.iter().filter(|words| !words.is_empty()).cloned();
            let values = words.collect::<Vec<_>>().join(": ");
            Some(Action::Other { tool: call.name.to_string(), values })
        }
        _ => None,
    }
}
