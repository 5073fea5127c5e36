//! The daemon's end: starts the child, asks it, and kills it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Call, Hello, LINE_BYTES_MAX, Reply};

/// This program, also where its file was replaced by an upgrade meanwhile.
const PROGRAM: &str = "/proc/self/exe";

/// The child's role, see [`crate::args::Role`].
const ROLE: &str = "stage";

/// Time for one answer: the child only reads and writes small files.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A child that waits to be asked. Dropping it kills it.
#[derive(Debug)]
pub struct Sandbox {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// Why there is no answer of a child.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// It cannot be locked in: nothing is run.
    #[error("{0}")]
    Unavailable(String),
    /// It cannot be started, or its pipes fail.
    #[error("the sandboxed process failed: {0}")]
    Failed(#[from] std::io::Error),
}

impl Sandbox {
    /// Starts a child that is locked into `folder`.
    ///
    /// # Errors
    /// [`SandboxError`].
    pub async fn start(folder: &Path) -> Result<Self, SandboxError> {
        let mut child = Command::new(PROGRAM)
            .arg(ROLE)
            .arg(folder)
            .env_clear()
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(broken("it has no pipes").into());
        };
        let mut sandbox = Self { _child: child, input, output: BufReader::new(output) };
        match sandbox.hear().await? {
            Hello::Ready => Ok(sandbox),
            Hello::Refused(reason) => Err(SandboxError::Unavailable(reason)),
        }
    }

    /// Asks for one tool.
    ///
    /// # Errors
    /// [`SandboxError::Failed`]: the child is gone or silent.
    pub async fn call(&mut self, call: &Call) -> Result<Reply, SandboxError> {
        let mut line = serde_json::to_vec(call).map_err(std::io::Error::from)?;
        line.push(b'\n');
        if line.len() > LINE_BYTES_MAX {
            return Ok(Reply { ok: false, text: "too long".to_owned() });
        }
        self.input.write_all(&line).await?;
        self.hear().await
    }

    async fn hear<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, SandboxError> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.output).take(LINE_BYTES_MAX as u64);
        let read = tokio::time::timeout(ANSWER_WITHIN, bounded.read_until(b'\n', &mut line));
        if read.await.map_err(|_| broken("it does not answer"))?? == 0 {
            return Err(broken("it ended").into());
        }
        Ok(serde_json::from_slice(&line).map_err(std::io::Error::from)?)
    }
}

fn broken(words: &str) -> std::io::Error {
    std::io::Error::other(words.to_owned())
}
