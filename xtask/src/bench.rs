//! `cargo xtask bench`: what longhaul costs, measured on the release daemon over its socket.
//!
//! Every figure comes with a baseline of the machine taken in the same run, so that runs on two machines are
//! comparable. Nothing passes or fails here.

mod append;
mod compaction;
mod context;
mod corpus;
mod hook;
mod idle;
mod ingest;
mod jobs;
mod memory;
mod normalize;
mod report;
mod round_trip;
mod search;
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
    /// Measure the job table alone
    #[arg(long)]
    jobs: bool,
    /// Measure long-term memory alone: its first build over the corpus, and what sessions ask of it
    #[arg(long)]
    memory: bool,
    /// Measure an already built daemon, with the other programs beside it
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
}

pub(crate) fn run(options: &BenchArgs) -> anyhow::Result<()> {
    if options.context {
        let corpus = corpus::find(options.corpus.as_deref())?;
        let mut report = Report::default();
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
    if let Some(items) = options.search {
        let mut report = Report::default();
        search::measure(&longhauld, items, options.rounds, &mut report)?;
        report.print();
        return Ok(());
    }
    if options.jobs {
        let mut report = Report::default();
        jobs::measure(&longhauld, options.rounds, &mut report)?;
        report.print();
        return Ok(());
    }
    let corpus = corpus::find(options.corpus.as_deref())?;
    if options.footprint {
        let mut report = Report::default();
        footprint(&longhauld, &corpus, options.rounds, &mut report)?;
        report.print();
        return Ok(());
    }
    if options.hooks {
        let mut report = Report::default();
        hook::measure(&longhauld, &corpus, options.rounds, &mut report)?;
        report.print();
        return Ok(());
    }
    if options.memory {
        let mut report = Report::default();
        memory::measure(&longhauld, &corpus, options.rounds, &mut report)?;
        report.print();
        return Ok(());
    }
    println!("==> longhaul bench");
    println!("    daemon  {}", longhauld.display());
    println!("    corpus  {} ({} transcripts)", corpus.folder.display(), corpus.files.len());
    let mut report = Report::default();
    footprint(&longhauld, &corpus, options.rounds, &mut report)?;
    hook::measure(&longhauld, &corpus, options.rounds, &mut report)?;
    context::measure(&corpus, options.rounds, &mut report)?;
    normalize::measure_calls(&longhauld, &context::history()?, options.rounds, &mut report)?;
    jobs::measure(&longhauld, options.rounds, &mut report)?;
    memory::measure(&longhauld, &corpus, options.rounds, &mut report)?;
    append::measure(&longhauld, options.rounds, &mut report)?;
    ingest::measure_corpus(&longhauld, &corpus, &mut report)?;
    ingest::measure_written(&longhauld, options.ingest_mib, &mut report)?;
    if options.big {
        ingest::measure_written(&longhauld, 2048, &mut report)?;
    }
    report.print();
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
