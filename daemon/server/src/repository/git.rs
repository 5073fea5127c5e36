//! Runs git so that a repository cannot make it do anything but answer.
//!
//! A repository may be hostile: an unpacked archive brings its own configuration. Two barriers protect against what it
//! names, and each suffices alone. The first is the sandbox ([`crate::sandbox::git`]), which does not depend on git's
//! settings: git starts no process, writes no file, opens no socket, and reads only the repository, its own libraries
//! and the user's settings. If the machine cannot provide it, nothing is inspected. The second are the settings below,
//! with which git does not even try.
//!
//! | the repository names | by | the sandbox | the settings |
//! |---|---|---|---|
//! | a program that watches files | `core.fsmonitor` | no process | set to false |
//! | programs at events | `core.hooksPath`, `.git/hooks` | no process | `/dev/null` |
//! | programs that files pass through | `filter.*.clean`, `.process` | no process | each one is set to nothing, by its exact bytes; an incomplete list ends the inspection |
//! | a program that checks signatures | `log.showSignature`, `gpg.program` | no process | not requested |
//! | its own git | a `PATH` that leads into it | not run | |
//! | a repository inside of a checkout | a bare one | | `safe.bareRepository` |
//! | a fetch, by any transport or program | a partial clone, `protocol.*`, `core.sshCommand` | no socket, no process | no protocol is allowed |
//! | submodules with their own settings | `.gitmodules` | no process | not entered |
//! | a pager, an editor, a prompt | `core.pager` and the like | no process | none, and no terminal |
//! | files of others | `.git` as a file or link, `commondir`, `include.path`, alternates, links | not opened | |
//! | a working tree elsewhere | `core.worktree` | not opened | overridden |
//! | too much work | huge files, pipes | time, memory, files | bounded in time, and killed |
//!
//! git itself rejects folders of other users (`safe.directory`). The child resolves the folder, so a network disk that
//! does not respond blocks the child, which is killed, and not the daemon.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use longhaul_core::policy::repository::Repository;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use super::graphite;
use crate::sandbox::git::{ROLE, UNAVAILABLE};

/// Maximum bytes of git's output; the rest is cut off.
const ANSWER_BYTES: u64 = 256 * 1_024;

/// Maximum filters to disable; a repository with more is not inspected.
const FILTERS_MAX: usize = 64;

/// Settings of every run. The environment overrides all files.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("safe.bareRepository", "explicit"),
    ("protocol.allow", "never"),
    ("log.showSignature", "false"),
    ("submodule.recurse", "false"),
];

/// Environment variables to pass to git: where it is found, and where the user's settings are.
const PASSED: [&str; 3] = ["PATH", "HOME", "XDG_CONFIG_HOME"];

/// Lists all keys that are set anywhere.
const KEYS: &[&str] = &["config", "--null", "--name-only", "--list"];

const STATUS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=normal",
    "--ignore-submodules=all",
];

const REFLOG: &[&str] = &[
    "log",
    "--walk-reflogs",
    "-z",
    "--max-count=60",
    "--date=unix",
    "--no-decorate",
    "--format=%H%x1f%gd%x1f%gs",
    "HEAD",
    "--",
];

pub(super) struct GitOutput {
    pub(super) bytes: Vec<u8>,
    is_cut: bool,
}

/// A setting of one run, by its exact bytes.
type Override = (OsString, &'static str);

/// The machine's git, confined.
#[derive(Debug)]
pub(super) struct Git {
    /// `longhauld`, which becomes git.
    program: PathBuf,
    /// Why git cannot run on this machine.
    unavailable: Mutex<Option<String>>,
}

impl Git {
    pub(super) fn new(program: PathBuf) -> Self {
        Self { program, unavailable: Mutex::default() }
    }

    /// Why repositories cannot be inspected.
    pub(super) fn unavailable(&self) -> Option<String> {
        self.unavailable.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Inspects the repository of a folder; `None` if there is none.
    pub(super) async fn inspect(
        &self,
        folder: &str,
        graphite: bool,
        now_ms: i64,
    ) -> Option<Repository> {
        if !cfg!(target_os = "linux") {
            self.set_unavailable(Some("only Linux has Landlock and seccomp"));
            return None;
        }
        let mut seen = Repository { seen_ms: now_ms, ..Repository::default() };
        let stack =
            async { if graphite { graphite::GraphiteData::of(self, folder).await } else { None } };
        // Run them in parallel; process startup dominates.
        let (status, reflog, stack) =
            tokio::join!(self.status(folder), self.run(folder, REFLOG, &[]), stack);
        let status = status?;
        seen.read_status(&status.bytes, status.is_cut);
        if let Some(reflog) = reflog {
            seen.read_reflog(&reflog.bytes);
        }
        if let Some(stack) = stack {
            seen.stack = stack.at(self, folder, seen.branch.as_deref()).await;
        }
        Some(seen)
    }

    async fn status(&self, folder: &str) -> Option<GitOutput> {
        let keys = self.run(folder, KEYS, &[]).await.filter(|keys| !keys.is_cut)?;
        self.run(folder, STATUS, &without_filters(&keys.bytes)?).await
    }

    /// Runs git in `folder`; `None` if it fails or does not exist.
    pub(super) async fn run(
        &self,
        folder: &str,
        arguments: &[&str],
        more: &[Override],
    ) -> Option<GitOutput> {
        let mut command = Command::new(&self.program);
        command.arg(ROLE).arg(folder).args(arguments);
        surround(&mut command, more);
        let started = command.spawn();
        let started = started.inspect_err(|error| self.set_unavailable(Some(&error.to_string())));
        let mut child = Running(started.ok()?);
        let mut bytes = Vec::new();
        let output = child.0.stdout.take()?;
        output.take(ANSWER_BYTES + 1).read_to_end(&mut bytes).await.ok()?;
        let is_cut = bytes.len() as u64 > ANSWER_BYTES;
        if is_cut {
            bytes.pop();
            return Some(GitOutput { bytes, is_cut });
        }
        let status = child.0.wait().await.ok()?;
        match status.code() == Some(i32::from(UNAVAILABLE)) {
            true => self.set_unavailable(Some(&String::from_utf8_lossy(&bytes))),
            false => self.set_unavailable(None),
        }
        status.success().then_some(GitOutput { bytes, is_cut })
    }

    fn set_unavailable(&self, why: Option<&str>) {
        let mut known = self.unavailable.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_deref() == why {
            return;
        }
        if let Some(why) = why {
            tracing::warn!(why, "git sandbox unavailable: repository signals disabled");
        }
        *known = why.map(str::to_owned);
    }
}

/// Settings that disable every filter among the keys; `None` if there are too many.
fn without_filters(keys: &[u8]) -> Option<Vec<Override>> {
    let mut off = Vec::new();
    for key in keys.split(|byte| *byte == 0).filter(|key| key.starts_with(b"filter.")) {
        let Some(dot) = memchr::memrchr(b'.', key) else { continue };
        let (filter, name) = key.split_at(dot);
        if name == b".clean" || name == b".process" {
            off.push((OsStr::from_bytes(key).to_owned(), ""));
            off.push((OsStr::from_bytes(&[filter, b".required"].concat()).to_owned(), "false"));
        }
    }
    (off.len() <= 4 * FILTERS_MAX).then_some(off)
}

fn surround(command: &mut Command, more: &[Override]) {
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
    let settings = SETTINGS.iter().map(|(key, value)| (OsStr::new(key), *value));
    let more = more.iter().map(|(key, value)| (key.as_os_str(), *value));
    let mut count = 0;
    for (key, value) in settings.chain(more) {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.kill_on_drop(true).process_group(0);
}

/// A run of git. Dropping it kills all its processes.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Without an id it has exited and was waited for, so its number may belong to another process.
        let Some(id) = self.0.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) else {
            return;
        };
        if let Err(error) = kill_process_group(id, Signal::KILL) {
            tracing::debug!(%error, "cannot kill git");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_disabled_by_their_exact_bytes() {
        let keys =
            b"core.bare\0filter.a.b.clean\0filter.\xff.process\0filter.x.smudge\0filter..clean\0";
        let off = without_filters(keys).unwrap();
        let keys: Vec<&[u8]> = off.iter().map(|(key, _)| key.as_bytes()).collect();
        let expected: [&[u8]; 6] = [
            b"filter.a.b.clean",
            b"filter.a.b.required",
            b"filter.\xff.process",
            b"filter.\xff.required",
            b"filter..clean",
            b"filter..required",
        ];
        assert_eq!(keys, expected);
        let many: Vec<u8> = (0..=2 * FILTERS_MAX)
            .flat_map(|n| format!("filter.{n}.clean\0").into_bytes())
            .collect();
        assert_eq!(without_filters(&many), None);
    }
}
