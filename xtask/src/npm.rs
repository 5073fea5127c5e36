//! Programs from npm, if a registry is reachable.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::process::{self, Deadline};

/// npm's error codes without a network.
const NETWORK_ERRORS: [&str; 6] =
    ["ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ECONNRESET", "E40"];

pub(crate) fn is_installed() -> bool {
    process::is_present(Command::new("npm").arg("--version"))
}

/// Installs packages (`NAME@VERSION`) into a folder; without packages, those of its manifest. `false` if the registry is
/// unreachable.
pub(crate) fn install(folder: &Path, wanted: &[&str], deadline: Deadline) -> anyhow::Result<bool> {
    fs::create_dir_all(folder)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefix"])
        .arg(folder)
        .args(wanted)
        .current_dir(folder);
    let (is_done, output) = process::finish(&mut npm, &folder.join("npm.log"), deadline)?;
    if is_done {
        return Ok(true);
    }
    if deadline.is_over() || NETWORK_ERRORS.iter().any(|code| output.contains(code)) {
        println!("    {}", output.lines().last().unwrap_or_default());
        return Ok(false);
    }
    bail!("npm install {} failed:\n{output}", wanted.join(" "))
}
