//! Reconstructs the initial context of a thread from its history, for a compaction in the middle of a turn
//! whose caller provides none. The harness sends the context at the start of a thread and later only what
//! changed, so the newest version of each section counts.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::classify::{Class, ClassifiedItem, classify};
use crate::context::diff::{OptIn, diff};
use crate::context::reference::{Environment, Settings};
use crate::item::MessageItem;
use crate::redact::redact;
use crate::rollout::{TurnSettings, contextual};

struct Section {
    about: String,
    role: String,
    text: String,
}

/// The initial context found in `items`: one developer message and one user message. If the items do not name
/// the working folder, it comes from `reference`, the settings that the transcript recorded for the last turn.
/// Empty if there is no context.
pub fn of_history(items: &[Box<RawValue>], reference: Option<&TurnSettings>) -> Vec<Value> {
    let mut sections: Vec<Section> = Vec::new();
    let mut is_begun = false;
    for classified in classify(items) {
        is_begun |= classified.class == Class::Request;
        if matches!(classified.class, Class::Context | Class::ModelSwitch) {
            read(&classified, is_begun, &mut sections);
        }
    }
    let has_environment = sections.iter().any(|section| section.about == ENVIRONMENT);
    let mut context: Vec<Value> = ["developer", "user"]
        .into_iter()
        .filter_map(|role| message(role, sections.iter().filter(|section| section.role == role)))
        .collect();
    if let Some(reference) = reference.filter(|_| !has_environment) {
        let nowhere = Settings { environment: Some(Environment::default()), ..Settings::default() };
        let environment = Settings::of_turn(reference, &nowhere).environment;
        let place = Settings { environment, ..Settings::default() };
        context.extend(diff(None, &place, OptIn::default()).items);
    }
    context
}

const ENVIRONMENT: &str = "environment_context";

/// A change of the environment that omits the folder: the other parts are unchanged.
const CHANGE: &str = "environment_context of the day";

fn read(classified: &ClassifiedItem<'_>, is_begun: bool, sections: &mut Vec<Section>) {
    let Some(MessageItem { role, texts }) = MessageItem::read(classified.raw.get()) else { return };
    let role = if role == "user" { role } else { "developer".to_owned() };
    for text in texts {
        let Some(about) = about(&role, &text, is_begun) else { continue };
        if about == ENVIRONMENT {
            sections.retain(|section| section.about != CHANGE);
        }
        match sections.iter_mut().find(|section| section.about == about) {
            Some(section) => section.text = text,
            None => sections.push(Section { about, role: role.clone(), text }),
        }
    }
}

/// The subject of a message's part; `None` if the part concerns only its own turn.
fn about(role: &str, text: &str, is_begun: bool) -> Option<String> {
    let text = text.trim_start();
    if text.is_empty() || contextual::is_model_switch(text) {
        return None;
    }
    let tag = text.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    match (role, tag) {
        (_, Some(ENVIRONMENT)) if !text.contains("<cwd>") => Some(CHANGE.to_owned()),
        (_, Some(tag @ (ENVIRONMENT | "longhaul_memory"))) | ("developer", Some(tag)) => {
            Some(tag.to_owned())
        }
        ("user", _) if contextual::is_standing(text) => Some("instructions".to_owned()),
        // The person's own instructions have no mark and come before the first request.
        ("developer", None) if !is_begun => Some(text.to_owned()),
        _ => None,
    }
}

fn message<'a>(role: &str, sections: impl Iterator<Item = &'a Section>) -> Option<Value> {
    let part =
        |section: &Section| json!({ "type": "input_text", "text": redact(&section.text).text });
    let parts: Vec<Value> = sections.map(part).collect();
    (!parts.is_empty()).then(|| json!({ "type": "message", "role": role, "content": parts }))
}

#[cfg(test)]
mod tests {
    use super::super::assemble::message;
    use super::*;

    fn words(items: &[Value], reference: Option<&TurnSettings>) -> Vec<(String, Vec<String>)> {
        let raw: Vec<_> =
            items.iter().map(|item| serde_json::value::to_raw_value(item).unwrap()).collect();
        let context = of_history(&raw, reference);
        let item = |item: &Value| MessageItem::read(&item.to_string()).unwrap();
        context.iter().map(item).map(|message| (message.role, message.texts)).collect()
    }

    #[test]
    fn the_newest_version_of_each_section_is_used_in_original_order() {
        let bundle = json!({ "type": "message", "role": "developer", "content": [
            { "type": "input_text", "text": "<permissions instructions>old" },
            { "type": "input_text", "text": "Answer in French." },
            { "type": "input_text", "text": "<model_switch>\nbe terse" }] });
        let environment = "<environment_context>\n<cwd>/w</cwd>\n</environment_context>";
        let day = "<environment_context>\n<current_date>2026-11-22</current_date>";
        let items = [
            bundle,
            message(
                "user",
                "# AGENTS.md instructions for /w\n<INSTRUCTIONS>\nRun tests.\n</INSTRUCTIONS>",
            ),
            message("user", environment),
            message("user", "Fix it."),
            message("user", "<turn_aborted>\nby the user"),
            message("developer", "a remark in between"),
            message("developer", "<permissions instructions>new"),
            message("user", day),
            message("assistant", "done"),
        ];
        let agents = "# AGENTS.md instructions for /w\n<INSTRUCTIONS>\nRun tests.\n</INSTRUCTIONS>";
        let expected = [
            ("developer", vec!["<permissions instructions>new", "Answer in French."]),
            ("user", vec![agents, environment, day]),
        ];
        let classified = words(&items, None);
        let classified: Vec<_> = classified
            .iter()
            .map(|(role, texts)| {
                (role.as_str(), texts.iter().map(String::as_str).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(classified, expected);
    }

    #[test]
    fn the_last_turns_settings_fill_what_the_history_lacks() {
        let turn = TurnSettings { cwd: Some("/w/demo".to_owned()), ..TurnSettings::default() };
        let items = [message("user", "Fix it."), message("assistant", "done")];
        let classified = words(&items, Some(&turn));
        assert_eq!(classified.len(), 1);
        assert!(classified[0].1[0].contains("<cwd>/w/demo</cwd>"), "{classified:?}");
        assert!(words(&items, None).is_empty(), "nothing is reported");
        let folder = "<environment_context>\n<cwd>/w</cwd>\n</environment_context>";
        let context = |first: Value| words(&[first, message("user", "Fix it.")], Some(&turn));
        assert_eq!(
            context(message("user", folder)),
            [("user".to_owned(), vec![folder.to_owned()])]
        );
        let day = "<environment_context>\n<current_date>2026-11-22</current_date>";
        let moved = folder.replace("/w", "/v");
        let items = [folder, day, moved.as_str(), "Fix it."].map(|text| message("user", text));
        assert_eq!(words(&items, None)[0].1, [moved], "it replaces what had changed before");
        let of_rules = context(message("developer", "Answer in French."));
        assert_eq!(of_rules[0].1, ["Answer in French."]);
        assert!(of_rules[1].1[0].contains("<cwd>/w/demo</cwd>"), "{of_rules:?}");
    }
}
