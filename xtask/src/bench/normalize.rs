//! Normalizing and estimating a history of a million tokens: the calls of a client before each request.
//!
//! Measured in this process without a daemon (only in a release build), and over the daemon's socket. The baseline is
//! parsing the same JSON into values.

use std::path::Path;

use anyhow::ensure;
use longhaul_core::context::estimate;
use longhaul_core::context::normalize::{Options, normalize};
use serde_json::Value;
use serde_json::json;

use super::report::{Report, Times};
use crate::daemon::Daemon;
use crate::stopwatch::Stopwatch;

/// Number of rounds; one takes some tens of milliseconds.
const ROUNDS_MAX: usize = 100;

const WARM_UP: usize = 3;

const AIM: &str = "p50 <= 50 ms";

/// In this process: both passes over the items in memory.
pub(super) fn measure(items: &[String], rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    let texts: Vec<&str> = items.iter().map(String::as_str).collect();
    let history = format!("[{}]", texts.join(","));
    let (mut parses, mut passes, mut tokens) = (Vec::new(), Vec::new(), 0);
    // Alternating, so that other activity affects both alike.
    for round in 0..WARM_UP + rounds.min(ROUNDS_MAX) {
        let watch = Stopwatch::start();
        let parsed: Value = serde_json::from_str(&history)?;
        let parse = watch.elapsed();
        ensure!(parsed.is_array(), "the history is no list");
        drop(parsed);
        let watch = Stopwatch::start();
        let legal = normalize(&texts, &Options::default());
        tokens = estimate::of_items(legal.items.iter().map(AsRef::as_ref)).total();
        let pass = watch.elapsed();
        ensure!(legal.changes.is_empty(), "the written history is not legal");
        if round >= WARM_UP {
            parses.push(parse);
            passes.push(pass);
        }
    }
    let (parses, passes) = (Times::of(parses), Times::of(passes));
    let ratio = passes.percentile_us(50) / parses.percentile_us(50);
    report.add(format!("parse of the same {} bytes", history.len()), parses.show(), "");
    report.add(format!("normalize + estimate, {tokens} tokens"), passes.show(), AIM);
    report.add("normalize + estimate against the parse", format!("{ratio:.2} x"), "");
    Ok(())
}

/// Over the socket: `context/normalize`, then `context/estimate` of the same items.
pub(super) fn measure_calls(
    longhauld: &Path,
    items: &[String],
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let daemon = Daemon::start(longhauld, home.path())?;
    let mut wire = daemon.connect()?;
    let items: Vec<Value> =
        items.iter().map(|item| serde_json::from_str(item)).collect::<Result<_, _>>()?;
    let params = json!({ "items": items });
    let requests =
        ["context/normalize", "context/estimate"].map(|name| wire.request(name, &params));
    let (mut times, mut answer) = ([Vec::new(), Vec::new(), Vec::new()], Vec::new());
    for round in 0..WARM_UP + rounds.min(ROUNDS_MAX) {
        let mut sum = std::time::Duration::ZERO;
        for (request, times) in requests.iter().zip(&mut times) {
            let watch = Stopwatch::start();
            wire.round_trip(request, &mut answer)?;
            let time = watch.elapsed();
            let is_answered = memchr::memmem::find(&answer, b"\"result\":").is_some();
            ensure!(is_answered, "a history was refused");
            sum += time;
            if round >= WARM_UP {
                times.push(time);
            }
        }
        if round >= WARM_UP {
            times[2].push(sum);
        }
    }
    let [normalizes, estimates, both] = times.map(Times::of);
    let label = format!("context/normalize of {} bytes", requests[0].len());
    report.add(label, normalizes.show(), "");
    report.add("context/estimate of the same", estimates.show(), "");
    report.add("normalize + estimate over the socket", both.show(), AIM);
    daemon.stop()
}
