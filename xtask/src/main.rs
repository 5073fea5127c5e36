//! Builds, runs, tests and measures longhaul: `cargo xtask up`, `cargo xtask test`, `cargo xtask bench`.
#![expect(clippy::print_stdout, reason = "a build tool talks to the person who started it")]

mod agents;
mod bench;
mod codex_lines;
mod daemon;
mod editors;
mod eval;
mod fuzz;
mod mutants;
mod nightly;
mod npm;
mod place;
mod process;
mod sample;
mod soak;
mod stopwatch;
mod suite;
mod supply;
mod up;
mod wire;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Builds, runs, tests and measures longhaul")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Builds the daemon, starts it on your Codex transcripts (or a sample), compacts the newest thread
    Up(up::UpArgs),
    /// Runs all CI steps
    Test(suite::SuiteArgs),
    /// Measures the release daemon over its socket and prints ratios
    Bench(bench::BenchArgs),
    /// Tests longhaul with real releases of Codex and Claude Code
    Agents(agents::AgentsArgs),
    /// Tests the VS Code extension in a real headless editor
    Editors(editors::EditorsArgs),
    /// Writes a bill of materials (CycloneDX) of the binaries
    Sbom(supply::SbomArgs),
    /// Fuzzes the readers for panics and broken properties
    Fuzz(fuzz::FuzzArgs),
    /// Makes small changes to the core and lists those that no test notices
    Mutants(mutants::MutantsArgs),
    /// Runs the long searches (faults, simulation, fuzz, mutants, soak) and writes one report
    Nightly(nightly::NightlyArgs),
    /// Simulates twenty agents on a real daemon for an hour; fails on growth or a wrong answer
    Soak(soak::SoakArgs),
    /// Scores search with the questions of a data set; `longhaul eval` scores views
    Eval(eval::EvalArgs),
}

fn main() -> ExitCode {
    let done = match Args::parse().task {
        Task::Up(options) => up::run(&options),
        Task::Test(options) => suite::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Agents(options) => agents::run(&options),
        Task::Editors(options) => editors::run(&options),
        Task::Sbom(options) => supply::write_sbom(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Mutants(options) => mutants::run(&options),
        Task::Nightly(options) => nightly::run(&options),
        Task::Soak(options) => soak::run(&options),
        Task::Eval(options) => eval::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}
