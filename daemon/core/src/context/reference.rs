//! The settings last sent to a model, as the baseline for the next turn's diff.
//!
//! The reference comes from the history: after a compaction, or a rollback that removed it, there is none, and
//! all settings are sent again. It advances with every user turn, even one that sent nothing; turns without the
//! person (review, compaction) leave it unchanged.

use crate::rollout::TurnSettings;

/// Settings that a model receives. An absent part is not sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    pub environment: Option<Environment>,
    pub permissions: Option<Permissions>,
    pub collaboration_mode: Option<CollaborationMode>,
    pub personality: Option<Personality>,
    pub model: Option<Model>,
    /// Project instructions (AGENTS.md); compared only on request.
    pub agents_md: Option<String>,
    /// Memory; compared only on request.
    pub memory: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Usually one.
    pub places: Vec<WorkingFolder>,
    /// Current date, such as `2026-11-21`.
    pub current_date: Option<String>,
    /// Such as `Europe/Paris`.
    pub timezone: Option<String>,
    pub network: Option<Network>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkingFolder {
    /// Name, if there are several folders.
    pub id: Option<String>,
    pub cwd: String,
    /// The shell commands run in.
    pub shell: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Network {
    pub allowed: Vec<String>,
    pub denied: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permissions {
    /// The profile, such as `workspace-write`.
    pub profile: String,
    /// When to ask the person, such as `on-request`.
    pub approval_policy: String,
    /// The harness's text about both; a change of the text alone is not sent.
    pub instructions: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollaborationMode {
    /// Such as `plan`.
    pub mode: String,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// May be empty.
    pub instructions: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Personality {
    pub name: String,
    pub instructions: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    pub name: String,
    pub instructions: String,
}

impl Settings {
    /// The settings that a transcript recorded, for comparison with `current`. A transcript has names and no
    /// text; what it does not record counts as unchanged.
    pub fn of_turn(recorded: &TurnSettings, current: &Self) -> Self {
        let environment = current.environment.clone().map(|now| now.with_recorded(recorded));
        let permissions = current.permissions.clone().map(|now| Permissions {
            profile: recorded.sandbox.clone().unwrap_or(now.profile),
            approval_policy: recorded.approval_policy.clone().unwrap_or(now.approval_policy),
            ..now
        });
        let collaboration_mode = match (&recorded.mode, &current.collaboration_mode) {
            (Some(mode), Some(now)) if *mode == now.mode => Some(now.clone()),
            (Some(mode), _) => {
                Some(CollaborationMode { mode: mode.clone(), ..CollaborationMode::default() })
            }
            (None, now) => now.clone(),
        };
        let personality = match (&recorded.personality, &current.personality) {
            (Some(name), Some(now)) if *name == now.name => Some(now.clone()),
            (Some(name), _) => Some(Personality { name: name.clone(), ..Personality::default() }),
            (None, now) => now.clone(),
        };
        let model = match (&recorded.model, &current.model) {
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
    fn with_recorded(mut self, recorded: &TurnSettings) -> Self {
        if let Some(cwd) = &recorded.cwd
            && !self.places.iter().any(|place| place.cwd == *cwd)
        {
            self.places = vec![WorkingFolder { id: None, cwd: cwd.clone(), shell: None }];
        }
        self.current_date = recorded.current_date.clone().or(self.current_date);
        self.timezone = recorded.timezone.clone().or(self.timezone);
        self
    }

    /// The folders in a canonical order.
    pub(super) fn folders(&self) -> Vec<(&Option<String>, &str)> {
        let mut folders: Vec<_> =
            self.places.iter().map(|place| (&place.id, place.cwd.as_str())).collect();
        folders.sort_unstable();
        folders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn current() -> Settings {
        let place =
            |cwd: &str| WorkingFolder { id: None, cwd: cwd.into(), shell: Some("sh".into()) };
        Settings {
            environment: Some(Environment {
                places: vec![place("/w/a"), place("/w/b")],
                current_date: Some("2026-11-21".into()),
                timezone: Some("Europe/Paris".into()),
                network: Some(Network::default()),
            }),
            permissions: Some(Permissions {
                profile: "workspace-write".into(),
                approval_policy: "on-request".into(),
                instructions: "Ask.".into(),
            }),
            collaboration_mode: Some(CollaborationMode {
                mode: "plan".into(),
                instructions: "Plan first.".into(),
                ..CollaborationMode::default()
            }),
            personality: Some(Personality { name: "terse".into(), instructions: "Brief.".into() }),
            model: Some(Model { name: "m1".into(), instructions: "You are m1.".into() }),
            agents_md: Some("Run the tests.".into()),
            memory: Some("Tabs.".into()),
        }
    }

    #[test]
    fn what_a_transcript_does_not_record_is_unchanged() {
        for now in [current(), Settings::default()] {
            assert_eq!(Settings::of_turn(&TurnSettings::default(), &now), now);
        }
        let same = TurnSettings {
            cwd: Some("/w/b".into()),
            model: Some("m1".into()),
            approval_policy: Some("on-request".into()),
            sandbox: Some("workspace-write".into()),
            current_date: Some("2026-11-21".into()),
            timezone: Some("Europe/Paris".into()),
            personality: Some("terse".into()),
            mode: Some("plan".into()),
        };
        assert_eq!(Settings::of_turn(&same, &current()), current());
    }

    #[test]
    fn what_a_transcript_records_replaces_the_current_settings() {
        let other = TurnSettings {
            cwd: Some("/v".into()),
            model: Some("m2".into()),
            approval_policy: Some("never".into()),
            sandbox: Some("read-only".into()),
            current_date: Some("2026-11-20".into()),
            timezone: Some("Asia/Tokyo".into()),
            personality: Some("warm".into()),
            mode: Some("pair".into()),
        };
        let found = Settings::of_turn(&other, &current());
        let place = WorkingFolder { id: None, cwd: "/v".into(), shell: None };
        let expected = Settings {
            environment: Some(Environment {
                places: vec![place],
                current_date: Some("2026-11-20".into()),
                timezone: Some("Asia/Tokyo".into()),
                network: Some(Network::default()),
            }),
            permissions: Some(Permissions {
                profile: "read-only".into(),
                approval_policy: "never".into(),
                instructions: "Ask.".into(),
            }),
            // A transcript has names and no text.
            collaboration_mode: Some(CollaborationMode {
                mode: "pair".into(),
                ..CollaborationMode::default()
            }),
            personality: Some(Personality { name: "warm".into(), ..Personality::default() }),
            model: Some(Model { name: "m2".into(), ..Model::default() }),
            ..current()
        };
        assert_eq!(found, expected);
        // Only names are added to settings that are not sent now.
        let found = Settings::of_turn(&other, &Settings::default());
        let Settings { collaboration_mode, personality, model, .. } = expected;
        let names = Settings { collaboration_mode, personality, model, ..Settings::default() };
        assert_eq!(found, names);
    }
}
