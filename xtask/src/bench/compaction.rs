//! Warm `compaction/run` with the checkpoint strategy: on the largest session, and whether the time grows with length.

use std::path::Path;

use anyhow::Context as _;
use serde_json::json;

use super::corpus::{self, Corpus};
use super::report::{Report, Times};
use super::synth::{self, Length};
use crate::daemon::Daemon;

const VIEW_TOKENS: u64 = 2000;
/// Lengths of the generated threads, in tokens.
const LENGTHS: [u64; 3] = [10_000, 100_000, 1_000_000];

pub(super) fn measure(
    longhauld: &Path,
    corpus: &Corpus,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let copies = corpus.copy_to(home.path())?;
    let largest = corpus::largest(&copies)?.clone();
    let mut written = Vec::new();
    for (number, tokens) in (1..).zip(LENGTHS) {
        written.push((tokens, synth::write(home.path(), number, Length::Tokens(tokens))?));
    }
    let daemon = Daemon::start(longhauld, home.path())?;
    let real = time(&daemon, &largest, rounds)?;
    let label = format!("compaction/run, largest of the corpus ({} tokens)", real.tokens_before);
    report.add(label, real.times.show(), "p99 <= 10 ms");
    let mut p50s = Vec::new();
    for (tokens, path) in &written {
        let run = time(&daemon, path, rounds)?;
        report.add(
            format!("compaction/run, written thread of {tokens} tokens"),
            run.times.show(),
            "p99 <= 10 ms",
        );
        p50s.push(run.times.percentile_us(50));
    }
    if let (Some(short), Some(long)) = (p50s.first(), p50s.last()) {
        report.add("the longest against the shortest", format!("{:.2} x", long / short), "flat");
    }
    daemon.stop()
}

struct Run {
    times: Times,
    tokens_before: u64,
}

fn time(daemon: &Daemon, transcript: &Path, rounds: usize) -> anyhow::Result<Run> {
    let mut wire = daemon.connect()?;
    let sync = json!({"path": transcript, "timeout_ms": 60_000});
    let synced = wire.call("thread/sync", &sync)?;
    let thread = synced["thread_id"].as_str().context("the transcript belongs to no thread")?;
    let params = json!({"thread_id": thread, "strategy": "checkpoint", "max_tokens": VIEW_TOKENS});
    let first = wire.call("compaction/run", &params)?;
    let times = Times::of_calls(&mut wire, ("compaction/run", &[params]), rounds)?;
    let tokens_before = first["tokens"]["before"].as_u64().unwrap_or(0);
    Ok(Run { times, tokens_before })
}
