//! Text and tags of the sections. Agents look for the tags in a history; the text is ours.

use crate::context::reference::{
    CollaborationMode, Environment, Model, Permissions, Personality, WorkingFolder,
};

/// Sent when a mode or personality ends and no other replaces it.
const MODE_ENDED: &str =
    "No collaboration mode is in force any more. Disregard the rules of the earlier one.";
const PERSONALITY_ENDED: &str =
    "No personality is asked for any more. Return to your usual manner of speaking.";
pub(super) const AGENTS_MD_GONE: &str =
    "The project no longer has instructions of its own. Disregard those given earlier.";
pub(super) const MEMORY_GONE: &str =
    "Nothing is remembered of earlier work any more. Disregard what was given earlier.";
const MODEL_SWITCHED: &str = "\
The work so far was done by another model. Go on from it under the instructions below, which are yours.";

/// Prefix of the message with a project's instructions, as in Codex.
pub(super) const AGENTS_MD_OPENING: &str = "# AGENTS.md instructions";

fn tagged(tag: &str, body: &str) -> String {
    format!("<{tag}>\n{}\n</{tag}>", body.trim_end())
}

pub(super) fn model(model: &Model) -> Option<String> {
    let words = model.instructions.trim();
    (!words.is_empty()).then(|| tagged("model_switch", &format!("{MODEL_SWITCHED}\n\n{words}")))
}

pub(super) fn permissions(permissions: &Permissions) -> String {
    let Permissions { profile, approval_policy, instructions } = permissions;
    let mut body = format!("Permission profile: {profile}\nApproval policy: {approval_policy}\n");
    if !instructions.is_empty() {
        body = format!("{body}\n{instructions}");
    }
    tagged("permissions instructions", &body)
}

pub(super) fn collaboration(mode: Option<&CollaborationMode>) -> String {
    let words = mode.map(|mode| mode.instructions.trim()).filter(|words| !words.is_empty());
    tagged("collaboration_mode", words.unwrap_or(MODE_ENDED))
}

pub(super) fn personality(personality: Option<&Personality>) -> String {
    let words = personality.map(|p| p.instructions.trim()).filter(|words| !words.is_empty());
    tagged("personality_spec", words.unwrap_or(PERSONALITY_ENDED))
}

pub(super) fn memory(text: &str) -> String {
    tagged("memory", if text.trim().is_empty() { MEMORY_GONE } else { text })
}

pub(super) fn agents_md(text: &str, folder: &str) -> String {
    let words = if text.trim().is_empty() { AGENTS_MD_GONE } else { text.trim_end() };
    format!("{AGENTS_MD_OPENING} for {folder}\n\n<INSTRUCTIONS>\n{words}\n</INSTRUCTIONS>")
}

/// Date and time zone always, folders and shells only when `with_places`.
pub(super) fn environment(environment: &Environment, with_places: bool) -> String {
    let mut lines = Vec::new();
    if with_places {
        match environment.places.as_slice() {
            [one] => lines.extend(place(one)),
            several => {
                for one in several {
                    let id = one.id.as_deref().map(|id| format!(" id=\"{}\"", escape(id)));
                    lines.push(format!("  <environment{}>", id.unwrap_or_default()));
                    lines.extend(place(one).into_iter().map(|line| format!("  {line}")));
                    lines.push("  </environment>".to_owned());
                }
            }
        }
    }
    lines.extend(environment.current_date.as_deref().map(|date| element("current_date", date)));
    lines.extend(environment.timezone.as_deref().map(|zone| element("timezone", zone)));
    if let Some(network) = &environment.network {
        lines.push("  <network enabled=\"true\">".to_owned());
        for (name, hosts) in [("allowed", &network.allowed), ("denied", &network.denied)] {
            lines.extend(hosts.iter().map(|host| format!("  {}", element(name, host))));
        }
        lines.push("  </network>".to_owned());
    }
    tagged("environment_context", &lines.join("\n"))
}

fn place(place: &WorkingFolder) -> Vec<String> {
    let mut lines = vec![element("cwd", &place.cwd)];
    lines.extend(place.shell.as_deref().map(|shell| element("shell", shell)));
    lines
}

fn element(name: &str, text: &str) -> String {
    format!("  <{name}>{}</{name}>", escape(text))
}

/// Escapes a folder's name, which must not end its element.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
