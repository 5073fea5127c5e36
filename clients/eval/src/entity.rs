//! The things an agent refers to by name: paths, commands, identifiers, ids, URLs.

mod pattern;

use pattern::NamePattern;

use crate::corpus::Fnv;
use crate::transcript::Transcript;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum EntityKind {
    Path,
    /// A whole shell command of one line.
    Command,
    /// A name in code with an inner mark: `snake_case`, `camelCase`, `PascalCase`.
    Identifier,
    /// A hash, a UUID, an issue or session number.
    Id,
    Url,
}

/// One thing referred to by name. Ordered, so that every report is the same in every run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Entity {
    pub kind: EntityKind,
    /// Its comparable text: a path without the working directory, a command with single spaces.
    pub text: String,
}

impl Entity {
    /// A fingerprint for sets over many sessions, equal in every run.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv::default();
        hash.write(self.kind.into_str().as_bytes());
        hash.write(self.text.as_bytes());
        hash.0
    }
}

/// Finds names in text.
#[derive(Debug)]
pub struct Extractor(NamePattern);

impl Extractor {
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self(NamePattern::new()?))
    }

    /// Calls `found` for each path, identifier, id and URL in `text`, duplicates included.
    /// Commands are not in here: a command is an argument as a whole, see [`command_entity`].
    pub fn extract(&self, text: &str, transcript: &Transcript, found: &mut dyn FnMut(Entity)) {
        let mut emit = |kind: EntityKind, text: &str| {
            let text = match kind {
                EntityKind::Path => comparable_path(text, transcript),
                _ => text,
            };
            if text.len() >= 3 && text.len() <= ENTITY_BYTES_MAX {
                found(Entity { kind, text: text.to_owned() });
            }
        };
        self.0.extract(text, &mut emit);
    }
}

/// Longer text is data, not a name (bytes).
const ENTITY_BYTES_MAX: usize = 240;

/// Bounds of a command that counts as one entity (bytes of its flattened text). Shorter ones (`ls`, `git diff`) need
/// not be remembered; longer ones are scripts.
const COMMAND_BYTES: std::ops::RangeInclusive<usize> = 10..=400;

/// The entity of a whole command, if it has one line and a length within the bounds.
pub fn command_entity(command: &str) -> Option<Entity> {
    let command = command.trim();
    if command.contains('\n') {
        return None;
    }
    let text = flatten(command);
    COMMAND_BYTES.contains(&text.len()).then_some(Entity { kind: EntityKind::Command, text })
}

/// A path without a leading working directory and `./`, and without a trailing slash.
pub fn comparable_path<'a>(path: &'a str, transcript: &Transcript) -> &'a str {
    let mut path = path;
    for cwd in &transcript.cwds {
        if let Some(rest) = path.strip_prefix(cwd.as_str())
            && let Some(rest) = rest.strip_prefix('/')
            && !rest.is_empty()
        {
            path = rest;
            break;
        }
    }
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path.trim_end_matches('/')
}

/// Replaces each run of whitespace with one space.
pub fn flatten(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
