//! Fills what is left of a view with files and names in play, best first.

use super::super::files::{File, FileState};
use super::super::terms::{Anchor, Term, TermKind};
use super::draft::{Draft, Line, Place, Section};
use super::{Scene, ViewCaps, lines};
use crate::text::{cut, one_line};

/// A file or a name that may be added.
enum Candidate<'a> {
    File(&'a str, &'a File),
    Term(&'a str, &'a Term),
}

/// Candidates that may not fit before filling ends: the rest are worse, and small ones still fit.
const MISSES_MAX: usize = 24;

/// Bytes of a command shown only to say where names are from.
const SOURCE_BYTES: usize = 28;

/// Adds files and names until the budget is used.
pub(super) fn fill(draft: &mut Draft, scene: &Scene<'_>, caps: &ViewCaps) {
    let mut misses = 0;
    let mut artifacts = draft.lines(Section::Recent).len();
    for candidate in ranked(scene) {
        let added = match candidate {
            Candidate::File(key, file) => {
                let place = Place::File(key.to_owned());
                if draft.has(&place) || artifacts >= caps.max_recent_artifacts {
                    continue;
                }
                let added = draft.push(Section::Recent, file_line(scene, key, file));
                artifacts += usize::from(added);
                added
            }
            Candidate::Term(text, term) => {
                if draft.holds(text) || is_known_file(scene, text, term) {
                    continue;
                }
                term_added(draft, scene, text, term)
            }
        };
        if !added {
            misses += 1;
            if misses > MISSES_MAX || draft.room() < 8 {
                break;
            }
        }
    }
}

/// Whether a path is one of the files that compete for a line of their own.
fn is_known_file(scene: &Scene<'_>, text: &str, term: &Term) -> bool {
    term.kind == TermKind::Path
        && scene.state.files.find(text, scene.state.cwd.as_deref()).is_some()
}

fn ranked<'a>(scene: &Scene<'a>) -> Vec<Candidate<'a>> {
    let now = scene.state.seq;
    let files = scene.state.files.iter().filter(|(_, file)| !file.state.is_change());
    let mut all: Vec<(u64, &str, Candidate<'a>)> =
        files.map(|(key, file)| (file_score(file, now), key, Candidate::File(key, file))).collect();
    let terms = scene.state.terms.iter();
    all.extend(
        terms
            .map(|(text, term)| (term.score(scene.state.calls), text, Candidate::Term(text, term))),
    );
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    all.into_iter().map(|(_, _, candidate)| candidate).collect()
}

fn file_score(file: &File, now: u64) -> u64 {
    let weight = match file.state {
        FileState::Named => 4,
        FileState::Searched => 6,
        _ => 10 + 3 * u64::from(file.reads.min(5)),
    };
    weight * 1_000_000 / (60 + now.saturating_sub(file.seq))
}

fn file_line(scene: &Scene<'_>, key: &str, file: &File) -> Line {
    let text = format!(
        "- file: {} ({})",
        lines::shown_path(scene, key, file),
        lines::file_words(scene, key, file)
    );
    Line::at(0, Place::File(key.to_owned()), text)
}

fn term_added(draft: &mut Draft, scene: &Scene<'_>, text: &str, term: &Term) -> bool {
    let place = match &term.anchor {
        Anchor::File(key) => Place::File(key.to_string()),
        Anchor::Command(seq) => Place::Command(*seq),
        Anchor::Talk => Place::Talk,
    };
    if let Some(added) = draft.name(&place, text) {
        return added;
    }
    let line = match &place {
        Place::File(key) => match scene.state.files.get(key) {
            Some(file) => file_line(scene, key, file),
            None => Line::at(0, place.clone(), format!("- file: {key}")),
        },
        Place::Command(seq) => source_line(scene, *seq),
        Place::Talk => Line::at(0, Place::Talk, "- mentioned".to_owned()),
    };
    if line.text.contains(text) {
        return draft.push(Section::Recent, line);
    }
    // The line alone would say nothing: it enters only if the name fits too.
    line.text.len() + text.len() + 4 <= draft.room()
        && draft.push(Section::Recent, line)
        && draft.name(&place, text).unwrap_or(false)
}

/// Says where names are from when the command itself has no line.
fn source_line(scene: &Scene<'_>, seq: u64) -> Line {
    let command = scene.state.commands.newest().find(|command| command.seq == seq);
    let text = match command {
        Some(command) => format!(
            "- from `{}`",
            cut(&one_line(lines::script_head(scene, &command.text)), SOURCE_BYTES)
        ),
        None => format!("- from #{seq}"),
    };
    Line::at(0, Place::Command(seq), text)
}
