//! Policies as configured: the one in force, and those that are only watched.

use std::collections::BTreeMap;
use std::path::PathBuf;

use longhaul_core::policy::settings::{DEFAULT, Problem};
use longhaul_core::policy::{Policy, PolicyTable, reach};

use super::{ConfigError, File};

mod entries;

/// Shadow policies, at most: each is decided on at every turn's end.
const SHADOWS_MAX: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies {
    pub in_force: Policy,
    /// Those that are only watched, by name.
    pub shadows: Vec<Policy>,
    /// Where a person's own texts are, a folder for each group.
    pub templates: PathBuf,
    /// What a person said of the one in force.
    said: PolicyTable,
}

impl Policies {
    /// Puts the tables together. What they say twice, the named one says last.
    ///
    /// # Errors
    /// A value that cannot be meant.
    pub(super) fn of(
        table: &PolicyTable,
        named: &BTreeMap<String, PolicyTable>,
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

    /// Policies of the text of a configuration file, whatever their values say.
    ///
    /// # Errors
    /// The text cannot be read, or holds shadows that no policy can be told from.
    pub fn of_text(text: &str) -> Result<Self, ConfigError> {
        let file = File::parse(text)?;
        check_names(&file.shadow_policy)?;
        Ok(Self::unchecked(&file.policy, &file.shadow_policy, PathBuf::new()))
    }

    fn unchecked(
        table: &PolicyTable,
        named: &BTreeMap<String, PolicyTable>,
        templates: PathBuf,
    ) -> Self {
        let in_force = Policy::default().with(DEFAULT, table);
        let shadows = named.iter().map(|(name, table)| in_force.with(name, table)).collect();
        Self { in_force, shadows, templates, said: table.clone() }
    }

    /// All of them, the one in force first.
    pub fn all(&self) -> impl Iterator<Item = &Policy> {
        std::iter::once(&self.in_force).chain(&self.shadows)
    }

    /// Names and modes, for a list of what changed.
    #[must_use]
    pub fn words(&self) -> String {
        let names: Vec<&str> = self.all().map(|policy| policy.name.as_str()).collect();
        format!("{:?}: {}", self.in_force.mode, names.join(", ")).to_lowercase()
    }

    /// What is wrong with each, and what of it has no effect, by its name.
    #[must_use]
    pub fn problems(&self) -> Vec<(String, Problem)> {
        let of = |policy: &Policy| {
            let name = policy.name.clone();
            let unreached = match policy.name == DEFAULT {
                true => reach::without_effect(policy),
                false => reach::shadow_settings_without_effect(policy, &self.in_force),
            };
            let problems = policy.problems().into_iter().chain(unreached);
            problems.map(move |problem| (name.clone(), problem))
        };
        self.all().flat_map(of).collect()
    }
}

/// Shadows have names of their own, and are few.
fn check_names(named: &BTreeMap<String, PolicyTable>) -> Result<(), ConfigError> {
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
    fn a_shadow_policy_is_what_is_in_force_with_its_own_keys() {
        let text = "[policy]\nmode = \"auto\"\n[policy.asap]\npercent_remaining_lt = 50\n\
                    [shadow_policy.keen.early]\npercent_remaining_lt = 95\n";
        let policies = Policies::of_text(text).unwrap();
        let keen = &policies.shadows[0];
        let lt = |tier| keen.tiers[&tier].percent_remaining_lt;
        assert_eq!((lt(Tier::Early), lt(Tier::Ready), lt(Tier::Asap)), (95, 75, 50));
        assert_eq!(keen.mode, policies.in_force.mode);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_key() {
        let file = File::parse("[shadow_policy.x.early]\npercent_remaining_lt = 101\n").unwrap();
        let refused = Policies::of(&file.policy, &file.shadow_policy, PathBuf::new());
        let expected = "shadow_policy.x.early.percent_remaining_lt: is more than 100";
        assert_eq!(refused.unwrap_err().to_string(), expected);
        assert!(File::parse("[policy.early]\nrequires_any_boundary = [\"comit\"]\n").is_err());
        // What is refused when it is loaded is refused when it is checked.
        let refused = Policies::of_text("[shadow_policy.default]\nmode = \"off\"\n").unwrap_err();
        assert_eq!(refused.to_string(), "shadow_policy: at most 8, none of them named default");
    }
}
