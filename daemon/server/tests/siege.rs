//! A whole daemon under clients that do not read answers or do not finish messages.
//!
//! The limits are those of the product: at most 128 MiB, and no delay for others. The times are generous, since the daemon
//! is a debug build on a machine that runs other tests; each test prints its measurements.

#![expect(clippy::disallowed_methods, reason = "the program under test reads the clock too")]

use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_daemon::descriptors;
use longhaul_protocol::daemon::{NoParams, Status};
use longhaul_protocol::history;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::support::rollout::Rollout;
use crate::support::{Client, Process, connected, field, soon};

const THREAD: &str = "019cadd3-0000-7000-8000-00000000a1a1";
const PEAK_BYTES_MAX: u64 = 128 << 20;
/// A release build on an idle machine takes a hundred milliseconds.
const WAIT_MAX: Duration = Duration::from_secs(2);
const SILENT_READERS: usize = 100;
const HALF_FRAMES: usize = 10_000;

/// A thread of 12 MiB, of which an answer contains up to 8.
fn long_thread(home: &Path) {
    let mut rollout = Rollout::new(THREAD, Path::new("/w/app"));
    for round in 0..48 {
        rollout.message("user", &format!("Round {round}: go on."));
        rollout.message("assistant", &"All is well so far. ".repeat(256 << 10 >> 4));
    }
    rollout.write(home);
}

/// The process's peak memory.
fn peak_bytes(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// A well-behaved client, and its longest wait.
struct Bystander {
    client: Client,
    waited_max: Duration,
}

impl Bystander {
    async fn small_call(&mut self) {
        let began = Instant::now();
        self.client.call::<Status>(NoParams {}).await.unwrap();
        self.waited_max = self.waited_max.max(began.elapsed());
    }
}

/// A new client connects, calls and gets an answer, with retries if necessary.
async fn newcomer(socket: &Path) -> Duration {
    let began = Instant::now();
    let answer = async {
        loop {
            let mut client = Client::connect(socket).await;
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "daemon/status" });
            client.try_send(format!("{request}\n").as_bytes()).await;
            // Without a free place it gets an error or no answer, and retries.
            if client.receive().await.is_some_and(|answer| answer.get("result").is_some()) {
                return began.elapsed();
            }
        }
    };
    soon("an answer for a newcomer", answer).await
}

async fn large_call(client: &mut Client) -> Duration {
    let began = Instant::now();
    let params = json!({ "thread_id": THREAD, "max_bytes": 8 << 20 });
    let answer = soon("a page of history", client.request("history/get", params)).await;
    assert!(field(answer.result(), "items").as_array().unwrap().len() > 30);
    began.elapsed()
}

async fn besieged() -> (tempfile::TempDir, Process, Bystander) {
    let home = tempfile::tempdir().unwrap();
    long_thread(home.path());
    let (process, mut client) = Process::with_client(home.path()).await;
    client.sync(THREAD).await;
    (home, process, Bystander { client, waited_max: Duration::ZERO })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_that_never_read_cost_little_memory_and_delay_nobody() {
    let (_home, process, mut bystander) = besieged().await;
    let params = history::HistoryGetParams {
        thread_id: THREAD.into(),
        max_bytes: Some(8 << 20),
        ..Default::default()
    };
    let mut silent = Vec::new();
    for _ in 0..SILENT_READERS {
        let mut client = Client::connect(&process.socket).await;
        for _ in 0..64 {
            client.begin::<history::HistoryGet>(params.clone()).await;
        }
        silent.push(client);
        bystander.small_call().await;
    }
    let newcomer_waited = newcomer(&process.socket).await;
    let burst = peak_bytes(&process) >> 20;
    eprintln!("after the requests: {burst} MiB, small calls within {:?}", bystander.waited_max);
    let mut large_waited = Duration::ZERO;
    for _ in 0..20 {
        bystander.small_call().await;
        large_waited = large_waited.max(large_call(&mut bystander.client).await);
    }
    let (peak, small_waited) = (peak_bytes(&process), bystander.waited_max);
    eprintln!(
        "{SILENT_READERS} that never read: peak {} MiB, small calls within {small_waited:?}, \
         a newcomer's within {newcomer_waited:?}, 8 MiB within {large_waited:?}",
        peak >> 20
    );
    assert!(peak < PEAK_BYTES_MAX, "{} MiB", peak >> 20);
    assert!(small_waited < WAIT_MAX && newcomer_waited < WAIT_MAX && large_waited < 5 * WAIT_MAX);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_half_sent_frames_lock_nobody_out() {
    let allowed = descriptors::raise(2 * HALF_FRAMES).unwrap_or(u64::MAX);
    let allowed = usize::try_from(allowed).unwrap_or(usize::MAX).saturating_sub(1_000);
    let (_home, process, mut bystander) = besieged().await;
    let half = vec![b'x'; 64 << 10];
    let (mut halves, mut newcomer_waited) = (Vec::new(), Duration::ZERO);
    for at in 0..HALF_FRAMES.min(allowed) {
        let mut stream = connected(&process.socket).await;
        // One byte to some, 64 KiB to the others; a connection that the daemon already closed is fine.
        let bytes = if at % 2 == 0 { &half[..1] } else { &half[..] };
        drop(soon("a write", stream.write_all(bytes)).await);
        halves.push(stream);
        if at % 100 == 0 {
            bystander.small_call().await;
        }
        if at % 1_000 == 999 {
            newcomer_waited = newcomer_waited.max(newcomer(&process.socket).await);
        }
    }
    newcomer_waited = newcomer_waited.max(newcomer(&process.socket).await);
    let (peak, small_waited) = (peak_bytes(&process), bystander.waited_max);
    eprintln!(
        "{} half-sent frames: peak {} MiB, small calls within {small_waited:?}, a newcomer's within {newcomer_waited:?}",
        halves.len(),
        peak >> 20
    );
    assert!(peak < PEAK_BYTES_MAX, "{} MiB", peak >> 20);
    assert!(small_waited < WAIT_MAX && newcomer_waited < WAIT_MAX);
}
