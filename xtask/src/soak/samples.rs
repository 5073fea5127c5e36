//! The daemon's resource use, sampled over the run.

use crate::daemon::Daemon;

/// The figures of the samples, by quarter of the run.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) memory_mib: [Vec<f64>; 4],
    pub(super) descriptors: [Vec<f64>; 4],
    pub(super) threads: [Vec<f64>; 4],
}

impl Samples {
    pub(super) fn take(&mut self, quarter: usize, daemon: &Daemon) -> anyhow::Result<()> {
        let memory = daemon.memory()?;
        // Without pages of the program file, which the system loads and drops at will.
        self.memory_mib[quarter].push(memory.held - memory.program);
        let (descriptors, threads) = (daemon.descriptors()?, daemon.threads()?);
        self.descriptors[quarter].push(descriptors);
        self.threads[quarter].push(threads);
        println!(
            "    quarter {}: {:.1} MiB, {descriptors} descriptors, {threads} threads",
            quarter + 1,
            memory.held - memory.program
        );
        Ok(())
    }
}
