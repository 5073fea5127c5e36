//! The round trip of `daemon/status` against a bare echo of as many bytes, in one run, as a ratio.
//!
//! `cargo bench -p longhaul-daemon --bench round_trip`. Both ends of the echo are this process's, on the same
//! kind of runtime and socket; the daemon is a separate process, as in use. Rounds alternate, and the best of
//! each is compared: what a shared machine adds comes and goes, what the code costs stays.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the time")]
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

const REQUEST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon/status\"}\n";
const ROUNDS: usize = 12;
const CALLS_PER_ROUND: usize = 4_000;
const PIPELINE_DEPTH: usize = 64;

/// A connection that sends one request and reads one line, over and over.
struct Caller(BufReader<UnixStream>);

impl Caller {
    fn connect(socket: &Path) -> Self {
        Self(BufReader::new(UnixStream::connect(socket).unwrap()))
    }

    fn call(&mut self, line: &mut String) {
        self.0.get_mut().write_all(REQUEST).unwrap();
        self.hear(line);
    }

    fn hear(&mut self, line: &mut String) {
        line.clear();
        self.0.read_line(line).unwrap();
    }

    /// Median and 99th percentile of one call, one after the other.
    fn latency(&mut self) -> (Duration, Duration) {
        let mut line = String::new();
        let mut times: Vec<_> = (0..CALLS_PER_ROUND)
            .map(|_| {
                let begin = Instant::now();
                self.call(&mut line);
                begin.elapsed()
            })
            .collect();
        times.sort_unstable();
        (times[CALLS_PER_ROUND / 2], times[CALLS_PER_ROUND * 99 / 100])
    }

    /// Time of one call when many are under way.
    fn pipelined(&mut self) -> Duration {
        let (mut line, requests) = (String::new(), REQUEST.repeat(PIPELINE_DEPTH));
        let begin = Instant::now();
        for _ in 0..CALLS_PER_ROUND / PIPELINE_DEPTH {
            self.0.get_mut().write_all(&requests).unwrap();
            (0..PIPELINE_DEPTH).for_each(|_| self.hear(&mut line));
        }
        begin.elapsed() / u32::try_from(CALLS_PER_ROUND).unwrap()
    }
}

/// Answers every line with `answer`, on a runtime like the daemon's.
fn start_echo(socket: &Path, answer: String) {
    let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = longhaul_daemon::runtime::start(2).unwrap();
        runtime.block_on(async move {
            let listener = UnixListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let answer = answer.clone();
                tokio::spawn(async move {
                    let (reader, mut writer) = stream.into_split();
                    let mut reader = tokio::io::BufReader::new(reader);
                    let mut line = String::new();
                    while reader.read_line(&mut line).await.unwrap_or(0) > 0 {
                        line.clear();
                        if writer.write_all(answer.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
    });
}

fn main() {
    let home = tempfile::tempdir().unwrap();
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_longhauld"))
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(daemon.stderr.take().unwrap()).read_line(&mut ready).unwrap();
    let socket = home.path().join(".local/state/longhaul/run/v1.sock");

    let mut status = Caller::connect(&socket);
    let mut answer = String::new();
    status.call(&mut answer);
    let echo_socket = home.path().join("echo.sock");
    start_echo(&echo_socket, answer.clone());
    let mut echo = Caller::connect(&echo_socket);

    let far = Duration::MAX;
    let (mut best_status, mut best_echo) = ((far, far, far), (far, far, far));
    for _ in 0..ROUNDS {
        for (caller, best) in [(&mut echo, &mut best_echo), (&mut status, &mut best_status)] {
            let (p50, p99) = caller.latency();
            let pipelined = caller.pipelined();
            *best = (best.0.min(p50), best.1.min(p99), best.2.min(pipelined));
        }
    }
    daemon.kill().unwrap();
    daemon.wait().unwrap();

    println!(
        "answer of {} bytes, best of {ROUNDS} rounds of {CALLS_PER_ROUND} calls",
        answer.len()
    );
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    let report = |what: &str, status: Duration, echo: Duration| {
        println!(
            "{what:<28} status {status:>10.1?}   echo {echo:>10.1?}   ratio {:.2}",
            ratio(status, echo)
        );
    };
    report("round trip p50", best_status.0, best_echo.0);
    report("round trip p99", best_status.1, best_echo.1);
    report("one of 64 pipelined", best_status.2, best_echo.2);
}
