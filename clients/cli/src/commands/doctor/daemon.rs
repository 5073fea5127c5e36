//! The daemon's own status: version, database, sources, ingestion.

use longhaul_protocol::daemon::{IngestState, SourceStatus, StatusResult, StoreStatus};
use longhaul_protocol::policy::TemplateInfo;
use longhaul_protocol::thread::{IndexState, IndexStatus};

use super::check::Check;
use crate::style::{bytes, count, counted, odd_lines};

/// Allowed difference of the two clocks in milliseconds, including the response time.
const CLOCK_SKEW_MS: i64 = 5_000;

pub(super) fn checks(status: &StatusResult, round_trip_ms: u64, now_ms: i64) -> Vec<Check> {
    let answers = format!("process {} answers in {round_trip_ms} ms", status.pid);
    let mut checks = vec![
        Check::ok("daemon", answers),
        version(status),
        database(status),
        reading(status),
        search(&status.search),
        clocks(status, now_ms),
    ];
    // Its own warnings: a full disk, a watch that the kernel rejected.
    checks.extend(status.warnings.iter().map(|warning| {
        let hint = warning.hint.clone().unwrap_or_default();
        Check::warn("daemon", warning.message.clone(), hint)
    }));
    match status.sources.is_empty() {
        true => checks.push(Check::warn(
            "sources",
            "no folder of transcripts is configured",
            "longhauld --check-config shows where it looks",
        )),
        false => checks.extend(sources(&status.sources)),
    }
    checks
}

/// Checks for template files that are not used.
pub(super) fn templates(templates: &[TemplateInfo]) -> Check {
    let bad = templates.iter().find_map(|text| Some((text, text.problem.as_deref()?)));
    if let Some((text, problem)) = bad {
        let detail = format!("{} is not used: {problem}", text.path);
        let hint = "fix or delete it; until then the previous text is used";
        return Check::warn("templates", detail, hint);
    }
    match templates.iter().filter(|text| text.source == "file").count() {
        0 => Check::ok("templates", "built in"),
        own => Check::ok("templates", format!("{} in use", counted(own as u64, "own file"))),
    }
}

fn version(status: &StatusResult) -> Check {
    let (daemon, own) = (status.version.as_str(), env!("CARGO_PKG_VERSION"));
    match daemon == own {
        true => Check::ok("version", format!("{own} for daemon and client")),
        false => Check::warn(
            "version",
            format!("the daemon is {daemon}, this program {own}"),
            "restart the daemon: longhaul down, then longhaul up",
        ),
    }
}

fn database(status: &StatusResult) -> Check {
    let store = &status.store;
    match &store.rebuilt_from {
        None => Check::ok("database", format!("{} (schema {})", store.path, store.schema_version)),
        Some(moved_to) => {
            let old = if store.older_version { "one of an older version" } else { "damaged one" };
            let hint = format!("the {old} is {moved_to}; delete it when you no longer need it");
            Check::warn("database", rebuilt(store), hint)
        }
    }
}

fn rebuilt(store: &StoreStatus) -> String {
    let built = format!("{} was rebuilt from the transcripts", store.path);
    let Some(salvaged) = &store.salvaged else { return built };
    let kept = format!(
        "{}, {} and {} were recovered",
        counted(salvaged.updates, "update"),
        counted(salvaged.compactions, "compaction"),
        counted(salvaged.jobs, "job")
    );
    let rest = if salvaged.complete { "" } else { "; others could not be read" };
    format!("{built}; {kept}{rest}")
}

/// One line per existing source; a machine need not have every program.
fn sources(sources: &[SourceStatus]) -> Vec<Check> {
    let describe = |source: &SourceStatus| {
        let (files, threads) = (counted(source.files, "file"), counted(source.threads, "thread"));
        let size = bytes(source.bytes);
        format!("{}: {} ({files}, {threads}, {size})", source.source, source.root)
    };
    let present: Vec<Check> = sources
        .iter()
        .filter(|source| source.exists)
        .map(|source| Check::ok("source", describe(source)))
        .collect();
    if present.is_empty() {
        let roots: Vec<&str> = sources.iter().map(|source| source.root.as_str()).collect();
        let detail = format!("none exists or is readable: {}", roots.join(", "));
        let hint = "run an agent once, or name its folder: longhauld --codex-home DIR";
        return vec![Check::warn("source", detail, hint)];
    }
    present
}

fn reading(status: &StatusResult) -> Check {
    let ingest = &status.ingest;
    if let Some(error) = ingest.errors.last() {
        let files = counted(ingest.errors.len() as u64, "file");
        let detail = format!("{files} cannot be read, most recently {}", error.path);
        return Check::warn("reading", detail, error.message.clone());
    }
    if status.panics > 0 {
        let detail = format!("{} requests or tasks crashed", count(status.panics));
        return Check::warn("reading", detail, "please report it with the daemon's log");
    }
    match ingest.state {
        IngestState::Idle => {
            let odd = odd_lines(ingest.malformed, ingest.oversized, ingest.unknown);
            Check::ok("reading", format!("up to date, {} lines{odd}", count(ingest.lines)))
        }
        IngestState::CatchingUp => {
            let (done, total) = (bytes(ingest.bytes_done), bytes(ingest.bytes_total));
            Check::ok("reading", format!("catching up, {done} of {total}"))
        }
    }
}

fn search(index: &IndexStatus) -> Check {
    let size = format!("{} indexed, {}", counted(index.items, "item"), bytes(index.bytes));
    match index.state {
        IndexState::Idle | IndexState::Other => Check::ok("search", size),
        IndexState::Indexing => {
            Check::ok("search", format!("{size}, {} left", counted(index.files_behind, "file")))
        }
        IndexState::Stalled => Check::warn(
            "search",
            format!("the index cannot be written ({size})"),
            "free disk space or check the journal; it retries by itself",
        ),
    }
}

/// The daemon reads the time once at its start and adds a monotonic uptime, so a difference means that the clock jumped.
fn clocks(status: &StatusResult, now_ms: i64) -> Check {
    let uptime_ms = i64::try_from(status.uptime_ms).unwrap_or(i64::MAX);
    let difference_ms = now_ms.saturating_sub(status.started_at.saturating_add(uptime_ms));
    match difference_ms.abs() <= CLOCK_SKEW_MS {
        true => Check::ok("clock", "has not jumped since the daemon started"),
        false => Check::warn(
            "clock",
            format!("jumped by {} s since the daemon started", difference_ms / 1_000),
            "times in lists may be off; restart the daemon: longhaul down, then longhaul up",
        ),
    }
}
