//! The final table and percentiles.

use std::time::Duration;

use anyhow::ensure;
use serde_json::Value;

use crate::stopwatch::Stopwatch;
use crate::wire::Wire;

const CALLS_TO_WARM_UP: usize = 5;

/// Figures in the order of measurement.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
}

struct Row {
    measure: String,
    value: String,
    aim: &'static str,
}

impl Report {
    /// Adds a figure and prints it immediately, to show progress.
    pub(super) fn add(
        &mut self,
        measure: impl Into<String>,
        value: impl Into<String>,
        aim: &'static str,
    ) {
        let row = Row { measure: measure.into(), value: value.into(), aim };
        println!("    {}: {}", row.measure, row.value);
        self.rows.push(row);
    }

    pub(super) fn print(&self) {
        let width = |text: fn(&Row) -> &str| {
            self.rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0)
        };
        let (measures, values) = (width(|row| &row.measure), width(|row| &row.value));
        println!("\n==> measures (aims are aims: nothing here passes or fails)");
        for Row { measure, value, aim } in &self.rows {
            let aim = if aim.is_empty() { String::new() } else { format!("  aim {aim}") };
            println!("    {measure:measures$}  {value:values$}{aim}");
        }
    }
}

/// Times of many runs.
pub(super) struct Times(Vec<Duration>);

impl Times {
    /// Times of calls of a method, which takes the params in turn.
    pub(super) fn of_calls(
        wire: &mut Wire,
        (method, params): (&str, &[Value]),
        rounds: usize,
    ) -> anyhow::Result<Self> {
        let (mut times, mut answer) = (Vec::new(), Vec::new());
        for round in 0..CALLS_TO_WARM_UP + rounds {
            let params = &params[round % params.len()];
            let request = wire.request(method, params);
            let watch = Stopwatch::start();
            wire.round_trip(&request, &mut answer)?;
            if round >= CALLS_TO_WARM_UP {
                times.push(watch.elapsed());
            }
            let read: Value = serde_json::from_slice(&answer)?;
            ensure!(read.get("error").is_none(), "{method} {params}: {read}");
        }
        Ok(Self::of(times))
    }

    /// Times of several things, one of each in a round, so that other activity affects all alike. The first `warm_up` rounds do
    /// not count.
    pub(super) fn in_turn<const THINGS: usize>(
        (warm_up, rounds): (usize, usize),
        mut time: impl FnMut(usize) -> anyhow::Result<[Duration; THINGS]>,
    ) -> anyhow::Result<[Self; THINGS]> {
        let mut all = std::array::from_fn(|_| Vec::with_capacity(rounds));
        for round in 0..warm_up + rounds {
            let times = time(round)?;
            if round >= warm_up {
                all.iter_mut().zip(times).for_each(|(all, time): (&mut Vec<_>, _)| all.push(time));
            }
        }
        Ok(all.map(Self::of))
    }

    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    /// A percentile, in microseconds.
    pub(super) fn percentile_us(&self, percent: usize) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let place = (self.0.len() * percent / 100).min(last);
        self.0.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }

    /// As [`show`](Self::show), with the number of runs and the longest.
    pub(super) fn show_worst(&self) -> String {
        let worst_ms = self.percentile_us(100) / 1e3;
        format!("{}, max {worst_ms:.1} ms of {}", self.show(), self.0.len())
    }

    /// `p50 … p99 …` in a suitable unit.
    pub(super) fn show(&self) -> String {
        let (p50, p99) = (self.percentile_us(50), self.percentile_us(99));
        if p99 < 1000.0 {
            format!("p50 {p50:.0} us, p99 {p99:.0} us")
        } else {
            format!("p50 {:.2} ms, p99 {:.2} ms", p50 / 1e3, p99 / 1e3)
        }
    }
}
