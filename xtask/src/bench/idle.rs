//! What a daemon costs that has nothing to do.

use std::path::Path;
use std::time::Duration;

use super::corpus::Corpus;
use super::report::Report;
use crate::daemon::{Daemon, pause};

/// Time for start-up work to end before anything is called idle.
const SETTLE: Duration = Duration::from_secs(2);
/// How long the idle daemon is watched; longer than its polling would take to show.
const WATCH: Duration = Duration::from_secs(10);

pub(super) fn measure(
    longhauld: &Path,
    corpus: &Corpus,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let fresh = Daemon::start(longhauld, home.path())?;
    pause(SETTLE);
    let (held, _) = fresh.memory_mib()?;
    let before = fresh.cpu_seconds()?;
    pause(WATCH);
    let share = (fresh.cpu_seconds()? - before) / WATCH.as_secs_f64() * 100.0;
    report.add("idle, empty store: memory", format!("{held:.1} MiB"), "<= 20 MiB");
    report.add("idle, empty store: processor", format!("{share:.2} % of one core"), "none");
    fresh.stop()?;

    corpus.copy_to(home.path())?;
    let filled = Daemon::start(longhauld, home.path())?;
    filled.wait_idle(1)?;
    pause(SETTLE);
    let (held, peak) = filled.memory_mib()?;
    report.add("idle, corpus ingested: memory", format!("{held:.1} MiB (peak {peak:.1})"), "");
    filled.stop()
}
