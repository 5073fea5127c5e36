//! Compares one `daemon/status` with one echo of the same length over a raw Unix socket.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::corpus::Corpus;
use super::report::{Report, Times};
use crate::daemon::Daemon;
use crate::stopwatch::Stopwatch;
use crate::wire::Wire;

const WARM_UP: usize = 200;

pub(super) fn measure(
    longhauld: &Path,
    corpus: &Corpus,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    corpus.copy_to(home.path())?;
    let daemon = Daemon::start(longhauld, home.path())?;
    daemon.wait_idle(1)?;
    let mut status = daemon.connect()?;
    let request = status.request("daemon/status", &json!({}));
    let mut answer = Vec::new();
    status.round_trip(&request, &mut answer)?;

    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("echo.sock");
    let listener = UnixListener::bind(&socket)?;
    let reply = vec![b'x'; answer.len() - 1];
    let server = std::thread::spawn(move || echo(&listener, &reply));
    let mut raw = Wire::connect(&socket)?;

    let [echoes, statuses] = Times::in_turn((WARM_UP, rounds * 10), |_| {
        let echo = timed(&mut raw, &request, &mut answer)?;
        Ok([echo, timed(&mut status, &request, &mut answer)?])
    })?;
    drop(raw);
    drop(server.join());
    let ratio = statuses.percentile_us(50) / echoes.percentile_us(50);
    report.add(format!("echo of {} bytes", answer.len()), echoes.show(), "");
    report.add("daemon/status", statuses.show(), "");
    report.add("daemon/status against the echo", format!("{ratio:.2} x"), "<= 1.5 x");
    daemon.stop()
}

fn timed(wire: &mut Wire, request: &[u8], answer: &mut Vec<u8>) -> anyhow::Result<Duration> {
    let watch = Stopwatch::start();
    wire.round_trip(request, answer)?;
    Ok(watch.elapsed())
}

/// Answers each line of one client with `reply`, until it disconnects.
fn echo(listener: &UnixListener, reply: &[u8]) -> std::io::Result<()> {
    let (stream, _) = listener.accept()?;
    let mut writer: UnixStream = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    let mut reply = reply.to_vec();
    reply.push(b'\n');
    while reader.read_until(b'\n', &mut line)? > 0 {
        writer.write_all(&reply)?;
        line.clear();
    }
    Ok(())
}
