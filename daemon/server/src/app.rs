//! From a configuration to a running daemon and back to nothing.
//!
//! # Theory of operation
//! [`listen`] takes what only one daemon may have: the lock on the state folder, then the socket. Signals are caught
//! before that: who finds the socket may send one, and it must be given up in order. [`App::build`]
//! makes everything else; from here on clients can connect, and wait in the kernel's queue. [`App::run`] starts the
//! tasks, the socket's first, so that no client waits for ingestion, and tells systemd.
//!
//! Every task is awaited here. One that ends before the daemon is told to stop ends the daemon with an error:
//! a daemon that is half dead is worse than one that systemd starts again.
//!
//! Drain: STOPPING → subscriptions get `closing` → accepting stops → requests in flight finish, at most for the
//! grace period → background tasks stop → the socket is unlinked → the lock is let go. A crash anywhere leaves
//! the locks free (the kernel's), a dead socket file (the next start removes it) and a database that recovers.

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
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::Config;
use crate::folder::{self, FolderError};
use crate::link::Caller;
use crate::lock::{self, Lock, LockError};
use crate::rpc::{self, TableError};
use crate::service::reload::Reload;
use crate::service::{DATABASE, Deps, Services};
use crate::shutdown::{Shutdown, watch_signals};
use crate::socket::bind::{BindError, Bound, Claim};
use crate::socket::{self, Bounds, Server};
use crate::systemd::{self, TakenSockets};
use work::OwnWork;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod simulation;
mod work;

/// Why a daemon did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The state folder is not private.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Another daemon has the state folder, or the lock cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is no socket to listen on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// What systemd handed over cannot be used.
    #[error("the socket of systemd cannot be used")]
    Systemd(#[source] io::Error),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The method table does not fit the protocol.
    #[error("the method table is wrong")]
    Table(#[from] TableError),
    /// A task ended although the daemon was not told to stop.
    #[error("task `{name}` ended")]
    TaskEnded {
        name: &'static str,
        /// Why, where it said so.
        #[source]
        source: Option<TaskFailure>,
    },
}

pub type TaskFailure = Box<dyn std::error::Error + Send + Sync>;

/// What only one daemon may have.
pub struct Held {
    /// The person's socket. Declared first: it is given up before the state folder is.
    pub socket: Bound,
    /// The agents' socket; `None` where it cannot be made, and then agents are not served.
    pub agents: Option<Bound>,
    state: Arc<Lock>,
    shutdown: Shutdown,
    /// Presses the switch when a signal comes.
    signals: BoxFuture<'static, io::Result<()>>,
}

/// Whether this daemon may open its database, told before anybody can find its socket.
///
/// # Errors
/// [`AppError::Store`]: a newer daemon wrote it.
pub async fn check_database(config: &Config) -> Result<(), AppError> {
    Ok(longhaul_store::check_version(&config.state_dir.join(DATABASE)).await?)
}

/// Takes the state folder and the socket, the one of systemd if it hands one over.
///
/// # Errors
/// [`AppError::Lock`] or [`BindError::Lock`] with the holder's pid when another daemon runs; those of
/// [`check_database`]; else what is wrong with the folders.
pub async fn listen(config: &Config) -> Result<Held, AppError> {
    check_database(config).await?;
    let shutdown = Shutdown::default();
    let signals = watch_signals(shutdown.clone()).boxed();
    folder::make_private(&config.state_dir)?;
    let path = config.state_dir.join("longhauld.lock");
    let state = lock::soon(|| Lock::take(&path), |error| matches!(error, LockError::Held { .. }));
    let state = Arc::new(state.await?);
    let TakenSockets { person, agents } = systemd::take_sockets().map_err(AppError::Systemd)?;
    let (socket, agents) = match (person, agents) {
        (Some(person), Some(agents)) => (Bound::adopt(person), Some(Bound::adopt(agents))),
        (Some(person), None) => {
            let socket = Bound::adopt(person);
            let agents = beside(&socket.path, &state);
            (socket, agents)
        }
        (None, _) => {
            let socket = bind(&config.socket, &state).await?;
            let agents = bind(&of_agents(&config.socket), &state).await?;
            (socket, Some(agents))
        }
    };
    Ok(Held { socket, agents, state, shutdown, signals })
}

async fn bind(path: &Path, state: &Arc<Lock>) -> Result<Bound, BindError> {
    Ok(lock::soon(|| Bound::bind(path), BindError::is_held).await?.with_state_lock(state))
}

/// The agents' socket beside one of a unit that has only the person's.
fn beside(socket: &Path, state: &Arc<Lock>) -> Option<Bound> {
    match Bound::bind(&of_agents(socket)) {
        Ok(agents) => Some(agents.with_state_lock(state)),
        Err(error) => {
            let hint = "install the units of this version: longhaul install systemd";
            tracing::warn!(%error, hint, "agents are not served");
            None
        }
    }
}

/// Reads the configuration anew at every SIGHUP, which is caught from the call on: a terminal that closes
/// must not take the daemon with it.
fn reload_on_hangup(
    reload: Arc<Reload>,
    stop: CancellationToken,
) -> impl Future<Output = Result<(), TaskFailure>> {
    let caught = signal(SignalKind::hangup());
    async move {
        let mut hangups = caught?;
        while let Some(Some(())) = stop.run_until_cancelled(hangups.recv()).await {
            if let Err(error) = reload.run() {
                tracing::warn!(%error, "the configuration stays as it was");
            }
        }
        Ok(())
    }
}

/// A daemon that is ready to run.
pub struct App {
    deps: Deps,
    server: Server,
    held: Held,
    /// Tasks besides the shell's own, started after the socket's.
    background: Vec<(&'static str, BackgroundTask)>,
    /// Cancelled when the requests in flight are done: background tasks outlive them.
    stop: CancellationToken,
}

type BackgroundTask = BoxFuture<'static, Result<(), TaskFailure>>;

impl App {
    /// Puts the daemon together: opens the database, a damaged one moved aside, and starts reading
    /// transcripts in the background. Nothing is answered yet.
    ///
    /// # Errors
    /// [`AppError::Store`] when the database is of a newer version or cannot be opened;
    /// [`AppError::Table`], a defect.
    pub async fn build(config: Config, clock: Clock, held: Held) -> Result<Self, AppError> {
        let (state, shutdown) = (Some(held.state.clone()), held.shutdown.clone());
        let deps = Deps { shutdown, state, ..Deps::new(config, clock) };
        let services = Services::open(deps.clone(), held.socket.path.clone()).await?;
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
        let app =
            Self { deps, server, held, background: Vec::new(), stop: CancellationToken::new() };
        Ok(app.with_tasks(services))
    }

    /// Adds the tasks of the services.
    fn with_tasks(self, services: Services) -> Self {
        let Services { storage, reload, policy, jobs, keeping, .. } = services;
        let work = OwnWork {
            compaction: services.compaction.jobs,
            full_text: services.full_text,
            memory: services.memory,
            retention: services.retention,
            idle_trim: services.idle_trim,
            storage: storage.clone(),
            jobs,
            config: self.deps.config.clone(),
        };
        self.with_task("jobs", |stop| work.run(stop))
            .with_task("policy", |stop| async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    // Its events end when the daemon stops, a moment before this task is told to.
                    () = policy.live.run() => stop.cancelled().await,
                }
                Ok(())
            })
            .with_task("reload", |stop| reload_on_hangup(reload, stop))
            .with_task("state folder", |stop| async move {
                match stop.run_until_cancelled(keeping.lost()).await {
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

    /// Adds a task, which has to end when the token it is given is cancelled, and not before.
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

    /// The daemon's handles, for whoever runs it in a process of their own.
    pub fn deps(&self) -> Deps {
        self.deps.clone()
    }

    /// Runs until told to stop, then drains.
    ///
    /// # Errors
    /// [`AppError::TaskEnded`] when a task ended by itself; the drain has been made all the same.
    pub async fn run(self) -> Result<(), AppError> {
        let Self { deps, server, held, background, stop } = self;
        let Held { socket, agents, state: _state, signals, .. } = held;
        let path = socket.path.clone();
        let mut tasks = Tasks::default();
        tasks.spawn_until(&stop, "signals", signals);
        // The right to the paths comes back here, to be given up when all tasks are done.
        let (give_back, mut claims) = oneshot::channel();
        let accept = accept((socket, agents), Arc::new(server), deps.shutdown.token());
        tasks.spawn("socket", async {
            drop(give_back.send(accept.await?));
            Ok(())
        });
        tasks.spawn("watchdog", ok(systemd::feed_watchdog(stop.clone())));

        for (name, task) in background {
            tasks.spawn(name, task);
        }
        tracing::info!(socket = %path.display(), pid = std::process::id(), "listening");
        systemd::ready(&format!("listening on {}", path.display()));
        let ended = tokio::select! {
            // In this order: a task that ends because it was told to is no failure.
            biased;
            () = deps.shutdown.wait() => None,
            ended = tasks.next() => ended,
        };

        let early = ended.map(|(name, result)| {
            tracing::error!(task = name, "a task ended, so does the daemon");
            deps.shutdown.begin("a task ended");
            AppError::TaskEnded { name, source: result.err() }
        });
        systemd::stopping();
        deps.events.close(deps.shutdown.reason());
        let socket_is_done = early.as_ref().is_some_and(|error| error.is_of_task("socket"));
        let failed = if socket_is_done { None } else { tasks.until_ended("socket").await };
        stop.cancel();
        let failed = tasks.all_ended().await.or(failed);
        drop(claims.try_recv());
        tracing::info!(reason = deps.shutdown.reason(), "stopped");
        early.or(failed).map_or(Ok(()), Err)
    }
}

impl AppError {
    fn is_of_task(&self, task: &str) -> bool {
        matches!(self, Self::TaskEnded { name, .. } if *name == task)
    }

    /// The exit code that tells a person or systemd what to do (sysexits).
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

    /// What to do about it, in one sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Lock(LockError::Held { .. })
            | Self::Bind(BindError::Lock(LockError::Held { .. })) => Some(
                "another longhauld is running: use it, stop it, or give this one a --state-dir and --socket of its own",
            ),
            Self::Bind(BindError::PathUnfit { .. }) => {
                Some("choose a shorter path with --socket or LONGHAUL_SOCKET")
            }
            _ => None,
        }
    }
}

/// Serves both sockets. When one is broken, the other drains too. Gives back the right to their paths.
async fn accept(
    (person, agents): (Bound, Option<Bound>),
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

/// The daemon's tasks, by name; none is ever left unawaited.
#[derive(Debug, Default)]
pub struct Tasks(JoinSet<(&'static str, Result<(), TaskFailure>)>);

impl Tasks {
    /// Starts a task that ends when the daemon stops.
    pub fn spawn(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), TaskFailure>> + Send + 'static,
    ) {
        self.0.spawn(async move {
            // Caught here, where the name is known.
            match AssertUnwindSafe(task).catch_unwind().await {
                Ok(result) => (name, result),
                Err(_) => (name, Err("it panicked".into())),
            }
        });
    }

    /// Starts a task that knows no end and is dropped when `stop` is cancelled.
    pub fn spawn_until<E: Into<TaskFailure> + Send>(
        &mut self,
        stop: &CancellationToken,
        name: &'static str,
        task: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        let stop = stop.clone();
        self.spawn(name, async move {
            tokio::select! {
                () = stop.cancelled() => Ok(()),
                result = task => result.map_err(Into::into),
            }
        });
    }

    /// Waits for a task to end; `None` when there is none.
    async fn next(&mut self) -> Option<(&'static str, Result<(), TaskFailure>)> {
        self.0.join_next().await.map(joined)
    }

    /// Waits until the task `name` has ended; answers the first failure on the way.
    async fn until_ended(&mut self, name: &str) -> Option<AppError> {
        let mut failed = None;
        while let Some((ended, result)) = self.next().await {
            failed = failed.or(failure(ended, result));
            if ended == name {
                break;
            }
        }
        failed
    }

    async fn all_ended(&mut self) -> Option<AppError> {
        self.until_ended("").await
    }
}

fn joined(
    ended: Result<(&'static str, Result<(), TaskFailure>), JoinError>,
) -> (&'static str, Result<(), TaskFailure>) {
    // A task catches its own panics and nobody aborts it.
    ended.unwrap_or_else(|error| ("unknown", Err(error.into())))
}

fn failure(name: &'static str, result: Result<(), TaskFailure>) -> Option<AppError> {
    result.err().map(|source| AppError::TaskEnded { name, source: Some(source) })
}

async fn ok(task: impl Future<Output = ()>) -> Result<(), TaskFailure> {
    task.await;
    Ok(())
}

#[cfg(test)]
mod tests;
