//! Which files a check covers: a change of one of them leaves its outcome unverified.

use super::checks::Check;
use super::documents;
use super::effects::Effects;

/// Words of commands that check prose.
const OF_PROSE: [&str; 7] = ["md", "doc", "lint", "vale", "prettier", "spell", "fmt"];

/// The covered files that changed after a check: those it names, else all, prose only if it checks prose.
pub(super) fn changed_since<'e>(check: &Check, effects: &'e Effects) -> Vec<&'e str> {
    let reads_prose = OF_PROSE.iter().any(|word| check.command.contains(word));
    let mut since = effects.since(check.seq);
    since.retain(|path| reads_prose || !documents::is_prose(path));
    let named: Vec<&str> = check.command.split(' ').filter(|word| names_file(word)).collect();
    if !named.is_empty() {
        since.retain(|path| named.iter().any(|file| path.ends_with(file) || file.ends_with(path)));
    }
    since
}

/// Whether a word of a command is a file: it has a file extension and is neither option nor setting.
fn names_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let ending = name
        .rsplit_once('.')
        .map_or("", |(stem, ending)| if stem.is_empty() { "" } else { ending });
    (1..=5).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !word.starts_with('-')
        && !word.contains(['=', '*', ':'])
}
