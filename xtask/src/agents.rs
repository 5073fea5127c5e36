//! `cargo xtask agents`: compares what the real Codex sends after a resume or fork with our `history/get`.
//!
//! Then checks our hooks and our MCP server in the same Codex (`hooks`), and that a deleted thread comes back (`archive`).
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
mod gateway;
mod hooks;
mod memory;
mod mock;
mod plugin;
mod policy;
mod scenario;
mod terminal;
mod tools;
mod trust;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;

use crate::process::Deadline;
use crate::{daemon::Daemon, npm, place, process};
use codex::{Codex, Installation};
use compare::Row;
use mock::Mock;

/// The version that CI runs.
const VERSION_DEFAULT: &str = "0.169.0";
/// One that loads no plugins like ours, and one that does.
const CLAUDE_VERSIONS_DEFAULT: [&str; 2] = ["2.1.197", "2.1.330"];
/// The last of 2.1 that goes by the classic hooks alone; `longhaul install claude` has the same.
const CLAUDE_CLASSIC_PATCH_MAX: u32 = 289;

/// Package and program of an agent.
const CODEX: (&str, &str) = ("@openai/codex", "codex");
const CLAUDE: (&str, &str) = ("@anthropic-ai/claude-code", "claude");

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
    /// Versions of Codex, as npm names them
    #[arg(long, num_args = 1.., value_name = "VERSION", default_values_t = [VERSION_DEFAULT.to_owned()])]
    codex: Vec<String>,
    /// Versions of Claude Code, for our hooks and our MCP server in it, or our plugin
    #[arg(long, num_args = 1.., value_name = "VERSION")]
    claude: Vec<String>,
    /// Compare with an already built daemon
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
    /// Look for versions that are installed already in FOLDER/VERSION, and install missing ones there
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// Result without failures.
pub(crate) enum AgentsOutcome {
    Agreed,
    Skipped(&'static str),
}

pub(crate) fn run(options: &AgentsArgs) -> anyhow::Result<()> {
    match compare_all(options, TIMEOUT)? {
        AgentsOutcome::Agreed => println!("\n==> histories agree"),
        AgentsOutcome::Skipped(why) => println!("\n==> skipped: {why}"),
    }
    Ok(())
}

/// The step of CI: one version of each agent, within its time.
pub(crate) fn check() -> anyhow::Result<AgentsOutcome> {
    let codex = vec![VERSION_DEFAULT.to_owned()];
    let claude = CLAUDE_VERSIONS_DEFAULT.map(str::to_owned).to_vec();
    compare_all(&AgentsArgs { codex, claude, daemon: None, keep: None }, CI_TIMEOUT)
}

fn compare_all(options: &AgentsArgs, limit: Duration) -> anyhow::Result<AgentsOutcome> {
    if !npm::is_here() {
        return Ok(AgentsOutcome::Skipped("npm is not here"));
    }
    let longhauld = match &options.daemon {
        Some(path) => path.clone(),
        None => build()?,
    };
    let mut differing = Vec::new();
    let mut is_claude_missing = false;
    for version in &options.codex {
        println!("==> codex {version}");
        let temporary = tempfile::tempdir()?;
        let folder = options.keep.as_ref().map_or(temporary.path(), PathBuf::as_path);
        let Some(binary) = installed(CODEX, version, folder)? else {
            return Ok(AgentsOutcome::Skipped("Codex could not be installed from npm"));
        };
        let mock = Mock::start()?;
        let codex = Codex::new(binary.clone(), mock.address(), Deadline::after(limit))?;
        let nobody = Path::new("/nonexistent");
        let daemon = Daemon::start_with(&longhauld, &codex.home(), nobody, CONFIG)?;
        let mut rows = scenario::play(&codex, &mock, &daemon)?;
        if version == VERSION_DEFAULT {
            let longhaul = longhauld.with_file_name("longhaul");
            rows.extend(hooks::play(&longhaul, &codex, &mock, &daemon)?);
        }
        daemon.stop()?;
        if version == VERSION_DEFAULT {
            rows.extend(gateway::play(&longhauld, &binary, limit)?);
            rows.extend(archive::with_codex(&longhauld, &binary, Deadline::after(limit))?);
            rows.extend(app_server::play(&longhauld, &binary, limit)?);
        }
        differing.extend(failed(&rows, version));
    }
    for version in &options.claude {
        match claude_rows(version, options, &longhauld, limit)? {
            Some(rows) => differing.extend(failed(&rows, version)),
            None => is_claude_missing = true,
        }
    }
    ensure!(differing.is_empty(), "histories differ: {}", differing.join(", "));
    Ok(match is_claude_missing {
        true => AgentsOutcome::Skipped("Claude Code could not be installed; Codex agrees"),
        false => AgentsOutcome::Agreed,
    })
}

/// Installs a package below `folder` and returns its program; `None` without a registry, and if npm runs no
/// package scripts, without which Claude Code has no program.
fn installed(agent: (&str, &str), version: &str, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
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

/// Whether a version of Claude Code loads our plugin.
fn has_plugins(version: &str) -> bool {
    let patch = version.strip_prefix("2.1.").and_then(|patch| patch.parse::<u32>().ok());
    patch.is_none_or(|patch| patch > CLAUDE_CLASSIC_PATCH_MAX)
}

/// Our hooks and our MCP server in Claude Code, or our plugin; `None` where it cannot be installed.
fn claude_rows(
    version: &str,
    options: &AgentsArgs,
    longhauld: &Path,
    limit: Duration,
) -> anyhow::Result<Option<Vec<Row>>> {
    println!("==> claude {version}");
    let temporary = tempfile::tempdir()?;
    let folder = options.keep.as_ref().map_or(temporary.path(), PathBuf::as_path);
    let Some(binary) = installed(CLAUDE, version, folder)? else { return Ok(None) };
    let (claude, mock, daemon) =
        claude::on_stage(longhauld, binary.clone(), Deadline::after(limit), CONFIG)?;
    let longhaul = longhauld.with_file_name("longhaul");
    let archived = |binary| archive::with_claude(longhauld, binary, Deadline::after(limit));
    if has_plugins(version) {
        let mut rows = plugin::play(&longhaul, &claude, &mock, daemon)?;
        rows.extend(policy::play(longhauld, binary.clone(), Deadline::after(limit))?);
        rows.extend(plugin::from_marketplace(longhauld, binary.clone(), Deadline::after(limit))?);
        rows.extend(archived(binary)?);
        return Ok(Some(rows));
    }
    let mut rows = claude::play(&longhaul, &claude, &mock, &daemon)?;
    daemon.stop()?;
    rows.extend(archived(binary)?);
    Ok(Some(rows))
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
