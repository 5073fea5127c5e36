//! Starts the program that does `curate` jobs, `longhaul-curator`, while there is one to do.
//!
//! It is a client like any other and confines itself before it claims, under a name that nobody else has: where a
//! worker of somebody else was first, the lease is that one's, and what it does is left to it. It ends when nothing
//! is due, so that a daemon at rest has no second process.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::job::{Failure, FailureKind, JobKey, Kind, Why};
use longhaul_core::text;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::curation::{Curation, worker_failed};
use crate::jobs::{JobError, Jobs};
use crate::service::error::ServiceError;

/// The program, beside the daemon's own.
const PROGRAM: &str = "longhaul-curator";

/// Its exit code where this system cannot confine it.
const UNCONFINED: i32 = 69;

/// Longest time without a look at the job: leases run out without anybody saying so.
const LOOK: Duration = Duration::from_secs(60);

/// Time between two runs.
const PAUSE: Duration = Duration::from_secs(1);

/// Bytes that are kept of what it says on standard error.
const WORDS_BYTES: u64 = 4 * 1_024;

pub struct CuratorProcess {
    curation: Arc<Curation>,
    jobs: Jobs,
    program: PathBuf,
    socket: PathBuf,
}

impl CuratorProcess {
    /// `program` is the daemon's own, `socket` where it is found.
    pub fn new(curation: Arc<Curation>, jobs: Jobs, program: &Path, socket: PathBuf) -> Self {
        // The daemon's own is a link of the kernel to its file; what an upgrade replaced still names its folder.
        let file = std::fs::read_link(program).unwrap_or_else(|_| program.to_owned());
        Self { curation, jobs, program: file.with_file_name(PROGRAM), socket }
    }

    /// Where its program should lie, if it is to be started and is not there.
    pub fn missing(&self) -> Option<&Path> {
        (self.curation.is_left_to_us() && !self.program.is_file()).then_some(&self.program)
    }

    /// Starts it whenever the job is due, until this is dropped, which kills it.
    pub async fn keep(&self) {
        let mut changed = self.jobs.watch();
        loop {
            changed.mark_unchanged();
            let look = match self.wait().await {
                Ok(None) => {
                    if let Err(error) = self.run().await {
                        tracing::warn!(%error, "what became of the curator could not be noted");
                        tokio::time::sleep(LOOK).await;
                    }
                    continue;
                }
                Ok(Some(wait)) => wait.min(LOOK),
                Err(error) => {
                    tracing::warn!(%error, "the job of the curator could not be looked at");
                    LOOK
                }
            };
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep(look) => {}
            }
        }
    }

    /// How long there is nothing to do; `None` when there is something.
    async fn wait(&self) -> Result<Option<Duration>, JobError> {
        Ok(match self.jobs.why(&JobKey::only(Kind::Curate)).await {
            Ok((_, Why::Due | Why::Abandoned)) => None,
            Ok((_, Why::Waiting { wait_ms, .. })) => Some(Duration::from_millis(wait_ms)),
            Ok(_) | Err(JobError::NotFound(_)) => Some(LOOK),
            Err(error) => return Err(error),
        })
    }

    /// Runs it once, and settles what it leaves.
    async fn run(&self) -> Result<(), ServiceError> {
        let worker = self.curation.new_worker();
        let why = match self.ended(&worker).await {
            Ok((status, _)) if status.success() && self.curation.owner_of(&worker).is_none() => {
                // It is done, or another worker was first.
                tokio::time::sleep(PAUSE).await;
                return Ok(());
            }
            Ok((status, _)) if status.success() => worker_failed("it left its job".to_owned()),
            Ok((status, words)) if status.code() == Some(UNCONFINED) => {
                let (kind, retry_after_ms) = (FailureKind::Unauthorized, None);
                ("sandbox_unavailable", Failure { kind, detail: words, retry_after_ms })
            }
            Ok((status, words)) => worker_failed(format!("{status}: {words}")),
            Err(error) => worker_failed(format!("{}: {error}", self.program.display())),
        };
        self.curation.abandoned(&worker, why).await
    }

    async fn ended(&self, worker: &str) -> std::io::Result<(ExitStatus, String)> {
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
        if let Some(said) = child.stderr.take() {
            // What is no text is no reason.
            drop(said.take(WORDS_BYTES).read_to_string(&mut words).await);
        }
        Ok((child.wait().await?, text::one_line(&words).into_owned()))
    }
}
