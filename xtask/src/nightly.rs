//! `cargo xtask nightly`: runs the searches that take too long for CI and writes one report.
//!
//! Each runs in its own process, so that a crash does not end the others.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::process::Deadline;
use crate::stopwatch::Stopwatch;
use crate::{place, process};

/// Parts of the core's mutants. A night runs one, so each runs four times a year.
const SHARDS: u64 = 90;

/// Lines of a failed step's output in the report.
const LINES: usize = 40;

#[derive(clap::Args)]
pub(crate) struct NightlyArgs {
    /// Only these steps: faults, simulation, fuzz, mutants, soak
    steps: Vec<String>,
    /// Seed of all random choices [default: the date, as YYYYDDD]
    #[arg(long)]
    seed: Option<u64>,
    /// Faults of the disk to try
    #[arg(long, default_value_t = 10_000)]
    faults: u64,
    /// Schedules to simulate
    #[arg(long, default_value_t = 5_000)]
    schedules: u64,
    /// Seconds for each fuzz target
    #[arg(long, default_value_t = 1_200)]
    fuzz_seconds: u64,
    /// Hours of soak
    #[arg(long, default_value_t = 1.0)]
    soak_hours: f64,
    /// Hours after which a step is killed
    #[arg(long, default_value_t = 4)]
    step_hours: u64,
}

pub(crate) fn run(options: &NightlyArgs) -> anyhow::Result<()> {
    let seed = options.seed.map_or_else(date, Ok)?;
    let steps = steps(options, seed);
    for wanted in &options.steps {
        let names: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
        ensure!(names.contains(&wanted.as_str()), "no step {wanted}; there are {names:?}");
    }
    let folder = place::target()?.join("nightly");
    fs::create_dir_all(&folder)?;
    let report = folder.join("report.md");
    let mut text =
        format!("# Night {seed}\n\n| step | result | minutes | command |\n|---|---|---|---|\n");
    let (mut ends, mut failed) = (String::new(), Vec::new());
    let is_wanted =
        |name: &str| options.steps.is_empty() || options.steps.iter().any(|w| w == name);
    for (name, arguments) in steps.into_iter().filter(|(name, _)| is_wanted(name)) {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(&arguments).current_dir(place::workspace()?);
        println!("==> {name}: cargo {}", process::line(&command));
        let (log, watch) = (folder.join(format!("{name}.log")), Stopwatch::start());
        let deadline = Deadline::after(Duration::from_secs(options.step_hours * 3_600));
        let (is_done, output) = process::finish(&mut command, &log, deadline)?;
        let (minutes, verdict) = (watch.seconds() / 60.0, if is_done { "ok" } else { "FAILED" });
        println!("    {verdict} after {minutes:.1} min; {}", log.display());
        let line = process::line(&command);
        writeln!(text, "| {name} | {verdict} | {minutes:.1} | `cargo {line}` |")?;
        writeln!(
            ends,
            "\n## {name}\n\n```text\n{}\n```",
            end_of(&output, if is_done { 5 } else { LINES })
        )?;
        failed.extend((!is_done).then_some(name));
        // Written after each step, in case the run is interrupted.
        fs::write(&report, format!("{text}{ends}"))?;
    }
    println!("\n{}", report.display());
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn steps(options: &NightlyArgs, seed: u64) -> [(&'static str, Vec<String>); 5] {
    let words = |line: String| line.split(' ').map(str::to_owned).collect();
    let NightlyArgs { faults, schedules, fuzz_seconds, soak_hours, .. } = options;
    let shard = seed % SHARDS;
    [
        ("faults", words(format!("test faults --release --runs {faults} --seed {seed}"))),
        ("simulation", words(format!("test simulation --seeds {schedules} --seed {seed}"))),
        ("fuzz", words(format!("fuzz --seconds {fuzz_seconds}"))),
        ("mutants", words(format!("mutants --shard {shard}/{SHARDS}"))),
        ("soak", words(format!("soak --hours {soak_hours}"))),
    ]
}

fn date() -> anyhow::Result<u64> {
    let output = Command::new("date").arg("+%Y%j").output().context("cannot run date")?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| format!("date printed {text:?}"))
}

fn end_of(output: &str, lines: usize) -> String {
    let all: Vec<&str> = output.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
