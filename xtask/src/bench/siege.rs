//! What other clients notice while a hundred never read what they ask for, and ten thousand begin messages that
//! they never end. The same calls are timed before, on the same daemon, so that the machine's own pauses show.

use std::io::{ErrorKind, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::report::{Report, Times};
use super::synth::{self, Length};
use crate::daemon::{Daemon, pause};
use crate::stopwatch::Stopwatch;

const THREAD_BYTES: u64 = 16 << 20;
const LARGE_BYTES: u64 = 8 << 20;
const SILENT_READERS: usize = 100;
const HALF_FRAMES: usize = 10_000;
/// How long those that never read keep asking, and how long calls are timed before a siege.
const SIEGE: Duration = Duration::from_secs(15);
const CALM: Duration = Duration::from_secs(3);
/// Between two calls of a client that behaves: it is no load itself.
const THINKS: Duration = Duration::from_millis(2);
const PEAK_AIM: &str = "< 128 MiB";
const WAIT_AIM: &str = "max <= 100 ms";

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
    let mut asked = 0;
    besieged.beside(&name, report, || {
        asked = never_read(&besieged)?;
        Ok(())
    })?;
    report.add(format!("{name}: requests they sent"), asked.to_string(), "");
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
        // What the first look at a thread costs is another figure.
        wire.call("checkpoint/view", &json!({ "thread_id": thread, "max_tokens": 2_000 }))?;
        Ok(Self { daemon, thread })
    }

    fn page(&self, bytes: u64) -> Value {
        json!({ "thread_id": self.thread, "max_bytes": bytes })
    }

    /// Times the calls of clients that behave while `siege` lasts.
    fn beside(
        &self,
        name: &str,
        report: &mut Report,
        siege: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let is_over = AtomicBool::new(false);
        let of_thread = json!({ "thread_id": self.thread });
        let small = [("daemon/status", json!({})), ("thread/get", of_thread)];
        let view = [("checkpoint/view", json!({ "thread_id": self.thread, "max_tokens": 2_000 }))];
        let page = [("history/get", self.page(64 << 10))];
        let large = [("history/get", self.page(LARGE_BYTES))];
        let behaving: [(&str, &[(&str, Value)]); 4] = [
            ("daemon/status, thread/get", &small),
            ("checkpoint/view", &view),
            ("history/get of 64 KiB", &page),
            ("history/get of 8 MiB", &large),
        ];
        std::thread::scope(|scope| {
            let timing =
                behaving.map(|(what, calls)| (what, scope.spawn(|| self.time(calls, &is_over))));
            let newcomers = scope.spawn(|| self.time_newcomers(&is_over));
            let pauses = scope.spawn(|| time_pauses(&is_over));
            let besieging = siege();
            is_over.store(true, Ordering::Relaxed);
            let of_newcomers = ("a newcomer's first answer", newcomers);
            for (what, times) in timing.into_iter().chain([of_newcomers]) {
                let times = times.join().ok().context("a client that behaves panicked")??;
                let aim = if what.ends_with("8 MiB") { "" } else { WAIT_AIM };
                report.add(format!("{name}: {what}"), times.show_worst(), aim);
            }
            let pauses = pauses.join().ok().context("the clock's thread panicked")?;
            report.add(format!("{name}: the machine's own pauses"), pauses.show_worst(), "");
            besieging
        })
    }

    /// Each of `calls` in turn on one connection.
    fn time(&self, calls: &[(&str, Value)], is_over: &AtomicBool) -> anyhow::Result<Times> {
        let mut wire = self.daemon.connect()?;
        let (mut times, mut answer) = (Vec::new(), Vec::new());
        for (method, params) in calls.iter().cycle() {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let request = wire.request(method, params);
            let watch = Stopwatch::start();
            wire.round_trip(&request, &mut answer).with_context(|| format!("{method} beside"))?;
            times.push(watch.elapsed());
            let head = String::from_utf8_lossy(&answer[..answer.len().min(200)]);
            // One that is told to come again later waited in vain: that counts as the time it took.
            let is_served = !head.contains("\"error\":") || head.contains("server_busy");
            ensure!(is_served, "{method}: {head}");
            pause(THINKS);
        }
        Ok(Times::of(times))
    }

    /// From connecting to being answered; one that is turned away comes again.
    fn time_newcomers(&self, is_over: &AtomicBool) -> anyhow::Result<Times> {
        let mut times = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let watch = Stopwatch::start();
            let answered = || self.daemon.connect()?.call("daemon/status", &json!({}));
            while answered().is_err() {
                ensure!(watch.elapsed() < Duration::from_secs(20), "a newcomer is locked out");
            }
            times.push(watch.elapsed());
            pause(THINKS);
        }
        Ok(Times::of(times))
    }

    fn end(self, name: &str, report: &mut Report) -> anyhow::Result<()> {
        let memory = self.daemon.memory()?;
        let held = format!("{:.1} MiB, at its end {:.1} MiB", memory.peak, memory.held);
        report.add(format!("{name}: peak memory"), held, PEAK_AIM);
        self.daemon.stop()
    }
}

/// How much later than asked a thread goes on that only sleeps: nobody is answered sooner.
fn time_pauses(is_over: &AtomicBool) -> Times {
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let watch = Stopwatch::start();
        pause(THINKS);
        times.push(watch.elapsed().saturating_sub(THINKS));
    }
    Times::of(times)
}

/// Keeps asking for large pages on many connections and reads none. Who is closed comes again.
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

/// One byte of every second message, 64 KiB of the others, all on connections that stay open.
fn half_send(besieged: &Besieged) -> anyhow::Result<()> {
    let half = vec![b'x'; 64 << 10];
    let mut halves = Vec::new();
    for at in 0..HALF_FRAMES {
        let mut stream = UnixStream::connect(besieged.daemon.socket())
            .with_context(|| format!("connection {at}: too few descriptors?"))?;
        // One that the daemon closed already is as good.
        stream.set_write_timeout(Some(Duration::from_millis(100)))?;
        stream.write_all(if at % 2 == 0 { &half[..1] } else { &half }).unwrap_or_default();
        halves.push(stream);
    }
    pause(CALM);
    Ok(())
}
