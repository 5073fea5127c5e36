//! Decides whether a figure is flat: compares the last quarter of the run with the first, within a bound.
//!
//! The bounds leave room for caches to fill, and those of times scale with the time of a fixed piece of work, since
//! other programs use the machine, too. A leak of a hundred bytes per written line, or of a descriptor per file,
//! exceeds them within the hour. Two kilobytes are allowed per known transcript, including deleted ones.

use std::time::Duration;

use super::clients::{Clients, PACE};
use super::samples::Samples;

/// Shorter runs end before caches are full, so only the peak is checked.
const JUDGED_FROM: Duration = Duration::from_secs(600);

/// Maximum memory at any time, without pages of the program file.
const PEAK_MIB: f64 = 128.0;

/// Allowed growth from the first to the last quarter: a factor and a constant.
struct Bound {
    factor: f64,
    more: f64,
}

/// Caches are bounded and full within minutes; the allocator releases memory in steps of some MiB.
const MEMORY_MIB: Bound = Bound { factor: 1.15, more: 8.0 };

/// The number of open connections and files varies a little.
const DESCRIPTORS: Bound = Bound { factor: 1.0, more: 16.0 };

/// The runtime starts threads for blocking work on demand and ends idle ones.
const THREADS: Bound = Bound { factor: 1.0, more: 8.0 };

/// Half of the answers come from caches, so only slow growth shows.
const MEDIAN_MS: Bound = Bound { factor: 1.5, more: 2.0 };

/// One percent wait for a commit, an index batch or the processor.
const P99_MS: Bound = Bound { factor: 1.5, more: 20.0 };

/// Prints the table and returns what is not flat.
pub(super) fn judge(
    samples: &Samples,
    clients: &Clients,
    whole: Duration,
    peak_mib: f64,
) -> Vec<String> {
    let mut table = Table { findings: Vec::new(), is_judged: whole >= JUDGED_FROM };
    println!("    {:24} {:>10} {:>10} {:>10}", "", "first", "last", "at most");
    let ends = |figures: &[Vec<f64>; 4]| {
        let sorted = |quarter: usize| {
            let mut figures = figures[quarter].clone();
            figures.sort_by(f64::total_cmp);
            figures
        };
        (sorted(0), sorted(3))
    };
    let held = [
        ("memory, MiB", &samples.memory_mib, MEMORY_MIB),
        ("descriptors", &samples.descriptors, DESCRIPTORS),
        ("threads", &samples.threads, THREADS),
    ];
    for (what, figures, bound) in held {
        let (first, last) = ends(figures);
        table.row(what, (percentile(&first, 50), percentile(&last, 50)), &bound);
    }
    let times = clients.quarters((0, 3));
    for (percent, bound) in [(50, MEDIAN_MS), (99, P99_MS)] {
        let pace = times.iter().find(|(what, ..)| *what == PACE);
        let slower = pace.map_or(1.0, |(_, first, last)| {
            (percentile(last, percent) / percentile(first, percent)).max(1.0)
        });
        let bound = Bound { factor: bound.factor * slower, ..bound };
        for (method, first, last) in &times {
            let what = format!("{method} p{percent}, ms");
            table.row(&what, (percentile(first, percent), percentile(last, percent)), &bound);
        }
    }
    println!("    {:24} {:>10} {peak_mib:>10.1} {PEAK_MIB:>10.1}", "peak memory, MiB", "");
    if peak_mib > PEAK_MIB {
        table.findings.push(format!("peak memory {peak_mib:.1} MiB, at most {PEAK_MIB:.0}"));
    }
    table.findings
}

struct Table {
    findings: Vec<String>,
    is_judged: bool,
}

impl Table {
    fn row(&mut self, what: &str, (first, last): (f64, f64), bound: &Bound) {
        let most = first * bound.factor + bound.more;
        println!("    {what:24} {first:>10.1} {last:>10.1} {most:>10.1}");
        if self.is_judged && last > most {
            self.findings.push(format!("{what}: {first:.1}, then {last:.1}"));
        }
    }
}

/// A percentile of sorted figures.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((sorted.len() * percent / 100).min(last)).copied().unwrap_or_default()
}
