//! `cargo xtask agents`: what the real Codex sends after a resume or a fork, against our `history/get`.
//!
//! Then our hooks and our MCP server in the same Codex (`hooks`).
//!
//! The one check of the model-visible history that shares no reading of ours with it: released binaries
//! are installed from npm into a folder that is gone afterwards, driven through tool calls, compactions,
//! resumes and forks against a model made up here, and the first request each run sends must begin with
//! the items that `history/get` gave for the transcript just before. Nothing of the user's is touched,
//! and nothing is sent beyond this machine but the installation.

mod codex;
mod compare;
mod hooks;
mod mock;
mod scenario;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;

use crate::stopwatch::Stopwatch;
use crate::{daemon::Daemon, place, process};
use codex::{Codex, Installed};
use mock::Mock;

/// The version that CI runs.
const VERSION_DEFAULT: &str = "0.169.0";

/// How long one version may take in CI, installation included.
const CI_TIMEOUT: Duration = Duration::from_secs(120);

/// How long one version may take when a person asks for several.
const TIMEOUT: Duration = Duration::from_secs(240);

/// Which agents to drive.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Versions of Codex, as npm names them
    #[arg(long, num_args = 1.., value_name = "VERSION", default_values_t = [VERSION_DEFAULT.to_owned()])]
    codex: Vec<String>,
    /// Compare with an already built daemon
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
    /// Look for versions that are installed already in FOLDER/VERSION, and install missing ones there
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// How it went, where nothing failed.
pub(crate) enum Outcome {
    Agreed,
    Skipped(&'static str),
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    match compare_all(options, TIMEOUT)? {
        Outcome::Agreed => println!("\n==> histories agree"),
        Outcome::Skipped(why) => println!("\n==> skipped: {why}"),
    }
    Ok(())
}

/// The step of CI: one version, within its time.
pub(crate) fn check() -> anyhow::Result<Outcome> {
    let codex = vec![VERSION_DEFAULT.to_owned()];
    compare_all(&Options { codex, daemon: None, keep: None }, CI_TIMEOUT)
}

fn compare_all(options: &Options, limit: Duration) -> anyhow::Result<Outcome> {
    if !codex::has_npm() {
        return Ok(Outcome::Skipped("npm is not here"));
    }
    let longhauld = match &options.daemon {
        Some(path) => path.clone(),
        None => build()?,
    };
    let mut differing = Vec::new();
    for version in &options.codex {
        let deadline = Deadline::after(limit);
        println!("==> codex {version}");
        let temporary = tempfile::tempdir()?;
        let folder = options.keep.as_ref().map_or(temporary.path(), PathBuf::as_path);
        let binary = match codex::install(version, &folder.join(version), deadline)? {
            Installed::At(binary) => binary,
            Installed::NoRegistry => {
                return Ok(Outcome::Skipped("the npm registry is not reached"));
            }
        };
        let mock = Mock::start()?;
        let codex = Codex::new(binary, mock.address(), deadline)?;
        let daemon = Daemon::start(&longhauld, &codex.home())?;
        let mut rows = scenario::play(&codex, &mock, &daemon)?;
        if version == VERSION_DEFAULT {
            let longhaul = longhauld.with_file_name("longhaul");
            rows.extend(hooks::play(&longhaul, &codex, &mock, &daemon)?);
        }
        for row in rows {
            println!("    {row}");
            if !row.agrees {
                differing.push(format!("{version} {}", row.step));
            }
        }
        daemon.stop()?;
    }
    ensure!(differing.is_empty(), "histories differ: {}", differing.join(", "));
    Ok(Outcome::Agreed)
}

fn build() -> anyhow::Result<PathBuf> {
    let mut build = place::cargo()?;
    build.args([
        "build",
        "--locked",
        "-p",
        "longhaul-daemon",
        "-p",
        "longhaul-cli",
        "-p",
        "longhaul-mcp",
    ]);
    process::check(&mut build)?;
    Ok(place::target()?.join("debug/longhauld"))
}

/// When to give up.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    since: Stopwatch,
    limit: Duration,
}

impl Deadline {
    fn after(limit: Duration) -> Self {
        Self { since: Stopwatch::start(), limit }
    }

    fn is_over(&self) -> bool {
        self.since.elapsed() > self.limit
    }
}
