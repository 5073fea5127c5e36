//! VS Code itself: the shipped packages, installed into code-server and driven through a headless Chromium.
//!
//! code-server is installed from npm without its native modules, which only its terminal and file watcher use: about
//! twenty seconds instead of two minutes. The clicks and expectations are in `clients/vscode/test/editor`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::EditorsArgs;
use crate::process::{self, Deadline};
use crate::suite::StepResult;
use crate::{npm, place};

/// VS Code 1.100, and the library that drives the browser.
const PACKAGES: [&str; 3] = ["--ignore-scripts", "code-server@4.100.3", "playwright-core@1.65.1"];
/// To install the dependencies of VS Code's server.
const SERVER_OPTIONS: [&str; 3] = ["--omit=dev", "--omit=optional", "--ignore-scripts"];
const SERVER: &str = "node_modules/code-server/lib/vscode";
/// Required by code-server.
const NODE_MAJOR_MIN: u32 = 20;
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const INSTALL_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) fn drive(options: &EditorsArgs) -> anyhow::Result<StepResult> {
    if !npm::is_installed() || node_major() < NODE_MAJOR_MIN {
        return Ok(StepResult::Skipped("npm or Node 20 is not installed"));
    }
    let Some(chromium) = browser() else {
        return Ok(StepResult::Skipped("chromium is not installed"));
    };
    let temporary = tempfile::tempdir()?;
    let folder = options.code_server.as_deref().unwrap_or(temporary.path());
    if !install(folder)? || !super::install_packages()? {
        return Ok(StepResult::Skipped("the npm registry is unreachable"));
    }
    let binaries = place::build_debug()?;
    process::check(super::npm_in("clients")?.args(["run", "build", "--silent"]))?;
    for script in ["package", "package-example"] {
        process::check(super::npm_in("clients/vscode")?.args(["run", "--silent", script]))?;
    }
    let mut node = Command::new("node");
    node.arg("test/editor/run.mjs")
        .arg(folder)
        .current_dir(place::workspace()?.join("clients/vscode"))
        .env("LONGHAUL_BIN", binaries)
        .env("CHROMIUM", chromium);
    if let Some(pictures) = &options.pictures {
        node.env("SHOTS", std::path::absolute(pictures)?);
    }
    process::check(&mut node)?;
    Ok(StepResult::Passed)
}

/// Installs the editor if missing; returns whether it is installed.
fn install(folder: &Path) -> anyhow::Result<bool> {
    let server = folder.join(SERVER);
    if server.join("node_modules").is_dir() {
        return Ok(true);
    }
    let deadline = Deadline::after(INSTALL_TIMEOUT);
    Ok(npm::install(folder, &PACKAGES, deadline)?
        && npm::install(&server, &SERVER_OPTIONS, deadline)?)
}

/// The major version of Node; 0 if it is not installed.
fn node_major() -> u32 {
    let output = Command::new("node").arg("--version").output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = version.unwrap_or_default();
    let major = version.trim().trim_start_matches('v').split('.').next();
    major.and_then(|major| major.parse().ok()).unwrap_or(0)
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| path.is_file())
}
