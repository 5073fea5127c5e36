//! How other work affects well-behaved clients, and the memory it takes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::report::{Report, Times};
use crate::daemon::{Daemon, pause};
use crate::stopwatch::Stopwatch;

/// Pause between two calls of a well-behaved client, so that it is not a load itself.
const THINKS: Duration = Duration::from_millis(2);
const PEAK_AIM: &str = "< 128 MiB";
const WAIT_AIM: &str = "max <= 100 ms";

/// A client that repeats its calls on one connection.
pub(super) struct Bystander {
    what: &'static str,
    calls: Vec<(&'static str, Value)>,
    aim: &'static str,
}

impl Bystander {
    pub(super) fn new(what: &'static str, calls: Vec<(&'static str, Value)>) -> Self {
        Self { what, calls, aim: WAIT_AIM }
    }

    /// For calls with large answers.
    pub(super) fn without_aim(self) -> Self {
        Self { aim: "", ..self }
    }

    fn time(&self, daemon: &Daemon, is_over: &AtomicBool) -> anyhow::Result<Times> {
        let mut wire = daemon.connect()?;
        let (mut times, mut answer) = (Vec::new(), Vec::new());
        for (method, params) in self.calls.iter().cycle() {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let request = wire.request(method, params);
            let watch = Stopwatch::start();
            wire.round_trip(&request, &mut answer).with_context(|| format!("{method} beside"))?;
            times.push(watch.elapsed());
            let head = String::from_utf8_lossy(&answer[..answer.len().min(200)]);
            // A rejected call that may be retried counts with its time.
            let is_served = !head.contains("\"error\":") || head.contains("server_busy");
            ensure!(is_served, "{method}: {head}");
            pause(THINKS);
        }
        Ok(Times::of(times))
    }
}

/// Times the calls of `behaving` and of newcomers while `work` lasts.
pub(super) fn beside(
    daemon: &Daemon,
    name: &str,
    behaving: &[Bystander],
    report: &mut Report,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        let clients = behaving.iter();
        let timing: Vec<_> =
            clients.map(|client| scope.spawn(move || client.time(daemon, is_over))).collect();
        let newcomers = scope.spawn(|| time_newcomers(daemon, is_over));
        let pauses = scope.spawn(|| time_pauses(is_over));
        let worked = work();
        is_over.store(true, Ordering::Relaxed);
        let labels = behaving.iter().map(|client| (client.what, client.aim));
        let timing =
            labels.zip(timing).chain([(("a newcomer's first answer", WAIT_AIM), newcomers)]);
        for ((what, aim), times) in timing {
            let times = times.join().ok().context("a client that behaves panicked")??;
            report.add(format!("{name}: {what}"), times.show_worst(), aim);
        }
        let pauses = pauses.join().ok().context("the clock's thread panicked")?;
        report.add(format!("{name}: the machine's own pauses"), pauses.show_worst(), "");
        worked
    })
}

/// Time from connecting to the answer; a rejected client connects again.
fn time_newcomers(daemon: &Daemon, is_over: &AtomicBool) -> anyhow::Result<Times> {
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let watch = Stopwatch::start();
        let answered = || daemon.connect()?.call("daemon/status", &json!({}));
        while answered().is_err() {
            ensure!(watch.elapsed() < Duration::from_secs(20), "a newcomer is locked out");
        }
        times.push(watch.elapsed());
        pause(THINKS);
    }
    Ok(Times::of(times))
}

/// Delay of a thread that only sleeps: a lower bound for every answer.
fn time_pauses(is_over: &AtomicBool) -> Times {
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let watch = Stopwatch::start();
        pause(THINKS);
        times.push(watch.elapsed().saturating_sub(THINKS));
    }
    Times::of(times)
}

pub(super) fn memory(daemon: &Daemon, name: &str, report: &mut Report) -> anyhow::Result<()> {
    let memory = daemon.memory()?;
    let held = format!("{:.1} MiB, at its end {:.1} MiB", memory.peak, memory.held);
    report.add(format!("{name}: peak memory"), held, PEAK_AIM);
    Ok(())
}
