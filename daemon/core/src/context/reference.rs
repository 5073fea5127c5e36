//! The settings a model was last told, to compare the next turn's with.
//!
//! A reference is what the history says about the settings: after a compaction or a rollback that took
//! it away there is none, and everything is told anew. It advances with every user turn, also with one
//! that told nothing; turns that run without the person (review, compaction) leave it.

use serde::{Deserialize, Serialize};

use crate::rollout::TurnSettings;

/// All that a model is told about where and how it works. A part that is absent is not told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// What it may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// How it works with the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collaboration_mode: Option<CollaborationMode>,
    /// How it speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
    /// Which model it is, and that model's own instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// The project's instructions (AGENTS.md); compared only when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_md: Option<String>,
    /// What is remembered of earlier work; compared only when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// Where the agent works.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Working folders; usually one.
    #[serde(default)]
    pub places: Vec<Place>,
    /// Today, as `2026-11-21`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_date: Option<String>,
    /// As `Europe/Paris`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Rules of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

/// One working folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Name, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The folder.
    pub cwd: String,
    /// The shell commands run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
}

/// Which hosts may be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Hosts allowed.
    #[serde(default)]
    pub allowed: Vec<String>,
    /// Hosts denied.
    #[serde(default)]
    pub denied: Vec<String>,
}

/// What the agent may do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permissions {
    /// The profile, as `workspace-write`.
    #[serde(default)]
    pub profile: String,
    /// When the person is asked, as `on-request`.
    #[serde(default)]
    pub approval_policy: String,
    /// The words of the harness about both; a change of these alone is not told.
    #[serde(default)]
    pub instructions: String,
}

/// How the agent works with the person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollaborationMode {
    /// Its name, as `plan`.
    #[serde(default)]
    pub mode: String,
    /// The model it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reasoning effort it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Its words; may be empty.
    #[serde(default)]
    pub instructions: String,
}

/// How the agent speaks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Personality {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its words.
    #[serde(default)]
    pub instructions: String,
}

/// Which model answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its own instructions.
    #[serde(default)]
    pub instructions: String,
}

impl Settings {
    /// What a transcript says was told, to be compared with `current`. It keeps names and no words: what
    /// it does not tell counts as unchanged.
    pub fn of_turn(told: &TurnSettings, current: &Self) -> Self {
        let environment = current.environment.clone().map(|now| now.told(told));
        let permissions = current.permissions.clone().map(|now| Permissions {
            profile: told.sandbox.clone().unwrap_or(now.profile),
            approval_policy: told.approval_policy.clone().unwrap_or(now.approval_policy),
            ..now
        });
        let collaboration_mode = match (&told.mode, &current.collaboration_mode) {
            (Some(mode), Some(now)) if *mode == now.mode => Some(now.clone()),
            (Some(mode), _) => {
                Some(CollaborationMode { mode: mode.clone(), ..CollaborationMode::default() })
            }
            (None, now) => now.clone(),
        };
        let personality = match (&told.personality, &current.personality) {
            (Some(name), Some(now)) if *name == now.name => Some(now.clone()),
            (Some(name), _) => Some(Personality { name: name.clone(), ..Personality::default() }),
            (None, now) => now.clone(),
        };
        let model = match (&told.model, &current.model) {
            (Some(name), Some(now)) if *name == now.name => Some(now.clone()),
            (Some(name), _) => Some(Model { name: name.clone(), ..Model::default() }),
            (None, now) => now.clone(),
        };
        Self {
            environment,
            permissions,
            collaboration_mode,
            personality,
            model,
            agents_md: current.agents_md.clone(),
            memory: current.memory.clone(),
        }
    }
}

impl Environment {
    /// This one as a turn told it.
    fn told(mut self, told: &TurnSettings) -> Self {
        if let Some(cwd) = &told.cwd
            && !self.places.iter().any(|place| place.cwd == *cwd)
        {
            self.places = vec![Place { id: None, cwd: cwd.clone(), shell: None }];
        }
        self.current_date = told.current_date.clone().or(self.current_date);
        self.timezone = told.timezone.clone().or(self.timezone);
        self
    }

    /// The folders in an order that does not depend on how they were listed.
    pub(super) fn folders(&self) -> Vec<(&Option<String>, &str)> {
        let mut folders: Vec<_> =
            self.places.iter().map(|place| (&place.id, place.cwd.as_str())).collect();
        folders.sort_unstable();
        folders
    }
}
