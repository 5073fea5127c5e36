//! The archive: what it costs ingestion, how large it is, and how long a handle takes once its transcript is gone.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::corpus::Corpus;
use super::report::{Report, Times};
use crate::daemon::Daemon;
use crate::stopwatch::Stopwatch;

/// First readings with and without the archive, in turn, so that other activity affects both alike.
const PAIRS: usize = 10;

const OFF: &str = "[archive]\nenabled = false\n";

const THREADS: usize = 40;
const HANDLES_PER_THREAD: usize = 10;

pub(super) fn measure(
    longhauld: &Path,
    corpus: &Corpus,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let files = corpus.copy_to(home.path())?;
    let plain = files.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let bytes = plain.map(|path| Ok(fs::metadata(path)?.len())).sum::<std::io::Result<u64>>()?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        without.push(first_reading(longhauld, home.path(), OFF, bytes)?.1);
        with.push(first_reading(longhauld, home.path(), "", bytes)?.1);
    }
    let (with, without) = (Cost::median(with), Cost::median(without));
    report.add("first reading without the archive", without.show(), "");
    report.add("first reading with the archive", with.show(), "");
    let ratio =
        format!("{:.2} x wall, {:.2} x core", with.wall / without.wall, with.core / without.core);
    report.add("with against without", ratio, "<= 1.10 x");

    let (daemon, reading) = first_reading(longhauld, home.path(), "", bytes)?;
    let status = daemon.wait_archived()?;
    let core = daemon.cpu_seconds()? - reading.core;
    report.add("archiving, after the first reading", format!("{core:.2} s of a core"), "");
    let size =
        |field: &str| status[field].as_f64().with_context(|| format!("no {field}: {status}"));
    let percent = size("bytes")? / size("text_bytes")? * 100.0;
    report.add("archive against the transcripts", format!("{percent:.1} %"), "<= 12 %");

    let handles = handles(&daemon)?;
    let mut wire = daemon.connect()?;
    let expand = ("history/expand", handles.as_slice());
    let from_transcripts = Times::of_calls(&mut wire, expand, rounds)?;
    files.iter().try_for_each(fs::remove_file)?;
    let expanded = wire.call("history/expand", &handles[0])?;
    ensure!(expanded["from_archive"] == true, "it does not come from the archive: {expanded}");
    let from_archive = Times::of_calls(&mut wire, expand, rounds)?;
    report.add("a handle from its transcript", from_transcripts.show(), "");
    report.add("a handle from the archive", from_archive.show(), "");
    daemon.stop()
}

/// Cost of a first reading, in seconds.
struct Cost {
    wall: f64,
    core: f64,
}

impl Cost {
    fn median(costs: Vec<Self>) -> Self {
        let (mut walls, mut cores): (Vec<f64>, Vec<f64>) =
            costs.into_iter().map(|cost| (cost.wall, cost.core)).unzip();
        walls.sort_by(f64::total_cmp);
        cores.sort_by(f64::total_cmp);
        Self { wall: walls[walls.len() / 2], core: cores[cores.len() / 2] }
    }

    fn show(&self) -> String {
        format!("{:.2} s, {:.2} s of a core", self.wall, self.core)
    }
}

fn first_reading(
    longhauld: &Path,
    home: &Path,
    config: &str,
    bytes: u64,
) -> anyhow::Result<(Daemon, Cost)> {
    let watch = Stopwatch::start();
    let daemon = Daemon::start_with(longhauld, home, Path::new("/nonexistent"), config)?;
    daemon.wait_idle(bytes.max(1))?;
    let cost = Cost { wall: watch.seconds(), core: daemon.cpu_seconds()? };
    Ok((daemon, cost))
}

/// Params for items of different threads, spread over each.
fn handles(daemon: &Daemon) -> anyhow::Result<Vec<Value>> {
    let mut wire = daemon.connect()?;
    let listed = wire.call("thread/list", &json!({ "limit": THREADS }))?;
    let mut handles = Vec::new();
    for thread in listed["threads"].as_array().context("no threads")? {
        let items = json!({ "thread_id": thread["thread_id"], "last": 200, "limit": 200 });
        let items = wire.call("thread/items", &items)?;
        let items = items["items"].as_array().context("no items")?;
        let step = (items.len() / HANDLES_PER_THREAD).max(1);
        handles.extend(items.iter().step_by(step).map(|item| json!({ "handle": item["handle"] })));
    }
    ensure!(!handles.is_empty(), "the corpus has no items");
    Ok(handles)
}
