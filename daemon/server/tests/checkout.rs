//! Repositories for tests, with traps: programs that leave a mark when they are run.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use longhaul_core::policy::repository::Repository;
use longhaul_daemon::clock::Clock;
use longhaul_daemon::config::repository::RepositorySettings;
use longhaul_daemon::repository::Repositories;

use crate::support::PATIENCE;

pub const LONGHAULD: &str = env!("CARGO_BIN_EXE_longhauld");

pub const SETTINGS: RepositorySettings =
    RepositorySettings { observe: true, graphite: true, timeout: Duration::from_secs(20) };

/// Inspects the repository of a folder.
pub async fn seen(folder: &Path) -> Option<Repository> {
    let repositories = Repositories::new(Clock::manual(5), LONGHAULD.into());
    repositories.inspect(folder.to_str().unwrap(), SETTINGS, PATIENCE).await
}

/// Runs git in `folder` as a person would, without the settings of this machine.
pub fn git(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
    command.args(["-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"]);
    command.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap()
}

/// Runs git in the sandbox, without the daemon's settings.
pub fn confined(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(LONGHAULD);
    command.arg("git").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
    command.args(["-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"]);
    command.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap()
}

pub struct Checkout {
    pub at: PathBuf,
    _home: tempfile::TempDir,
}

impl Checkout {
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().canonicalize().unwrap().join("work");
        fs::create_dir(&at).unwrap();
        let checkout = Self { at, _home: home };
        checkout.git(&["init", "-q", "-b", "main"]);
        checkout
    }

    pub fn path(&self) -> &str {
        self.at.to_str().unwrap()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.at.join(name), bytes).unwrap();
    }

    pub fn git(&self, arguments: &[&str]) {
        let output = git(&self.at, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    pub fn commit(&self, subject: &str) {
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }

    pub async fn seen(&self) -> Repository {
        seen(&self.at).await.unwrap()
    }

    /// A program in `.git` that leaves a mark when it is run.
    pub fn trap(&self, name: &str) -> String {
        let path = self.at.join(".git").join(name);
        let mark = self.at.join(".git").join(format!("ran-{}", name.replace('/', "-")));
        fs::write(&path, format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The traps that were triggered.
    pub fn sprung(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at.join(".git")).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("ran-")).collect()
    }

    /// Checks the traps themselves: git triggers one when nothing prevents it.
    pub fn assert_sprung_by_plain_git(&self) {
        let plain = git(&self.at, &["status"]);
        assert!(!self.sprung().is_empty(), "{plain:?}");
    }

    /// A checkout with a file `a.txt` that git must read through the filter of these attributes.
    pub fn filtered(attributes: &[u8]) -> Self {
        let work = Self::new();
        work.write("a.txt", "1");
        work.write(".gitattributes", attributes);
        work.git(&["add", "."]);
        work.commit("first");
        // The same size and another time, so that git must read the file through the filter.
        work.write("a.txt", "2");
        work
    }

    /// Appends bytes to its configuration.
    pub fn configure(&self, bytes: &[u8]) {
        let path = self.at.join(".git/config");
        let config = [&fs::read(&path).unwrap(), bytes].concat();
        fs::write(path, config).unwrap();
    }

    /// A checkout with a filter that can only be disabled by its exact bytes.
    pub fn with_nameless_filter() -> Self {
        let work = Self::filtered(b"*.txt filter=\xff\n");
        let trap = work.trap("clean");
        work.configure(&[b"[filter \"\xff\"]\n\tclean = ", trap.as_bytes(), b"\n"].concat());
        work
    }
}
