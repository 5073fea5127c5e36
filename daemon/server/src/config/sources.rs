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
use super::{ConfigError, Entry, Layers, Setting, or_default};
use crate::args::{NAMES, SourceHomes};

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceTable {
    pub home: Option<PathBuf>,
    /// Whether to read its transcripts.
    pub enabled: Option<bool>,
    /// Window of its models, in tokens.
    pub context_window: Option<u64>,
    /// The same by prefix of a model's name.
    pub context_windows: Option<BTreeMap<String, u64>>,
    /// How long its provider keeps its cache.
    pub cache_lifetime_s: Option<u64>,
    /// Price of a million uncached input tokens, by prefix of a model's name.
    pub input_prices: Option<BTreeMap<String, f64>>,
}

/// An agent whose transcripts may be read.
#[derive(Debug, Clone)]
pub struct SourceSettings {
    pub source: Source,
    /// The agent's folder; it may not exist.
    pub home: Setting<PathBuf>,
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

impl SourceSettings {
    /// The configured window of `model`, in tokens: by the longest matching prefix of its name.
    pub(super) fn window_of(&self, model: Option<&str>) -> Option<u64> {
        let named = of_model(&self.context_windows, model);
        named.or(Some(*self.context_window)).filter(|tokens| *tokens > 0)
    }

    /// The configured price of a million uncached input tokens of `model`.
    pub(super) fn input_price_of(&self, model: Option<&str>) -> Option<f64> {
        of_model(&self.input_prices, model)
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
    let none = SourceTable::default();
    let settings = NAMES.iter().map(|names| {
        let table = tables.get(&names.source).unwrap_or(&none);
        let home = layers.path(
            (names.flag.as_str(), flags.0.get(&names.source).map(PathBuf::as_path)),
            names.home.variable,
            table.home.as_deref(),
            layers.around.base.home.join(names.home.folder),
        );
        SourceSettings {
            source: names.source,
            home,
            enabled: or_default(table.enabled, true),
            context_window: or_default(table.context_window, 0),
            context_windows: or_default(table.context_windows.clone(), BTreeMap::new()),
            cache_lifetime_s: or_default(table.cache_lifetime_s, 0),
            input_prices: or_default(table.input_prices.clone(), BTreeMap::new()),
        }
    });
    Ok(settings.collect())
}

/// Every key with its value and origin.
pub(super) fn entries(settings: &[SourceSettings]) -> impl Iterator<Item = Entry> {
    settings.iter().flat_map(|settings| {
        let SourceSettings { source, home, enabled, context_window, .. } = settings;
        let (windows, prices) = (&settings.context_windows, &settings.input_prices);
        let table = format!("sources.{}", source.name());
        [
            (format!("{table}.home"), home.display().to_string(), home.origin.clone()),
            entry(&format!("{table}.enabled"), enabled),
            entry(&format!("{table}.context_window"), context_window),
            (format!("{table}.context_windows"), by_model(windows), windows.origin.clone()),
            entry(&format!("{table}.cache_lifetime_s"), &settings.cache_lifetime_s),
            (format!("{table}.input_prices"), by_model(prices), prices.origin.clone()),
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
            home: or_default(None, PathBuf::new()),
            enabled: or_default(None, true),
            context_window: or_default(Some(300_000), 0),
            context_windows: or_default(Some(windows), BTreeMap::new()),
            cache_lifetime_s: or_default(None, 0),
            input_prices: or_default(None, BTreeMap::new()),
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
