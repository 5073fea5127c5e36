//! Compares cold ingestion with a plain line reader over the same files.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use super::corpus::Corpus;
use super::report::Report;
use super::synth::{self, Length};
use crate::daemon::Daemon;
use crate::stopwatch::Stopwatch;

const MIB: f64 = 1024.0 * 1024.0;

pub(super) fn measure_corpus(
    longhauld: &Path,
    corpus: &Corpus,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let files = corpus.copy_to(home.path())?;
    measure(longhauld, home.path(), &files, "the corpus", report)
}

pub(super) fn measure_written(
    longhauld: &Path,
    mib: u64,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = synth::write(home.path(), 9, Length::Bytes(mib << 20))?;
    measure(longhauld, home.path(), &[file], &format!("one session of {mib} MiB"), report)
}

fn measure(
    longhauld: &Path,
    home: &Path,
    files: &[PathBuf],
    name: &str,
    report: &mut Report,
) -> anyhow::Result<()> {
    // The reader runs first and fills the page cache, so that both read from memory.
    read_lines(files)?;
    let watch = Stopwatch::start();
    let (bytes, _) = read_lines(files)?;
    let reader = to_mib(bytes) / watch.seconds();

    let watch = Stopwatch::start();
    let daemon = Daemon::start(longhauld, home)?;
    // The size of a compressed file's text is unknown; a plain one must have been read to its end.
    let is_plain = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    daemon.wait_idle(if files.iter().all(is_plain) { bytes } else { 1 })?;
    let wall = watch.seconds();
    let core = daemon.cpu_seconds()?.max(0.01);
    let peak = daemon.memory()?.peak;
    let (per_core, per_wall) = (to_mib(bytes) / core, to_mib(bytes) / wall);
    report.add(format!("plain line reader, {name}"), format!("{reader:.0} MiB/s"), "");
    let speed = format!("{per_core:.0} MiB/s a core ({per_wall:.0} by the clock)");
    report.add(format!("cold ingestion, {name}"), speed, ">= 200, then 500");
    report.add("ingestion against the reader", format!("{:.2} x", per_core / reader), "");
    report.add(format!("peak memory, {name}"), format!("{peak:.1} MiB"), "<= 64 MiB");
    let store = format!("{:.1} %", to_mib(daemon.store_bytes()?) / to_mib(bytes) * 100.0);
    report.add("store against the transcripts", store, "");
    daemon.stop()
}

/// Reads every line of every file; returns bytes and lines.
fn read_lines(files: &[PathBuf]) -> anyhow::Result<(u64, u64)> {
    let (mut bytes, mut lines) = (0, 0);
    for file in files {
        let mut reader = BufReader::with_capacity(1 << 16, File::open(file)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
            lines += 1;
        }
    }
    Ok((bytes, lines))
}

#[expect(clippy::cast_precision_loss, reason = "sizes far below 2^52 bytes")]
fn to_mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}
