//! Clients that call constantly, and their response times.

use std::hint::black_box;
use std::sync::Mutex;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Day;
use super::chance::Chance;
use crate::daemon::{Daemon, pause};
use crate::stopwatch::Stopwatch;

/// The calls, with the pause after each answer.
const QUESTIONS: [(&str, Duration); 5] = [
    ("daemon/status", Duration::from_millis(20)),
    ("checkpoint/view", Duration::from_millis(50)),
    ("thread/search", Duration::from_millis(200)),
    ("history/get", Duration::from_millis(200)),
    ("thread/list", Duration::from_millis(200)),
];

/// Expected errors: transcripts appear and disappear, and the search index opens after the daemon.
const EXPECTED: [&str; 4] =
    ["thread_not_found", "checkpoint_not_found", "source_changed", "store_busy"];

/// A fixed piece of work, to measure the load by other programs.
pub(super) const PACE: &str = "a fixed sum";
const PACE_ROUNDS: u64 = 100_000;
const PACE_PAUSE: Duration = Duration::from_millis(50);

/// Response times in milliseconds, by quarter of the run.
type Times = [Vec<f64>; 4];

#[derive(Default)]
pub(super) struct Clients {
    times: Mutex<Vec<(&'static str, Times)>>,
    threads: Mutex<Vec<String>>,
}

impl Clients {
    pub(super) fn start<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        day: &'s Day,
        daemon: &'s Daemon,
    ) -> Vec<ScopedJoinHandle<'s, anyhow::Result<()>>> {
        let ask = |(method, rest)| scope.spawn(move || self.ask(day, daemon, (method, rest)));
        let pace = scope.spawn(move || self.keep_pace(day));
        QUESTIONS.into_iter().map(ask).chain([pace]).collect()
    }

    /// Sorted response times of a method in two quarters of the run.
    pub(super) fn quarters(
        &self,
        (first, last): (usize, usize),
    ) -> Vec<(&'static str, Vec<f64>, Vec<f64>)> {
        let all = self.times.lock().map(|times| times.clone()).unwrap_or_default();
        let sorted = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times
        };
        let of = |(method, times): (&'static str, Times)| {
            (method, sorted(times[first].clone()), sorted(times[last].clone()))
        };
        all.into_iter().map(of).collect()
    }

    fn ask(
        &self,
        day: &Day,
        daemon: &Daemon,
        (method, rest): (&'static str, Duration),
    ) -> anyhow::Result<()> {
        let mut wire = daemon.connect()?;
        let (mut chance, mut times, mut answer) = (Chance::of(7, 0), Times::default(), Vec::new());
        while !day.is_over() {
            if let Some(params) = self.params(method, &mut chance) {
                let awake = day.awake.read().ok().context("the day panicked")?;
                let request = wire.request(method, &params);
                let watch = Stopwatch::start();
                wire.round_trip(&request, &mut answer)?;
                times[day.quarter()].push(watch.seconds() * 1_000.0);
                drop(awake);
                self.take(method, &answer)?;
            }
            pause(rest);
        }
        ensure!(times.iter().any(|times| !times.is_empty()), "{method} was never called");
        self.times.lock().ok().context("a client panicked")?.push((method, times));
        Ok(())
    }

    fn keep_pace(&self, day: &Day) -> anyhow::Result<()> {
        let (mut chance, mut times) = (Chance::of(7, 1), Times::default());
        while !day.is_over() {
            let watch = Stopwatch::start();
            let sum = (0..PACE_ROUNDS).fold(0, |sum: u64, _| sum.wrapping_add(chance.below(97)));
            black_box(sum);
            times[day.quarter()].push(watch.seconds() * 1_000.0);
            pause(PACE_PAUSE);
        }
        self.times.lock().ok().context("a client panicked")?.push((PACE, times));
        Ok(())
    }

    /// `None` while no thread is known.
    fn params(&self, method: &str, chance: &mut Chance) -> Option<Value> {
        let mut thread = || {
            let threads = self.threads.lock().ok()?;
            threads.get(chance.place(threads.len())).cloned()
        };
        Some(match method {
            "checkpoint/view" => json!({ "thread_id": thread()?, "max_tokens": 2_000 }),
            "history/get" => json!({ "thread_id": thread()?, "max_bytes": 65_536 }),
            "thread/search" => json!({ "query": format!("import module_{}", chance.below(97)) }),
            "thread/list" => json!({ "limit": 100 }),
            _ => json!({}),
        })
    }

    fn take(&self, method: &str, answer: &[u8]) -> anyhow::Result<()> {
        let answer: Value = serde_json::from_slice(answer).context("the answer is no JSON")?;
        if let Some(error) = answer.get("error") {
            let kind = error.pointer("/data/kind").and_then(Value::as_str).unwrap_or_default();
            ensure!(EXPECTED.contains(&kind), "{method}: {error}");
        }
        if method == "thread/list"
            && let Some(threads) = answer.pointer("/result/threads").and_then(Value::as_array)
        {
            let ids = threads.iter().filter_map(|thread| thread["thread_id"].as_str());
            let ids = ids.map(str::to_owned).collect();
            *self.threads.lock().ok().context("a client panicked")? = ids;
        }
        Ok(())
    }
}
