//! `thread/search` over many items: its time for rare and common words, the cost of the index, and whether ingestion
//! waits for it.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;
use longhaul_eval::Random;
use serde_json::{Value, json};

use super::report::{Report, Times};
use super::synth::{self, Length};
use crate::codex_lines;
use crate::daemon::Daemon;
use crate::stopwatch::Stopwatch;

/// Items per generated thread.
const ITEMS_PER_THREAD: u64 = 5_000;
const WORDS: u64 = 24;
/// Number of different words; the n-th is n times rarer than the first.
const VOCABULARY: f64 = 200_000.0;
/// Bytes of a session to ingest while the index is being filled, and again afterwards.
const BESIDE_BYTES: u64 = 32 << 20;

pub(super) fn measure(
    longhauld: &Path,
    items: u64,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let text_bytes = write(home.path(), items)?;
    let daemon = Daemon::start(longhauld, home.path())?;
    let watch = Stopwatch::start();
    daemon.wait_idle(text_bytes)?;
    report.add(format!("ingestion of {items} items"), format!("{:.1} s", watch.seconds()), "");

    let (watch, before) = (Stopwatch::start(), daemon.cpu_seconds()?);
    let beside = ingest_one(&daemon, home.path(), 1)?;
    let mut wire = daemon.connect()?;
    daemon.wait_indexed()?;
    let (wall, core) = (watch.seconds(), daemon.cpu_seconds()? - before);
    let alone = ingest_one(&daemon, home.path(), 2)?;
    daemon.wait_indexed()?;
    let status = wire.call("daemon/status", &json!({}))?;
    let index_bytes = status["search"]["bytes"].as_u64().unwrap_or(0);
    let mib = |bytes: u64| to_mib(bytes);
    report.add(
        "indexing",
        format!(
            "{:.1} MiB/s of transcript a core ({:.1} by the clock)",
            mib(text_bytes) / core,
            mib(text_bytes) / wall
        ),
        "",
    );
    report.add(
        "index against the transcripts",
        format!("{:.2} x", mib(index_bytes) / mib(text_bytes)),
        "",
    );
    report.add(
        "ingestion beside indexing against alone",
        format!("{:.2} x", beside / alone),
        "<= 1.1 x",
    );
    let peak = daemon.memory()?.peak;
    report.add("peak memory with the index", format!("{peak:.1} MiB"), "");
    for (name, queries) in queries() {
        let times = Times::of_calls(&mut wire, ("thread/search", &queries), rounds)?;
        report.add(format!("thread/search, {name}"), times.show(), "p99 <= 50 ms");
    }
    daemon.stop()
}

/// Each kind of query, in alternating variants.
fn queries() -> Vec<(&'static str, Vec<Value>)> {
    let variants = |make: &dyn Fn(u64) -> String| -> Vec<Value> {
        (0..50).map(|number| json!({ "query": make(number) })).collect()
    };
    let in_folder = |mut params: Value| {
        params["cwd"] = json!("/home/dev/project3");
        params
    };
    vec![
        ("rare word", variants(&|number| format!("w{}", 90_000 + 37 * number))),
        ("word of every item", variants(&|_| "every".to_owned())),
        ("common words", variants(&|number| format!("w{}", 1 + number))),
        ("two common words", variants(&|number| format!("every w{}", 1 + number))),
        ("a common and a rare word", variants(&|number| format!("every w{}", 5_000 + number))),
        (
            "phrase of common words",
            variants(&|number| format!("\"w{} w{}\"", 1 + number, 2 + number)),
        ),
        (
            "question of eight words",
            variants(&|number| {
                let words = (0..8).map(|word| format!("w{}", 420 + number + 37 * word));
                words.collect::<Vec<_>>().join(" ")
            }),
        ),
        ("beginning of three letters", variants(&|_| "eve*".to_owned())),
        ("beginning of four letters", variants(&|number| format!("w{}*", 100 + number))),
        (
            "common word in a folder",
            variants(&|number| format!("w{}", 1 + number)).into_iter().map(in_folder).collect(),
        ),
    ]
}

/// Seconds until a client's sync of a new session returns.
fn ingest_one(daemon: &Daemon, home: &Path, number: u32) -> anyhow::Result<f64> {
    let path = synth::write(home, 900 + number, Length::Bytes(BESIDE_BYTES))?;
    let mut wire = daemon.connect()?;
    let watch = Stopwatch::start();
    wire.call("thread/sync", &json!({ "path": path, "timeout_ms": 60_000 }))?;
    Ok(watch.seconds())
}

/// Writes threads of messages with a natural distribution of words; returns their bytes.
fn write(home: &Path, items: u64) -> anyhow::Result<u64> {
    let mut random = Random::new(0);
    let mut bytes = 0;
    for thread in 0..items.div_ceil(ITEMS_PER_THREAD) {
        let id = format!("019c1000-0000-7000-8000-{thread:012x}");
        let path = codex_lines::path(home, "2026-02-01", &id);
        fs::create_dir_all(path.parent().context("a path without a folder")?)?;
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut write = |line: &str| -> anyhow::Result<()> {
            bytes += line.len() as u64 + 1;
            Ok(writeln!(out, "{line}")?)
        };
        let day = format!("2026-02-{:02}", thread % 28 + 1);
        let cwd = format!("/home/dev/project{}", thread % 10);
        write(&codex_lines::first(&codex_lines::time(&day, 0), &id, &cwd))?;
        for item in 0..ITEMS_PER_THREAD.min(items - thread * ITEMS_PER_THREAD) {
            let words: Vec<String> =
                (0..WORDS).map(|_| format!("w{}", rank(&mut random))).collect();
            let role = if item % 2 == 0 { "user" } else { "assistant" };
            let message = codex_lines::message(role, &format!("every {}", words.join(" ")));
            let time = codex_lines::time(&day, item);
            write(&codex_lines::line(&time, "response_item", &message))?;
        }
        out.flush()?;
    }
    Ok(bytes)
}

/// The number of a random word; n has the frequency 1/n.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank far below 2^52"
)]
fn rank(random: &mut Random) -> u64 {
    let part = (random.next_bits() >> 11) as f64 / (1_u64 << 53) as f64;
    VOCABULARY.powf(part) as u64
}

#[expect(clippy::cast_precision_loss, reason = "sizes far below 2^52 bytes")]
fn to_mib(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
