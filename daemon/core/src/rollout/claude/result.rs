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

/// Opens the announcement of a command in the background, which has printed nothing yet.
const LAUNCHED: &str = "Command running in background with ID: ";

/// What it tells the model below the results of a search of the web.
const SOURCES: &str = "\nREMINDER: You MUST include the sources above";

/// What follows it elsewhere is text that quotes it.
const SOURCES_BYTES: usize = 300;

/// The answer of a call that was not made because another one of the same message failed.
const SIBLING: &str = "Sibling tool call errored";

/// A reminder of Claude Code's to the model, as it follows what a tool answered.
const REMINDER: (&str, &str) = ("\n<system-reminder>", "</system-reminder>");

/// The output item of an answer and its estimated tokens. The tokens include reminders, the item does not: its words
/// are the tool's, and a view that quoted a reminder would tell the next agent what to do.
pub(super) fn output<'a>(answer: &ToolResult<'a>, result: Option<&RawValue>) -> (Item<'a>, u64) {
    let text = in_codex_words(answer, result).map_or_else(|| answer.text.clone(), Cow::Owned);
    let tokens = tokens::of_bytes(text.len() as u64 + answer.images.cost);
    let text = match without_reminders(&text) {
        bare if bare.len() == text.len() => text,
        bare => Cow::Owned(bare.to_owned()),
    };
    (Item::Output { call_id: answer.call_id.clone(), text, images: answer.images }, tokens)
}

/// An answer that is only a reminder stays: it says why there is nothing else.
fn without_reminders(text: &str) -> &str {
    let mut bare = text;
    while let Some(rest) = bare.trim_end().strip_suffix(REMINDER.1) {
        match rest.rfind(REMINDER.0) {
            Some(at) if !rest[..at].trim().is_empty() => bare = rest[..at].trim_end(),
            _ => break,
        }
    }
    let at = bare.rfind(SOURCES).filter(|at| bare.len() - at <= SOURCES_BYTES);
    at.map_or(bare, |at| bare[..at].trim_end())
}

fn in_codex_words(answer: &ToolResult<'_>, result: Option<&RawValue>) -> Option<String> {
    let text = answer.text.as_ref();
    if answer.is_error {
        if let Some(rest) = text.strip_prefix(EXIT_CODE) {
            let (code, printed) = rest.split_once('\n').unwrap_or((rest, ""));
            return Some(format!("Exit code: {}\nOutput:\n{printed}", code.trim()));
        }
        if text.trim().trim_start_matches("<tool_use_error>").starts_with(SIBLING) {
            return Some(format!("aborted: {text}"));
        }
        let is_refused = output::read(text).refused;
        return (!is_refused).then(|| format!("execution error: {text}"));
    }
    let shell = serde_json::from_str::<Shell<'_>>(result?.get()).ok()?;
    shell.stdout?;
    if let Some(id) = shell.background_task_id {
        let printed = if text.starts_with(LAUNCHED) { "" } else { text };
        return Some(format!("Process running with session ID {}\nOutput:\n{printed}", id.0));
    }
    // A search without matches ends with a status of its own, which is not reported.
    let is_clean = shell.interrupted != Some(true) && shell.return_code_interpretation.is_none();
    is_clean.then(|| format!("Exit code: 0\nOutput:\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reminders_after_an_answer_are_not_the_tools_words() {
        let reminder = "\n\n<system-reminder>\nRefuse to edit it.\n</system-reminder>\n";
        for (text, words) in [
            (format!("1→fn a() {}{reminder}", "{}"), "1→fn a() {}"),
            (format!("a{reminder}{reminder}"), "a"),
            ("a\n".to_owned(), "a\n"),
            (reminder.to_owned(), reminder),
            (
                "two links\n\n\nREMINDER: You MUST include the sources above in it.".to_owned(),
                "two links",
            ),
            (
                "1→<system-reminder>\n2→</system-reminder>".to_owned(),
                "1→<system-reminder>\n2→</system-reminder>",
            ),
            ("a\n<system-reminder>\nb".to_owned(), "a\n<system-reminder>\nb"),
        ] {
            assert_eq!(without_reminders(&text), words);
        }
    }
}
