//! A daemon of one's own: an empty store, a socket and a Codex home in a temporary folder.
//!
//! It is ended and the folder removed when the value is dropped, also after an error or Ctrl-C. If this
//! program is killed outright, the daemon stays until it is killed too; it touches nothing of the user's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use longhaul_client::{Client, ClientError};
use longhaul_protocol::daemon::{NoParams, Shutdown};
use tempfile::TempDir;

use crate::commands::up::find_program;
use crate::failure::{A_PERSON, Failure, TRY_LATER};
use crate::session::Session;

/// Seconds after which a daemon that does not answer counts as not started.
const START_SECONDS: u64 = 15;
/// Seconds it may take to end when asked to; then it is killed.
const STOP_SECONDS: u64 = 5;
/// Milliseconds between two looks at it.
const ATTEMPT_MS: u64 = 20;

/// The running daemon.
pub(super) struct PrivateDaemon {
    // Dropped in this order: the process ends before its folder goes.
    process: Process,
    client: Client,
    folder: TempDir,
}

/// A child that does not outlive its owner.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

impl PrivateDaemon {
    /// Starts it and waits until it answers.
    pub(super) async fn start(session: &Session) -> Result<Self, Failure> {
        // Private, since it holds parts of transcripts.
        let private = fs::Permissions::from_mode(0o700);
        let mut place = tempfile::Builder::new();
        let folder = place.prefix("longhaul-eval-").permissions(private).tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for name in ["codex/sessions", "claude/projects"] {
            fs::create_dir_all(at(name))?;
        }
        // The user's own configuration is not for this one.
        fs::write(at("config.toml"), "")?;
        let log = fs::File::create(at("log"))?;
        let mut command = Command::new(find_program()?);
        command.arg("--config").arg(at("config.toml"));
        command.arg("--codex-home").arg(at("codex")).arg("--claude-home").arg(at("claude"));
        command.arg("--state-dir").arg(at("state")).arg("--socket").arg(at("v1.sock"));
        for name in ["NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        let mut process = Process(command.spawn()?);
        let client = wait_for_answer(&mut process.0, session, &folder).await?;
        Ok(Self { process, client, folder })
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Where it looks for transcripts of Codex, and for those of Claude Code.
    pub(super) fn folders(&self) -> [PathBuf; 2] {
        ["codex/sessions", "claude/projects"].map(|name| self.folder.path().join(name))
    }

    /// Asks it to end, waits a little, and sees to it.
    pub(super) async fn stop(mut self) {
        let asked = self.client.call::<Shutdown>(NoParams::default()).await.is_ok();
        let ended = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(ATTEMPT_MS));
            while matches!(self.process.0.try_wait(), Ok(None)) {
                ticks.tick().await;
            }
        };
        if asked {
            tokio::time::timeout(Duration::from_secs(STOP_SECONDS), ended).await.unwrap_or(());
        }
    }
}

async fn wait_for_answer(
    process: &mut Child,
    session: &Session,
    folder: &TempDir,
) -> Result<Client, Failure> {
    let options = session.options().socket(folder.path().join("v1.sock"));
    let attempts = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(ATTEMPT_MS));
        loop {
            ticks.tick().await;
            if let Some(status) = process.try_wait()? {
                let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
                let last = log.lines().last().unwrap_or("it said nothing").to_owned();
                let message = format!("the daemon ended at once ({status}): {last}");
                return Err(Failure::new(A_PERSON, message));
            }
            match Client::connect(options.clone()).await {
                Ok(client) => return Ok(client),
                Err(ClientError::NotRunning { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    };
    let limit = Duration::from_secs(START_SECONDS);
    tokio::time::timeout(limit, attempts).await.unwrap_or_else(|_| {
        let message = format!("the private daemon did not answer in {START_SECONDS} s");
        Err(Failure::new(TRY_LATER, message))
    })
}
