//! The effect on other clients of a hundred that never read their answers, and of ten thousand that never finish a
//! message. The same calls are timed before on the same daemon, as a baseline.

use std::io::{ErrorKind, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::bystander::{self, Bystander};
use super::report::Report;
use super::synth::{self, Length};
use crate::daemon::{Daemon, pause};
use crate::stopwatch::Stopwatch;

const THREAD_BYTES: u64 = 16 << 20;
const LARGE_BYTES: u64 = 8 << 20;
const SILENT_READERS: usize = 100;
const HALF_FRAMES: usize = 10_000;
/// Duration of requests by clients that never read, and of the baseline.
const SIEGE: Duration = Duration::from_secs(15);
const CALM: Duration = Duration::from_secs(3);

pub(super) fn measure(longhauld: &Path, report: &mut Report) -> anyhow::Result<()> {
    let descriptors = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: descriptors.maximum, ..descriptors })?;
    let home = tempfile::tempdir()?;
    synth::write(home.path(), 1, Length::Bytes(THREAD_BYTES))?;

    let besieged = Besieged::start(longhauld, home.path())?;
    besieged.beside("calm", report, || {
        pause(CALM);
        Ok(())
    })?;
    let name = format!("{SILENT_READERS} clients never read");
    let mut sent = 0;
    besieged.beside(&name, report, || {
        sent = never_read(&besieged)?;
        Ok(())
    })?;
    report.add(format!("{name}: requests they sent"), sent.to_string(), "");
    besieged.end(&name, report)?;

    let besieged = Besieged::start(longhauld, home.path())?;
    let name = format!("{HALF_FRAMES} half-sent messages");
    besieged.beside(&name, report, || half_send(&besieged))?;
    besieged.end(&name, report)
}

struct Besieged {
    daemon: Daemon,
    thread: String,
}

impl Besieged {
    fn start(longhauld: &Path, home: &Path) -> anyhow::Result<Self> {
        let daemon = Daemon::start(longhauld, home)?;
        daemon.wait_idle(1)?;
        daemon.wait_indexed()?;
        let mut wire = daemon.connect()?;
        let threads = wire.call("thread/list", &json!({ "limit": 1 }))?;
        let thread = threads.pointer("/threads/0/thread_id").and_then(Value::as_str);
        let thread = thread.context("no thread was read")?.to_owned();
        // The first access to a thread has its own figure.
        wire.call("checkpoint/view", &json!({ "thread_id": thread, "max_tokens": 2_000 }))?;
        Ok(Self { daemon, thread })
    }

    fn page(&self, bytes: u64) -> Value {
        json!({ "thread_id": self.thread, "max_bytes": bytes })
    }

    /// Times the calls of well-behaved clients while `siege` lasts.
    fn beside(
        &self,
        name: &str,
        report: &mut Report,
        siege: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let of_thread = json!({ "thread_id": self.thread });
        let view = json!({ "thread_id": self.thread, "max_tokens": 2_000 });
        let small = vec![("daemon/status", json!({})), ("thread/get", of_thread)];
        let behaving = [
            Bystander::new("daemon/status, thread/get", small),
            Bystander::new("checkpoint/view", vec![("checkpoint/view", view)]),
            Bystander::new("history/get of 64 KiB", vec![("history/get", self.page(64 << 10))]),
            Bystander::new("history/get of 8 MiB", vec![("history/get", self.page(LARGE_BYTES))])
                .without_aim(),
        ];
        bystander::beside(&self.daemon, name, &behaving, report, siege)
    }

    fn end(self, name: &str, report: &mut Report) -> anyhow::Result<()> {
        bystander::memory(&self.daemon, name, report)?;
        self.daemon.stop()
    }
}

/// Requests large pages on many connections without reading the answers; reconnects when closed.
fn never_read(besieged: &Besieged) -> anyhow::Result<u64> {
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "history/get", "params": besieged.page(LARGE_BYTES),
    });
    let line = format!("{request}\n");
    let connect = || -> anyhow::Result<UnixStream> {
        let stream = UnixStream::connect(besieged.daemon.socket())?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    let mut silent = (0..SILENT_READERS).map(|_| connect()).collect::<anyhow::Result<Vec<_>>>()?;
    let (watch, mut sent) = (Stopwatch::start(), 0);
    while watch.elapsed() < SIEGE {
        for stream in &mut silent {
            match stream.write_all(line.as_bytes()) {
                Ok(()) => sent += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => *stream = connect()?,
            }
        }
        pause(Duration::from_millis(5));
    }
    Ok(sent)
}

/// Sends one byte of every second message and 64 KiB of the others, on connections that stay open.
fn half_send(besieged: &Besieged) -> anyhow::Result<()> {
    let half = vec![b'x'; 64 << 10];
    let mut halves = Vec::new();
    for at in 0..HALF_FRAMES {
        let mut stream = UnixStream::connect(besieged.daemon.socket())
            .with_context(|| format!("connection {at}: too few descriptors?"))?;
        // The daemon may have closed it already.
        stream.set_write_timeout(Some(Duration::from_millis(100)))?;
        stream.write_all(if at % 2 == 0 { &half[..1] } else { &half }).unwrap_or_default();
        halves.push(stream);
    }
    pause(CALM);
    Ok(())
}
