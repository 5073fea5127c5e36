//! `longhauld` as a process, for signals and kills.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use super::{Client, eventually};

/// A daemon with everything under a temporary home.
pub struct Process {
    child: Child,
    pub socket: PathBuf,
}

pub fn command(home: &Path) -> Command {
    command_of(env!("CARGO_BIN_EXE_longhauld").as_ref(), home)
}

/// A daemon of another build.
pub fn command_of(program: &OsStr, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Process {
    pub async fn start(home: &Path) -> Self {
        Self::spawn(command(home), home).await
    }

    /// A new daemon and a client of it.
    pub async fn with_client(home: &Path) -> (Self, Client) {
        Self::spawn_with_client(command(home), home).await
    }

    /// A daemon for which [`Self::limit`] simulates a full disk, and a client of it: with its signal ignored, the limit
    /// is an error.
    pub async fn bounded(home: &Path) -> (Self, Client) {
        Self::after("trap '' XFSZ", home).await
    }

    /// A daemon started by a shell that has run a command, and a client of it.
    pub async fn after(shell_command: &str, home: &Path) -> (Self, Client) {
        let mut shell = Command::new("sh");
        let script = format!("{shell_command} && exec \"$0\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_longhauld")]);
        shell.env_clear().env("HOME", home).stderr(Stdio::null());
        Self::spawn_with_client(shell, home).await
    }

    async fn spawn_with_client(command: Command, home: &Path) -> (Self, Client) {
        let process = Self::spawn(command, home).await;
        let client = Client::connect(&process.socket).await;
        (process, client)
    }

    /// Starts `command`, which starts a daemon at `home`.
    pub async fn spawn(mut command: Command, home: &Path) -> Self {
        Self::watched(command.spawn().unwrap(), home).await
    }

    /// Waits until `child` answers.
    pub async fn watched(child: Child, home: &Path) -> Self {
        let socket = home.join(".local/state/longhaul/run/v1.sock");
        let mut process = Self { child, socket };
        eventually("the daemon answers", || {
            assert!(process.child.try_wait().unwrap().is_none(), "the daemon ended");
            std::os::unix::net::UnixStream::connect(&process.socket).is_ok()
        })
        .await;
        process
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Limits the size of its files from now on.
    pub fn limit(&self, bytes: Option<u64>) {
        let limit = Rlimit { current: bytes, maximum: None };
        let old = prlimit(Some(self.pid()), Resource::Fsize, limit).unwrap();
        assert_eq!(old.maximum, None);
    }

    /// Kills it and waits for its end.
    pub async fn killed(self) {
        self.signal(Signal::KILL);
        assert_eq!(self.exit_code().await, None, "by the signal");
    }

    /// Stops it as a service manager does, and waits for its end.
    pub async fn stopped(self) {
        self.signal(Signal::TERM);
        assert_eq!(self.exit_code().await, Some(0));
    }

    pub async fn exit_code(mut self) -> Option<i32> {
        let mut status = None;
        eventually("the daemon ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        })
        .await;
        status.unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have exited already.
        drop(self.child.kill());
    }
}
