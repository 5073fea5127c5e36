//! `longhauld` as a process, for signals and kills.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::eventually;

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

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
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
