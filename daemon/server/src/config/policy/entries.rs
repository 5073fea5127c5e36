//! The keys of policies, as listed by `longhaul config show`.

use longhaul_core::policy::settings::{PhraseTable, TierTable};
use longhaul_core::policy::{Policy, PolicySettings};
use serde_json::Value;

use super::super::file::fields_of;
use super::super::{Entry, Origin};
use super::Policies;

impl Policies {
    /// Keys, values and origins of the active policy, and the names of the shadow policies.
    pub(in crate::config) fn entries(&self) -> Vec<Entry> {
        let json = |value: serde_json::Result<Value>| value.unwrap_or_default();
        let policy: Value = json(serde_json::to_value::<&Policy>(&self.active));
        let configured: Value = json(serde_json::to_value::<&PolicySettings>(&self.configured));
        let mut entries = Vec::new();
        for &key in fields_of::<PolicySettings>() {
            let (table, values, configured) = match key {
                "early" | "ready" | "asap" | "emergency" => {
                    (fields_of::<TierTable>(), &policy["tiers"][key], &configured[key])
                }
                "phrases" => (fields_of::<PhraseTable>(), &policy[key], &configured[key]),
                _ => {
                    entries.push(entry(format!("policy.{key}"), &policy[key], &configured[key]));
                    continue;
                }
            };
            let keys = table.iter().map(|field| {
                entry(format!("policy.{key}.{field}"), &values[field], &configured[field])
            });
            entries.extend(keys);
        }
        let names: Vec<&str> = self.shadows.iter().map(|policy| policy.name.as_str()).collect();
        let origin = if names.is_empty() { Origin::Default } else { Origin::File };
        entries.push(("shadow_policy".to_owned(), names.join(", "), origin));
        entries
    }
}

fn entry(key: String, value: &Value, configured: &Value) -> Entry {
    let origin = if configured.is_null() { Origin::Default } else { Origin::File };
    let shown = match value {
        Value::Null => "that of [model]".to_owned(),
        Value::String(word) => word.clone(),
        // The default lists have phrases in nine languages, too many to show.
        Value::Array(list) if key.starts_with("policy.phrases.") && configured.is_null() => {
            format!("{} phrases", list.len())
        }
        Value::Array(list) => Vec::from_iter(list.iter().filter_map(Value::as_str)).join(", "),
        value => value.to_string(),
    };
    (key, shown, origin)
}
