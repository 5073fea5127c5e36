//! Builds, runs and stops the daemon.
//!
//! # Theory of operation
//! [`listen`] takes what only one daemon may have: the lock on the state folder, then the socket. Signals are caught
//! before that, because a process that finds the socket may send one, and the daemon must drain. [`App::build`] creates
//! everything else; from then on clients can connect, and wait in the kernel's queue. [`App::run`] starts the tasks, the
//! socket's first, so that no client waits for ingestion, and notifies systemd.
//!
//! The tasks of the daemon are awaited here; ingestion, the indexer and the archiver await their own when they stop. Only
//! tasks that end by themselves (a search for room, an inspection of a repository) are not awaited. A task that ends
//! before the daemon is stopped ends the daemon with an error: a restart by systemd is better than a daemon without one of
//! its tasks.
//!
//! Drain: STOPPING → subscriptions get `closing` → accepting stops → requests in flight finish, for at most the grace
//! period → background tasks stop → the socket is unlinked → the lock is released. A crash at any point leaves free locks
//! (they are the kernel's), a dead socket file (which the next start removes) and a database that recovers.

use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use longhaul_protocol::socket::of_agents;
use longhaul_store::StoreError;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::Config;
use crate::folder::{self, FolderError};
use crate::lock::{self, Lock, LockError};
use crate::peer::Caller;
use crate::rpc::{self, TableError};
use crate::service::reload::Reload;
use crate::service::{DATABASE, DaemonServices, Deps, Services};
use crate::shutdown::{Shutdown, watch_signals};
use crate::socket::bind::{BindError, BoundSocket, Claim};
use crate::socket::{self, Bounds, Server};
use crate::systemd::{self, TakenSockets};
use work::OwnWork;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod simulation;
mod work;

/// Why a daemon did not start or ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Another daemon has the state folder, or the lock file cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The sockets passed by systemd cannot be used.
    #[error("cannot use the sockets passed by systemd")]
    Systemd(#[source] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The method table does not match the protocol.
    #[error("the method table does not match the protocol")]
    Table(#[from] TableError),
    /// A task ended before the daemon was stopped.
    #[error("task `{name}` ended")]
    TaskEnded {
        name: &'static str,
        #[source]
        source: Option<TaskFailure>,
    },
}

pub type TaskFailure = Box<dyn std::error::Error + Send + Sync>;

/// The resources that only one daemon may have.
pub struct ExclusiveResources {
    /// The person's socket. Declared first, so that it is released before the state folder.
    pub socket: BoundSocket,
    /// The agents' socket; `None` if it cannot be created, and then agents are not served.
    pub agents: Option<BoundSocket>,
    state: Arc<Lock>,
    shutdown: Shutdown,
    /// Triggers the switch at a signal.
    signals: BoxFuture<'static, io::Result<()>>,
}

/// Checks the version of the database, before clients can find the socket.
///
/// # Errors
/// [`AppError::Store`]: a newer daemon wrote it.
pub async fn check_database(config: &Config) -> Result<(), AppError> {
    Ok(longhaul_store::check_version(&config.state_dir.join(DATABASE)).await?)
}

/// Takes the state folder and the sockets, using those passed by systemd.
///
/// # Errors
/// [`AppError::Lock`] or [`BindError::Lock`] with the holder's pid if another daemon runs; those of [`check_database`] and
/// of creating the folders.
pub async fn listen(config: &Config) -> Result<ExclusiveResources, AppError> {
    check_database(config).await?;
    let shutdown = Shutdown::default();
    let signals = watch_signals(shutdown.clone()).boxed();
    folder::make_private(&config.state_dir)?;
    let path = config.state_dir.join("longhauld.lock");
    let state = lock::soon(|| Lock::take(&path), |error| matches!(error, LockError::Held { .. }));
    let state = Arc::new(state.await?);
    let TakenSockets { person, agents } = systemd::take_sockets().map_err(AppError::Systemd)?;
    let (socket, agents) = match (person, agents) {
        (Some(person), Some(agents)) => {
            (BoundSocket::adopt(person), Some(BoundSocket::adopt(agents)))
        }
        (Some(person), None) => {
            let socket = BoundSocket::adopt(person);
            let agents = bind_agents_beside(&socket.path, &state);
            (socket, agents)
        }
        (None, _) => {
            let socket = bind(&config.socket, &state).await?;
            let agents = bind(&of_agents(&config.socket), &state).await?;
            (socket, Some(agents))
        }
    };
    if let Err(error) = state.name_socket(&socket.path) {
        tracing::debug!(%error, "the lock file does not name the socket");
    }
    Ok(ExclusiveResources { socket, agents, state, shutdown, signals })
}

async fn bind(path: &Path, state: &Arc<Lock>) -> Result<BoundSocket, BindError> {
    Ok(lock::soon(|| BoundSocket::bind(path), BindError::is_held).await?.with_state_lock(state))
}

/// Binds the agents' socket next to the person's, for a unit that has only the latter.
fn bind_agents_beside(socket: &Path, state: &Arc<Lock>) -> Option<BoundSocket> {
    match BoundSocket::bind(&of_agents(socket)) {
        Ok(agents) => Some(agents.with_state_lock(state)),
        Err(error) => {
            let hint = "install the units of this version: longhaul install systemd";
            tracing::warn!(%error, hint, "cannot bind the agents' socket: agents are not served");
            None
        }
    }
}

/// Reloads the configuration at every SIGHUP. Catching it also keeps a closing terminal from ending the daemon.
fn reload_on_hangup(
    reload: Arc<Reload>,
    stop: CancellationToken,
) -> impl Future<Output = Result<(), TaskFailure>> {
    let caught = signal(SignalKind::hangup());
    async move {
        let mut hangups = caught?;
        while let Some(Some(())) = stop.run_until_cancelled(hangups.recv()).await {
            if let Err(error) = reload.run() {
                tracing::warn!(%error, "the configuration was not changed");
            }
        }
        Ok(())
    }
}

/// A daemon ready to run.
pub struct App {
    deps: Deps,
    server: Server,
    resources: ExclusiveResources,
    /// Tasks besides the app's own, started after the socket's.
    background: Vec<(&'static str, BackgroundTask)>,
    /// Cancelled after the requests in flight, which background tasks must outlive.
    stop: CancellationToken,
}

type BackgroundTask = BoxFuture<'static, Result<(), TaskFailure>>;

impl App {
    /// Builds the daemon: opens the database, moving a damaged one aside, and starts reading transcripts in the background.
    /// It answers nothing yet.
    ///
    /// # Errors
    /// [`AppError::Store`] if the database is of a newer version or cannot be opened; [`AppError::Table`] is a defect.
    pub async fn build(
        config: Config,
        clock: Clock,
        resources: ExclusiveResources,
    ) -> Result<Self, AppError> {
        let (state, shutdown) = (Some(resources.state.clone()), resources.shutdown.clone());
        let deps = Deps { shutdown, state, ..Deps::new(config, clock) };
        let services = Services::open(deps.clone(), resources.socket.path.clone()).await?;
        let methods = rpc::table(&services, &deps)?;
        let config = deps.config.now();
        let bounds = Bounds {
            connections_max: *config.server.connections_max,
            write_timeout: Duration::from_millis(*config.server.write_timeout_ms),
            drain: Duration::from_millis(*config.server.drain_ms),
            large: rpc::LARGE,
            ..Bounds::default()
        };
        let server = Server::new(methods, bounds, deps.counters.clone(), deps.clock.clone());
        let app = Self {
            deps,
            server,
            resources,
            background: Vec::new(),
            stop: CancellationToken::new(),
        };
        Ok(app.with_tasks(services))
    }

    fn with_tasks(self, services: Services) -> Self {
        let DaemonServices { storage, reload, state_check, upkeep, .. } = services.daemon;
        let policy = services.policy;
        let work = OwnWork {
            compaction: services.compaction.jobs,
            full_text: services.search.full_text,
            memory: services.memory,
            upkeep,
            storage: storage.clone(),
            jobs: services.job.jobs,
            config: self.deps.config.clone(),
        };
        self.with_task("jobs", |stop| work.run(stop))
            .with_task("policy", |stop| async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    // Its events end when the daemon stops, shortly before `stop` is cancelled.
                    () = policy.live.run() => stop.cancelled().await,
                }
                Ok(())
            })
            .with_task("reload", |stop| reload_on_hangup(reload, stop))
            .with_task("state folder", |stop| async move {
                match stop.run_until_cancelled(state_check.lost()).await {
                    Some(lost) => Err(lost.into()),
                    None => Ok(()),
                }
            })
            .with_task("ingest", |stop| async move {
                tokio::select! {
                    () = stop.cancelled() => storage.stop().await,
                    () = storage.reading_ended() => {}
                }
                Ok(())
            })
    }

    /// Adds a task that ends when its token is cancelled, and not before.
    #[must_use]
    pub fn with_task<F>(
        mut self,
        name: &'static str,
        task: impl FnOnce(CancellationToken) -> F,
    ) -> Self
    where
        F: Future<Output = Result<(), TaskFailure>> + Send + 'static,
    {
        self.background.push((name, task(self.stop.clone()).boxed()));
        self
    }

    /// The daemon's handles, for embedding it in another process.
    pub fn deps(&self) -> Deps {
        self.deps.clone()
    }

    /// Runs until stopped, then drains.
    ///
    /// # Errors
    /// [`AppError::TaskEnded`] if a task ended early; the drain has completed nevertheless.
    pub async fn run(self) -> Result<(), AppError> {
        let Self { deps, server, resources, background, stop } = self;
        let ExclusiveResources { socket, agents, state: _state, signals, .. } = resources;
        let path = socket.path.clone();
        let mut tasks = Tasks::default();
        let until = stop.clone();
        tasks.spawn("signals", async move {
            until.run_until_cancelled(signals).await.unwrap_or(Ok(())).map_err(Into::into)
        });
        // The claims on the paths come back here, to be released after all tasks.
        let (return_claims, mut claims) = oneshot::channel();
        let accept = accept((socket, agents), Arc::new(server), deps.shutdown.token());
        tasks.spawn("socket", async {
            drop(return_claims.send(accept.await?));
            Ok(())
        });
        tasks.spawn("watchdog", systemd::feed_watchdog(stop.clone()).map(Ok));
        for (name, task) in background {
            tasks.spawn(name, task);
        }
        tracing::info!(socket = %path.display(), pid = std::process::id(), "listening");
        systemd::ready(&format!("listening on {}", path.display()));
        let ended = tokio::select! {
            // In this order: a task that ends because of the stop has not failed.
            biased;
            () = deps.shutdown.wait() => None,
            ended = tasks.next() => ended,
        };

        let early = ended.map(|(name, result)| {
            tracing::error!(task = name, "a task ended early; stopping the daemon");
            deps.shutdown.begin("a task ended");
            AppError::TaskEnded { name, source: result.err() }
        });
        systemd::stopping();
        deps.events.close(deps.shutdown.reason());
        let socket_is_done = matches!(early, Some(AppError::TaskEnded { name: "socket", .. }));
        let failed = if socket_is_done { None } else { tasks.until_ended("socket").await };
        stop.cancel();
        // No task has this name: all of them end.
        let failed = tasks.until_ended("").await.or(failed);
        drop(claims.try_recv());
        tracing::info!(reason = deps.shutdown.reason(), "stopped");
        early.or(failed).map_or(Ok(()), Err)
    }
}

impl AppError {
    /// The exit code of sysexits for systemd or a person.
    pub fn exit_code(&self) -> u8 {
        const SOFTWARE: u8 = 70;
        const TRY_LATER: u8 = 75;
        const CONFIG: u8 = 78;
        match self {
            Self::Lock(LockError::Held { .. })
            | Self::Bind(BindError::Lock(LockError::Held { .. })) => TRY_LATER,
            Self::Folder(_) | Self::Lock(_) | Self::Bind(_) | Self::Systemd(_) | Self::Store(_) => {
                CONFIG
            }
            Self::Table(_) | Self::TaskEnded { .. } => SOFTWARE,
        }
    }

    /// The remedy, in one sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Lock(LockError::Held { .. })
            | Self::Bind(BindError::Lock(LockError::Held { .. })) => Some(
                "another longhauld is running: use it, stop it, or give this one its own --state-dir and --socket",
            ),
            Self::Bind(BindError::PathUnfit { .. }) => {
                Some("choose a shorter path with --socket or LONGHAUL_SOCKET")
            }
            _ => None,
        }
    }
}

/// Serves both sockets; if one fails, the other drains too. Returns the claims on their paths.
async fn accept(
    (person, agents): (BoundSocket, Option<BoundSocket>),
    server: Arc<Server>,
    draining: CancellationToken,
) -> io::Result<[Option<Claim>; 2]> {
    let serve =
        |bound, caller| socket::accept::serve((bound, caller), server.clone(), draining.clone());
    let agents = agents.map(|bound| serve(bound, Caller::Agent));
    let agents = async {
        match agents {
            Some(serving) => serving.await,
            None => Ok(None),
        }
    };
    let (person, agents) = tokio::join!(serve(person, Caller::Person), agents);
    Ok([person?, agents?])
}

/// The daemon's tasks, by name; all of them are awaited.
#[derive(Debug, Default)]
struct Tasks(JoinSet<(&'static str, Result<(), TaskFailure>)>);

impl Tasks {
    fn spawn(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), TaskFailure>> + Send + 'static,
    ) {
        self.0.spawn(async move {
            // Catch panics here, where the task's name is known.
            match AssertUnwindSafe(task).catch_unwind().await {
                Ok(result) => (name, result),
                Err(_) => (name, Err("it panicked".into())),
            }
        });
    }

    /// Waits for the next task to end; `None` without tasks.
    async fn next(&mut self) -> Option<(&'static str, Result<(), TaskFailure>)> {
        let ended = self.0.join_next().await?;
        // A task catches its own panics and is never aborted.
        Some(ended.unwrap_or_else(|error| ("unknown", Err(error.into()))))
    }

    /// Waits until the task `name` has ended; returns the first failure until then.
    async fn until_ended(&mut self, name: &str) -> Option<AppError> {
        let mut failed = None;
        while let Some((ended, result)) = self.next().await {
            if let Err(failure) = result {
                failed.get_or_insert(AppError::TaskEnded { name: ended, source: Some(failure) });
            }
            if ended == name {
                break;
            }
        }
        failed
    }
}

#[cfg(test)]
mod tests;
