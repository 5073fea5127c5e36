//! Answers of tools, with their exit status as text.
//!
//! Claude Code reports a failure next to the text (`is_error`, `toolUseResult`), Codex inside it. We write
//! Codex's words, so that one parser reads all outputs, and an item carried over to another agent still says
//! how the command ended.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::super::{Item, output};
use super::Text;
use super::block::ToolResult;
use crate::tokens;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shell<'a> {
    stdout: Option<IgnoredAny>,
    interrupted: Option<bool>,
    #[serde(borrow)]
    background_task_id: Option<Text<'a>>,
    return_code_interpretation: Option<IgnoredAny>,
}

/// Prefix of a shell's error text, before the number.
const EXIT_CODE: &str = "Exit code ";

/// The output item of an answer and its estimated tokens.
pub(super) fn output<'a>(answer: &ToolResult<'a>, result: Option<&RawValue>) -> (Item<'a>, u64) {
    let text = in_codex_words(answer, result).map_or_else(|| answer.text.clone(), Cow::Owned);
    let tokens = tokens::of_bytes(text.len() as u64 + answer.images.cost);
    (Item::Output { call_id: answer.call_id.clone(), text, images: answer.images }, tokens)
}

fn in_codex_words(answer: &ToolResult<'_>, result: Option<&RawValue>) -> Option<String> {
    let text = answer.text.as_ref();
    if answer.is_error {
        if let Some(rest) = text.strip_prefix(EXIT_CODE) {
            let (code, printed) = rest.split_once('\n').unwrap_or((rest, ""));
            return Some(format!("Exit code: {}\nOutput:\n{printed}", code.trim()));
        }
        let is_refused = output::read(text).refused;
        return (!is_refused).then(|| format!("execution error: {text}"));
    }
    let shell = serde_json::from_str::<Shell<'_>>(result?.get()).ok()?;
    shell.stdout?;
    if let Some(id) = shell.background_task_id {
        return Some(format!("Process running with session ID {}\nOutput:\n{text}", id.0));
    }
    // A search without matches ends with a status of its own, which is not reported.
    let is_clean = shell.interrupted != Some(true) && shell.return_code_interpretation.is_none();
    is_clean.then(|| format!("Exit code: 0\nOutput:\n{text}"))
}
