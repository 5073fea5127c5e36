//! `cargo xtask bench`: the cost of longhaul, measured on the release daemon over its socket.
//!
//! Every figure has a baseline from the same run on the same machine, so that machines are comparable. Nothing passes or
//! fails.

mod append;
mod archive;
mod bystander;
mod compaction;
mod corpus;
mod gateway;
mod hook;
mod idle;
mod ingest;
mod jobs;
mod many;
mod memory;
mod normalize;
mod plugin;
mod report;
mod repository;
mod round_trip;
mod search;
mod siege;
mod synth;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::place;
use report::Report;

#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Only these [default: all but search, many, plugin and gateway]
    #[arg(value_enum)]
    benches: Vec<Bench>,
    /// Folder of transcripts [default: $LONGHAUL_CORPUS/codex, for plugin $LONGHAUL_CORPUS/claude; without it the sample
    /// session]
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Compactions and round trips to time per figure
    #[arg(long, default_value_t = 300)]
    rounds: usize,
    /// ingest: size of the generated transcript; 2048 shows the peak memory of a large one
    #[arg(long, default_value_t = 256)]
    ingest_mib: u64,
    /// search, many: how many to generate; the defaults take some minutes
    #[arg(long)]
    items: Option<NonZeroU64>,
    /// Use an already built daemon, with the other programs beside it
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Bench {
    /// Memory, processor time and answers of an idle daemon
    Footprint,
    /// The agents' hooks, as whole processes
    Hooks,
    /// Normalizing and estimating a history of a million tokens
    Normalize,
    /// The job table
    Jobs,
    /// Long-term memory: its first build over the corpus, and the calls of sessions
    Memory,
    /// Durable appends
    Append,
    /// The inspection of a repository, by git with and without its sandbox
    Repository,
    /// The effect on other clients, and the memory, of clients that never read and of half-sent messages
    Siege,
    /// The archive: its cost for ingestion, its size, and handles whose transcripts are gone
    Archive,
    /// Reading the corpus, and a generated transcript
    Ingest,
    /// Search over 1000000 generated items
    Search,
    /// 50000 small transcripts
    Many,
    /// Compactions by the Claude Code plugin, on the largest transcripts; needs npm
    Plugin,
    /// The Codex gateway, on the largest transcripts
    Gateway,
}

/// What runs if nothing is named.
const ORDINARY: [Bench; 10] = [
    Bench::Footprint,
    Bench::Hooks,
    Bench::Normalize,
    Bench::Jobs,
    Bench::Memory,
    Bench::Append,
    Bench::Repository,
    Bench::Siege,
    Bench::Archive,
    Bench::Ingest,
];

pub(crate) fn run(options: &BenchArgs) -> anyhow::Result<()> {
    let longhauld = match &options.daemon {
        Some(path) => path.clone(),
        None => place::build_release()?.longhauld,
    };
    println!("==> longhaul bench with {}", longhauld.display());
    let mut report = Report::default();
    let named = &options.benches;
    for bench in if named.is_empty() { &ORDINARY[..] } else { named } {
        measure(*bench, options, &longhauld, &mut report)?;
    }
    report.print();
    Ok(())
}

fn measure(
    bench: Bench,
    options: &BenchArgs,
    longhauld: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    let rounds = options.rounds;
    let corpus = || corpus::find(options.corpus.as_deref());
    let items = |default| options.items.map_or(default, NonZeroU64::get);
    match bench {
        Bench::Footprint => {
            let corpus = corpus()?;
            idle::measure(longhauld, &corpus, report)?;
            round_trip::measure(longhauld, &corpus, rounds, report)?;
            compaction::measure(longhauld, &corpus, rounds, report)
        }
        Bench::Hooks => hook::measure(longhauld, &corpus()?, rounds, report),
        Bench::Normalize => normalize::measure(longhauld, rounds, report),
        Bench::Jobs => jobs::measure(longhauld, rounds, report),
        Bench::Memory => memory::measure(longhauld, &corpus()?, rounds, report),
        Bench::Append => append::measure(longhauld, rounds, report),
        Bench::Repository => repository::measure(longhauld, rounds, report),
        Bench::Siege => siege::measure(longhauld, report),
        Bench::Archive => archive::measure(longhauld, &corpus()?, rounds, report),
        Bench::Ingest => {
            ingest::measure_corpus(longhauld, &corpus()?, report)?;
            ingest::measure_written(longhauld, options.ingest_mib, report)
        }
        Bench::Search => search::measure(longhauld, items(1_000_000), rounds, report),
        Bench::Many => many::measure(longhauld, items(50_000), report),
        Bench::Plugin => {
            let corpus = corpus::of_claude(options.corpus.as_deref())?;
            plugin::measure(longhauld, &corpus, rounds, report)
        }
        Bench::Gateway => gateway::measure(longhauld, &corpus()?, rounds, report),
    }
}
