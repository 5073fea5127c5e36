//! `cargo xtask soak`: a busy developer's day in an hour, against the real daemon in a scratch home.
//!
//! Twenty agents write, fork, resume, rename, delete and truncate transcripts; clients call constantly; the daemon is
//! suspended at times, as on a closed laptop. Memory, processor time and response times must not grow, and the answers
//! about each thread must equal those of a fresh daemon.

mod agent;
mod archived;
mod bounds;
mod chance;
mod clients;
mod comparison;
mod floor;
mod lines;
mod samples;

use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustix::process::Signal;

use crate::daemon::{Daemon, pause};
use crate::place;
use crate::stopwatch::Stopwatch;
use agent::{ActionCounts, Agent};
use chance::Chance;
use clients::Clients;
use floor::Floor;
use samples::Samples;

const AGENTS: u32 = 20;

/// Interval of checks during the day.
const STEP: Duration = Duration::from_millis(100);

/// Equal parts of the day; response times are compared within each. A quarter has a whole number of them.
const SLICES: usize = 120;

/// Samples per run, and the longest time between two.
const SAMPLES: u32 = 60;
const SAMPLE_PERIOD_MAX: Duration = Duration::from_secs(60);

const SUSPENDED: Duration = Duration::from_secs(2);

/// Suspensions per run.
const SUSPENSIONS: u32 = 12;

/// Excludes the user's own sources.
const CONFIG: &str = "[sources.gemini]\nenabled = false\n[sources.opencode]\nenabled = false\n";

#[derive(clap::Args)]
pub(crate) struct SoakArgs {
    /// Duration of the run
    #[arg(long, default_value_t = 1.0)]
    hours: f64,
    /// Duration in seconds; a short run does not check that the figures are flat
    #[arg(long, conflicts_with = "hours")]
    seconds: Option<u64>,
    /// Seed of the agents' actions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// An already built daemon, instead of a debug build
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
}

/// State shared by all threads of a run.
struct Day {
    codex_home: PathBuf,
    claude_home: PathBuf,
    watch: Stopwatch,
    whole: Duration,
    is_over: AtomicBool,
    actions: ActionCounts,
    /// Read-locked by callers of the daemon; write-locked while the daemon is suspended.
    awake: RwLock<()>,
}

impl Day {
    /// The current slice of the day, from 0.
    fn slice(&self) -> usize {
        let slice = self.watch.elapsed().as_nanos() * SLICES as u128 / self.whole.as_nanos().max(1);
        usize::try_from(slice).unwrap_or(SLICES).min(SLICES - 1)
    }

    /// The quarter of the day, from 0.
    fn quarter(&self) -> usize {
        self.slice() * 4 / SLICES
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

pub(crate) fn run(options: &SoakArgs) -> anyhow::Result<()> {
    let whole = match options.seconds {
        Some(seconds) => Duration::from_secs(seconds),
        None => Duration::try_from_secs_f64(options.hours * 3_600.0).context("--hours")?,
    };
    let longhauld = match &options.daemon {
        Some(path) => path.clone(),
        None => place::build_debug()?.join("longhauld"),
    };
    soak(&longhauld, whole, options.seed)
}

/// Soaks for the given time; the error lists all findings.
pub(crate) fn soak(longhauld: &Path, whole: Duration, seed: u64) -> anyhow::Result<()> {
    let home = tempfile::Builder::new().prefix("longhaul-soak-").tempdir()?;
    let day = Day {
        codex_home: home.path().join("codex"),
        claude_home: home.path().join("claude"),
        watch: Stopwatch::start(),
        whole,
        is_over: AtomicBool::new(false),
        actions: ActionCounts::default(),
        awake: RwLock::new(()),
    };
    // Created first, since the daemon finds later folders only with the next listing, up to a minute later.
    for folder in [day.codex_home.join("sessions"), day.claude_home.join("projects")] {
        std::fs::create_dir_all(folder)?;
    }
    let daemon = Daemon::start_with(longhauld, &day.codex_home, &day.claude_home, CONFIG)?;
    let floor = Floor::start(home.path())?;
    println!("==> soak: {AGENTS} agents for {} s, seed {seed}", whole.as_secs());
    let clients = Clients::default();
    let mut samples = Samples::default();
    let ran = std::thread::scope(|scope| {
        let agents = (0..AGENTS)
            .map(|number| Agent::new(&day, number, Chance::of(seed, number)))
            .map(|agent| scope.spawn(|| agent.live()));
        let agents: Vec<_> = agents.collect();
        let asking = clients.start(scope, &day, (&daemon, &floor));
        let watched = watch(&day, &daemon, &mut samples);
        day.is_over.store(true, Ordering::Relaxed);
        let joined = agents.into_iter().chain(asking).map(|thread| thread.join());
        let joined = joined.map(|end| end.ok().context("a thread of the soak panicked")?);
        watched.and(joined.collect::<anyhow::Result<()>>())
    });
    ran.with_context(|| format!("the daemon's log:\n{}", daemon.log()))?;
    println!("    {}", day.actions.show());
    let compared = comparison::compare(longhauld, &daemon, &day, CONFIG)?;
    println!("    {compared} threads: answers equal those of a fresh daemon");
    let archived = archived::compare(&daemon, home.path())?;
    println!("    {archived} archived texts equal their transcripts");
    let memory = daemon.memory()?;
    let times = clients.into_times()?;
    let findings = bounds::judge(&samples, &times, whole, memory.peak - memory.program);
    daemon.stop()?;
    ensure!(findings.is_empty(), "not flat: {}", findings.join("; "));
    Ok(())
}

/// Takes samples and suspends the daemon until the day is over.
fn watch(day: &Day, daemon: &Daemon, samples: &mut Samples) -> anyhow::Result<()> {
    let sample_period = (day.whole / SAMPLES).min(SAMPLE_PERIOD_MAX);
    let suspend_period = day.whole / (SUSPENSIONS + 1);
    let (mut sampled, mut suspended) = (0, 0);
    while day.watch.elapsed() < day.whole {
        pause(STEP);
        if day.watch.elapsed() >= sample_period * (sampled + 1) {
            sampled += 1;
            samples.take(day, daemon)?;
        }
        if day.watch.elapsed() >= suspend_period * (suspended + 1) && suspended < SUSPENSIONS {
            suspended += 1;
            suspend(day, daemon)?;
        }
    }
    Ok(())
}

/// Suspends the daemon while agents keep writing; no client calls it then, as on a sleeping machine.
fn suspend(day: &Day, daemon: &Daemon) -> anyhow::Result<()> {
    let alone = day.awake.write().ok().context("a client panicked")?;
    daemon.signal(Signal::STOP)?;
    pause(SUSPENDED.min(day.whole / 10));
    daemon.signal(Signal::CONT)?;
    drop(alone);
    Ok(())
}
