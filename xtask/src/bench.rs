//! `cargo xtask bench`: the cost of longhaul, measured on the release daemon over its socket.
//!
//! Every figure has a baseline of the machine from the same run, so that runs on different machines are comparable.
//! Nothing passes or fails here.

mod append;
mod bystander;
mod compaction;
mod context;
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

/// What to measure, and on what.
#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Folder of transcripts [default: $LONGHAUL_CORPUS/codex, else the sample session]
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Compactions and round trips timed for each figure
    #[arg(long, default_value_t = 300)]
    rounds: usize,
    /// Size of the written transcript that ingestion is timed on
    #[arg(long, default_value_t = 256)]
    ingest_mib: u64,
    /// Ingest a transcript of 2 GiB, too, and report the memory it takes
    #[arg(long)]
    big: bool,
    /// Measure the context manager alone, in this process and, with --daemon, over its socket: needs
    /// cargo run --release -p xtask
    #[arg(long)]
    context: bool,
    /// Measure search alone, over so many written items; 1000000 take some minutes
    #[arg(long, value_name = "ITEMS")]
    search: Option<u64>,
    /// Measure alone what an idle daemon holds and how soon it answers
    #[arg(long)]
    footprint: bool,
    /// Measure the agents' hooks alone, as whole processes
    #[arg(long)]
    hooks: bool,
    /// Measure alone how soon the plugin of Claude Code answers a compaction, on the largest transcripts of
    /// --corpus [default: $LONGHAUL_CORPUS/claude]: needs npm
    #[arg(long)]
    plugin: bool,
    /// Measure the gateway of Codex alone, on the largest transcripts
    #[arg(long)]
    gateway: bool,
    /// Measure the job table alone
    #[arg(long)]
    jobs: bool,
    /// Measure long-term memory alone: its first build over the corpus, and what sessions ask of it
    #[arg(long)]
    memory: bool,
    /// Measure alone what others notice of clients that never read and of half-sent messages, and what memory they take
    #[arg(long)]
    siege: bool,
    /// Measure alone what so many small transcripts cost: 50000 take some minutes
    #[arg(long, value_name = "TRANSCRIPTS")]
    many: Option<u64>,
    /// Measure alone a look at a repository, by git in its sandbox and without one
    #[arg(long)]
    repository: bool,
    /// Measure an already built daemon, with the other programs beside it
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
}

pub(crate) fn run(options: &BenchArgs) -> anyhow::Result<()> {
    let mut report = Report::default();
    if options.context {
        let corpus = corpus::find(options.corpus.as_deref())?;
        context::measure(&corpus, options.rounds, &mut report)?;
        if let Some(longhauld) = &options.daemon {
            let history = context::history()?;
            normalize::measure_calls(longhauld, &history, options.rounds, &mut report)?;
        }
        report.print();
        return Ok(());
    }
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
    } else if options.jobs {
        jobs::measure(longhauld, rounds, report)?;
    } else if let Some(many) = options.many {
        many::measure(longhauld, many.max(1), report)?;
    } else if options.siege {
        siege::measure(longhauld, report)?;
    } else if options.repository {
        repository::measure(longhauld, rounds, report)?;
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
    context::measure(&corpus, rounds, report)?;
    normalize::measure_calls(longhauld, &context::history()?, rounds, report)?;
    jobs::measure(longhauld, rounds, report)?;
    memory::measure(longhauld, &corpus, rounds, report)?;
    append::measure(longhauld, rounds, report)?;
    repository::measure(longhauld, rounds, report)?;
    siege::measure(longhauld, report)?;
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
