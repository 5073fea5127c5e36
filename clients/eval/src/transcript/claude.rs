//! Reads the lines of Claude Code, independently of the daemon.
//!
//! Messages hold blocks, and tools have their own names and arguments. Windows paths are compared with forward slashes,
//! which shells there also accept.

use serde_json::{Map, Value};

use super::call::{PlanState, PlanStep};
use super::patch::{PatchAction, PatchOp};
use super::{Call, Output, REFUSED, StepKind, Summary, Transcript, between, string};
use crate::drive::on_drive;

/// Whether a line is one of Claude Code's.
pub(crate) fn is_line(object: &Map<String, Value>) -> bool {
    const KINDS: [&str; 4] = ["user", "assistant", "attachment", "system"];
    let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
    object.contains_key("sessionId") || (KINDS.contains(&kind) && object.contains_key("uuid"))
}

impl Transcript {
    pub(super) fn claude_line(&mut self, object: &Map<String, Value>, start: usize, end: usize) {
        let get = |key: &str| object.get(key).and_then(Value::as_str);
        let is = |key: &str| object.get(key).and_then(Value::as_bool) == Some(true);
        let agent = get("agentId");
        if is("isSidechain") && agent.is_none() {
            return;
        }
        if self.thread_id.is_none() && get("cwd").is_some() {
            self.thread_id = agent.or(get("sessionId")).map(str::to_owned);
        }
        self.add_cwd(&on_drive(get("cwd").unwrap_or_default()));
        let content = object.get("message").and_then(|message| message.get("content"));
        match get("type") {
            Some("user") if is("isCompactSummary") => {
                let text = said(content).join("\n");
                let (step, before) = (self.steps.len(), start);
                self.push(end, StepKind::Assistant(text.clone()));
                self.summaries.push(Summary { step, before, text });
            }
            Some("user") => {
                let result = object.get("toolUseResult");
                for block in blocks(content).filter(|block| string(block, "type") == "tool_result")
                {
                    self.answered(block, result, end);
                }
                for text in said(content) {
                    self.push(end, asked(&text, is("isMeta")));
                }
            }
            Some("assistant") => blocks(content).for_each(|block| self.spoken(block, end)),
            Some("attachment") => {
                if let Some(kind) = object.get("attachment").and_then(attached) {
                    self.push(end, kind);
                }
            }
            _ => {}
        }
    }

    fn spoken(&mut self, block: &Value, end: usize) {
        match block.get("type").and_then(Value::as_str) {
            Some(kind @ ("text" | "thinking")) => {
                self.push(end, StepKind::Assistant(on_drive(&string(block, kind))));
            }
            Some("tool_use") => self.push(end, StepKind::Call(call(block))),
            _ => {}
        }
    }

    fn answered(&mut self, block: &Value, result: Option<&Value>, end: usize) {
        let output = output(block, result);
        // Only the answer says whether a written file is new.
        if result.is_some_and(|result| string(result, "type") == "update") {
            let id = output.call_id.as_str();
            let written = self.steps.iter_mut().rev().find_map(|step| match &mut step.kind {
                StepKind::Call(call) if call.call_id == id => Some(call),
                _ => None,
            });
            if let Some(call) = written {
                call.patches.iter_mut().for_each(|op| op.action = PatchAction::Edit);
            }
        }
        self.push(end, StepKind::Output(output));
    }
}

fn blocks(content: Option<&Value>) -> impl Iterator<Item = &Value> {
    content.and_then(Value::as_array).into_iter().flatten()
}

/// The texts of a content, without tool results.
fn said(content: Option<&Value>) -> Vec<String> {
    match content {
        Some(Value::String(text)) => vec![text.clone()],
        _ => blocks(content)
            .filter(|block| string(block, "type") == "text")
            .map(|block| string(block, "text"))
            .collect(),
    }
}

/// Text in the user's role: a request, unless the program wrote it.
fn asked(text: &str, is_meta: bool) -> StepKind {
    let mut words = text.to_owned();
    while let (Some(from), Some(to)) =
        (words.find("<system-reminder>"), words.find("</system-reminder>"))
    {
        if to < from {
            break;
        }
        words.replace_range(from..to + "</system-reminder>".len(), "");
    }
    let words = on_drive(words.trim());
    // A command that sends a prompt begins with its message, one that the program runs itself with its name.
    if words.starts_with("<command-message>") {
        let inside = |tag: &str| {
            between(&words, &format!("<{tag}>"), &format!("</{tag}>")).unwrap_or_default().trim()
        };
        let command = format!("{} {}", inside("command-name"), inside("command-args"));
        return StepKind::User { text: command.trim().to_owned(), request: !is_meta };
    }
    // Members of a team take orders from its leader.
    if words.starts_with("<teammate-message teammate_id=\"team-lead\"") {
        let order = between(&words, "\">", "</teammate-message>").unwrap_or_default().trim();
        return StepKind::User { text: order.to_owned(), request: !order.starts_with('{') };
    }
    const NOTICES: [&str; 7] = [
        "[Request interrupted",
        "<command-",
        "<teammate-message",
        "<local-command-",
        "<task-notification>",
        "<bash-",
        "Caveat: The messages below",
    ];
    let is_notice = is_meta || NOTICES.iter().any(|start| words.starts_with(start));
    StepKind::User { text: words, request: !is_notice }
}

/// The text of an attachment: standing instructions, or a notice.
fn attached(attachment: &Value) -> Option<StepKind> {
    const INJECTED: [&str; 7] = [
        "nested_memory",
        "skill_listing",
        "agent_listing_delta",
        "mcp_instructions_delta",
        "deferred_tools_delta",
        "hook_additional_context",
        "hook_success",
    ];
    const SHOWN: [&str; 5] =
        ["file", "edited_text_file", "selected_lines_in_ide", "diagnostics", "task_status"];
    let kind = string(attachment, "type");
    let mut text = String::new();
    strings(attachment, &mut text);
    let text = on_drive(&text);
    match kind.as_str() {
        "queued_command" => {
            let is_notice = string(attachment, "commandMode") == "task-notification";
            Some(asked(&string(attachment, "prompt"), is_notice))
        }
        kind if INJECTED.contains(&kind) => Some(StepKind::Context(text)),
        kind if SHOWN.contains(&kind) => Some(StepKind::User { text, request: false }),
        _ => None,
    }
}

fn strings(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(fields) => fields.values().for_each(|item| strings(item, out)),
        _ => {}
    }
}

fn call(block: &Value) -> Call {
    let name = string(block, "name");
    let mut call = Call { call_id: string(block, "id"), name, ..Call::default() };
    let input = block.get("input").unwrap_or(&Value::Null);
    let file = ["file_path", "filePath", "notebook_path"].iter().find_map(|key| input.get(key));
    let path = file.and_then(Value::as_str).map(on_drive);
    match (call.name.as_str(), path) {
        ("Edit" | "MultiEdit" | "Write" | "NotebookEdit", Some(path)) => {
            let is_whole = call.name == "Write";
            let action = if is_whole { PatchAction::Create } else { PatchAction::Edit };
            call.add_argument(&path);
            let mut body = String::new();
            bodies(input, &mut body);
            call.add_argument(&body);
            call.patches.push(PatchOp { path, action });
        }
        ("Bash" | "PowerShell", _) => {
            let command = on_drive(string(input, "command").trim());
            call.add_argument(&command);
            call.command = Some(command);
        }
        ("TodoWrite", _) => {
            let steps = blocks(input.get("todos")).map(step).collect();
            call.plan = Some(steps);
        }
        _ => values(&mut call, "", input),
    }
    call
}

/// Old and new text of an edit, and whole contents; not its path and switches.
fn bodies(input: &Value, out: &mut String) {
    for key in ["content", "old_string", "new_string", "new_source"] {
        let text = string(input, key);
        if !text.is_empty() {
            out.push_str(&text);
            out.push('\n');
        }
    }
    blocks(input.get("edits")).for_each(|edit| bodies(edit, out));
}

fn step(todo: &Value) -> PlanStep {
    let state = match string(todo, "status").as_str() {
        "completed" => PlanState::Completed,
        "in_progress" => PlanState::InProgress,
        _ => PlanState::Pending,
    };
    PlanStep { text: string(todo, "content"), state }
}

fn values(call: &mut Call, key: &str, value: &Value) {
    match value {
        // A description is for the person; modes are the tool's own words.
        Value::String(_) if matches!(key, "description" | "output_mode" | "model") => {}
        Value::String(text) => call.add_argument(&on_drive(text)),
        Value::Array(items) => items.iter().for_each(|item| values(call, key, item)),
        Value::Object(fields) => fields.iter().for_each(|(key, item)| values(call, key, item)),
        _ => {}
    }
}

fn output(block: &Value, result: Option<&Value>) -> Output {
    let text = match block.get("content") {
        Some(Value::String(text)) => text.clone(),
        content => said(content).join("\n"),
    };
    let call_id = string(block, "tool_use_id");
    if block.get("is_error").and_then(Value::as_bool) == Some(true) {
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let code = first.strip_prefix("Exit code ").and_then(|code| code.trim().parse().ok());
        return match code {
            Some(code) => Output { call_id, text: on_drive(rest), exit_code: Some(code) },
            None => {
                Output { call_id, text: format!("{REFUSED}\n{}", on_drive(&text)), exit_code: None }
            }
        };
    }
    let has =
        |key: &str| result.is_some_and(|result| !result[key].is_null() && result[key] != false);
    let ended = has("stdout") && !has("interrupted") && !has("backgroundTaskId");
    let exit_code = (ended && !has("returnCodeInterpretation")).then_some(0);
    Output { call_id, text: on_drive(&text), exit_code }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Step;
    use super::*;

    fn read(lines: &[Value]) -> Transcript {
        let text: String = lines
            .iter()
            .map(|more| {
                let mut line =
                    json!({"sessionId": "s", "cwd": "D:\\w", "uuid": "u", "type": "user"});
                line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                format!("{line}\n")
            })
            .collect();
        Transcript::parse(text.as_bytes())
    }

    #[test]
    fn calls_and_outcomes_are_read() {
        let call = |id: &str, name: &str, input: &Value| {
            json!({"type": "assistant", "message": {"content": [
                {"type": "tool_use", "id": id, "name": name, "input": input}]}})
        };
        let answer = |id: &str, text: &str, is_error: bool, result: &Value| {
            json!({"toolUseResult": result, "message": {"content": [
                {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]}})
        };
        let read = read(&[
            json!({"message": {"content": "go<system-reminder>x</system-reminder>"}}),
            call("a", "Bash", &json!({"command": "make", "description": "Build"})),
            answer("a", "Exit code 2\nboom", true, &json!("Error")),
            call("b", "Write", &json!({"file_path": "D:\\w\\src\\a.rs", "content": "x"})),
            answer("b", "updated", false, &json!({"type": "update"})),
            call("c", "Bash", &json!({"command": "ls"})),
            answer("c", "a.rs", false, &json!({"stdout": "a.rs", "interrupted": false})),
        ]);
        assert_eq!((read.malformed, read.thread_id.as_deref()), (0, Some("s")));
        assert_eq!(read.cwds, ["/d/w"]);
        let outputs: Vec<_> = read
            .steps
            .iter()
            .filter_map(|step| match &step.kind {
                StepKind::Output(output) => Some((output.exit_code, output.text.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(outputs, [(Some(2), "boom"), (None, "updated"), (Some(0), "a.rs")]);
        let patch = read.steps.iter().find_map(|step| step.call()?.patches.first().cloned());
        let expected = PatchOp { path: "/d/w/src/a.rs".into(), action: PatchAction::Edit };
        assert_eq!(patch, Some(expected));
        assert_eq!(read.steps[0].request(), Some("go"));
    }

    #[test]
    fn summaries_and_notices_are_not_requests() {
        let read = read(&[
            json!({"message": {"content": "<command-name>/compact</command-name>"}}),
            json!({"isCompactSummary": true, "message": {"content": "So far"}}),
            json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "more"}}),
            json!({"isSidechain": true, "message": {"content": "of another"}}),
            json!({"message": {"content": "<teammate-message teammate_id=\"a\">\nDone.\n</teammate-message>"}}),
            json!({"message": {"content": "<teammate-message teammate_id=\"team-lead\" summary=\"go\">\nFix it.\n</teammate-message>"}}),
            json!({"message": {"content": "<command-message>quick</command-message>\n<command-name>/quick</command-name>\n<command-args>a page</command-args>"}}),
        ]);
        assert_eq!(read.summaries.len(), 1);
        assert_eq!((read.summaries[0].step, read.summaries[0].text.as_str()), (1, "So far"));
        let requests: Vec<_> = read.steps.iter().filter_map(Step::request).collect();
        assert_eq!(requests, ["more", "Fix it.", "/quick a page"]);
    }
}
