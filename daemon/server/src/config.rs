//! The daemon's configuration, in layers: defaults < file < environment < flags.
//!
//! Loading it has no side effect: it creates no folder and binds no socket. Each value keeps its origin, because that
//! is the first question about a value.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::thread::Source;
use serde::{Deserialize, Deserializer};

use crate::args::Args;
use crate::model::ModelSettings;
use crate::paths::Base;

pub(crate) mod file;
pub mod jobs;
mod live;
pub mod memory;
pub(crate) mod model;
pub mod policy;
pub mod repository;
pub mod sources;
pub(crate) mod tables;
mod task_model;

use file::File;
pub use policy::Policies;
use tables::{
    ArchiveSettings, BudgetSettings, Compaction, Context, Ingest, MemorySettings, MessageHistory,
    RepositoryConfig, Server,
};

pub use live::{Change, Live, Reloaded};

/// Where a value came from, weakest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File,
    /// An environment variable, by name.
    Environment(&'static str),
    /// A flag of the command line, by name.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File => f.write_str("file"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A value and its origin; reads as the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: T,
    pub origin: Origin,
}

/// A deserialized value comes from the file.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Setting<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { value: T::deserialize(deserializer)?, origin: Origin::File })
    }
}

/// A listed key, with its value and origin for people.
pub type Entry = (String, String, Origin);

impl<T> Deref for Setting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The current values. Paths are absolute, numbers within their bounds.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that was read, if any.
    pub file: Option<PathBuf>,
    /// Folder of the database, of the daemon's own transcripts and of the lock.
    pub state_dir: Setting<PathBuf>,
    /// The socket to listen on, unless systemd passes one.
    pub socket: Setting<PathBuf>,
    pub log: Setting<String>,
    /// The agents whose transcripts may be read.
    pub sources: Vec<sources::SourceSettings>,
    pub ingest: Ingest,
    pub compaction: Compaction,
    pub context: Context,
    pub archive: ArchiveSettings,
    pub message_history: MessageHistory,
    pub memory: MemorySettings,
    pub server: Server,
    /// Models to ask; none by default.
    pub models: ModelSettings,
    pub budget: BudgetSettings,
    pub policies: Policies,
    pub jobs: jobs::JobSettings,
    pub repository: RepositoryConfig,
    launch: Arc<Launch>,
}

/// Why a configuration was rejected; the daemon exits with 78 (`EX_CONFIG`).
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("no home folder: set HOME")]
    NoHome,
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The text of the file is invalid.
    #[error("line {line}: {reason}{}", hint.as_ref().map(|key| format!(" (did you mean `{key}`?)")).unwrap_or_default())]
    Syntax {
        /// Line of the file, from 1.
        line: usize,
        reason: String,
        /// The key that was probably intended.
        hint: Option<String>,
    },
    /// An error in the file that was read.
    #[error("{}, {error}", file.display())]
    InFile { file: PathBuf, error: Box<ConfigError> },
    #[error("{key}: {reason}")]
    Invalid { key: String, reason: String },
    #[error("{key} = {given} is out of bounds: {min} to {max}")]
    OutOfBounds { key: &'static str, given: u64, min: u64, max: u64 },
}

/// The inputs of a configuration besides the file and the flags.
#[derive(Debug, Clone)]
pub struct Surroundings {
    pub base: Base,
    /// The base of relative paths in flags and environment.
    pub current_dir: PathBuf,
    /// The daemon's program, to start it in another role.
    pub program: PathBuf,
    /// Variables of the environment by name; an empty one counts as unset.
    pub env: BTreeMap<&'static str, OsString>,
}

/// How the process was started; needed to reload the file.
#[derive(Debug)]
struct Launch {
    args: Args,
    around: Surroundings,
}

/// The running program, even after an upgrade replaced its file.
const PROGRAM: &str = "/proc/self/exe";

/// The environment variables to read, besides those of the agents.
const VARIABLES: [&str; 3] = ["LONGHAUL_STATE_DIR", "LONGHAUL_SOCKET", "LONGHAUL_LOG"];

impl Config {
    pub fn of_process(args: &Args) -> Result<Self, ConfigError> {
        let base = Base::of_user().ok_or(ConfigError::NoHome)?;
        // Without a current folder, relative paths are meaningless; they start at the root and are not found.
        let current_dir = std::env::current_dir().unwrap_or_else(|_| "/".into());
        let variables = VARIABLES.into_iter().chain(sources::variables());
        let set = variables.filter_map(|name| Some((name, std::env::var_os(name)?)));
        let (env, program) = (set.collect(), PROGRAM.into());
        Self::load(args, &Surroundings { base, current_dir, program, env })
    }

    /// Combines the four layers.
    ///
    /// # Errors
    /// [`ConfigError`]: a file named by a flag cannot be read, or a key or value is rejected. A missing file at the
    /// default path is not an error.
    pub fn load(args: &Args, around: &Surroundings) -> Result<Self, ConfigError> {
        let (path, is_required) = (path_of(args, around), args.config.is_some());
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::of_text(&text, path, args, around),
            Err(error) if !is_required && error.kind() == std::io::ErrorKind::NotFound => {
                Self::assemble(args, around, File::default(), None)
            }
            Err(source) => Err(ConfigError::Unreadable { path, source }),
        }
    }

    /// Combines the four layers, with `text` as the content of the file at `path`.
    pub fn of_text(
        text: &str,
        path: PathBuf,
        args: &Args,
        around: &Surroundings,
    ) -> Result<Self, ConfigError> {
        let in_file = |error| ConfigError::InFile { file: path.clone(), error: Box::new(error) };
        let file = File::parse(text).map_err(&in_file)?;
        file.check().map_err(in_file)?;
        Self::assemble(args, around, file, Some(path))
    }

    fn assemble(
        args: &Args,
        around: &Surroundings,
        file: File,
        path: Option<PathBuf>,
    ) -> Result<Self, ConfigError> {
        let folder = path.as_deref().and_then(Path::parent).unwrap_or(&around.current_dir);
        let layers = Layers { around, file_dir: folder };
        let base = &around.base;
        let state_dir = layers.path(
            ("--state-dir", args.state_dir.as_deref()),
            "LONGHAUL_STATE_DIR",
            file.state_dir.as_deref(),
            base.state_dir(),
        );
        let socket = layers.path(
            ("--socket", args.socket.as_deref()),
            "LONGHAUL_SOCKET",
            file.socket.as_deref(),
            base.socket(&state_dir),
        );
        Ok(Self {
            socket,
            sources: sources::settings(&layers, &args.homes, &file.sources)?,
            log: layers.log(args.log.as_deref(), file.log),
            ingest: file.ingest,
            compaction: file.compaction,
            context: file.context,
            archive: file.archive,
            message_history: file.message_history,
            server: file.server,
            models: model::settings(file.model, file.providers)?,
            budget: file.budget,
            jobs: jobs::settings(&file.jobs, *file.memory.engine)?,
            memory: file.memory,
            policies: Policies::of(
                &file.policy,
                &file.shadow_policy,
                base.config_file().with_file_name("templates"),
            )?,
            repository: file.repository,
            file: path,
            state_dir,
            launch: Arc::new(Launch { args: args.clone(), around: around.clone() }),
        })
    }

    /// The daemon's program, to start it in another role.
    pub fn program(&self) -> PathBuf {
        self.launch.around.program.clone()
    }

    /// The path of the file, whether or not it exists.
    pub fn file_path(&self) -> PathBuf {
        path_of(&self.launch.args, &self.launch.around)
    }

    /// The folder of the agent `source`; an empty path if it has none.
    pub fn home(&self, source: Source) -> &Path {
        sources::home_of(&self.sources, source)
    }

    /// The configured window of `model` of the agent `source`, in tokens.
    pub fn window_of(&self, source: Option<Source>, model: Option<&str>) -> Option<u64> {
        let own = self.sources.iter().find(|settings| Some(settings.source) == source);
        let own = own.and_then(|settings| settings.window_of(model));
        own.or_else(|| Some(*self.context.window_tokens).filter(|tokens| *tokens > 0))
    }

    /// How long the provider of the agent `source` keeps its cache, in milliseconds, if configured.
    pub fn cache_lifetime_ms_of(&self, source: Source) -> Option<u64> {
        let own = self.sources.iter().find(|settings| settings.source == source)?;
        Some(own.table.cache_lifetime_s.saturating_mul(1_000)).filter(|ms| *ms > 0)
    }

    /// The configured price of a million uncached input tokens of `model`.
    pub fn input_price_of(&self, source: Source, model: Option<&str>) -> Option<f64> {
        self.sources.iter().find(|settings| settings.source == source)?.input_price_of(model)
    }

    /// Every key with its value and origin, in the order of the file.
    pub fn entries(&self) -> Vec<Entry> {
        let path = |key: &str, path: &Setting<PathBuf>| {
            (key.to_owned(), path.display().to_string(), path.origin.clone())
        };
        let words = |key: &str, words, is_set| {
            (key.to_owned(), words, if is_set { Origin::File } else { Origin::Default })
        };
        let models = &self.models;
        let mut entries = vec![
            path("state_dir", &self.state_dir),
            path("socket", &self.socket),
            tables::entry("log", &self.log),
        ];
        entries.extend(sources::entries(&self.sources));
        entries.extend(self.ingest.entries());
        entries.extend(self.compaction.entries());
        entries.extend(self.context.entries());
        entries.extend(self.archive.entries());
        entries.extend(self.message_history.entries());
        entries.extend(self.memory.entries());
        entries.extend(self.server.entries());
        entries.push(words("model", models.choice_words(), models.default.is_some()));
        entries.push(words("providers", models.provider_words(), !models.providers.is_empty()));
        entries.extend(self.budget.entries());
        entries.extend(self.repository.entries());
        entries.extend(self.policies.entries());
        entries
    }
}

/// The path of the file to read.
fn path_of(args: &Args, around: &Surroundings) -> PathBuf {
    match &args.config {
        Some(path) => around.base.resolve(path, &around.current_dir),
        None => around.base.config_file(),
    }
}

/// The layers above the default, and the base of the file's relative paths.
struct Layers<'a> {
    around: &'a Surroundings,
    file_dir: &'a Path,
}

impl Layers<'_> {
    fn env(&self, name: &'static str) -> Option<OsString> {
        self.around.env.get(name).filter(|value| !value.is_empty()).cloned()
    }

    fn path(
        &self,
        (flag, given): (&'static str, Option<&Path>),
        env: &'static str,
        file: Option<&Path>,
        default: PathBuf,
    ) -> Setting<PathBuf> {
        let Surroundings { base, current_dir, .. } = self.around;
        if let Some(path) = given {
            return Setting { value: base.resolve(path, current_dir), origin: Origin::Flag(flag) };
        }
        if let Some(path) = self.env(env) {
            let value = base.resolve(Path::new(&path), current_dir);
            return Setting { value, origin: Origin::Environment(env) };
        }
        match file {
            Some(path) => {
                Setting { value: base.resolve(path, self.file_dir), origin: Origin::File }
            }
            None => Setting { value: default, origin: Origin::Default },
        }
    }

    fn log(&self, flag: Option<&str>, file: Option<String>) -> Setting<String> {
        let env = self.env("LONGHAUL_LOG").and_then(|value| value.into_string().ok());
        match (flag, env, file) {
            (Some(value), _, _) => {
                Setting { value: value.to_owned(), origin: Origin::Flag("--log") }
            }
            (_, Some(value), _) => Setting { value, origin: Origin::Environment("LONGHAUL_LOG") },
            (_, _, Some(value)) => Setting { value, origin: Origin::File },
            _ => Setting { value: "info".to_owned(), origin: Origin::Default },
        }
    }
}

#[cfg(test)]
mod tests;
