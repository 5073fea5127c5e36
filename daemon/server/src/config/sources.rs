//! Settings of the agents whose transcripts are read: the same for each, made from the table of sources.
//!
//! | | key | flag | environment |
//! |---|---|---|---|
//! | where the agent lives | `sources.NAME.home` | `--NAME-home` | as the agent calls it |
//! | whether it is read | `sources.NAME.enabled` | | |

use std::collections::BTreeMap;
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
}

/// One agent whose transcripts can be read.
#[derive(Debug, Clone)]
pub struct SourceSettings {
    pub source: Source,
    /// The agent's folder; need not exist.
    pub home: Setting<PathBuf>,
    /// Whether its transcripts are read.
    pub enabled: Setting<bool>,
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
        SourceSettings { source: names.source, home, enabled: or_default(table.enabled, true) }
    });
    Ok(settings.collect())
}

/// Every key with its value and origin.
pub(super) fn entries(settings: &[SourceSettings]) -> impl Iterator<Item = Entry> {
    settings.iter().flat_map(|SourceSettings { source, home, enabled }| {
        let table = format!("sources.{}", source.name());
        [
            (format!("{table}.home"), home.display().to_string(), home.origin.clone()),
            entry(&format!("{table}.enabled"), enabled),
        ]
    })
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
