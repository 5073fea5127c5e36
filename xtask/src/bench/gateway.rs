//! The Codex gateway: the time of a compaction on the largest transcripts, the request size that no model gets, and the
//! delay that the gateway adds to an event.
//!
//! The requests are Codex's: the history as the daemon has it, and the item that requests a compaction. The provider is
//! a thread of this process, so that one clock measures an event.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::corpus::Corpus;
use super::report::{Report, Times};
use crate::daemon::{self, Daemon};
use crate::stopwatch::Stopwatch;

/// Number of transcripts.
const TRANSCRIPTS: usize = 8;
const EVENTS: usize = 2_000;
/// Pause between two events, as with a model; without it they would share a packet.
const BETWEEN: Duration = Duration::from_millis(1);
const SECRET: &str = "00112233445566778899aabbccddeeff";
const ROUTE: &str = "bench";

pub(super) fn measure(
    longhauld: &Path,
    corpus: &Corpus,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let size = |path: &std::path::PathBuf| fs::metadata(path).map(|it| it.len()).unwrap_or(0);
    let mut copies = corpus.copy_to(home.path())?;
    copies.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    copies.sort_by_key(|path| std::cmp::Reverse(size(path)));
    let daemon = Daemon::start(longhauld, home.path())?;
    daemon.wait_idle(copies.iter().map(size).sum())?;
    let provider = Provider::start()?;
    let gateway = Gateway::start(longhauld, &daemon, home.path(), provider.address)?;
    let (mut times, mut bytes, mut left) = (Vec::new(), 0, 0_u64);
    for copy in copies.iter().take(TRANSCRIPTS) {
        let Some(body) = request(&daemon, copy)? else { continue };
        for _ in 0..rounds.div_ceil(TRANSCRIPTS) {
            let watch = Stopwatch::start();
            let answer = post(gateway.address, &gateway.path(), &body)?;
            times.push(watch.elapsed());
            match answer.contains("longhaul-view-") {
                true => bytes += body.len(),
                false => left += 1,
            }
        }
    }
    ensure!(!times.is_empty(), "no transcript has a history");
    let answered = times.len() as u64 - left;
    let spared = bytes as f64 / f64::from(1 << 20);
    report.add(
        format!("compaction through the gateway, {TRANSCRIPTS} largest transcripts"),
        Times::of(times).show_worst(),
        "p99 <= 150 ms",
    );
    report.add(
        "requests that no model got, and their bytes",
        format!("{answered} requests, {spared:.1} MiB; {left} left to the provider"),
        "",
    );
    let direct = events(provider.address, "/events")?;
    let through = events(gateway.address, &gateway.path())?;
    report.add("an event of a stream through the gateway", through.show(), "");
    report.add("baseline: the same straight from the provider", direct.show(), "");
    drop(gateway);
    daemon.stop()
}

/// Codex's request to compact a thread; `None` for a thread without a history.
fn request(daemon: &Daemon, transcript: &Path) -> anyhow::Result<Option<String>> {
    let mut wire = daemon.connect()?;
    let sync = json!({ "path": transcript, "timeout_ms": 60_000 });
    let thread = wire.call("thread/sync", &sync)?["thread_id"].clone();
    let history = wire.call("history/get", &json!({ "thread_id": thread }))?;
    let Some(mut input) = history["items"].as_array().cloned().filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    input.push(json!({ "type": "compaction_trigger" }));
    let body = json!({ "model": "m", "input": input, "stream": true, "prompt_cache_key": thread });
    Ok(Some(body.to_string()))
}

/// Posts and reads the whole answer.
fn post(address: SocketAddr, path: &str, body: &str) -> anyhow::Result<String> {
    let mut stream = send(address, path, body)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn send(address: SocketAddr, path: &str, body: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    Ok(stream)
}

/// The delay of each event, which contains its sending time.
fn events(address: SocketAddr, path: &str) -> anyhow::Result<Times> {
    let stream = send(address, path, "{\"input\":[]}")?;
    let mut times = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let now = now_ns()?;
        let Some(sent) = line.strip_prefix("data: ") else { continue };
        times.push(Duration::from_nanos(now.saturating_sub(sent.parse()?)));
    }
    ensure!(times.len() == EVENTS, "{} of {EVENTS} events arrived", times.len());
    Ok(Times::of(times))
}

/// Nanoseconds of a clock that both ends use.
fn now_ns() -> anyhow::Result<u64> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Ok(u64::try_from(now.tv_sec)? * 1_000_000_000 + u64::try_from(now.tv_nsec)?)
}

/// Answers every request with a stream of events.
struct Provider {
    address: SocketAddr,
}

impl Provider {
    fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Ignore a disconnected client.
                thread::spawn(move || stream_events(stream).unwrap_or_default());
            }
        });
        Ok(Self { address })
    }
}

fn stream_events(stream: TcpStream) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(bytes) = line.strip_prefix("content-length:") {
            length = bytes.trim().parse()?;
        }
        if line.is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let mut stream = stream;
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    )?;
    for _ in 0..EVENTS {
        daemon::pause(BETWEEN);
        stream.write_all(format!("data: {}\n\n", now_ns()?).as_bytes())?;
    }
    Ok(())
}

/// The gateway's program, beside the daemon's.
struct Gateway {
    child: Child,
    address: SocketAddr,
}

impl Gateway {
    fn start(
        longhauld: &Path,
        daemon: &Daemon,
        folder: &Path,
        provider: SocketAddr,
    ) -> anyhow::Result<Self> {
        let program = longhauld.with_file_name("longhaul-gateway");
        ensure!(program.exists(), "build it: cargo build --release -p longhaul-gateway");
        let route = json!({ "upstream": format!("http://{provider}") });
        let settings = json!({ "port": 0, "secret": SECRET, "routes": { ROUTE: route } });
        let file = folder.join("gateway.json");
        fs::write(&file, settings.to_string())?;
        let mut command = Command::new(program);
        command.arg("--settings").arg(file).arg("--socket").arg(daemon.socket());
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stderr.take().context("no pipe")?).read_line(&mut line)?;
        let port = line.trim().rsplit_once(':').context("the gateway does not say its port")?.1;
        Ok(Self { child, address: SocketAddr::from(([127, 0, 0, 1], port.parse()?)) })
    }

    fn path(&self) -> String {
        format!("/{SECRET}/{ROUTE}/responses")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Fails if it has already ended.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}
