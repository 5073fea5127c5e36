//! `cargo xtask agents`: compares what the real Codex sends after a resume or fork with our `history/get`, and drives
//! each of our routes in the versions of Codex and Claude Code that take it.
//!
//! This is the only check of the model-visible history that does not use our own reader: released binaries are
//! installed from npm into a temporary folder and driven through tool calls, compactions, resumes and forks
//! against a mock model. The first request of each run must begin with the items that `history/get` returned
//! for the transcript just before. Nothing of the user's is touched, and only the installation uses the
//! network.

mod app_server;
mod archive;
mod claude;
mod codex;
mod compare;
mod crossing;
mod gateway;
mod hooks;
mod memory;
mod mid_turn;
mod mock;
mod plugin;
mod policy;
mod rescue;
mod scenario;
mod terminal;
mod tools;
mod trust;
mod versions;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;

use crate::process::Deadline;
use crate::{daemon::Daemon, npm, place, process};
use codex::{Codex, Installation};
use compare::Row;
use mock::Mock;
use versions::{Agent, CLAUDE, CLAUDE_PINNED, CODEX, CODEX_PINNED, Route, Routes};

/// Every thread here is scripted, and memory must be made of it all the same.
const CONFIG: &str = "[memory]\ntakes_exec = true\n";

/// Time limit of npm for one version. A slower registry counts as unreachable.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(120);

/// Time limit for driving one version: in CI, and when a person asks for several.
const CI_TIMEOUT: Duration = Duration::from_secs(120);
const TIMEOUT: Duration = Duration::from_secs(240);

/// Which agents to drive.
#[derive(clap::Args)]
pub(crate) struct AgentsArgs {
    /// Versions of Codex, as npm names them, or `latest`
    #[arg(long, num_args = 0.., value_name = "VERSION", default_values_t = CODEX_PINNED.map(str::to_owned))]
    codex: Vec<String>,
    /// Versions of Claude Code, or `latest`
    #[arg(long, num_args = 1.., value_name = "VERSION")]
    claude: Vec<String>,
    /// Only these routes, beside the histories of Codex
    #[arg(long, num_args = 1.., value_name = "ROUTE")]
    only: Vec<Route>,
    /// Compare with an already built daemon
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
    /// Look for versions that are installed already in FOLDER/VERSION, and install missing ones there
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// Result without failures.
pub(crate) enum AgentsOutcome {
    /// With a line about each route that a version does not take.
    Agreed(Vec<String>),
    Skipped(&'static str),
}

pub(crate) fn run(options: &AgentsArgs) -> anyhow::Result<()> {
    match compare_all(options, TIMEOUT)? {
        AgentsOutcome::Agreed(skipped) => {
            println!("\n==> all rows agree");
            skipped.iter().for_each(|route| println!("    not run: {route}"));
        }
        AgentsOutcome::Skipped(why) => println!("\n==> skipped: {why}"),
    }
    Ok(())
}

/// The step of CI: the pinned versions of each agent, each within its time.
pub(crate) fn check() -> anyhow::Result<AgentsOutcome> {
    let codex = CODEX_PINNED.map(str::to_owned).to_vec();
    let claude = CLAUDE_PINNED.map(str::to_owned).to_vec();
    compare_all(&AgentsArgs { codex, claude, only: vec![], daemon: None, keep: None }, CI_TIMEOUT)
}

fn compare_all(options: &AgentsArgs, limit: Duration) -> anyhow::Result<AgentsOutcome> {
    if !npm::is_here() {
        return Ok(AgentsOutcome::Skipped("npm is not here"));
    }
    let longhauld = match &options.daemon {
        Some(path) => path.clone(),
        None => build()?,
    };
    let stage = AgentRun { options, longhauld: &longhauld, limit };
    let (mut differing, mut skipped) = (Vec::new(), Vec::new());
    let (mut codex, mut claude) = (None, None);
    let mut is_claude_missing = false;
    for version in versions::resolved(&CODEX, &options.codex)? {
        let routes = Routes::of(&CODEX, &version, &options.only)?;
        let Some((binary, rows)) = stage.codex(&version, &routes)? else {
            return Ok(AgentsOutcome::Skipped("Codex could not be installed from npm"));
        };
        differing.extend(failed(&rows, &format!("codex {version}")));
        skipped.extend(routes.skipped());
        codex = routes.has(Route::Archive).then_some(binary);
    }
    for version in versions::resolved(&CLAUDE, &options.claude)? {
        let routes = Routes::of(&CLAUDE, &version, &options.only)?;
        match stage.claude(&version, &routes)? {
            Some((binary, rows)) => {
                differing.extend(failed(&rows, &format!("claude {version}")));
                claude = Some(binary);
            }
            None => is_claude_missing = true,
        }
        skipped.extend(routes.skipped());
    }
    if let (Some(codex), Some(claude)) = (codex, claude) {
        println!("==> from one agent to the other");
        let mut rows = Vec::new();
        tried(&mut rows, "continue", crossing::play(&longhauld, (codex, claude), limit));
        differing.extend(failed(&rows, "both"));
    }
    ensure!(differing.is_empty(), "rows differ: {}", differing.join(", "));
    Ok(match is_claude_missing {
        true => AgentsOutcome::Skipped("Claude Code could not be installed; Codex agrees"),
        false => AgentsOutcome::Agreed(skipped),
    })
}

/// Installs a package below `folder` and returns its program; `None` without a registry, and if npm runs no
/// package scripts, without which Claude Code has no program.
fn installed(agent: &Agent, version: &str, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let deadline = Deadline::after(INSTALL_TIMEOUT);
    Ok(match codex::install(agent, version, &folder.join(version), deadline)? {
        Installation::At(binary) if process::is_present(Command::new(&binary).arg("--version")) => {
            Some(binary)
        }
        Installation::At(binary) => {
            println!("    {} was installed and does not run", binary.display());
            None
        }
        Installation::NoRegistry => None,
    })
}

/// Shows the rows, and names those that do not agree.
fn failed(rows: &[Row], version: &str) -> Vec<String> {
    rows.iter().for_each(|row| println!("    {row}"));
    let differing = rows.iter().filter(|row| !row.agrees);
    differing.map(|row| format!("{version} {}", row.step)).collect()
}

/// The rows of a route; one that broke off is a row, and the others still run.
fn tried(rows: &mut Vec<Row>, route: &'static str, made: anyhow::Result<Vec<Row>>) {
    match made {
        Ok(made) => rows.extend(made),
        Err(error) => rows.push(Row::failed(route, format!("{error:#}"))),
    }
}

/// What every version is driven with.
struct AgentRun<'a> {
    options: &'a AgentsArgs,
    longhauld: &'a Path,
    limit: Duration,
}

impl AgentRun<'_> {
    fn deadline(&self) -> Deadline {
        Deadline::after(self.limit)
    }

    fn binary(&self, agent: &Agent, version: &str) -> anyhow::Result<Option<PathBuf>> {
        println!("==> {} {version}", agent.program);
        let temporary = tempfile::tempdir()?;
        // It is driven until the end of the process.
        let folder = self.options.keep.clone().unwrap_or_else(|| temporary.keep());
        installed(agent, version, &folder)
    }

    /// The histories of Codex, and our routes in it; `None` where it cannot be installed.
    fn codex(&self, version: &str, routes: &Routes) -> anyhow::Result<Option<(PathBuf, Vec<Row>)>> {
        let Some(binary) = self.binary(&CODEX, version)? else { return Ok(None) };
        let mut rows = Vec::new();
        tried(&mut rows, "histories", self.histories(&binary, routes));
        if routes.has(Route::Gateway) {
            tried(&mut rows, "gateway", gateway::play(self.longhauld, &binary, self.limit));
            let made = mid_turn::with_codex(self.longhauld, &binary, self.limit);
            tried(&mut rows, "mid-turn", made);
        }
        if routes.has(Route::Archive) {
            let made = archive::with_codex(self.longhauld, &binary, self.deadline());
            tried(&mut rows, "archive", made);
        }
        if routes.has(Route::AppServer) {
            tried(&mut rows, "app server", app_server::play(self.longhauld, &binary, self.limit));
        }
        if routes.has(Route::Rescue) {
            tried(&mut rows, "rescue", rescue::play(self.longhauld, &binary, self.deadline()));
        }
        Ok(Some((binary, rows)))
    }

    fn histories(&self, binary: &Path, routes: &Routes) -> anyhow::Result<Vec<Row>> {
        let mock = Mock::start()?;
        let codex = Codex::new(binary.to_owned(), mock.address(), self.deadline())?;
        let nobody = Path::new("/nonexistent");
        let daemon = Daemon::start_with(self.longhauld, &codex.home(), nobody, CONFIG)?;
        let mut rows = scenario::play(&codex, &mock, &daemon)?;
        if routes.has(Route::Hooks) {
            let longhaul = self.longhauld.with_file_name("longhaul");
            tried(&mut rows, "hooks", hooks::play(&longhaul, &codex, &mock, &daemon));
        }
        daemon.stop()?;
        Ok(rows)
    }

    /// Our routes in Claude Code; `None` where it cannot be installed.
    fn claude(
        &self,
        version: &str,
        routes: &Routes,
    ) -> anyhow::Result<Option<(PathBuf, Vec<Row>)>> {
        let Some(binary) = self.binary(&CLAUDE, version)? else { return Ok(None) };
        let (longhauld, mut rows) = (self.longhauld, Vec::new());
        let longhaul = longhauld.with_file_name("longhaul");
        let staged = || claude::on_stage(longhauld, binary.clone(), self.deadline(), CONFIG);
        if routes.has(Route::Plugin) {
            let (claude, mock, daemon) = staged()?;
            tried(&mut rows, "plugin", plugin::play(&longhaul, &claude, &mock, daemon));
            let made = policy::play(longhauld, binary.clone(), self.deadline());
            tried(&mut rows, "policy", made);
            let made = mid_turn::with_claude(longhauld, binary.clone(), self.deadline());
            tried(&mut rows, "mid-turn", made);
            let made = plugin::from_marketplace(longhauld, binary.clone(), self.deadline());
            tried(&mut rows, "marketplace", made);
        } else if routes.has(Route::Hooks) {
            let (claude, mock, daemon) = staged()?;
            tried(&mut rows, "hooks", claude::play(&longhaul, &claude, &mock, &daemon));
            daemon.stop()?;
        }
        if routes.has(Route::Archive) {
            let made = archive::with_claude(longhauld, binary.clone(), self.deadline());
            tried(&mut rows, "archive", made);
        }
        Ok(Some((binary, rows)))
    }
}

fn build() -> anyhow::Result<PathBuf> {
    let mut build = place::cargo()?;
    build.args([
        "build",
        "--locked",
        "-p",
        "longhaul-daemon",
        "-p",
        "longhaul-curator",
        "-p",
        "longhaul-cli",
        "-p",
        "longhaul-mcp",
        "-p",
        "longhaul-gateway",
    ]);
    process::check(&mut build)?;
    Ok(place::target()?.join("debug/longhauld"))
}
