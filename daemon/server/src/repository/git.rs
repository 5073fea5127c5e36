//! Runs git so that a repository cannot make it do anything but answer.
//!
//! What a hostile repository may try, and what stands against it:
//!
//! | it names | by | here |
//! |---|---|---|
//! | a program that watches files | `core.fsmonitor` | set to false |
//! | programs at events | `core.hooksPath`, `.git/hooks` | an empty place, and nothing is written |
//! | programs that files pass through | `filter.*.clean`, `.process` | each one found is set to nothing |
//! | a program that checks signatures | `log.showSignature`, `gpg.program` | not asked for |
//! | a repository inside of a checkout | a bare one | `safe.bareRepository` |
//! | a fetch, by any transport or program | a partial clone, `protocol.*`, `core.sshCommand` | no protocol is allowed |
//! | submodules with settings of their own | `.gitmodules` | not entered |
//! | a pager, an editor, a prompt | `core.pager` and the like | none, and no terminal |
//!
//! Folders of other users git refuses by itself (`safe.directory`). The folder is given by `-C`: a
//! network disk that does not answer then holds up git, which is killed, and not the daemon.

use std::ffi::OsString;
use std::process::Stdio;

use longhaul_core::policy::repository::Repository;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use super::graphite;

/// Bytes of an answer of git's that are read; what is over is cut off.
const ANSWER_BYTES: u64 = 256 * 1_024;

/// Filters that are switched off; a repository with more is not looked at for changes.
const FILTERS_MAX: usize = 64;

/// Entries of the reflog that are read.
const REFLOG_ENTRIES: &str = "--max-count=60";

/// Settings for every run. An override by the environment counts before every file.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("safe.bareRepository", "explicit"),
    ("protocol.allow", "never"),
    ("log.showSignature", "false"),
    ("submodule.recurse", "false"),
];

/// Variables of ours that git may see: where it is found, and where the user's own settings are.
const PASSED: [&str; 3] = ["PATH", "HOME", "XDG_CONFIG_HOME"];

/// What git printed.
pub(super) struct Printed {
    pub(super) bytes: Vec<u8>,
    is_cut: bool,
}

/// Looks at the repository of a folder; `None` when there is none.
pub(super) async fn look(folder: &str, graphite: bool, now_ms: i64) -> Option<Repository> {
    let listed =
        ["config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"];
    // Without a match git ends with 1, as it does where nothing is wrong.
    let filters = run(folder, &listed, &[]).await.map(|listed| off(&listed.bytes));
    let mut seen = Repository { seen_ms: now_ms, ..Repository::default() };
    let status = [
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=all",
    ];
    let off = match filters {
        Some(Some(off)) => off,
        Some(None) => return None,
        None => Vec::new(),
    };
    let status = run(folder, &status, &off).await?;
    seen.read_status(&status.bytes, status.is_cut);
    let reflog = [
        "log",
        "--walk-reflogs",
        "-z",
        REFLOG_ENTRIES,
        "--date=unix",
        "--no-decorate",
        "--format=%H%x1f%gd%x1f%gs",
        "HEAD",
        "--",
    ];
    if let Some(reflog) = run(folder, &reflog, &[]).await {
        seen.read_reflog(&reflog.bytes);
    }
    if graphite {
        seen.stack = graphite::look(folder, seen.branch.as_deref()).await;
    }
    Some(seen)
}

/// Settings that switch off the filters listed; `None` when there are too many.
fn off(listed: &[u8]) -> Option<Vec<(String, String)>> {
    let keys: Vec<&str> =
        listed.split(|byte| *byte == 0).filter_map(|key| std::str::from_utf8(key).ok()).collect();
    if keys.len() > 2 * FILTERS_MAX {
        return None;
    }
    let mut off = Vec::new();
    for key in keys {
        let Some((filter, _)) = key.rsplit_once('.') else { continue };
        off.push((key.to_owned(), String::new()));
        off.push((format!("{filter}.required"), "false".to_owned()));
    }
    Some(off)
}

/// Runs git in `folder`; `None` when it ends with a refusal, or there is no git.
pub(super) async fn run(
    folder: &str,
    arguments: &[&str],
    more: &[(String, String)],
) -> Option<Printed> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).arg("--no-pager").args(arguments);
    surround(&mut command, more);
    let mut child = Running(command.spawn().ok()?);
    let mut bytes = Vec::new();
    let output = child.0.stdout.take()?;
    output.take(ANSWER_BYTES + 1).read_to_end(&mut bytes).await.ok()?;
    let is_cut = bytes.len() as u64 > ANSWER_BYTES;
    if is_cut {
        bytes.pop();
        return Some(Printed { bytes, is_cut });
    }
    let status = child.0.wait().await.ok()?;
    status.success().then_some(Printed { bytes, is_cut })
}

fn surround(command: &mut Command, more: &[(String, String)]) {
    let passed = PASSED.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let passed: Vec<(&str, OsString)> = passed.collect();
    command.env_clear().envs(passed).envs([
        ("LC_ALL", "C"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_EDITOR", ":"),
    ]);
    let more = more.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut count = 0;
    for (key, value) in SETTINGS.iter().copied().chain(more) {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.kill_on_drop(true).process_group(0);
}

/// A run of git; whatever it has started ends with it when nobody waits for it any more.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Without an id it has ended and was waited for: its number may be another's.
        let Some(id) = self.0.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) else {
            return;
        };
        if let Err(error) = kill_process_group(id, Signal::KILL) {
            tracing::debug!(%error, "git could not be ended");
        }
    }
}
