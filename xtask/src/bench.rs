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

use std::path::{Path, PathBuf};

use crate::place;
use corpus::Corpus;
use report::Report;

#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Folder of transcripts [default: $LONGHAUL_CORPUS/codex, else the sample session]
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Compactions and round trips to time per figure
    #[arg(long, default_value_t = 300)]
    rounds: usize,
    /// Size of the generated transcript for ingestion
    #[arg(long, default_value_t = 256)]
    ingest_mib: u64,
    /// Also ingest a transcript of 2 GiB and report peak memory
    #[arg(long)]
    big: bool,
    /// Only normalizing and estimating a history of a million tokens
    #[arg(long)]
    normalize: bool,
    /// Only search, over this many generated items; 1000000 take some minutes
    #[arg(long, value_name = "ITEMS")]
    search: Option<u64>,
    /// Only memory, processor time and response time of an idle daemon
    #[arg(long)]
    footprint: bool,
    /// Only the agents' hooks, as whole processes
    #[arg(long)]
    hooks: bool,
    /// Only compactions by the Claude Code plugin, on the largest transcripts of --corpus [default:
    /// $LONGHAUL_CORPUS/claude]; needs npm
    #[arg(long)]
    plugin: bool,
    /// Only the Codex gateway, on the largest transcripts
    #[arg(long)]
    gateway: bool,
    /// Only the job table
    #[arg(long)]
    jobs: bool,
    /// Only long-term memory: its first build over the corpus, and the calls of sessions
    #[arg(long)]
    memory: bool,
    /// Only the effect on other clients, and the memory, of clients that never read and of half-sent messages
    #[arg(long)]
    siege: bool,
    /// Only the cost of this many small transcripts; 50000 take some minutes
    #[arg(long, value_name = "TRANSCRIPTS")]
    many: Option<u64>,
    /// Only the archive: its cost for ingestion, its size, and handles whose transcripts are gone
    #[arg(long)]
    archive: bool,
    /// Only the inspection of a repository, by git with and without its sandbox
    #[arg(long)]
    repository: bool,
    /// Use an already built daemon, with the other programs beside it
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
}

pub(crate) fn run(options: &BenchArgs) -> anyhow::Result<()> {
    let mut report = Report::default();
    let longhauld = match &options.daemon {
        Some(path) => path.clone(),
        None => place::build_release()?.longhauld,
    };
    if !measure_alone(options, &longhauld, &mut report)? {
        measure_all(options, &longhauld, &mut report)?;
    }
    report.print();
    Ok(())
}

/// Runs the benchmarks that run alone; `false` if none was requested.
fn measure_alone(
    options: &BenchArgs,
    longhauld: &Path,
    report: &mut Report,
) -> anyhow::Result<bool> {
    let rounds = options.rounds;
    let corpus = || corpus::find(options.corpus.as_deref());
    if let Some(items) = options.search {
        search::measure(longhauld, items, rounds, report)?;
    } else if options.normalize {
        normalize::measure(longhauld, rounds, report)?;
    } else if options.jobs {
        jobs::measure(longhauld, rounds, report)?;
    } else if let Some(many) = options.many {
        many::measure(longhauld, many.max(1), report)?;
    } else if options.siege {
        siege::measure(longhauld, report)?;
    } else if options.repository {
        repository::measure(longhauld, rounds, report)?;
    } else if options.archive {
        archive::measure(longhauld, &corpus()?, rounds, report)?;
    } else if options.footprint {
        footprint(longhauld, &corpus()?, rounds, report)?;
    } else if options.hooks {
        hook::measure(longhauld, &corpus()?, rounds, report)?;
    } else if options.plugin {
        plugin::measure(longhauld, &corpus::of_claude(options.corpus.as_deref())?, rounds, report)?;
    } else if options.gateway {
        gateway::measure(longhauld, &corpus()?, rounds, report)?;
    } else if options.memory {
        memory::measure(longhauld, &corpus()?, rounds, report)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn measure_all(options: &BenchArgs, longhauld: &Path, report: &mut Report) -> anyhow::Result<()> {
    let (rounds, corpus) = (options.rounds, corpus::find(options.corpus.as_deref())?);
    println!("==> longhaul bench");
    println!("    daemon  {}", longhauld.display());
    println!("    corpus  {} ({} transcripts)", corpus.folder.display(), corpus.files.len());
    footprint(longhauld, &corpus, rounds, report)?;
    hook::measure(longhauld, &corpus, rounds, report)?;
    normalize::measure(longhauld, rounds, report)?;
    jobs::measure(longhauld, rounds, report)?;
    memory::measure(longhauld, &corpus, rounds, report)?;
    append::measure(longhauld, rounds, report)?;
    repository::measure(longhauld, rounds, report)?;
    siege::measure(longhauld, report)?;
    archive::measure(longhauld, &corpus, rounds, report)?;
    ingest::measure_corpus(longhauld, &corpus, report)?;
    ingest::measure_written(longhauld, options.ingest_mib, report)?;
    if options.big {
        ingest::measure_written(longhauld, 2048, report)?;
    }
    Ok(())
}

/// Measures idle costs: memory, processor time, response time.
fn footprint(
    longhauld: &Path,
    corpus: &Corpus,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    idle::measure(longhauld, corpus, report)?;
    round_trip::measure(longhauld, corpus, rounds, report)?;
    compaction::measure(longhauld, corpus, rounds, report)
}
