//! A whole daemon in the test's own process.

use std::path::{Path, PathBuf};

use longhaul_daemon::app::{App, AppError, listen};
use longhaul_daemon::args::Args;
use longhaul_daemon::clock::Clock;
use longhaul_daemon::config::{Config, Surroundings};
use longhaul_daemon::paths::Base;
use longhaul_daemon::service::Deps;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::rollout::Rollout;
use super::{Client, soon};

/// Writes the configuration file of a daemon whose folders are under `root`.
pub fn configure(root: &Path, text: &str) {
    let file = Base::under(root).config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// A configuration with everything under `root`, without the environment.
pub fn config_under(root: &Path, text: &str) -> Config {
    configure(root, text);
    let around = Surroundings {
        base: Base::under(root),
        current_dir: root.to_owned(),
        env: std::collections::BTreeMap::new(),
        program: env!("CARGO_BIN_EXE_longhauld").into(),
    };
    Config::load(&Args::default(), &around).unwrap()
}

/// A whole daemon in this process.
pub struct Daemon {
    pub deps: Deps,
    pub clock: Clock,
    pub socket: PathBuf,
    pub home: TempDir,
    task: JoinHandle<Result<(), AppError>>,
}

impl Daemon {
    pub async fn start() -> Self {
        Self::with_config("").await
    }

    pub async fn with_config(text: &str) -> Self {
        Self::over(tempfile::tempdir().unwrap(), text).await
    }

    /// A new daemon and a client of it.
    pub async fn start_with_client() -> (Self, Client) {
        Self::with_client(tempfile::tempdir().unwrap(), "").await
    }

    /// A daemon over `home` with this configuration, and a client of it.
    pub async fn with_client(home: TempDir, text: &str) -> (Self, Client) {
        let daemon = Self::over(home, text).await;
        let client = daemon.connect().await;
        (daemon, client)
    }

    /// The same, once it has read this thread.
    pub async fn synced(home: TempDir, text: &str, thread_id: &str) -> (Self, Client) {
        let (daemon, mut client) = Self::with_client(home, text).await;
        client.sync(thread_id).await;
        (daemon, client)
    }

    /// The same, once it has read this transcript.
    pub async fn synced_file(home: TempDir, text: &str, path: &Path) -> (Self, Client) {
        let (daemon, mut client) = Self::with_client(home, text).await;
        client.sync_file(path).await;
        (daemon, client)
    }

    /// A daemon that has read this thread and has no others, and a client of it.
    pub async fn reading(rollout: &Rollout, text: &str) -> (Self, Client) {
        let home = tempfile::tempdir().unwrap();
        rollout.write(home.path());
        Self::synced(home, text, rollout.thread_id()).await
    }

    /// A daemon of the user whose folders are under `home`, on a manual clock; Codex's folder is `home/.codex`.
    pub async fn over(home: TempDir, text: &str) -> Self {
        Self::on_clock(home, text, Clock::manual(1_763_700_000_000)).await
    }

    /// The same with another clock: deadlines pass on one that runs.
    pub async fn on_clock(home: TempDir, text: &str, clock: Clock) -> Self {
        let config = config_under(home.path(), text);
        let resources = listen(&config).await.unwrap();
        let socket = resources.socket.path.clone();
        let app = App::build(config, clock.clone(), resources).await.unwrap();
        let deps = app.deps();
        Self { deps, clock, socket, home, task: tokio::spawn(app.run()) }
    }

    /// Stops it and returns its user's folders.
    pub async fn stopped(self) -> TempDir {
        self.deps.shutdown.begin("a test");
        soon("the daemon's end", self.task).await.unwrap().unwrap();
        self.home
    }

    pub async fn connect(&self) -> Client {
        Client::connect(&self.socket).await
    }

    /// Waits until the daemon has exited.
    pub async fn ended(self) -> Result<(), AppError> {
        self.ended_at_home().await.0
    }

    /// The same, with its user's folders.
    pub async fn ended_at_home(self) -> (Result<(), AppError>, TempDir) {
        (soon("the daemon's end", self.task).await.unwrap(), self.home)
    }
}
