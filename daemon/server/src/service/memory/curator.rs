//! Starts `longhaul-curator`, the program that runs `curate` jobs, while such a job is due.
//!
//! It is an ordinary client that confines itself before it claims, under a unique worker name. If another worker
//! claimed first, that worker keeps the lease and settles the job. The program exits when nothing is due, so an
//! idle daemon has no second process.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::job::{Failure, FailureKind, JobKey, Kind, Why};
use longhaul_core::text;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::curation::{Curation, worker_failed};
use crate::clock::Clock;
use crate::jobs::{JobError, Jobs};
use crate::service::error::ServiceError;

/// The program, in the folder of the daemon's executable.
const PROGRAM: &str = "longhaul-curator";

/// Its exit code if this system cannot confine it.
const UNCONFINED: i32 = 69;

/// Maximum time between two checks of the job; an expired lease sends no notification.
const LOOK: Duration = Duration::from_secs(60);

/// Pause after a run.
const PAUSE: Duration = Duration::from_secs(1);

/// Bytes to keep of its standard error.
const WORDS_BYTES: u64 = 4 * 1_024;

pub struct CuratorProcess {
    curation: Arc<Curation>,
    jobs: Jobs,
    program: PathBuf,
    socket: PathBuf,
    clock: Clock,
}

impl CuratorProcess {
    /// `program` is the daemon's executable, `socket` the daemon's socket.
    pub fn new(
        curation: Arc<Curation>,
        jobs: Jobs,
        program: &Path,
        socket: PathBuf,
        clock: Clock,
    ) -> Self {
        // `program` may be the kernel's link to the file; after an upgrade the old path still has the right folder.
        let file = std::fs::read_link(program).unwrap_or_else(|_| program.to_owned());
        Self { curation, jobs, program: file.with_file_name(PROGRAM), socket, clock }
    }

    /// The missing program's path, if the daemon is to start it.
    pub fn missing(&self) -> Option<&Path> {
        (self.curation.uses_own_worker() && !self.program.is_file()).then_some(&self.program)
    }

    /// Starts the program whenever the job is due. Dropping this kills it.
    pub async fn run_when_due(&self) {
        let mut changed = self.jobs.watch(Kind::Curate);
        loop {
            changed.mark_unchanged();
            let look = match self.wait().await {
                Ok(None) => {
                    if let Err(error) = self.run().await {
                        tracing::warn!(%error, "cannot record the curator's outcome");
                        tokio::time::sleep(LOOK).await;
                    }
                    continue;
                }
                Ok(Some(wait)) => wait.min(LOOK),
                Err(error) => {
                    tracing::warn!(%error, "cannot read the curator's job");
                    LOOK
                }
            };
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep(look) => {}
            }
        }
    }

    /// Time until the job may be due; `None` if it is due.
    async fn wait(&self) -> Result<Option<Duration>, JobError> {
        Ok(match self.jobs.why(&JobKey::only(Kind::Curate)).await {
            Ok((_, Why::Due | Why::Abandoned)) => None,
            Ok((_, Why::Waiting { wait_ms, .. })) => Some(Duration::from_millis(wait_ms)),
            Ok(_) | Err(JobError::NotFound(_)) => Some(LOOK),
            Err(error) => return Err(error),
        })
    }

    /// Runs the program once and settles any job it left.
    async fn run(&self) -> Result<(), ServiceError> {
        let worker = format!("curator-{}", self.clock.new_id());
        let why = match self.spawn(&worker).await {
            Ok((status, _)) if status.success() && self.curation.owner_of(&worker).is_none() => {
                // The job is done, or another worker claimed it first.
                tokio::time::sleep(PAUSE).await;
                return Ok(());
            }
            Ok((status, _)) if status.success() => {
                worker_failed("it exited without finishing its job".to_owned())
            }
            Ok((status, words)) if status.code() == Some(UNCONFINED) => {
                let (kind, retry_after_ms) = (FailureKind::Unauthorized, None);
                ("sandbox_unavailable", Failure { kind, detail: words, retry_after_ms })
            }
            Ok((status, words)) => worker_failed(format!("{status}: {words}")),
            Err(error) => worker_failed(format!("{}: {error}", self.program.display())),
        };
        self.curation.abandoned(&worker, why).await
    }

    async fn spawn(&self, worker: &str) -> std::io::Result<(ExitStatus, String)> {
        let mut child = Command::new(&self.program)
            .arg("--socket")
            .arg(&self.socket)
            .args(["--worker", worker])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut words = String::new();
        if let Some(stderr) = child.stderr.take() {
            // Output that is not UTF-8 is not a useful reason.
            drop(stderr.take(WORDS_BYTES).read_to_string(&mut words).await);
        }
        Ok((child.wait().await?, text::one_line(&words).into_owned()))
    }
}
