//! Runs a private daemon in its own folder for measurements, separate from the user's.
//!
//! It reports readiness as it does to systemd, so no polling is needed.

use std::fs::{self, File};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::{Value, json};

use crate::stopwatch::Stopwatch;
use crate::wire::Wire;

const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without progress after which ingestion counts as stuck.
const STANDSTILL: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);
/// Ticks per second of process times: fixed by Linux's interface.
const TICKS_PER_SECOND: f64 = 100.0;

pub(crate) struct Daemon {
    child: Child,
    folder: tempfile::TempDir,
    /// Stays open, since the daemon also reports when it stops.
    notify: UnixDatagram,
}

impl Daemon {
    /// Starts a daemon that reads the Codex transcripts under `codex_home`, and waits until it listens.
    pub(crate) fn start(longhauld: &Path, codex_home: &Path) -> anyhow::Result<Self> {
        Self::start_with(longhauld, codex_home, Path::new("/nonexistent"), "")
    }

    /// As `start`, also with transcripts of Claude Code and a configuration.
    pub(crate) fn start_with(
        longhauld: &Path,
        codex_home: &Path,
        claude_home: &Path,
        config: &str,
    ) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
        let notify = UnixDatagram::bind(folder.path().join("notify"))?;
        notify.set_read_timeout(Some(READY_TIMEOUT))?;
        fs::write(folder.path().join("config.toml"), config)?;
        let child = Self::spawn(longhauld, folder.path(), codex_home, claude_home)?;
        let daemon = Self { child, folder, notify };
        daemon.wait_ready()?;
        Ok(daemon)
    }

    /// Restarts it, keeping its store, on the Codex transcripts under `codex_home`.
    pub(crate) fn start_again(
        mut self,
        longhauld: &Path,
        codex_home: &Path,
    ) -> anyhow::Result<Self> {
        self.shut_down()?;
        let nowhere = Path::new("/nonexistent");
        self.child = Self::spawn(longhauld, self.folder(), codex_home, nowhere)?;
        self.wait_ready()?;
        Ok(self)
    }

    fn spawn(
        longhauld: &Path,
        folder: &Path,
        codex_home: &Path,
        claude_home: &Path,
    ) -> anyhow::Result<Child> {
        let at = |name: &str| folder.join(name);
        let log = File::create(at("log"))?;
        Command::new(longhauld)
            .env_remove("LISTEN_FDS")
            .env("NOTIFY_SOCKET", at("notify"))
            .env("LONGHAUL_CONFIG", at("config.toml"))
            .env("LONGHAUL_STATE_DIR", at("state"))
            .env("LONGHAUL_SOCKET", at("run/v1.sock"))
            .env("CODEX_HOME", codex_home)
            .env("CLAUDE_CONFIG_DIR", claude_home)
            .env("LONGHAUL_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", longhauld.display()))
    }

    fn wait_ready(&self) -> anyhow::Result<()> {
        let mut message = [0; 1024];
        loop {
            let length = self.notify.recv(&mut message).with_context(|| {
                format!("the daemon did not become ready; its log:\n{}", self.log())
            })?;
            let text = String::from_utf8_lossy(&message[..length]);
            if text.lines().any(|line| line == "READY=1") {
                return Ok(());
            }
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The daemon's folder, removed on drop.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("run/v1.sock")
    }

    pub(crate) fn connect(&self) -> anyhow::Result<Wire> {
        Wire::connect(&self.socket())
    }

    /// Waits until at least `bytes` are ingested and nothing is left to do; fails without progress.
    pub(crate) fn wait_idle(&self, bytes: u64) -> anyhow::Result<Value> {
        let mut wire = self.connect()?;
        let (mut last, mut since) = (0, Stopwatch::start());
        loop {
            let status = wire.call("daemon/status", &json!({}))?;
            let ingest = &status["ingest"];
            let done = ingest["bytes_done"].as_u64().unwrap_or(0);
            if ingest["state"] == "idle" && done >= bytes {
                return Ok(status);
            }
            if done > last {
                (last, since) = (done, Stopwatch::start());
            }
            ensure!(
                since.elapsed() < STANDSTILL,
                "ingestion makes no progress: {ingest}\n{}",
                self.log()
            );
            pause(POLL);
        }
    }

    /// Number of recorded compactions, up to 100.
    pub(crate) fn compactions(&self) -> anyhow::Result<usize> {
        let listed = self.connect()?.call("compaction/list", &json!({ "limit": 100 }))?;
        Ok(listed["compactions"].as_array().map_or(0, Vec::len))
    }

    /// Waits until everything ingested is archived; returns the archive's status.
    pub(crate) fn wait_archived(&self) -> anyhow::Result<Value> {
        let (mut wire, mut since) = (self.connect()?, Stopwatch::start());
        let mut last = Value::Null;
        loop {
            // The index is opened in the background, and calls are refused until then.
            let status = wire.call("archive/status", &json!({})).unwrap_or_default();
            if status["state"] == "idle" {
                return Ok(status);
            }
            if status["text_bytes"] != last {
                (last, since) = (status["text_bytes"].clone(), Stopwatch::start());
            }
            ensure!(
                since.elapsed() < STANDSTILL,
                "the archive makes no progress: {status}\n{}",
                self.log()
            );
            pause(POLL);
        }
    }

    /// Waits until the search index has everything ingested.
    pub(crate) fn wait_indexed(&self) -> anyhow::Result<()> {
        let mut wire = self.connect()?;
        loop {
            let status = wire.call("daemon/status", &json!({}))?;
            match status["search"]["state"].as_str().context("no search in daemon/status")? {
                "idle" => return Ok(()),
                "stalled" => bail!("the index is stalled\n{}", self.log()),
                _ => pause(POLL),
            }
        }
    }

    /// Processor time of the daemon so far, user and system, in seconds.
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let stat = self.proc("stat")?;
        // The name in parentheses may contain anything, so count the fields after it.
        let (_, fields) = stat.rsplit_once(')').context("/proc/pid/stat has no name")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |i: usize| fields.get(i).and_then(|field| field.parse::<f64>().ok());
        let (user, system) = ticks(11).zip(ticks(12)).context("/proc/pid/stat is too short")?;
        Ok((user + system) / TICKS_PER_SECOND)
    }

    pub(crate) fn memory(&self) -> anyhow::Result<Memory> {
        let status = self.proc("status")?;
        if let Some(end) = ending(self.process()?)? {
            bail!("the daemon ended by itself, {end}");
        }
        let mib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
            kib.map(|kib| kib / 1024.0).with_context(|| format!("/proc/pid/status has no {name}"))
        };
        Ok(Memory { held: mib("VmRSS:")?, peak: mib("VmHWM:")?, program: mib("RssFile:")? })
    }

    pub(crate) fn descriptors(&self) -> anyhow::Result<f64> {
        let open = fs::read_dir(format!("/proc/{}/fd", self.child.id()))?;
        Ok(open.count() as f64)
    }

    pub(crate) fn threads(&self) -> anyhow::Result<f64> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()))?;
        Ok(tasks.count() as f64)
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(self.process()?, signal)?)
    }

    fn process(&self) -> anyhow::Result<Pid> {
        let process = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        process.context("the daemon has no process id")
    }

    fn proc(&self, file: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{file}", self.child.id());
        fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
    }

    /// Bytes of the database and its log.
    pub(crate) fn store_bytes(&self) -> anyhow::Result<u64> {
        let mut sum = 0;
        for entry in fs::read_dir(self.folder.path().join("state"))? {
            sum += entry?.metadata()?.len();
        }
        Ok(sum)
    }

    /// Kills the daemon.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops the daemon with `daemon/shutdown`.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> anyhow::Result<()> {
        self.connect()?.call("daemon/shutdown", &json!({}))?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the daemon ended with {status}; its log:\n{}", self.log());
        Ok(())
    }
}

/// The exit status of a child, without reaping it; `None` while it runs.
fn ending(child: Pid) -> anyhow::Result<Option<String>> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(child), look)?;
    Ok(status.map(|status| match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, code) => format!("with exit code {}", code.unwrap_or_default()),
    }))
}

/// Memory of a process, in MiB.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) held: f64,
    pub(crate) peak: f64,
    /// Of this, file pages, which the system can drop at any time.
    pub(crate) program: f64,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // After `stop` the process is gone, and both calls fail.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[expect(clippy::disallowed_methods, reason = "to see that nothing happens one has to wait")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_of_a_daemon_is_reported() {
        for (script, expected) in [
            ("kill -9 $$", "killed by signal 9"),
            ("exit 3", "with exit code 3"),
            ("exit 0", "with exit code 0"),
        ] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let process = Pid::from_child(&child);
            // Waits until the child ended, without reaping it.
            waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
            assert_eq!(ending(process).unwrap().as_deref(), Some(expected));
            child.wait().unwrap();
        }
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert_eq!(ending(Pid::from_child(&child)).unwrap(), None);
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
