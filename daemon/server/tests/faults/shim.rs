//! `longhauld` with faults in its calls on files. `shim.c` describes the library.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use longhaul_protocol::daemon::{NoParams, Status};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::preload;
use crate::support::{Client, command_of};

/// The effect of a faulty call. The numbers are those of `enum fault`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None = 0,
    /// EIO, of any call.
    Io = 1,
    /// ENOSPC, of calls that need room.
    Full = 2,
    /// EINTR.
    Interrupted = 3,
    /// Half of the bytes are read or written.
    Short = 4,
    /// EACCES of renames.
    Rename = 5,
    /// EMFILE of `inotify_init1`, ENOSPC of `inotify_add_watch`.
    Watches = 7,
}

/// The time of a fault.
#[derive(Debug, Clone, Copy)]
pub struct Trigger {
    pub fault: Fault,
    /// The first faulty call, from 1; 0 only counts calls.
    pub at: u64,
    /// Number of consecutive faulty calls; 0: all later ones.
    pub length: u64,
}

/// Offsets of `struct control`.
const FAULT: u64 = 4;
const CALLS: u64 = 24;
const HITS: u64 = 32;
const MET: u64 = 48 + 1_024;

/// Time limit of a start, an answer or an exit.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A user's folder, with the library's files beside it.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn state(&self) -> PathBuf {
        self.home().join(".local/state/longhaul")
    }

    pub fn journal(&self) -> Vec<u8> {
        fs::read(self.folder.path().join("journal")).unwrap()
    }

    /// The logs of the daemons started here.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Keeps the folder.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// Starts a daemon, which may fail; then returns its exit status.
    pub async fn start(&self, trigger: Trigger, is_recorded: bool) -> Result<Subject, ExitStatus> {
        let control = self.folder.path().join("control");
        let Trigger { fault, at, length } = trigger;
        let bytes = preload::control((fault as u32, at, length), &self.home(), is_recorded);
        fs::write(&control, bytes).unwrap();
        let log = self.folder.path().join("log");
        let log = fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let built = || env!("CARGO_BIN_EXE_longhauld").into();
        let program = std::env::var_os("LONGHAUL_FAULT_DAEMON").unwrap_or_else(built);
        let mut daemon = command_of(&program, &self.home());
        daemon
            .env("LD_PRELOAD", library())
            .env("LONGHAUL_FAULTS", &control)
            .env("LONGHAUL_JOURNAL", self.folder.path().join("journal"))
            .stdout(Stdio::null())
            .stderr(log);
        let child = daemon.spawn().unwrap();
        let socket = self.state().join("run/v1.sock");
        let mut subject = Subject { child, socket, control, fault: trigger.fault };
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(status) = subject.child.try_wait().unwrap() {
                return Err(status);
            }
            // The socket exists before the database is open; a client without an answer retries.
            if let Ok(mut client) = Client::try_connect(&subject.socket).await
                && client.attempt::<Status>(NoParams {}).await.is_some()
            {
                return Ok(subject);
            }
            assert!(tokio::time::Instant::now() < until, "the daemon neither answers nor ends");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }

    /// Number of calls of the last daemon that its fault could hit.
    pub fn calls(&self) -> u64 {
        Control(self.folder.path().join("control")).number(CALLS)
    }

    /// The first call that was hit, if any.
    pub fn met(&self) -> Option<String> {
        Control(self.folder.path().join("control")).met()
    }
}

struct Control(PathBuf);

impl Control {
    fn number(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        fs::File::open(&self.0).unwrap().read_exact_at(&mut bytes, at).unwrap();
        u64::from_ne_bytes(bytes)
    }

    fn met(&self) -> Option<String> {
        if self.number(HITS) == 0 {
            return None;
        }
        let mut bytes = [0; 1_024];
        fs::File::open(&self.0).unwrap().read_exact_at(&mut bytes, MET).unwrap();
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

/// A daemon under faults.
pub struct Subject {
    child: Child,
    pub socket: PathBuf,
    control: PathBuf,
    pub fault: Fault,
}

impl Subject {
    /// Whether its fault has occurred.
    pub fn is_met(&self) -> bool {
        Control(self.control.clone()).number(HITS) > 0
    }

    /// Replaces the fault from now on.
    pub fn set_fault(&self, fault: Fault) {
        let control = fs::File::options().write(true).open(&self.control).unwrap();
        control.write_all_at(&(fault as u32).to_ne_bytes(), FAULT).unwrap();
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Stops it; returns its exit status.
    pub async fn stop(mut self) -> ExitStatus {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        // It may have exited already.
        kill_process(pid, Signal::TERM).ok();
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(tokio::time::Instant::now() < until, "the daemon does not stop");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The library, built once per process.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| preload::build(Path::new(env!("CARGO_TARGET_TMPDIR"))))
}
