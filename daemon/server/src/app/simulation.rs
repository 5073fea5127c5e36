//! Simulates daemons under a scheduler driven by a seed.
//!
//! # Theory of operation
//! A seed is a chain of daemons over one folder. Each is a process (`life`) with all services, opened as in a real daemon,
//! on a clock that is set by the test and on runtimes that are paused between their turns (`turns`). A step lets one actor
//! act and waits until nothing more follows from it: an agent changes a transcript (`agents`); a file notification arrives,
//! late, twice or never; a full listing; a client's call; a job is claimed, renewed, run or settled (`jobs`); the archive,
//! the search index or SQLite's log has its turn; a thread is restored (`archive`) or forgotten (`forgetting`); the archive
//! gets other bounds or begins to redact (`bounds`); a clock jumps. Answers are recorded outside the daemon's reach (`world`).
//! After each step, at each start and when everything is quiet at the end, they are compared with the daemon's state
//! (`checks`).
//!
//! *Rare cases* have separate steps or checks: a run that sleeps past its lease while others take its job, and a start
//! after which no transcript changes. Between two daemons a database may be lost (`losses`), and every file is searched for
//! what was forgotten.
//!
//! *Crashes* come from the library of `tests/faults`: the n-th call that changes a file below the state folder kills the
//! process. After a kill everything written exists; after a power cut, `disk` computes a possible state from a journal of the
//! calls. Steps are separate, but the calls within a step are not reordered: two actors never act at once.
//!
//! `cargo xtask test simulation --minutes 60 --seed 7` runs more. A failing seed is printed with its steps and can be
//! repeated by its number: the same steps have the same outcomes, which the first seeds of each run check.

mod agents;
mod archive;
mod bounds;
#[path = "../../tests/support/chance.rs"]
mod chance;
mod checks;
#[path = "../../tests/faults/disk.rs"]
mod disk;
mod forgetting;
mod jobs;
#[path = "../../tests/faults/journal.rs"]
mod journal;
mod life;
mod losses;
mod notices;
#[path = "../../tests/faults/preload.rs"]
mod preload;
mod turns;
mod world;

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use chance::Chance;
use disk::{Disk, Keeping};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::Instant;
use world::{ErasureState, ForgetState, SeedFolder, Transcript, World};

/// Default number of seeds: some seconds beside all other tests.
const SEEDS: u64 = 6;

/// Seeds that run twice and must have the same outcome.
const TWICE: u64 = 2;

const AT_ONCE: usize = 3;

/// Daemons per seed.
const LIVES: u64 = 5;

/// Steps of a daemon that is not killed.
const STEPS: u64 = 30;

const THREADS: u64 = 3;

/// `enum fault` of `shim.c`.
const KILL: u32 = 6;

/// Time limit of a daemon's life on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder in memory, if there is one.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let below = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("longhaul-").tempdir_in(below).unwrap()
}

fn private(folder: &Path) {
    let mut folders = fs::DirBuilder::new();
    folders.recursive(true).mode(0o700).create(folder).unwrap();
}

/// Runs one seed to its end; returns its steps, and the errors, if any.
async fn try_seed(seed: u64, library: Arc<Path>) -> (String, Result<u64, String>) {
    let folder = folder();
    let place = SeedFolder(folder.path().canonicalize().unwrap());
    private(&place.state());
    fs::create_dir_all(place.agents().join("sessions/2026/03/02")).unwrap();
    fs::create_dir_all(place.agents().join("archived_sessions")).unwrap();
    let transcript = |number| Transcript {
        thread_id: format!("019cadd3-0000-7000-8000-{number:012x}"),
        path: None,
        rest: None,
        archived: None,
        forgotten: ForgetState::No,
        erased: ErasureState::No,
    };
    let transcripts = (1..=THREADS).map(transcript).collect();
    let (wall_ms, steps) = (1_763_700_000_000, STEPS);
    let (mut chance, mut crashes) = (Chance::new(seed), 0);
    let mut world = World { seed, wall_ms, steps, transcripts, ..World::default() };
    agents::begin(&mut world, &place, &mut chance);
    world.write(&place);
    for life in 1..=LIVES {
        let crashed = live(&place, (life == LIVES, &library), &mut chance).await;
        match crashed {
            Ok(has_crashed) => crashes += u64::from(has_crashed),
            Err(why) => {
                let trace = fs::read_to_string(place.file("trace")).unwrap_or_default();
                return (trace, Err(why));
            }
        }
    }
    (fs::read_to_string(place.file("trace")).unwrap(), Ok(crashes))
}

/// Runs one daemon; returns whether it was killed.
async fn live(
    place: &SeedFolder,
    (is_last, library): (bool, &Path),
    chance: &mut Chance,
) -> Result<bool, String> {
    let mut world = World::read(place);
    world.is_last = is_last;
    losses::lose(place, &mut world, chance);
    world.write(place);
    let keeping = match chance.below(10) {
        0..4 => Keeping::All,
        4..7 => Keeping::Journalled,
        _ => Keeping::Strict,
    };
    // The first steps of a daemon take few calls, its work many.
    let at = if chance.below(3) == 0 { 1 + chance.below(60) } else { 1 + chance.below(1_500) };
    let at = if is_last { 0 } else { at };
    let disk = (keeping != Keeping::All).then(|| Disk::over(&place.state(), keeping));
    let control = preload::control((KILL, at, 1), &place.state(), disk.is_some());
    fs::write(place.file("control"), control).unwrap();
    fs::remove_file(place.file("journal")).ok();
    let status = child(place, library).await?;
    if status.success() {
        return forgetting::look_for_forgotten(place).map(|()| false);
    }
    if status.signal() != Some(9) {
        let log = fs::read_to_string(place.file("log")).unwrap_or_default();
        // The message of the panic, and the stack frames after it.
        let lines: Vec<&str> = log.lines().collect();
        let first = lines.iter().position(|line| line.contains(" panicked at "));
        let first = first.unwrap_or(lines.len().saturating_sub(24));
        let shown = &lines[first..lines.len().min(first + 24)];
        return Err(format!("{status}\n{}", shown.join("\n")));
    }
    if let Some(disk) = disk {
        let journal = fs::read(place.file("journal")).unwrap_or_default();
        let disk = disk.after(&journal::parse(&journal));
        fs::remove_dir_all(place.state()).unwrap();
        private(&place.state());
        disk.write_to((&place.state(), &place.state()), chance);
        let mut world = World::read(place);
        (world.boots, world.boot_ms) = (world.boots + 1, 0);
        // A claim need not be on disk, since its holder is gone.
        world.epochs.clear();
        world.write(place);
    }
    let left = forgetting::look_for_forgotten(place);
    left.map(|()| true).map_err(|why| format!("killed at call {at}, {keeping:?} kept: {why}"))
}

/// This program as a daemon that can be killed.
async fn child(place: &SeedFolder, library: &Path) -> Result<ExitStatus, String> {
    let log = fs::File::create(place.file("log")).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "app::simulation::one_life", "--nocapture", "--test-threads=1"])
        .env("LONGHAUL_SIMULATION", &place.0)
        .env("LD_PRELOAD", library)
        .env("LONGHAUL_FAULTS", place.file("control"))
        .env("LONGHAUL_JOURNAL", place.file("journal"))
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let mut child = child.spawn().unwrap();
    match tokio::time::timeout(PATIENCE, child.wait()).await {
        Ok(status) => Ok(status.unwrap()),
        Err(_) => Err("it neither continues nor ends".to_owned()),
    }
}

/// Runs a daemon in a test process that was started by another one; does nothing in all others.
#[test]
fn one_life() {
    let Some(place) = std::env::var_os("LONGHAUL_SIMULATION") else { return };
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        // Unwinding would wait for paused runtimes.
        std::process::exit(101);
    }));
    life::Life::begin(SeedFolder(PathBuf::from(place))).run();
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The errors of a seed; without errors, its number of crashes.
async fn judge(seed: u64, is_twice: bool, library: Arc<Path>) -> Result<u64, String> {
    let (trace, outcome) = try_seed(seed, Arc::clone(&library)).await;
    let report = |trace: &str, why: &str| format!("seed {seed}\n{trace}{why}");
    let crashes = outcome.map_err(|why| report(&trace, &why))?;
    if !is_twice {
        return Ok(crashes);
    }
    // On a busy machine, a call was once made before the n-th one, at which the kill falls: of three runs, two must be the
    // same.
    let (mut traces, mut differs) = (vec![trace], String::new());
    for _ in 0..2 {
        let (again, _) = try_seed(seed, Arc::clone(&library)).await;
        if traces.contains(&again) {
            return Ok(crashes);
        }
        let parts = traces[0].lines().zip(again.lines()).find(|(first, second)| first != second);
        differs = report(&again, &format!("is not what it was the first time: {parts:?}"));
        traces.push(again);
    }
    Err(differs)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_moves_next_and_whenever_it_dies_nothing_that_was_answered_is_lost() {
    let folder = folder();
    let library: Arc<Path> = preload::build(folder.path()).into();
    let first = number("LONGHAUL_SIMULATION_SEED").unwrap_or(1);
    // The count, or else the time after which no further seed is begun.
    let time = number("LONGHAUL_SIMULATION_SECONDS").map(Duration::from_secs);
    let unbounded = time.map_or(SEEDS, |_| u64::MAX - first);
    let count = number("LONGHAUL_SIMULATION_SEEDS").unwrap_or(unbounded);
    let (mut seeds, mut running) = (first..first + count, JoinSet::new());
    let (mut failed, mut crashes, mut done, began) = (Vec::new(), 0, 0, Instant::now());
    let is_over = || time.is_some_and(|time| began.elapsed() >= time);
    loop {
        while running.len() < AT_ONCE
            && !is_over()
            && let Some(seed) = seeds.next()
        {
            let (is_twice, library) = (seed < first + TWICE, Arc::clone(&library));
            running.spawn(async move { (seed, judge(seed, is_twice, library).await) });
        }
        let Some(ended) = running.join_next().await else { break };
        let (seed, outcome) = ended.unwrap();
        done += 1;
        match outcome {
            Ok(count) => crashes += count,
            Err(why) => {
                println!("{why}");
                failed.push(seed);
            }
        }
    }
    let seconds = began.elapsed().as_secs();
    println!("{done} seeds from {first} in {seconds} s, {crashes} crashes, failed: {failed:?}");
    if let Some(seed) = failed.first() {
        panic!("again with: cargo xtask test simulation --seeds 1 --seed {seed}");
    }
}

/// An item of a thread.
fn message(role: &str, text: &str) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}
