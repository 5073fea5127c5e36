//! Settings of the agents whose transcripts are read: the same for each, made from the table of sources.
//!
//! | | key | flag | environment |
//! |---|---|---|---|
//! | where the agent lives | `sources.NAME.home` | `--NAME-home` | as the agent calls it |
//! | whether it is read | `sources.NAME.enabled` | | |
//! | how large its models' windows are | `sources.NAME.context_window`, `.context_windows` | | |
//! | what resuming a thread costs | `sources.NAME.cache_lifetime_s`, `.input_prices` | | |

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::{Arg, ArgMatches, Command, value_parser};
use longhaul_core::rollout::source::Home;
use longhaul_core::thread::Source;
use serde::Deserialize;

use super::tables::entry;
use super::{ConfigError, Entry, Layers, Setting, or_default};

/// `[sources.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceTable {
    pub home: Option<PathBuf>,
    /// Whether its transcripts are read.
    pub enabled: Option<bool>,
    /// Tokens of its models' window.
    pub context_window: Option<u64>,
    /// The same by the beginning of a model's name.
    pub context_windows: Option<BTreeMap<String, u64>>,
    /// For how long its provider keeps what it cached.
    pub cache_lifetime_s: Option<u64>,
    /// Price of a million input tokens that are not cached, by the beginning of a model's name.
    pub input_prices: Option<BTreeMap<String, f64>>,
}

/// One agent whose transcripts can be read.
#[derive(Debug, Clone)]
pub struct SourceSettings {
    pub source: Source,
    /// The agent's folder; need not exist.
    pub home: Setting<PathBuf>,
    /// Whether its transcripts are read.
    pub enabled: Setting<bool>,
    /// Tokens of its models' window; 0: as its transcript or the model's name says.
    pub context_window: Setting<u64>,
    /// The same by the beginning of a model's name.
    pub context_windows: Setting<BTreeMap<String, u64>>,
    /// For how long its provider keeps what it cached; 0: as its transcript or its provider says.
    pub cache_lifetime_s: Setting<u64>,
    /// Price of a million input tokens that are not cached, by the beginning of a model's name.
    pub input_prices: Setting<BTreeMap<String, f64>>,
}

impl SourceSettings {
    /// Tokens of the window of `model`, if they are set: the longest beginning of its name counts.
    pub(super) fn window_of(&self, model: Option<&str>) -> Option<u64> {
        let named = of_model(&self.context_windows, model);
        named.or(Some(*self.context_window)).filter(|tokens| *tokens > 0)
    }

    /// Price of a million input tokens of `model` that are not cached, if it is set.
    pub(super) fn input_price_of(&self, model: Option<&str>) -> Option<f64> {
        of_model(&self.input_prices, model)
    }
}

/// What is set for the longest beginning of the model's name.
fn of_model<T: Copy>(set: &BTreeMap<String, T>, model: Option<&str>) -> Option<T> {
    // `openai/gpt-5` is `gpt-5`.
    let model = model.map_or("", |name| name.rsplit('/').next().unwrap_or(name));
    let named = set.iter().filter(|(name, _)| model.starts_with(*name));
    named.max_by_key(|(name, _)| name.len()).map(|(_, value)| *value)
}

/// Folders of agents, as flags give them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceHomes(pub BTreeMap<Source, PathBuf>);

/// What the settings of an agent are called.
struct Names {
    source: Source,
    home: Home,
    /// With its two dashes.
    flag: String,
}

static NAMES: LazyLock<Vec<Names>> = LazyLock::new(|| {
    let names = |&source: &Source| {
        let name = source.name();
        Some(Names { source, home: source.spec().home?, flag: format!("--{name}-home") })
    };
    Source::ALL.iter().filter_map(names).collect()
});

/// The variables that name homes.
pub(super) fn variables() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|names| names.home.variable)
}

/// The table of a source that was named without `sources`.
pub(super) fn table_of(name: &str) -> Option<String> {
    NAMES.iter().any(|names| names.source.name() == name).then(|| format!("sources.{name}"))
}

/// Puts the layers together.
///
/// # Errors
/// A table for transcripts that the daemon keeps itself.
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

impl clap::FromArgMatches for SourceHomes {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut homes = Self::default();
        homes.update_from_arg_matches(matches)?;
        Ok(homes)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for names in NAMES.iter() {
            let given = matches.get_one::<PathBuf>(names.flag_name());
            self.0.extend(given.map(|path| (names.source, path.clone())));
        }
        Ok(())
    }
}

impl clap::Args for SourceHomes {
    fn augment_args(command: Command) -> Command {
        command.args(NAMES.iter().map(|names| {
            let Home { folder, variable } = names.home;
            let title = names.source.spec().title;
            Arg::new(names.flag_name())
                .long(names.flag_name())
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help(format!("Folder of {title} [default: ${variable}, else ~/{folder}]"))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Names {
    fn flag_name(&self) -> &str {
        self.flag.trim_start_matches('-')
    }
}

/// The folder of `source`; an empty path for a source that has none.
pub(super) fn home_of(settings: &[SourceSettings], source: Source) -> &Path {
    let own = settings.iter().find(|settings| settings.source == source);
    own.map_or(Path::new(""), |settings| settings.home.as_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_a_models_name_counts_then_the_source() {
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
