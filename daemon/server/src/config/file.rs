//! The structure of the configuration file.
//!
//! Every key is optional. An unknown key is rejected, with the most similar known one as a hint: silently ignoring a
//! misspelled key would be worse.

use std::collections::BTreeMap;
use std::path::PathBuf;

use longhaul_core::job::Kind;
use longhaul_core::memory::Engine;
use longhaul_core::policy::PolicySettings;
use longhaul_core::policy::settings::{PhraseTable, TierTable};
use longhaul_core::thread::Source;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

use super::ConfigError;
use super::jobs::JobsConfig;
use super::model::{Model, ProviderTable};
use super::sources::{self, SourceTable};
use super::tables::{
    ArchiveSettings, BudgetSettings, Compaction, Context, Ingest, MemorySettings, MessageHistory,
    RepositoryConfig, Server,
};
use super::task_model::TaskModel;

/// `config.toml`, as written by a person.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Folder for the database and the daemon's other data.
    pub state_dir: Option<PathBuf>,
    /// Unix socket to listen on; its folder must be private (mode 0700).
    pub socket: Option<PathBuf>,
    /// What to log: `error`, `warn`, `info`, `debug`, `trace`, or a tracing filter.
    pub log: Option<String>,
    /// The agents whose transcripts to read.
    pub sources: BTreeMap<Source, SourceTable>,
    pub ingest: Ingest,
    pub compaction: Compaction,
    pub context: Context,
    pub archive: ArchiveSettings,
    pub message_history: MessageHistory,
    pub memory: MemorySettings,
    pub server: Server,
    /// The model for summaries and memory.
    pub model: Option<Model>,
    /// The models' providers, by name.
    pub providers: BTreeMap<String, ProviderTable>,
    pub budget: BudgetSettings,
    pub policy: PolicySettings,
    /// Policies that are evaluated without effect, by name.
    pub shadow_policy: BTreeMap<String, PolicySettings>,
    pub jobs: BTreeMap<Kind, JobsConfig>,
    pub repository: RepositoryConfig,
}

/// The tables by their path in the file, with the names of their keys.
fn tables() -> [(&'static str, &'static [&'static str]); 18] {
    [
        ("", fields_of::<File>()),
        ("sources.NAME", fields_of::<SourceTable>()),
        ("ingest", fields_of::<Ingest>()),
        ("compaction", fields_of::<Compaction>()),
        ("context", fields_of::<Context>()),
        ("archive", fields_of::<ArchiveSettings>()),
        ("message_history", fields_of::<MessageHistory>()),
        ("memory", fields_of::<MemorySettings>()),
        ("server", fields_of::<Server>()),
        ("model", fields_of::<Model>()),
        ("model.TASK", fields_of::<TaskModel>()),
        ("providers.NAME", fields_of::<ProviderTable>()),
        ("budget", fields_of::<BudgetSettings>()),
        ("policy", fields_of::<PolicySettings>()),
        ("policy.TIER", fields_of::<TierTable>()),
        ("policy.phrases", fields_of::<PhraseTable>()),
        ("jobs.KIND", fields_of::<JobsConfig>()),
        ("repository", fields_of::<RepositoryConfig>()),
    ]
}

/// All keys, for hints and for the test that each is documented.
pub(super) fn keys() -> impl Iterator<Item = String> {
    tables().into_iter().flat_map(|(table, fields)| {
        fields.iter().map(move |field| match table {
            "" => (*field).to_owned(),
            table => format!("{table}.{field}"),
        })
    })
}

/// The names of a struct's fields in order, taken from its derived `Deserialize`.
pub(super) fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Fields<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Fields<'_> {
        type Error = serde::de::value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(Self::Error::custom("only the names of fields are needed"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut fields: &'static [&'static str] = &[];
    drop(T::deserialize(Fields(&mut fields)));
    fields
}

/// Minimum similarity, from 0 to 1, of a key to suggest.
///
/// # Source
/// Chosen: `scan_intervall` and `scan_interval` meet it, `color` and `log` do not.
const SIMILARITY_MIN: f64 = 0.7;

impl File {
    /// Parses the text of a configuration file.
    ///
    /// # Errors
    /// [`ConfigError::Syntax`] with line, reason and, for an unknown key, the nearest known one.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text[..at.min(text.len())].matches('\n').count() + 1;
            let reason = error.message().to_owned();
            let hint = unknown_key(&reason).and_then(nearest_key);
            ConfigError::Syntax { line, reason, hint }
        })
    }

    /// Checks the bounds of all numbers.
    ///
    /// # Errors
    /// [`ConfigError::OutOfBounds`], and [`ConfigError::Invalid`] for memory by a model without `[model]`.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.ingest.check()?;
        self.compaction.check()?;
        self.context.check()?;
        self.archive.check()?;
        self.message_history.check()?;
        self.memory.check()?;
        self.server.check()?;
        self.budget.check()?;
        self.repository.check()?;
        if *self.memory.engine == Engine::Model && self.model.is_none() {
            let reason = "memory by a model needs a [model]".to_owned();
            return Err(ConfigError::Invalid { key: "memory.engine".to_owned(), reason });
        }
        Ok(())
    }
}

/// The key that an error of serde is about.
fn unknown_key(reason: &str) -> Option<&str> {
    reason.strip_prefix("unknown field `")?.split('`').next()
}

/// The known key that is most similar to `key`, with its table.
fn nearest_key(key: &str) -> Option<String> {
    if let Some(table) = sources::table_of(key) {
        return Some(table);
    }
    let similarity = |known: &str| {
        let last = known.rsplit('.').next().unwrap_or(known);
        strsim::jaro_winkler(key, last).max(strsim::jaro_winkler(key, known))
    };
    let keys = keys().map(|known| (similarity(&known), known));
    let (similarity, nearest) = keys.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (similarity >= SIMILARITY_MIN).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_read() {
        let file = File::parse(
            "log = \"debug\"\n[sources.codex]\nhome = \"~/.codex\"\n[ingest]\nscan_interval_s = 5\n",
        )
        .unwrap();
        assert_eq!(file.log.as_deref(), Some("debug"));
        assert_eq!(file.sources[&Source::Codex].home, Some("~/.codex".into()));
        assert_eq!(*file.ingest.scan_interval_s, 5);
        assert_eq!(File::parse("").unwrap(), File::default());
    }

    #[test]
    fn an_unknown_key_is_rejected_with_its_line_and_the_most_similar_key() {
        let check = |text: &str, line: usize, hint: Option<&str>| match File::parse(text) {
            Err(ConfigError::Syntax { line: at, hint: suggested, reason }) => {
                assert_eq!((at, suggested.as_deref()), (line, hint), "{text}: {reason}");
            }
            other => panic!("{text}: {other:?}"),
        };
        check("sockt = \"/x\"", 1, Some("socket"));
        check("\n[ingest]\nscan_intervall = 5\n", 3, Some("ingest.scan_interval_s"));
        check("drain_ms = 5", 1, Some("server.drain_ms"));
        check("[codex]", 1, Some("sources.codex"));
        check("[sources.codx]", 1, None);
        check("zzz = 5", 1, None);
        check("foo = 1", 1, None);
        check("log = 5", 1, None);
        check("log = ", 1, None);
    }
}
