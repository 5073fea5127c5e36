//! The tools of OpenCode, by their names.

use serde::Deserialize;

use super::super::patch::{self, FileOp, Op};
use super::super::tool::{Action, Call, TodoItem, WireTodo, values};
use super::{Object, text};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct OpenCodeArguments {
    file_path: Option<String>,
    path: Option<String>,
    command: Option<String>,
    workdir: Option<String>,
    content: Option<String>,
    old_string: String,
    new_string: String,
    edits: Vec<Edit>,
    patch_text: Option<String>,
    todos: Option<Vec<WireTodo>>,
    #[serde(rename = "subagent_type")]
    subagent_type: String,
    description: String,
    prompt: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Edit {
    old_string: String,
    new_string: String,
}

pub(super) fn call(part: &Object) -> Call<'_> {
    let input = part.get("state").and_then(|state| state.get("input"));
    Call {
        call_id: text(part, "callID").unwrap_or_default().into(),
        name: text(part, "tool").unwrap_or_default().into(),
        namespace: None,
        arguments: input.map_or_else(String::new, ToString::to_string).into(),
    }
}

/// Interprets a call; `None` for tools that any agent may have, and for arguments of another shape.
pub fn interpret(call: &Call<'_>) -> Option<Action> {
    let name = call.name.as_ref();
    let read = || serde_json::from_str::<OpenCodeArguments>(&call.arguments).ok();
    match name {
        "bash" => {
            let OpenCodeArguments { command, workdir, .. } = read()?;
            Some(Action::Shell { script: command?, workdir })
        }
        "read" => Some(Action::View { path: read()?.file_path? }),
        "edit" | "multiedit" | "write" => change(read()?),
        "apply_patch" | "patch" => Some(Action::Patch(patch::parse(&read()?.patch_text?))),
        "todowrite" => Some(Action::Plan(
            read()?
                .todos?
                .into_iter()
                .filter_map(|todo| TodoItem::of(todo.content, &todo.status))
                .collect(),
        )),
        "grep" | "glob" | "list" => Some(Action::Look {
            tool: name.to_owned(),
            values: values(&call.arguments),
            path: read()?.path,
        }),
        "task" => {
            let OpenCodeArguments { subagent_type, description, prompt, .. } = read()?;
            let words = [subagent_type, description, prompt].join(": ");
            Some(Action::Other { tool: name.to_owned(), values: words })
        }
        _ => None,
    }
}

fn change(arguments: OpenCodeArguments) -> Option<Action> {
    let path = arguments.file_path?;
    if let Some(content) = arguments.content {
        return Some(Action::Patch(vec![FileOp::write(path, content)]));
    }
    let mut op = FileOp::new(path, Op::Edited);
    op.replace(&arguments.old_string, &arguments.new_string);
    arguments.edits.iter().for_each(|edit| op.replace(&edit.old_string, &edit.new_string));
    Some(Action::Patch(vec![op]))
}
