//! The real Codex from npm, with its own folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::hooks::injected;
use super::stage::TestedAgent;
use super::versions::Agent;
use crate::process::{Deadline, finish};
use crate::{npm, sample};

/// Runs hooks that nobody approved.
pub(super) const TRUSTED: &str = "--dangerously-bypass-hook-trust";

/// Installs a version of a package below `folder` unless it is there, and returns the path of its `program`. `None` if
/// the registry is unreachable.
pub(super) fn install(
    Agent { package, program, .. }: &Agent,
    version: &str,
    folder: &Path,
    deadline: Deadline,
) -> anyhow::Result<Option<PathBuf>> {
    let binary = folder.join("node_modules/.bin").join(program);
    let wanted = format!("{package}@{version}");
    if !binary.exists() && !npm::install(folder, &[&wanted], deadline)? {
        return Ok(None);
    }
    ensure!(binary.exists(), "{wanted} has no program {program}");
    Ok(Some(binary))
}

/// An installed version with its own home, project and model.
pub(super) struct Codex {
    binary: PathBuf,
    folder: tempfile::TempDir,
    /// Not a parent of the home: Codex rejects that.
    temporary: tempfile::TempDir,
    deadline: Deadline,
}

impl TestedAgent for Codex {
    const NAME: &'static str = "codex";
    const WITH_HOOKS: &'static [&'static str] = &[TRUSTED];
    const RESOURCE_TOOL: &'static str = "read_mcp_resource";

    fn new(binary: &Path, model: &str, deadline: Deadline) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("longhaul-agents-").tempdir()?;
        let temporary = tempfile::Builder::new().prefix("longhaul-agents-tmp-").tempdir()?;
        let codex = Self { binary: binary.to_owned(), folder, temporary, deadline };
        fs::create_dir_all(codex.home())?;
        fs::create_dir_all(codex.project())?;
        fs::write(codex.home().join("config.toml"), config(model))?;
        Ok(codex)
    }

    fn homes(&self) -> [PathBuf; 2] {
        [self.home(), "/nonexistent".into()]
    }

    fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("CODEX_HOME", self.home())
            .env("LONGHAUL_STATE_DIR", self.state())
            .env("HOME", self.folder.path().join("home"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
    }

    /// `codex exec ARGUMENTS`.
    fn run(&self, arguments: &[&str]) -> anyhow::Result<()> {
        self.finish(self.command("exec"), arguments)
    }

    fn resuming(thread: &str) -> Vec<&str> {
        vec!["resume", thread]
    }

    fn hook_text(requests: &[Value], about: &str) -> Option<String> {
        injected(requests.first()?, about).map(str::to_owned)
    }

    fn tool_answer(requests: &[Value]) -> Option<String> {
        let items = requests.last()?["input"].as_array()?.iter().rev();
        let mut answers = items.filter(|item| item["type"] == "function_call_output");
        answers.next().map(Value::to_string)
    }
}

impl Codex {
    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home/.codex")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(super) fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// The state folder of our programs.
    pub(super) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// A command of Codex.
    pub(super) fn command(&self, name: &str) -> Command {
        let mut command = self.command_for(&self.binary);
        command.arg(name);
        command
    }

    /// A program in its home and its project.
    fn command_for(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .env("HOME", self.folder.path().join("home"))
            .env("CODEX_HOME", self.home())
            .env("TMPDIR", self.temporary.path())
            .env("MOCK_KEY", "none")
            .env("LONGHAUL_STATE_DIR", self.state());
        command
    }

    /// Like `run`, but hooks do not start a daemon.
    pub(super) fn run_without_autostart(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = self.command("exec");
        command.env("LONGHAUL_AUTOSTART", "0");
        self.finish(command, arguments)
    }

    fn finish(&self, mut command: Command, arguments: &[&str]) -> anyhow::Result<()> {
        command.arg("--skip-git-repo-check").args(arguments);
        let (is_done, printed) =
            finish(&mut command, &self.folder.path().join("log"), self.deadline)?;
        let end: Vec<&str> = printed.lines().rev().take(5).collect();
        ensure!(is_done, "codex exec {} failed: {}", arguments.join(" "), end.join(" / "));
        Ok(())
    }

    /// Its folder, to add to a `PATH`.
    pub(super) fn programs(&self) -> Option<&Path> {
        self.binary.parent()
    }

    /// Runs a session on a terminal, by `script`.
    pub(super) fn on_terminal(&self, prompt: &str) -> Command {
        let line = format!("stty rows 50 cols 160; exec '{}' '{prompt}'", self.binary.display());
        let mut script = self.command_for("script".as_ref());
        script.args(["--quiet", "--flush", "--command", &line, "/dev/null"]);
        script.env("TERM", "xterm-256color");
        script
    }

    pub(super) fn newest(&self) -> anyhow::Result<PathBuf> {
        newest_in(&self.home().join("sessions"))
    }
}

/// The transcript an agent wrote last.
pub(super) fn newest_in(folder: &Path) -> anyhow::Result<PathBuf> {
    sample::newest(sample::transcripts(folder)).context("no transcript was written")
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
