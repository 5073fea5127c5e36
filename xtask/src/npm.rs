//! Programs from npm, if a registry is reachable.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::process::{self, Deadline};

/// npm's errors without a network.
const UNREACHED: [&str; 6] =
    ["ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ECONNRESET", "E40"];

/// Outcome of an installation.
pub(crate) enum NpmOutcome {
    Installed,
    NoRegistry,
}

pub(crate) fn is_here() -> bool {
    process::is_present(Command::new("npm").arg("--version"))
}

/// Installs packages (`NAME@VERSION`) into a folder with options; without packages, those of its manifest.
pub(crate) fn install(
    folder: &Path,
    wanted: &[&str],
    deadline: Deadline,
) -> anyhow::Result<NpmOutcome> {
    fs::create_dir_all(folder)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefix"])
        .arg(folder)
        .args(wanted)
        .current_dir(folder);
    let (is_done, said) = process::finish(&mut npm, &folder.join("npm.log"), deadline)?;
    if is_done {
        return Ok(NpmOutcome::Installed);
    }
    if deadline.is_over() || UNREACHED.iter().any(|code| said.contains(code)) {
        println!("    {}", said.lines().last().unwrap_or_default());
        return Ok(NpmOutcome::NoRegistry);
    }
    bail!("npm install {} failed:\n{said}", wanted.join(" "))
}
