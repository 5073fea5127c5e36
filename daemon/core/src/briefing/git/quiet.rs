//! Commits whose id git did not print, as `git commit -q` does.

use crate::rollout::shell::{self, Command};
use crate::text;

/// Opens the line of such a commit; its subject follows.
pub(in crate::briefing) const UNNAMED: &str = "committed, id not printed: ";

/// Maximum bytes of a subject.
const SUBJECT_BYTES: usize = 120;

/// The subjects of the commits that a line of commands makes, as far as it states them.
pub(super) fn subjects(script: &str) -> Vec<String> {
    let commits = shell::commands(script).into_iter().filter(|command| {
        shell::purpose(command).as_slice() == ["git", "commit"]
            && !command.words.iter().any(|word| word == "--amend" || word == "--dry-run")
    });
    commits.filter_map(|command| subject(&command)).collect()
}

/// The first line of the message. What a shell would fill in is not known.
fn subject(command: &Command) -> Option<String> {
    let mut words = command.words.iter();
    let message = loop {
        let word = words.next()?;
        if let Some(message) = word.strip_prefix("--message=") {
            break message;
        }
        let is_short = word.starts_with('-') && !word.starts_with("--") && word.ends_with('m');
        if is_short || word == "--message" {
            break words.next()?;
        }
    };
    let subject = message.lines().next()?.trim();
    let is_known = !subject.is_empty() && !message.contains(['$', '`']);
    is_known.then(|| text::one_line_cut(subject, SUBJECT_BYTES))
}
