//! Paths: the workspace, its build output, the two binaries.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

pub(crate) fn workspace() -> anyhow::Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(Path::to_owned).context("this crate has no parent folder")
}

/// The cargo that started us, run at the root of the workspace.
pub(crate) fn cargo() -> anyhow::Result<Command> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(workspace()?);
    Ok(command)
}

/// The folder of all build output.
pub(crate) fn target() -> anyhow::Result<PathBuf> {
    let output = cargo()?
        .args(["metadata", "--no-deps", "--format-version", "1", "--locked"])
        .output()
        .context("cargo metadata did not run")?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata gave no JSON")?;
    let folder = metadata["target_directory"].as_str().context("no target_directory")?;
    Ok(folder.into())
}

pub(crate) struct Binaries {
    pub(crate) longhaul: PathBuf,
    pub(crate) longhauld: PathBuf,
}

/// Builds the daemon, its curator, the command line, the MCP server and the gateway in release.
pub(crate) fn build_release() -> anyhow::Result<Binaries> {
    let mut build = cargo()?;
    build.args(["build", "--release", "--locked"]);
    let packages = ["daemon", "curator", "cli", "mcp", "gateway"];
    build.args(packages.map(|name| format!("-plonghaul-{name}")));
    crate::process::check(&mut build)?;
    let folder = target()?.join("release");
    Ok(Binaries { longhaul: folder.join("longhaul"), longhauld: folder.join("longhauld") })
}

/// Builds the daemon as tests use it, its curator beside it.
pub(crate) fn build_debug_daemon() -> anyhow::Result<PathBuf> {
    let mut build = cargo()?;
    build.args(["build", "--locked", "-p", "longhaul-daemon", "-p", "longhaul-curator"]);
    crate::process::check(&mut build)?;
    Ok(target()?.join("debug/longhauld"))
}

/// Builds an example program of a crate in release.
pub(crate) fn build_release_example(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    let mut build = cargo()?;
    build.args(["build", "--release", "--locked", "-p", package, "--example", name]);
    crate::process::check(&mut build)?;
    Ok(target()?.join("release/examples").join(name))
}
