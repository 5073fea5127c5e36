//! Paths: the workspace, its build output, the two binaries.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::Value;

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
    let metadata: Value =
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

/// Builds all programs as the tests of the workspace use them; returns their folder.
///
/// The selection is the one of `cargo test --workspace`: cargo unites the features of what is selected, so that any other
/// selection compiles most crates again. `--examples` is there for the features of the dev-dependencies.
pub(crate) fn build_debug() -> anyhow::Result<PathBuf> {
    let mut build = cargo()?;
    build.args(["build", "--locked", "--quiet", "--workspace", "--lib", "--bins", "--examples"]);
    crate::process::check(&mut build)?;
    Ok(target()?.join("debug"))
}

/// Builds all tests of the workspace; returns the test program of a package's target.
pub(crate) fn test_program(package: &str, target: &str) -> anyhow::Result<PathBuf> {
    let mut build = cargo()?;
    build.args(["test", "--locked", "--quiet", "--workspace", "--all-targets", "--no-run"]);
    let output = build.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = output.output().context("cargo test did not run")?;
    ensure!(output.status.success(), "the tests could not be built");
    let id = format!("#{package}@");
    let is_it = |message: &Value| {
        let of_package = message["package_id"].as_str().is_some_and(|known| known.contains(&id));
        of_package && message["target"]["name"] == target && message["profile"]["test"] == true
    };
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(is_it)
        .and_then(|message| Some(message["executable"].as_str()?.into()))
        .with_context(|| format!("{package} has no tests {target}"))
}
