//! The keys of policies as `longhaul config show` lists them.

use longhaul_core::policy::settings::{PhraseTable, TierTable};
use longhaul_core::policy::{Policy, PolicyTable};
use serde_json::Value;

use super::super::file::fields_of;
use super::super::{Entry, Origin};
use super::Policies;

impl Policies {
    /// Keys, values and origins of the one in force, and the names of the others.
    pub(in crate::config) fn entries(&self) -> Vec<Entry> {
        let json = |value: serde_json::Result<Value>| value.unwrap_or_default();
        let policy: Value = json(serde_json::to_value::<&Policy>(&self.in_force));
        let said: Value = json(serde_json::to_value::<&PolicyTable>(&self.said));
        let mut entries = Vec::new();
        for &key in fields_of::<PolicyTable>() {
            let (table, values, said) = match key {
                "early" | "ready" | "asap" | "emergency" => {
                    (fields_of::<TierTable>(), &policy["tiers"][key], &said[key])
                }
                "phrases" => (fields_of::<PhraseTable>(), &policy[key], &said[key]),
                _ => {
                    entries.push(entry(format!("policy.{key}"), &policy[key], &said[key]));
                    continue;
                }
            };
            let keys = table
                .iter()
                .map(|field| entry(format!("policy.{key}.{field}"), &values[field], &said[field]));
            entries.extend(keys);
        }
        let names: Vec<&str> = self.shadows.iter().map(|policy| policy.name.as_str()).collect();
        let origin = if names.is_empty() { Origin::Default } else { Origin::File };
        entries.push(("shadow_policy".to_owned(), names.join(", "), origin));
        entries
    }
}

fn entry(key: String, value: &Value, said: &Value) -> Entry {
    let origin = if said.is_null() { Origin::Default } else { Origin::File };
    let shown = match value {
        Value::Null => "that of [model]".to_owned(),
        Value::String(word) => word.clone(),
        // The lists of nine languages are long: how many there are says whether they are one's own.
        Value::Array(list) if key.starts_with("policy.phrases.") && said.is_null() => {
            format!("{} phrases", list.len())
        }
        Value::Array(list) => Vec::from_iter(list.iter().filter_map(Value::as_str)).join(", "),
        value => value.to_string(),
    };
    (key, shown, origin)
}
