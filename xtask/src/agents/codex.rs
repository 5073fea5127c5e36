//! The real Codex from npm, on folders of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail, ensure};

use super::Deadline;
use crate::{daemon, process};

const POLL: Duration = Duration::from_millis(20);

/// What an installation came to.
pub(super) enum Installed {
    At(PathBuf),
    NoRegistry,
}

pub(super) fn has_npm() -> bool {
    process::is_present(Command::new("npm").arg("--version"))
}

/// Installs a version of a package below `folder`, unless it is there; `program` is what it brings.
pub(super) fn install(
    (package, program): (&str, &str),
    version: &str,
    folder: &Path,
    deadline: Deadline,
) -> anyhow::Result<Installed> {
    let binary = folder.join("node_modules/.bin").join(program);
    if binary.exists() {
        return Ok(Installed::At(binary));
    }
    fs::create_dir_all(folder)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefix"])
        .arg(folder)
        .arg(format!("{package}@{version}"));
    let (is_done, said) = finish(&mut npm, &folder.join("npm.log"), deadline)?;
    if is_done && binary.exists() {
        return Ok(Installed::At(binary));
    }
    let unreached = ["ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ECONNRESET", "E40"];
    if deadline.is_over() || unreached.iter().any(|code| said.contains(code)) {
        println!("    {}", said.lines().last().unwrap_or_default());
        return Ok(Installed::NoRegistry);
    }
    bail!("{program} {version} was not installed:\n{said}")
}

/// Runs a program until it ends or the deadline is over; whether it succeeded, and what it said.
pub(super) fn finish(
    command: &mut Command,
    log: &Path,
    deadline: Deadline,
) -> anyhow::Result<(bool, String)> {
    let output = File::create(log)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .with_context(|| format!("cannot run {}", process::line(command)))?;
    let is_done = loop {
        match child.try_wait()? {
            Some(status) => break status.success(),
            None if deadline.is_over() => {
                child.kill()?;
                child.wait()?;
                break false;
            }
            None => daemon::pause(POLL),
        }
    };
    let said = fs::read(log).unwrap_or_default();
    Ok((is_done, String::from_utf8_lossy(&said).into_owned()))
}

/// One installed version with a home, a project and a model of its own.
pub(super) struct Codex {
    binary: PathBuf,
    folder: tempfile::TempDir,
    /// Not above the home: Codex refuses that.
    temporary: tempfile::TempDir,
    deadline: Deadline,
}

impl Codex {
    pub(super) fn new(binary: PathBuf, model: &str, deadline: Deadline) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("longhaul-agents-").tempdir()?;
        let temporary = tempfile::Builder::new().prefix("longhaul-agents-tmp-").tempdir()?;
        let codex = Self { binary, folder, temporary, deadline };
        fs::create_dir_all(codex.home())?;
        fs::create_dir_all(codex.project())?;
        fs::write(codex.home().join("config.toml"), config(model))?;
        Ok(codex)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home/.codex")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// `codex exec ARGUMENTS`.
    pub(super) fn exec(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        command
            .args(["exec", "--skip-git-repo-check"])
            .args(arguments)
            .current_dir(self.project())
            .env("HOME", self.folder.path().join("home"))
            .env("CODEX_HOME", self.home())
            .env("TMPDIR", self.temporary.path())
            .env("MOCK_KEY", "none");
        let (is_done, said) = finish(&mut command, &self.folder.path().join("log"), self.deadline)?;
        let end: Vec<&str> = said.lines().rev().take(5).collect();
        ensure!(is_done, "codex exec {} failed: {}", arguments.join(" "), end.join(" / "));
        Ok(())
    }

    /// The transcript written last.
    pub(super) fn newest(&self) -> anyhow::Result<PathBuf> {
        let mut found = Vec::new();
        transcripts(&self.home().join("sessions"), &mut found)?;
        found.sort();
        found.pop().map(|(_, path)| path).context("codex wrote no transcript")
    }
}

fn transcripts(folder: &Path, found: &mut Vec<(SystemTime, PathBuf)>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            transcripts(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            found.push((fs::metadata(&path)?.modified()?, path));
        }
    }
    Ok(())
}

fn config(model: &str) -> String {
    format!(
        r#"model = "gpt-5.5"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
model_context_window = 200000

[analytics]
enabled = false

[model_providers.mock]
name = "mock"
base_url = "http://{model}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 0
stream_max_retries = 1
stream_idle_timeout_ms = 20000
requires_openai_auth = false
"#
    )
}
