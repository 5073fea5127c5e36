//! From a configuration to a running daemon and back to nothing.
//!
//! # Theory of operation
//! [`listen`] takes what only one daemon may have: the lock on the state folder, then the socket. [`App::build`]
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
use std::os::unix::net::UnixListener;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use longhaul_protocol::socket::of_agents;
use longhaul_store::StoreError;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::Config;
use crate::folder::{self, FolderError};
use crate::link::Caller;
use crate::lock::{Lock, LockError};
use crate::rpc::{self, TableError};
use crate::service::reload::Reload;
use crate::service::{Deps, Services};
use crate::shutdown::watch_signals;
use crate::socket::bind::{BindError, Bound};
use crate::socket::{self, Bounds, Server};
use crate::systemd::{self, TakenSockets};
use work::OwnWork;

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
#[derive(Debug)]
pub struct Held {
    /// The person's socket. Declared first: it is given up before the state folder is.
    pub socket: Bound,
    /// The agents' socket; `None` where it cannot be made, and then agents are not served.
    pub agents: Option<Bound>,
    _state: Lock,
}

/// Takes the state folder and the socket, the one of systemd if it hands one over.
///
/// # Errors
/// [`AppError::Lock`] or [`BindError::Lock`] with the holder's pid when another daemon runs; else what is
/// wrong with the folders.
pub fn listen(config: &Config) -> Result<Held, AppError> {
    folder::make_private(&config.state_dir)?;
    let state = Lock::take(&config.state_dir.join("longhauld.lock"))?;
    let TakenSockets { person, agents } = systemd::take_sockets().map_err(AppError::Systemd)?;
    let (socket, agents) = match (person, agents) {
        (Some(person), Some(agents)) => (Bound::adopt(person), Some(Bound::adopt(agents))),
        (Some(person), None) => {
            let socket = Bound::adopt(person);
            let agents = beside(&socket.path);
            (socket, agents)
        }
        (None, _) => {
            let socket = Bound::bind(&config.socket)?;
            let agents = Bound::bind(&of_agents(&config.socket))?;
            (socket, Some(agents))
        }
    };
    Ok(Held { socket, agents, _state: state })
}

/// The agents' socket beside one of a unit that has only the person's.
fn beside(socket: &Path) -> Option<Bound> {
    match Bound::bind(&of_agents(socket)) {
        Ok(agents) => Some(agents),
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
        let deps = Deps::new(config, clock);
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
        let Services { storage, reload, policy, jobs, .. } = services;
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
    #[must_use]
    pub fn deps(&self) -> Deps {
        self.deps.clone()
    }

    /// Runs until told to stop, then drains.
    ///
    /// # Errors
    /// [`AppError::TaskEnded`] when a task ended by itself; the drain has been made all the same.
    pub async fn run(self) -> Result<(), AppError> {
        let Self { deps, server, held, background, stop } = self;
        let Held { socket: Bound { listener, claim, path }, agents, _state } = held;
        let mut tasks = Tasks::default();
        tasks.spawn_until(&stop, "signals", watch_signals(deps.shutdown.clone()));
        let (agents, agents_claim) = match agents {
            Some(Bound { listener, claim, .. }) => (Some(listener), claim),
            None => (None, None),
        };
        let accept = accept((listener, agents), Arc::new(server), deps.shutdown.token());
        tasks.spawn("socket", async { accept.await.map_err(TaskFailure::from) });
        tasks.spawn("watchdog", ok(systemd::feed_watchdog(stop.clone())));

        for (name, task) in background {
            tasks.spawn(name, task);
        }
        tracing::info!(socket = %path.display(), pid = std::process::id(), "listening");
        systemd::ready(&format!("listening on {}", path.display()));
        let ended = tokio::select! {
            // In this order: a task that ends because it was told to is no failure.
            biased;
            () = deps.shutdown.begun() => None,
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
        drop((claim, agents_claim));
        tracing::info!(reason = deps.shutdown.reason(), "stopped");
        early.or(failed).map_or(Ok(()), Err)
    }
}

impl AppError {
    fn is_of_task(&self, task: &str) -> bool {
        matches!(self, Self::TaskEnded { name, .. } if *name == task)
    }

    /// The exit code that tells a person or systemd what to do (sysexits).
    #[must_use]
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
    #[must_use]
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

/// Serves both sockets. When one is broken, the other drains too.
async fn accept(
    (person, agents): (UnixListener, Option<UnixListener>),
    server: Arc<Server>,
    draining: CancellationToken,
) -> io::Result<()> {
    let serve = |listener, caller| {
        socket::accept::serve((listener, caller), server.clone(), draining.clone())
    };
    let agents = agents.map(|listener| serve(listener, Caller::Agent));
    let agents = async {
        match agents {
            Some(serving) => serving.await,
            None => Ok(()),
        }
    };
    let (person, agents) = tokio::join!(serve(person, Caller::Person), agents);
    person.and(agents)
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
