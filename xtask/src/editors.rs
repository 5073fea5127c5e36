//! Tests the editors' clients with a real daemon: TypeScript and VS Code with npm, Neovim headless.
//!
//! Missing tools are reported and skipped. npm's packages are in `clients/node_modules`, which git ignores.

mod code_server;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::suite::StepResult;
use crate::{npm, place, process};

#[derive(clap::Args, Default)]
pub(crate) struct EditorsArgs {
    /// Folder to install code-server in, or with an installed one [default: a temporary folder]
    #[arg(long, value_name = "FOLDER")]
    code_server: Option<PathBuf>,
    /// Save a screenshot of every step to a folder
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
}

pub(crate) fn run(options: &EditorsArgs) -> anyhow::Result<()> {
    match code_server::drive(options)? {
        StepResult::Passed => println!("\n==> the extension works"),
        StepResult::Skipped(why) => println!("\n==> skipped: {why}"),
    }
    Ok(())
}

/// The VS Code test as a step of CI.
pub(crate) fn check_vscode() -> anyhow::Result<StepResult> {
    code_server::drive(&EditorsArgs::default())
}

/// Runs the tests of all clients whose tools are installed.
pub(crate) fn check() -> anyhow::Result<StepResult> {
    let has_npm = npm::is_installed();
    let has_neovim = process::is_present(Command::new("nvim").arg("--version"));
    if !has_npm && !has_neovim {
        return Ok(StepResult::Skipped("neither npm nor nvim is installed"));
    }
    let binaries = place::build_debug()?;
    if has_neovim {
        check_neovim(&binaries)?;
    } else {
        println!("    nvim is not installed: its plugin is not tested");
    }
    match has_npm {
        true => check_npm(&binaries),
        false => Ok(StepResult::Skipped("npm is not installed; Neovim's plugin passed")),
    }
}

fn check_neovim(binaries: &Path) -> anyhow::Result<()> {
    let mut neovim = Command::new("nvim");
    neovim
        .args(["--headless", "-u", "NONE", "-i", "NONE"])
        .args(["-c", "luafile clients/nvim/tests/run.lua"])
        .current_dir(place::workspace()?)
        .stdin(std::process::Stdio::null())
        .env("LONGHAUL_BIN", binaries);
    process::check(&mut neovim)
}

fn check_npm(binaries: &Path) -> anyhow::Result<StepResult> {
    if !install_packages()? {
        return Ok(StepResult::Skipped("npm's packages could not be installed"));
    }
    process::check(npm_in("clients")?.args(["test", "--silent"]).env("LONGHAUL_BIN", binaries))?;
    Ok(StepResult::Passed)
}

/// Installs the packages of `clients`' lock file; returns whether that succeeded.
pub(crate) fn install_packages() -> anyhow::Result<bool> {
    let install = ["ci", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error"];
    Ok(process::check(npm_in("clients")?.args(install)).is_ok())
}

/// npm in a folder of the workspace.
fn npm_in(folder: &str) -> anyhow::Result<Command> {
    let mut npm = Command::new("npm");
    npm.current_dir(place::workspace()?.join(folder));
    Ok(npm)
}
