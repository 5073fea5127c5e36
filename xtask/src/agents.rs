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
mod stage;
mod terminal;
mod tools;
mod trust;
mod versions;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;

use crate::process::Deadline;
use crate::suite::StepResult;
use crate::{npm, place, process};
use claude::Claude;
use codex::Codex;
use compare::Row;
use gateway::{Form, in_both_forms};
use stage::{Stage, TestedAgent};
use versions::{Agent, CLAUDE, CLAUDE_PINNED, CODEX, CODEX_PINNED, Route, Routes};

/// All threads here are scripted; memory must include them.
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

pub(crate) fn run(options: &AgentsArgs) -> anyhow::Result<()> {
    match compare_all(options, TIMEOUT)? {
        StepResult::Passed => println!("\n==> all rows agree"),
        StepResult::Skipped(why) => println!("\n==> skipped: {why}"),
    }
    Ok(())
}

/// The step of CI: the pinned versions of each agent, each within its time.
pub(crate) fn check() -> anyhow::Result<StepResult> {
    let codex = CODEX_PINNED.map(str::to_owned).to_vec();
    let claude = CLAUDE_PINNED.map(str::to_owned).to_vec();
    compare_all(&AgentsArgs { codex, claude, only: vec![], daemon: None, keep: None }, CI_TIMEOUT)
}

fn compare_all(options: &AgentsArgs, limit: Duration) -> anyhow::Result<StepResult> {
    if !npm::is_installed() {
        return Ok(StepResult::Skipped("npm is not installed"));
    }
    let longhauld = match &options.daemon {
        Some(path) => path.clone(),
        None => place::build_debug()?.join("longhauld"),
    };
    let run = AgentRun { options, longhauld: &longhauld, limit };
    // Most of the time an agent waits for a mock or a timer.
    let (codex, claude) = std::thread::scope(|scope| {
        let codex = scope.spawn(|| run.all(&CODEX, &options.codex, &AgentRun::codex));
        let claude = run.all(&CLAUDE, &options.claude, &AgentRun::claude);
        (codex.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), claude)
    });
    let (codex, claude) = (codex?, claude?);
    let mut differing = [codex.differing, claude.differing].concat();
    if let (Some(codex), Some(claude)) = (codex.binary, claude.binary) {
        let mut rows = Vec::new();
        let both = || crossing::play(&longhauld, (&codex, &claude), limit);
        drive(&mut rows, "continue", both);
        differing.extend(print_rows(&rows, "from one agent to another"));
    }
    ensure!(differing.is_empty(), "rows differ: {}", differing.join(", "));
    if codex.is_missing {
        return Ok(StepResult::Skipped("Codex could not be installed from npm"));
    }
    if claude.is_missing {
        return Ok(StepResult::Skipped("Claude Code could not be installed; Codex agrees"));
    }
    let skipped = [codex.skipped, claude.skipped].concat();
    skipped.iter().for_each(|route| println!("    not run: {route}"));
    Ok(StepResult::Passed)
}

/// Installs a package below `folder` and returns its program. `None` if the registry is unreachable, or if npm does not
/// run package scripts, which install the program of Claude Code.
fn install(agent: &Agent, version: &str, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let deadline = Deadline::after(INSTALL_TIMEOUT);
    let installed = codex::install(agent, version, &folder.join(version), deadline)?;
    Ok(installed.filter(|binary| {
        let runs = process::is_present(Command::new(binary).arg("--version"));
        if !runs {
            println!("    {} is installed but does not run", binary.display());
        }
        runs
    }))
}

/// Prints the rows and returns the names of those that differ.
fn print_rows(rows: &[Row], version: &str) -> Vec<String> {
    println!("==> {version}");
    rows.iter().for_each(|row| println!("    {row}"));
    let differing = rows.iter().filter(|row| !row.agrees);
    differing.map(|row| format!("{version} {}", row.step)).collect()
}

/// Adds the rows of a route. Agents wait 150 ms for us, which a loaded machine can miss: a route that differs is
/// driven a second time, and what differed first is printed.
fn drive(rows: &mut Vec<Row>, route: &str, play: impl Fn() -> anyhow::Result<Vec<Row>>) {
    let mut made = tried(route, play());
    if made.iter().any(|row| !row.agrees) {
        println!("    {route}: differs, so it is driven once more");
        made.iter().filter(|row| !row.agrees).for_each(|row| println!("      {row}"));
        made = tried(route, play());
    }
    rows.extend(made);
}

/// The rows of a route. A failure is a row, so that the other routes still run.
fn tried(route: &str, made: anyhow::Result<Vec<Row>>) -> Vec<Row> {
    made.unwrap_or_else(|error| vec![Row::failed(route, format!("{error:#}"))])
}

/// Options for driving a version.
struct AgentRun<'a> {
    options: &'a AgentsArgs,
    longhauld: &'a Path,
    limit: Duration,
}

/// What all versions of an agent gave.
#[derive(Default)]
struct AgentComparison {
    differing: Vec<String>,
    skipped: Vec<String>,
    /// The newest version's program, if it takes part in the routes between agents.
    binary: Option<PathBuf>,
    is_missing: bool,
}

impl AgentRun<'_> {
    /// Drives all versions that can be installed.
    fn all(
        &self,
        agent: &'static Agent,
        requested: &[String],
        play: &impl Fn(&Self, &Path, &Routes) -> anyhow::Result<Vec<Row>>,
    ) -> anyhow::Result<AgentComparison> {
        let mut all = AgentComparison::default();
        for version in versions::resolve(agent, requested)? {
            let routes = Routes::of(agent, &version, &self.options.only)?;
            let Some(binary) = self.binary(agent, &version)? else {
                all.is_missing = true;
                continue;
            };
            let rows = play(self, &binary, &routes)?;
            all.differing.extend(print_rows(&rows, &format!("{} {version}", agent.program)));
            all.skipped.extend(routes.skipped());
            all.binary = routes.has(Route::Archive).then_some(binary);
        }
        Ok(all)
    }

    fn binary(&self, agent: &Agent, version: &str) -> anyhow::Result<Option<PathBuf>> {
        let temporary = tempfile::tempdir()?;
        // Kept until the process ends: later routes use it.
        let folder = self.options.keep.clone().unwrap_or_else(|| temporary.keep());
        install(agent, version, &folder)
    }

    fn stage<A: TestedAgent>(&self, binary: &Path, config: &str) -> anyhow::Result<Stage<A>> {
        Stage::set_up(self.longhauld, binary, Deadline::after(self.limit), config)
    }

    /// Compares the histories of Codex and drives our routes in it.
    fn codex(&self, binary: &Path, routes: &Routes) -> anyhow::Result<Vec<Row>> {
        type InForm = fn(Stage<Codex>, Form) -> anyhow::Result<Vec<Row>>;
        let stage = |config| self.stage::<Codex>(binary, config);
        let both = |config, play: InForm| in_both_forms(|form| play(stage(config)?, form));
        let mut rows = Vec::new();
        drive(&mut rows, "histories", || histories(stage(CONFIG)?, routes));
        if routes.has(Route::Gateway) {
            drive(&mut rows, "gateway", || both(CONFIG, gateway::play));
            drive(&mut rows, "mid-turn", || both(mid_turn::CONFIG, mid_turn::with_codex));
        }
        if routes.has(Route::Archive) {
            drive(&mut rows, "archive", || archive::with_codex(stage("")?));
        }
        if routes.has(Route::AppServer) {
            drive(&mut rows, "app server", || both(app_server::CONFIG, app_server::play));
        }
        if routes.has(Route::Rescue) {
            drive(&mut rows, "rescue", || rescue::play(stage("")?));
        }
        Ok(rows)
    }

    /// Drives our routes in Claude Code.
    fn claude(&self, binary: &Path, routes: &Routes) -> anyhow::Result<Vec<Row>> {
        let stage = |config| self.stage::<Claude>(binary, config);
        let mut rows = Vec::new();
        if routes.has(Route::Plugin) {
            drive(&mut rows, "plugin", || plugin::play(stage(CONFIG)?));
            drive(&mut rows, "policy", || policy::play(stage(policy::CONFIG)?));
            drive(&mut rows, "mid-turn", || mid_turn::with_claude(stage(mid_turn::CONFIG)?));
            drive(&mut rows, "marketplace", || plugin::from_marketplace(stage("")?));
        } else if routes.has(Route::Hooks) {
            drive(&mut rows, "hooks", || claude::play(stage(CONFIG)?));
        }
        if routes.has(Route::Archive) {
            drive(&mut rows, "archive", || archive::with_claude(stage("")?));
        }
        Ok(rows)
    }
}

fn histories(stage: Stage<Codex>, routes: &Routes) -> anyhow::Result<Vec<Row>> {
    let mut rows = scenario::play(&stage)?;
    if routes.has(Route::Hooks) {
        rows.extend(tried("hooks", hooks::play(&stage)));
    }
    stage.daemon.stop()?;
    Ok(rows)
}
