//! Inspecting a repository: the daemon's three runs of git, with and without its sandbox.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::report::{Report, Times};
use crate::stopwatch::Stopwatch;

const WARM_UP: usize = 5;
const FILES: usize = 2_000;
const COMMITS: usize = 60;
/// The daemon's git commands: the second runs after the first, the third in parallel to both.
const KEYS: &[&str] = &["config", "--null", "--name-only", "--list"];
const STATUS: &[&str] = &["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"];
const REFLOG: &[&str] = &["log", "--walk-reflogs", "-z", "--max-count=60", "--format=%H%x1f%gs"];

pub(super) fn measure(longhauld: &Path, rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let work = home.path().join("work");
    make(&work)?;
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&work).args(arguments);
        command
    };
    let confined = |arguments: &[&str]| {
        let mut command = Command::new(longhauld);
        command.arg("git").arg(&work).args(arguments);
        command
    };
    let printed = (git(STATUS).output()?, confined(STATUS).output()?);
    ensure!(
        printed.0.stdout == printed.1.stdout,
        "git prints something else in the sandbox: {printed:?}"
    );
    let [bare_looks, looks, bare_runs, runs] = Times::in_turn((WARM_UP, rounds), |_| {
        Ok([look(&git)?, look(&confined)?, run(&git)?, run(&confined)?])
    })?;
    let ratio = looks.percentile_us(50) / bare_looks.percentile_us(50);
    report.add("one run of git", bare_runs.show_worst(), "");
    report.add("one run of git in its sandbox", runs.show_worst(), "");
    report.add("a look at a repository by bare git", bare_looks.show_worst(), "");
    report.add("a look at a repository in the sandbox", looks.show_worst(), "");
    report.add("the sandbox against bare git", format!("{ratio:.2} x"), "");
    Ok(())
}

/// A repository with files, commits and some changes.
fn make(work: &Path) -> anyhow::Result<()> {
    std::fs::create_dir(work)?;
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(work).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
        let status = command.args(["-c", "commit.gpgSign=false"]).args(arguments).status();
        ensure!(status.context("no git to measure with")?.success(), "git {arguments:?}");
        Ok(())
    };
    git(&["init", "--quiet", "--initial-branch=main"])?;
    for file in 0..FILES {
        let folder = work.join(format!("crate{}", file % 40));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("file{file}.rs")), format!("// {file}\n"))?;
    }
    git(&["add", "."])?;
    for commit in 0..COMMITS {
        git(&["commit", "--quiet", "--allow-empty", "--message", &format!("change {commit}")])?;
    }
    std::fs::write(work.join("crate0/file0.rs"), "// changed\n")?;
    Ok(std::fs::write(work.join("new.rs"), "// new\n")?)
}

fn look(git: &impl Fn(&[&str]) -> Command) -> anyhow::Result<Duration> {
    let watch = Stopwatch::start();
    let reflog = quiet(git(REFLOG)).spawn()?;
    for arguments in [KEYS, STATUS] {
        ensure!(quiet(git(arguments)).output()?.status.success(), "git {arguments:?}");
    }
    ensure!(reflog.wait_with_output()?.status.success(), "git {REFLOG:?}");
    Ok(watch.elapsed())
}

fn run(git: &impl Fn(&[&str]) -> Command) -> anyhow::Result<Duration> {
    let watch = Stopwatch::start();
    ensure!(quiet(git(STATUS)).output()?.status.success(), "git {STATUS:?}");
    Ok(watch.elapsed())
}

fn quiet(mut command: Command) -> Command {
    command.env("GIT_OPTIONAL_LOCKS", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}
