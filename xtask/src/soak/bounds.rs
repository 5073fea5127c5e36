//! Decides whether a figure is flat: compares the last quarter of the run with the first, within a bound.
//!
//! The bounds leave room for caches to fill. A leak of a hundred bytes per written line, or of a descriptor per file,
//! exceeds them within the hour. Two kilobytes are allowed per known transcript, including deleted ones.
//!
//! Other programs use the machine, too, so a response time alone shows little: each is divided by that of the floor
//! in the same half minute. Under load the daemon still suffers more than the floor, since its threads are busy and
//! queue. So a quarter counts by its best slices: a leak slows them all, another program only those it runs in.

use std::time::Duration;

use super::SLICES;
use super::clients::{FLOOR, Times};
use super::samples::Samples;

/// Shorter runs end before caches are full, so only the peak is checked.
const JUDGED_FROM: Duration = Duration::from_secs(600);

/// Maximum memory at any time, without pages of the program file.
const PEAK_MIB: f64 = 128.0;

/// The share of a quarter's slices, in percent, that is better than the one that counts.
const BEST_SLICES: usize = 25;

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

/// Transcripts grow in the first minutes, and on a loaded machine the processor's caches are cold.
const CPU_MS_PER_LINE: Bound = Bound { factor: 1.5, more: 0.5 };

/// Multiples of the floor's time. Half of the answers come from caches, so only slow growth shows.
const MEDIAN: Bound = Bound { factor: 1.5, more: 1.0 };

/// One percent wait for a commit, an index batch or the processor, on some days longer than on others.
const P99: Bound = Bound { factor: 1.5, more: 5.0 };

/// A search visits all matches of its words, up to a bound, and the last quarter has seven times as many as the first. A
/// fresh daemon on an idle machine takes 4 ms with 21,000 items and 15 ms with 154,000.
const SEARCH: Bound = Bound { factor: 3.5, more: 1.0 };

/// Prints the tables and returns what is not flat.
pub(super) fn judge(
    samples: &Samples,
    times: &[(&'static str, Box<Times>)],
    whole: Duration,
    peak_mib: f64,
) -> Vec<String> {
    let mut findings = resources(samples);
    findings.extend(response_times(times));
    if whole < JUDGED_FROM {
        findings.clear();
    }
    println!("    {:24} {:>10} {peak_mib:>10.1} {PEAK_MIB:>10.1}", "peak memory, MiB", "");
    if peak_mib > PEAK_MIB {
        findings.push(format!("peak memory {peak_mib:.1} MiB, at most {PEAK_MIB:.0}"));
    }
    findings
}

fn resources(samples: &Samples) -> Vec<String> {
    println!("    {:24} {:>10} {:>10} {:>10}", "", "first", "last", "at most");
    let figures = [
        ("memory, MiB", &samples.memory_mib, MEMORY_MIB),
        ("descriptors", &samples.descriptors, DESCRIPTORS),
        ("threads", &samples.threads, THREADS),
        ("processor ms per line", &samples.cpu_ms_per_line, CPU_MS_PER_LINE),
    ];
    let mut findings = Vec::new();
    for (what, quarters, bound) in figures {
        let [first, last] = [0, 3].map(|quarter| percentile(quarters[quarter].clone(), 50));
        let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
        let most = bound.most(first);
        println!("    {what:24} {first:>10.1} {last:>10.1} {most:>10.1}");
        if last > most {
            findings.push(format!("{what}: {first:.1}, then {last:.1}"));
        }
    }
    findings
}

fn response_times(times: &[(&'static str, Box<Times>)]) -> Vec<String> {
    let Some((_, floor)) = times.iter().find(|(what, _)| *what == FLOOR) else {
        return vec!["the floor was not measured".to_owned()];
    };
    let title = ["first ms", "last ms", "÷ floor", "÷ floor", "at most"];
    let title = title.map(|column| format!("{column:>10}"));
    println!("    {:24} {}", "", title.join(" "));
    let mut findings = Vec::new();
    for (percent, bound) in [(50, &MEDIAN), (99, &P99)] {
        for (method, times) in times {
            let quarters = [0, 3].map(|quarter| Quarter::of((times, floor), quarter, percent));
            let [Some(first), Some(last)] = quarters else { continue };
            let bound = if *method == "thread/search" { &SEARCH } else { bound };
            let most = bound.most(first.per_floor);
            let what = format!("{method} p{percent}");
            println!(
                "    {what:24} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {most:>10.1}",
                first.ms, last.ms, first.per_floor, last.per_floor
            );
            if last.per_floor > most {
                findings.push(format!(
                    "{what}: {:.1} times the floor's, then {:.1} times",
                    first.per_floor, last.per_floor
                ));
            }
        }
    }
    findings
}

impl Bound {
    fn most(&self, first: f64) -> f64 {
        first * self.factor + self.more
    }
}

/// A response time in a quarter of the day.
struct Quarter {
    /// The median of the slices.
    ms: f64,
    /// In multiples of the floor's, in one of the best slices.
    per_floor: f64,
}

impl Quarter {
    fn of((times, floor): (&Times, &Times), quarter: usize, percent: usize) -> Option<Self> {
        let slices = SLICES / 4 * quarter..SLICES / 4 * (quarter + 1);
        let pairs =
            times[slices.clone()].iter().zip(&floor[slices]).filter_map(|(times, floor)| {
                percentile(times.clone(), percent).zip(percentile(floor.clone(), percent))
            });
        let (ms, per_floor) = pairs.map(|(ms, floor)| (ms, ms / floor)).unzip();
        Some(Self { ms: percentile(ms, 50)?, per_floor: percentile(per_floor, BEST_SLICES)? })
    }
}

fn percentile(mut figures: Vec<f64>, percent: usize) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let last = figures.len().checked_sub(1)?;
    figures.get((figures.len() * percent / 100).min(last)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const METHOD: &str = "thread/list";

    /// A day on which the floor takes 0.5 ms and a call 2 ms, both times what the machine's load and the daemon's
    /// growth make of it.
    fn day(load: impl Fn(usize) -> f64, growth: impl Fn(usize) -> f64) -> Vec<String> {
        let times = |ms: f64, growth: &dyn Fn(usize) -> f64| -> Box<Times> {
            Box::new(std::array::from_fn(|slice| {
                let ms = ms * load(slice) * growth(slice);
                // The slowest two percent take ten times as long.
                (0..100).map(|call| if call < 98 { ms } else { 10.0 * ms }).collect()
            }))
        };
        let times = [(FLOOR, times(0.5, &|_| 1.0)), (METHOD, times(2.0, &growth))];
        judge(&Samples::default(), &times, HOUR, 0.0)
    }

    fn is_last(slice: usize) -> bool {
        slice >= SLICES / 4 * 3
    }

    #[test]
    fn a_day_on_a_steady_machine_is_flat() {
        assert_eq!(day(|_| 1.0, |_| 1.0), [""; 0]);
    }

    #[test]
    fn a_machine_loaded_in_the_evening_is_no_growth() {
        assert_eq!(day(|slice| if is_last(slice) { 4.0 } else { 1.0 }, |_| 1.0), [""; 0]);
    }

    #[test]
    fn growth_on_a_steady_machine_is_found() {
        let findings = day(|_| 1.0, |slice| if is_last(slice) { 3.0 } else { 1.0 });
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert_eq!(findings[0], "thread/list p50: 4.0 times the floor's, then 12.0 times");
        assert!(findings[1].starts_with("thread/list p99: "), "{findings:?}");
    }

    #[test]
    fn growth_behind_the_load_of_the_morning_is_found() {
        let (load, growth) = (
            |slice| if is_last(slice) { 1.0 } else { 4.0 },
            |slice| if is_last(slice) { 3.0 } else { 1.0 },
        );
        assert_eq!(day(load, growth).len(), 2);
    }

    #[test]
    fn a_daemon_that_suffers_more_than_the_floor_from_other_programs_is_judged_by_calm_slices() {
        let builds =
            |slice: usize| if is_last(slice) && !slice.is_multiple_of(3) { 5.0 } else { 1.0 };
        assert_eq!(day(|_| 1.0, builds), [""; 0]);
    }

    #[test]
    fn slow_growth_is_found() {
        let findings = day(|_| 1.0, |slice| 1.0 + 3.0 * slice as f64 / SLICES as f64);
        assert_eq!(findings.len(), 2, "{findings:?}");
    }

    #[test]
    fn a_day_without_a_floor_is_a_finding() {
        let times: Box<Times> = Box::new(std::array::from_fn(|_| vec![1.0]));
        let findings = judge(&Samples::default(), &[(METHOD, times)], HOUR, 0.0);
        assert_eq!(findings, ["the floor was not measured"]);
    }

    #[test]
    fn growing_memory_and_processor_time_are_found() {
        let quarters = |last: f64| [vec![1.0], vec![1.0], vec![1.0], vec![1.0, last, last]];
        let samples = Samples {
            memory_mib: quarters(20.0),
            cpu_ms_per_line: quarters(2.5),
            ..Samples::default()
        };
        let findings = resources(&samples);
        assert_eq!(
            findings,
            ["memory, MiB: 1.0, then 20.0", "processor ms per line: 1.0, then 2.5"]
        );
        let flat = Samples { cpu_ms_per_line: quarters(1.9), ..Samples::default() };
        assert_eq!(resources(&flat), [""; 0]);
    }

    #[test]
    fn a_short_run_checks_only_the_peak() {
        let samples =
            Samples { descriptors: [vec![1.0], vec![], vec![], vec![100.0]], ..Samples::default() };
        let short = Duration::from_secs(20);
        assert_eq!(judge(&samples, &[], short, 12.0), [""; 0]);
        assert_eq!(judge(&samples, &[], short, 130.0), ["peak memory 130.0 MiB, at most 128"]);
    }
}
