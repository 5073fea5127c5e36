//! The daemon's resource use, sampled over the run.

use super::Day;
use crate::daemon::Daemon;

/// The figures of the samples, by quarter of the run.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) memory_mib: [Vec<f64>; 4],
    pub(super) descriptors: [Vec<f64>; 4],
    pub(super) threads: [Vec<f64>; 4],
    /// Processor time per written line, that of the clients' calls included.
    pub(super) cpu_ms_per_line: [Vec<f64>; 4],
    /// Processor seconds and written lines at the last sample.
    pub(super) last: (f64, u64),
}

impl Samples {
    pub(super) fn take(&mut self, day: &Day, daemon: &Daemon) -> anyhow::Result<()> {
        let quarter = day.quarter();
        let memory = daemon.memory()?;
        // Without pages of the program file, which the system loads and drops at will.
        self.memory_mib[quarter].push(memory.held - memory.program);
        let (descriptors, threads) = (daemon.descriptors()?, daemon.threads()?);
        self.descriptors[quarter].push(descriptors);
        self.threads[quarter].push(threads);
        let cpu_ms = self.cpu_ms_per_line((daemon.cpu_seconds()?, day.actions.lines()));
        self.cpu_ms_per_line[quarter].extend(cpu_ms);
        println!(
            "    quarter {}: {:.1} MiB, {descriptors} descriptors, {threads} threads, {:.2} ms processor time per line",
            quarter + 1,
            memory.held - memory.program,
            cpu_ms.unwrap_or_default(),
        );
        Ok(())
    }

    /// Since the last sample; `None` without new lines.
    fn cpu_ms_per_line(&mut self, now: (f64, u64)) -> Option<f64> {
        let last = std::mem::replace(&mut self.last, now);
        let lines = now.1.checked_sub(last.1).filter(|lines| *lines > 0)?;
        Some((now.0 - last.0) * 1_000.0 / lines as f64)
    }
}
