//! The clients of editors: TypeScript and VS Code with npm, Neovim with itself, against a real daemon.
//!
//! Neither belongs to the Rust tool chain, so what is not installed is passed over and said so. npm's packages lie
//! in `clients/node_modules`, which git does not see.

use std::path::Path;
use std::process::Command;

use crate::{place, process};

/// What came of it.
pub(crate) enum Outcome {
    Passed,
    Skipped(&'static str),
}

/// Runs the tests of all that can be run here.
pub(crate) fn check() -> anyhow::Result<Outcome> {
    let has_npm = process::is_present(Command::new("npm").arg("--version"));
    let has_neovim = process::is_present(Command::new("nvim").arg("--version"));
    if !has_npm && !has_neovim {
        return Ok(Outcome::Skipped("neither npm nor nvim is here"));
    }
    let binaries = build_debug()?;
    if has_neovim {
        check_neovim(&binaries)?;
    } else {
        println!("    nvim is not here: its plugin is not tested");
    }
    match has_npm {
        true => check_npm(&binaries),
        false => Ok(Outcome::Skipped("npm is not here; Neovim's plugin passed")),
    }
}

/// The folder of the daemon and the command line, as the tests build them.
fn build_debug() -> anyhow::Result<std::path::PathBuf> {
    let mut build = place::cargo()?;
    build.args(["build", "--locked", "--quiet", "-p", "longhaul-daemon", "-p", "longhaul-cli"]);
    process::check(&mut build)?;
    Ok(place::target()?.join("debug"))
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

fn check_npm(binaries: &Path) -> anyhow::Result<Outcome> {
    let npm = || -> anyhow::Result<Command> {
        let mut npm = Command::new("npm");
        npm.current_dir(place::workspace()?.join("clients")).env("LONGHAUL_BIN", binaries);
        Ok(npm)
    };
    let install = ["ci", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error"];
    if process::check(npm()?.args(install)).is_err() {
        return Ok(Outcome::Skipped("npm's packages could not be installed"));
    }
    process::check(npm()?.args(["test", "--silent"]))?;
    Ok(Outcome::Passed)
}
