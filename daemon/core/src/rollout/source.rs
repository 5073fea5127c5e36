//! What a source of transcripts specifies: everything that depends on the agent that wrote them. Each source is
//! specified in its own file.

use serde_json::Value;

use super::Entry;
use super::continuation::{Continuation, NewTranscript};
use super::records::Records;
use super::tool::{Action, Call};

/// Passes each entry of a line to a visitor; see [`SourceSpec::read`].
pub type ReadLine = fn(&[u8], bool, &mut dyn FnMut(Entry<'_>));

/// Converts a line to items; see [`SourceSpec::responses`].
pub type ToResponses = fn(&[u8]) -> Vec<Value>;

/// Interprets a call of an agent's own tools; see [`SourceSpec::interpret`].
pub type Interpret = fn(&Call<'_>) -> Option<Action>;

/// Composes a transcript; see [`SourceSpec::continuation`].
pub type Continue = fn(&Continuation<'_>) -> NewTranscript;

#[derive(Debug)]
pub struct SourceSpec {
    /// The agent's name for people.
    pub title: &'static str,
    /// The agent's home; `None` for transcripts that the daemon writes itself.
    pub home: Option<Home>,
    /// Folders with transcripts, relative to the home.
    pub folders: &'static [Folder],
    /// Which files in these folders are transcripts.
    pub files: &'static [FilePattern],
    /// Parses one line. The flag requests the thread's identity from sources that repeat it in every line.
    pub read: ReadLine,
    /// Whether a line that is too long to be read is an item of the history, judged by its first bytes.
    pub is_item: fn(&str) -> bool,
    /// Converts a line to items of the Responses API; `None` if lines already contain such items.
    pub responses: Option<ToResponses>,
    /// Interprets a call of the agent's own tools; returns `None` for calls it does not know.
    pub interpret: Option<Interpret>,
    /// The command that resumes a thread, before its id; empty if there is none.
    pub resume: &'static [&'static str],
    /// Tells a person how to undo a compaction in the agent's open session, with `{compaction_id}` for its id; empty
    /// if the agent offers no way to do so.
    pub session_undo: &'static str,
    /// Composes a transcript of a compacted thread that the agent can resume; `None` if it cannot resume transcripts
    /// of ours.
    pub continuation: Option<Continue>,
    pub reads_agents_md: bool,
    /// Whether the first line is Codex's `session_meta`, which a continuation copies.
    pub has_session_meta: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Home {
    pub folder: &'static str,
    /// Environment variable that overrides the folder.
    pub variable: &'static str,
}

/// A folder with transcripts, searched recursively.
#[derive(Debug, Clone, Copy)]
pub struct Folder {
    pub path: &'static str,
    /// Whether the agent moves finished threads there.
    pub archived: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct FilePattern {
    pub prefix: &'static str,
    /// Suffix of the name, without `.zst`.
    pub suffix: &'static str,
    pub layout: Layout,
}

/// How a transcript is stored on disk.
#[derive(Debug, Clone, Copy)]
pub enum Layout {
    /// Lines in a file that only grows at its end; compressed with zstd if its name ends in `.zst`.
    Lines,
    /// A file that is rewritten or changed in places, read as a whole and converted to lines.
    Assembled(Assembly),
    /// Records in many files or in rows of a database, read as a whole and converted to lines.
    Records(Records),
}

/// Converts a transcript that is rewritten or changed in places to lines that only grow at the end.
#[derive(Debug, Clone, Copy)]
pub struct Assembly {
    /// Name of a folder that the transcript must be in, directly or further below.
    pub within: Option<&'static str>,
    /// Name of a file in one of the folders above the transcript; `lines` receives its text.
    pub marker: Option<&'static str>,
    /// Converts the file to lines; returns `None` if the file is not complete.
    pub lines: fn(&[u8], TranscriptPlace<'_>) -> Option<Vec<u8>>,
}

/// What is known about a transcript besides its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct TranscriptPlace<'a> {
    pub path: &'a str,
    /// The text of the [`Assembly::marker`], if there is one.
    pub marker: Option<&'a str>,
}

impl SourceSpec {
    /// The layout of a file; `None` if it is not a transcript.
    pub fn layout(&self, path: &str) -> Option<Layout> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // A leading dot marks a file that its agent is still creating.
        if name.starts_with('.') {
            return None;
        }
        let plain = name.strip_suffix(".zst");
        let fits = |files: &&FilePattern| match (plain, files.layout) {
            (Some(plain), Layout::Lines) => files.holds(plain),
            (_, Layout::Assembled(Assembly { within, .. })) => {
                files.holds(name)
                    && within.is_none_or(|within| folder.split('/').any(|folder| folder == within))
            }
            (_, Layout::Records(Records { storage, .. })) => {
                files.holds(name) && storage.holds_session_in(folder)
            }
            _ => files.holds(name),
        };
        self.files.iter().find(fits).map(|files| files.layout)
    }

    /// Whether positions in the transcript are positions in the file, as they are unless it is compressed or
    /// converted to lines.
    pub fn has_places_of_file(&self, path: &str) -> bool {
        matches!(self.layout(path), None | Some(Layout::Lines)) && !path.ends_with(".zst")
    }
}

impl FilePattern {
    fn holds(&self, name: &str) -> bool {
        name.starts_with(self.prefix) && name.ends_with(self.suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::super::codex;
    use super::*;
    use crate::thread::Source;

    #[test]
    fn a_name_is_parsed_and_never_guessed() {
        for &source in Source::ALL {
            assert_eq!(source.name().parse(), Ok(source));
        }
        for name in ["", "Codex", "codex ", "other"] {
            assert!(name.parse::<Source>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn transcripts_are_recognized_by_name() {
        let document = codex::SPEC.layout("rollout-2025-05-01-f.json");
        assert!(matches!(document, Some(Layout::Assembled(_))), "{document:?}");
        for source in [Source::Codex, Source::Claude, Source::Longhaul] {
            for name in ["a.jsonl", "b.jsonl.zst"] {
                let layout = source.spec().layout(name);
                assert!(matches!(layout, Some(Layout::Lines)), "{source:?} {name}");
            }
            for name in ["d.json", ".e.jsonl", "rollout-f.json.zst", "g.zst", ""] {
                assert!(source.spec().layout(name).is_none(), "{source:?} {name}");
            }
        }
    }
}
