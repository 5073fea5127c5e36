//! What the daemon runs with: defaults < file < environment < flags.
//!
//! Reading a configuration has no effect on anything: no folder is made, no socket bound. Each value
//! keeps where it came from, since "which of the four places said so" is the first question about one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::thread::Source;
use longhaul_protocol::limit::CONNECTIONS_MAX;

use crate::args::Args;
use crate::model::ModelSettings;
use crate::paths::Base;

pub mod file;
pub mod jobs;
mod live;
pub mod memory;
pub mod model;
pub mod policy;
pub mod repository;
pub mod sources;

use file::File;
pub use policy::Policies;

pub use file::Persistence;
pub use live::{Change, Live, Reloaded};

/// Where a value came from, weakest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// The configuration file.
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
    /// The value in force.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

impl<T> Deref for Setting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The values in force. Paths are absolute, numbers within their bounds.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// Folder of the database, of the daemon's own transcripts and of the lock.
    pub state_dir: Setting<PathBuf>,
    /// The socket to listen on, unless systemd hands one over.
    pub socket: Setting<PathBuf>,
    /// A tracing filter.
    pub log: Setting<String>,
    /// The agents whose transcripts can be read.
    pub sources: Vec<sources::SourceSettings>,
    /// Time between two full scans of the sources.
    pub scan_interval: Setting<Duration>,
    /// Days a compaction is kept.
    pub keep_days: Setting<u64>,
    /// Compactions kept of one thread.
    pub keep_per_thread: Setting<u64>,
    /// Tokens of every model's window; 0: as its transcript or name tells.
    pub window_tokens: Setting<u64>,
    /// Percent of the context window at which to compact, 0 for never.
    pub auto_compact_percent: Setting<u64>,
    /// Whether prompts are kept for recall.
    pub message_persistence: Setting<Persistence>,
    /// Bytes of the file they are kept in.
    pub message_max_bytes: Setting<u64>,
    /// Long-term memory.
    pub memory: memory::MemorySettings,
    /// Connections open at the same time.
    pub connections_max: Setting<usize>,
    /// How long a client may leave an answer unread.
    pub write_timeout: Setting<Duration>,
    /// How long requests in flight may take when the daemon stops.
    pub drain: Setting<Duration>,
    /// Threads of the async runtime.
    pub worker_threads: Setting<usize>,
    /// Models that may be asked; none by default.
    pub models: ModelSettings,
    /// What may be spent on them.
    pub budget: model::BudgetSettings,
    /// When threads are to be compacted.
    pub policies: Policies,
    /// Background jobs.
    pub jobs: jobs::JobSettings,
    /// Looking at repositories.
    pub repository: repository::RepositoryConfig,
    launch: Arc<Launch>,
}

/// Why a configuration was refused; the daemon exits with 78 (`EX_CONFIG`).
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no home folder to place anything in.
    #[error("no home folder: set HOME")]
    NoHome,
    /// The file named by a flag or the environment cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file cannot be understood.
    #[error("line {line}: {reason}{}", hint.map(|key| format!(" (did you mean `{key}`?)")).unwrap_or_default())]
    Syntax {
        /// Line of the file, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
        /// The key that was probably meant.
        hint: Option<&'static str>,
    },
    /// The file that was read cannot be understood.
    #[error("{}, {error}", file.display())]
    InFile {
        /// Which.
        file: PathBuf,
        /// Where in it and why.
        error: Box<ConfigError>,
    },
    /// A value cannot be meant.
    #[error("{key}: {reason}")]
    Invalid {
        /// The key.
        key: String,
        /// What is wrong with its value.
        reason: String,
    },
    /// A value is out of its bounds.
    #[error("{key} = {given} is out of bounds: {min} to {max}")]
    OutOfBounds {
        /// The key.
        key: &'static str,
        /// What was said.
        given: u64,
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
}

/// What a configuration is made from, besides the file.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The user's folders.
    pub base: Base,
    /// The folder relative paths of flags and environment start at.
    pub current_dir: PathBuf,
    /// This program, to be started in another role.
    pub program: PathBuf,
    /// Variables of the environment by name; an empty one counts as unset.
    pub env: BTreeMap<&'static str, OsString>,
}

/// How the process was started: with it the file can be read anew.
#[derive(Debug)]
struct Launch {
    args: Args,
    around: Surroundings,
}

/// This program, also where its file was replaced by an upgrade meanwhile.
const PROGRAM: &str = "/proc/self/exe";

/// The environment variables that say something, besides those of the agents.
const VARIABLES: [&str; 3] = ["LONGHAUL_STATE_DIR", "LONGHAUL_SOCKET", "LONGHAUL_LOG"];

impl Config {
    /// The configuration of this process.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`ConfigError::NoHome`].
    pub fn of_process(args: &Args) -> Result<Self, ConfigError> {
        let base = Base::of_user().ok_or(ConfigError::NoHome)?;
        // Without a current folder relative paths have no sense; they then start at the root and are not found.
        let current_dir = std::env::current_dir().unwrap_or_else(|_| "/".into());
        let variables = VARIABLES.into_iter().chain(sources::variables());
        let set = variables.filter_map(|name| Some((name, std::env::var_os(name)?)));
        let (env, program) = (set.collect(), PROGRAM.into());
        Self::load(args, &Surroundings { base, current_dir, program, env })
    }

    /// Puts the four layers together.
    ///
    /// # Errors
    /// [`ConfigError`]: a file that was asked for and cannot be read, a key or value that is refused. A
    /// missing file at the default place is no error.
    pub fn load(args: &Args, around: &Surroundings) -> Result<Self, ConfigError> {
        let (path, wanted) = (place(args, around), args.config.is_some());
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let in_file =
                    |error| ConfigError::InFile { file: path.clone(), error: Box::new(error) };
                let file = File::parse(&text).map_err(in_file)?;
                Self::assemble(args, around, file, Some(path))
            }
            Err(error) if !wanted && error.kind() == std::io::ErrorKind::NotFound => {
                Self::assemble(args, around, File::default(), None)
            }
            Err(source) => Err(ConfigError::Unreadable { path, source }),
        }
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
        let (server, history) = (file.server, file.message_history);
        let memory = memory::settings(&file.memory, file.model.is_some())?;
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
            scan_interval: SCAN_INTERVAL_S
                .of(file.ingest.scan_interval_s)?
                .map(Duration::from_secs),
            keep_days: KEEP_DAYS.of(file.compaction.keep_days)?,
            keep_per_thread: KEEP_PER_THREAD.of(file.compaction.keep_per_thread)?,
            window_tokens: WINDOW_TOKENS.of(file.context.window_tokens)?,
            auto_compact_percent: AUTO_COMPACT_PERCENT.of(file.context.auto_compact_percent)?,
            message_persistence: or_default(history.persistence, Persistence::default()),
            message_max_bytes: MESSAGE_BYTES.of(history.max_bytes)?,
            connections_max: CONNECTIONS.of(server.connections_max)?.map(to_count),
            write_timeout: WRITE_TIMEOUT_MS.of(server.write_timeout_ms)?.map(Duration::from_millis),
            drain: DRAIN_MS.of(server.drain_ms)?.map(Duration::from_millis),
            worker_threads: WORKER_THREADS.of(server.worker_threads)?.map(to_count),
            models: model::settings(file.model, file.providers)?,
            budget: model::budget(&file.budget)?,
            jobs: jobs::settings(&file.jobs, *memory.engine)?,
            memory,
            policies: Policies::of(
                &file.policy,
                &file.shadow_policy,
                base.config_file().with_file_name("templates"),
            )?,
            repository: repository::RepositoryConfig::of(&file.repository)?,
            file: path,
            state_dir,
            launch: Arc::new(Launch { args: args.clone(), around: around.clone() }),
        })
    }

    /// This program, to be started in another role.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.launch.around.program.clone()
    }

    /// Where the file is, or would be.
    #[must_use]
    pub fn file_place(&self) -> PathBuf {
        place(&self.launch.args, &self.launch.around)
    }

    /// The folder of the agent `source`; an empty path for a source that has none.
    #[must_use]
    pub fn home(&self, source: Source) -> &Path {
        sources::home_of(&self.sources, source)
    }

    /// Every key with its value and origin, in the order of the file, for people.
    #[must_use]
    pub fn entries(&self) -> Vec<(&'static str, String, Origin)> {
        fn entry<T>(
            key: &'static str,
            setting: &Setting<T>,
            show: impl Fn(&T) -> String,
        ) -> (&'static str, String, Origin) {
            (key, show(&setting.value), setting.origin.clone())
        }
        let said = |is_said| if is_said { Origin::File } else { Origin::Default };
        let path = |path: &PathBuf| path.display().to_string();
        let ms = |time: &Duration| time.as_millis().to_string();
        let mut entries = vec![
            entry("state_dir", &self.state_dir, path),
            entry("socket", &self.socket, path),
            entry("log", &self.log, String::clone),
            entry("ingest.scan_interval_s", &self.scan_interval, |time| time.as_secs().to_string()),
            entry("compaction.keep_days", &self.keep_days, ToString::to_string),
            entry("compaction.keep_per_thread", &self.keep_per_thread, ToString::to_string),
            entry("context.window_tokens", &self.window_tokens, ToString::to_string),
            entry("context.auto_compact_percent", &self.auto_compact_percent, ToString::to_string),
            entry("message_history.persistence", &self.message_persistence, ToString::to_string),
            entry("message_history.max_bytes", &self.message_max_bytes, ToString::to_string),
            entry("server.connections_max", &self.connections_max, ToString::to_string),
            entry("server.write_timeout_ms", &self.write_timeout, ms),
            entry("server.drain_ms", &self.drain, ms),
            entry("server.worker_threads", &self.worker_threads, ToString::to_string),
            ("model", self.models.choice_words(), said(self.models.default.is_some())),
            ("providers", self.models.provider_words(), said(!self.models.providers.is_empty())),
            entry("budget.requests_per_day", &self.budget.requests_per_day, ToString::to_string),
            entry("budget.tokens_per_day", &self.budget.tokens_per_day, ToString::to_string),
            entry("budget.requests_per_job", &self.budget.requests_per_job, ToString::to_string),
            entry("budget.tokens_per_job", &self.budget.tokens_per_job, ToString::to_string),
        ];
        let index_of = |entries: &[(&str, String, Origin)], wanted| {
            entries.iter().position(|(key, ..)| *key == wanted).unwrap_or(entries.len())
        };
        let at = index_of(&entries, "server.connections_max");
        entries.splice(at..at, self.memory.entries());
        let at = index_of(&entries, "ingest.scan_interval_s");
        entries.splice(at..at, sources::entries(&self.sources));
        entries.extend(self.repository.entries());
        entries.extend(self.policies.entries());
        entries
    }
}

/// The file that is read.
fn place(args: &Args, around: &Surroundings) -> PathBuf {
    match &args.config {
        Some(path) => around.base.resolve(path, &around.current_dir),
        None => around.base.config_file(),
    }
}

fn or_default<T>(given: Option<T>, default: T) -> Setting<T> {
    match given {
        Some(value) => Setting { value, origin: Origin::File },
        None => Setting { value: default, origin: Origin::Default },
    }
}

/// A whole number with its default and bounds.
struct Number {
    key: &'static str,
    default: u64,
    min: u64,
    max: u64,
}

const SCAN_INTERVAL_S: Number =
    Number { key: "ingest.scan_interval_s", default: 60, min: 1, max: 86_400 };
const KEEP_DAYS: Number = Number { key: "compaction.keep_days", default: 90, min: 1, max: 36_500 };
const KEEP_PER_THREAD: Number =
    Number { key: "compaction.keep_per_thread", default: 200, min: 1, max: 100_000 };
const WINDOW_TOKENS: Number =
    Number { key: "context.window_tokens", default: 0, min: 0, max: 100_000_000 };
/// The default is where agents compact by themselves; more than the effective window cannot be reached.
const AUTO_COMPACT_PERCENT: Number =
    Number { key: "context.auto_compact_percent", default: 90, min: 0, max: 95 };
/// Eight thousand prompts of a kilobyte: years of them, and read in milliseconds.
const MESSAGE_BYTES: Number =
    Number { key: "message_history.max_bytes", default: 8 << 20, min: 1 << 10, max: 64 << 20 };
const CONNECTIONS: Number =
    Number { key: "server.connections_max", default: CONNECTIONS_MAX as u64, min: 1, max: 65_536 };
const WRITE_TIMEOUT_MS: Number =
    Number { key: "server.write_timeout_ms", default: 30_000, min: 10, max: 3_600_000 };
const DRAIN_MS: Number = Number { key: "server.drain_ms", default: 5_000, min: 0, max: 60_000 };
/// Two threads serve thousands of requests a second; each more costs memory that idles.
const WORKER_THREADS: Number = Number { key: "server.worker_threads", default: 2, min: 1, max: 64 };

impl Number {
    fn of(&self, given: Option<u64>) -> Result<Setting<u64>, ConfigError> {
        let &Self { key, default, min, max } = self;
        match given {
            None => Ok(Setting { value: default, origin: Origin::Default }),
            Some(value) if (min..=max).contains(&value) => {
                Ok(Setting { value, origin: Origin::File })
            }
            Some(given) => Err(ConfigError::OutOfBounds { key, given, min, max }),
        }
    }
}

impl<T> Setting<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: change(self.value), origin: self.origin }
    }
}

fn to_count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The layers above the default, and what their relative paths are relative to.
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
