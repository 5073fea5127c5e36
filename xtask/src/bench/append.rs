//! Compares one durable `thread/append` with one durable bare SQLite insert on the same disk.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::report::{Report, Times};
use crate::daemon::Daemon;
use crate::place;
use crate::stopwatch::Stopwatch;

const WARM_UP: usize = 20;

/// Length of an ordinary message.
const TEXT_BYTES: usize = 600;

pub(super) fn measure(longhauld: &Path, rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let daemon = Daemon::start(longhauld, home.path())?;
    let mut wire = daemon.connect()?;
    let params = json!({ "cwd": "/", "originator": "bench" });
    let thread = wire.call("thread/open", &params)?["thread_id"].take();
    // In the daemon's folder, so that both write to one disk.
    let mut sqlite = Sqlite::start(&daemon.folder().join("bare.db"))?;
    let (mut appends, mut inserts, mut answer) = (Vec::new(), Vec::new(), Vec::new());
    // Alternating, so that other disk activity affects both alike.
    for round in 0..WARM_UP + rounds {
        let content = [json!({ "type": "input_text", "text": "x".repeat(TEXT_BYTES) })];
        let item = json!({ "type": "message", "role": "user", "content": content });
        let items = [json!({ "client_item_id": round.to_string(), "item": item })];
        let request =
            wire.request("thread/append", &json!({ "thread_id": thread, "items": items }));
        let watch = Stopwatch::start();
        wire.round_trip(&request, &mut answer)?;
        let append = watch.elapsed();
        ensure!(answer.windows(9).any(|part| part == b"\"result\":"), "an append was rejected");
        let insert = sqlite.insert()?;
        if round >= WARM_UP {
            appends.push(append);
            inserts.push(insert);
        }
    }
    sqlite.stop()?;
    let (appends, inserts) = (Times::of(appends), Times::of(inserts));
    let ratio = appends.percentile_us(50) / inserts.percentile_us(50);
    report.add("bare SQLite insert and sync", inserts.show(), "");
    report.add("thread/append, durable", appends.show(), "");
    report.add("thread/append against the insert", format!("{ratio:.2} x"), "<= 1.5 x");
    daemon.stop()
}

/// A program that does one insert per line of input.
struct Sqlite {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Sqlite {
    fn start(database: &Path) -> anyhow::Result<Self> {
        let program = place::build_release_example("longhaul-store", "bare_insert")?;
        let mut child = Command::new(&program)
            .arg(database)
            .arg(TEXT_BYTES.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, input, output })
    }

    /// Inserts one row; returns the time measured in the program, without the round trip.
    fn insert(&mut self) -> anyhow::Result<Duration> {
        self.input.write_all(b"\n")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let nanos = line.trim().parse().with_context(|| format!("no time: {line:?}"))?;
        Ok(Duration::from_nanos(nanos))
    }

    fn stop(mut self) -> anyhow::Result<()> {
        drop(self.input);
        ensure!(self.child.wait()?.success(), "the bare insert failed");
        Ok(())
    }
}
