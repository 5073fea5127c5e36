//! Settings of the agents whose transcripts are read: the same for each, generated from the table of sources.
//!
//! | | key | flag | environment |
//! |---|---|---|---|
//! | the agent's folder | `sources.NAME.home` | `--NAME-home` | the agent's own variable |
//! | whether to read it | `sources.NAME.enabled` | | |
//! | its models' windows | `sources.NAME.context_window`, `.context_windows` | | |
//! | the cost of resuming a thread | `sources.NAME.cache_lifetime_s`, `.input_prices` | | |

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use longhaul_core::thread::Source;
use serde::Deserialize;

use super::tables::entry;
use super::{ConfigError, Entry, Layers, Origin, Setting};
use crate::args::{NAMES, SourceHomes};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceTable {
    pub home: Option<PathBuf>,
    /// Whether to read its transcripts.
    pub enabled: Setting<bool>,
    /// Window of its models, in tokens; 0: from its transcript or the model's name.
    pub context_window: Setting<u64>,
    /// The same by prefix of a model's name.
    pub context_windows: Setting<BTreeMap<String, u64>>,
    /// How long its provider keeps its cache; 0: from its transcript or the provider's documentation.
    pub cache_lifetime_s: Setting<u64>,
    /// Price of a million uncached input tokens, by prefix of a model's name.
    pub input_prices: Setting<BTreeMap<String, f64>>,
}

impl Default for SourceTable {
    fn default() -> Self {
        Self {
            home: None,
            enabled: unset(true),
            context_window: unset(0),
            context_windows: unset(BTreeMap::new()),
            cache_lifetime_s: unset(0),
            input_prices: unset(BTreeMap::new()),
        }
    }
}

fn unset<T>(value: T) -> Setting<T> {
    Setting { value, origin: Origin::Default }
}

/// An agent whose transcripts may be read.
#[derive(Debug, Clone)]
pub struct SourceSettings {
    pub source: Source,
    /// The agent's folder; it may not exist.
    pub home: Setting<PathBuf>,
    pub table: SourceTable,
}

impl SourceSettings {
    /// The configured window of `model`, in tokens: by the longest matching prefix of its name.
    pub(super) fn window_of(&self, model: Option<&str>) -> Option<u64> {
        let named = of_model(&self.table.context_windows, model);
        named.or(Some(*self.table.context_window)).filter(|tokens| *tokens > 0)
    }

    /// The configured price of a million uncached input tokens of `model`.
    pub(super) fn input_price_of(&self, model: Option<&str>) -> Option<f64> {
        of_model(&self.table.input_prices, model)
    }
}

/// The value for the longest matching prefix of the model's name.
fn of_model<T: Copy>(set: &BTreeMap<String, T>, model: Option<&str>) -> Option<T> {
    // `openai/gpt-5` counts as `gpt-5`.
    let model = model.map_or("", |name| name.rsplit('/').next().unwrap_or(name));
    let named = set.iter().filter(|(name, _)| model.starts_with(*name));
    named.max_by_key(|(name, _)| name.len()).map(|(_, value)| *value)
}

/// The environment variables of the agents' folders.
pub(super) fn variables() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|names| names.home.variable)
}

/// The table of a source named without `sources`, for a hint.
pub(super) fn table_of(name: &str) -> Option<String> {
    NAMES.iter().any(|names| names.source.name() == name).then(|| format!("sources.{name}"))
}

/// Combines the layers.
///
/// # Errors
/// A table for the daemon's own transcripts.
pub(super) fn settings(
    layers: &Layers<'_>,
    flags: &SourceHomes,
    tables: &BTreeMap<Source, SourceTable>,
) -> Result<Vec<SourceSettings>, ConfigError> {
    if let Some(own) = tables.keys().find(|source| source.spec().home.is_none()) {
        let key = format!("sources.{}", own.name());
        return Err(ConfigError::Invalid { key, reason: "has no settings".to_owned() });
    }
    let settings = NAMES.iter().map(|names| {
        let table = tables.get(&names.source).cloned().unwrap_or_default();
        let home = layers.path(
            (names.flag.as_str(), flags.0.get(&names.source).map(PathBuf::as_path)),
            names.home.variable,
            table.home.as_deref(),
            layers.around.base.home.join(names.home.folder),
        );
        SourceSettings { source: names.source, home, table }
    });
    Ok(settings.collect())
}

/// Every key with its value and origin.
pub(super) fn entries(settings: &[SourceSettings]) -> impl Iterator<Item = Entry> {
    settings.iter().flat_map(|settings| {
        let SourceSettings { source, home, table } = settings;
        let (windows, prices) = (&table.context_windows, &table.input_prices);
        let name = format!("sources.{}", source.name());
        [
            (format!("{name}.home"), home.display().to_string(), home.origin.clone()),
            entry(&format!("{name}.enabled"), &table.enabled),
            entry(&format!("{name}.context_window"), &table.context_window),
            (format!("{name}.context_windows"), by_model(windows), windows.origin.clone()),
            entry(&format!("{name}.cache_lifetime_s"), &table.cache_lifetime_s),
            (format!("{name}.input_prices"), by_model(prices), prices.origin.clone()),
        ]
    })
}

fn by_model(set: &BTreeMap<String, impl Display>) -> String {
    set.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// The folder of `source`; an empty path if it has none.
pub(super) fn home_of(settings: &[SourceSettings], source: Source) -> &Path {
    let own = settings.iter().find(|settings| settings.source == source);
    own.map_or(Path::new(""), |settings| settings.home.as_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_of_a_models_name_wins_over_the_source() {
        let windows = [("claude-opus", 200_000), ("claude-opus-5", 1_000_000), ("gpt-5", 0)];
        let windows = windows.map(|(name, tokens)| (name.to_owned(), tokens)).into();
        let settings = SourceSettings {
            source: Source::Claude,
            home: unset(PathBuf::new()),
            table: SourceTable {
                context_window: unset(300_000),
                context_windows: unset(windows),
                ..SourceTable::default()
            },
        };
        for (model, tokens) in [
            (Some("claude-opus-5-20260101"), Some(1_000_000)),
            (Some("anthropic/claude-opus-4"), Some(200_000)),
            (Some("gpt-5.5"), None),
            (Some("haiku"), Some(300_000)),
            (None, Some(300_000)),
        ] {
            assert_eq!(settings.window_of(model), tokens, "{model:?}");
        }
    }
}
