//! Clients that call constantly, and their response times.

use std::sync::Mutex;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::chance::Chance;
use super::floor::Floor;
use super::{Day, SLICES};
use crate::daemon::{Daemon, pause};
use crate::stopwatch::Stopwatch;
use crate::wire::Wire;

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

/// Calls of the floor, and the pause after each answer.
pub(super) const FLOOR: &str = "floor";
const FLOOR_PAUSE: Duration = Duration::from_millis(20);

/// Response times in milliseconds, by slice of the day.
pub(super) type Times = [Vec<f64>; SLICES];

#[derive(Default)]
pub(super) struct Clients {
    times: Mutex<Vec<(&'static str, Box<Times>)>>,
    threads: Mutex<Vec<String>>,
}

impl Clients {
    pub(super) fn start<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        day: &'s Day,
        (daemon, floor): (&'s Daemon, &'s Floor),
    ) -> Vec<ScopedJoinHandle<'s, anyhow::Result<()>>> {
        let ask = |question| scope.spawn(move || self.ask(day, daemon.connect()?, question));
        let asked = QUESTIONS.into_iter().map(ask);
        let floor = scope.spawn(move || self.ask(day, floor.connect()?, (FLOOR, FLOOR_PAUSE)));
        asked.chain([floor]).collect()
    }

    /// All response times, by method; `FLOOR` is one of them.
    pub(super) fn into_times(self) -> anyhow::Result<Vec<(&'static str, Box<Times>)>> {
        self.times.into_inner().ok().context("a client panicked")
    }

    fn ask(
        &self,
        day: &Day,
        mut wire: Wire,
        (method, rest): (&'static str, Duration),
    ) -> anyhow::Result<()> {
        let mut times: Box<Times> = Box::new(std::array::from_fn(|_| Vec::new()));
        let (mut chance, mut answer) = (Chance::of(7, 0), Vec::new());
        while !day.is_over() {
            if let Some(params) = self.params(method, &mut chance) {
                let awake = day.awake.read().ok().context("the day panicked")?;
                let request = wire.request(method, &params);
                let watch = Stopwatch::start();
                wire.round_trip(&request, &mut answer)?;
                times[day.slice()].push(watch.seconds() * 1_000.0);
                drop(awake);
                self.take(method, &answer)?;
            }
            pause(rest);
        }
        ensure!(times.iter().any(|times| !times.is_empty()), "{method} was never called");
        self.times.lock().ok().context("a client panicked")?.push((method, times));
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
