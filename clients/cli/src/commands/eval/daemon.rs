//! A private daemon: an empty store, a socket and a Codex home in a temporary folder.
//!
//! Dropping the value ends the daemon and removes the folder, also after an error or Ctrl-C. If this program is
//! killed, a guard does both.

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
use crate::failure::{CONFIG, Failure, TRY_LATER};
use crate::session::Session;

/// Seconds to wait for its first answer.
const START_SECONDS: u64 = 15;
/// Seconds to wait for its end before killing it.
const STOP_SECONDS: u64 = 5;
/// Milliseconds between two checks.
const ATTEMPT_MS: u64 = 20;

/// What the guard runs. Its input ends when this program does, however that happens. Then it kills the daemon, gives it
/// time to end, since it could still add files, and removes the folder.
const GUARD: &str = r#"read -r _; kill -KILL "$1"; sleep 1; rm -rf -- "$2""#;

pub(super) struct PrivateDaemon {
    // Fields drop in this order: the guard must not kill a process that has taken the daemon's id, and the daemon must
    // end before its folder is removed.
    _guard: Process,
    process: Process,
    pub(super) client: Client,
    folder: TempDir,
}

/// Kills the child on drop.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if it has already ended.
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
        // Shield it from the user's configuration.
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
        let guard = guard(&process.0, &folder)?;
        let client = wait_for_answer(&mut process.0, session, &folder).await?;
        Ok(Self { _guard: guard, process, client, folder })
    }

    /// Its folders for transcripts of Codex and of Claude Code.
    pub(super) fn folders(&self) -> [PathBuf; 2] {
        ["codex/sessions", "claude/projects"].map(|name| self.folder.path().join(name))
    }

    /// Requests a shutdown and waits; dropping the value kills the process if it is still running.
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

/// Starts the guard, in its own process group, as the daemon: a signal to this program's group must not end it.
fn guard(daemon: &Child, folder: &TempDir) -> Result<Process, Failure> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", GUARD, "sh", &daemon.id().to_string()]).arg(folder.path());
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    Ok(Process(shell.spawn()?))
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
                let last = log.lines().last().unwrap_or("it logged nothing").to_owned();
                let message = format!("the daemon ended at once ({status}): {last}");
                return Err(Failure::new(CONFIG, message));
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
