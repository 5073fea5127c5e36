//! What tells the transcripts of one agent from those of another: one table a source, in a file of its
//! own. Everything that depends on the agent asks its table.

use serde_json::Value;

use super::Entry;
use super::continuation::{Continuation, NewTranscript};
use super::records::Records;
use super::tool::{Action, Call};

/// Shows what a line holds; see [`SourceSpec::read`].
pub type ReadLine = fn(&[u8], bool, &mut dyn FnMut(Entry<'_>));

/// Gives a line as items; see [`SourceSpec::responses`].
pub type ToResponses = fn(&[u8]) -> Vec<Value>;

/// Reads a call of an agent's own tools; see [`SourceSpec::interpret`].
pub type Interpret = fn(&Call<'_>) -> Option<Action>;

/// Composes a transcript; see [`SourceSpec::continuation`].
pub type Continue = fn(&Continuation<'_>) -> NewTranscript;

/// All that is particular to a source.
#[derive(Debug)]
pub struct SourceSpec {
    /// As people call the agent.
    pub title: &'static str,
    /// Where the agent lives; `None` for transcripts that the daemon keeps itself.
    pub home: Option<Home>,
    /// Folders with transcripts, below the home.
    pub folders: &'static [Folder],
    /// The files in them that are transcripts.
    pub files: &'static [FilePattern],
    /// Reads one line (or one item of a document, one row of a database). The flag says whether the
    /// thread's identity is wanted where every line repeats it.
    pub read: ReadLine,
    /// Whether a line over the bound is a history item, by its first bytes.
    pub is_item: fn(&str) -> bool,
    /// A line as items of the Responses API; `None` where a line already holds such an item.
    pub responses: Option<ToResponses>,
    /// What a call of the agent's own tools does; `None` for calls it does not know.
    pub interpret: Option<Interpret>,
    /// The command that resumes a thread whose id follows; empty where there is none.
    pub resume: &'static [&'static str],
    /// Makes a transcript that the agent resumes, out of a compacted thread; `None` where it takes none of ours.
    pub continuation: Option<Continue>,
    /// The agent reads `AGENTS.md`.
    pub reads_agents_md: bool,
    /// The first line is Codex's `session_meta`, which a continuation takes over.
    pub has_session_meta: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Home {
    pub folder: &'static str,
    /// Environment variable that names another place.
    pub variable: &'static str,
}

/// A folder with transcripts, searched with all folders below it.
#[derive(Debug, Clone, Copy)]
pub struct Folder {
    pub path: &'static str,
    /// The agent moved there what it is done with.
    pub archived: bool,
}

/// Files that are transcripts, by their names.
#[derive(Debug, Clone, Copy)]
pub struct FilePattern {
    /// What the name begins with.
    pub prefix: &'static str,
    /// What it ends with, before `.zst`.
    pub suffix: &'static str,
    /// How such a file is read.
    pub layout: Layout,
}

/// How a transcript stands on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Lines in a file that grows at its end; compressed with zstd where its name goes on with `.zst`.
    Lines,
    /// One JSON document, rewritten as a whole.
    Document(Document),
    /// A file that is changed in places, read as a whole and put into lines.
    Assembled(Assembly),
    /// Records in many files or in rows of a database, read as a whole and put into lines.
    Records(Records),
}

/// How a transcript that is changed in places becomes lines which, as it goes on, are only added to.
#[derive(Debug, Clone, Copy)]
pub struct Assembly {
    /// A folder it lies in, or in one of whose folders.
    pub within: &'static str,
    /// Name of a file in a folder above it whose text is told to `lines`.
    pub marker: &'static str,
    /// Puts the file into lines.
    pub lines: fn(&[u8], Beside<'_>) -> Vec<u8>,
}

/// What is known of a transcript beside its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    pub path: &'a str,
    /// The text of the marker, if there is one.
    pub marker: Option<&'a str>,
}

impl PartialEq for Assembly {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.lines, other.lines)
    }
}

impl Eq for Assembly {}

/// What is read of a JSON document: the identity of the thread, and the items of one array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document {
    /// Key of the object with the identity. `None`: the document's text up to and with the bracket that
    /// opens the items is handed out instead.
    pub identity: Option<&'static str>,
    /// Key of the array with the items.
    pub items: &'static str,
}

impl SourceSpec {
    /// The layout of a file with that path; `None` when it is no transcript.
    pub fn layout(&self, path: &str) -> Option<Layout> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // A leading dot is a file that its agent is still making.
        if name.starts_with('.') {
            return None;
        }
        let plain = name.strip_suffix(".zst");
        let fits = |files: &&FilePattern| match (plain, files.layout) {
            (Some(plain), Layout::Lines) => files.holds(plain),
            (_, Layout::Assembled(Assembly { within, .. })) => {
                files.holds(name) && folder.split('/').any(|folder| folder == within)
            }
            (_, Layout::Records(Records { storage, .. })) => {
                files.holds(name) && storage.holds_session_in(folder)
            }
            _ => files.holds(name),
        };
        self.files.iter().find(fits).map(|files| files.layout)
    }

    /// Whether places in a transcript of that path are places in the file: it is neither compressed nor made
    /// into lines.
    pub fn has_places_of_file(&self, path: &str) -> bool {
        let layout = self.layout(path).unwrap_or(Layout::Lines);
        matches!(layout, Layout::Lines | Layout::Document(_)) && !path.ends_with(".zst")
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
    fn transcripts_are_known_by_their_names() {
        let document = codex::SPEC.layout("rollout-2025-05-01-f.json");
        assert!(matches!(document, Some(Layout::Document(_))), "{document:?}");
        for source in [Source::Codex, Source::Claude, Source::Longhaul] {
            for name in ["a.jsonl", "b.jsonl.zst"] {
                assert_eq!(source.spec().layout(name), Some(Layout::Lines), "{source:?} {name}");
            }
            for name in ["d.json", ".e.jsonl", "rollout-f.json.zst", "g.zst", ""] {
                assert_eq!(source.spec().layout(name), None, "{source:?} {name}");
            }
        }
    }
}
