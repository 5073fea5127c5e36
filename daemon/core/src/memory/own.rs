//! Recognizes text that the daemon put into a thread, so that memory never learns from itself.
//!
//! Our memory reaches a thread in three ways: injected in a frame, read from the memory folder by a command or
//! tool, or repeated line by line by an agent that read it. Extraction skips all three: the frame by its marks,
//! the reads by their paths, the repetitions by digests of the published lines. Otherwise each session would
//! confirm what the previous one taught.

use std::collections::HashSet;
use std::sync::Arc;

use super::learning::LearningKind;
use super::{Files, usage};
use crate::digest::Digest128;
use crate::rollout::contextual;
use crate::rollout::shell::Command;
use crate::rollout::tool::Call;
use crate::step::Origin;

/// First line of injected memory.
pub const OPENING: &str = "<longhaul_memory>";

pub const CLOSING: &str = "</longhaul_memory>";

/// First lines of the files of the memory folder.
pub(super) const TITLES: [&str; 3] = ["# Memory\n", "# Memory summary\n", "# Raw memories\n"];

/// Beginning of the mark of a note that no person confirmed.
pub(super) const UNCONFIRMED: &str = "unconfirmed";

/// Names of origins in files of earlier versions.
const ORIGINS_BEFORE: [&str; 4] = ["user", "file", "tool_output", "web"];

/// Minimum bytes of a line to be recognized as ours.
const LINE_BYTES_MIN: usize = 24;

/// Opening and closing marks of our text.
const FRAMES: [(&str, &str); 2] =
    [(OPENING, CLOSING), (contextual::INJECTED_OPENING, "</longhaul_context>")];

/// Openings of our views and summaries, which have no closing mark and extend to the end of the text.
const VIEWS: [&str; 2] = [contextual::VIEW_HEADER, contextual::SUMMARY_OPENING];

/// Text of ours to recognize. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Own {
    roots: Vec<String>,
    lines: Arc<HashSet<u128>>,
}

impl Own {
    /// `roots` are all absolute paths of the memory folder; `published` are its files.
    pub fn new(roots: Vec<String>, published: &Files) -> Self {
        let lines = published.values().flat_map(|text| text.lines()).filter_map(mark).collect();
        Self { roots, lines: Arc::new(lines) }
    }

    /// Removes framed parts and published lines from a tool's output or an agent's message.
    pub fn strip(&self, text: &str) -> String {
        unframed(text, |line| {
            is_marked(line) || mark(line).is_some_and(|mark| self.lines.contains(&mark))
        })
    }

    /// Removes framed parts, our files, and lines with our source mark from a person's message. Published rules
    /// stay: a continued thread is extracted again, and the person may have stated the rule in it.
    pub fn strip_person(&self, text: &str) -> String {
        let begun = text.trim_start();
        let is_record =
            begun.starts_with("---\ndescription: ") && begun.contains("\ntask_outcome: ");
        let is_file = is_record || TITLES.iter().any(|title| begun.starts_with(title));
        if is_file { String::new() } else { unframed(text, is_marked) }
    }

    /// Whether a call only reads memory, so that extraction skips it and its answer.
    pub fn is_read(&self, call: &Call<'_>) -> bool {
        let named = |text: &str| text.starts_with("memory_") || text.contains("longhaul");
        named(&call.name)
            || call.namespace.as_deref().is_some_and(named)
            || call.arguments.contains("longhaul memory")
            || self.roots.iter().any(|root| call.arguments.contains(root.as_str()))
    }

    /// Whether commands read memory or run longhaul.
    pub fn is_read_by(&self, commands: &[Command], folder: Option<&str>) -> bool {
        commands.iter().any(runs_longhaul)
            || !usage::reads(commands, folder, &self.roots).is_empty()
    }
}

/// The lines outside our frames for which `ours` is false.
fn unframed(text: &str, ours: impl Fn(&str) -> bool) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut frame: Option<&str> = None;
    for line in text.lines() {
        let bare = line.trim();
        if VIEWS.iter().any(|view| bare.starts_with(view)) {
            break;
        }
        let opened = FRAMES.iter().find(|(opening, _)| bare.contains(opening));
        frame = frame.or(opened.map(|(_, closing)| *closing));
        let is_closed = FRAMES.iter().any(|(_, closing)| bare.contains(closing));
        if frame.is_none() && !is_closed && !ours(bare) {
            kept.push_str(line);
            kept.push('\n');
        }
        if frame.is_some_and(|closing| bare.contains(closing)) {
            frame = None;
        }
    }
    kept
}

/// Whether a command runs longhaul, which prints what is already known.
fn runs_longhaul(command: &Command) -> bool {
    let program = command.words.first().map(|word| word.rsplit(['/', '\\']).next().unwrap_or(word));
    program.is_some_and(|program| program == "longhaul" || program == "longhaul.exe")
}

/// Whether a line ends with a source mark of our files and views:
/// `[user #7]`, `[user, 2026-05-01, …; id 0a…]`, `(constraint, 2026-05-01)`.
fn is_marked(line: &str) -> bool {
    let inside = |open: char, close: char| {
        line.strip_suffix(close)?.rsplit_once(open).map(|(_, inside)| inside)
    };
    let of_origin = inside('[', ']').is_some_and(|mark| {
        let word = mark.split([' ', ',']).next().unwrap_or_default();
        let is_origin = Origin::ALL.iter().any(|origin| origin.name() == word);
        (is_origin || ORIGINS_BEFORE.contains(&word)) && mark.contains('#')
            || mark.contains("; id ")
    });
    let of_kind =
        inside('(', ')').and_then(|mark| mark.split_once(", ")).is_some_and(|(word, day)| {
            let is_kind = LearningKind::ALL.iter().any(|kind| kind.into_str() == word);
            is_kind && day.len() == 10 || word == UNCONFIRMED
        });
    of_origin || of_kind
}

/// Digest of a line without list marks, quotes and surrounding space.
fn mark(line: &str) -> Option<u128> {
    let bare = line.trim().trim_start_matches(['-', '*', '>', '#', ' ']).trim();
    (bare.len() >= LINE_BYTES_MIN).then(|| Digest128::of(bare.as_bytes()).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_text_is_removed() {
        let rule = "- always run `just check` before a commit";
        let own = Own::new(vec![], &Files::from([("MEMORY.md".into(), format!("# M\n{rule}\n"))]));
        let text = format!("fix it\n{OPENING}\nuse tabs\n{CLOSING}\n> {rule}\nthen stop");
        assert_eq!(own.strip(&text), "fix it\nthen stop\n");
        assert_eq!(own.strip("use tabs"), "use tabs\n");
        assert_eq!(own.strip_person(rule), format!("{rule}\n"));
        for marked in [
            "- use tabs [user #7]",
            "- use tabs [user, 2026-05-01, t1 #7; id 0a1b2c]",
            "- use tabs (constraint, 2026-05-01)",
            "- use tabs [person, 2026-05-01, t1 #7; id 0a1b2c]",
            "- \"use tabs\" (unconfirmed, agent, 2026-05-01)",
        ] {
            assert_eq!(own.strip_person(marked), "", "{marked}");
        }
        for plain in ["see [the docs]", "run it (please, do)", "[user]"] {
            assert_eq!(own.strip_person(plain), format!("{plain}\n"));
        }
    }

    #[test]
    fn only_whole_marks_and_files_are_ours() {
        let own = Own::new(vec!["/m".into()], &Files::new());
        for line in [
            "- use tabs [users #7]",
            "- use tabs [user 7]",
            "- use tabs (constraints, 2026-05-01)",
            "- use tabs (constraint, soon)",
            "- use tabs (unconfirmed)",
        ] {
            assert_eq!(own.strip_person(line), format!("{line}\n"));
            assert_eq!(own.strip(line), format!("{line}\n"));
        }
        let record = "---\ndescription: \"x\"\ntask_outcome: success\n---\nuse tabs\n";
        assert_eq!(own.strip_person(record), "");
        for other in [record.replace("task_", "my_"), record.replace("---\ndesc", "desc")] {
            assert_eq!(own.strip_person(&other), other);
        }
        for title in TITLES {
            assert_eq!(own.strip_person(&format!("{title}\nuse tabs\n")), "");
        }
    }

    #[test]
    fn a_call_that_names_our_tools_or_folder_reads_memory() {
        let own = Own::new(vec!["/m".into()], &Files::new());
        let is_read = |namespace: Option<&str>, name: &str, arguments: &str| {
            own.is_read(&Call {
                call_id: "c1".into(),
                namespace: namespace.map(Into::into),
                name: name.into(),
                arguments: arguments.into(),
            })
        };
        for (namespace, name, arguments) in [
            (None, "memory_search", "{}"),
            (None, "mcp__longhaul__search", "{}"),
            (Some("mcp__longhaul__"), "search", "{}"),
            (None, "shell", "longhaul memory search x"),
            (None, "read", r#"{"path":"/m/MEMORY.md"}"#),
        ] {
            assert!(is_read(namespace, name, arguments), "{namespace:?} {name} {arguments}");
        }
        for (namespace, name, arguments) in [
            (None, "search_memory_", "{}"),
            (Some("mcp__web__"), "fetch", "{}"),
            (None, "shell", "long memory search x"),
            (None, "read", r#"{"path":"/n/MEMORY.md"}"#),
        ] {
            assert!(!is_read(namespace, name, arguments), "{namespace:?} {name} {arguments}");
        }
    }
}
