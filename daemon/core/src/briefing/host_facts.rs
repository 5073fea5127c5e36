//! What the host adds to a view.

use crate::choice::Choices;

/// What the host knows in addition to the transcript.
#[derive(Default)]
pub struct HostFacts<'a> {
    /// First line of the text.
    pub header: String,
    /// Text that precedes the view, which need not repeat it.
    pub above: &'a str,
    /// What the view is to be about: lines about it are chosen first.
    pub focus: &'a str,
    /// Folder that shown paths are relative to.
    pub folder: Option<&'a str>,
    /// Steps of the plan: formatted line, and whether it is open.
    pub plan: Vec<(String, bool)>,
    /// Decisions and facts accepted by the host.
    pub accepted: Vec<String>,
    /// Changed files, newest first.
    pub files: Vec<ChangedFile>,
    /// Commands with an effect and the lines that answered them, newest first.
    pub ran: Vec<(u64, String)>,
    /// Files read or searched, newest first.
    pub looked_at: Vec<String>,
    /// Files that changed on disk, or are gone, since the thread last saw or wrote them.
    pub outdated: Vec<String>,
    /// The person's pins and drops. The text of pins is in `header`.
    pub choices: Option<&'a Choices>,
}

impl HostFacts<'_> {
    pub(super) fn hides(&self, line: &str, seq: Option<u64>) -> bool {
        self.choices.is_some_and(|choices| choices.hides(line, seq))
    }
}

/// A changed file as the host knows it.
pub struct ChangedFile {
    /// The path to show.
    pub path: String,
    /// Its state: `edited 2x, changed on disk since`.
    pub words: String,
}
