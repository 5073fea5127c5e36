//! Runtimes that are paused between their turns.
//!
//! # Theory of operation
//! Each actor has a single-threaded runtime with paused time, which does nothing unless it is polled. A turn ends when
//! nothing more can happen without another turn: none of its tasks is ready, and every other thread of this process
//! (SQLite's, and those for blocking calls) sleeps and was not awake in between. So only one actor is active at a time, and
//! its actions depend only on its inputs, whatever else the machine does.

use std::fs;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

/// Polls of a runtime per check: more than the steps that tasks can take without another thread.
const POLLS: usize = 48;

/// Maximum waits of a call for a timer.
const WAITS_MAX: usize = 200;

/// Waits after which a call is stuck, not slow: longer than any time limit of the daemon.
const WAITS_STUCK: usize = 30_000;

/// The length of such a wait.
const WAIT: Duration = Duration::from_millis(10);

pub(super) struct Actor {
    runtime: Runtime,
    _awake: mpsc::SyncSender<()>,
}

impl Actor {
    pub(super) fn new() -> Self {
        let mut builder = Builder::new_current_thread();
        // A thread that ends for want of work would be an unexplained change.
        builder.enable_all().start_paused(true).thread_keep_alive(Duration::from_secs(3_600));
        let runtime = builder.build().unwrap();
        let (awake, end) = mpsc::sync_channel(0);
        // While something blocks, tokio does not advance paused time.
        runtime.spawn_blocking(move || end.recv().is_ok());
        Self { runtime, _awake: awake }
    }

    pub(super) fn handle(&self) -> Handle {
        self.runtime.handle().clone()
    }

    /// Runs this to its end, with everything that follows from it on this runtime.
    pub(super) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let (mut work, mut done) = (pin!(work), None);
        let mut threads = String::new();
        for waits in 0..WAITS_STUCK {
            self.turn(|context| {
                if done.is_none()
                    && let Poll::Ready(result) = work.as_mut().poll(context)
                {
                    done = Some(result);
                }
            });
            if let Some(result) = done {
                let took = WAIT * u32::try_from(waits).unwrap();
                assert!(waits < WAITS_MAX, "a call took {took:?}; other threads before: {threads}");
                return result;
            }
            if waits == WAITS_MAX {
                threads = other_threads();
            }
            self.runtime.block_on(tokio::time::advance(WAIT));
        }
        panic!("a call has no end; other threads: {threads}");
    }

    /// Lets time pass, and runs what is due then.
    pub(super) fn pass(&self, ms: u64) {
        self.runtime.block_on(tokio::time::advance(Duration::from_millis(ms)));
        self.turn(|_| {});
    }

    /// Polls until everything is idle.
    fn turn(&self, mut poll: impl FnMut(&mut Context<'_>)) {
        let mut before = None;
        loop {
            self.runtime.block_on(async {
                for _ in 0..POLLS {
                    poll_fn(|context| {
                        poll(context);
                        Poll::Ready(())
                    })
                    .await;
                    tokio::task::yield_now().await;
                }
            });
            let now = others_at_rest();
            if before == Some(now) {
                return;
            }
            before = Some(now);
        }
    }
}

/// Waits until all other threads sleep; returns how often they woke up until now.
fn others_at_rest() -> u64 {
    loop {
        if let Some(first) = look()
            && look() == Some(first)
        {
            return first;
        }
        std::thread::yield_now();
    }
}

/// What the other threads wait in, such as `sqlx-sqlite-worke hrtimer_nanosleep` while SQLite waits for a lock.
fn other_threads() -> String {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |name| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        threads.push(format!("{} {}", read("comm").trim(), read("wchan").trim()));
    }
    threads.join(", ")
}

/// Number of switches to other threads; `None` while one of them is active.
fn look() -> Option<u64> {
    let own = fs::read_link("/proc/thread-self").unwrap();
    let mut switches = 0;
    for entry in fs::read_dir("/proc/self/task").unwrap().flatten() {
        if own.file_name() == Some(&entry.file_name()) {
            continue;
        }
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let mut is_asleep = false;
        for line in status.lines() {
            match line.split_once(":\t") {
                Some(("State", state)) => is_asleep = state.starts_with('S'),
                Some(("voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches", count)) => {
                    switches += count.trim().parse::<u64>().ok()?;
                }
                _ => {}
            }
        }
        if !is_asleep {
            return None;
        }
    }
    Some(switches)
}
