//! The flags for the folders of agents, one for each source that has one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Arg, ArgMatches, Command, value_parser};
use longhaul_core::rollout::source::Home;
use longhaul_core::thread::Source;

/// Folders of agents from flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceHomes(pub BTreeMap<Source, PathBuf>);

/// The names of an agent's settings.
pub(crate) struct SourceNames {
    pub(crate) source: Source,
    pub(crate) home: Home,
    /// With its two dashes.
    pub(crate) flag: String,
}

pub(crate) static NAMES: LazyLock<Vec<SourceNames>> = LazyLock::new(|| {
    let names = |&source: &Source| {
        let name = source.name();
        Some(SourceNames { source, home: source.spec().home?, flag: format!("--{name}-home") })
    };
    Source::ALL.iter().filter_map(names).collect()
});

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

impl SourceNames {
    fn flag_name(&self) -> &str {
        self.flag.trim_start_matches('-')
    }
}
