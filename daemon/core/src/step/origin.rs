//! The author of a text.
//!
//! The code that first reads a text assigns its origin, and the text keeps it in the store and on the wire. Only
//! [`Origin::PERSON`] can become a rule of memory, so only this file creates it: for what a person typed into
//! an agent ([`RequestOrigin`]), reported to the daemon ([`Origin::of_caller`]), or wrote into the files of memory
//! ([`Origin::of_edit`]). Loading a stored origin does not create one.

use serde::{Deserialize, Serialize};

use crate::rollout::Meta;
use crate::thread::{Source, ThreadKind};

/// The author of a text. Closed: the variants are private, so no other module can turn one into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(Speaker);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
enum Speaker {
    // The aliases are names of earlier versions.
    #[serde(alias = "user")]
    Person,
    Agent,
    #[serde(alias = "file", alias = "tool_output", alias = "web")]
    Tool,
    Client,
}

/// Who calls the daemon, as far as the daemon can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    Person,
    Agent,
    /// A program that does not say on whose behalf it calls.
    Client,
}

impl Origin {
    const PERSON: Self = Self(Speaker::Person);
    pub const AGENT: Self = Self(Speaker::Agent);
    /// A command, a file, a page or another tool printed it.
    pub const TOOL: Self = Self(Speaker::Tool);
    /// A program sent it, and nothing shows that a person typed it.
    pub const CLIENT: Self = Self(Speaker::Client);

    pub const ALL: [Self; 4] = [Self::PERSON, Self::AGENT, Self::TOOL, Self::CLIENT];

    pub fn is_person(self) -> bool {
        self == Self::PERSON
    }

    /// The name on the wire, in the store and in the files.
    pub fn name(self) -> &'static str {
        self.0.into_str()
    }

    /// Loads a stored origin by its name.
    pub fn stored(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.name() == name)
    }

    /// The origin of a line written into the files of memory: like a shell profile, their folder belongs to the
    /// person alone.
    pub fn of_edit() -> Self {
        Self::PERSON
    }

    /// The origin of what a caller tells the daemon.
    pub fn of_caller(caller: Caller) -> Self {
        match caller {
            Caller::Person => Self::PERSON,
            Caller::Agent => Self::AGENT,
            Caller::Client => Self::CLIENT,
        }
    }
}

/// The author of a transcript's requests. It can only be downgraded from the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestOrigin(Origin);

impl Default for RequestOrigin {
    /// Without information, the author does not count as the person.
    fn default() -> Self {
        Self(Origin::CLIENT)
    }
}

impl RequestOrigin {
    /// The state before the first line of a transcript. Transcripts that clients append to contain what the
    /// clients send.
    pub fn of(source: Source) -> Self {
        match source {
            Source::Longhaul => Self(Origin::CLIENT),
            _ => Self(Origin::PERSON),
        }
    }

    /// Takes into account who runs the thread: other agents and scripts type nothing.
    pub fn narrow(&mut self, meta: &Meta) {
        let by = match meta.kind {
            ThreadKind::Interactive => return,
            ThreadKind::Subagent => Origin::AGENT,
            ThreadKind::Exec | ThreadKind::Other => Origin::CLIENT,
        };
        if self.0.is_person() {
            self.0 = by;
        }
    }

    pub fn get(self) -> Origin {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_the_persons_only_in_interactive_threads() {
        let of = |source, kinds: &[ThreadKind]| {
            let mut origin = RequestOrigin::of(source);
            for kind in kinds {
                origin.narrow(&Meta { kind: *kind, ..Meta::default() });
            }
            origin.get().name()
        };
        use ThreadKind::{Exec, Interactive, Subagent};
        for (source, kinds, expected) in [
            (Source::Codex, &[Interactive][..], "person"),
            (Source::Claude, &[], "person"),
            (Source::Codex, &[Subagent], "agent"),
            (Source::Codex, &[Subagent, Interactive], "agent"),
            (Source::Codex, &[Exec], "client"),
            (Source::Longhaul, &[Interactive], "client"),
            (Source::Longhaul, &[], "client"),
        ] {
            assert_eq!(of(source, kinds), expected, "{source:?} {kinds:?}");
        }
        assert_eq!(RequestOrigin::default().get(), Origin::CLIENT);
    }

    #[test]
    fn stored_origins_round_trip() {
        for origin in Origin::ALL {
            assert_eq!(Origin::stored(origin.name()), Some(origin));
            let json = serde_json::to_string(&origin).unwrap();
            assert_eq!(json, format!("\"{}\"", origin.name()));
            assert_eq!(serde_json::from_str::<Origin>(&json).unwrap(), origin);
        }
        for (old, origin) in [("user", "person"), ("tool_output", "tool"), ("web", "tool")] {
            let read: Origin = serde_json::from_str(&format!("\"{old}\"")).unwrap();
            assert_eq!(read.name(), origin);
        }
        assert_eq!(Origin::stored("root"), None);
    }
}
