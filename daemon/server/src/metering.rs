//! Durations of calls, and the process's use of resources.
//!
//! *State*: one histogram for each method that was called, a few KiB each; lost with the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use longhaul_protocol::daemon::{MethodMetrics, ProcessMetrics};

/// Significant digits of a duration: one part in a hundred.
const DIGITS: u8 = 2;

/// Durations of calls, by method.
#[derive(Debug, Default)]
pub struct CallTimes(Mutex<BTreeMap<&'static str, Times>>);

#[derive(Debug)]
struct Times {
    errors: u64,
    took_us: Histogram<u32>,
}

impl CallTimes {
    /// Records a call that was answered after `took`.
    pub fn note(&self, method: &'static str, took: Duration, is_error: bool) {
        let mut methods = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !methods.contains_key(method) {
            // This fails only for an invalid number of digits.
            let Ok(took_us) = Histogram::new(DIGITS) else { return };
            methods.insert(method, Times { errors: 0, took_us });
        }
        if let Some(times) = methods.get_mut(method) {
            let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            // The histogram grows as needed; it rejects only values longer than any call.
            if times.took_us.record(took_us.max(1)).is_err() {
                tracing::debug!(method, took_us, "cannot record a duration");
            }
            times.errors += u64::from(is_error);
        }
    }

    /// All methods that were called, sorted by name.
    pub fn summaries(&self) -> Vec<MethodMetrics> {
        let methods = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let summary = |(method, times): (&&'static str, &Times)| MethodMetrics {
            method: (*method).to_owned(),
            calls: times.took_us.len(),
            errors: times.errors,
            p50_us: times.took_us.value_at_quantile(0.5),
            p99_us: times.took_us.value_at_quantile(0.99),
            max_us: times.took_us.max(),
        };
        methods.iter().map(summary).collect()
    }
}

/// The process's use of resources; `None` without `/proc`.
pub fn process() -> Option<ProcessMetrics> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(ProcessMetrics {
        resident_bytes: number(&status, "VmRSS:")? * 1_024,
        resident_peak_bytes: number(&status, "VmHWM:")? * 1_024,
        cpu_ms: u64::try_from(processor_time().as_millis()).unwrap_or(u64::MAX),
        threads: number(&status, "Threads:")?,
    })
}

/// Processor time of all threads since the start.
pub fn processor_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}

fn number(status: &str, key: &str) -> Option<u64> {
    let rest = status.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_accurate_to_a_hundredth_at_any_size() {
        let times = CallTimes::default();
        for us in 1..=1_000 {
            times.note("a/b", Duration::from_micros(us), us % 10 == 0);
        }
        times.note("a/a", Duration::from_secs(86_400), true);
        times.note("a/a", Duration::ZERO, false);
        let [day, thousand] = &times.summaries()[..] else { panic!("two methods") };
        assert_eq!((day.method.as_str(), day.calls, day.errors, day.p50_us), ("a/a", 2, 1, 1));
        assert!(day.max_us.abs_diff(86_400_000_000) < 864_000_000, "{day:?}");
        assert_eq!((thousand.calls, thousand.errors), (1_000, 100));
        assert!(thousand.p50_us.abs_diff(500) <= 5 && thousand.p99_us.abs_diff(990) <= 10);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_reports_the_process() {
        let usage = process().unwrap();
        assert!(
            usage.resident_bytes > 1 << 20 && usage.resident_peak_bytes >= usage.resident_bytes
        );
        assert!(usage.threads >= 1);
    }
}
