//! Builds, runs, tests and measures longhaul: `cargo xtask up`, `cargo xtask test`, `cargo xtask bench`.
#![expect(clippy::print_stdout, reason = "a build tool talks to the person who started it")]

mod agents;
mod bench;
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
    /// Builds the daemon, starts it on your Codex transcripts (or on a sample), compacts the newest thread
    Up(up::UpArgs),
    /// Runs everything that CI runs
    Test(suite::SuiteArgs),
    /// Measures the release daemon over its socket; prints ratios, judges nothing
    Bench(bench::BenchArgs),
    /// Compares our histories with what the real Codex sends, several versions of it if asked
    Agents(agents::AgentsArgs),
    /// Drives the extension of VS Code in a real editor, headless, and keeps pictures of it if asked
    Editors(editors::EditorsArgs),
    /// Writes a bill of materials (CycloneDX) of what the binaries are made of
    Sbom(supply::SbomArgs),
    /// Lets a fuzzer look for bytes that panic a reader or break what it promises
    Fuzz(fuzz::FuzzArgs),
    /// Changes the core in small ways, and lists the changes that no test notices
    Mutants(mutants::MutantsArgs),
    /// Runs the searches that take a night: faults, simulation, fuzz, mutants, soak; writes one report
    Nightly(nightly::NightlyArgs),
    /// Lets twenty agents work on a real daemon for an hour, and fails if anything grows or an answer is wrong
    Soak(soak::SoakArgs),
    /// Scores what views keep of what the agent needed next, on a folder of rollouts
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
