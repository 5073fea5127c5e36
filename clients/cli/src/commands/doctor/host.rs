//! The machine: date, limits, service manager.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use directories::BaseDirs;
use longhaul_protocol::daemon::StatusResult;

use super::check::Check;
use crate::commands::install::systemd;
use crate::style::count;

/// 2025-01-01. This program is newer, so an earlier time means a wrong clock.
const YOUNGER_THAN_MS: i64 = 1_735_689_600_000;
/// Maximum folders to count; enough to see that a limit is near.
const FOLDERS_MAX: u64 = 100_000;
/// Maximum exposure of our unit, in tenths.
const EXPOSURE_TENTHS_MAX: u32 = 25;
/// The daemon's units; both are needed.
const UNITS: [&str; 2] = ["longhauld.socket", "longhauld.service"];

pub(super) fn checks(status: Option<&StatusResult>, now_ms: i64) -> Vec<Check> {
    // Only the daemon knows its folders.
    let watches = status.and_then(|status| {
        let roots = status.sources.iter().map(|source| Path::new(&source.root));
        watches(&roots.collect::<Vec<_>>())
    });
    let asks_a_model = status.is_some_and(|status| status.model.is_some());
    let found = [date(now_ms), watches, units(), network(asks_a_model), exposure()];
    found.into_iter().flatten().collect()
}

fn date(now_ms: i64) -> Option<Check> {
    (now_ms < YOUNGER_THAN_MS).then(|| {
        Check::fail("date", "the clock shows a date before 2025", "set the clock of the machine")
    })
}

/// Compares the kernel's limit on watched folders with the folders of the sources.
fn watches(roots: &[&Path]) -> Option<Check> {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
    let limit: u64 = limit.trim().parse().ok()?;
    let mut folders = 0;
    for root in roots {
        count_folders(root, &mut folders);
    }
    let detail = format!("{} folders to watch, the kernel allows {}", count(folders), count(limit));
    // Other programs watch folders, too; an editor easily uses half.
    Some(match folders.saturating_mul(2) > limit {
        true => Check::warn(
            "watches",
            detail,
            "sudo sysctl fs.inotify.max_user_watches=524288 (until then the daemon scans for changes)",
        ),
        false => Check::ok("watches", detail),
    })
}

fn count_folders(folder: &Path, folders: &mut u64) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    *folders += 1;
    for entry in entries.map_while(Result::ok) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && *folders < FOLDERS_MAX {
            count_folders(&entry.path(), folders);
        }
    }
}

/// Whether systemd would start the daemon; no check without a user manager.
fn units() -> Option<Check> {
    let runtime = BaseDirs::new()?.runtime_dir()?.join("systemd");
    if !runtime.is_dir() {
        return None;
    }
    let missing: Vec<&str> = UNITS.into_iter().filter(|unit| find_unit(unit).is_none()).collect();
    Some(match missing.is_empty() {
        true => Check::ok("units", "installed: the first connection starts the daemon"),
        false => Check::warn(
            "units",
            format!("{} not installed: start the daemon by hand", missing.join(", ")),
            "longhaul up starts it now; longhaul install systemd installs the units",
        ),
    })
}

/// Whether the unit lets the daemon reach the configured model.
fn network(asks_a_model: bool) -> Option<Check> {
    let path = find_unit(UNITS[1])?;
    let drop_ins = std::fs::read_dir(path.with_extension("service.d")).into_iter().flatten();
    let drop_ins = drop_ins.map_while(Result::ok).map(|entry| entry.path());
    let texts = std::iter::once(path).chain(drop_ins).map(std::fs::read_to_string);
    let unit: String = texts.filter_map(Result::ok).collect();
    (asks_a_model && !systemd::allows_network(&unit)).then(|| {
        Check::warn(
            "units",
            "a model is configured, but the unit blocks the daemon's network access",
            "longhaul install systemd && systemctl --user restart longhauld",
        )
    })
}

/// The unit's exposure, as systemd rates it.
fn exposure() -> Option<Check> {
    let path = find_unit(UNITS[1])?;
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--user", "--no-pager"]).arg(path);
    let answer = analyze.stdin(Stdio::null()).output().ok()?;
    let tenths = exposure_of(&String::from_utf8_lossy(&answer.stdout))?;
    let detail =
        format!("exposure {}.{} of 10 (systemd-analyze security)", tenths / 10, tenths % 10);
    Some(match tenths <= EXPOSURE_TENTHS_MAX {
        true => Check::ok("sandbox", detail),
        false => Check::warn("sandbox", detail, "longhaul install systemd writes the current unit"),
    })
}

/// Parses the exposure in systemd's output, in tenths.
fn exposure_of(words: &str) -> Option<u32> {
    let line = words.lines().find(|line| line.contains("Overall exposure level"))?;
    let figure = line.rsplit_once(": ")?.1.split(' ').next()?;
    let (whole, tenth) = figure.split_once('.')?;
    Some(whole.parse::<u32>().ok()? * 10 + tenth.parse::<u32>().ok()?)
}

fn find_unit(unit: &str) -> Option<PathBuf> {
    let own = BaseDirs::new().map(|folders| folders.config_dir().join("systemd/user"));
    let shared = ["/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"];
    let folders = own.into_iter().chain(shared.map(PathBuf::from));
    folders.map(|folder| folder.join(unit)).find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_before_2025_is_wrong() {
        assert!(date(0).is_some());
        assert!(date(1_763_683_500_000).is_none());
    }

    #[test]
    fn exposure_is_parsed_from_systemd_output() {
        let words = "→ Overall exposure level for longhauld.service: 2.2 OK 🙂";
        assert_eq!(exposure_of(words), Some(22));
        assert_eq!(exposure_of("Unknown option --offline"), None);
    }

    #[test]
    fn folders_are_counted_recursively() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("2025/11/21")).unwrap();
        let mut folders = 0;
        count_folders(folder.path(), &mut folders);
        assert_eq!(folders, 4);
    }
}
