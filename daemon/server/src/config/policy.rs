//! The configured policies: the active one, and shadow policies, which are evaluated without effect.

use std::collections::BTreeMap;
use std::path::PathBuf;

use longhaul_core::policy::settings::{DEFAULT, Problem};
use longhaul_core::policy::{Policy, PolicySettings, without_effect};

use super::{ConfigError, File};

mod entries;

/// Maximum shadow policies: each is evaluated at the end of every turn.
const SHADOWS_MAX: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies {
    pub active: Policy,
    /// Evaluated without effect.
    pub shadows: Vec<Policy>,
    /// Folder of the person's texts, with a folder for each group.
    pub templates: PathBuf,
    /// The keys that the file sets for the active policy.
    configured: PolicySettings,
}

impl Policies {
    /// Combines the tables. Keys of a named policy override those of `table`.
    pub(super) fn of(
        table: &PolicySettings,
        named: &BTreeMap<String, PolicySettings>,
        templates: PathBuf,
    ) -> Result<Self, ConfigError> {
        check_names(named)?;
        let policies = Self::unchecked(table, named, templates);
        match policies.problems().into_iter().find(|(_, problem)| problem.is_fatal) {
            Some((policy, Problem { key, reason, .. })) => {
                let table = match policy == DEFAULT {
                    true => "policy".to_owned(),
                    false => format!("shadow_policy.{policy}"),
                };
                Err(ConfigError::Invalid { key: format!("{table}.{key}"), reason })
            }
            None => Ok(policies),
        }
    }

    /// The policies in the text of a configuration file, without checking their values.
    pub fn of_text(text: &str) -> Result<Self, ConfigError> {
        let file = File::parse(text)?;
        check_names(&file.shadow_policy)?;
        Ok(Self::unchecked(&file.policy, &file.shadow_policy, PathBuf::new()))
    }

    fn unchecked(
        table: &PolicySettings,
        named: &BTreeMap<String, PolicySettings>,
        templates: PathBuf,
    ) -> Self {
        let active = Policy::default().with(DEFAULT, table);
        let shadows = named.iter().map(|(name, table)| active.with(name, table)).collect();
        Self { active, shadows, templates, configured: table.clone() }
    }

    /// All policies, the active one first.
    pub fn all(&self) -> impl Iterator<Item = &Policy> {
        std::iter::once(&self.active).chain(&self.shadows)
    }

    /// Names and modes, for a list of changes.
    pub fn words(&self) -> String {
        let names: Vec<&str> = self.all().map(|policy| policy.name.as_str()).collect();
        format!("{:?}: {}", self.active.mode, names.join(", ")).to_lowercase()
    }

    /// Invalid values and settings without effect, by the policy's name.
    pub fn problems(&self) -> Vec<(String, Problem)> {
        let of = |policy: &Policy| {
            let name = policy.name.clone();
            let unreached = match policy.name == DEFAULT {
                true => without_effect::settings_without_effect(policy),
                false => without_effect::shadow_settings_without_effect(policy, &self.active),
            };
            let problems = policy.problems().into_iter().chain(unreached);
            problems.map(move |problem| (name.clone(), problem))
        };
        self.all().flat_map(of).collect()
    }
}

/// Checks the number and names of shadow policies.
fn check_names(named: &BTreeMap<String, PolicySettings>) -> Result<(), ConfigError> {
    if named.len() <= SHADOWS_MAX && !named.contains_key(DEFAULT) {
        return Ok(());
    }
    let reason = format!("at most {SHADOWS_MAX}, none of them named {DEFAULT}");
    Err(ConfigError::Invalid { key: "shadow_policy".to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use longhaul_core::policy::Tier;

    use super::*;

    #[test]
    fn a_shadow_policy_is_the_active_one_with_its_own_keys() {
        let text = "[policy]\nmode = \"auto\"\n[policy.asap]\npercent_remaining_lt = 50\n\
                    [shadow_policy.keen.early]\npercent_remaining_lt = 95\n";
        let policies = Policies::of_text(text).unwrap();
        let keen = &policies.shadows[0];
        let lt = |tier| keen.tiers[&tier].percent_remaining_lt;
        assert_eq!((lt(Tier::Early), lt(Tier::Ready), lt(Tier::Asap)), (95, 75, 50));
        assert_eq!(keen.mode, policies.active.mode);
    }

    #[test]
    fn an_invalid_value_is_rejected_by_its_key() {
        let file = File::parse("[shadow_policy.x.early]\npercent_remaining_lt = 101\n").unwrap();
        let refused = Policies::of(&file.policy, &file.shadow_policy, PathBuf::new());
        let expected = "shadow_policy.x.early.percent_remaining_lt: is more than 100";
        assert_eq!(refused.unwrap_err().to_string(), expected);
        assert!(File::parse("[policy.early]\nrequires_any_boundary = [\"comit\"]\n").is_err());
        // Loading and checking reject the same text.
        let refused = Policies::of_text("[shadow_policy.default]\nmode = \"off\"\n").unwrap_err();
        assert_eq!(refused.to_string(), "shadow_policy: at most 8, none of them named default");
    }
}
